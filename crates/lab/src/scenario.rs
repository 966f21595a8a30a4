//! A scenario: one figure or table of a paper as a file, and the runs it stands for.

use crate::check::{self, Target};
use crate::figure::{Figure, Reference};
use crate::spec::{FlowSpec, PACKET, PathSpec, Spec};
use pcc::units::{Bytes, Rate};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// The congestion controls of the guest kernel.
pub const KERNEL_ALGORITHMS: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Those of `pcc perf`, over QUIC.
pub const QUIC_ALGORITHMS: [&str; 4] = ["quic:pcc", "quic:cubic", "quic:bbr", "quic:newreno"];

/// The scenarios that come with the program: name and text.
const SUPPLIED: [(&str, &str); 3] = [
    ("random-loss", include_str!("../../../scenarios/random-loss.toml")),
    ("satellite", include_str!("../../../scenarios/satellite.toml")),
    ("shallow-buffer", include_str!("../../../scenarios/shallow-buffer.toml")),
];

/// Why there is no such scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Neither a supplied one nor a file.
    #[error("there is no scenario `{name}`: name a .toml file, or one of {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The file cannot be read.
    #[error("could not read {path}: {error}")]
    Unreadable {
        /// Its path.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// The file is not a scenario.
    #[error("scenario {name}: {error}")]
    Malformed {
        /// The scenario's name.
        name: String,
        /// Where and why.
        error: Box<toml::de::Error>,
    },
    /// No network could be like this.
    #[error("scenario {name}: {problem}")]
    Impossible {
        /// The scenario's name.
        name: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

/// A figure or table of a paper.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's name without its ending.
    pub name: String,
    /// What it shows, in a few words.
    pub title: String,
    /// Which figure of which paper.
    pub source: String,
    /// What was published, statement by statement.
    pub published: Vec<String>,
    /// What is varied: the figure's x axis.
    pub parameter: String,
    /// The same in a word, as in `buffer=9kB`.
    pub key: String,
    /// How it is drawn.
    pub figures: Vec<Figure>,
    /// What papers measured.
    pub references: Vec<Reference>,
    /// What is promised.
    pub targets: Vec<Target>,
    /// Every run.
    pub runs: Vec<Run>,
}

/// One run of a scenario, with its place in the figure.
#[derive(Clone, Debug)]
pub struct Run {
    /// Whose flow is judged: the first one.
    pub algorithm: String,
    /// The value of the parameter, as written.
    pub point: String,
    /// What the guest is told.
    pub spec: Spec,
}

/// The file, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    source: String,
    #[serde(default)]
    published: Vec<String>,
    algorithms: Vec<String>,
    duration: String,
    #[serde(default = "one_second")]
    step: String,
    seeds: Vec<u64>,
    path: PathTable,
    sweep: Sweep,
    #[serde(default)]
    flow: Vec<FlowTable>,
    #[serde(default)]
    figure: Vec<Figure>,
    #[serde(default)]
    reference: Vec<Reference>,
    #[serde(default)]
    target: Vec<Target>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathTable {
    rate: String,
    rtt: String,
    buffer: String,
    #[serde(default)]
    loss: f64,
    #[serde(default)]
    reverse_loss: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    parameter: Parameter,
    values: Vec<toml::Value>,
}

/// What a sweep can vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Parameter {
    Rate,
    Rtt,
    Buffer,
    /// Data packets only.
    Loss,
    /// Data packets and acknowledgements alike.
    LossBothWays,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowTable {
    /// Without one it is the algorithm under comparison.
    algorithm: Option<String>,
    #[serde(default = "one")]
    connections: u32,
    start: Option<String>,
    stop: Option<String>,
    extra_rtt: Option<String>,
}

fn one() -> u32 {
    1
}

fn one_second() -> String {
    "1s".into()
}

/// Names of the supplied scenarios.
pub fn names() -> impl Iterator<Item = &'static str> {
    SUPPLIED.iter().map(|(name, _)| *name)
}

/// Reads a scenario: a path to a `.toml` file, or the name of a supplied one.
pub fn load(name: &str) -> Result<Scenario, ScenarioError> {
    if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name)
            .map_err(|error| ScenarioError::Unreadable { path: name.to_owned(), error })?;
        let stem = Path::new(name).file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
        return parse(&stem, &text);
    }
    match SUPPLIED.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => parse(name, text),
        None => Err(ScenarioError::Unknown { name: name.to_owned(), known: names().collect::<Vec<_>>().join(", ") }),
    }
}

/// Reads the text of a scenario and refuses what no network could be.
pub fn parse(name: &str, text: &str) -> Result<Scenario, ScenarioError> {
    let file: File = toml::from_str(text)
        .map_err(|error| ScenarioError::Malformed { name: name.to_owned(), error: Box::new(error) })?;
    let runs = expand(&file).map_err(|problem| ScenarioError::Impossible { name: name.to_owned(), problem })?;
    let (parameter, key) = match file.sweep.parameter {
        Parameter::Rate => ("rate", "rate"),
        Parameter::Rtt => ("rtt", "rtt"),
        Parameter::Buffer => ("buffer", "buffer"),
        Parameter::Loss => ("loss", "loss"),
        Parameter::LossBothWays => ("loss, both ways", "loss"),
    };
    let points: Vec<_> = runs.iter().map(|run| run.point.as_str()).collect();
    let algorithms: Vec<_> = file.algorithms.iter().map(String::as_str).collect();
    if let Some(problem) = check::problem(&file.target, &points, &algorithms) {
        return Err(ScenarioError::Impossible { name: name.to_owned(), problem });
    }
    Ok(Scenario {
        name: name.to_owned(),
        title: file.title,
        source: file.source,
        published: file.published,
        parameter: parameter.to_owned(),
        key: key.to_owned(),
        figures: file.figure,
        references: file.reference,
        targets: file.target,
        runs,
    })
}

/// More would not fit the guest's addresses.
const MOST_FLOWS: usize = 254;
/// Beyond this a slip of the pen is likelier than a plan.
const MOST_RUNS: usize = 100_000;
const LONGEST: u64 = 3_600_000_000_000;
const MOST_CONNECTIONS: u32 = 1000;

fn expand(file: &File) -> Result<Vec<Run>, String> {
    for (list, empty) in [
        ("algorithms", file.algorithms.is_empty()),
        ("seeds", file.seeds.is_empty()),
        ("sweep.values", file.sweep.values.is_empty()),
    ] {
        if empty {
            return Err(format!("`{list}` is empty: name at least one"));
        }
    }
    let count = file.algorithms.len() * file.seeds.len() * file.sweep.values.len();
    if count > MOST_RUNS {
        return Err(format!("it stands for {count} runs: {MOST_RUNS} is the most"));
    }
    let duration = nanos("duration", &file.duration)?;
    let step = nanos("step", &file.step)?;
    if !(1..=LONGEST).contains(&duration) {
        return Err(format!("`duration` is {}: it must be above 0 and at most 1h", file.duration));
    }
    if step < 1_000_000 || step > duration {
        return Err(format!("`step` is {}: it must be at least 1ms and no longer than the run", file.step));
    }
    let mut runs = Vec::new();
    for value in &file.sweep.values {
        let point = match value {
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let path = path_at(file, &point)?;
        for algorithm in &file.algorithms {
            let flows = flows(file, algorithm, duration)?;
            for &seed in &file.seeds {
                let (path, flows) = (path.clone(), flows.clone());
                let spec = Spec { path, flows, duration, step, seed, program: None, module: None };
                runs.push(Run { algorithm: algorithm.clone(), point: point.clone(), spec });
            }
        }
    }
    Ok(runs)
}

fn path_at(file: &File, point: &str) -> Result<PathSpec, String> {
    let mut table = file.path.clone();
    let ratio =
        || point.parse::<f64>().map_err(|_| format!("`sweep.values` has {point}: a loss is a number like 0.01"));
    match file.sweep.parameter {
        Parameter::Rate => table.rate = point.to_owned(),
        Parameter::Rtt => table.rtt = point.to_owned(),
        Parameter::Buffer => table.buffer = point.to_owned(),
        Parameter::Loss => table.loss = ratio()?,
        Parameter::LossBothWays => (table.loss, table.reverse_loss) = (ratio()?, ratio()?),
    }
    let rate: Rate = table.rate.parse().map_err(|error| format!("`rate`: {error}"))?;
    let rate = rate.bits_per_sec();
    if !(8000.0..=100e9).contains(&rate) {
        return Err(format!("`rate` is {}: it must lie between 8 kbit and 100 Gbit", table.rate));
    }
    let rtt = nanos("rtt", &table.rtt)?;
    if rtt > 60_000_000_000 {
        return Err(format!("`rtt` is {}: 60 s is the most", table.rtt));
    }
    let buffer = match table.buffer.strip_suffix("bdp") {
        Some(factor) => {
            let factor: f64 = factor.trim().parse().map_err(|_| format!("`buffer` is {}: write 1bdp", table.buffer))?;
            (factor * rate / 8.0 * rtt as f64 / 1e9) as u64
        }
        None => table.buffer.parse::<Bytes>().map_err(|error| format!("`buffer`: {error}"))?.get(),
    };
    if buffer < PACKET {
        return Err(format!(
            "`buffer` is {}, {buffer} bytes: a packet of {PACKET} bytes would never fit",
            table.buffer
        ));
    }
    if buffer > 1 << 31 {
        return Err(format!("`buffer` is {}: 2 GB is the most", table.buffer));
    }
    for (key, loss) in [("loss", table.loss), ("reverse_loss", table.reverse_loss)] {
        if !(0.0..1.0).contains(&loss) {
            return Err(format!("`{key}` is {loss}: it is a share, at least 0 and below 1"));
        }
    }
    let (loss, reverse_loss) = (table.loss, table.reverse_loss);
    Ok(PathSpec { rate: rate as u64, rtt, buffer, loss, reverse_loss, ..PathSpec::default() })
}

fn flows(file: &File, algorithm: &str, duration: u64) -> Result<Vec<FlowSpec>, String> {
    let alone = [FlowTable { connections: 1, ..FlowTable::default() }];
    let tables = if file.flow.is_empty() { &alone[..] } else { &file.flow[..] };
    if tables.len() > MOST_FLOWS {
        return Err(format!("it has {} flows: {MOST_FLOWS} is the most", tables.len()));
    }
    let optional = |key, text: &Option<String>, default| text.as_deref().map_or(Ok(default), |text| nanos(key, text));
    let mut flows = Vec::new();
    for table in tables {
        let algorithm = table.algorithm.as_deref().unwrap_or(algorithm);
        let is_quic = QUIC_ALGORITHMS.contains(&algorithm);
        if !is_quic && !KERNEL_ALGORITHMS.contains(&algorithm) {
            let known = [&QUIC_ALGORITHMS[..], &KERNEL_ALGORITHMS[..]].concat().join(", ");
            return Err(format!("unknown algorithm `{algorithm}`: choose from {known}"));
        }
        if is_quic && table.connections != 1 {
            return Err(format!("`connections` is {}: a flow of {algorithm} has one", table.connections));
        }
        let start = optional("start", &table.start, 0)?;
        let stop = optional("stop", &table.stop, duration)?;
        if start >= duration || stop > duration {
            return Err(format!(
                "a flow of {algorithm} runs from {:?} to {:?}, after the end of the run at {}",
                Duration::from_nanos(start),
                Duration::from_nanos(stop),
                file.duration
            ));
        }
        if stop <= start {
            return Err(format!("a flow of {algorithm} stops before it starts"));
        }
        if !(1..=MOST_CONNECTIONS).contains(&table.connections) {
            return Err(format!("`connections` is {}: between 1 and {MOST_CONNECTIONS}", table.connections));
        }
        let extra_rtt = optional("extra_rtt", &table.extra_rtt, 0)?;
        if extra_rtt > 60_000_000_000 {
            return Err("`extra_rtt` is above 60 s".into());
        }
        flows.push(FlowSpec {
            algorithm: algorithm.to_owned(),
            connections: table.connections,
            start,
            stop,
            extra_rtt,
            ..FlowSpec::default()
        });
    }
    Ok(flows)
}

fn nanos(key: &str, text: &str) -> Result<u64, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("`{key}` is {text}: a time cannot be negative"));
    }
    let time = humantime::parse_duration(text).map_err(|error| format!("`{key}` is {text}: {error}; write 30ms"))?;
    u64::try_from(time.as_nanos()).map_err(|_| format!("`{key}` is {text}: that is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        title = "t"
        source = "s"
        algorithms = ["cubic", "bbr"]
        duration = "10s"
        seeds = [1, 2]
        path = { rate = "100Mbit", rtt = "30ms", buffer = "1bdp" }
        sweep = { parameter = "loss", values = [0.0, 0.01, 0.02] }
    "#;

    #[test]
    fn a_scenario_stands_for_each_point_algorithm_and_seed() {
        let scenario = parse("small", SMALL).unwrap();
        assert_eq!(scenario.runs.len(), 3 * 2 * 2);
        let last = scenario.runs.last().unwrap();
        assert_eq!((last.algorithm.as_str(), last.point.as_str(), last.spec.seed), ("bbr", "0.02", 2));
        assert_eq!(last.spec.path.buffer, 375_000, "one bandwidth-delay product");
        assert_eq!(last.spec.path.rate, 100_000_000);
    }

    #[test]
    fn every_supplied_scenario_can_be_run() {
        for name in names() {
            let scenario = load(name).unwrap_or_else(|error| panic!("{error}"));
            assert!(!scenario.runs.is_empty() && !scenario.published.is_empty(), "{name}");
        }
    }

    #[test]
    fn what_no_network_could_be_is_refused() {
        for (from, to, expected) in [
            ("1bdp", "1000", "would never fit"),
            ("30ms", "-30ms", "cannot be negative"),
            ("\"bbr\"", "\"swift\"", "unknown algorithm `swift`"),
            ("[1, 2]", "[]", "`seeds` is empty"),
            ("0.02]", "1.5]", "it is a share"),
            ("10s", "0s", "above 0"),
            ("100Mbit", "100", "no unit"),
            ("title", "titel", "unknown field `titel`"),
        ] {
            let error = parse("small", &SMALL.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn a_flow_after_the_end_is_refused() {
        let with = |flow: &str| parse("small", &format!("{SMALL}\nflow = [{{ {flow} }}]")).map(|_| ());
        assert!(with("start = '2s', stop = '9s'").is_ok());
        for flow in ["start = '10s'", "stop = '11s'"] {
            let error = with(flow).unwrap_err().to_string();
            assert!(error.contains("after the end"), "{error}");
        }
        assert!(with("start = '5s', stop = '4s'").unwrap_err().to_string().contains("before it starts"));
    }

    #[test]
    fn an_unknown_scenario_is_an_error_that_lists_the_known_ones() {
        let error = load("shallow").unwrap_err().to_string();
        assert!(error.contains("shallow-buffer"), "{error}");
    }
}
