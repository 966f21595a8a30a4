//! The purpose of a monitor interval, as a control law asks for it.

use crate::units::Rate;

/// The plan for one monitor interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalPlan {
    /// The rate to send at.
    pub rate: Rate,
    /// Which of the law's open questions this interval answers; `None` for an interval that only fills time until
    /// earlier ones are resolved.
    pub trial: Option<u8>,
    /// Shortest and longest duration in RTT; drawn uniformly between, so that competing senders do not probe in step.
    pub rtts: (f64, f64),
    /// Whether it lasts as long as [`crate::monitor::Config::min_packets`] take, if that is longer; not where the law has seen to it
    /// itself that the interval tells enough.
    pub is_stretched: bool,
}

impl IntervalPlan {
    /// An interval that is not judged.
    pub const fn filler(rate: Rate) -> Self {
        Self { rate, trial: None, rtts: (1.0, 1.0), is_stretched: true }
    }
}
