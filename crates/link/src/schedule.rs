//! How a link changes over time.

use crate::conditions::{Conditions, Impossible};
use crate::loss::Loss;
use crate::replay::Replay;
use crate::rng::Rng;
use core::ops::RangeInclusive;
use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};

/// How a link changes over time: rules, all of which hold at once; where two set the same thing at the same moment, the
/// later in the list wins. Times count from [`Timestamp::ZERO`] of the clock that the link is fed with.
///
/// A change takes effect at its exact moment, in the middle of a packet too. Delay, jitter, Wi-Fi, loss, reordering and
/// duplication are those in force when the transmission of a packet ends. The rate changes bit by bit. The buffer's
/// size is that in force when the packet comes in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// The rules.
    pub rules: Vec<Rule>,
}

/// One way in which a link changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// From this time on these values hold.
    At(Duration, Change),
    /// The link is dark: every packet whose transmission ends within is lost.
    Blackout {
        /// When it begins.
        start: Duration,
        /// How long it lasts.
        length: Duration,
        /// The time from one beginning to the next, if it comes again; longer than `length`.
        every: Option<Duration>,
    },
    /// At time zero and after each period the values are drawn anew.
    Vary(Vary),
    /// The rate is what was recorded.
    Replay(Replay),
}

/// New values; what is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// See [`Conditions::rate`].
    pub rate: Option<Rate>,
    /// See [`Conditions::buffer`].
    pub buffer: Option<Bytes>,
    /// See [`Conditions::delay`].
    pub delay: Option<Duration>,
    /// See [`Conditions::jitter`].
    pub jitter: Option<Duration>,
    /// See [`Conditions::wifi`].
    pub wifi: Option<Duration>,
    /// See [`Conditions::loss`].
    pub loss: Option<Loss>,
    /// See [`Conditions::reorder`].
    pub reorder: Option<f64>,
    /// See [`Conditions::duplicate`].
    pub duplicate: Option<f64>,
}

impl Change {
    fn apply(&self, to: &mut Conditions) {
        let Self { rate, buffer, delay, jitter, wifi, loss, reorder, duplicate } = *self;
        to.rate = rate.unwrap_or(to.rate);
        to.buffer = buffer.unwrap_or(to.buffer);
        to.delay = delay.unwrap_or(to.delay);
        to.jitter = jitter.unwrap_or(to.jitter);
        to.wifi = wifi.unwrap_or(to.wifi);
        to.loss = loss.unwrap_or(to.loss);
        to.reorder = reorder.unwrap_or(to.reorder);
        to.duplicate = duplicate.unwrap_or(to.duplicate);
    }
}

/// Values drawn uniformly and independently from ranges, again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    /// Time between two draws.
    pub period: Duration,
    /// Range of the rate; `None` leaves it alone.
    pub rate: Option<RangeInclusive<Rate>>,
    /// Range of the one-way delay.
    pub delay: Option<RangeInclusive<Duration>>,
    /// Range of the Bernoulli loss.
    pub loss: Option<RangeInclusive<f64>>,
    /// `None`: each draw is independent of the last. A share w: each value wanders instead, to the old one times
    /// 1 − w to 1 + w, and never leaves its range, as the rate of a radio link does.
    pub walk: Option<f64>,
}

impl Vary {
    /// Draws all values. `last` remembers them for the walk.
    fn draw(&self, last: &mut [Option<f64>; 3], rng: &mut Rng, to: &mut Conditions) {
        let mut next = |slot: &mut Option<f64>, low: f64, high: f64| {
            let u = rng.unit();
            let value = match (*slot, self.walk) {
                (Some(old), Some(step)) => (old * (1.0 + step * (2.0 * u - 1.0))).clamp(low, high),
                _ => low + u * (high - low),
            };
            *slot = Some(value);
            value
        };
        let [rate, delay, loss] = last;
        if let Some(range) = &self.rate {
            let (low, high) = (range.start().bytes_per_sec(), range.end().bytes_per_sec());
            to.rate = Rate::from_bytes_per_sec(next(rate, low, high));
        }
        if let Some(range) = &self.delay {
            let (low, high) = (range.start().as_nanos() as f64, range.end().as_nanos() as f64);
            to.delay = Duration::from_nanos(next(delay, low, high) as u64);
        }
        if let Some(range) = &self.loss {
            to.loss = Loss::Bernoulli(next(loss, *range.start(), *range.end()));
        }
    }
}

/// Rules that come round more often than this would cost more than the packets.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);

impl Schedule {
    /// Whether a link that starts as `base` can change like this.
    pub fn check(&self, base: &Conditions) -> Result<(), Impossible> {
        base.check()?;
        let too_short = |key, value: Duration, rule| Impossible { key, value: format!("{value:?}"), rule };
        for rule in &self.rules {
            match rule {
                Rule::At(_, change) => {
                    let mut after = *base;
                    change.apply(&mut after);
                    after.check()?;
                }
                Rule::Blackout { length, every, .. } => {
                    if length.is_zero() {
                        return Err(too_short("blackout", *length, "it lasts longer than nothing"));
                    }
                    if let Some(every) = every.filter(|every| every <= length || *every < SHORTEST_PERIOD) {
                        return Err(too_short("blackout", every, "the light must come back before the next one"));
                    }
                }
                Rule::Vary(vary) => {
                    if vary.period < SHORTEST_PERIOD {
                        return Err(too_short("vary", vary.period, "the period is at least 1 ms"));
                    }
                    vary.check(base)?;
                }
                // Its steps last a millisecond or longer, and move a packet or more.
                Rule::Replay(_) => {}
            }
        }
        Ok(())
    }
}

impl Vary {
    /// Whether a link that starts as `base` can be at both ends of the ranges.
    fn check(&self, base: &Conditions) -> Result<(), Impossible> {
        fn end<T: Copy>(range: Option<&RangeInclusive<T>>, is_last: bool) -> Option<T> {
            range.map(|range| if is_last { *range.end() } else { *range.start() })
        }
        for is_last in [false, true] {
            let (rate, delay) = (end(self.rate.as_ref(), is_last), end(self.delay.as_ref(), is_last));
            let loss = end(self.loss.as_ref(), is_last).map(Loss::Bernoulli);
            let mut after = *base;
            Change { rate, delay, loss, ..Change::default() }.apply(&mut after);
            after.check()?;
        }
        if let Some(step) = self.walk.filter(|step| !(*step > 0.0 && *step <= 1.0)) {
            let rule = "a walk's step lies between 0 and 100 %";
            return Err(Impossible { key: "walk", value: step.to_string(), rule });
        }
        Ok(())
    }
}

/// A link's conditions as time goes on. Moves forward only; a clone runs through the same future.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    current: Conditions,
    dark: u32,
    running: Vec<Running>,
    /// When something changes next, in nanoseconds; `u64::MAX` for never.
    next: u64,
    rng: Rng,
}

/// A rule and when it acts next.
#[derive(Clone, Debug)]
struct Running {
    rule: Rule,
    next: u64,
    /// A walk's result: rate, delay, loss.
    last: [Option<f64>; 3],
    /// The steps of a recording that began.
    steps: usize,
    dark: bool,
}

impl Timeline {
    pub(crate) fn new(base: Conditions, schedule: &Schedule, rng: Rng) -> Self {
        let running = schedule.rules.iter().map(|rule| {
            let next = match rule {
                Rule::At(time, _) => nanos(*time),
                Rule::Blackout { start, .. } => nanos(*start),
                Rule::Vary(_) | Rule::Replay(_) => 0,
            };
            Running { rule: rule.clone(), next, last: [None; 3], steps: 0, dark: false }
        });
        let mut this = Self { current: base, dark: 0, running: running.collect(), next: 0, rng };
        this.advance(0);
        this
    }

    /// Applies every change up to and including `now` (nanoseconds).
    pub(crate) fn advance(&mut self, now: u64) {
        while self.next <= now && self.next != u64::MAX {
            let moment = self.next;
            for running in self.running.iter_mut().filter(|running| running.next == moment) {
                running.act(&mut self.current, &mut self.dark, &mut self.rng);
            }
            self.next = self.running.iter().map(|running| running.next).min().unwrap_or(u64::MAX);
        }
    }

    pub(crate) fn current(&self) -> &Conditions {
        &self.current
    }

    /// Whether everything that leaves is lost.
    pub(crate) fn is_dark(&self) -> bool {
        self.dark > 0
    }

    /// When the conditions change next, in nanoseconds; `u64::MAX` for never.
    pub(crate) fn next_change(&self) -> u64 {
        self.next
    }
}

impl Running {
    /// Does what is due at `self.next` and sets when the next is.
    fn act(&mut self, current: &mut Conditions, dark: &mut u32, rng: &mut Rng) {
        match &self.rule {
            Rule::At(_, change) => {
                change.apply(current);
                self.next = u64::MAX;
            }
            Rule::Blackout { length, every, .. } => {
                self.next = if self.dark {
                    *dark -= 1;
                    every.map_or(u64::MAX, |every| self.next.saturating_add(nanos(every - *length)))
                } else {
                    *dark += 1;
                    self.next.saturating_add(nanos(*length))
                };
                self.dark = !self.dark;
            }
            Rule::Vary(vary) => {
                vary.draw(&mut self.last, rng, current);
                self.next = self.next.saturating_add(nanos(vary.period));
            }
            Rule::Replay(replay) => {
                let (rate, length) = replay.step(self.steps);
                current.rate = rate;
                self.steps += 1;
                self.next = self.next.saturating_add(nanos(length));
            }
        }
    }
}

/// Saturates after 584 years.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The moment `nanos` after the origin.
pub(crate) const fn moment(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}
