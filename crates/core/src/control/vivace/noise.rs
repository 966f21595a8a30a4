//! Which growth of the RTT counts: the rest is noise, and the utility never sees it. Source: `NSDI 2018` §4.2 for the latency
//! filter, the authors' code of `SIGCOMM 2020` for the rest.
//!
//! Growth counts where over its interval it raised the RTT by more than the samples scatter around it. A growth that is too
//! slow for that shows as a trend of several intervals: what is out of the usual there counts as well.

use super::Config;
use crate::interval::Report;
use core::time::Duration;

/// A trend is one of so many intervals.
const TREND: usize = 6;
/// Weight of an interval in what is usual.
const WEIGHT: f64 = 0.1;
/// Out of the usual is a trend from so many mean changes on, a deviation from so many mean differences on.
const TREND_CHANGES: f64 = 2.0;
const DEVIATION_DIFFERENCES: f64 = 4.0;
/// No smaller deviation is out of the usual. Unit: s.
const LEAST_DEVIATION: f64 = 0.001;
/// Where nearly all of them are, the path has changed, and what is usual is learnt anew.
const ALWAYS: f64 = 0.95;
/// A trend so much weaker than any before makes those before no measure of what is usual.
const FAR_WEAKER: f64 = 0.01;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Noise {
    /// Mean RTTs of the latest intervals, the newest first; `seen` of them are known. Unit: s.
    rtts: [f64; TREND],
    seen: usize,
    trend: Trend,
    deviation: Deviation,
}

impl Noise {
    /// The report, with the growth and the deviation that count.
    pub(super) fn counted(&mut self, report: &Report, config: &Config) -> Report {
        let Some(growth) = report.rtt_gradient else { return report.clone() };
        let rise = growth.abs() * report.duration.as_secs_f64();
        let mut counts = rise > config.tolerance * report.rtt_residual.as_secs_f64();
        let mut deviation = report.rtt_deviation;
        if config.tolerance > 0.0 {
            let trend = self.learn(report);
            let varies = self.deviation.is_unusual(deviation.as_secs_f64()) || trend.is_some();
            counts |= trend.is_some_and(|trend| trend > 0.0);
            if !counts && !varies {
                deviation = Duration::ZERO;
            }
        }
        let growth = if counts && growth.abs() >= config.latency_filter { growth } else { 0.0 };
        // The rest is believed: no later part asks again how sure it is.
        Report {
            rtt_gradient: Some(growth),
            rtt_gradient_error: 0.0,
            rtt_residual: Duration::ZERO,
            rtt_deviation: deviation,
            ..report.clone()
        }
    }

    /// Takes in an interval: the trend, in seconds an interval, where it is out of the usual.
    fn learn(&mut self, report: &Report) -> Option<f64> {
        self.rtts.rotate_right(1);
        self.rtts[0] = report.rtt?.as_secs_f64();
        self.seen = (self.seen + 1).min(TREND);
        (self.seen == TREND).then(|| slope(&self.rtts)).filter(|trend| self.trend.is_unusual(*trend))
    }
}

/// Least-squares slope of numbers one apart, the newest first.
fn slope(newest_first: &[f64; TREND]) -> f64 {
    let middle = (TREND - 1) as f64 / 2.0;
    let terms = (0_u8..).map(|age| middle - f64::from(age)).zip(newest_first);
    let (up, across) = terms.fold((0.0, 0.0), |(up, across), (t, y)| (up + t * y, across + t * t));
    up / across
}

/// The usual trend. Unit: s an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Trend {
    known: bool,
    mean: f64,
    change: f64,
    last: f64,
    /// The weakest of them all, in absolute terms.
    weakest: f64,
}

impl Trend {
    /// Learns of this trend, unless it is out of the usual.
    fn is_unusual(&mut self, trend: f64) -> bool {
        let size = trend.abs();
        if !self.known || size < FAR_WEAKER * self.weakest {
            *self = Self { known: true, mean: 0.0, change: size, last: trend, weakest: size };
            return false;
        }
        self.weakest = self.weakest.min(size);
        let unusual = (trend - self.mean).abs() > TREND_CHANGES * self.change;
        if !unusual {
            self.mean += WEIGHT * (trend - self.mean);
            self.change += WEIGHT * ((trend - self.last).abs() - self.change);
        }
        self.last = trend;
        unusual
    }
}

/// The usual deviation of the RTT within an interval. Unit: s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Deviation {
    known: bool,
    mean: f64,
    difference: f64,
    /// How often they were out of the usual of late.
    often: f64,
}

impl Deviation {
    /// Learns of this one, unless it is out of the usual.
    fn is_unusual(&mut self, deviation: f64) -> bool {
        if !self.known || self.often > ALWAYS {
            *self = Self { known: true, mean: deviation, difference: deviation / 2.0, often: 0.0 };
            return false;
        }
        let beyond = deviation > self.mean + DEVIATION_DIFFERENCES * self.difference;
        let unusual = beyond && deviation > LEAST_DEVIATION;
        self.often += WEIGHT * (f64::from(u8::from(unusual)) - self.often);
        if !unusual {
            self.difference += WEIGHT * ((deviation - self.mean).abs() - self.difference);
            self.mean += WEIGHT * (deviation - self.mean);
        }
        unusual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    /// An interval of 100 ms with this growth and scatter, in µs, around this RTT, in ms.
    fn seen(growth: f64, residual: u64, rtt_ms: f64) -> Report {
        Report {
            rtt: Some(Duration::from_secs_f64(rtt_ms / 1e3)),
            rtt_gradient: Some(growth),
            rtt_gradient_error: 1.0,
            rtt_residual: Duration::from_micros(residual),
            rtt_deviation: Duration::from_micros(400),
            ..report(100.0, 0.0)
        }
    }

    #[test]
    fn the_paper_s_filter_is_a_dead_band() {
        let config = Config::default();
        for (growth, counted) in [(0.0, 0.0), (0.0099, 0.0), (0.0101, 0.0101), (-0.0099, 0.0), (-0.2, -0.2)] {
            let report = Noise::default().counted(&seen(growth, 100_000, 30.0), &config);
            assert_eq!((report.rtt_gradient, report.rtt_deviation), (Some(counted), Duration::from_micros(400)));
            assert!((report.queue_growth() - counted).abs() < 1e-12);
        }
    }

    #[test]
    fn growth_within_its_scatter_is_noise_to_proteus() {
        // Over 100 ms it raises the RTT by 500 µs.
        for (residual, counted, deviation) in [(499, 0.005, 400), (501, 0.0, 0)] {
            let report = Noise::default().counted(&seen(0.005, residual, 30.0), &Config::proteus());
            assert_eq!(report.rtt_gradient, Some(counted));
            assert_eq!(report.rtt_deviation, Duration::from_micros(deviation));
        }
    }

    #[test]
    fn a_slow_growth_shows_as_a_trend_of_six_intervals() {
        let (mut noise, config) = (Noise::default(), Config::proteus());
        let mut feed = |rtt: f64| noise.counted(&seen(0.001, 5000, rtt), &config).rtt_gradient.unwrap();
        let mut wander = (0..60).map(|i| 30.0 + 0.02 * f64::from(i % 3));
        assert!(wander.by_ref().all(|rtt| feed(rtt) == 0.0), "what is usual does not count");
        let climb: Vec<_> = (1..=6).map(|i| feed(30.0 + 0.5 * f64::from(i))).collect();
        assert!(climb[5] == 0.001, "half a millisecond each: {climb:?}");
        let fall: Vec<_> = (1..=8).map(|i| feed(33.0 - 0.5 * f64::from(i))).collect();
        assert_eq!(fall[7], 0.0, "a fall is no growth");
    }

    #[test]
    fn a_deviation_out_of_the_usual_counts_until_it_is_usual() {
        let mut deviation = Deviation::default();
        for _ in 0..50 {
            assert!(!deviation.is_unusual(0.0004));
        }
        assert!(!deviation.is_unusual(0.0009), "below a millisecond nothing is unusual");
        let unusual = (0..100).take_while(|_| deviation.is_unusual(0.02)).count();
        assert!((20..40).contains(&unusual), "nineteen in twenty of late, by weights of a tenth: {unusual}");
    }

    #[test]
    fn an_interval_without_samples_stays_as_it_is() {
        let none = Report { rtt: None, rtt_gradient: None, ..report(100.0, 0.0) };
        assert_eq!(Noise::default().counted(&none, &Config::proteus()), none);
    }

    #[test]
    fn the_slope_is_that_of_least_squares() {
        assert!((slope(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]) - 1.0).abs() < 1e-12);
        assert!(slope(&[1.0, 2.0, 1.0, 1.0, 2.0, 1.0]).abs() < 1e-12);
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn an_unusual_trend_does_not_change_the_usual_one() {
        let mut trend = Trend::default();
        assert!(!trend.is_unusual(-0.010), "the first one is the usual one");
        assert!(!trend.is_unusual(0.012));
        let (mean, change) = (WEIGHT * 0.012, 0.010 + WEIGHT * (0.022 - 0.010));
        near(trend.mean, mean);
        near(trend.change, change);
        near(trend.weakest, 0.010);
        assert!(
            !trend.is_unusual(mean - 1.99 * change) && Trend { mean, change, ..trend }.is_unusual(mean - 2.01 * change)
        );
        let before = trend;
        assert!(trend.is_unusual(1.0));
        near(trend.mean, before.mean);
        near(trend.change, before.change);
        near(trend.last, 1.0);
        assert!(!trend.is_unusual(0.0099 * trend.weakest), "far weaker than any: all begins anew");
        near(trend.mean, 0.0);
        let mut other = before;
        other.is_unusual(0.0101 * before.weakest);
        assert!(other.mean.abs() > 0.0 && other.weakest < before.weakest, "weaker, and one of them still");
    }

    #[test]
    fn a_deviation_that_is_often_unusual_becomes_usual() {
        let mut usual = Deviation::default();
        assert!(!usual.is_unusual(0.002));
        near(usual.difference, 0.001);
        assert!(!usual.is_unusual(0.005));
        let (difference, mean) = (0.001 + WEIGHT * (0.003 - 0.001), 0.002 + WEIGHT * 0.003);
        near(usual.difference, difference);
        near(usual.mean, mean);
        near(usual.often, 0.0);
        let far = mean + DEVIATION_DIFFERENCES * difference;
        let copy = usual;
        assert!(!{ copy }.is_unusual(far * 0.999) && { copy }.is_unusual(far * 1.001));
        let often = (1..).take_while(|_| usual.is_unusual(1.0)).last();
        near(usual.mean, 1.0);
        // 1 - 0.9^n is beyond 0.95 from n = 29 on.
        assert_eq!(often, Some(29), "then the path has changed");
        assert!(!Deviation { known: true, ..Deviation::default() }.is_unusual(LEAST_DEVIATION * 0.999));
        assert!(Deviation { known: true, ..Deviation::default() }.is_unusual(LEAST_DEVIATION * 1.001));
    }

    #[test]
    fn an_unusual_deviation_counts_without_growth() {
        let (mut noise, config) = (Noise::default(), Config::proteus());
        let mut counted = |deviation| {
            let rtt_deviation = Duration::from_micros(deviation);
            noise.counted(&Report { rtt_deviation, ..seen(0.001, 5000, 30.0) }, &config)
        };
        (0..20).for_each(|_| assert_eq!(counted(400).rtt_deviation, Duration::ZERO));
        let unusual = counted(20_000);
        assert_eq!((unusual.rtt_deviation, unusual.rtt_gradient), (Duration::from_millis(20), Some(0.0)));
        assert_eq!((unusual.rtt_residual, unusual.rtt_gradient_error), (Duration::ZERO, 0.0));
    }
}
