//! The changes that an upload would make. It asks as a reader does, so an upload of the same file that is under way goes on.

use super::content::Content;
use super::exchange::InTheWay;
use super::link;
use super::target::Target;
use crate::choice::{Look, Spared};
use crate::client::request::ask;
use crate::client::source::Source;
use crate::client::trouble::Refused;
use crate::extended::Kinds;
use crate::moved::Moved;
use std::time::Instant;

/// Whether the file there stays as it is, whatever is here.
pub(super) async fn is_spared(
    source: &Source,
    content: &Content,
    target: &Target,
    spared: Spared,
) -> anyhow::Result<bool> {
    if !spared.any() {
        return Ok(false);
    }
    let there = if target.is_new {
        None
    } else {
        match ask(source, &target.url, false).await {
            Ok(there) => Some(there.version.attributes.modified),
            Err(error) => match error.downcast_ref() {
                Some(Refused::Missing { .. }) => None,
                // It is there, and its age nobody's business.
                Some(Refused::Forbidden { .. }) => Some(None),
                // The upload says what is wrong.
                Some(Refused::Moved { .. }) => return Ok(false),
                _ => return Err(error),
            },
        }
    };
    Ok(spared.has(there, content.attributes(Kinds::default()).modified))
}

/// Compares what is here with what is at the server.
pub(super) async fn look(source: &Source, content: &Content, target: &Target) -> anyhow::Result<Look<Moved>> {
    let url = &target.url;
    let begun = Instant::now();
    let there = match ask(source, url, false).await {
        // A file that cannot be read may be replaced.
        Err(error) if matches!(error.downcast_ref(), Some(Refused::Missing { .. } | Refused::Forbidden { .. })) => {
            return Ok(Look::Due(content.size()));
        }
        Err(error) if matches!(error.downcast_ref(), Some(Refused::Moved { .. })) => {
            let reason = "a directory of that name exists".to_owned();
            return Err(InTheWay { url: url.short(), reason }.into());
        }
        there => there?,
    };
    let Some(bytes) = content.size().filter(|size| there.version.size == Some(*size)) else {
        return Ok(Look::Due(content.size()));
    };
    let digest = content.digest().await?;
    let there = ask(source, url, true).await?;
    if there.digest != Some(digest) || source.keeps().links && link::is_link(source, target).await? {
        return Ok(Look::Due(Some(bytes)));
    }
    let keeps = source.keeps();
    if !keeps.of(content.attributes(keeps.extended()), false).agree_with(&there.version.attributes) {
        return Ok(Look::Due(Some(0)));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let uploaded = Moved { bytes, digest, verified: true, seconds, resumed_from: bytes };
    Ok(Look::There(uploaded))
}
