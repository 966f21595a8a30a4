//! The measurements of an interval that an expression may use.

use super::unit::Unit;
use crate::interval::Report;
use core::time::Duration;

/// A measurement of an interval, by the name that expressions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// The rate at which packets left. Unit: Mbit/s.
    Rate,
    /// Goodput, [`Report::throughput`]. Unit: Mbit/s.
    Throughput,
    /// The share that was lost or marked, [`Report::loss`].
    Loss,
    /// The share that was lost because of our rate, where a law found it out, [`Report::excess_loss`].
    OwnLoss,
    /// The share of packets that arrived marked.
    Marks,
    /// Mean RTT. Unit: s.
    Rtt,
    /// Least RTT of the interval. Unit: s.
    RttLeast,
    /// RTT of the path without queue. Unit: s.
    RttBase,
    /// Mean queueing delay. Unit: s.
    Queue,
    /// How fast the RTT grew, where that stands out of the noise, [`Report::queue_growth`]. Unit: s/s.
    Growth,
    /// Standard deviation of the RTT. Unit: s.
    Deviation,
    /// Scatter of the RTT around its slope. Unit: s.
    Residual,
    /// How long the interval was sent. Unit: s.
    Duration,
    /// [`Variable::Rate`] of the interval sent before.
    PreviousRate,
    /// [`Variable::Throughput`] of the interval sent before.
    PreviousThroughput,
    /// [`Variable::Loss`] of the interval sent before.
    PreviousLoss,
    /// [`Variable::Rtt`] of the interval sent before.
    PreviousRtt,
}

impl Variable {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Rate,
        Self::Throughput,
        Self::Loss,
        Self::OwnLoss,
        Self::Marks,
        Self::Rtt,
        Self::RttLeast,
        Self::RttBase,
        Self::Queue,
        Self::Growth,
        Self::Deviation,
        Self::Residual,
        Self::Duration,
        Self::PreviousRate,
        Self::PreviousThroughput,
        Self::PreviousLoss,
        Self::PreviousRtt,
    ];

    /// Its short name, and a long one.
    pub const fn names(self) -> [&'static str; 2] {
        match self {
            Self::Rate => ["x", "rate"],
            Self::Throughput => ["T", "throughput"],
            Self::Loss => ["L", "loss"],
            Self::OwnLoss => ["E", "own_loss"],
            Self::Marks => ["marks", "marked"],
            Self::Rtt => ["rtt", "rtt_mean"],
            Self::RttLeast => ["rtt_least", "least_rtt"],
            Self::RttBase => ["rtt_base", "base_rtt"],
            Self::Queue => ["q", "queueing_delay"],
            Self::Growth => ["g", "rtt_growth"],
            Self::Deviation => ["sigma", "rtt_deviation"],
            Self::Residual => ["residual", "rtt_residual"],
            Self::Duration => ["duration", "interval"],
            Self::PreviousRate => ["prev_x", "prev_rate"],
            Self::PreviousThroughput => ["prev_T", "prev_throughput"],
            Self::PreviousLoss => ["prev_L", "prev_loss"],
            Self::PreviousRtt => ["prev_rtt", "prev_rtt_mean"],
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variable| variable.names().contains(&name))
    }

    pub(super) const fn unit(self) -> Unit {
        match self {
            Self::Rate | Self::Throughput | Self::PreviousRate | Self::PreviousThroughput => Unit::RATE,
            Self::Loss | Self::OwnLoss | Self::Marks | Self::Growth | Self::PreviousLoss => Unit::NONE,
            Self::Rtt
            | Self::RttLeast
            | Self::RttBase
            | Self::Queue
            | Self::Deviation
            | Self::Residual
            | Self::Duration
            | Self::PreviousRtt => Unit::TIME,
        }
    }

    /// Its value in its base unit; NaN if it was not measured.
    pub fn of(self, report: &Report) -> f64 {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let previous = report.previous;
        let value = match self {
            Self::Rate => Some(report.achieved.mbit()),
            Self::Throughput => Some(report.throughput().mbit()),
            Self::Loss => Some(report.loss()),
            Self::OwnLoss => report.excess_loss,
            Self::Marks => Some(report.marked()),
            Self::Rtt => seconds(report.rtt),
            Self::RttLeast => seconds(report.rtt_least),
            Self::RttBase => seconds(report.rtt_base),
            Self::Queue => seconds(report.queueing_delay()),
            Self::Growth => Some(report.queue_growth()),
            Self::Deviation => Some(report.rtt_deviation.as_secs_f64()),
            Self::Residual => Some(report.rtt_residual.as_secs_f64()),
            Self::Duration => Some(report.duration.as_secs_f64()),
            Self::PreviousRate => previous.map(|previous| previous.achieved.mbit()),
            Self::PreviousThroughput => previous.map(|previous| previous.throughput.mbit()),
            Self::PreviousLoss => previous.map(|previous| previous.loss),
            Self::PreviousRtt => seconds(previous.and_then(|previous| previous.rtt)),
        };
        value.filter(|value| value.is_finite()).unwrap_or(f64::NAN)
    }
}
