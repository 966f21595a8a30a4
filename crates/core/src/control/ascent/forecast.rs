//! What an interval at another rate would report, and the rate at which the utility stops rising.

use crate::control::rate_control::Evaluate;
use crate::interval::{LimitedBy, Report};
use crate::units::{Bytes, Rate, Timestamp};
use crate::utility::{OF_A_QUEUE, Outlook};
use core::cmp::Ordering;
use core::time::Duration;

/// Halvings of the range of rates: to 0.01 % of it.
const HALVINGS: u32 = 14;
/// The utility's slope is taken between this share of the rate below it and above it.
const SIDE: f64 = 0.001;
/// Relative tolerance when two utilities are compared. Above the capacity goodput is flat, so utilities that depend on goodput
/// alone differ only by rounding.
const EQUAL: f64 = 1e-9;
/// Counts large enough that rounding does not matter: only ratios do.
const PACKETS: f64 = 1e6;
const SENT: f64 = 1e12;
crate::shared::shared_with_c!("FORECAST_" []
    HALVINGS, ABOVE = 1.0 + SIDE, BELOW = 1.0 - SIDE, EQUAL, PACKETS = PACKETS as u32, SENT
);

/// The path as it is foreseen to be when the next rate acts. All times in seconds, rates in byte/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    /// What the bottleneck carries for us.
    pub(super) capacity: f64,
    /// Half of the queueing delay at which packets are lost.
    pub(super) half_buffer: f64,
    /// RTT without a queue.
    pub(super) base: f64,
    /// Queueing delay when the next rate begins to act, after all that is on its way.
    pub(super) queue: f64,
    /// The queue stays as long as it is, whatever we do.
    pub(super) stands: bool,
    /// How long the next rate acts before what comes of it is known.
    pub(super) horizon: f64,
    /// By how much the probes let the queue swing.
    pub(super) probe_amplitude: f64,
    /// Loss rate that has a price whatever our rate is: what may be somebody's.
    pub(super) random: f64,
    /// Share of marked packets that has a price.
    pub(super) marked: f64,
    /// By how much the RTT deviates, whatever we do.
    pub(super) deviation: f64,
    /// A rate that is in nobody's way. Up to it no RTT deviates, or a scavenger would never learn that the others are gone.
    pub(super) negligible_rate: f64,
}

impl Forecast {
    /// The queue after `seconds` at this rate.
    pub(super) fn queue_after(&self, queue: f64, rate: f64, seconds: f64) -> f64 {
        (queue + self.growth_at(rate) * seconds).max(0.0)
    }

    /// Seconds a second.
    fn growth_at(&self, rate: f64) -> f64 {
        if self.stands { 0.0 } else { rate / self.capacity - 1.0 }
    }

    /// The best rate within these: where the utility stops rising.
    ///
    /// The queue is everybody's: it is a price that our own rate does not lower, or each of n senders would want less than its share
    /// of the queue. The price is that of the end of the horizon, at the rate in question. So the queue meets the level that the
    /// utility wants, instead of swinging around it.
    pub(super) fn best_rate(&self, utility: Evaluate<'_>, lowest: f64, highest: f64) -> f64 {
        let reading = utility.best_response(&self.outlook(lowest, highest));
        reading.map_or_else(|| self.search(utility, lowest, highest), Rate::bytes_per_sec)
    }

    fn search(&self, utility: Evaluate<'_>, lowest: f64, highest: f64) -> f64 {
        let (mut low, mut high) = (lowest, highest);
        for _ in 0..HALVINGS {
            let rate = (low * high).sqrt();
            let queue = self.queue_after(self.queue, rate, self.horizon);
            if self.rising(utility, rate, queue).is_gt() { low = rate } else { high = rate }
        }
        (low * high).sqrt()
    }

    /// Whether the utility falls with the rate at this one, behind the queue as it is.
    pub(super) fn wants_less(&self, utility: Evaluate<'_>, rate: f64) -> bool {
        self.rising(utility, rate, self.queue).is_lt()
    }

    /// Whether the utility rises with the rate at this one, falls or stays, behind this queue.
    fn rising(&self, utility: Evaluate<'_>, rate: f64, queue: f64) -> Ordering {
        let worth = |rate: f64| utility.of(&self.report(rate, queue));
        compared(worth(rate * (1.0 + SIDE)), worth(rate * (1.0 - SIDE)))
    }

    /// What is foreseen of rates within these.
    fn outlook(&self, lowest: f64, highest: f64) -> Outlook {
        let Self { capacity, queue, random: lost, marked, .. } = *self;
        let (horizon, full) = if self.stands { (0.0, f64::INFINITY) } else { (self.horizon, 1.0 + self.room()) };
        Outlook { capacity, lowest, highest, queue, horizon, lost, marked, full }
    }

    /// How fast the queue may grow through the horizon until something is lost. Half of the longest queue is ours, less what the
    /// faster probes add: behind the other half bursts of others have their place. Unit: s/s.
    fn room(&self) -> f64 {
        (self.half_buffer - self.probe_amplitude).max(0.0) / self.horizon
    }

    /// What an interval at this rate would report behind a queue of this length.
    fn report(&self, rate: f64, queue: f64) -> Report {
        let growth = self.growth_at(rate);
        let excess = (growth - self.room()).max(0.0);
        let loss = (self.random + excess).min(1.0);
        let lost = (loss * PACKETS) as u32;
        let achieved = Rate::from_bytes_per_sec(rate);
        let duration = Duration::try_from_secs_f64(self.horizon).unwrap_or(Duration::from_secs(1));
        let rtt = Duration::try_from_secs_f64(self.base + queue).ok();
        let deviation = if rate > self.negligible_rate { self.deviation.max(OF_A_QUEUE * queue) } else { 0.0 };
        Report {
            id: 0,
            started: Timestamp::ZERO,
            duration,
            target: achieved,
            achieved,
            packets: PACKETS as u32,
            packets_lost: lost,
            loss_bursts: lost,
            packets_marked: (self.marked * PACKETS) as u32,
            sent: Bytes::new(SENT as u64),
            lost: Bytes::new((loss * SENT) as u64),
            excess_loss: Some(excess),
            delivery_rate: Some(achieved * ((1.0 - loss) / (1.0 + growth.max(0.0)))),
            rtt,
            rtt_least: rtt,
            rtt_base: Duration::try_from_secs_f64(self.base).ok(),
            rtt_gradient: Some(if queue > 0.0 { growth.max(-0.5) } else { 0.0 }),
            rtt_gradient_error: 0.0,
            rtt_span: duration,
            rtt_pause: Duration::ZERO,
            rtt_samples: PACKETS as u32,
            rtt_residual: Duration::ZERO,
            rtt_deviation: Duration::try_from_secs_f64(deviation).unwrap_or(Duration::ZERO),
            app_limited: false,
            timed_out: false,
            limited_by: LimitedBy::Network,
            previous: None,
        }
    }
}

/// One worth and another: equal if they differ by no more than what rounding makes of equal ones.
fn compared(one: f64, other: f64) -> Ordering {
    let apart = one - other;
    if apart.abs() > EQUAL * (one.abs() + other.abs()) { apart.total_cmp(&0.0) } else { Ordering::Equal }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::control::{Finite, Worth};
    use crate::rng::Rng;
    use crate::utility::{Fair, Utility};

    /// 100 Mbit/s, 30 ms, a buffer of 30 ms, nothing on its way.
    pub(in super::super) fn forecast() -> Forecast {
        Forecast {
            capacity: 12.5e6,
            half_buffer: 0.015,
            base: 0.03,
            queue: 0.0,
            stands: false,
            horizon: 0.03,
            probe_amplitude: 0.0003,
            random: 0.0,
            marked: 0.0,
            deviation: 0.0,
            negligible_rate: 50e3,
        }
    }

    fn best(forecast: &Forecast) -> f64 {
        let fair = Fair::default();
        forecast.best_rate(&Finite(&fair), 0.25 * 12.5e6, 1.25 * 12.5e6) * 8e-6
    }

    #[test]
    fn what_is_foreseen_of_a_rate_is_what_an_interval_would_report() {
        let report = |forecast: &Forecast, rate, queue| forecast.report(rate, queue);
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        let shallow = Forecast { half_buffer: 0.01, random: 0.01, marked: 0.1, ..forecast() };
        let over = report(&shallow, 20e6, 0.005);
        let excess = 0.6 + (0.0003 - 0.01) / 0.03;
        near(over.excess_loss.unwrap(), excess);
        near(over.lost.get() as f64 / over.sent.get() as f64, 0.01 + excess);
        for refused in [over.packets_lost, over.loss_bursts] {
            let share = f64::from(refused) / f64::from(over.packets);
            assert!((share - 0.01 - excess).abs() < 1e-5, "{refused} packets");
        }
        near(over.marked(), 0.1);
        near(over.delivery_rate.unwrap().bytes_per_sec() / 20e6, (0.99 - excess) / 1.6);
        near(over.rtt_gradient.unwrap(), 0.6);
        near(over.rtt.unwrap().as_secs_f64(), 0.035);
        near(over.rtt_deviation.as_secs_f64(), 0.29 * 0.005);
        let varied = Forecast { deviation: 0.002, ..shallow };
        near(report(&varied, 20e6, 0.005).rtt_deviation.as_secs_f64(), 0.002);
        near(report(&varied, 40e3, 0.005).rtt_deviation.as_secs_f64(), 0.0);
        near(report(&shallow, 20e6, 0.0).rtt_gradient.unwrap(), 0.0);
        near(report(&shallow, 2.5e6, 0.005).rtt_gradient.unwrap(), -0.5);
        near(report(&shallow, 2.5e6, 0.005).delivery_rate.unwrap().bytes_per_sec() / 2.5e6, 0.99);
        near(report(&shallow, 2.5e6, 0.005).excess_loss.unwrap(), 0.0);
    }

    #[test]
    fn the_queue_meets_the_wanted_level_within_the_horizon() {
        // Fair wants 0.6 ms on 100 Mbit/s.
        for (queue, expected) in [(0.0006, 100.0), (0.0, 102.0), (0.0036, 90.0), (0.0096, 70.0)] {
            let found = best(&Forecast { queue, ..forecast() });
            assert!((found - expected).abs() < 0.6, "behind {queue} s: {found}, not {expected}");
        }
    }

    #[test]
    fn a_small_buffer_is_filled_to_its_half_and_no_further() {
        let found = best(&Forecast { half_buffer: 0.0004, probe_amplitude: 0.0001, ..forecast() });
        assert!((found - 101.0).abs() < 0.2, "{found}");
        let found = best(&Forecast { half_buffer: 5e-6, ..forecast() });
        assert!((99.0..=100.1).contains(&found), "no buffer at all: {found}");
    }

    #[test]
    fn a_free_queue_is_filled_up_to_the_buffer() {
        // Half of 30 ms of buffer may be filled, less what the probes swing, from whatever there is.
        let best = |queue| {
            let forecast = Forecast { queue, ..forecast() };
            let loss = |report: &Report| report.achieved.mbit() * (1.0 - 11.0 * report.loss());
            forecast.best_rate(&loss, 0.25 * 12.5e6, 1.75 * 12.5e6) * 8e-6
        };
        for (queue, expected) in [(0.0, 149.0), (0.015, 149.0), (0.03, 149.0)] {
            assert!((best(queue) - expected).abs() < 0.3, "behind {queue} s: {}, not {expected}", best(queue));
        }
    }

    #[test]
    fn any_priced_loss_counts() {
        assert!(best(&Forecast { random: 0.01, ..forecast() }) < 0.95 * best(&forecast()));
        assert!(best(&Forecast { random: 0.10, ..forecast() }) < 26.0);
    }

    #[test]
    fn marks_count_like_a_queue() {
        assert!(best(&Forecast { marked: 0.05, ..forecast() }) < best(&forecast()) * 0.95);
    }

    #[test]
    fn a_crowd_is_who_leaves_nothing_for_a_sixteenth() {
        let fair = Fair::default();
        let crowded = |queue| Forecast { queue, ..forecast() }.wants_less(&Finite(&fair), 12.5e6 / 16.0);
        assert!(!crowded(0.002) && crowded(0.003), "0.6 ms times the root of 16");
    }

    /// A path of this order of magnitude beyond those that there are.
    fn any_forecast(rng: &mut Rng, wild: f64) -> Forecast {
        let wild = 10_f64.powf(wild);
        let mut spread = |least: f64, most: f64| least * (most / least).powf(rng.unit());
        let (capacity, room, base) = (spread(1e5 / wild, 1e8 * wild), spread(1e-5, 0.05 * wild), spread(1e-4, 1.0));
        let (horizon, queue) = (spread(1e-3 / wild, 1.0), spread(1e-5, 0.1 * wild));
        let probe_amplitude = 0.02 * horizon * spread(0.1, 1.0);
        let mut sometimes = |value: f64| if rng.coin() { value } else { 0.0 };
        let queue = sometimes(queue);
        let (random, marked) = (sometimes(1.0), sometimes(1.0));
        Forecast {
            capacity,
            half_buffer: room,
            base,
            queue,
            stands: false,
            horizon,
            probe_amplitude,
            random: random * 0.1 * rng.unit(),
            // Whole packets of a million: reports count them.
            marked: marked * (1e5 * rng.unit()).ceil() * 1.000_000_01e-6,
            deviation: 0.0,
            negligible_rate: 0.0,
        }
    }

    /// `fair` with its own parameters, or others.
    fn any_fair(rng: &mut Rng) -> Fair {
        let fair = Fair::default();
        if rng.coin() {
            return fair;
        }
        Fair {
            level: fair.level * 100_f64.powf(rng.unit() - 0.5),
            loss_price: fair.loss_price * 4.0 * rng.unit(),
            loss_cap: fair.loss_cap * 2.0 * rng.unit(),
            sureness: fair.sureness * rng.unit(),
        }
    }

    #[test]
    fn fairs_own_best_response_is_worth_what_a_search_finds() {
        let (mut rng, mut reading) = (Rng::new(7), 0);
        for i in 0..20_000 {
            let (forecast, fair) = (any_forecast(&mut rng, f64::from(i % 3)), any_fair(&mut rng));
            let capacity = forecast.capacity;
            let (low, high) = (capacity * (0.1 + 0.6 * rng.unit()), capacity * (1.0 + rng.unit()));
            let (stands, fair) = (i % 4 == 0, Finite(&fair));
            let forecast = Forecast { stands, ..forecast };
            let Some(best) = fair.best_response(&forecast.outlook(low, high)) else { continue };
            reading += 1;
            let (best, found) = (best.bytes_per_sec(), forecast.search(&fair, low, high));
            let queue = forecast.queue_after(forecast.queue, best, forecast.horizon);
            let worth = |rate: f64| fair.of(&forecast.report(rate, queue));
            let (more, scale) = (worth(best) - worth(found), worth(best).abs() + worth(found).abs());
            assert!(more >= -1e-8 * scale, "{best}, not {found}: {forecast:?} {fair:?}");
            // A search stops where the faster of two neighbours meets a wall, and at a cell of its range; and it sees no
            // difference beside losses that are worth more than a billion times as much.
            assert!((found / best - 1.0).abs() < 1.2 * SIDE, "{best}, not {found}: {forecast:?} {fair:?}");
        }
        assert!(reading > 19_800, "{reading}");
    }

    #[test]
    fn where_own_losses_cost_less_than_the_rate_fair_has_no_formula() {
        let careless = Fair { sureness: 1.0, ..Fair::default() };
        let outlook = forecast().outlook(0.25 * 12.5e6, 2.0 * 12.5e6);
        assert!(careless.best_response(&outlook).is_none());
        assert!(Fair::default().best_response(&outlook).is_some());
    }

    #[test]
    fn what_rounding_makes_of_equal_worths_is_not_more() {
        for (one, other, more) in [
            (1e3 + 1e-7, 1e3, Ordering::Equal),
            (1e3 + 1e-5, 1e3, Ordering::Greater),
            (1e3, 1e3 + 1e-5, Ordering::Less),
            (-1e3 + 1e-7, -1e3, Ordering::Equal),
        ] {
            assert_eq!(compared(one, other), more, "{one} and {other}");
        }
    }
}
