//! The interface of every utility function.

use super::outlook::Outlook;
use crate::interval::Report;
use crate::units::Rate;
use core::fmt::Debug;

/// Ranks what monitor intervals achieved: the higher, the better.
pub trait Utility: Debug + Send + Sync {
    /// The utility of a finished interval. A result that is not finite says that the utility is not defined for this
    /// interval, for want of a measurement perhaps: the interval is not judged, and the trial is repeated.
    fn evaluate(&self, report: &Report) -> f64;

    /// The rate at which it is greatest under this outlook, within its bounds, at the queue that the rate leads to; `None` where it
    /// has no formula for that: then a law looks for it by evaluating.
    fn best_response(&self, _outlook: &Outlook) -> Option<Rate> {
        None
    }

    /// The name users select it by.
    fn name(&self) -> &str;

    /// Whether it falls with the standing queue, or with the deviation of the RTT that a queue stands for, so that it has a
    /// maximum without packets being lost.
    /// [`Law::suited_to`](crate::control::Law::suited_to) asks.
    fn prices_queue(&self) -> bool {
        false
    }

    /// The loss rate above which the sender falls back at once to the rate at which data arrived, without asking the
    /// utility further, by three halvings at most; 1 turns the guard off. Marks count as losses here. No fewer than
    /// twenty lost packets in three runs are a panic: others may be a burst of the path's own.
    fn panic_loss(&self) -> f64 {
        0.5
    }
}
