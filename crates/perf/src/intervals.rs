//! Every monitor interval of a PCC sender, for `-V --json-stream`: what was tried, what came of it, what was made of it.

use pcc::interval::Report;
use pcc::units::Timestamp;
use serde::Serialize;

/// A monitor interval that was resolved. In JSON as it stands here, see docs/json.md.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MonitorInterval {
    /// When it was resolved, in seconds since the connection began.
    pub at: f64,
    /// From its first packet to its last, in seconds.
    pub seconds: f64,
    /// The rate that was tried.
    pub target_bps: f64,
    /// The rate that acknowledgements confirmed; none with fewer than two of them.
    pub delivered_bps: Option<f64>,
    /// Share of its bytes declared lost, or marked.
    pub loss: f64,
    /// Share of its packets that routers marked (ECN).
    pub marked: f64,
    /// Share of its bytes that were lost because of the rate, where the law knows that.
    pub own_loss: Option<f64>,
    /// Mean RTT of its packets.
    pub rtt_ms: Option<f64>,
    /// RTT of the path without a queue, as far as it was known then.
    pub base_rtt_ms: Option<f64>,
    /// The utility function's verdict; none if it was not judged.
    pub utility_value: Option<f64>,
    /// The control law's state when it was resolved.
    pub state: &'static str,
    /// Its limit.
    pub limited_by: &'static str,
}

impl MonitorInterval {
    /// The interval of this report, resolved at that time.
    pub fn new(at: Timestamp, report: &Report, utility: Option<f64>, state: &'static str) -> Self {
        Self {
            at: at.as_nanos() as f64 * 1e-9,
            seconds: report.duration.as_secs_f64(),
            target_bps: report.target.bits_per_sec(),
            delivered_bps: report.delivery_rate.map(|rate| rate.bits_per_sec()),
            loss: report.loss(),
            marked: report.marked(),
            own_loss: report.excess_loss,
            rtt_ms: report.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            base_rtt_ms: report.rtt_base.map(|rtt| rtt.as_secs_f64() * 1e3),
            utility_value: utility.filter(|value| value.is_finite()),
            state,
            limited_by: report.limited_by.as_str(),
        }
    }
}

/// The intervals since they were taken last: all of them, or evenly thinned where there are many.
#[derive(Debug)]
pub struct Log {
    kept: Vec<MonitorInterval>,
    /// Every so many-th is kept.
    stride: u64,
    seen: u64,
}

/// Kept between two takings at the most: a plot of one second shows no more.
const MOST: usize = 256;

impl Default for Log {
    fn default() -> Self {
        Self { kept: Vec::new(), stride: 1, seen: 0 }
    }
}

impl Log {
    /// Keeps one more, if there is room.
    pub fn push(&mut self, interval: MonitorInterval) {
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() == MOST {
                let mut number = 0;
                self.kept.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.stride *= 2;
            }
            self.kept.push(interval);
        }
        self.seen += 1;
    }

    /// The intervals since the last time.
    pub fn take(&mut self) -> Vec<MonitorInterval> {
        std::mem::take(self).kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(at: f64) -> MonitorInterval {
        MonitorInterval {
            at,
            seconds: 0.1,
            target_bps: 1e6,
            delivered_bps: None,
            loss: 0.0,
            marked: 0.0,
            own_loss: None,
            rtt_ms: None,
            base_rtt_ms: None,
            utility_value: None,
            state: "Starting",
            limited_by: "network",
        }
    }

    #[test]
    fn what_a_report_knows_is_told_and_marks_count_as_lost_too() {
        let told = |report| MonitorInterval::new(Timestamp::ZERO, &report, None, "Probing");
        let mut report = crate::example::report();
        report.excess_loss = Some(0.02);
        let known = told(report);
        assert_eq!((known.own_loss, known.base_rtt_ms), (Some(0.02), Some(30.0)));
        let mut report = crate::example::report();
        report.packets_marked = report.packets / 20;
        let interval = told(report);
        assert!((interval.marked - 0.05).abs() < 1e-12 && (interval.loss - 0.15).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn many_intervals_are_thinned_evenly_over_the_time() {
        let mut log = Log::default();
        (0..10_000).for_each(|number| log.push(interval(f64::from(number))));
        let kept = log.take();
        assert!(kept.len() > MOST / 4 && kept.len() <= MOST, "{}", kept.len());
        assert!(kept[0].at < 1.0 && kept[kept.len() - 1].at > 9_900.0, "both ends are there");
        log.push(interval(1.0));
        assert_eq!(log.take().len(), 1, "taking starts afresh");
    }
}
