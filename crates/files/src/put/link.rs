//! Links of a directory, and further names of its files.

use super::directory::below;
use super::exchange::{ask, ask_for};
use super::target::Target;
use super::tree::Link;
use super::upload::described;
use crate::attributes::Attributes;
use crate::client::source::Source;
use crate::wire;
use anyhow::Context;
use http::{Method, StatusCode};
use pcc_net::percent;
use pcc_net::url::Url;
use std::path::Path;

/// Has the server make it, or in a dry run only looks; answers whether that changes anything.
pub(super) async fn send(
    source: &Source,
    top: &Url,
    path: &Path,
    target: &Target,
    link: &Link,
    dry_run: bool,
) -> anyhow::Result<bool> {
    if dry_run {
        return differs(source, target, link).await;
    }
    let request = target.request(Method::PATCH, &target.url);
    let request = match link {
        Link::To(text) => {
            let found = Attributes::of(&tokio::fs::symlink_metadata(path).await?);
            let attributes = Attributes { mode: None, ..source.keeps().of(found, false) };
            described(request, attributes, !source.keeps().numeric_ids)
                .header(wire::FILE_LINK, percent::encode_segment(text))
        }
        Link::SameAs(file) => request.header(wire::FILE_SAME_AS, url_of(top, file)?.encoded_path()),
    };
    let request = target.with_backup(request);
    Ok(ask(source, target, request, &[]).await? != StatusCode::NO_CONTENT)
}

/// Whether the server has a link under this name.
pub(super) async fn is_link(source: &Source, target: &Target) -> anyhow::Result<bool> {
    Ok(text_there(source, target).await?.is_some())
}

/// Whether the server has another link there, or none. A further name of a file is not known to be one before it is asked for.
async fn differs(source: &Source, target: &Target, link: &Link) -> anyhow::Result<bool> {
    let Link::To(text) = link else { return Ok(false) };
    Ok(text_there(source, target).await?.as_deref() != Some(text))
}

/// The text of the link that the server has there.
async fn text_there(source: &Source, target: &Target) -> anyhow::Result<Option<String>> {
    let request = target.request(Method::HEAD, &target.url).header(wire::WANT_FILE_LINKS, "?1");
    let expected = [StatusCode::NOT_FOUND, StatusCode::FORBIDDEN, StatusCode::PERMANENT_REDIRECT];
    let answer = ask_for(source, target, request, &expected).await?;
    Ok(answer.headers().get(wire::FILE_LINK).and_then(|there| percent::decode(there.to_str().ok()?)))
}

/// The URL of an entry below the top.
pub(super) fn url_of(top: &Url, path: &Path) -> anyhow::Result<Url> {
    path.components()
        .try_fold(top.clone(), |url, part| below(&url, part.as_os_str().to_str().context("its name is not UTF-8")?))
}
