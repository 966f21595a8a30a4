//! From a resolved interval to the law's verdict on it.

use super::Pcc;
use crate::control::{Finite, RateControl, Verdict};
use crate::interval::IntervalPlan;
use crate::interval::Report;
use crate::observe::Event;
use crate::units::Timestamp;

/// Lost packets from which on there is a panic: fewer may be a neighbour's burst.
const PANIC_PACKETS: u32 = 20;
/// And in so many runs. A burst that has nothing to do with the rate (fading, rain, a handover) is one run, or two where an
/// interval has the end of one and the beginning of the next. A queue that overflows lets packets pass in between: at eight
/// times the bottleneck's rate, which three halvings answer, one after each seven lost, and 20 lost packets are ⌈20 / 7⌉ runs.
const PANIC_RUNS: u32 = 3;
crate::shared::shared_with_c!("PCC_" [] PANIC_PACKETS, PANIC_RUNS);

impl Pcc {
    pub(super) fn take_reports(&mut self, now: Timestamp) {
        while let Some((plan, report)) = self.monitor.pop(now) {
            match report {
                Some(report) => self.take_report(now, plan, &self.knowing(report)),
                None if plan.trial.is_some() => {
                    self.law.restart();
                    self.replan(now, "trial void");
                }
                None => {}
            }
        }
        self.judge_early(now);
    }

    /// With what only several intervals tell: the base RTT has one owner, the law once it knows it, and until then the least
    /// RTT of the last ten seconds.
    fn knowing(&self, report: Report) -> Report {
        let known = self.law.known();
        let excess_loss = known.random_loss.map(|random| (report.undelivered() - random).max(0.0));
        // An interval without any answer in time says nothing: the path was dark, or held all of it back. The stall
        // guard (`silence.rs`) deals with a path that stays silent.
        let app_limited = report.app_limited || (report.timed_out && report.packets_lost == report.packets);
        Report {
            app_limited,
            excess_loss,
            rtt_base: known.base_rtt.or(self.rtt.min()),
            previous: self.previous,
            ..report
        }
    }

    fn take_report(&mut self, now: Timestamp, plan: IntervalPlan, report: &Report) {
        self.limited_by = report.limited_by;
        self.trains.forget_what_is_old(now);
        self.delivery.update(now, report.throughput(), self.rtt.smoothed_or_assumed());
        if report.app_limited {
            self.delivered.pause();
        }
        self.held.on_report(report);
        let utility = plan.trial.and_then(|_| defined(self.config.utility.evaluate(report)));
        self.tell(&Event::Interval { at: now, report, utility });
        self.judge(now, plan, report);
    }

    /// Starting overshoots by what it sends until a result is known, so a result is used as soon as the packets still
    /// outstanding cannot change it: if the interval is worth less than nothing even when all of those arrive, or if
    /// its own queue grows while its first packets are answered for.
    fn judge_early(&mut self, now: Timestamp) {
        // Asked for with each acknowledgement: whoever does not start makes no report for it.
        if !self.law.is_starting() {
            return;
        }
        let Some((plan, report)) = self.monitor.so_far() else { return };
        let report = self.knowing(report);
        let utility = Finite(&*self.config.utility);
        if !report.app_limited && self.law.ends_early(&report, &utility, &self.path()) {
            let utility = defined(self.config.utility.evaluate(&report));
            self.tell(&Event::Interval { at: now, report: &report, utility });
            self.monitor.forget_oldest();
            self.judge(now, plan, &report);
        }
    }

    pub(super) fn judge(&mut self, now: Timestamp, plan: IntervalPlan, report: &Report) {
        self.previous = Some(report.summary());
        self.on_end = if report.app_limited { 0 } else { self.on_end.saturating_add(report.packets) };
        if self.on_end >= self.config.monitor.min_packets.max(1) {
            (self.filled, self.on_end) = (Some(now), 0);
        }
        if !(self.law.is_starting() && plan.trial.is_some()) {
            // Not for an interval that only drains the queue or fills time: Starting's own overshoot is lost in it.
            let judged =
                plan.trial.is_some() && report.packets_lost >= PANIC_PACKETS && report.loss_bursts >= PANIC_RUNS;
            if judged && report.loss() > self.config.utility.panic_loss() {
                // Back to the rate that still arrived; but one interval may be wrong, so at most three halvings at
                // once.
                let rate = self.law.rate();
                return self.back_off(now, report.throughput().min(rate).max(rate * 0.125), "panic loss");
            }
        }
        let path = self.path();
        if plan.trial.is_some() {
            if defined(self.config.utility.evaluate(report)).is_none() {
                self.law.restart();
                return self.replan(now, "utility undefined");
            }
            let utility = Finite(&*self.config.utility);
            let rate = self.law.rate();
            match self.law.on_report(plan, report, &utility, &path) {
                Verdict::Realign(reason) => self.replan(now, reason),
                Verdict::Start(reason) => {
                    self.open_start_window(self.bytes_in_flight());
                    self.replan(now, reason);
                }
                Verdict::Wait if self.law.rate() != rate => self.tell_decision(now, "rate confirmed"),
                Verdict::Wait => {}
            }
        }
    }
}

/// The utility of an interval; `None` if it is not defined there.
fn defined(utility: f64) -> Option<f64> {
    utility.is_finite().then_some(utility)
}
