//! The changes that an upload would make. It asks as a reader does, so an upload of the same file that is under way goes on.

use super::content::Content;
use super::exchange::InTheWay;
use crate::choice::Look;
use crate::get::source::Source;
use crate::get::transfer::ask;
use crate::get::trouble::Refused;
use crate::moved::Moved;
use pcc_net::url::Url;
use std::time::Instant;

/// Compares what is here with what is at the server.
pub(super) async fn look(source: &Source, content: &Content, url: &Url) -> anyhow::Result<Look<Moved>> {
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
    if there.digest != Some(digest) {
        return Ok(Look::Due(Some(bytes)));
    }
    if source.archives() && !content.attributes().agree_with(there.version.attributes) {
        return Ok(Look::Due(Some(0)));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let uploaded = Moved { bytes, digest, verified: true, seconds, resumed_from: bytes };
    Ok(Look::There(uploaded))
}
