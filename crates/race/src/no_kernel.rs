//! Where the kernel's TCP cannot be a runner.

use super::carrier::Carrier;
use super::entry::{Entry, Update};
use super::trace::Trace;
use anyhow::bail;
use tokio::sync::mpsc::UnboundedSender;

/// Whether `carriers` can run on this computer.
pub fn check(carriers: &[Carrier]) -> anyhow::Result<()> {
    if carriers.iter().any(|carrier| matches!(carrier, Carrier::Tcp { .. })) {
        bail!("--kernel needs Linux: elsewhere the race is over QUIC alone");
    }
    Ok(())
}

/// Nothing: [`check`] has refused before.
pub fn go(_: usize, _: &Entry, _: &'static str, _: &UnboundedSender<Update>) -> anyhow::Result<Trace> {
    bail!("needs Linux")
}
