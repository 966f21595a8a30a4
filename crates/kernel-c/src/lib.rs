//! PCC's C for the Linux kernel as a library, to be compared with the core. Only tests want it.
//!
//! ```text
//! kernel/*.h ──▶ tests/library.c ──▶ Law, Program: the kernel's decisions, to be compared with the core's
//!                         └──▶ Flow: a TCP connection's sender, over simulated paths
//! a utility's text ──▶ pcc: Expression ──▶ pcc-bpf: Program, in the form in which a kernel takes it
//! ```

#![cfg(target_os = "linux")]

mod ffi;
mod flow;
mod law;
#[cfg(test)]
mod layout;
mod program;
mod report;

use pcc_bpf::program::FIRST_OPERATOR;

pub use ffi::{Sample, Told};
pub use flow::Flow;
pub use law::Law;
pub use program::Program;
pub use report::Report;

/// The kernel's result of an operation of the utility language, [`pcc::utility::expression::Operator`] by its place in
/// `ALL`. Operands that it does not take are ignored; NaN stands for a result that is not defined.
pub fn apply(operator: usize, a: f64, b: f64, c: f64) -> f64 {
    let code = u32::try_from(operator).map_or(u32::MAX, |operator| operator + FIRST_OPERATOR);
    // SAFETY: takes and returns integers.
    f64::from_bits(unsafe { ffi::pcc_lib_apply(code, a.to_bits(), b.to_bits(), c.to_bits()) })
}

/// Nanoseconds as seconds, as the kernel converts them.
pub fn seconds(nanoseconds: u64) -> f64 {
    // SAFETY: takes and returns integers.
    f64::from_bits(unsafe { ffi::pcc_lib_seconds(nanoseconds) })
}

/// The RTT that PCC takes from an acknowledgement at `now` of a newest packet `sent` then, which TCP itself takes for one of
/// `taken`; 0 if it tells none. All in µs.
pub fn read_rtt(now: u64, sent: u64, taken: i64, is_retransmitted: bool, is_delayed: bool) -> u32 {
    // SAFETY: takes and returns plain values.
    unsafe { ffi::pcc_lib_read_rtt(now, sent, taken, is_retransmitted, is_delayed) }
}
