//! Files that are rewritten in place while they move, and whose time of modification is set back. Containers of encrypted
//! disks and `rsync --inplace -t` do that. A final name stands for what the file held at one moment, or for nothing.
//!
//! `PCC_REWRITES=100 cargo test -p pcc-cli --test mixtures` tries each way 100 times instead of 4.
#![cfg(unix)]

mod upload;

use pcc::rng::Rng;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, SystemTime};
use upload::{Bench, Server, said};

const SIZE: usize = 2_400_000;

/// Written at a time by a rewrite in steps.
const STEP: usize = 40_000;

/// How fast they move: a whole one takes 1.2 s.
const LIMIT: [&str; 3] = ["--limit", "16Mbit", "-q"];

/// When the files were modified for the last time, as they say, since 1970.
const OLD: Duration = Duration::from_secs(1_700_000_000);

fn rewrites() -> u64 {
    std::env::var("PCC_REWRITES").ok().and_then(|number| number.parse().ok()).unwrap_or(4)
}

/// A moment of a transfer.
fn pause(dice: &mut Rng) -> Duration {
    Duration::from_secs_f64(1.3 * dice.unit())
}

/// All of it has this byte.
fn write(path: &Path, byte: u8) {
    std::fs::write(path, vec![byte; SIZE]).unwrap();
    std::fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + OLD).unwrap();
}

/// Puts this byte everywhere, from the front to the end, and the time of modification back: after each step or at the end.
fn rewrite(path: &Path, byte: u8, dice: &mut Rng) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    let (step, each) = if dice.unit() < 0.5 { (SIZE, true) } else { (STEP, dice.unit() < 0.5) };
    for at in (0..SIZE).step_by(step) {
        file.write_all_at(&vec![byte; step], at as u64).unwrap();
        if each {
            file.set_modified(modified).unwrap();
        }
    }
    file.set_modified(modified).unwrap();
}

/// Whether the source ever held this. It held one byte everywhere, and was rewritten from the front with the next one. So
/// it begins with whole steps of one byte, and the rest is the byte before that.
fn was_once(content: &[u8]) -> bool {
    let first = content[0];
    let new = content.iter().take_while(|byte| **byte == first).count();
    let rest = &content[new..];
    let fits = |old: &u8| new % STEP == 0 && *old + 1 == first && rest.iter().all(|byte| byte == old);
    content.len() == SIZE && rest.first().is_none_or(fits)
}

/// The files that must be whole if they are there, as far as they are.
fn there(files: &[PathBuf], what: &str, output: &Output) -> usize {
    let there = files.iter().filter_map(|path| Some((path, std::fs::read(path).ok()?)));
    let mut count = 0;
    for (path, content) in there {
        let news = content.iter().filter(|byte| **byte == content[0]).count();
        assert!(was_once(&content), "{what}: {}: {news} as the first: {}", path.display(), said(output));
        count += 1;
    }
    count
}

/// A transfer of `sources`, which arrive as `targets`, whose sources are rewritten at a random moment.
struct Case {
    bench: Bench,
    _server: Server,
    sources: Vec<PathBuf>,
    targets: Vec<PathBuf>,
    arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Get,
    Put,
    GetDirectory,
    PutDirectory,
}

impl Case {
    fn new(way: Way) -> Self {
        let bench = Bench::new();
        let server = bench.serve(0);
        let names: &[&str] =
            if matches!(way, Way::Get | Way::Put) { &["file"] } else { &["tree/a", "tree/b", "tree/sub/c"] };
        let from = if matches!(way, Way::Get | Way::GetDirectory) { "served" } else { "client" };
        let to = if from == "served" { "client" } else { "served" };
        let below = |side: &str| names.iter().map(|name| bench.path(side).join(name)).collect::<Vec<_>>();
        let (sources, targets) = (below(from), below(to));
        for path in &sources {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            write(path, b'A');
        }
        let arguments = match way {
            Way::Get => vec!["get".to_owned(), server.url("file")],
            Way::GetDirectory => vec!["get".to_owned(), server.url("tree/")],
            Way::Put => vec!["put".to_owned(), "file".to_owned(), server.url("")],
            Way::PutDirectory => vec!["put".to_owned(), "tree".to_owned(), server.url("")],
        };
        Self { bench, _server: server, sources, targets, arguments }
    }

    fn arguments(&self) -> Vec<&str> {
        let limit = if self.sources.len() > 1 { ["--limit", "48Mbit", "-q"] } else { LIMIT };
        self.arguments.iter().map(String::as_str).chain(limit).collect()
    }

    /// Runs it, with `meanwhile` for each source at some moment.
    fn run(&self, dice: &mut Rng, meanwhile: impl Fn(&Path, &mut Rng)) -> Output {
        let running = self.bench.pcc(&self.arguments()).spawn().unwrap();
        std::thread::sleep(pause(dice));
        for path in &self.sources {
            meanwhile(path, dice);
        }
        running.wait_with_output().unwrap()
    }

    /// A copy must have been in the source at one moment, and all of it if that is what was said.
    fn check(&self, what: &str, output: &Output) {
        let there = there(&self.targets, what, output);
        assert!(!output.status.success() || there == self.targets.len(), "{what}: {}", said(output));
    }
}

fn each_seed(test: impl Fn(u64) + Sync) {
    std::thread::scope(|scope| {
        let test = &test;
        for lane in 0..4 {
            scope.spawn(move || (lane..rewrites()).step_by(4).for_each(test));
        }
    });
}

fn no_mixture(way: Way) {
    each_seed(|seed| {
        let (case, mut dice) = (Case::new(way), Rng::new(seed));
        let output = case.run(&mut dice, |path, dice| rewrite(path, b'B', dice));
        case.check(&format!("{way:?}, seed {seed}"), &output);
    });
}

#[test]
fn a_rewritten_file_is_never_fetched_as_a_mixture() {
    no_mixture(Way::Get);
}

#[test]
fn a_rewritten_file_is_never_put_as_a_mixture() {
    no_mixture(Way::Put);
}

#[test]
fn a_rewritten_tree_is_never_fetched_as_a_mixture() {
    no_mixture(Way::GetDirectory);
}

#[test]
fn a_rewritten_tree_is_never_put_as_a_mixture() {
    no_mixture(Way::PutDirectory);
}

#[test]
fn an_interrupted_transfer_goes_on_with_no_other_version() {
    for way in [Way::Get, Way::Put] {
        each_seed(|seed| {
            let (case, mut dice) = (Case::new(way), Rng::new(seed));
            let mut running = case.bench.spawn(&case.arguments());
            std::thread::sleep(pause(&mut dice));
            let _ = running.0.kill(); // it may have ended
            drop(running);
            rewrite(&case.sources[0], b'B', &mut dice);
            let what = format!("{way:?}, seed {seed}");
            case.check(&what, &case.run(&mut dice, |path, dice| rewrite(path, b'C', dice)));
            let last = case.bench.run(&case.arguments());
            // The source's state in the second run may be there in part, and is found out only now.
            let last = if last.status.success() { last } else { case.bench.run(&case.arguments()) };
            case.check(&what, &last);
            assert!(last.status.success(), "{what}: {}", said(&last));
            assert!(std::fs::read(&case.targets[0]).unwrap() == vec![b'C'; SIZE], "{what}");
        });
    }
}

#[test]
fn another_name_or_other_permissions_cost_nothing() {
    use std::os::unix::fs::PermissionsExt;
    for way in [Way::Get, Way::Put, Way::GetDirectory, Way::PutDirectory] {
        each_seed(|seed| {
            let (case, mut dice) = (Case::new(way), Rng::new(seed));
            let output = case.run(&mut dice, |path, dice| match (dice.unit() * 4.0) as u8 {
                0 => std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap(),
                1 => std::fs::hard_link(path, path.with_extension("link")).unwrap(),
                // Where a directory is on its way, the name may be asked for yet.
                2 if matches!(way, Way::Get | Way::Put) => {
                    std::fs::rename(path, path.with_extension("renamed")).unwrap();
                    std::fs::hard_link(path.with_extension("renamed"), path).unwrap();
                }
                _ => std::fs::File::open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + OLD).unwrap(),
            });
            let what = format!("{way:?}, seed {seed}: {}", said(&output));
            assert!(output.status.success(), "{what}");
            case.targets.iter().for_each(|path| assert!(std::fs::read(path).unwrap() == vec![b'A'; SIZE], "{what}"));
        });
    }
}
