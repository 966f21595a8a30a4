//! The abilities of a server that earlier ones lack. Such a server says nothing of them, and would do something else than it is asked for.

use super::exchange::ask_for;
use super::target::Target;
use crate::client::source::Source;
use crate::wire;
use anyhow::anyhow;
use http::{Method, StatusCode};

/// Asks the server once whether it has this ability, which `option` needs.
///
/// Errors: it has not, or cannot be reached.
pub(super) async fn require(source: &Source, target: &Target, feature: &str, option: &str) -> anyhow::Result<()> {
    if has(source, target, feature).await? {
        return Ok(());
    }
    Err(anyhow!(
        "{}: the `pcc` of this server is too old for {option}: renew it there, or leave {option} out",
        source.peer()
    ))
}

/// Whether the server has this ability.
///
/// Errors: it cannot be reached.
pub(super) async fn has(source: &Source, target: &Target, feature: &str) -> anyhow::Result<bool> {
    let ask = async {
        let request = target.request(Method::OPTIONS, &target.url);
        let answer = ask_for(
            source,
            target,
            request,
            &[StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_FOUND, StatusCode::NOT_IMPLEMENTED],
        )
        .await?;
        let told = answer.headers().get(wire::FILE_FEATURES).and_then(|told| told.to_str().ok()).unwrap_or_default();
        Ok::<_, anyhow::Error>(told.to_owned())
    };
    let told = source.features().get_or_try_init(|| ask).await?;
    Ok(told.split(',').any(|told| told.trim() == feature))
}
