//! The kernel's control law, to be compared with the core's.

use crate::ffi;
use crate::program::Program;
use crate::report::Report;
use core::time::Duration;
use pcc::control;
use pcc::interval;
use pcc::interval::IntervalPlan;
use pcc::units::Rate;

/// Start-up and Ascent as the kernel has them.
#[derive(Clone, Debug)]
pub struct Law {
    state: Vec<u64>,
    program: Program,
}

fn path(path: &control::Path) -> ffi::Path {
    let rate = |rate: Rate| rate.bytes_per_sec().to_bits();
    ffi::Path {
        rtt_ns: path.rtt.as_nanos() as u64,
        queue_ns: path.queue.as_nanos() as u64,
        rtt: path.rtt.as_secs_f64().to_bits(),
        queue: path.queue.as_secs_f64().to_bits(),
        packet: (path.packet.get() as f64).to_bits(),
        floor: rate(path.floor),
        initial: rate(path.initial),
        ceiling: rate(path.ceiling),
        delivery: rate(path.delivery),
    }
}

fn plan(plan: IntervalPlan) -> ffi::IntervalPlan {
    ffi::IntervalPlan {
        rate: plan.rate.bytes_per_sec().to_bits(),
        rtts_least: plan.rtts.0.to_bits(),
        rtts_most: plan.rtts.1.to_bits(),
        trial: plan.trial.map_or(-1, i32::from),
        is_stretched: plan.is_stretched.into(),
    }
}

impl Law {
    /// A law that starts at `initial` and climbs what this program says.
    pub fn new(program: Program, initial: Rate, seed: u64) -> Self {
        // SAFETY: C fills as many bytes as it asked for.
        let state = unsafe {
            let mut state = vec![0; (ffi::pcc_lib_law_size() as usize).div_ceil(8)];
            ffi::pcc_lib_law_new(state.as_mut_ptr(), initial.bytes_per_sec().to_bits(), seed);
            state
        };
        Self { state, program }
    }

    /// As [`control::RateControl::next`].
    pub fn next(&mut self, on: &control::Path) -> IntervalPlan {
        let mut next = ffi::IntervalPlan::default();
        // SAFETY: all three live through the call.
        unsafe { ffi::pcc_lib_law_next(self.state.as_mut_ptr(), &path(on), &mut next) };
        IntervalPlan {
            rate: Rate::from_bytes_per_sec(f64::from_bits(next.rate)),
            trial: u8::try_from(next.trial).ok(),
            rtts: (f64::from_bits(next.rtts_least), f64::from_bits(next.rtts_most)),
            is_stretched: next.is_stretched != 0,
        }
    }

    /// As [`control::RateControl::on_report`]; whether the plan changed.
    pub fn on_report(&mut self, judged: IntervalPlan, report: &interval::Report, on: &control::Path) -> bool {
        let (report, on, judged) = (Report::from(report), path(on), plan(judged));
        // SAFETY: all live through the call.
        unsafe { ffi::pcc_lib_law_on_report(self.state.as_mut_ptr(), &self.program, &on, &judged, &report) != 0 }
    }

    /// As [`control::Driver::ends_early`].
    pub fn ends_early(&mut self, report: &interval::Report, on: &control::Path) -> bool {
        let (report, on) = (Report::from(report), path(on));
        // SAFETY: all live through the call.
        unsafe { ffi::pcc_lib_law_ends_early(self.state.as_mut_ptr(), &self.program, &on, &report) != 0 }
    }

    /// As [`control::Driver::start`].
    pub fn start(&mut self, rate: Rate) {
        // SAFETY: the state lives through the call.
        unsafe { ffi::pcc_lib_law_start(self.state.as_mut_ptr(), rate.bytes_per_sec().to_bits()) }
    }

    /// As [`control::RateControl::back_off`].
    pub fn back_off(&mut self, rate: Rate) {
        // SAFETY: the state lives through the call.
        unsafe { ffi::pcc_lib_law_back_off(self.state.as_mut_ptr(), rate.bytes_per_sec().to_bits()) }
    }

    /// As [`control::RateControl::restart`].
    pub fn restart(&mut self) {
        // SAFETY: the state lives through the call.
        unsafe { ffi::pcc_lib_law_restart(self.state.as_mut_ptr()) }
    }

    /// The base rate.
    pub fn rate(&self) -> Rate {
        // SAFETY: the state lives through the call.
        Rate::from_bytes_per_sec(f64::from_bits(unsafe { ffi::pcc_lib_law_rate(self.state.as_ptr()) }))
    }

    /// As [`control::RateControl::standing_rtt`].
    pub fn standing_rtt(&self) -> Option<Duration> {
        // SAFETY: the state lives through the call.
        let seconds = f64::from_bits(unsafe { ffi::pcc_lib_law_standing_rtt(self.state.as_ptr()) });
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// The state's name, as [`control::RateControl::state`].
    pub fn state(&self) -> &'static str {
        // SAFETY: the state lives through the call.
        match unsafe { ffi::pcc_lib_law_state(self.state.as_ptr()) } {
            0 => "Starting",
            1 => "Draining",
            _ => "Probing",
        }
    }
}
