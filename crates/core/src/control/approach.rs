//! Start-up on a path whose capacity the first packets told ([`crate::trains`]): steps of eight instead of two.
//!
//! Trains tell the rate that the bottleneck carries for all senders together, and a token bucket passes them faster
//! than later packets. So a step lasts a quarter of a round trip, which stakes as many packets as two doublings. Until
//! its results are there, the rate is twice the proven one. A step of about a doubling lasts a round trip. Once the
//! capacity itself, less a probe's share, has passed for one round trip, start-up is over without a queue.

use crate::interval::IntervalPlan;
use crate::units::Rate;

/// How far a step goes, and for how much of a round trip: shorter, longer and smaller ones are in docs/sweeps/trains.md.
const STEP: f64 = 8.0;
const STEP_RTTS: f64 = 0.25;
/// Up to so many times what was proven it is about a doubling: the last step over 42 Mbit/s and 800 ms is one of 2.1, and cut short
/// would take a round trip more. Not swept.
const DOUBLING: f64 = 2.5;

/// On the way to a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Approach {
    goal: Rate,
    proven: Rate,
    /// The step that was taken and is not answered for.
    taken: Option<Rate>,
}

impl Approach {
    /// From a rate that the path was seen to carry; `None` if there is nothing left to go.
    pub(super) fn new(goal: Rate, proven: Rate) -> Option<Self> {
        (goal > proven).then_some(Self { goal, proven, taken: None })
    }

    /// The next interval, of this number of RTT; only a step is judged.
    pub(super) fn next(&mut self, rtts: f64) -> IntervalPlan {
        let plan = |rate, trial, rtts| IntervalPlan { trial, rtts: (rtts, rtts), ..IntervalPlan::filler(rate) };
        let is_doubling = |step: Rate| step <= self.proven * DOUBLING;
        match self.taken {
            None => {
                let step = self.goal.min(self.proven * STEP);
                let long = is_doubling(step);
                self.taken = Some(step);
                plan(step, Some(0), if long { rtts } else { STEP_RTTS })
            }
            Some(step) if is_doubling(step) => plan(step, None, rtts),
            Some(_) => plan(self.goal.min(self.proven * 2.0), None, rtts),
        }
    }

    /// An interval at this rate is answered for, and so much of it has passed.
    pub(super) fn on_passed(&mut self, rate: Rate, passed: Rate) {
        self.proven = self.proven.max(passed);
        if self.taken.is_some_and(|taken| rate >= taken) {
            self.taken = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbit(mbit: f64) -> Rate {
        Rate::from_mbit(mbit)
    }

    fn told(plan: IntervalPlan) -> (f64, bool, f64) {
        ((plan.rate.mbit() * 10.0).round() / 10.0, plan.trial.is_some(), plan.rtts.0)
    }

    #[test]
    fn eightfold_steps_last_a_quarter_of_a_round_trip() {
        let mut approach = Approach::new(mbit(40.0), mbit(0.3)).unwrap();
        let passed = |approach: &mut Approach, rate: f64| approach.on_passed(mbit(rate), mbit(rate));
        assert_eq!(told(approach.next(1.0)), (2.4, true, 0.25));
        assert_eq!(told(approach.next(1.0)), (0.6, false, 1.0), "until that is answered for");
        passed(&mut approach, 0.6);
        assert_eq!(told(approach.next(1.0)), (1.2, false, 1.0), "that was a doubling that was on its way");
        passed(&mut approach, 2.4);
        assert_eq!(told(approach.next(1.0)), (19.2, true, 0.25));
        assert_eq!(told(approach.next(1.0)), (4.8, false, 1.0));
        passed(&mut approach, 19.2);
        assert_eq!(told(approach.next(2.0)), (40.0, true, 2.0));
        assert_eq!(told(approach.next(1.0)), (40.0, false, 1.0));
    }

    #[test]
    fn a_goal_that_is_a_whole_step_away_is_a_step_like_others() {
        let mut approach = Approach::new(mbit(40.0), mbit(5.0)).unwrap();
        assert_eq!(told(approach.next(1.0)), (40.0, true, 0.25));
        assert_eq!(told(approach.next(1.0)), (10.0, false, 1.0));
        approach.on_passed(mbit(40.0), mbit(40.0));
        assert_eq!(told(approach.next(1.0)), (40.0, true, 1.0), "and then it must last");
    }

    #[test]
    fn a_step_counts_from_what_passed_and_ends_at_the_goal() {
        let mut approach = Approach::new(mbit(1000.0), mbit(1.0)).unwrap();
        assert_eq!(told(approach.next(1.0)), (8.0, true, 0.25));
        approach.on_passed(mbit(8.0), mbit(3.0));
        assert_eq!(told(approach.next(1.0)), (24.0, true, 0.25));
        let mut close = Approach::new(mbit(3.0), mbit(2.0)).unwrap();
        assert_eq!(told(close.next(1.0)), (3.0, true, 1.0));
        assert_eq!(Approach::new(mbit(2.0), mbit(2.0)), None);
    }
}
