//! Messages to systemd from a server that it started (sd_notify(3)); none where nobody asks for them.

use core::time::Duration;
use sd_notify::NotifyState;

/// Whether systemd started the server, and listens.
pub fn is_wanted() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// The server takes connections.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The server ends, within `grace` for its transfers.
pub fn stopping(grace: Duration) {
    let limit = u32::try_from((grace + SPARE).as_micros()).unwrap_or(u32::MAX);
    tell(&[
        NotifyState::Stopping,
        NotifyState::Status("finishing the transfers under way"),
        NotifyState::ExtendTimeoutUsec(limit),
    ]);
}

/// For the goodbye behind the transfers' grace: saying it, and keeping what was learnt of paths.
const SPARE: Duration = Duration::from_secs(15);

/// Says again and again that this program's tasks have their turns. Never ends.
pub async fn alive() {
    let Some(within) = sd_notify::watchdog_enabled() else { return std::future::pending().await };
    let mut turns = tokio::time::interval(within / 2);
    loop {
        turns.tick().await;
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "could not notify systemd");
    }
}
