//! Where a file goes.

use http::header::AUTHORIZATION;
use http::{Method, Request, request};
use pcc_net::url::Url;

/// Where a file goes, and with what right.
pub(super) struct Target {
    pub(super) url: Url,
    pub(super) token: String,
    /// Nothing can be there: this run made the directory.
    pub(super) is_new: bool,
}

impl Target {
    /// A request with the token.
    pub(super) fn request(&self, method: Method, url: &Url) -> request::Builder {
        Request::builder().method(method).uri(url.to_uri()).header(AUTHORIZATION, format!("Bearer {}", self.token))
    }
}
