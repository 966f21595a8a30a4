//! The reordering that a transport tolerates before it tells PCC of a loss (RFC 9002 §6.1). A transport whose loss detection
//! is not PCC's own is set to these thresholds. It may tolerate more on paths where packets were later.

/// Reordering tolerated by number of packets. RFC 9002 §6.1.1 recommends 3, fit for paths that keep order. Jitter of
/// 5 ms reorders 43 full packets at 100 Mbit/s, and a sender that takes them for lost judges its rate by losses that
/// never were. Within this bound time decides ([`TIME_THRESHOLD`]); above it, at short round trips and high rates, the
/// number decides first and keeps recovery quick.
pub const PACKET_THRESHOLD: u32 = 128;

/// Reordering tolerated in time, as a factor of the RTT. The 9/8 of RFC 9002 §6.1.2 is 3.75 ms of 30 ms, less than
/// common jitter; noticing a loss 1/8 of an RTT later costs little.
pub const TIME_THRESHOLD: f32 = 1.25;
