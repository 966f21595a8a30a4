//! Ascent: climbs a utility that prices the queue, by continuous probing. It repeats one loop, for ever:
//!
//! ```text
//! start-up        r doubles each RTT, or follows trains to the bottleneck's rate, until it gains too little
//! probe           a pair of intervals at r(1 + ε) and r(1 − ε), in random order, half an RTT each
//! pair ended      level and growth of the queue, random loss and own loss
//!   all carried, no queue     C := C(1 + h), and h doubles from ε up to step_max
//!   a queue, or own loss      C := sent − lost − queued, averaged by errors; h := 0
//! forecast        the report of an interval at another rate, after all that is on its way
//! move            r := where the utility of that report stops rising, within C(1 − back_off_max) .. C(1 + step)
//! price           then 3 % an RTT towards the rate that the mean queue's price asks for
//! rival           then not below a floor that grows as CUBIC's window does, while a rival fills the queue
//! test            if r fell, the level did not, others may be there and none is known to fill the queue: one pair at r/2, whose
//!                 level falls if it is a queue
//! ```
//!
//! C is the rate that the bottleneck carries for us, h the headroom beyond it, the level the queueing delay. A pair's results
//! come one RTT after it left, and further pairs leave meanwhile. A sender short of data begins a new pair. After a stall r and
//! C are the rate that the path still carries.

mod bottleneck;
mod deviation;
mod forecast;
mod level;
mod loss;
mod pair;
mod price;
mod probing;
mod rival;
mod scatter;

use super::rate_control::Evaluate;
use super::response::{ERRORS, Estimate};
use super::{Path, PathEstimate, RateControl, Verdict};
use crate::interval::{IntervalPlan, Report, SHORTEST_TRIAL};
use crate::rng::Rng;
use crate::units::Rate;
use core::time::Duration;
use forecast::Forecast;
use level::Reading;
use pair::{Carried, Pair, RESOLUTION};
use probing::{Launched, Probing};

/// Parameters of Ascent.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Probes are sent at r(1 ± ε). A buffer of one packet loses half of ε (`docs/sweeps/ascent.md`).
    pub epsilon: f64,
    /// The largest step up in an RTT, as a share of the rate. Steps double up to it while all that is sent is carried.
    pub step_max: f64,
    /// The largest step down.
    pub back_off_max: f64,
    /// Length of a probe. Unit: RTT.
    pub interval_rtts: f64,
    /// A probe has at least the time of so many packets, within an RTT, or within the lesser of four RTT and 5 ms.
    pub interval_packets: f64,
    /// How far ahead the queue is foreseen: a rate is heard of after an RTT. Unit: RTT.
    pub horizon_rtts: f64,
    /// The part of the way to the rate that the mean queue's price asks for, in ln x, that each RTT goes. No parameter of `--law`.
    pub price_gain: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            epsilon: 0.02,
            step_max: 0.25,
            back_off_max: 0.5,
            interval_rtts: 0.5,
            interval_packets: 40.0,
            horizon_rtts: 1.0,
            price_gain: 0.03,
        }
    }
}

/// Length of a probe where the RTT is long: many short probes say more than a long one. Unit: s.
const LONG_ENOUGH: f64 = 0.025;
/// On a short path a probe may take four RTT, up to this, for the sake of its packets. Without it a policer of 10 Mbit/s and
/// 64 kB over 1 ms drops 29 % of the packets, and 15 % with it. Unit: s.
const SHORT: f64 = 0.005;
/// A sender with a smaller share of the queue is not alone: halfway between a lone sender's 1 and 1/2 of two equal ones.
const ALONE: f64 = 0.75;
/// The largest crowd. A queue longer than so many equal senders keep it is a rival's.
const CROWD: f64 = 32.0;
/// A share of 1/n or more may be that of so many times n senders. With 1 a CUBIC in a shallow buffer has 0.36 of the path, and
/// 0.45 with 2.
const DOUBTFUL: f64 = 2.0;
/// The largest step of a long pair, and the farthest rate that the mean queue's price is asked for: start-up's step.
const DOUBLING: f64 = 2.0;
/// Packets an RTT that are in nobody's way, and enough for RTT samples without delayed acknowledgements. Without it a scavenger
/// has 0.09 of a Wi-Fi of 20 Mbit/s, and 0.42 with it.
const QUIET: f64 = 4.0;
/// Probes on their way at the most: more than fit in an RTT. It bounds what is kept.
const MAX_LAUNCHED: usize = 256;
crate::shared::shared_with_c!("ASCENT_" [bottleneck, deviation, forecast, level, loss, pair, price, rival]
    LONG_ENOUGH, SHORT, ALONE, CROWD,
    DOUBTFUL, QUIET, DOUBLING,
    EPSILON = Config::default().epsilon, STEP_MAX = Config::default().step_max,
    BACK_OFF_MAX = Config::default().back_off_max, INTERVAL_RTTS = Config::default().interval_rtts,
    INTERVAL_PACKETS = Config::default().interval_packets, HORIZON_RTTS = Config::default().horizon_rtts,
    PRICE_GAIN = Config::default().price_gain
);

/// A pair, and what it says.
#[derive(Debug)]
struct PairReading {
    pair: Pair,
    /// It left after the last increase. A pair from before says nothing of whether still more is carried.
    after_increase: bool,
    /// How long after the pair before it; 0 after a pause. Unit: s.
    since: f64,
    /// What was carried, and how fast the queue grew meanwhile.
    carried: Carried,
    /// Own loss, a share of its packets.
    own_loss: f64,
    /// Loss rate above random loss.
    loss_above_random: Estimate,
    /// Whether the queue certainly is not all ours.
    shared: bool,
    queue: Reading,
    /// Its length in pairs of one RTT, each sent and answered for in turn.
    pairs: f64,
    /// The largest step up from here.
    largest_step: f64,
}

/// The Ascent law.
#[derive(Clone, Debug)]
pub struct Ascent {
    config: Config,
    /// The base rate r.
    rate: Rate,
    probing: Probing,
}

impl Ascent {
    /// A law that probes around `rate`.
    pub fn new(config: Config, rate: Rate, path: &Path) -> Self {
        Self { config, rate, probing: Probing::new(rate, path) }
    }

    /// Length of a probe. Unit: s.
    fn length(&self, path: &Path) -> f64 {
        let rtt = rtt(path);
        let packets = self.config.interval_packets * path.packet.get() as f64 / self.rate.bytes_per_sec().max(1.0);
        let most = rtt.max((4.0 * rtt).min(SHORT)).max(SHORTEST_TRIAL.as_secs_f64());
        // A radio delivers in clumps, which are longer than a wire's probe.
        let clumps = self.probing.level.noise().min(rtt);
        (rtt * self.config.interval_rtts).min(LONG_ENOUGH).max(packets).min(most).max(clumps)
    }

    /// The best rate after this probe; `None` if it ended no pair that tells of the queue. Unit: byte/s.
    fn on_probe(&mut self, trial: u8, report: &Report, utility: Evaluate<'_>, path: &Path) -> Option<f64> {
        let length = self.length(path);
        let (pair, after_increase) = self.probing.resolve(trial, report)?;
        let reading = self.take(pair, after_increase, trial, path)?;
        let forecast = self.foresee(&reading, length, path);
        let (probing, carried) = (&mut self.probing, forecast.capacity);
        let lowest = carried * (1.0 - self.config.back_off_max);
        let best = forecast.best_rate(utility, lowest, carried * (1.0 + reading.largest_step));
        let asked = probing.price.follow(probing.level.raw(), reading.queue.noise, &forecast, utility);
        let best = best * asked.powf(self.config.price_gain);
        if probing.share.at_least(ERRORS) <= ALONE && !probing.rival.is_there() {
            probing.level.request_test(&reading.pair);
        }
        probing.max_delivery_rate = probing.max_delivery_rate.max(carried.min(reading.pair.rate()));
        let floor = self.floor(&reading, &forecast, utility, path);
        Some(floor.map_or(best, |floor| best.max(floor)))
    }

    /// The largest step up in the time of so many pairs of one RTT: as far as those would have gone, up to a doubling.
    fn largest_step(&self, pairs: f64) -> f64 {
        let one = 1.0 + self.config.step_max;
        one.powf(pairs).min(one.max(DOUBLING)) - 1.0
    }

    /// Takes in a pair that ended with this probe; `None` if nothing is known of the queue after it.
    fn take(&mut self, pair: Pair, after_increase: bool, trial: u8, path: &Path) -> Option<PairReading> {
        let pairs = pairs_of_one_rtt(&pair, path);
        let largest_step = self.largest_step(pairs);
        let probing = &mut self.probing;
        let (growth, carried) = (probing.growth(&pair), pair.carried());
        let own_loss = probing.loss.update(&pair, probing.level.fullness());
        let queue = probing.level.read(&pair, growth.wiener())?;
        if probing.level.on_tested(trial.wrapping_sub(1), &pair, probing.loss.random) {
            return None;
        }
        let (since, loss_above_random) = (probing.since_reading(&pair), probing.loss.above_random(&pair));
        let shared = probing.share.is_below(ALONE);
        let reading = PairReading {
            pair,
            after_increase,
            since,
            carried,
            own_loss,
            loss_above_random,
            shared,
            queue,
            pairs,
            largest_step,
        };
        if probing.bottleneck.update(&reading, self.config.epsilon) {
            probing.launched.iter_mut().for_each(|launched| launched.after_increase = false);
        }
        probing.deviation.learn(deviation::Sample {
            since,
            above: reading.pair.least_rtt()? - probing.level.base(),
            carried: reading.pair.rate().min(probing.bottleneck.capacity()),
            ours: probing.share.at_most(),
            shared: shared && probing.share.at_least(ERRORS) > 0.0 && queue.level > 0.0,
        });
        Some(reading)
    }

    /// The path as the next rate will find it, after all that is on its way.
    fn foresee(&self, reading: &PairReading, length: f64, path: &Path) -> Forecast {
        let (probing, pair, rtt) = (&self.probing, &reading.pair, rtt(path));
        let loss = &probing.loss;
        let marked = (pair.first.marked() + pair.second.marked()) / 2.0;
        let mut forecast = Forecast {
            capacity: probing.bottleneck.capacity(),
            half_buffer: probing.bottleneck.half_buffer,
            base: probing.level.base(),
            queue: reading.queue.level,
            stands: false,
            horizon: (self.config.horizon_rtts * rtt).max(pair.seconds()),
            probe_amplitude: self.config.epsilon * length,
            random: loss.priced(probing.level.fullness()),
            marked: loss.priced_marks(marked),
            deviation: probing.deviation.mean,
            negligible_rate: QUIET * path.packet.get() as f64 / rtt,
        };
        for sent in &probing.launched {
            forecast.queue = forecast.queue_after(forecast.queue, sent.rate, sent.seconds);
        }
        forecast
    }

    /// The floor under the rate where somebody fills the queue, as far as the utility bears the loss: were the queue free,
    /// would it want that much? Unit: byte/s.
    fn floor(&mut self, reading: &PairReading, forecast: &Forecast, utility: Evaluate<'_>, path: &Path) -> Option<f64> {
        let (probing, queue) = (&mut self.probing, reading.queue.level);
        let (packet, rtt) = (path.packet.get() as f64, rtt(path));
        let part = probing.max_delivery_rate / probing.senders();
        let is_long = Forecast { queue, random: 0.0, marked: 0.0, ..*forecast }.wants_less(utility, part);
        let window = probing.rival.update(rival::Sample {
            since: reading.since,
            rtt,
            queue,
            is_long,
            shared: reading.shared,
            lost: reading.pair.loss().mean > 0.0 && forecast.random > probing.loss.random / 2.0,
            window: self.rate.bytes_per_sec() * rtt / packet,
        })?;
        let floor = window * packet / rtt;
        let endless = Forecast { capacity: f64::MAX, half_buffer: f64::MAX / 2.0, queue: 0.0, ..*forecast };
        (!endless.wants_less(utility, floor)).then_some(floor)
    }
}

/// The pairs of one RTT that would have been sent and answered for in the time of this one. A pair is longer where an RTT has
/// too few packets, and must not climb more slowly for it.
fn pairs_of_one_rtt(pair: &Pair, path: &Path) -> f64 {
    ((pair.seconds_asked() / rtt(path)).max(1.0) + 1.0) / 2.0
}

/// Unit: s.
fn rtt(path: &Path) -> f64 {
    path.rtt.as_secs_f64().max(RESOLUTION)
}

impl RateControl for Ascent {
    fn next(&mut self, path: &Path, rng: &mut Rng) -> IntervalPlan {
        let (length, probing) = (self.length(path), &mut self.probing);
        let (high, share) = probing.second.take().unwrap_or_else(|| {
            let (share, high) = (probing.begin_pair(), rng.coin());
            probing.second = Some((!high, share));
            (high, share)
        });
        let trial = probing.trial;
        probing.trial = trial.wrapping_add(1);
        let step = if high { self.config.epsilon } else { -self.config.epsilon };
        let rate = path.clamp(self.rate * (share * (1.0 + step)));
        if probing.launched.len() >= MAX_LAUNCHED {
            probing.launched.pop_front();
        }
        probing.launched.push_back(Launched {
            trial,
            after_increase: true,
            rate: rate.bytes_per_sec(),
            seconds: length,
        });
        let rtts = length / rtt(path);
        IntervalPlan { rate, trial: Some(trial), rtts: (rtts, rtts), is_stretched: false }
    }

    fn on_report(&mut self, plan: IntervalPlan, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        let Some(trial) = plan.trial else { return Verdict::Wait };
        if report.app_limited {
            self.probing.interrupt();
        } else if let Some(best) = self.on_probe(trial, report, utility, path) {
            self.rate = path.clamp(Rate::from_bytes_per_sec(best));
        }
        Verdict::Wait
    }

    fn begin(&mut self, rate: Rate, path: &Path) {
        (self.rate, self.probing) = (rate, Probing::new(rate, path));
    }

    fn limit(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn back_off(&mut self, rate: Rate) {
        self.rate = rate;
        self.probing.forget_pairs();
        self.probing.bottleneck.on_back_off(rate.bytes_per_sec());
    }

    fn restart(&mut self) {
        self.probing.forget_pairs();
        self.probing.interrupt();
    }

    fn known(&self) -> PathEstimate {
        let base_rtt = Duration::try_from_secs_f64(self.probing.level.base()).ok();
        PathEstimate { base_rtt, random_loss: Some(self.probing.loss.random) }
    }

    fn standing_rtt(&self) -> Option<Duration> {
        let Probing { level, rival, .. } = &self.probing;
        let filled = if rival.is_there() { level.raw() } else { 0.0 };
        Duration::try_from_secs_f64(level.base() + filled).ok()
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn state(&self) -> &'static str {
        "Probing"
    }
}

#[cfg(test)]
mod tests;
