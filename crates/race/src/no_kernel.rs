//! Where the kernel's TCP cannot be a runner.

#[path = "kernel/unavailable.rs"]
mod unavailable;

pub use unavailable::Unavailable;

use super::carrier::Carrier;
use super::entry::{Entry, Update};
use super::trace::Trace;
use tokio::sync::mpsc::UnboundedSender;

/// Whether `carriers` can run on this computer.
///
/// Errors: one of them is the kernel's TCP.
pub fn check(carriers: &[Carrier]) -> Result<(), Unavailable> {
    let is_tcp = |carrier: &Carrier| matches!(carrier, Carrier::Tcp { .. });
    if carriers.iter().any(is_tcp) { Err(Unavailable::System) } else { Ok(()) }
}

/// Nothing: [`check`] has refused before.
pub(crate) fn go(_: usize, _: &Entry, _: &'static str, _: &UnboundedSender<Update>) -> anyhow::Result<Trace> {
    Err(Unavailable::System.into())
}
