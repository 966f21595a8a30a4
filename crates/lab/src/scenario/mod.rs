//! A scenario: one figure or table of a paper as a file, and the runs it stands for.

pub mod algorithm;
mod draw;
mod file;
mod flows;
mod path;
mod problem;
mod quantity;
mod selection;
pub mod target;
mod words;

pub use algorithm::{KERNEL_ALGORITHMS, QUIC_ALGORITHMS};
pub use problem::Problem;
pub use selection::{NotThere, Selection, distinct};

use crate::figure::{Figure, Reference};
use crate::measure::Measure;
use crate::program::Program;
use crate::spec::{App, Spec};
use file::File;
use flows::Occasion;
use quantity::nanos;
use std::path::Path;
use target::Target;

/// The scenarios that come with the program: name and text.
const SUPPLIED: [(&str, &str); 51] = [
    ("among-cubics", include_str!("../../scenarios/among-cubics.toml")),
    ("application-limited", include_str!("../../scenarios/application-limited.toml")),
    ("beside-cubic", include_str!("../../scenarios/beside-cubic.toml")),
    ("black-out", include_str!("../../scenarios/black-out.toml")),
    ("busy-host", include_str!("../../scenarios/busy-host.toml")),
    ("cellular", include_str!("../../scenarios/cellular.toml")),
    ("changing", include_str!("../../scenarios/changing.toml")),
    ("company", include_str!("../../scenarios/company.toml")),
    ("company-codel", include_str!("../../scenarios/company-codel.toml")),
    ("convergence", include_str!("../../scenarios/convergence.toml")),
    ("cs244-convergence", include_str!("../../scenarios/cs244-convergence.toml")),
    ("cs244-queue", include_str!("../../scenarios/cs244-queue.toml")),
    ("deep-buffer-first", include_str!("../../scenarios/deep-buffer-first.toml")),
    ("deep-buffer-second", include_str!("../../scenarios/deep-buffer-second.toml")),
    ("ecn", include_str!("../../scenarios/ecn.toml")),
    ("ecn-beside-cubic", include_str!("../../scenarios/ecn-beside-cubic.toml")),
    ("files-beside", include_str!("../../scenarios/files-beside.toml")),
    ("fq-loss", include_str!("../../scenarios/fq-loss.toml")),
    ("friendliness", include_str!("../../scenarios/friendliness.toml")),
    ("harm-codel", include_str!("../../scenarios/harm-codel.toml")),
    ("harm-shallow", include_str!("../../scenarios/harm-shallow.toml")),
    ("heavy-jitter", include_str!("../../scenarios/heavy-jitter.toml")),
    ("heavy-loss", include_str!("../../scenarios/heavy-loss.toml")),
    ("incast", include_str!("../../scenarios/incast.toml")),
    ("incast-size", include_str!("../../scenarios/incast-size.toml")),
    ("inter-dc", include_str!("../../scenarios/inter-dc.toml")),
    ("jitter", include_str!("../../scenarios/jitter.toml")),
    ("kernel-random-loss", include_str!("../../scenarios/kernel-random-loss.toml")),
    ("lan", include_str!("../../scenarios/lan.toml")),
    ("late-newcomer", include_str!("../../scenarios/late-newcomer.toml")),
    ("loss-at-convergence", include_str!("../../scenarios/loss-at-convergence.toml")),
    ("parking-lot", include_str!("../../scenarios/parking-lot.toml")),
    ("policer", include_str!("../../scenarios/policer.toml")),
    ("power", include_str!("../../scenarios/power.toml")),
    ("random-loss", include_str!("../../scenarios/random-loss.toml")),
    ("random-loss-crowd", include_str!("../../scenarios/random-loss-crowd.toml")),
    ("reactiveness", include_str!("../../scenarios/reactiveness.toml")),
    ("reordering", include_str!("../../scenarios/reordering.toml")),
    ("rtt-fairness", include_str!("../../scenarios/rtt-fairness.toml")),
    ("satellite", include_str!("../../scenarios/satellite.toml")),
    ("scavenger", include_str!("../../scenarios/scavenger.toml")),
    ("scavenger-beside-cubic", include_str!("../../scenarios/scavenger-beside-cubic.toml")),
    ("scavenger-beside-pcc", include_str!("../../scenarios/scavenger-beside-pcc.toml")),
    ("self-inflicted-latency", include_str!("../../scenarios/self-inflicted-latency.toml")),
    ("shallow-buffer", include_str!("../../scenarios/shallow-buffer.toml")),
    ("short-flows", include_str!("../../scenarios/short-flows.toml")),
    ("small-buffer-crowd", include_str!("../../scenarios/small-buffer-crowd.toml")),
    ("two-flows", include_str!("../../scenarios/two-flows.toml")),
    ("waste", include_str!("../../scenarios/waste.toml")),
    ("wifi", include_str!("../../scenarios/wifi.toml")),
    ("wild-internet", include_str!("../../scenarios/wild-internet.toml")),
];

/// Why there is no such scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Neither a supplied one nor a file.
    #[error("there is no scenario `{name}`: name a .toml file, or one of {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The known names.
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
        /// The problem, and its remedy.
        problem: Problem,
    },
}

/// A figure or table of a paper.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's name without its ending.
    pub name: String,
    /// How a command names it: a supplied one by its name, another by its file.
    pub written: String,
    /// Its subject, in a few words.
    pub title: String,
    /// Which figure of which paper.
    pub source: String,
    /// The published results, statement by statement.
    pub published: Vec<String>,
    /// The swept parameter, the figure's x axis; empty if there is one point only.
    pub parameter: String,
    /// The same in a word, as in `buffer=9kB`.
    pub key: String,
    /// How it is drawn.
    pub figures: Vec<Figure>,
    /// Papers' figures.
    pub references: Vec<Reference>,
    /// The promises.
    pub targets: Vec<Target>,
    /// Every run.
    pub runs: Vec<Run>,
}

/// The measures that say something about every scenario.
const USUAL: [Measure; 6] =
    [Measure::Goodput, Measure::Share, Measure::Rtt, Measure::RttAdded, Measure::Loss, Measure::Waste];

impl Scenario {
    /// Whether a run of it needs the kernel module with `pcc`.
    pub fn needs_module(&self) -> bool {
        self.runs.iter().any(|run| run.spec.has_module_flows())
    }

    /// Notes what its runs belong to: those of the product itself to a build of it, and those of a kernel module to the module.
    pub fn belongs_to(&mut self, program: &Program, module: Option<&str>) {
        for run in &mut self.runs {
            run.spec.program = program.of(&run.spec);
            run.spec.module = module.filter(|_| run.spec.has_module_flows()).map(str::to_owned);
        }
    }

    /// The measures that say something about it: the usual ones, those of its figures and targets, and how far to trust them.
    pub fn measures(&self) -> Vec<Measure> {
        let mut measures = USUAL.to_vec();
        let drawn = self.figures.iter().flat_map(|figure| [Some(figure.y), figure.x]).flatten();
        let own = drawn.chain(self.targets.iter().map(|target| target.measure));
        for measure in own.chain([Measure::HostLimited]) {
            if !measures.contains(&measure) {
                measures.push(measure);
            }
        }
        measures
    }
}

/// One run of a scenario, with its place in the figure.
#[derive(Clone, Debug)]
pub struct Run {
    /// Whose flow is judged: the first one.
    pub algorithm: String,
    /// The value of the parameter, as written; nothing if there is one point only.
    pub point: String,
    /// The specification for the guest.
    pub spec: Spec,
}

/// The size of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Enough for the verdicts, in a short time.
    #[default]
    Standard,
    /// The paper's size.
    Full,
}

/// How a scenario is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The size of the run.
    pub size: Size,
    /// A program under test, as one more algorithm called `app`.
    pub app: Option<App>,
    /// Algorithms that are run even if a scenario does not name them.
    pub algorithms: Vec<String>,
}

/// Names of the supplied scenarios.
pub fn names() -> impl Iterator<Item = &'static str> {
    SUPPLIED.iter().map(|(name, _)| *name)
}

/// Reads a scenario: a path to a `.toml` file, or the name of a supplied one.
pub fn load(name: &str, options: &Options) -> Result<Scenario, ScenarioError> {
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScenarioError::Unreadable { path: name.to_owned(), error })?;
        let stem = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
        let scenario = understand(&stem, &text, path.parent().unwrap_or(Path::new("")), options)?;
        return Ok(Scenario { written: name.to_owned(), ..scenario });
    }
    match SUPPLIED.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => understand(name, text, Path::new(""), options),
        None => Err(ScenarioError::Unknown { name: name.to_owned(), known: names().collect::<Vec<_>>().join(", ") }),
    }
}

/// Reads the text of a scenario in its standard size and refuses what no network could be.
pub fn parse(name: &str, text: &str) -> Result<Scenario, ScenarioError> {
    understand(name, text, Path::new(""), &Options::default())
}

/// The same in the size that is wanted. Files that the text names are looked for in `dir`.
fn understand(name: &str, text: &str, dir: &Path, options: &Options) -> Result<Scenario, ScenarioError> {
    let file: File = toml::from_str(text)
        .map_err(|error| ScenarioError::Malformed { name: name.to_owned(), error: Box::new(error) })?;
    let mut file = if options.size == Size::Full { file.into_full() } else { file };
    if options.app.is_some() && !file.algorithms.iter().any(|known| known == algorithm::APP) {
        file.algorithms.push(algorithm::APP.to_owned());
    }
    let mut added = Vec::new();
    for name in &options.algorithms {
        if !file.algorithms.contains(name) {
            file.algorithms.push(name.clone());
            added.push(name.clone());
        }
    }
    let options = &Options { algorithms: added, ..options.clone() };
    let runs =
        expand(&file, dir, options).map_err(|problem| ScenarioError::Impossible { name: name.to_owned(), problem })?;
    let points: Vec<_> = runs.iter().map(|run| run.point.as_str()).collect();
    let algorithms: Vec<_> = file.algorithms.iter().map(String::as_str).collect();
    if let Some(problem) = target::problem(&file.target, &points, &algorithms) {
        return Err(ScenarioError::Impossible { name: name.to_owned(), problem: problem.into() });
    }
    let (parameter, key) = file.sweep.as_ref().map_or(("", ""), |sweep| sweep.parameter.names());
    Ok(Scenario {
        name: name.to_owned(),
        written: name.to_owned(),
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

/// The longest that an idle host takes to attend to a packet, as the simulator has it. Unit: ns.
const HOST_DELAY: u64 = pcc_sim::HOST_DELAY.as_nanos() as u64;

/// Beyond this a slip of the pen is likelier than a plan.
const MOST_RUNS: usize = 100_000;
const LONGEST: u64 = 3_600_000_000_000;

fn expand(file: &File, dir: &Path, options: &Options) -> Result<Vec<Run>, Problem> {
    let points: Vec<String> = match &file.sweep {
        Some(sweep) => sweep.values.iter().map(written).collect(),
        // Without anything to vary there is one point, which needs no name.
        None => vec![String::new()],
    };
    for (list, empty) in [
        ("algorithms", file.algorithms.is_empty()),
        ("seeds", file.seeds.is_empty()),
        ("sweep.values", points.is_empty()),
    ] {
        if empty {
            return Err(format!("`{list}` is empty: name at least one").into());
        }
    }
    let count = file.algorithms.len() * file.seeds.len() * points.len();
    if count > MOST_RUNS {
        return Err(format!("it stands for {count} runs: {MOST_RUNS} is the most").into());
    }
    let (duration, step) = (nanos("duration", &file.duration)?, nanos("step", &file.step)?);
    if !(1..=LONGEST).contains(&duration) {
        return Err(format!("`duration` is {}: it must be above 0 and at most 1h", file.duration).into());
    }
    if step < 1_000_000 || step > duration {
        return Err(format!("`step` is {}: it must be at least 1ms and no longer than the run", file.step).into());
    }
    let mut runs = Vec::new();
    for point in &points {
        let routes = file.seeds.iter().map(|&seed| {
            let mut paths = vec![path::path_at(file, point, seed, duration, dir)?];
            paths.extend(path::behind(file, point, seed, duration)?);
            Ok::<_, String>(paths)
        });
        let routes = routes.collect::<Result<Vec<_>, _>>()?;
        for algorithm in &file.algorithms {
            let algorithm_dir = if options.algorithms.contains(algorithm) { Path::new("") } else { dir };
            for (paths, &seed) in routes.iter().zip(&file.seeds) {
                let app = options.app.as_ref();
                let occasion = Occasion { point, algorithm, seed, duration, paths, app, dir, algorithm_dir };
                let flows = flows::flows(file, &occasion)?;
                let (path, then) = (paths[0].clone(), paths[1..].to_vec());
                let host_delay = if file.exact { 0 } else { HOST_DELAY };
                let spec = Spec { path, then, flows, duration, step, seed, host_delay, program: None, module: None };
                runs.push(Run { algorithm: algorithm.clone(), point: point.clone(), spec });
            }
        }
    }
    Ok(runs)
}

/// A value of the sweep as the file has it, texts without their quotes.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
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

    fn read(text: &str) -> Result<Scenario, String> {
        parse("small", text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_scenario_stands_for_each_point_algorithm_and_seed() {
        let scenario = read(SMALL).unwrap();
        assert_eq!(scenario.runs.len(), 3 * 2 * 2);
        let last = scenario.runs.last().unwrap();
        assert_eq!((last.algorithm.as_str(), last.point.as_str(), last.spec.seed), ("bbr", "0.02", 2));
        assert_eq!(last.spec.path.buffer, 375_000, "one bandwidth-delay product");
        assert_eq!(last.spec.path.rate, 100_000_000);
    }

    #[test]
    fn every_scenario_of_the_source_tree_is_supplied() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        files.sort();
        assert!(names().eq(files), "SUPPLIED is not what is in scenarios/");
    }

    #[test]
    fn every_supplied_scenario_can_be_run() {
        for name in names() {
            let scenario = load(name, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
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
            ("duration = \"10s\"", "duration = \"0s\"", "above 0"),
            ("100Mbit", "100", "no unit"),
            ("title", "titel", "unknown field `titel`"),
        ] {
            let error = read(&SMALL.replace(from, to)).unwrap_err();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn a_flow_after_the_end_is_refused() {
        let with = |flow: &str| read(&format!("{SMALL}\nflow = [{{ {flow} }}]")).map(|_| ());
        assert!(with("start = '2s', stop = '9s'").is_ok());
        for flow in ["start = '10s'", "stop = '11s'"] {
            let error = with(flow).unwrap_err();
            assert!(error.contains("after the end"), "{error}");
        }
        assert!(with("start = '5s', stop = '4s'").unwrap_err().contains("before it starts"));
    }

    #[test]
    fn an_unknown_scenario_is_an_error_that_lists_the_known_ones() {
        let error = load("shallow", &Options::default()).unwrap_err().to_string();
        assert!(error.contains("shallow-buffer"), "{error}");
    }

    /// The small scenario with lines added.
    fn with(lines: &str) -> Result<Scenario, String> {
        read(&format!("{SMALL}\n{lines}"))
    }

    /// The small scenario with these in place of its sweep.
    fn swept(lines: &str) -> Result<Scenario, String> {
        let text: String =
            SMALL.lines().filter(|line| !line.contains("sweep")).map(|line| format!("{line}\n")).collect();
        read(&format!("{text}\n{lines}"))
    }

    #[test]
    fn flows_of_a_table_arrive_one_after_the_other() {
        let scenario =
            swept("exact = true\n[[flow]]\ncount = 3\nstagger = '2s'\n[[flow]]\nalgorithm = 'reno'").unwrap();
        assert_eq!((scenario.runs.len(), scenario.runs[0].point.as_str()), (4, ""));
        let starts: Vec<_> = scenario.runs[0].spec.flows.iter().map(|flow| (flow.table, flow.start)).collect();
        assert_eq!(starts, [(0, 0), (0, 2_000_000_000), (0, 4_000_000_000), (1, 0)]);
    }

    #[test]
    fn starts_are_drawn_by_seed_table_and_flow() {
        let random = "[[flow]]\ncount = 3\nstagger = '2s'\nstart = 'random:1s..2s'\n[[flow]]\nstart = 'random:1s..2s'";
        let scenario = swept(random).unwrap();
        let again = swept(random).unwrap();
        let starts = |run: &Run| run.spec.flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
        let mut drawn = Vec::new();
        for (run, same) in scenario.runs.iter().zip(&again.runs).filter(|(run, _)| run.algorithm == "bbr") {
            assert_eq!(starts(run), starts(same));
            let later = [0, 2, 4, 0].map(|seconds| seconds * 1_000_000_000);
            drawn.extend(starts(run).into_iter().zip(later).map(|(start, later)| start - later));
        }
        assert!(drawn.len() >= 8, "two seeds or more: {drawn:?}");
        assert!(drawn.iter().all(|start| (1_000_000_000..2_000_000_000).contains(start)), "{drawn:?}");
        drawn.sort_unstable();
        drawn.dedup();
        assert!(drawn.len() >= 8, "no two are alike: {drawn:?}");
    }

    #[test]
    fn a_seed_draws_starts_within_an_rtt_unless_exact() {
        let flows = "[[flow]]\ncount = 3\nstagger = '2s'\nextra_rtt = '10ms'";
        let late = |run: &Run| {
            let planned = [0, 2, 4].map(|second| second * 1_000_000_000);
            run.spec.flows.iter().zip(planned).map(|(flow, planned)| flow.start - planned).collect::<Vec<_>>()
        };
        let drawn = swept(flows).unwrap();
        let starts: Vec<_> = drawn.runs[..2].iter().flat_map(late).collect();
        assert!(starts.iter().all(|start| (1..40_000_000).contains(start)), "{starts:?}");
        assert!((0..6).all(|place| !starts[..place].contains(&starts[place])), "{starts:?}");
        assert_eq!(drawn.runs[0].spec.host_delay, 20_000);
        let exact = swept(&format!("exact = true\n{flows}")).unwrap();
        assert!(exact.runs.iter().all(|run| late(run) == [0; 3] && run.spec.host_delay == 0));
        let told = serde_json::to_string(&exact.runs[0].spec).unwrap();
        assert!(!told.contains("host_delay"), "a run that was stored before is found: {told}");
    }

    #[test]
    fn a_sweep_over_flows_counts_those_of_the_algorithm() {
        let scenario =
            swept("sweep = { parameter = 'flows', values = [1, 3] }\nflow = [{ count = 9 }, { algorithm = 'cubic' }]");
        let scenario = scenario.unwrap();
        let last = &scenario.runs.last().unwrap().spec.flows;
        assert_eq!(last.iter().map(|flow| flow.algorithm.as_str()).collect::<Vec<_>>(), ["bbr", "bbr", "bbr", "cubic"]);
    }

    #[test]
    fn a_path_changes_at_the_moments_written_down() {
        let change = "change = [{ at = '0s', loss = 0.1 }, { at = '2s', loss = 1.0 }, { at = '4s', rate = '1Mbit' }]";
        let path = with(change).unwrap().runs[0].spec.path.clone();
        assert_eq!(path.loss, 0.1, "what a run begins with is no change");
        assert_eq!(path.changes.iter().map(|change| change.at).collect::<Vec<_>>(), [2_000_000_000, 4_000_000_000]);
        let segments = path.segments(1_000_000_000, 10_000_000_000);
        let told: Vec<_> = segments.iter().map(|one| (one.from / 1_000_000_000, one.rate, one.loss)).collect();
        assert_eq!(told, [(1, 100_000_000, 0.1), (2, 100_000_000, 1.0), (4, 1_000_000, 1.0)]);
    }

    #[test]
    fn a_path_may_have_the_words_of_a_simulation() {
        let table = r#"path = { rate = "100Mbit", rtt = "30ms", buffer = "1bdp" }"#;
        let worded = |path: &str| SMALL.replace(table, &format!("path = {path:?}"));
        let sweep = "sweep = { parameter = \"loss\", values = [0.0, 0.01, 0.02] }";
        let text =
            worded("lossy,buffer=1MB").replace(sweep, "sweep = { parameter = 'rate', values = ['10Mbit', '20Mbit'] }");
        let scenario = read(&text).unwrap();
        let rates: Vec<_> = scenario.runs.iter().step_by(4).map(|run| run.spec.path.rate / 100_000).collect();
        assert_eq!(rates, [100, 201], "{text}");
        for (text, expected) in [
            (worded("rate=9Mbit,rtt=1ms"), "goes over rate, rtt, buffer or queue"),
            (worded("rate=9Mbit,rtt=2m").replace(sweep, ""), "has an unknown unit"),
            (worded("rate=9Mbit,rtt=90s").replace(sweep, ""), "`rtt` is 90s: 60 s is the most"),
            (worded("rate=9Mbit,rtt=1ms,loss=100%").replace(sweep, ""), "nothing would be left"),
            (worded("rate=9Mbit,rtt=1ms,buffer=3GB").replace(sweep, ""), "at most 2 GB"),
            (worded("rate=9Mbit,rtt=1ms,buffer=2KB,queue=sfq").replace(sweep, ""), "a buffer of two packets"),
            (
                worded("rate=9Mbit,rtt=9ms,vary=1ms:rtt=1ms..9ms").replace("10s", "200s").replace(sweep, ""),
                "100000 is the most",
            ),
            (worded("rate=9Mbit,rtt=1ms") + "\nchange = [{ at = '1s', loss = 0.5 }]", "changes by its own words"),
            (worded("rate=9Mbit,rtt=1ms,rate=8Mbit").replace(sweep, ""), "`path` is rate=9Mbit,rtt=1ms,rate=8Mbit: "),
            (SMALL.replace(table, "path = 5"), "a text like"),
            (SMALL.replace(table, r#"path = { rate = "1Mbit", speed = 5 }"#), "unknown field `speed`"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    /// The small scenario over three bottlenecks, with these lines.
    fn in_a_row(lines: &str) -> Result<Scenario, String> {
        let then = "then = ['rate=50Mbit,rtt=10ms,loss=1%', 'rate=9Mbit,rtt=5ms']";
        swept(&format!("{then}\n{lines}"))
    }

    #[test]
    fn flows_go_through_the_bottlenecks_that_via_names() {
        let flows = "flow = [{}, { via = '2' }, { via = '1..2' }, { via = '1..3' }]";
        let spec = in_a_row(flows).unwrap().runs[0].spec.clone();
        let rates: Vec<_> = spec.paths().map(|path| path.rate / 100_000).collect();
        assert_eq!(rates, [1000, 504, 90], "the texts count IP packets");
        let ways: Vec<_> = spec.flows.iter().map(|flow| (flow.via, spec.way(flow))).collect();
        assert_eq!(ways, [(None, (0, 2)), (Some((1, 1)), (1, 1)), (Some((0, 1)), (0, 1)), (None, (0, 2))]);
        let told: Vec<_> = spec.flows.iter().map(|flow| spec.route(flow)).map(|way| (way.rate, way.rtt)).collect();
        let narrow = spec.then[1].rate;
        let expected = [(narrow, 45), (spec.then[0].rate, 10), (spec.then[0].rate, 40), (narrow, 45)];
        assert_eq!(told, expected.map(|(rate, ms)| (rate, ms * 1_000_000)));
        assert!(spec.flows[1].start < 10_000_000, "within one RTT of its way");
    }

    #[test]
    fn a_sweep_over_a_path_is_of_all_bottlenecks() {
        let over = "sweep = { parameter = 'buffer', values = ['30KB', '60KB'] }";
        let scenario = in_a_row(over).unwrap();
        let buffers = |run: &Run| run.spec.paths().map(|path| path.buffer / 1000).collect::<Vec<_>>();
        let (first, last) = (scenario.runs.first().unwrap(), scenario.runs.last().unwrap());
        assert_eq!((buffers(first), buffers(last)), (vec![30, 30, 30], vec![60, 60, 60]));
    }

    #[test]
    fn a_run_with_one_bottleneck_is_told_as_before_there_were_more() {
        let told = |text: &str| {
            let scenario = swept(text).unwrap();
            scenario.runs.iter().map(|run| serde_json::to_string(&run.spec).unwrap()).collect::<Vec<_>>()
        };
        let plain = told("flow = [{}]");
        assert!(plain.iter().all(|spec| !spec.contains("then") && !spec.contains("via")), "{plain:?}");
        assert_eq!(told("flow = [{ via = '1' }]"), plain);
    }

    #[test]
    fn bottlenecks_that_nobody_could_build_are_refused() {
        for (lines, expected) in [
            ("flow = [{ via = '0' }]", "`via` is 0: bottlenecks count from 1"),
            ("flow = [{ via = '2..1' }]", "`via` is 2..1: bottlenecks count from 1"),
            ("flow = [{ via = '3..4' }]", "there are 3 bottlenecks"),
            ("flow = [{ via = '1..2' }]", "no flow goes through bottleneck 3"),
            ("sweep = { parameter = 'loss', values = [0.1] }", "goes over rate, rtt, buffer or queue"),
        ] {
            let error = in_a_row(lines).unwrap_err();
            assert!(error.contains(expected), "{lines}: {error}");
        }
        for (then, expected) in [
            (r#"["rate=9Mbit,rtt=1ms,reorder=1%:5ms"]"#.to_owned(), "`then` is rate=9Mbit,rtt=1ms,reorder=1%:5ms: "),
            (r#"["rate=9Mbit,rtt=90s"]"#.to_owned(), "`then` is rate=9Mbit,rtt=90s: `rtt` is 90s: 60 s is the most"),
            (format!("{:?}", ["clean"; 8]), "`then` makes 9 bottlenecks in a row: 8 is the most"),
        ] {
            let error = swept(&format!("then = {then}")).unwrap_err();
            assert!(error.contains(expected), "{then}: {error}");
        }
    }

    #[test]
    fn short_flows_ask_for_the_load_that_was_written() {
        let scenario = swept("flow = [{ size = '100kB', load = 0.5 }]").unwrap();
        let flow = &scenario.runs[0].spec.flows[0];
        // Half of 100 Mbit/s for 10 s are 60 MB.
        assert!((450..750).contains(&flow.arrivals.len()), "{}", flow.arrivals.len());
        assert_ne!(flow.arrivals, scenario.runs[1].spec.flows[0].arrivals, "another seed");
    }

    #[test]
    fn the_full_size_replaces_what_it_names() {
        let options = Options { size: Size::Full, ..Options::default() };
        let text = format!("{SMALL}\n[full]\nseeds = [1, 2, 3, 4]\nvalues = [0.5]\nduration = '20s'");
        let scenario = understand("small", &text, Path::new(""), &options).unwrap();
        assert_eq!((scenario.runs.len(), scenario.runs[0].spec.duration), (2 * 4, 20_000_000_000));
        assert_eq!(read(&text).unwrap().runs.len(), 3 * 2 * 2);
    }

    #[test]
    fn a_program_under_test_is_one_more_algorithm() {
        let app = App { client: "iperf3 -c $RECEIVER".into(), server: None };
        let options = Options { app: Some(app.clone()), ..Options::default() };
        let scenario = understand("small", SMALL, Path::new(""), &options).unwrap();
        assert_eq!(scenario.runs.len(), 3 * 3 * 2);
        assert!(scenario.runs.iter().any(|run| run.algorithm == "app" && run.spec.flows[0].app == Some(app.clone())));
        assert!(read(&SMALL.replace("bbr", "app")).unwrap_err().contains("say which"));
    }

    #[test]
    fn a_utility_that_the_scenario_names_is_found_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.utility"), "x - 5*x*L\n").unwrap();
        let text = SMALL.replace("bbr", "quic:pcc/mine.utility");
        for wanted in [&[][..], &["quic:pcc/mine.utility".to_owned()]] {
            let options = Options { algorithms: wanted.to_vec(), ..Options::default() };
            let scenario = understand("small", &text, dir.path(), &options);
            assert!(scenario.is_ok_and(|scenario| scenario.runs.len() == 3 * 2 * 2), "{wanted:?}");
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_the_figures() {
        for (lines, expected) in [
            ("flow = [{ count = 0 }]", "`count` is 0"),
            ("flow = [{ count = 255 }]", "between 1 and 254"),
            ("flow = [{ count = 6, stagger = '2s' }]", "after the end"),
            ("flow = [{ connections = 0 }]", "`connections` is 0"),
            ("flow = [{ start = 'random:5s' }]", "a range like random:0s..5s"),
            ("flow = [{ start = 'random:5s..5s' }]", "the earlier moment first"),
            ("flow = [{ start = 'random:9s..12s' }, { start = 'random:11s..12s' }]", "after the end"),
            ("flow = [{ size = '0B' }]", "at least a byte"),
            ("flow = [{ size = '1MB', rate = '1Mbit' }]", "exclude each other"),
            ("flow = [{ load = 0.5 }]", "needs a `size`"),
            (
                "flow = [{ algorithm = 'pcc/safe' }, { algorithm = 'pcc/fair' }]",
                "pcc/safe and pcc/fair: in one run the kernel has one utility besides the default",
            ),
            ("flow = [{ algorithm = 'pcc' }, { algorithm = 'bpf:pcc' }]", "one kind of trains"),
            ("flow = [{ size = '1MB', load = 3.0 }]", "between 0.001 and 2"),
            ("flow = [{ size = '10B', load = 0.5 }]", "20000 is the most"),
            ("flow = [{ rate = '1' }]", "no unit"),
            ("flow = [{ host = { busy = 0.5, pause = '10ms' } }]", "sent by the guest's kernel"),
            ("flow = [{ algorithm = 'quic:bbr', host = { busy = 1.5, pause = '10ms' } }]", "at most 0.9"),
            ("flow = [{ algorithm = 'quic:bbr', host = { busy = 0.5, pause = '1m' } }]", "between 100us and 1s"),
            ("change = [{ at = '11s', loss = 0.5 }]", "after the end"),
            ("change = [{ at = '2s', loss = 0.5 }, { at = '1s', loss = 0.0 }]", "order of time"),
            ("change = [{ at = '2s' }]", "changes nothing"),
            ("change = [{ at = '2s', loss = 1.5 }]", "at most 1"),
            ("change = [{ at = '2s', rtt = '-1ms' }]", "cannot be negative"),
            ("changes = { every = '1ms' }", "10ms is the least"),
            ("changes = { every = '1s', rate = ['2Mbit', '1Mbit'] }", "the smaller one first"),
            ("changes = { every = '1s' }\nchange = [{ at = '2s', loss = 0.5 }]", "exclude each other"),
            ("cellular = { every = '100ms', most = '11Mbit' }", "`cellular.wander` is missing"),
            ("cellular = { every = '100ms', file = 'nowhere' }", "could not read the trace nowhere"),
        ] {
            let error = with(lines).unwrap_err();
            assert!(error.contains(expected), "{lines}: {error}");
        }
        for (lines, expected) in [
            ("sweep = { parameter = 'path', values = [1] }", "no `[sample]`"),
            ("sweep = { parameter = 'queue', values = ['red'] }", "droptail, fq, sfq, codel, fq_codel, cake"),
            ("sweep = { parameter = 'flows', values = ['many'] }", "a whole number"),
            ("sweep = { parameter = 'extra-rtt', values = ['2h'] }", "60 s is the most"),
        ] {
            let error = swept(lines).unwrap_err();
            assert!(error.contains(expected), "{lines}: {error}");
        }
        for (from, to, expected) in [
            ("\"1bdp\"", "\"1bdp\", reorder = 0.01, jitter = \"31ms\"", "cannot exceed the RTT"),
            ("100Mbit\", rtt = \"30ms\"", "1Mbit\", reorder = 0.01, rtt = \"30ms\"", "fewer than 4"),
            ("\"1bdp\"", "\"1bdp\", reverse_jitter = \"31ms\"", "`reverse_jitter` is 31ms: it cannot exceed"),
            ("\"1bdp\"", "\"1bdp\", burst = \"3kB\"", "two have 3028 bytes"),
            ("\"1bdp\"", "\"1bdp\", burst = \"3GB\"", "2 GB is the most"),
            ("\"1bdp\"", "\"1bdp\", queue = \"red\"", "choose from droptail"),
            ("\"1bdp\"", "\"1bdp\", queue = \"cake\", burst = \"9kB\"", "is its own shaper, without `burst`"),
            ("\"1bdp\"", "\"2kB\", queue = \"sfq\"", "`queue = \"sfq\"` needs a buffer of two packets"),
        ] {
            let error = read(&SMALL.replace(from, to)).unwrap_err();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }
}
