//! Exact pacing: when each packet of a connection leaves.
//!
//! noq asks its congestion controller before every datagram with data how much may be in flight. For pure
//! acknowledgements it asks nothing. A paced controller answers "nothing more" until the departure time of the next
//! packet. So acknowledgements and loss probes leave freely, data waits inside noq, and noq notes the time at which a
//! packet really left. Nothing is held back behind noq's back.
//!
//! | file | its question |
//! |---|---|
//! | `schedule` | when is the next packet due? |
//! | `send_gate` | may a packet leave now, and if not, who must be woken when? |
//! | `poll_scope` | is this call part of a connection's turn under our runtime, which will wake it? and when is it? |
//! | `timer` | which connections are due, out of thousands, with one kernel timer? |
//! | `alarm` | how does the kernel tell us within microseconds? |
//! | `clock` | what do the clocks say? |
//! | `silence` | had the application nothing to send? |
//! | `foreign_pacer` | and where noq paces, under another runtime? |

mod alarm;
mod clock;
mod foreign_pacer;
mod poll_scope;
mod schedule;
mod send_gate;
mod silence;
mod timer;

pub(crate) use clock::{at, instant};
pub(crate) use foreign_pacer::ForeignPacer;
pub(crate) use poll_scope::{PollScope, is_ours, now, now_or};
#[cfg(target_os = "linux")]
pub(crate) use poll_scope::{begin_next_at, first, time_passes};
pub(crate) use schedule::{LostTo, Pace};
pub(crate) use send_gate::SendGate;
pub(crate) use silence::Silence;
pub(crate) use timer::Timer;

use noq::congestion::ControllerMetrics;
use pcc::units::{Bytes, Rate};

/// The rate that noq's own pacer is told in a turn that is paced here, in bytes a second: it never waits at this rate.
/// It is low enough that the pacer's products with times of seconds stay far from overflow.
const NOT_PACED_BY_NOQ: u64 = 1_000_000_000_000;

/// The metrics that a gated controller reports to noq. Outside our turns noq paces, as well as it can, and `pace` tells rate and
/// quantum. noq asks before every packet.
pub(crate) fn metrics(congestion_window: u64, pace: impl FnOnce() -> (Rate, Bytes)) -> ControllerMetrics {
    let mut metrics = ControllerMetrics::default();
    metrics.congestion_window = congestion_window;
    if is_ours() {
        metrics.pacing_rate = Some(NOT_PACED_BY_NOQ);
    } else {
        let (rate, quantum) = pace();
        metrics.pacing_rate = Some(rate.bytes_per_sec() as u64);
        metrics.send_quantum = Some(quantum.get());
    }
    metrics
}
