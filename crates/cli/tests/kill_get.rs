//! `pcc get` killed at any instant: nothing wrong is ever under a final name, and little is sent twice.
//!
//! `PCC_KILLS=200 cargo test -p pcc-cli --test kill_get` kills 200 times instead of 20.

mod bench;

use bench::{Bench, Server, said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Bytes between the marks of a partial file.
const BLOCK: u64 = 4 << 20;

fn kills() -> u32 {
    std::env::var("PCC_KILLS").ok().and_then(|number| number.parse().ok()).unwrap_or(20)
}

/// Equally spread over 0..1, and the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> f64 {
        // Knuth's multiplier and increment for 64 bits.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn get(bench: &Bench, server: &Server, path: &str) -> Child {
    let arguments = ["get", &server.url(path), "-o", "target", "--json"];
    bench.pcc(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How long it takes when nobody kills it.
fn whole(bench: &Bench, server: &Server, path: &str) -> Duration {
    let begun = Instant::now();
    let output = get(bench, server, path).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    begun.elapsed()
}

/// Kills it after this time, unless it has ended, and answers where it went on; `None` if it did not come so far.
fn killed(mut client: Child, after: Duration) -> Option<u64> {
    std::thread::sleep(after);
    let _ = client.kill(); // it may have ended
    let output = client.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.into_iter().find(|event| event["event"] == "start")?["resumed_from"].as_u64()
}

#[test]
fn a_download_killed_at_any_instant_goes_on_and_is_right() {
    let bench = Bench::new();
    let data = bench.write("served/file", 14_000_000);
    let server = bench.serve(&["--limit", "400Mbit"]);
    let (target, part) = (bench.path("client/target"), bench.path("client/.target.pcc-part"));
    let usual = whole(&bench, &server, "file");
    std::fs::remove_file(&target).unwrap();
    let mut dice = Dice(1);
    for kill in 0..kills() {
        let there = part.metadata().map_or(0, |part| part.len());
        let resumed_from = killed(get(&bench, &server, "file"), usual.mul_f64(dice.throw()));
        if let Some(resumed_from) = resumed_from {
            assert!(resumed_from <= there && resumed_from + BLOCK >= there, "kill {kill}: {resumed_from} of {there}");
        }
        if target.exists() {
            assert!(std::fs::read(&target).unwrap() == data, "kill {kill}");
            std::fs::remove_file(&target).unwrap();
        }
    }
    whole(&bench, &server, "file");
    assert!(std::fs::read(&target).unwrap() == data);
    assert_eq!(bench.names("client"), ["target"]);
}

#[test]
fn a_directory_killed_at_any_instant_goes_on_and_is_right() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("served/sub")).unwrap();
    let mut files = BTreeMap::new();
    for number in 0..30u32 {
        let name = if number % 2 == 0 { format!("{number}") } else { format!("sub/{number}") };
        let content = bench::data(if number == 7 { 6_000_000 } else { 50_000 }, number);
        std::fs::write(bench.path("served").join(&name), &content).unwrap();
        files.insert(name, content);
    }
    let server = bench.serve(&["--limit", "400Mbit"]);
    let usual = whole(&bench, &server, "");
    let clear = || std::fs::remove_dir_all(bench.path("client/target")).unwrap();
    clear();
    // Answers how many are there, each of which is whole.
    let here = || {
        let found = files.iter().filter_map(|(name, content)| {
            let found = std::fs::read(bench.path("client/target").join(name)).ok()?;
            assert!(found == *content, "{name}: {} bytes", found.len());
            Some(())
        });
        found.count()
    };
    let mut dice = Dice(2);
    for kill in 0..kills() {
        let before = here();
        killed(get(&bench, &server, ""), usual.mul_f64(dice.throw()));
        let now = here();
        assert!(now >= before, "kill {kill}: {now} files after {before}");
        if now == files.len() {
            clear();
        }
    }
    whole(&bench, &server, "");
    assert_eq!(here(), files.len());
    let left = bench.names("client/target").into_iter().chain(bench.names("client/target/sub"));
    assert_eq!(left.filter(|name| name.starts_with('.')).count(), 0);
}
