//! The counts of every sender.

use pcc::units::Timestamp;

/// The fate of a sender's packets, by its own account.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Transmissions.
    pub packets: u64,
    /// Declared lost.
    pub lost: u64,
    /// Declared lost and acknowledged later.
    pub spurious: u64,
    /// Times that nothing was heard for too long.
    pub probe_timeouts: u64,
}

/// The account of one sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub(crate) sent: Sent,
    pub(crate) finished: Option<Timestamp>,
    /// RTT samples in microseconds, acknowledgement delay taken off where the receiver tells it.
    pub(crate) rtts: Vec<u32>,
}
