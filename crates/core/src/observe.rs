//! Tells observers what a sender did and why, for traces, live views and logs. Costs nothing when nobody listens.

use crate::interval::Report;
use crate::units::{Rate, Timestamp};
use core::fmt::Debug;

/// Something worth a line in a trace.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An interval was resolved: every packet of it acknowledged, lost or given up on.
    Interval {
        /// When.
        at: Timestamp,
        /// Its results.
        report: &'a Report,
        /// The number that the utility function made of it; `None` if the interval was not judged.
        utility: Option<f64>,
    },
    /// The rate control changed its state or its base rate.
    Decision {
        /// When.
        at: Timestamp,
        /// The state it is in now, as the paper calls it.
        state: &'static str,
        /// The base rate from now on.
        rate: Rate,
        /// Its cause.
        reason: &'static str,
    },
}

/// Receives events; called on the sender's own thread, so it must be quick and never block.
pub trait Observer: Debug + Send + Sync {
    /// One event.
    fn on_event(&self, event: &Event<'_>);
}
