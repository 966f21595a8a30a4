//! A scenario's file as it is written: TOML with units in its texts. Its meaning is worked out elsewhere.

use super::target::Target;
use crate::figure::{Figure, Reference};
use core::fmt;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) title: String,
    pub(super) source: String,
    #[serde(default)]
    pub(super) published: Vec<String>,
    pub(super) algorithms: Vec<String>,
    pub(super) duration: String,
    #[serde(default = "one_second")]
    pub(super) step: String,
    pub(super) seeds: Vec<u64>,
    /// Flows start at the moments that are written, and hosts take no time.
    #[serde(default)]
    pub(super) exact: bool,
    pub(super) path: PathEntry,
    /// Bottlenecks behind that one, in the words of `pcc-lab sim`.
    #[serde(default)]
    pub(super) then: Vec<String>,
    #[serde(default)]
    pub(super) change: Vec<ChangeTable>,
    pub(super) changes: Option<ChangesTable>,
    pub(super) cellular: Option<CellularTable>,
    pub(super) sample: Option<SampleTable>,
    pub(super) sweep: Option<Sweep>,
    #[serde(default)]
    pub(super) flow: Vec<FlowTable>,
    /// The parts that `--full` replaces.
    pub(super) full: Option<Full>,
    #[serde(default)]
    pub(super) figure: Vec<Figure>,
    #[serde(default)]
    pub(super) reference: Vec<Reference>,
    #[serde(default)]
    pub(super) target: Vec<Target>,
}

/// The paper's size of an experiment, where the standard one is smaller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Full {
    pub(super) algorithms: Option<Vec<String>>,
    pub(super) duration: Option<String>,
    pub(super) step: Option<String>,
    pub(super) seeds: Option<Vec<u64>>,
    pub(super) values: Option<Vec<toml::Value>>,
    pub(super) flow: Option<Vec<FlowTable>>,
}

impl File {
    /// The file with what its full size replaces.
    pub(super) fn into_full(mut self) -> Self {
        let Some(full) = self.full.take() else { return self };
        self.algorithms = full.algorithms.unwrap_or(self.algorithms);
        self.duration = full.duration.unwrap_or(self.duration);
        self.step = full.step.unwrap_or(self.step);
        self.seeds = full.seeds.unwrap_or(self.seeds);
        self.flow = full.flow.unwrap_or(self.flow);
        if let (Some(sweep), Some(values)) = (&mut self.sweep, full.values) {
            sweep.values = values;
        }
        self
    }
}

fn one_second() -> String {
    "1s".into()
}

/// A path as a text, in the words of `pcc-lab sim`, or as a table, in the lab's own.
#[derive(Clone, Debug)]
pub(super) enum PathEntry {
    Text(String),
    Table(PathTable),
}

/// By hand, since of an untagged enum serde tells neither the line nor the key that is wrong.
impl<'de> Deserialize<'de> for PathEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = PathEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path: a text like \"rate=42Mbit,rtt=800ms\", or a table with rate, rtt and buffer")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PathEntry, E> {
                Ok(PathEntry::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<PathEntry, A::Error> {
                PathTable::deserialize(MapAccessDeserializer::new(table)).map(PathEntry::Table)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathTable {
    pub(super) rate: String,
    pub(super) rtt: String,
    pub(super) buffer: String,
    #[serde(default)]
    pub(super) loss: f64,
    #[serde(default)]
    pub(super) reverse_loss: f64,
    #[serde(default = "droptail")]
    pub(super) queue: String,
    pub(super) burst: Option<String>,
    pub(super) jitter: Option<String>,
    pub(super) reverse_jitter: Option<String>,
    #[serde(default)]
    pub(super) reorder: f64,
    #[serde(default)]
    pub(super) ecn: bool,
}

fn droptail() -> String {
    "droptail".into()
}

/// The path becomes another one at a moment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeTable {
    pub(super) at: String,
    pub(super) rate: Option<String>,
    pub(super) rtt: Option<String>,
    pub(super) loss: Option<f64>,
    pub(super) reverse_loss: Option<f64>,
}

/// The path becomes another one again and again: each quantity uniform between two values, drawn from the run's seed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangesTable {
    pub(super) every: String,
    pub(super) rate: Option<[String; 2]>,
    pub(super) rtt: Option<[String; 2]>,
    pub(super) loss: Option<[f64; 2]>,
}

/// A radio link whose rate wanders: a trace in mahimahi's format, or one generated from the run's seed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellularTable {
    /// How long a rate lasts.
    pub(super) every: String,
    /// Relative to the scenario's file.
    pub(super) file: Option<String>,
    /// The highest rate.
    pub(super) most: Option<String>,
    /// Standard deviation of the rate's change over a second.
    pub(super) wander: Option<String>,
    /// Outages end after this time at the mean.
    pub(super) outage: Option<String>,
}

/// Paths drawn from a distribution, all from one seed: the sweep's values are their numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SampleTable {
    pub(super) count: u32,
    pub(super) seed: u64,
    /// Log-uniform.
    pub(super) rate: [String; 2],
    /// Log-uniform.
    pub(super) rtt: [String; 2],
    /// Log-uniform, in bandwidth-delay products.
    pub(super) buffer: [f64; 2],
    /// Log-uniform, for those that lose packets.
    pub(super) loss: [f64; 2],
    /// Share of the paths that lose none.
    pub(super) lossless: f64,
    /// Paths with another bandwidth-delay product are drawn again.
    pub(super) bdp: [String; 2],
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    pub(super) parameter: Parameter,
    pub(super) values: Vec<toml::Value>,
}

/// The parameters of sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Parameter {
    Rate,
    Rtt,
    Buffer,
    /// Data packets only.
    Loss,
    /// Data packets and acknowledgements alike.
    LossBothWays,
    Queue,
    Jitter,
    /// RTT beside the path's, of the first flow table.
    ExtraRtt,
    /// The number of flows of the algorithm under comparison.
    Flows,
    /// The size of the flows that have one.
    Size,
    /// The load of the flows that have one.
    Load,
    /// A path of the sample.
    Path,
}

impl Parameter {
    /// As the figure's axis has it, and in a word.
    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Rate => ("rate", "rate"),
            Self::Rtt => ("rtt", "rtt"),
            Self::Buffer => ("buffer", "buffer"),
            Self::Loss => ("loss", "loss"),
            Self::LossBothWays => ("loss, both ways", "loss"),
            Self::Queue => ("queue", "queue"),
            Self::Jitter => ("jitter", "jitter"),
            Self::ExtraRtt => ("extra rtt", "extra-rtt"),
            Self::Flows => ("flows", "flows"),
            Self::Size => ("size", "size"),
            Self::Load => ("load", "load"),
            Self::Path => ("path", "path"),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowTable {
    /// Without one it is the algorithm under comparison.
    pub(super) algorithm: Option<String>,
    pub(super) count: Option<u32>,
    pub(super) connections: Option<u32>,
    pub(super) start: Option<String>,
    pub(super) stagger: Option<String>,
    pub(super) stop: Option<String>,
    pub(super) extra_rtt: Option<String>,
    /// The bottlenecks that it goes through, from 1: `2`, or `1..2`.
    pub(super) via: Option<String>,
    pub(super) size: Option<String>,
    pub(super) rate: Option<String>,
    pub(super) load: Option<f64>,
    pub(super) host: Option<HostTable>,
}

/// A sender's host that has other things to do: its processes stand still again and again, and their timers are late.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostTable {
    /// Share of the time.
    pub(super) busy: f64,
    /// The longest time at a stretch; each is uniform between none and that.
    pub(super) pause: String,
}
