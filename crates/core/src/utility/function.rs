//! The interface of every utility function, and the forecast that a law may ask it about.

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

/// A law's forecast for its next rate: the path's answer to it, as the asking law foresees it.
///
/// Behind a bottleneck of [`capacity`](Self::capacity) the queue moves with the rate, as long as that acts:
/// [`queue_at`](Self::queue_at). Nobody's own step changes the price of it, so a utility takes the queue at a rate as given when it
/// compares that rate with its neighbours. All times in seconds, rates in byte/s.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// The rate that the bottleneck carries for the sender.
    pub capacity: f64,
    /// The lowest rate that is asked about.
    pub lowest: f64,
    /// The highest rate that is asked about.
    pub highest: f64,
    /// Queueing delay when the next rate begins to act.
    pub queue: f64,
    /// How long the next rate acts; zero where the queue stays as long as it is, whatever the sender does.
    pub horizon: f64,
    /// Share that is lost at any rate.
    pub lost: f64,
    /// Share of packets that is marked at any rate.
    pub marked: f64,
    /// The share of the capacity beyond which all that is sent is lost besides.
    pub full: f64,
}

impl Outlook {
    /// The queueing delay after the horizon at this share of the capacity, which is none where this is below it. Unit: s.
    pub fn queue_at(&self, share: f64) -> f64 {
        self.queue + (share - 1.0) * self.horizon
    }
}
