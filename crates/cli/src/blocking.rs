//! Work that blocks.

use anyhow::Context;

/// Runs what blocks where it may.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("a thread for files failed")?
}
