//! SIGHUP, by which whoever rotates logs says that the log's file was moved away.

use pcc_files::serve::LogFile;
#[cfg(unix)]
use pcc_files::serve::systemd;

/// Opens the file, if there is one, anew at each SIGHUP. Never ends.
#[cfg(unix)]
pub(super) async fn follow(file: Option<LogFile>) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    // Otherwise a terminal that is gone ends the server, as it does other programs.
    if file.is_none() && !systemd::is_wanted() {
        return std::future::pending().await;
    }
    let mut moved = signal(SignalKind::hangup())?;
    while moved.recv().await.is_some() {
        match file.as_ref().map_or(Ok(()), LogFile::reopen) {
            Ok(()) => tracing::info!("SIGHUP: the log is open anew"),
            Err(error) => {
                tracing::warn!(%error, "--log cannot be opened anew: it goes on in the file that was moved away")
            }
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) async fn follow(_: Option<LogFile>) -> anyhow::Result<()> {
    std::future::pending().await
}
