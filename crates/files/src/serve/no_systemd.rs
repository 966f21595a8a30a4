//! There is no systemd here.

use core::time::Duration;

/// Nobody asks for it.
pub const fn is_wanted() -> bool {
    false
}

/// Tells nobody.
pub const fn ready() {}

/// Tells nobody.
pub const fn stopping(_: Duration) {}

/// Never ends.
pub async fn alive() {
    std::future::pending().await
}
