use super::Safe;
use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use crate::interval::Report;
use core::time::Duration;

/// (T·S(L − 0.05)·RTT_begin/RTT_end − x·L)/RTT, in Mbit/s per second of delay: goodput against delay, also called
/// power. For paths where fair queueing gives each flow a queue of its own. Source: `NSDI 2015` §4.4.1.
///
/// Deviates in two points. The paper compares the mean RTT with that of the interval sent before. Trials are sent in a
/// random order, so here the RTT at the two ends of the interval itself is taken, from its slope. The paper divides a
/// negative utility by the RTT as well, and a longer queue then makes a loss less bad. Here it is divided by 100 ms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interactive {
    /// The reward and the penalty of it.
    pub safe: Safe,
}

/// Divisor of a negative utility, so that it stays comparable with the positive ones of a path of this RTT.
const NO_REWARD_RTT: Duration = Duration::from_millis(100);

impl Utility for Interactive {
    fn evaluate(&self, report: &Report) -> f64 {
        let lost = report.achieved.mbit() * report.loss();
        let rtt = report.rtt.unwrap_or(NO_REWARD_RTT).as_secs_f64().max(1e-6);
        let growth = report.queue_growth() * report.duration.as_secs_f64() / 2.0;
        let (begin, end) = ((rtt - growth).max(rtt / 10.0), (rtt + growth).max(rtt / 10.0));
        let worth = (self.safe.evaluate(report) + lost) * (begin / end) - lost;
        worth / if worth > 0.0 { rtt } else { NO_REWARD_RTT.as_secs_f64() }
    }

    /// The length of a queue is no reason to send less, but its growth is, for a law that foresees it. Ascent has 0.97
    /// to 1.00 of four paths and 2 to 31 ms of queue in the 95th percentile. Allegro, which compares the results of
    /// rates, has 0.93 to 0.97 and 7 to 45 ms (`docs/laws.md`).
    fn prices_queue(&self) -> bool {
        true
    }

    fn panic_loss(&self) -> f64 {
        self.safe.panic_loss()
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# interactive: goodput against delay, for paths with fair queueing (NSDI 2015, section 4.4.1).
let steepness = 100;
let loss_cap = 5%;
let panic_loss = 3*loss_cap;
let mean = if(known(rtt), max(rtt, 1us), 100ms);
let half = g*duration/2;
let begin = max(mean - half, mean/10);
let end = max(mean + half, mean/10);
let worth = T*sigmoid(-steepness*(L - loss_cap))*begin/end - x*L;
worth/if(worth > 0, mean, 100ms)
";

impl BuiltIn for Interactive {
    const INFO: UtilityInfo = UtilityInfo {
        name: "interactive",
        summary: "goodput against delay, for paths where fair queueing gives each flow its own queue",
        formula: "(T*S(L - loss_cap)*begin/end - x*L)/rtt, begin and end the RTT at the interval's ends; a negative worth is divided by 100 ms",
        unit: "Mbit/s per s",
        source: "NSDI 2015, section 4.4.1, with the deviations that its documentation names",
        traps: &["no theorem says that such senders share a queue fairly: for fair queueing only"],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        self.safe.parameters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    fn with_rtt(ms: u64, gradient: f64, loss: f64) -> f64 {
        let rtt = Some(Duration::from_millis(ms));
        Interactive::default().evaluate(&Report { rtt, rtt_gradient: Some(gradient), ..report(10.0, loss) })
    }

    #[test]
    fn half_the_delay_is_worth_as_much_as_twice_the_goodput() {
        assert!((with_rtt(20, 0.0, 0.0) - 10.0 * 0.99331 / 0.020).abs() < 0.01);
        assert!((with_rtt(20, 0.0, 0.0) / with_rtt(40, 0.0, 0.0) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_growing_queue_is_worth_less_than_a_standing_one() {
        assert!(with_rtt(20, 0.01, 0.0) < with_rtt(20, 0.0, 0.0) && with_rtt(20, -0.01, 0.0) > with_rtt(20, 0.0, 0.0));
    }

    #[test]
    fn a_longer_queue_does_not_make_loss_less_bad() {
        assert!(with_rtt(40, 0.0, 0.1) <= with_rtt(20, 0.0, 0.1) && with_rtt(20, 0.0, 0.1) < 0.0);
    }
}
