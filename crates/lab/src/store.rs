//! Outcomes by content: what has been run is not run again.

use crate::cost::{self, Kind, Model, Taken};
use crate::program::Program;
use crate::scenario::Scenario;
use crate::spec::{Outcome, Spec};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The code that measures: what another one measured for the same specification is another result. See `measuring.rs`.
const MEASURING: &str = env!("PCC_LAB_MEASURING");

/// Code and earlier code, by their hashes, that measure the same, bit for bit, where there is one bottleneck: such runs belong
/// to the earlier one. After a change of the code some stored runs are repeated. If the bytes are the same, the new hash takes
/// the place of the first one; if not, the pair goes.
const SAME_WITH_ONE_BOTTLENECK: (&str, &str) = ("152ac2bda4a4ae96", "7cfb56f08ee3c6e6");

/// Real time that runs took, a line each: key, kind, estimated and real seconds. Beside the outcomes and not in them:
/// the same run gives the same bytes, but not in the same time.
const TIMES: &str = "times.csv";
/// Where programs came from, a line each: hash, commit (empty if nobody said so), hash of the source without PCC.
const PROGRAMS: &str = "programs.csv";

/// A directory of outcomes, of which those of one guest kernel, measured by this lab's code, are looked at.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    kernel: String,
    measuring: String,
}

/// One file of it.
#[derive(Serialize, Deserialize)]
struct Record {
    measuring: String,
    kernel: String,
    spec: Spec,
    outcome: Outcome,
}

/// The fate of the files of another store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// They were new here.
    pub copied: usize,
    /// The same bytes were here.
    pub known: usize,
}

/// Why stores do not become one.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file or directory does not do as it should.
    #[error("could not {what} {path}: {error}")]
    Io {
        /// The attempt.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A file is not what its name says.
    #[error(
        "{0} is damaged, or of a lab that stored results otherwise: its content does not belong to its name; remove it \
         and repeat its run"
    )]
    Damaged(PathBuf),
    /// The same run gave two outcomes, which cannot be.
    #[error(
        "{ours} and {theirs} are of the same run and differ: one of the machines does not measure right; \
         repeat the run on both and compare"
    )]
    Conflict {
        /// In this store.
        ours: PathBuf,
        /// In the other one.
        theirs: PathBuf,
    },
}

impl Store {
    /// The outcomes in `dir`, which is created when the first one is kept, of the kernel with this identity.
    pub fn at(dir: &Path, kernel: &str) -> Self {
        Self { dir: dir.to_owned(), kernel: kernel.to_owned(), measuring: MEASURING.to_owned() }
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Identity of the kernel that most outcomes in `dir` are of; none if there are none.
    pub fn usual_kernel(dir: &Path) -> Option<String> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for path in outcomes(dir).ok()? {
            if let Some(record) = read(&path) {
                *counts.entry(record.kernel).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(kernel, count)| (*count, kernel.clone())).map(|(kernel, _)| kernel)
    }

    /// The name of a run's file, without its ending.
    pub fn key(&self, spec: &Spec) -> io::Result<String> {
        key(self.measuring(spec), &self.kernel, spec)
    }

    /// The code that a run belongs to.
    fn measuring(&self, spec: &Spec) -> &str {
        let (now, before) = SAME_WITH_ONE_BOTTLENECK;
        if spec.then.is_empty() && self.measuring == now { before } else { &self.measuring }
    }

    fn path(&self, spec: &Spec) -> io::Result<PathBuf> {
        Ok(self.dir.join(format!("{}.json", self.key(spec)?)))
    }

    /// The outcome of a run, if it was kept. A damaged file counts as none.
    pub fn find(&self, spec: &Spec) -> Option<Outcome> {
        let record = read(&self.path(spec).ok()?)?;
        let is_it = record.spec == *spec && record.kernel == self.kernel && record.measuring == self.measuring(spec);
        is_it.then_some(record.outcome)
    }

    /// The outcomes of a scenario's runs, where they were kept.
    pub fn outcomes(&self, scenario: &Scenario) -> Vec<Option<Outcome>> {
        scenario.runs.iter().map(|run| self.find(&run.spec)).collect()
    }

    /// Keeps an outcome and the real time it took (in seconds), and says where.
    pub fn keep(&self, spec: &Spec, outcome: &Outcome, took: f64) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.dir)?;
        let path = self.path(spec)?;
        let (measuring, kernel) = (self.measuring(spec).to_owned(), self.kernel.clone());
        let record = Record { measuring, kernel, spec: spec.clone(), outcome: outcome.clone() };
        // Another process may read or write the same outcome at this moment.
        let partial = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&partial, serde_json::to_vec(&record)?)?;
        fs::rename(&partial, &path)?;
        let (kind, estimated) = (Kind::of(&record.spec).name(), cost::estimate(&record.spec));
        self.note(TIMES, &format!("{},{kind},{estimated:.3},{took:.3}", self.key(&record.spec)?))?;
        Ok(path)
    }

    /// Notes which commit a program was built from, if that is known: who does not know it takes it from nobody.
    pub fn keep_origin(&self, program: &Program, commit: Option<&str>) -> io::Result<()> {
        let (_, known) = self.program(&program.hash);
        let commit = commit.or(known.as_deref());
        let line = format!("{},{},{}", program.hash, commit.unwrap_or_default(), program.stack);
        if self.notes(PROGRAMS).iter().rfind(|known| known.starts_with(&program.hash)) == Some(&line) {
            return Ok(());
        }
        fs::create_dir_all(&self.dir)?;
        self.note(PROGRAMS, &line)
    }

    /// The program with this hash, and the commit that it was built from if somebody said so.
    pub fn program(&self, hash: &str) -> (Program, Option<String>) {
        let lines = self.notes(PROGRAMS);
        let known = lines.iter().rev().find_map(|line| line.strip_prefix(hash)?.strip_prefix(','));
        let mut words = known.unwrap_or_default().split(',');
        let commit = words.next().filter(|commit| !commit.is_empty()).map(str::to_owned);
        // A lab before this one noted no more than the commit.
        let stack = words.next().unwrap_or(hash).to_owned();
        (Program { hash: hash.to_owned(), stack }, commit)
    }

    /// Real time that runs took, by key. Unit: s.
    pub fn times(&self) -> HashMap<String, f64> {
        self.notes(TIMES)
            .iter()
            .filter_map(|line| time(line))
            .map(|(key, _, taken)| (key.to_owned(), taken.real))
            .collect()
    }

    /// The model of runs' durations, as far as it is known here.
    pub fn model(&self) -> Model {
        let mut model = Model::default();
        let lines = self.notes(TIMES);
        // Machines and programs change: the latest runs tell most.
        for (_, kind, taken) in lines[lines.len().saturating_sub(500)..].iter().filter_map(|line| time(line)) {
            model.learn(kind, taken);
        }
        model
    }

    /// Takes over what another store has, of every kernel.
    pub fn merge(&self, other: &Path) -> Result<Merged, MergeError> {
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |error| MergeError::Io { what, path, error }
        };
        fs::create_dir_all(&self.dir).map_err(failed("create", &self.dir))?;
        let mut merged = Merged::default();
        for theirs in outcomes(other).map_err(failed("read", other))? {
            let text = fs::read(&theirs).map_err(failed("read", &theirs))?;
            let record: Record = serde_json::from_slice(&text).map_err(|_| MergeError::Damaged(theirs.clone()))?;
            let key = key(&record.measuring, &record.kernel, &record.spec).map_err(failed("name", &theirs))?;
            if theirs.file_stem().is_none_or(|stem| stem != key.as_str()) {
                return Err(MergeError::Damaged(theirs));
            }
            let ours = self.dir.join(format!("{key}.json"));
            // A damaged file here is as good as absent.
            if let Some(known) = read(&ours) {
                if known.outcome != record.outcome {
                    return Err(MergeError::Conflict { ours, theirs });
                }
                merged.known += 1;
                continue;
            }
            let partial = ours.with_extension(format!("{}.new", std::process::id()));
            fs::write(&partial, &text).map_err(failed("write", &partial))?;
            fs::rename(&partial, &ours).map_err(failed("write", &ours))?;
            merged.copied += 1;
        }
        let theirs = Self::at(other, "");
        for name in [TIMES, PROGRAMS] {
            let known = self.notes(name);
            for line in theirs.notes(name).iter().filter(|line| !known.contains(line)) {
                self.note(name, line).map_err(failed("write", &self.dir.join(name)))?;
            }
        }
        Ok(merged)
    }

    /// Adds a line in one write, so that lines of several processes do not mix.
    fn note(&self, name: &str, line: &str) -> io::Result<()> {
        File::options().create(true).append(true).open(self.dir.join(name))?.write_all(format!("{line}\n").as_bytes())
    }

    fn notes(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.dir.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn key(measuring: &str, kernel: &str, spec: &Spec) -> io::Result<String> {
    let key = serde_json::to_vec(&(measuring, kernel, spec))?;
    Ok(blake3::hash(&key).to_hex().as_str()[..24].to_owned())
}

fn read(path: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The files of a directory that hold outcomes, by name.
fn outcomes(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    Ok(paths)
}

/// A line of [`TIMES`]; none if it was cut off.
fn time(line: &str) -> Option<(&str, Kind, Taken)> {
    let mut words = line.split(',');
    let key = words.next()?;
    let kind = words.next()?;
    let kind = [Kind::UserSpace, Kind::Kernel].into_iter().find(|known| known.name() == kind)?;
    let (estimated, real) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some((key, kind, Taken { estimated, real }))
}

#[cfg(test)]
#[path = "../measuring.rs"]
mod measuring;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{PathSpec, Probe};

    fn spec() -> Spec {
        let path = PathSpec { rate: 1_000_000, rtt: 30_000_000, buffer: 9000, ..PathSpec::default() };
        Spec { path, flows: vec![], duration: 1_000_000_000, step: 1_000_000, seed: 1, ..Spec::default() }
    }

    fn outcome(rtt: u64) -> Outcome {
        Outcome { kernel: "6.12.1".into(), probe: Probe { rtt, ..Probe::default() }, ..Outcome::default() }
    }

    #[test]
    fn a_run_with_drawn_numbers_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path(), "a");
        // A careless reader gets one in six of such long fractions wrong by the last bit.
        for number in 1..100 {
            let spec = Spec { path: PathSpec { loss: f64::from(number) / 997.0 / 97.0, ..spec().path }, ..spec() };
            store.keep(&spec, &outcome(1), 1.0).unwrap();
            assert_eq!(store.find(&spec), Some(outcome(1)), "{}", spec.path.loss);
        }
    }

    #[test]
    fn an_outcome_is_found_for_its_own_run_and_kernel_only() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("results");
        let (store, other) = (Store::at(&dir, "a"), Store::at(&dir, "b"));
        assert_eq!(store.find(&spec()), None);
        assert_eq!(Store::usual_kernel(&dir), None);
        let path = store.keep(&spec(), &outcome(1), 2.5).unwrap();
        assert_eq!(store.find(&spec()), Some(outcome(1)));
        assert_eq!(store.find(&Spec { seed: 2, ..spec() }), None);
        assert_eq!(other.find(&spec()), None);
        assert_eq!(Store::usual_kernel(&dir).as_deref(), Some("a"));
        fs::write(path, "half a fi").unwrap();
        assert_eq!(store.find(&spec()), None);
    }

    #[test]
    fn an_outcome_that_other_code_measured_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let now = Store::at(dir.path(), "a");
        let before = Store { measuring: "of yesterday".into(), ..now.clone() };
        before.keep(&spec(), &outcome(1), 1.0).unwrap();
        assert_eq!(before.find(&spec()), Some(outcome(1)));
        assert_eq!(now.find(&spec()), None);
        // Merging is for results of every lab.
        let all = Store::at(&dir.path().join("all"), "a");
        assert_eq!(all.merge(dir.path()).unwrap(), Merged { copied: 1, known: 0 });
    }

    #[test]
    fn runs_with_one_bottleneck_belong_to_the_earlier_code() {
        let (now, before) = SAME_WITH_ONE_BOTTLENECK;
        assert_eq!(now, MEASURING, "the code that measures was changed: see SAME_WITH_ONE_BOTTLENECK");
        // A run of the campaign, and the name of its file.
        let stored = r#"{"path":{"rate":10000000,"rtt":1000000,"buffer":30280,"loss":0.0,"reverse_loss":0.0},
            "flows":[{"algorithm":"cubic","connections":1,"start":0,"stop":10100000000,"extra_rtt":0}],
            "duration":10100000000,"step":5050000000,"seed":1}"#;
        let stored: Spec = serde_json::from_str(stored).unwrap();
        let store = Store::at(Path::new("results"), "a2245116c20c6b0b");
        assert_eq!(store.key(&stored).unwrap(), "2daba15eb6d19bd9facfd8d9");
        let two = Spec { then: vec![stored.path.clone()], ..stored.clone() };
        assert_eq!((store.measuring(&stored), store.measuring(&two)), (before, MEASURING));
    }

    #[test]
    fn the_code_that_measures_is_known_by_its_source_without_tests() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(measuring::hash(root).unwrap(), MEASURING, "the build script looked at these files");
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in ["src/spec.rs", "src/machine.rs", "src/guest/mod.rs", "src/guest/tcp/info.rs"] {
            write(name, "1");
        }
        let first = measuring::hash(dir.path()).unwrap();
        write("src/report/page.rs", "how it is shown");
        assert_eq!(measuring::hash(dir.path()).unwrap(), first);
        write("src/guest/tcp/info.rs", "1\n#[cfg(test)]\nmod tests {\n}\n");
        assert_eq!(measuring::hash(dir.path()).unwrap(), first);
        write("src/guest/tcp/info.rs", "2");
        assert_ne!(measuring::hash(dir.path()).unwrap(), first);
    }

    #[test]
    fn time_that_run_took_stands_beside_its_outcome_and_not_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (Store::at(&dir.path().join("one"), "a"), Store::at(&dir.path().join("two"), "a"));
        let first = one.keep(&spec(), &outcome(1), 2.5).unwrap();
        let second = two.keep(&spec(), &outcome(1), 20.0).unwrap();
        assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
        assert_eq!(one.times()[&one.key(&spec()).unwrap()], 2.5);
        assert!((two.model().predict(&spec()) - 20.0).abs() < 0.1, "{}", two.model().predict(&spec()));
    }

    #[test]
    fn stores_become_one_and_a_second_time_nothing_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (Store::at(&dir.path().join("one"), "a"), Store::at(&dir.path().join("two"), "a"));
        let other = Spec { seed: 2, ..spec() };
        one.keep(&spec(), &outcome(1), 1.0).unwrap();
        two.keep(&spec(), &outcome(1), 1.0).unwrap();
        two.keep(&other, &outcome(2), 4.0).unwrap();
        let program = Program { hash: "5ea1b523".into(), stack: "57ac4".into() };
        two.keep_origin(&program, Some("abc1234")).unwrap();
        two.keep_origin(&program, Some("abc1234")).unwrap();
        two.keep_origin(&program, None).unwrap();
        assert_eq!(two.notes(PROGRAMS).len(), 1);
        assert_eq!(one.merge(two.dir()).unwrap(), Merged { copied: 1, known: 1 });
        assert_eq!(one.find(&other), Some(outcome(2)));
        assert_eq!(one.times()[&one.key(&other).unwrap()], 4.0);
        assert_eq!(one.program("5ea1b523"), (program, Some("abc1234".into())));
        assert_eq!(one.program("0"), (Program::unknown("0"), None));
        let lines = one.notes(TIMES).len();
        assert_eq!(one.merge(two.dir()).unwrap(), Merged { copied: 0, known: 2 });
        assert_eq!(one.notes(TIMES).len(), lines);
    }

    #[test]
    fn two_outcomes_of_one_run_are_not_merged() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (Store::at(&dir.path().join("one"), "a"), Store::at(&dir.path().join("two"), "a"));
        one.keep(&spec(), &outcome(1), 1.0).unwrap();
        two.keep(&spec(), &outcome(2), 1.0).unwrap();
        assert!(matches!(one.merge(two.dir()), Err(MergeError::Conflict { .. })));
        assert_eq!(one.find(&spec()), Some(outcome(1)));
    }

    #[test]
    fn a_file_that_is_not_what_its_name_says_is_not_merged() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (Store::at(&dir.path().join("one"), "a"), Store::at(&dir.path().join("two"), "a"));
        let path = two.keep(&spec(), &outcome(1), 1.0).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for wrong in [text.replace("\"seed\":1", "\"seed\":2"), text[..100].to_owned()] {
            fs::write(&path, wrong).unwrap();
            assert!(matches!(one.merge(two.dir()), Err(MergeError::Damaged(_))));
        }
        assert!(matches!(one.merge(&dir.path().join("three")), Err(MergeError::Io { .. })));
    }
}
