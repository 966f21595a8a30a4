//! Which control law steers.

use super::own::Own;
use super::path::Path;
use super::rate_control::RateControl;
use super::{allegro, ascent, vivace};
use crate::units::Rate;
use crate::utility::Utility;

/// Which control law steers, with its parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Law {
    /// PCC Allegro, `NSDI 2015`.
    Allegro(allegro::Config),
    /// Continuous probing towards what a utility that prices the queue wants.
    Ascent(ascent::Config),
    /// PCC Vivace, `NSDI 2018`.
    Vivace(vivace::Config),
    /// A law of one's own: [`Law::own`].
    Own(Own),
}

impl Default for Law {
    fn default() -> Self {
        Self::Ascent(ascent::Config::default())
    }
}

impl Law {
    /// The names by which users select a law.
    pub const NAMES: [&str; 3] = ["ascent", "allegro", "vivace"];

    /// A law of one's own: its name, and how one of them begins from a rate. Start-up is that of all laws and only doubles.
    pub fn own<L: RateControl + 'static>(
        name: &'static str,
        begin: impl Fn(Rate, &Path) -> L + Send + Sync + 'static,
    ) -> Self {
        Self::Own(Own::new(name, begin))
    }

    /// The name that users select it by, or that its author gave it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Own(own) => own.name(),
            Self::Allegro(_) => "allegro",
            Self::Ascent(_) => "ascent",
            Self::Vivace(_) => "vivace",
        }
    }

    /// The law that suits a utility: Ascent foresees queues, and needs to be told what they cost; Allegro finds out what
    /// packets that are lost cost.
    pub fn suited_to(utility: &dyn Utility) -> Self {
        if utility.prices_queue() {
            Self::Ascent(ascent::Config::default())
        } else {
            Self::Allegro(allegro::Config::default())
        }
    }

    /// The law at work, from this rate on.
    pub(super) fn begin(&self, rate: Rate, path: &Path) -> Box<dyn RateControl> {
        match self {
            Self::Ascent(config) => Box::new(ascent::Ascent::new(config.clone(), rate, path)),
            Self::Allegro(config) => Box::new(allegro::Allegro::new(config.clone(), rate)),
            Self::Vivace(config) => Box::new(vivace::Vivace::new(config.clone(), rate)),
            Self::Own(own) => own.begin(rate, path),
        }
    }

    /// The ratio of gaps between acknowledgements that shows a burst; 0 for never.
    pub(crate) const fn burst_ratio(&self) -> f64 {
        match self {
            Self::Vivace(config) => config.burst_ratio,
            Self::Allegro(_) | Self::Ascent(_) | Self::Own(_) => 0.0,
        }
    }

    /// Length of an interval while the rate is doubled. Unit: RTT.
    pub(super) const fn starting_rtts(&self) -> f64 {
        match self {
            Self::Allegro(config) => config.starting_rtts,
            Self::Ascent(_) | Self::Vivace(_) | Self::Own(_) => 1.0,
        }
    }

    /// Whether the first packets leave in trains: the papers' laws only double.
    pub(crate) const fn measures_by_trains(&self) -> bool {
        matches!(self, Self::Ascent(_))
    }
}
