//! PCC Allegro: doubling, then randomised trials just above and below the rate, then growing steps in the better
//! direction. Source: `NSDI 2015` §3.2.
//!
//! ```text
//!            grew: r := 2r
//!             ┌────┐
//!             │    ▼           stopped growing: back to what the path delivered
//!  start ──▶ STARTING ─────────────────────────────────────┐
//!                                                          ▼
//!               inconclusive: ε += ε_min   ┌──▶ DECISION MAKING ──── both pairs agree ──▶ RATE ADJUSTING ──┐
//!                                          └─────────┘  ▲   r(1+ε), r(1−ε), r(1−ε), r(1+ε)        │   ▲    │
//!                                                       └───────── utility fell: last rate ───────┘   └────┘
//!                                                                                           grew: r := r(1 ± n·step_min)
//! ```
//!
//! A run of steps up that added half of the rate, nearly all of it delivered, goes back to STARTING: whatever ended that
//! too early, jitter or a busy host, the rate is found by doubling again.

use super::starting::{Evaluate, Judgement, Starting};
use super::{Path, RateControl, Slot, Verdict, within_reach};
use crate::interval::{LimitedBy, Report};
use crate::rng::Rng;
use crate::units::{Bytes, Rate};

/// Parameters of Allegro.
#[derive(Clone, Debug)]
pub struct Config {
    /// Smallest probing step ε_min. 0.01 in the paper.
    pub epsilon_min: f64,
    /// Largest probing step ε_max, reached after inconclusive rounds. 0.05 in the paper.
    pub epsilon_max: f64,
    /// Unit of the adjusting steps: the n-th is n times this. Deviates: ε_min in the paper. 0.02 follows a path whose
    /// capacity changes every five seconds at 0.87 of the optimum instead of 0.79, and costs 0.1 % on a constant one.
    pub step_min: f64,
    /// Largest adjusting step. The paper has no bound: its n-th step is n·ε_min, and a hundredth step down would stop
    /// the sender. 0.10 as in the authors' later code.
    pub step_max: f64,
    /// Duration of judged intervals in RTT, drawn between the two. The paper takes U\[1.7, 2.2\] and finds 1 RTT to be
    /// the better point of its trade-off (§4.2.2); the spread keeps competing senders out of step.
    pub interval_rtts: (f64, f64),
    /// The same while Starting: one RTT, since the doubling is the measurement.
    pub starting_rtts: f64,
    /// Where the utility is negative, loss rates that differ by less than so many standard errors count as equal; 0
    /// takes every difference for real. 2 is the usual 95 %.
    pub loss_significance: f64,
    /// Share of what a step up would be worth if all of it arrived that it must be worth to count as better. A lone sender on a
    /// full path gains nothing by a step up, and each of n equal ones 1 − 1/n of it, so 0.25 keeps the queue of the
    /// first empty and lets the others have their shares (`docs/sweeps/allegro.md`).
    pub least_gain: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            epsilon_min: 0.01,
            epsilon_max: 0.05,
            step_min: 0.02,
            step_max: 0.10,
            interval_rtts: (1.0, 1.4),
            starting_rtts: 1.0,
            loss_significance: 2.0,
            least_gain: 0.25,
        }
    }
}

/// The queue that Starting built drains within one RTT, but at no less than this share of the new rate.
const DRAIN_SHARE: f64 = 0.5;
/// Before the first round: here [`Allegro::growth`] is the paper's in both directions.
const UNKNOWN_ELASTICITY: f64 = 0.5;
/// Weight of a round in the smoothed elasticity, as of a sample in the smoothed RTT (RFC 6298).
const ELASTICITY_WEIGHT: f64 = 0.125;
/// Steps grow by no less, or a lone sender would follow a path that changed too late. In simulation 0.25 does the same.
const LEAST_GROWTH: f64 = 0.05;
/// So much must the rate have grown by steps before it is doubled again: by as much as Starting leaves open between a
/// rate that was good and one that was not.
const FAR: f64 = 0.5;
/// So much of that must be delivered. On a full path one of n equal senders that adds half to its rate gets
/// (n − 1)/(n + 0.5) of it, so up to five do not mistake each other's share for capacity to spare.
const NEARLY_ALL: f64 = 0.75;
/// Trials of a round: two pairs.
const TRIALS: usize = 4;
/// A probe must differ by one packet an interval to be visible, but never by more than this share of the rate.
const EPSILON_LIMIT: f64 = 0.25;

/// A rate and what it achieved.
#[derive(Clone, Debug)]
struct Tried {
    rate: Rate,
    report: Report,
}

/// A rate that a run of steps began at, as achieved, and what it delivered.
#[derive(Clone, Copy, Debug)]
struct Origin {
    achieved: Rate,
    delivered: Rate,
}

impl Origin {
    fn of(report: &Report) -> Self {
        Self { achieved: report.achieved, delivered: report.throughput() }
    }

    /// Whether the rate grew by half since, and nearly all of that was delivered: then there is no telling how much
    /// more the path has, and doubling finds it sooner than steps.
    fn is_far_below(&self, report: &Report) -> bool {
        let grown = |now: Rate, then: Rate| now.bytes_per_sec() / then.bytes_per_sec().max(1.0) - 1.0;
        let added = grown(report.achieved, self.achieved);
        added >= FAR && grown(report.throughput(), self.delivered) >= NEARLY_ALL * added
    }
}

#[derive(Clone, Debug)]
enum State {
    Starting(Starting),
    /// One interval below the base rate.
    Draining {
        share: f64,
        sent: bool,
    },
    DecisionMaking {
        epsilon: f64,
        /// Which trials probe above the base rate.
        high: [bool; TRIALS],
        launched: u8,
        /// Boxed: it is by far the largest part of the state, and made once a round.
        results: Box<[Option<Report>; TRIALS]>,
    },
    RateAdjusting {
        /// Where this run of steps began, and what that rate delivered.
        origin: Origin,
        /// +1 or −1.
        direction: f64,
        /// Size of this step in units: 1, then more by [`Allegro::growth`] for each in the same direction.
        step: f64,
        /// What the rate before this step achieved.
        last: Box<Tried>,
        launched: bool,
    },
}

/// The Allegro law.
#[derive(Clone, Debug)]
pub struct Allegro {
    config: Config,
    /// The base rate r.
    rate: Rate,
    /// How much more is delivered for how much more is sent, d ln T / d ln x, smoothed over rounds of trials: 1 on a path
    /// with capacity to spare, 1 − 1/n for one of n equal senders on a full one, 0 for a lone sender there.
    elasticity: f64,
    state: State,
    rng: Rng,
}

impl Allegro {
    /// A law that starts at `initial`.
    pub fn new(config: Config, initial: Rate, seed: u64) -> Self {
        Self {
            config,
            rate: initial,
            elasticity: UNKNOWN_ELASTICITY,
            state: State::Starting(Starting::at(initial)),
            rng: Rng::new(seed),
        }
    }

    fn decide(&mut self, epsilon: f64) {
        // Blocks high-low-low-high and low-high-high-low cancel a linear drift of the path exactly; which one comes
        // is random, so that nobody can play to it.
        let first = self.rng.coin();
        let high = [first, !first, !first, first];
        self.state = State::DecisionMaking { epsilon, high, launched: 0, results: Box::default() };
    }

    fn judged(&self, rate: Rate, trial: u8) -> Slot {
        Slot { rate, trial: Some(trial), rtts: self.config.interval_rtts }
    }

    /// ε, but at least one packet of an interval.
    fn visible(&self, epsilon: f64, path: &Path) -> f64 {
        let packets = (self.rate * path.interval(self.rate, self.config.interval_rtts.0)).get() as f64
            / path.packet.get().max(1) as f64;
        epsilon.max((1.0 / packets.max(1.0)).min(EPSILON_LIMIT))
    }

    fn on_starting(&mut self, slot: Slot, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        let State::Starting(starting) = &mut self.state else { return Verdict::Wait };
        match starting.on_report(slot, report, utility, path) {
            Judgement::Unknown => {
                self.rate = within_reach(slot.rate, path);
                Verdict::Wait
            }
            Judgement::Good => {
                self.rate = slot.rate;
                // While a doubling runs already, its interval goes on.
                if starting.waits() { Verdict::Wait } else { Verdict::Realign("utility grew") }
            }
            Judgement::Over(carried) => {
                self.rate = path.clamp(carried);
                let queue = path.queue.as_secs_f64() / path.rtt.as_secs_f64().max(1e-9);
                self.state = State::Draining { share: (1.0 - queue).clamp(DRAIN_SHARE, 1.0), sent: false };
                Verdict::Realign("utility stopped growing")
            }
        }
    }

    fn on_decision(&mut self, slot: Slot, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        let base = self.rate;
        let State::DecisionMaking { epsilon, high, results, .. } = &mut self.state else { return Verdict::Wait };
        let (epsilon, high) = (*epsilon, *high);
        if report.app_limited {
            self.rate = within_reach(base, path);
            self.decide(epsilon);
            return Verdict::Realign("trial short of data");
        }
        results[usize::from(slot.trial.unwrap_or(0)) % TRIALS] = Some(report.clone());
        let [Some(a), Some(b), Some(c), Some(d)] = *results.clone() else { return Verdict::Wait };
        // In block order the first and the last trial probe on one side, the two in the middle on the other.
        let outer = merged(&a, &d);
        let inner = merged(&b, &c);
        match high[0] {
            true => self.learn_elasticity(&outer, &inner),
            false => self.learn_elasticity(&inner, &outer),
        }
        let pooled = self.worthless_loss(&outer, &inner, utility);
        let vote = |outer: &Report, inner: &Report| match high[0] {
            true => self.direction(outer, inner, pooled, utility),
            false => self.direction(inner, outer, pooled, utility),
        };
        let (first, second) = (vote(&a, &b), vote(&d, &c));
        if first * second <= 0.0 {
            self.decide((epsilon + self.config.epsilon_min).min(self.config.epsilon_max));
            return Verdict::Realign("inconclusive");
        }
        let direction = first;
        let origin = Origin::of(&merged(&outer, &inner));
        let winner = if (direction > 0.0) == high[0] { outer } else { inner };
        self.adjust(origin, direction, 1.0, Tried { rate: winner.target, report: winner }, path);
        Verdict::Realign(if direction > 0.0 { "both pairs say up" } else { "both pairs say down" })
    }

    fn learn_elasticity(&mut self, high: &Report, low: &Report) {
        let more = |of: fn(&Report) -> f64| of(high) / of(low).max(1.0) - 1.0;
        let added = more(|report| report.achieved.bytes_per_sec());
        if added > 0.0 {
            // A single round is mostly noise; what it may say is bounded by what is possible, with some room on each
            // side lest the mean be biased.
            let seen = (more(|report| report.throughput().bytes_per_sec()) / added).clamp(-1.0, 2.0);
            self.elasticity += ELASTICITY_WEIGHT * (seen - self.elasticity);
        }
    }

    /// By how many units each step in this direction is larger than the one before it: 1 as in the paper, less for a
    /// sender that found out that such steps do not pay.
    ///
    /// Senders that share a bottleneck see the same sign of the gradient, and equal relative steps would keep their
    /// rates' ratio for ever. The larger one's share, the less a step up brings and the more a step down costs the
    /// queue: large senders climb slowly and yield fast, small ones the other way round.
    fn growth(&self, direction: f64) -> f64 {
        let elasticity = self.elasticity.clamp(0.0, 1.0);
        let share = if direction > 0.0 { elasticity } else { 1.0 - elasticity };
        (2.0 * share).clamp(LEAST_GROWTH, 1.0)
    }

    /// Takes a step of `step` units from `last`.
    fn adjust(&mut self, origin: Origin, direction: f64, step: f64, last: Tried, path: &Path) {
        let change = (step * self.config.step_min).min(self.config.step_max);
        let change = self.visible(change, path);
        self.rate = path.clamp(last.rate * (1.0 + direction * change));
        self.state = State::RateAdjusting { origin, direction, step, last: Box::new(last), launched: false };
    }

    fn on_adjusting(&mut self, slot: Slot, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        let State::RateAdjusting { origin, direction, step, last, launched } = &mut self.state else {
            return Verdict::Wait;
        };
        if report.app_limited {
            *launched = false;
            self.rate = within_reach(self.rate, path);
            return Verdict::Realign("step short of data");
        }
        let (origin, direction, step, last) = (*origin, *direction, *step, last.clone());
        let pooled = self.worthless_loss(report, &last.report, utility);
        let better = match direction > 0.0 {
            true => self.direction(report, &last.report, pooled, utility),
            false => self.direction(&last.report, report, pooled, utility),
        };
        // At a limit of the path's rates there is no further step to take.
        if better == direction && slot.rate != last.rate {
            if direction > 0.0 && origin.is_far_below(report) {
                self.start(slot.rate);
                return Verdict::Realign("far below the path");
            }
            self.adjust(
                origin,
                direction,
                step + self.growth(direction),
                Tried { rate: slot.rate, report: report.clone() },
                path,
            );
            return Verdict::Realign("step helped");
        }
        self.rate = last.rate;
        self.decide(self.config.epsilon_min);
        Verdict::Realign("step did not help")
    }

    /// Which of two rates is worth more: +1 the higher, −1 the lower, 0 if that cannot be told.
    ///
    /// The higher one must bring at least [`Config::least_gain`] of what it would be worth if all that it adds arrived,
    /// or what it adds is a queue, and the lower one is better. Where packets are lost the queue is full or chance
    /// decides, and the lower one must be worth more.
    fn direction(&self, high: &Report, low: &Report, loss: Option<f64>, utility: Evaluate<'_>) -> f64 {
        let (high_worth, low_worth) = (worth(utility, high, loss), worth(utility, low, loss));
        let added = high.achieved.bytes_per_sec() / low.achieved.bytes_per_sec().max(1.0) - 1.0;
        if added <= 0.0 {
            return 0.0; // the host mixed them up
        }
        let gain = high_worth - low_worth;
        let lossless = high.packets_refused() == 0 && low.packets_refused() == 0;
        let full = worth(utility, &low.at_rate(1.0 + added), loss) - low_worth;
        if gain > (self.config.least_gain * full).max(0.0) {
            1.0
        } else if gain < 0.0 || lossless {
            -1.0
        } else {
            0.0
        }
    }

    /// The loss rate of two reports together, if the packets they lost do not tell their loss rates apart and the
    /// utility is negative there. Then the difference is chance, and the answer is the lower rate.
    ///
    /// Two-proportion z-test. At a loss of 8 % the utility of 100 Mbit/s falls by some 0.4 % over a probe of 5 %,
    /// and the noise of one interval is ten times that: without this rule the loss cap would never be found.
    fn worthless_loss(&self, a: &Report, b: &Report, utility: Evaluate<'_>) -> Option<f64> {
        let (n_a, n_b) = (f64::from(a.packets.max(1)), f64::from(b.packets.max(1)));
        let (lost_a, lost_b) = (f64::from(a.packets_refused()), f64::from(b.packets_refused()));
        let pooled = (lost_a + lost_b) / (n_a + n_b);
        let error = (pooled * (1.0 - pooled).max(0.0) * (1.0 / n_a + 1.0 / n_b)).sqrt();
        let apart = (lost_a / n_a - lost_b / n_b).abs();
        let alike = apart < self.config.loss_significance * error;
        (alike && worth(utility, a, Some(pooled)) < 0.0).then_some(pooled)
    }
}

/// The utility of a report, with this loss rate instead of its own if there is one.
fn worth(utility: Evaluate<'_>, report: &Report, loss: Option<f64>) -> f64 {
    let Some(loss) = loss else { return utility(report) };
    let lost = Bytes::new((report.sent.get() as f64 * loss) as u64);
    utility(&Report { lost, packets_marked: 0, ..report.clone() })
}

/// Two intervals at the same rate as one report.
fn merged(a: &Report, b: &Report) -> Report {
    let (sent, duration) = (a.sent + b.sent, a.duration + b.duration);
    let mean = |a: Option<f64>, b: Option<f64>| Some((a? + b?) / 2.0);
    Report {
        duration,
        achieved: Rate::from_volume(sent, duration),
        packets: a.packets.saturating_add(b.packets),
        packets_lost: a.packets_lost.saturating_add(b.packets_lost),
        loss_bursts: a.loss_bursts.saturating_add(b.loss_bursts),
        packets_marked: a.packets_marked.saturating_add(b.packets_marked),
        sent,
        lost: a.lost + b.lost,
        rtt: a.rtt.zip(b.rtt).map(|(a, b)| (a + b) / 2),
        rtt_least: a.rtt_least.zip(b.rtt_least).map(|(a, b)| a.min(b)),
        rtt_gradient: mean(a.rtt_gradient, b.rtt_gradient),
        rtt_gradient_error: a.rtt_gradient_error.hypot(b.rtt_gradient_error) / 2.0,
        rtt_deviation: (a.rtt_deviation + b.rtt_deviation) / 2,
        rtt_samples: a.rtt_samples.saturating_add(b.rtt_samples),
        ..a.clone()
    }
}

impl RateControl for Allegro {
    fn next(&mut self, path: &Path) -> Slot {
        match &mut self.state {
            State::Starting(starting) => starting.next(self.config.starting_rtts, path),
            State::Draining { share, sent } => {
                if *sent {
                    self.decide(self.config.epsilon_min);
                    return self.next(path);
                }
                *sent = true;
                Slot::filler(self.rate * *share)
            }
            State::DecisionMaking { epsilon, high, launched, .. } => {
                let (epsilon, trial) = (*epsilon, usize::from(*launched));
                let Some(&high) = high.get(trial) else { return Slot::filler(self.rate) };
                *launched += 1;
                let epsilon = self.visible(epsilon, path);
                self.judged(self.rate * (if high { 1.0 + epsilon } else { 1.0 - epsilon }), trial as u8)
            }
            State::RateAdjusting { launched, .. } => {
                if core::mem::replace(launched, true) {
                    return Slot::filler(self.rate);
                }
                self.judged(self.rate, 0)
            }
        }
    }

    fn on_report(&mut self, slot: Slot, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        if report.limited_by == LimitedBy::Host {
            // The rates achieved are judged, not those asked for; but the latter must not run away.
            self.rate = within_reach(self.rate, path);
        }
        match self.state {
            State::Starting(_) => self.on_starting(slot, report, utility, path),
            State::Draining { .. } => Verdict::Wait,
            State::DecisionMaking { .. } => self.on_decision(slot, report, utility, path),
            State::RateAdjusting { .. } => self.on_adjusting(slot, report, utility, path),
        }
    }

    fn start(&mut self, rate: Rate) {
        self.rate = rate;
        self.state = State::Starting(Starting::at(rate));
    }

    fn back_off(&mut self, rate: Rate) {
        self.rate = rate;
        self.decide(self.config.epsilon_min);
    }

    fn restart(&mut self) {
        match self.state {
            State::Starting(_) => self.state = State::Starting(Starting::at(self.rate)),
            _ => self.decide(self.config.epsilon_min),
        }
    }

    fn ends_early(&self, report: &Report, utility: Evaluate<'_>, path: &Path) -> bool {
        match &self.state {
            State::Starting(starting) => starting.ends_early(report, utility, path),
            _ => false,
        }
    }

    fn is_starting(&self) -> bool {
        matches!(self.state, State::Starting(_))
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn state(&self) -> &'static str {
        match self.state {
            State::Starting(_) => "Starting",
            State::Draining { .. } => "Draining",
            State::DecisionMaking { .. } => "Decision Making",
            State::RateAdjusting { .. } => "Rate Adjusting",
        }
    }
}

#[cfg(test)]
mod tests {
    mod rounds;

    use super::*;
    use crate::utility::{Safe, Utility};
    use core::time::Duration;

    /// A law on a path of `capacity` Mbit/s and 30 ms without a buffer: what it tries is judged at once.
    struct Flow {
        law: Allegro,
        capacity: f64,
        slot: Option<Slot>,
        story: Vec<String>,
    }

    const PACKET: Bytes = Bytes::new(1200);

    impl Flow {
        fn starting_at(mbit: f64, capacity: f64) -> Self {
            let law = Allegro::new(Config::default(), Rate::from_mbit(mbit), 7);
            Self { law, capacity, slot: None, story: Vec::new() }
        }

        fn path(&self) -> Path {
            Path {
                rtt: Duration::from_millis(30),
                queue: Duration::ZERO,
                packet: PACKET,
                initial: Rate::from_mbit(3.2),
                monitor: crate::monitor::Config::default(),
                floor: Rate::from_mbit(0.64),
                ceiling: Rate::from_mbit(1e6),
                delivery: Rate::from_mbit(self.capacity),
            }
        }

        fn report(&self, target: Rate) -> Report {
            let duration = Duration::from_millis(60);
            let delivered = target.min(Rate::from_mbit(self.capacity));
            let loss = 1.0 - delivered.mbit() / target.mbit();
            let sent = target * duration;
            let packets = (sent.get() / PACKET.get()).max(1) as u32;
            let lost = Bytes::new((sent.get() as f64 * loss) as u64);
            Report {
                target,
                achieved: target,
                duration,
                packets,
                packets_lost: (f64::from(packets) * loss).round() as u32,
                sent,
                lost,
                delivery_rate: Some(delivered),
                ..crate::utility::tests::report(target.mbit(), loss)
            }
        }

        /// Sends one interval and judges it, before the next one begins.
        fn step(&mut self) -> &mut Self {
            self.step_as(|report| report)
        }

        fn step_as(&mut self, seen: impl Fn(Report) -> Report) -> &mut Self {
            let path = self.path();
            let slot = match self.slot.take() {
                Some(slot) => slot,
                None => self.law.next(&path),
            };
            let report = seen(self.report(slot.rate));
            if slot.trial.is_some() {
                let verdict = self.law.on_report(slot, &report, &|report| Safe::default().evaluate(report), &path);
                let (state, rate) = (self.law.state(), self.law.rate().mbit());
                self.story.push(format!("{:.2} Mbit/s: {verdict:?}, {state} at {rate:.2}", slot.rate.mbit()));
            }
            self
        }

        fn steps(&mut self, n: usize) -> &mut Self {
            (0..n).for_each(|_| {
                self.step();
            });
            self
        }

        fn is(&mut self, state: &str, low: f64, high: f64) -> &mut Self {
            let rate = self.law.rate().mbit();
            assert!(self.law.state() == state && (low..=high).contains(&rate), "{}", self.story.join("\n"));
            self
        }
    }

    #[test]
    fn starting_doubles_while_the_path_delivers_more() {
        Flow::starting_at(1.0, 100.0)
            .step()
            .is("Starting", 1.0, 1.0)
            .step()
            .is("Starting", 2.0, 2.0)
            .steps(4)
            .is("Starting", 32.0, 32.0);
    }

    #[test]
    fn starting_ends_below_what_the_path_delivered() {
        Flow::starting_at(1.0, 100.0).steps(8).is("Draining", 94.0, 96.0).step().is("Draining", 94.0, 96.0).step().is(
            "Decision Making",
            94.0,
            96.0,
        );
    }

    #[test]
    fn a_single_loss_does_not_end_starting() {
        let one_lost = |report: Report| Report { lost: PACKET, packets_lost: 1, ..report };
        Flow::starting_at(0.7, 100.0).step().step_as(one_lost).step().is("Starting", 2.8, 2.8);
    }

    #[test]
    fn a_second_result_of_the_same_rate_does_not_end_starting_however_bad() {
        let with = |report: Report, loss: f64, limited_by: LimitedBy| Report {
            lost: Bytes::new((report.sent.get() as f64 * loss) as u64),
            packets_lost: (f64::from(report.packets) * loss) as u32,
            achieved: if limited_by == LimitedBy::Host { report.achieved * 0.6 } else { report.achieved },
            limited_by,
            ..report
        };
        Flow::starting_at(10.0, 1000.0)
            .step_as(|report| with(report, 0.4, LimitedBy::Host))
            .step_as(|report| with(report, 0.3, LimitedBy::Host))
            .step_as(|report| with(report, 0.4, LimitedBy::Network))
            .is("Starting", 10.0, 10.0);
    }

    #[test]
    fn an_acknowledgement_that_a_host_held_back_does_not_end_starting_but_a_queue_does() {
        let delivered_a_tenth = |queued: Duration| {
            move |report: Report| Report {
                delivery_rate: Some(report.achieved * 0.1),
                rtt_gradient: Some(queued.as_secs_f64() / report.rtt_span.as_secs_f64()),
                rtt_gradient_error: 0.0,
                ..report
            }
        };
        let mut held = Flow::starting_at(1.0, 100.0);
        held.steps(4).step_as(delivered_a_tenth(Duration::from_micros(300))).is("Starting", 16.0, 16.0);
        let mut queued = Flow::starting_at(1.0, 100.0);
        queued.steps(4).step_as(delivered_a_tenth(Duration::from_millis(90))).is("Draining", 7.5, 7.7);
    }

    #[test]
    fn starting_waits_while_the_application_has_no_data() {
        let idle = |report: Report| Report { app_limited: true, ..report };
        Flow::starting_at(1.0, 100.0)
            .steps(3)
            .is("Starting", 4.0, 4.0)
            .step_as(idle)
            .step_as(idle)
            .is("Starting", 4.0, 8.0);
    }

    #[test]
    fn a_late_result_is_waited_for_at_no_more_than_a_limited_application_uses() {
        let mut flow = Flow::starting_at(4.0, 100.0);
        flow.steps(4).is("Starting", 32.0, 32.0);
        let path = Path { delivery: Rate::from_mbit(5.0), ..flow.path() };
        let first = flow.law.next(&path);
        let short_of_data = Report { app_limited: true, ..flow.report(first.rate) };
        flow.law.on_report(first, &short_of_data, &|report| Safe::default().evaluate(report), &path);
        let rates: Vec<_> = (0..3).map(|_| flow.law.next(&path).rate.mbit()).collect();
        assert!(rates.iter().all(|rate| *rate <= 9.6), "twice 5 at most, the last one a filler: {rates:?}");
    }

    #[test]
    fn loss_that_a_lower_rate_did_not_have_ends_starting_whatever_the_host_does() {
        let busy = |loss: f64| {
            move |report: Report| Report {
                achieved: report.achieved * 0.6,
                lost: Bytes::new((report.sent.get() as f64 * loss) as u64),
                packets_lost: (f64::from(report.packets) * loss) as u32,
                loss_bursts: (f64::from(report.packets) * loss * 0.7) as u32,
                limited_by: LimitedBy::Host,
                ..report
            }
        };
        let mut flow = Flow::starting_at(10.0, 1000.0);
        flow.step().step_as(busy(0.0)).is("Starting", 20.0, 20.0);
        flow.step_as(busy(0.3));
        assert_eq!(flow.law.state(), "Draining", "{}", flow.story.join("\n"));
    }

    #[test]
    fn a_host_that_nearly_made_a_doubling_tries_the_next_and_one_that_did_not_waits() {
        let reached = |share: f64| {
            move |report: Report| Report { achieved: report.achieved * share, limited_by: LimitedBy::Host, ..report }
        };
        Flow::starting_at(10.0, 1000.0).step().step_as(reached(0.8)).step().is("Starting", 40.0, 40.0);
        Flow::starting_at(10.0, 1000.0).step().step_as(reached(0.6)).step().is("Starting", 20.0, 20.0);
    }

    #[test]
    fn a_utility_that_falls_ends_starting_though_nothing_is_lost() {
        let mut flow = Flow::starting_at(10.0, 1000.0);
        let path = flow.path();
        let queue = |report: &Report| report.achieved.mbit() * (1.0 - 10.0 * report.queue_growth());
        for growth in [0.0, 0.0, 0.3] {
            let slot = flow.law.next(&path);
            let report = Report { rtt_gradient: Some(growth), ..flow.report(slot.rate) };
            flow.law.on_report(slot, &report, &queue, &path);
        }
        assert_eq!(flow.law.state(), "Draining", "98, 196, then −784");
    }

    #[test]
    fn a_sender_far_below_the_path_doubles_again_and_one_whose_gain_others_share_does_not() {
        let mut lone = Flow::starting_at(10.0, 1000.0);
        lone.law.decide(0.01);
        lone.steps(4);
        for _ in 0..20 {
            lone.step();
        }
        assert!(lone.story.iter().any(|line| line.contains("far below the path")), "{}", lone.story.join("\n"));
        assert!(lone.law.rate() > Rate::from_mbit(900.0), "{}", lone.story.join("\n"));
        let mut sharing = Flow::starting_at(10.0, 1000.0);
        let delivered = |report: Report| {
            // Half of what is added beyond 10 Mbit/s arrives, as for one of two senders.
            let loss = (report.achieved.mbit() - 10.0).max(0.0) / 2.0 / report.achieved.mbit();
            Report { lost: Bytes::new((report.sent.get() as f64 * loss) as u64), ..report }
        };
        sharing.law.decide(0.01);
        for _ in 0..60 {
            sharing.step_as(delivered);
            assert_ne!(sharing.law.state(), "Starting", "{}", sharing.story.join("\n"));
        }
    }

    #[test]
    fn only_differences_of_utilities_matter() {
        for more in [0.0, 1000.0] {
            let mut flow = Flow::starting_at(50.0, 100.0);
            flow.law.decide(0.01);
            for _ in 0..100 {
                let path = flow.path();
                let slot = flow.law.next(&path);
                let report = flow.report(slot.rate);
                if slot.trial.is_some() {
                    flow.law.on_report(slot, &report, &|report| Safe::default().evaluate(report) + more, &path);
                }
            }
            let rate = flow.law.rate().mbit();
            assert!((90.0..=106.0).contains(&rate), "{rate} with {more} more");
        }
    }

    #[test]
    fn trials_find_the_capacity_and_stay_there() {
        let mut flow = Flow::starting_at(1.0, 100.0);
        flow.steps(60);
        for _ in 0..100 {
            flow.step();
            let rate = flow.law.rate().mbit();
            assert!((94.0..=106.0).contains(&rate), "{}", flow.story.join("\n"));
        }
    }

    #[test]
    fn trials_come_in_blocks_that_cancel_a_drift() {
        let mut flow = Flow::starting_at(50.0, 100.0);
        flow.law.decide(0.01);
        for _ in 0..20 {
            let path = flow.path();
            let order: Vec<bool> = (0..4).map(|_| flow.law.next(&path).rate > flow.law.rate()).collect();
            assert!(order == [true, false, false, true] || order == [false, true, true, false], "{order:?}");
            assert_eq!(flow.law.next(&path), Slot::filler(flow.law.rate()), "then the base rate until the results");
            flow.law.decide(0.01);
        }
    }

    #[test]
    fn a_trial_short_of_data_is_repeated_at_the_same_rate() {
        let mut flow = Flow::starting_at(50.0, 100.0);
        flow.law.decide(0.01);
        flow.step_as(|report| Report { app_limited: true, ..report }).is("Decision Making", 50.0, 50.0);
    }

    #[test]
    fn adjusting_steps_grow_and_a_failed_one_goes_back_to_the_rate_before_it() {
        let mut flow = Flow::starting_at(50.0, 60.0);
        flow.law.decide(0.01);
        flow.steps(4).is("Rate Adjusting", 51.5, 51.6); // 50 · 1.01 · 1.02
        flow.step().is("Rate Adjusting", 53.5, 53.6); // · 1.04
        flow.step().is("Rate Adjusting", 56.7, 56.8); // · 1.06
        flow.step().is("Rate Adjusting", 61.2, 61.4); // · 1.08, above the capacity
        flow.step().is("Decision Making", 56.7, 56.8);
    }

    #[test]
    fn who_learns_that_more_brings_nothing_climbs_slowly_and_yields_fast() {
        let mut flow = Flow::starting_at(90.0, 60.0);
        for _ in 0..30 {
            flow.law.rate = Rate::from_mbit(90.0);
            flow.law.decide(0.05);
            flow.steps(4);
        }
        assert!(flow.law.elasticity.abs() < 0.02, "alone on a full path: {}", flow.law.elasticity);
        assert_eq!((flow.law.growth(1.0), flow.law.growth(-1.0)), (LEAST_GROWTH, 1.0));
        for _ in 0..30 {
            flow.law.rate = Rate::from_mbit(30.0);
            flow.law.decide(0.05);
            flow.steps(4);
        }
        assert!((flow.law.elasticity - 1.0).abs() < 0.02, "with capacity to spare: {}", flow.law.elasticity);
        assert_eq!((flow.law.growth(1.0), flow.law.growth(-1.0)), (1.0, LEAST_GROWTH));
    }

    #[test]
    fn heavy_random_loss_sends_the_rate_down_however_noisy_the_trials() {
        let mut flow = Flow::starting_at(50.0, 1000.0);
        flow.law.decide(0.05);
        let mut noise = Rng::new(3);
        for _ in 0..200 {
            let loss = 0.09 + 0.01 * (noise.unit() - 0.5);
            flow.step_as(move |report| {
                let lost = Bytes::new((report.sent.get() as f64 * loss) as u64);
                Report { lost, packets_lost: (f64::from(report.packets) * loss) as u32, ..report }
            });
        }
        assert!(flow.law.rate().mbit() < 10.0, "{}", flow.story.join("\n"));
    }
}
