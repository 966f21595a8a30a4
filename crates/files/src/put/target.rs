//! Where a file goes.

use crate::choice::Backup;
use crate::wire;
use anyhow::Context;
use http::header::AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{Method, Request, request};
use pcc_net::percent::encode_segment;
use pcc_net::url::Url;

/// Where a file goes, and with what right.
pub(super) struct Target {
    pub(super) url: Url,
    pub(super) token: String,
    /// Nothing can be there: this run made the directory.
    pub(super) is_new: bool,
    /// Keeps the file that has the name now.
    pub(super) backup: Option<Backup>,
}

impl Target {
    /// The directory that the URL leads to.
    pub(super) fn directory(&self) -> anyhow::Result<Url> {
        let path = format!("{}/", self.url.encoded_path().trim_end_matches('/'));
        Ok(self.url.with_path(PathAndQuery::try_from(path).context("the URL is too long")?))
    }

    /// The same request, with the wish to keep the file that has the name now.
    pub(super) fn with_backup(&self, request: request::Builder) -> request::Builder {
        match &self.backup {
            Some(backup) => request.header(wire::UPLOAD_BACKUP, encode_segment(backup.suffix())),
            None => request,
        }
    }

    /// A request with the token.
    pub(super) fn request(&self, method: Method, url: &Url) -> request::Builder {
        Request::builder().method(method).uri(url.to_uri()).header(AUTHORIZATION, format!("Bearer {}", self.token))
    }
}
