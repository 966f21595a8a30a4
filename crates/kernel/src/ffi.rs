//! `kernel/library.c` and the structures that it shares. Numbers are the bits of an `f64`.

use crate::program::Program;
use crate::report::Report;

/// `struct pcc_slot`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) rate: u64,
    pub(crate) rtts_least: u64,
    pub(crate) rtts_most: u64,
    pub(crate) trial: i32,
    pub(crate) reserved: u32,
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

unsafe extern "C" {
    pub(crate) fn pcc_lib_apply(code: u32, a: u64, b: u64, c: u64) -> u64;
    pub(crate) fn pcc_lib_seconds(nanoseconds: u64) -> u64;
    pub(crate) fn pcc_lib_check(program: *const Program) -> i32;
    pub(crate) fn pcc_lib_run(program: *const Program, measured: *const u64) -> u64;
    pub(crate) fn pcc_lib_utility(program: *const Program, report: *const Report) -> u64;
    pub(crate) fn pcc_lib_law_size() -> u32;
    pub(crate) fn pcc_lib_law_new(law: *mut u64, rate: u64, seed: u64);
    pub(crate) fn pcc_lib_law_next(law: *mut u64, path: *const Path, slot: *mut Slot);
    pub(crate) fn pcc_lib_law_on_report(
        law: *mut u64,
        program: *const Program,
        path: *const Path,
        slot: *const Slot,
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
    pub(crate) fn pcc_lib_law_state(law: *const u64) -> u32;
}
