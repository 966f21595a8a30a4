//! There is no systemd here.

use core::time::Duration;

#[cfg(unix)]
pub(super) fn is_wanted() -> bool {
    false
}

pub(super) fn ready() {}

pub(super) fn stopping(_: Duration) {}

pub(super) async fn alive() {
    std::future::pending().await
}
