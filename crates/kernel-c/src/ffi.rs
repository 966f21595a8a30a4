//! `kernel/tests/library.c` and the structures that it shares. Numbers are the bits of an `f64`.

use crate::program::Program;
use crate::report::Report;

/// `struct pcc_slot`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct IntervalPlan {
    pub(crate) rate: u64,
    pub(crate) rtts_least: u64,
    pub(crate) rtts_most: u64,
    pub(crate) trial: i32,
    pub(crate) is_stretched: u32,
}

/// `struct pcc_path`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Path {
    pub(crate) rtt_ns: u64,
    pub(crate) queue_ns: u64,
    pub(crate) rtt: u64,
    pub(crate) queue: u64,
    pub(crate) packet: u64,
    pub(crate) floor: u64,
    pub(crate) initial: u64,
    pub(crate) ceiling: u64,
    pub(crate) delivery: u64,
}

/// `struct pcc_sample`: what TCP knows at an acknowledgement. Counters are modulo 2³².
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Sample {
    /// Unit: ns.
    pub now: u64,
    /// When pacing lets the next packet leave. Unit: ns.
    pub next_sent: u64,
    /// Payload, retransmissions too.
    pub bytes_sent: u64,
    /// Packets sent, retransmissions too.
    pub sent: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Packets sent and not acknowledged, lost ones too.
    pub outstanding: u32,
    /// Packets delivered.
    pub delivered: u32,
    /// Packets declared lost.
    pub lost: u32,
    /// Packets delivered with a mark, as TCP counts them.
    pub marked: u32,
    /// The newest delivered packet's RTT; 0 if there is none. Unit: µs.
    pub rtt: u32,
    /// Bytes of a full packet.
    pub packet: u32,
    /// Packets that may overtake one that is not lost.
    pub reordering: u32,
    /// Packets that may be in flight.
    pub window: u32,
    /// The newest packet was sent when there was nothing more.
    pub app_limited: u32,
    /// The peer's window is full, and the peer slow.
    pub peer_limited: u32,
    /// It is full, and what was lost keeps the peer from reading.
    pub blocked: u32,
    /// TCP's own smoothed RTT; 0 if it knows none. Unit: µs.
    pub taken_rtt: u32,
    /// It counts marks; otherwise all packets of acknowledgements that tell of one.
    pub accurate: u32,
    /// The least RTT of minutes, to TCP. Unit: µs.
    pub least_rtt: u32,
}

/// `struct pcc_told`: what a sender did so far, and how it stands.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Told {
    /// The least RTT of the last five to ten seconds. Unit: ns.
    pub least_rtt: u64,
    /// 0 while it looks for the order of magnitude.
    pub state: u32,
    /// Intervals that were reported.
    pub intervals: u32,
    /// The number of the interval to which packets belong that are sent now, if none was dropped.
    pub opened: u32,
    /// The last one's limit: network, application, receiver, host.
    pub limited_by: u32,
    /// Times that loss made it go back at once.
    pub panics: u32,
    /// Times that the path fell silent.
    pub silences: u32,
    /// Whether the latest interval was one that the law judges.
    pub is_judged: u32,
    /// Packets that the latest interval lost.
    pub packets_lost: u32,
    /// In how many runs.
    pub loss_bursts: u32,
}

unsafe extern "C" {
    pub(crate) fn pcc_lib_apply(code: u32, a: u64, b: u64, c: u64) -> u64;
    pub(crate) fn pcc_lib_seconds(nanoseconds: u64) -> u64;
    pub(crate) fn pcc_lib_law_size() -> u32;
    pub(crate) fn pcc_lib_law_new(law: *mut u64, rate: u64, seed: u64);
    pub(crate) fn pcc_lib_law_next(law: *mut u64, path: *const Path, plan: *mut IntervalPlan);
    pub(crate) fn pcc_lib_law_on_report(
        law: *mut u64,
        program: *const Program,
        path: *const Path,
        plan: *const IntervalPlan,
        report: *const Report,
    ) -> i32;
    pub(crate) fn pcc_lib_law_ends_early(
        law: *mut u64,
        program: *const Program,
        path: *const Path,
        report: *const Report,
    ) -> i32;
    pub(crate) fn pcc_lib_law_start(law: *mut u64, rate: u64);
    pub(crate) fn pcc_lib_law_back_off(law: *mut u64, rate: u64);
    pub(crate) fn pcc_lib_law_restart(law: *mut u64);
    pub(crate) fn pcc_lib_law_rate(law: *const u64) -> u64;
    pub(crate) fn pcc_lib_law_standing_rtt(law: *const u64) -> u64;
    pub(crate) fn pcc_lib_law_state(law: *const u64) -> u32;
    pub(crate) fn pcc_lib_read_rtt(now: u64, sent: u64, taken: i64, is_retrans: bool, is_delayed: bool) -> u32;
    pub(crate) fn pcc_lib_flow_size() -> u32;
    pub(crate) fn pcc_lib_flow_new(flow: *mut u64, sample: *const Sample, seed: u64);
    pub(crate) fn pcc_lib_flow_lose(flow: *mut u64, leftover: u8);
    pub(crate) fn pcc_lib_flow_on_ack(flow: *mut u64, program: *const Program, sample: *const Sample) -> i32;
    pub(crate) fn pcc_lib_flow_on_resumption(flow: *mut u64, sample: *const Sample) -> i32;
    pub(crate) fn pcc_lib_flow_on_undo(flow: *mut u64, lost: u32);
    pub(crate) fn pcc_lib_flow_limit(flow: *mut u64, most: u64);
    pub(crate) fn pcc_lib_flow_rate(flow: *const u64) -> u64;
    pub(crate) fn pcc_lib_flow_window(flow: *const u64, before: u32) -> u32;
    pub(crate) fn pcc_lib_flow_told(flow: *const u64, told: *mut Told);
    pub(crate) fn pcc_lib_flow_loss(flow: *const u64) -> u64;
    pub(crate) fn pcc_lib_flow_utility(flow: *const u64) -> u64;
}
