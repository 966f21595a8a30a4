//! Patience that ended.

use core::time::Duration;

/// There was no progress for as long as the user wants to wait.
#[derive(Debug, thiserror::Error)]
#[error("no progress for {}", humantime::format_duration(*.0))]
pub struct GaveUp(pub(crate) Duration);
