use super::built_in::{BuiltIn, UtilityInfo};
use super::function::{Outlook, Utility};
use super::parameter::Parameter;
use crate::interval::Report;
use crate::units::Rate;

/// 2A·√x − x·(q + c·(M + L)) − K·A·E, with x in Mbit/s: high goodput and a short queue, shared fairly.
///
/// The reward grows with the root of the rate, and each Mbit/s costs the queueing delay q. The best rate is (A/q)², the
/// same for all senders behind one queue, whatever their RTT. A lone sender on C Mbit/s keeps a queue of A/√C, and each
/// of n equal senders A·√(n/C): with the default 0.6 ms on 100 Mbit/s, and 1.9 ms for ten. Source: price-taking
/// senders, proportional fairness (F. Kelly, 1998), here with the exponent 1/2, with which the queue grows with √n
/// instead of n.
///
/// Marks M and losses L cost as much as c seconds of queue; a law leaves out of L what is nobody's. Losses that our own
/// rate causes, E, cost at once. While E is not known, losses below 5 % cost nothing, and the rest counts as ours.
/// **Traps**: it wants a law that foresees the queue ([`crate::control::Law::Ascent`]). Beside senders that fill the queue until packets are
/// lost, it takes the rate that they leave.
#[derive(Clone, Copy, Debug)]
pub struct Fair {
    /// A: what a rate is worth. Unit: s·√(Mbit/s).
    pub level: f64,
    /// c: the queueing delay that a mark, or a loss, counts as. Unit: s.
    pub loss_price: f64,
    /// The loss rate from which on losses count while nobody knows whose they are; 0.05 as in the safe utility.
    pub loss_cap: f64,
    /// K: a sender that causes more than 1/K of loss for each e-fold of its rate lowers the rate. Up to about K senders
    /// share a buffer that is too small for a queue of A·√(n/C).
    pub sureness: f64,
}

impl Default for Fair {
    fn default() -> Self {
        Self { level: 0.006, loss_price: 0.1, loss_cap: 0.05, sureness: 1000.0 }
    }
}

/// Bytes/s of one Mbit/s.
const MBIT: f64 = 125_000.0;
/// Newton's steps at the most: each squares the error, and three or four are enough but for a root far below the lowest rate.
const STEPS: u32 = 8;
/// A step of less than this share of the root is the last.
const LAST: f64 = 1e-6;
crate::shared::shared_with_c!("FAIR_" [] LAST);

/// The root of the share of the capacity at which a price of the queue and of this takes all of the reward, up to `most`: s with
/// reward/s = q(s²) + price. The queue grows in proportion to the rate, H·s³ + (q + price − H)·s = reward, from nothing on.
fn meets(outlook: &Outlook, reward: f64, price: f64, most: f64) -> f64 {
    let (linear, mut root) = (outlook.queue + price - outlook.horizon, most);
    for _ in 0..STEPS {
        let square = outlook.horizon * (root * root);
        // The cubic is convex, and negative at 0: from where it is positive Newton's steps come down to its only root.
        let above = root * (square + linear) - reward;
        if above <= 0.0 {
            break;
        }
        let step = above / (3.0 * square + linear);
        root -= step;
        if step < LAST * root {
            break;
        }
    }
    if outlook.queue_at(root * root) < 0.0 { reward / price } else { root }
}

impl Utility for Fair {
    fn evaluate(&self, report: &Report) -> f64 {
        let (x, marked) = (report.achieved.mbit(), report.marked());
        let queue = report.standing_queue().unwrap_or_default().as_secs_f64();
        let cap = if report.excess_loss.is_some() { 0.0 } else { self.loss_cap };
        let beyond = (report.loss() - marked - cap).max(0.0);
        let own = report.excess_loss.unwrap_or(beyond);
        let price = queue + self.loss_price * (marked + beyond);
        2.0 * self.level * x.sqrt() - x * price - self.sureness * self.level * own
    }

    /// With w for the share of the capacity C: the rate at which A/√(w·C) − q − c·(M + L) is zero, or at which our
    /// own losses begin. Beyond, own losses cost more than any rate gains, unless K is small or C a terabit.
    fn best_response(&self, outlook: &Outlook) -> Option<Rate> {
        let capacity = outlook.capacity / MBIT;
        let reward = self.level / capacity.sqrt();
        let price = self.loss_price * (outlook.marked + outlook.lost.min(1.0 - outlook.marked));
        let (lowest, highest) = (outlook.lowest / outlook.capacity, outlook.highest / outlook.capacity);
        let most = outlook.full.max(lowest).min(highest);
        let own = price + self.sureness * self.level / capacity;
        if most < highest && reward * reward > own * own * most {
            return None;
        }
        let root = meets(outlook, reward, price, most.sqrt());
        let share = (root * root).min(most).max(lowest);
        share.is_finite().then(|| Rate::from_bytes_per_sec(share * outlook.capacity))
    }

    fn prices_queue(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# fair: high goodput and a short queue, in equal shares.
let level = 0.006;
let loss_price = 0.1;
let loss_cap = 5%;
let sureness = 1000;
let queue = if(known(rtt_least) and known(rtt_base), max(0, rtt_least - rtt_base), 0);
let beyond = max(0, L - marks - if(known(E), 0, loss_cap));
let ours = if(known(E), E, beyond);
2*level*sqrt(x) - x*(queue + loss_price*(marks + beyond)) - sureness*level*ours
";

impl BuiltIn for Fair {
    const INFO: UtilityInfo = UtilityInfo {
        name: "fair",
        summary: "high goodput and a short queue, in equal shares: for any path",
        formula: "2A*sqrt(x) - x*(q + c*L) - K*A*E; q is the standing queue, E the losses of ours",
        unit: "s*Mbit/s",
        source: "proportional fairness (Kelly, 1998) with the exponent 1/2",
        traps: &[
            "it wants a law that foresees the queue: ascent, which it has if no other is chosen",
            "of losses, the law alone knows whose they are; until then those beyond the cap are ours",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        vec![
            Parameter::number("level", &mut self.level, 1e-6..=10.0),
            Parameter::number("loss_price", &mut self.loss_price, 0.0..=1000.0),
            Parameter::number("loss_cap", &mut self.loss_cap, 0.0..=1.0),
            Parameter::number("sureness", &mut self.sureness, 0.0..=1e6),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;
    use core::time::Duration;

    /// At this rate behind so much of queue.
    fn behind(mbit: f64, queue: Duration) -> f64 {
        let base = Duration::from_millis(30);
        Fair::default().evaluate(&Report { rtt_least: Some(base + queue), rtt_base: Some(base), ..report(mbit, 0.0) })
    }

    #[test]
    fn the_best_rate_is_the_square_of_the_level_by_the_queue() {
        for (queue_us, best) in [(600, 100.0), (1200, 25.0), (6000, 1.0)] {
            let queue = Duration::from_micros(queue_us);
            let at = behind(best, queue);
            assert!(at > behind(best * 1.02, queue) && at > behind(best * 0.98, queue), "{queue_us} µs");
        }
    }

    #[test]
    fn losses_below_the_cap_count_once_it_is_known_whose_they_are() {
        let utility =
            |loss: f64, own: Option<f64>| Fair::default().evaluate(&Report { excess_loss: own, ..report(100.0, loss) });
        assert!((utility(0.0, None) - 0.12).abs() < 1e-12, "2 · 0.006 · √100");
        assert!((utility(0.04, None) - 0.12).abs() < 1e-12 && (utility(0.04, Some(0.0)) + 0.28).abs() < 1e-12);
        assert!((utility(0.04, Some(0.01)) + 0.34).abs() < 1e-12, "K·A a share");
        assert!((utility(0.06, None) - (0.12 - 0.1 - 0.06)).abs() < 1e-9, "1 % beyond costs x·c and K·A of it");
    }

    #[test]
    fn marks_count_at_once() {
        let marked = Fair::default().evaluate(&Report { packets_marked: 10, ..report(100.0, 0.0) });
        assert!((marked - (0.12 - 100.0 * 0.1 * 0.01)).abs() < 1e-12, "{marked}");
    }
}
