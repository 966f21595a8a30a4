//! Control laws: what rate to try next, given what the last ones were worth.
//!
//! A law sees utilities and rates, never packets. Any utility can steer it.

pub mod allegro;
mod approach;
pub mod ascent;
mod driver;
mod parameters;
mod response;
mod starting;
pub mod vivace;

pub use driver::Driver;
pub use parameters::ParseLawError;

use crate::interval::Report;
use crate::monitor;
use crate::rng::Rng;
use crate::units::{Bytes, Rate, Timestamp};
use crate::utility::Utility;
use core::fmt::Debug;
use core::time::Duration;

/// What one monitor interval is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// The rate to send at.
    pub rate: Rate,
    /// Which of the law's open questions this interval answers; `None` for an interval that only fills time until
    /// earlier ones are resolved.
    pub trial: Option<u8>,
    /// Shortest and longest duration in RTT; drawn uniformly between, so that competing senders do not probe in step.
    pub rtts: (f64, f64),
    /// Whether it lasts as long as [`monitor::Config::min_packets`] take, if that is longer; not where the law has seen to it
    /// itself that the interval tells enough.
    pub is_stretched: bool,
}

impl Slot {
    /// An interval that is not judged.
    pub const fn filler(rate: Rate) -> Self {
        Self { rate, trial: None, rtts: (1.0, 1.0), is_stretched: true }
    }
}

/// What a law may know of the path when it decides.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Smoothed RTT.
    pub rtt: Duration,
    /// By how much that is above the smallest RTT: the queue's share of it.
    pub queue: Duration,
    /// Size of a full packet.
    pub packet: Bytes,
    /// The lengths of monitor intervals.
    pub monitor: monitor::Config,
    /// The lowest rate: a packet an RTT, or each 250 ms where that is longer.
    pub floor: Rate,
    /// What any sender may begin with: the initial window in half an RTT.
    pub initial: Rate,
    /// The highest rate the user allows.
    pub ceiling: Rate,
    /// The best delivery rate of the last ten RTT or so, and of no less than the last 50 ms.
    pub delivery: Rate,
    /// The bottleneck's, where the first packets told it by how far apart they arrived: what it carries for all.
    pub capacity: Option<Rate>,
    /// When the latest packets left back to back to tell it.
    pub trains: Option<Timestamp>,
}

impl Path {
    /// `rate` within the path's limits.
    pub fn clamp(&self, rate: Rate) -> Rate {
        rate.max(self.floor).min(self.ceiling)
    }

    /// The RTT without the queue.
    pub fn base(&self) -> Duration {
        self.rtt.saturating_sub(self.queue)
    }

    /// A probe at this distance from `rate`, or as far as it takes to send a packet more in an interval of so many RTT:
    /// what it changes is to be visible. Never more than a quarter, which would be another experiment.
    pub fn visible(&self, epsilon: f64, rate: Rate, rtts: f64) -> f64 {
        let packets = (rate * self.interval(rate, rtts)).get() as f64 / self.packet.get().max(1) as f64;
        epsilon.max((1.0 / packets.max(1.0)).min(EPSILON_LIMIT))
    }

    /// How long a judged interval of so many RTT lasts at this rate.
    pub fn interval(&self, rate: Rate, rtts: f64) -> Duration {
        let slot = Slot { trial: Some(0), ..Slot::filler(rate) };
        let length = self.monitor.length(&slot, self.rtt.mul_f64(rtts), self.packet, self.rtt);
        length.min(monitor::longest_interval(self.rtt))
    }
}

/// A probe must differ by one packet an interval to be visible, but never by more than this share of the rate.
const EPSILON_LIMIT: f64 = 0.25;
/// A sender short of data keeps at most so many times what it was seen to deliver: twice, less the error of measuring
/// that over a single interval.
const LIMITED_HEADROOM: f64 = 1.9;

/// The rate to keep while it is not used: no more than twice what was seen to be delivered, for nobody knows whether
/// the path carries it; but what any sender may begin with needs no proof.
fn within_reach(rate: Rate, path: &Path) -> Rate {
    path.clamp(rate.min((path.delivery * LIMITED_HEADROOM).max(path.initial)))
}

/// What a report led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing changes; the plan goes on.
    Wait,
    /// The plan changed, for this reason: drop the running intervals and begin a new one at once.
    /// Source: re-alignment, `NSDI 2015` §3.1.
    Realign(&'static str),
    /// The base rate is far below the path, for this reason: look for its order of magnitude again.
    Start(&'static str),
}

/// A control law. One of them holds the base rate of a connection and plans its monitor intervals, once start-up has found
/// the rate's order of magnitude.
pub trait RateControl: Debug + Send + Sync {
    /// What the next interval is for. Called when the previous one closes, after each verdict but [`Verdict::Wait`], and wherever
    /// something else than the law ended what was being tried: a guard, a pause, another objective.
    /// What is decided by chance `rng` decides.
    fn next(&mut self, path: &Path, rng: &mut Rng) -> Slot;

    /// An interval of the current plan was resolved. `utility` ranks it, and variants of it that the law makes; its
    /// results are finite.
    fn on_report(&mut self, slot: Slot, report: &Report, utility: &dyn Fn(&Report) -> f64, path: &Path) -> Verdict;

    /// Start-up was gone through again: probe from this rate on. What was known of the path may be worth nothing.
    fn begin(&mut self, rate: Rate, path: &Path);

    /// The host or the application was the limit, and nobody knows whether the path carries more than this.
    fn limit(&mut self, rate: Rate);

    /// The path stalled, or lost more than the utility's panic level: go on from this lower rate.
    fn back_off(&mut self, rate: Rate);

    /// The sender was idle, or a trial told nothing: keep the rate, forget what was being compared.
    fn restart(&mut self);

    /// The base rate, around which is probed.
    fn rate(&self) -> Rate;

    /// The RTT that no rate of ours would shorten, where the law knows it: of the path without a queue, or with the queue that
    /// somebody else fills.
    fn standing_rtt(&self) -> Option<Duration> {
        None
    }

    /// What it has found out of the path.
    fn known(&self) -> Known {
        Known::default()
    }

    /// The state's name in the paper.
    fn state(&self) -> &'static str;
}

/// What a law has found out of the path by trying: what no single interval can tell, and so no monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    /// RTT without any queue, also if the path became longer or shorter; `None` before it probes.
    pub base_rtt: Option<Duration>,
    /// The share of what is sent that is lost at any rate, 0 to 1: 0 until it has seen some of it.
    pub random_loss: Option<f64>,
}

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
}

impl Default for Law {
    fn default() -> Self {
        Self::Ascent(ascent::Config::default())
    }
}

impl Law {
    /// What users select them by.
    pub const NAMES: [&str; 3] = ["ascent", "allegro", "vivace"];

    /// The name that users select it by.
    pub const fn name(&self) -> &'static str {
        match self {
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
    fn begin(&self, rate: Rate, path: &Path) -> Box<dyn RateControl> {
        match self {
            Self::Ascent(config) => Box::new(ascent::Ascent::new(config.clone(), rate, path)),
            Self::Allegro(config) => Box::new(allegro::Allegro::new(config.clone(), rate)),
            Self::Vivace(config) => Box::new(vivace::Vivace::new(config.clone(), rate)),
        }
    }

    /// From which ratio of the gaps between acknowledgements on their samples are those of a burst; 0 for never.
    pub(crate) const fn burst_ratio(&self) -> f64 {
        match self {
            Self::Vivace(config) => config.burst_ratio,
            Self::Allegro(_) | Self::Ascent(_) => 0.0,
        }
    }

    /// Length of an interval while the rate is doubled. Unit: RTT.
    const fn starting_rtts(&self) -> f64 {
        match self {
            Self::Allegro(config) => config.starting_rtts,
            Self::Ascent(_) | Self::Vivace(_) => 1.0,
        }
    }

    /// Whether the first packets leave in trains: the papers' laws only double.
    pub(crate) fn measures_by_trains(&self) -> bool {
        matches!(self, Self::Ascent(config) if config.without != Some(ascent::Part::Trains))
    }

    /// Whether the queue that start-up built drains before the law begins.
    fn drains(&self) -> bool {
        !matches!(self, Self::Ascent(config) if config.without == Some(ascent::Part::Drain))
    }
}
