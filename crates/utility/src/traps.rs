//! Behaviour of a utility that its author might not expect.

use super::{Bears, Disturbance, Equilibria, Game};
use core::fmt;
use core::time::Duration;
use pcc::utility::{SIDE, SenderView};

/// A warning for the author of a utility.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trap {
    /// This number of senders want ever more on a shared bottleneck.
    Unbounded(u32),
    /// This number of senders want less than a thousandth of the path.
    Silent(u32),
    /// This number of senders settle where the buffer is full, and this much delay stands in it.
    FullBuffer(u32, Duration),
    /// The length of the queue is nothing to a lone sender, from none to this.
    AnyQueue(Duration),
    /// This number of senders settle at different states, depending on where they were.
    Several(u32),
    /// One of this number of equal senders may keep more than another.
    Unfair(u32),
    /// No loss makes it slow down.
    BearsAnyLoss,
    /// Along a sender's own rate it has this many peaks.
    Peaks(usize),
    /// Near zero of this measurement it grows beyond all bounds, or is not defined there.
    Singular(&'static str),
    /// It is not defined for an interval that brought nothing back.
    BlindToSilence,
    /// It is not defined where no interval was sent before.
    NeedsPrevious,
}

/// The number of senders that stands for many.
const MANY: u32 = 10;

/// A measurement that may be zero, and a sight with so much of it.
type Vanishing = (&'static str, fn(SenderView, f64) -> SenderView);

/// The measurements that an interval may well report as zero.
const VANISHING: [Vanishing; 5] = [
    ("q", |sight, amount| SenderView { queue: (amount, amount), ..sight }),
    ("L", |sight, amount| SenderView { loss: amount, ..sight }),
    ("g", |sight, amount| SenderView { growth: Some(amount), ..sight }),
    ("sigma", |sight, amount| SenderView { noise: amount, ..sight }),
    // No interval that is judged has a rate of nothing at all.
    ("x", |sight, amount| SenderView { rate: amount.max(1e-12), ..sight }),
];
/// From here to a thousandth of it nothing that is measured changes, and a utility should not either...
const NEAR: f64 = 1e-6;
/// ...by more than this factor: that of a fourth root.
const MUCH: f64 = 5.0;

impl Game<'_> {
    /// The traps of this utility on this path.
    pub fn traps(&self) -> Vec<Trap> {
        let mut traps = Vec::new();
        let alone = self.settle(1);
        let crowds = [2, MANY].map(|senders| self.settle(senders));
        let all = || core::iter::once(&alone).chain(&crowds);
        let first = |is: &dyn Fn(&Equilibria) -> bool| all().find(|one| is(one)).map(|one| one.senders);
        traps.extend(first(&|one| one.unbounded).map(Trap::Unbounded));
        traps.extend(first(&|one| one.silent).map(Trap::Silent));
        // A path just short of full is full for the faster probe.
        let swing = (self.path.base_rtt + self.path.buffer).mul_f64(2.0 * SIDE);
        let full = self.path.buffer.saturating_sub(swing).max(self.path.buffer / 2);
        let is_full = |one: &Equilibria| one.stable.iter().any(|settled| settled.queue.0 >= full);
        traps.extend(first(&is_full).map(|senders| Trap::FullBuffer(senders, self.path.buffer)));
        let careless = alone.stable.iter().map(|settled| settled.queue.1.saturating_sub(settled.queue.0)).max();
        traps.extend(careless.filter(|range| *range > self.path.buffer / 2).map(|_| Trap::AnyQueue(self.path.buffer)));
        traps.extend(first(&|one| one.stable.len() > 1).map(Trap::Several));
        traps.extend(first(&|one| one.stable.iter().any(|settled| !settled.fair)).map(Trap::Unfair));
        if self.bears(Disturbance::Loss, self.path.capacity) == Bears::Any {
            traps.push(Trap::BearsAnyLoss);
        }
        let peaks = self.shape(pcc::units::Rate::ZERO, Duration::ZERO).peaks.len();
        traps.extend((peaks > 1).then_some(Trap::Peaks(peaks)));
        traps.extend(self.singular().map(Trap::Singular));
        traps.extend(self.blind());
        traps
    }

    /// A path that is fully used and otherwise as good as can be, after an interval like it.
    fn usual(&self) -> SenderView {
        let own_loss = self.foresees.then_some(0.0);
        let clear =
            SenderView { own_loss, ..SenderView::clear(self.path.capacity.mbit(), self.path.base_rtt.as_secs_f64()) };
        SenderView { previous: Some(clear.report().summary()), ..clear }
    }

    fn singular(&self) -> impl Iterator<Item = &'static str> {
        let usual = self.usual();
        let value = move |of: &dyn Fn(SenderView, f64) -> SenderView, amount| {
            self.utility.evaluate(&of(usual, amount).report())
        };
        VANISHING.into_iter().filter_map(move |(name, of)| {
            let [zero, nearer, near] = [0.0, NEAR * 1e-3, NEAR].map(|amount| value(&of, amount));
            let grows = nearer.abs() > MUCH * near.abs().max(f64::MIN_POSITIVE);
            // A tiny utility may vanish at its own pace.
            let size = self.utility.evaluate(&usual.report()).abs();
            let matters = nearer.abs() > size || !size.is_finite();
            let undefined = near.is_finite() && !zero.is_finite();
            (undefined || (grows && matters)).then_some(name)
        })
    }

    fn blind(&self) -> Vec<Trap> {
        let usual = self.usual();
        let report = usual.report();
        if !self.utility.evaluate(&report).is_finite() {
            return Vec::new();
        }
        let mut silent = report.clone();
        (silent.lost, silent.packets_lost, silent.delivery_rate) = (report.sent, report.packets, None);
        (silent.rtt, silent.rtt_least, silent.rtt_gradient, silent.rtt_samples) = (None, None, None, 0);
        let mut first = report;
        first.previous = None;
        let undefined = |report| !self.utility.evaluate(report).is_finite();
        let mut traps = Vec::new();
        traps.extend(undefined(&silent).then_some(Trap::BlindToSilence));
        traps.extend(undefined(&first).then_some(Trap::NeedsPrevious));
        traps
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let senders = |count: u32| if count == 1 { "a lone sender".to_owned() } else { format!("{count} senders") };
        let ms = |time: &Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        match self {
            Self::Unbounded(1) => f.write_str(
                "a lone sender wants ever more, whatever is lost: only its limit and the guard against heavy loss stop it",
            ),
            Self::Unbounded(count) => write!(
                f,
                "{count} senders on one bottleneck want ever more, whatever is lost: use it only where fair queueing gives \
                 each its own share"
            ),
            Self::Silent(count) => write!(f, "{} want next to nothing, even on an empty path", senders(*count)),
            Self::FullBuffer(count, delay) => {
                write!(f, "{} may fill the buffer and keep it full: {} of delay for everybody", senders(*count), ms(delay))
            }
            Self::AnyQueue(most) => write!(
                f,
                "it does not care how long the queue is: a queue that was built once, up to {}, stays until something else drains it",
                ms(most)
            ),
            Self::Several(count) => write!(f, "where {} settle depends on where they were before", senders(*count)),
            Self::Unfair(count) => write!(f, "of {count} equal senders one may keep more than another"),
            Self::BearsAnyLoss => f.write_str(
                "no random loss makes it slow down: where the loss is congestion after all, every sender on the path suffers it",
            ),
            Self::Peaks(count) => {
                write!(f, "along a sender's own rate it has {count} peaks: which one is found depends on where it began")
            }
            Self::Singular(name) => write!(
                f,
                "where {name} nears zero it grows beyond all bounds or has no value, and an idle path reports zero: write \
                 max({name}, ...)"
            ),
            Self::BlindToSilence => f.write_str(
                "it has no value when nothing came back, so a dead path does not slow it down: use known(rtt)",
            ),
            Self::NeedsPrevious => f.write_str(
                "it has no value for the first interval, which follows none: use known(prev_rtt) or the like",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bottleneck;
    use pcc::control::Law;
    use pcc::units::Rate;
    use pcc::utility::{built_in, parse};

    fn traps(written: &str) -> Vec<Trap> {
        let path = Bottleneck {
            capacity: Rate::from_mbit(100.0),
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        let utility = parse(written).unwrap();
        Game::new(&*utility, &Law::suited_to(&*utility), path).traps()
    }

    #[test]
    fn each_trap_is_found_where_it_is() {
        let buffer = Duration::from_millis(30);
        for (written, trap) in [
            ("x", Trap::Unbounded(1)),
            ("loss-resilient", Trap::Unbounded(10)),
            ("loss-resilient", Trap::BearsAnyLoss),
            ("-x", Trap::Silent(1)),
            ("vivace-loss", Trap::FullBuffer(1, buffer)),
            ("safe", Trap::AnyQueue(buffer)),
            ("vivace,c=2", Trap::Several(2)),
            ("abs(x - 50) - 30*L*x", Trap::Peaks(2)),
            ("x/(q/1ms) - L*x", Trap::Singular("q")),
            ("x - x*log(sigma/1ms)", Trap::Singular("sigma")),
            ("x^-0.5 - 1*L", Trap::Singular("x")),
            ("log(x) - 10*L", Trap::FullBuffer(1, buffer)),
            ("sqrt(x) - 10*x*q", Trap::BlindToSilence),
            ("T*prev_rtt/rtt - x*L", Trap::NeedsPrevious),
        ] {
            let found = traps(written);
            assert!(found.contains(&trap), "{written}: {trap:?} is not among {found:?}");
        }
    }

    #[test]
    fn default_has_none_and_no_built_in_one_is_blind_or_singular() {
        assert_eq!(traps("fair"), []);
        for about in built_in() {
            let written = match about.name {
                "weighted" => "weighted,share=0.5",
                "hybrid" => "hybrid,needed=20Mbit",
                "rate-limiter" => "rate-limiter,limit=20Mbit",
                name => name,
            };
            let found = traps(written);
            let wrong = |trap: &&Trap| matches!(trap, Trap::Singular(_) | Trap::NeedsPrevious | Trap::Silent(_));
            assert_eq!(found.iter().find(wrong), None, "{written}: {found:?}");
            assert!(!found.contains(&Trap::BlindToSilence), "{written}: {found:?}");
        }
    }
}
