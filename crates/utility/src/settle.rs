//! Where equal senders settle.

use super::{Game, State};
use core::time::Duration;
use pcc::units::Rate;
use pcc::utility::Preference;

/// Equal senders on a path.
#[derive(Clone, Debug)]
pub struct Equilibria {
    /// The number of senders.
    pub senders: u32,
    /// Where they may settle: from below each wants more, above each wants less. Several: it depends on where they were.
    pub stable: Vec<Settled>,
    /// Even where they send twenty times what the path carries they want more.
    pub unbounded: bool,
    /// They want nothing, or less than a thousandth of the path.
    pub silent: bool,
    /// The utility is not defined for some of the states between.
    pub undefined: bool,
}

/// A rate from which none of equal senders wants to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// The rate of each.
    pub rate: Rate,
    /// Share of it that gets lost, also for other reasons than congestion.
    pub loss: f64,
    /// The standing queue: its least and its largest length. They differ where the utility does not care.
    pub queue: (Duration, Duration),
    /// In this state of the path each sender, whatever it sends, wants this same rate.
    pub fair: bool,
}

/// Where a state lies on the way from an unused path to one that carries a twentieth of what it is offered.
///
/// 0 to 1: all send a thousandth of the capacity to all of it. 1 to 2: all of it, behind a queue of nothing to a full buffer.
/// 2 to 3: the buffer is full, and they send up to 20 times the capacity. Powers make the steps small where decisions fall.
type Level = f64;

const LEVELS: f64 = 3.0;
/// Steps of the search: 1/200 of the buffer is 0.0025 % of it at the short end, and of the overload 0.00024 %.
const STEPS: u32 = 600;
const HALVINGS: u32 = 50;
const LEAST_USE: f64 = 1e-3;
const MOST_USE: f64 = 20.0;

/// The number of rates that are asked about for fairness. It also bounds how near to the settled rate a wish may be unclear.
const SHARES: u32 = 200;
const UNCLEAR: f64 = 0.03;

impl Game<'_> {
    /// The state of that level.
    pub(super) fn state(&self, level: Level) -> State {
        let capacity = self.path.capacity;
        let use_of = |share: f64| capacity * share;
        match level {
            _ if level < 1.0 => State { total: use_of(LEAST_USE.powf(1.0 - level.max(0.0))), queue: Duration::ZERO },
            _ if level < 2.0 => {
                State { total: capacity, queue: self.path.buffer.mul_f64((level - 1.0).powi(2).clamp(0.0, 1.0)) }
            }
            _ => {
                let over = (level.min(LEVELS) - 2.0).powi(3);
                State { total: use_of(1.0 + (MOST_USE - 1.0) * over), queue: self.path.buffer }
            }
        }
    }

    fn wish_at(&self, level: Level, senders: f64) -> Preference {
        let state = self.state(level);
        self.wish(state.total.mbit() / senders, state.total.mbit(), state.queue.as_secs_f64())
    }

    /// Where so many equal senders settle.
    pub fn settle(&self, senders: u32) -> Equilibria {
        let n = f64::from(senders.max(1));
        let level = |step: u32| f64::from(step) * LEVELS / f64::from(STEPS);
        let wishes: Vec<_> = (0..=STEPS).map(|step| self.wish_at(level(step), n)).collect();
        let mut stable = Vec::new();
        // The last step at which they wanted more, while nothing said less since.
        let mut rising = None;
        for (step, pair) in (0..).zip(wishes.windows(2)) {
            match pair {
                [Preference::More, next] if *next != Preference::More => rising = Some(step),
                [Preference::Indifferent, Preference::More] | [Preference::Undefined, _] => rising = None,
                _ => {}
            }
            if let (Some(from), [_, Preference::Less]) = (rising, pair) {
                let low = self.boundary(level(from), level(from + 1), n, |wish| wish == Preference::More);
                let high = self.boundary(level(step), level(step + 1), n, |wish| wish != Preference::Less);
                stable.push(self.settled(low, high, n));
                rising = None;
            }
        }
        // They never want less: wherever they stop caring, they stay.
        if let (Some(from), Some(Preference::Indifferent)) = (rising, wishes.last()) {
            let low = self.boundary(level(from), level(from + 1), n, |wish| wish == Preference::More);
            stable.push(self.settled(low, LEVELS, n));
        }
        Equilibria {
            senders: senders.max(1),
            stable,
            unbounded: wishes.last() == Some(&Preference::More),
            silent: !matches!(wishes.first(), Some(Preference::More | Preference::Undefined)),
            undefined: wishes.contains(&Preference::Undefined),
        }
    }

    /// The last level of which this holds, between one of which it does and one of which it does not.
    fn boundary(&self, mut low: Level, mut high: Level, senders: f64, holds: impl Fn(Preference) -> bool) -> Level {
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            *(if holds(self.wish_at(middle, senders)) { &mut low } else { &mut high }) = middle;
        }
        low
    }

    fn settled(&self, low: Level, high: Level, senders: f64) -> Settled {
        let (state, longest) = (self.state(low), self.state(high).queue);
        let rate = state.total * (1.0 / senders);
        let total = state.total.mbit();
        let sight = self.sight(rate.mbit(), total - rate.mbit(), state.queue.as_secs_f64(), None);
        let fair = senders < 2.0 || self.is_fair(state, rate.mbit());
        Settled { rate, loss: sight.loss, queue: (state.queue, longest), fair }
    }

    /// Whether in this state whoever sends less than `rate` wants more, and whoever sends more wants less.
    fn is_fair(&self, state: State, rate: f64) -> bool {
        let (total, queue) = (state.total.mbit(), state.queue.as_secs_f64());
        let least = total * LEAST_USE;
        (0..SHARES).all(|step| {
            let own = least * (0.999 * total / least).powf(f64::from(step) / f64::from(SHARES - 1));
            match own / rate {
                below if below < 1.0 - UNCLEAR => self.wish(own, total, queue) == Preference::More,
                above if above > 1.0 + UNCLEAR => self.wish(own, total, queue) == Preference::Less,
                _ => true,
            }
        })
    }
}

impl Equilibria {
    /// They settle, at one rate whatever they did before, and all at the same.
    pub fn is_unique_and_fair(&self) -> bool {
        !self.unbounded && !self.silent && self.stable.len() == 1 && self.stable.iter().all(|settled| settled.fair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bottleneck;
    use pcc::control::Law;
    use pcc::utility::parse;

    fn settle(written: &str, senders: u32) -> Equilibria {
        let path = Bottleneck {
            capacity: Rate::from_mbit(100.0),
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        let utility = parse(written).unwrap();
        Game::new(&*utility, &Law::suited_to(&*utility), path).settle(senders)
    }

    fn only(equilibria: &Equilibria) -> Settled {
        assert!(equilibria.is_unique_and_fair(), "{equilibria:?}");
        equilibria.stable[0]
    }

    #[test]
    fn fair_senders_keep_queue_that_grows_with_root_of_their_number() {
        for (senders, expected_us) in [(1, 600.0), (4, 1200.0), (10, 1897.4)] {
            let settled = only(&settle("fair", senders));
            let queue = settled.queue.0.as_secs_f64() * 1e6;
            assert!((queue / expected_us - 1.0).abs() < 0.01, "{senders}: {queue} µs, not {expected_us}");
            assert!((settled.rate.mbit() * f64::from(senders) - 100.0).abs() < 0.01 && settled.loss == 0.0);
        }
    }

    #[test]
    fn utility_that_ignores_queue_does_not_care_how_long_it_is() {
        let settled = only(&settle("safe", 1));
        assert!(settled.queue.0 < Duration::from_micros(100), "{settled:?}");
        assert!(settled.queue.1 > Duration::from_millis(29), "{settled:?}");
    }

    #[test]
    fn a_full_queue_does_not_grow_and_vivace_takes_it_for_none() {
        assert_eq!(settle("vivace", 2).stable.len(), 1, "two would have to lose more than they bear");
        let equilibria = settle("vivace", 50);
        assert_eq!(equilibria.stable.len(), 2, "{equilibria:?}");
        let (empty, full) = (equilibria.stable[0], equilibria.stable[1]);
        assert!(empty.queue.1 < Duration::from_micros(100) && empty.loss < 1e-3, "{empty:?}");
        assert!(full.queue.0 == Duration::from_millis(30) && full.loss > 0.01, "{full:?}");
    }

    #[test]
    fn who_wants_nothing_is_silent_and_who_is_not_defined_says_so() {
        assert!(settle("-x", 1).silent);
        assert!(settle("x*log(L)", 1).undefined);
        assert!(settle("x", 1).unbounded && settle("x", 1).stable.is_empty());
        let limited = only(&settle("rate-limiter,limit=20Mbit", 2));
        assert!((limited.rate.mbit() - 20.0).abs() < 0.1, "{limited:?}");
    }
}
