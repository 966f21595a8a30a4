//! `pcc-lab` as a user meets it. A test that boots the guest needs its kernel and is run by
//! `cargo test -p pcc-instruments --test lab -- --ignored` after `pcc-lab build`.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

const SCENARIO: &str = r#"
title = "small"
source = "a test"
duration = "4s"
seeds = [7]
algorithms = ["bbr", "quic:pcc"]
path = { rate = "10Mbit", rtt = "30ms", buffer = "1bdp" }
sweep = { parameter = "loss", values = [0.01] }
"#;

fn lab(arguments: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc-lab"));
    command.args(arguments).current_dir(dir);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_supplied_scenario_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let output = lab(&["list"], dir.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["random-loss", "satellite", "shallow-buffer"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} is not in {text}");
    }
}

#[test]
fn whoever_reads_only_the_first_scenarios_hears_no_complaint() {
    use std::process::Stdio;
    let dir = tempfile::tempdir().unwrap();
    // As `head` leaves it when it has its lines, and before the first one is written.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = lab(&["list"], dir.path()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(141), String::new()));
}

#[test]
fn a_file_in_place_of_the_results_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    for extra in [&["--dry-run"][..], &[]] {
        let output = lab(&[&["run", "satellite", "--results", "file"], extra].concat(), dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("--results file: it is a file"), "{}", stderr(&output));
    }
}

#[test]
fn an_app_without_a_command_is_told_the_option() {
    let dir = tempfile::tempdir().unwrap();
    let output = lab(&["run", "satellite", "--algorithm", "app"], dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("runs a program of yours: say which with --app"), "{}", stderr(&output));
}

#[test]
fn without_a_kernel_the_error_says_how_to_build_one() {
    let dir = tempfile::tempdir().unwrap();
    let output = lab(&["run", "shallow-buffer"], dir.path()).env("XDG_CACHE_HOME", dir.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("pcc-lab build"), "{}", stderr(&output));
}

#[test]
fn a_source_that_is_not_there_is_an_error_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = lab(&["build", "--source", "nowhere.tar.xz"], dir.path());
    let output = command.env("XDG_CACHE_HOME", dir.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("nowhere.tar.xz") && stderr(&output).contains("does not exist"));
}

#[test]
fn impossible_scenario_is_refused_before_kernel_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    for (from, to, expected) in
        [("\"30ms\"", "\"-30ms\"", "cannot be negative"), ("\"bbr\"", "\"swift\"", "unknown algorithm `swift`")]
    {
        fs::write(dir.path().join("bad.toml"), SCENARIO.replace(from, to)).unwrap();
        let output = lab(&["run", "bad.toml"], dir.path()).env("XDG_CACHE_HOME", dir.path()).output().unwrap();
        assert!(!output.status.success());
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn what_is_not_there_to_select_or_divide_is_an_error_at_once() {
    let dir = tempfile::tempdir().unwrap();
    // 2 is misuse: 1 would say that a promise is missed.
    for (arguments, code, expected) in [
        (&["run", "satellite", "--point", "2MB"][..], 2, "7.5kB"),
        (&["run", "random-loss", "--seed", "99"], 2, "it has 1, 2"),
        (&["run", "random-loss", "--algorithm", "swift"], 2, "unknown algorithm `swift`"),
        (&["run", "satellite", "--shard", "3/2"], 2, "there is no shard 3 of 2"),
        (&["run", "nowhere"], 2, "there is no scenario `nowhere`"),
        (&["run", "nowhere.toml"], 2, "nowhere.toml"),
        (&["check", "nowhere"], 2, "there is no scenario `nowhere`"),
        (&["report", "nowhere"], 2, "there is no scenario `nowhere`"),
        (&["check", "satellite"], 1, "pcc-lab run"),
        (&["check", "--program", "nowhere"], 1, "could not open the program nowhere"),
        (&["merge", "nowhere"], 1, "could not read nowhere"),
    ] {
        let output = lab(arguments, dir.path()).env("XDG_CACHE_HOME", dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

/// Runs [`SCENARIO`] from nothing and returns every stored outcome, by file name.
fn outcomes(dir: &Path) -> Vec<(String, Vec<u8>)> {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("small.toml"), SCENARIO).unwrap();
    let output = lab(&["run", "small.toml", "--results", "results"], dir).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let files = fs::read_dir(dir.join("results")).unwrap().map(|entry| entry.unwrap());
    let mut all: Vec<_> =
        files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect();
    // How long it took and where the program came from may differ, and so stand beside the outcomes.
    all.retain(|(name, _)| name.ends_with(".json"));
    all.sort();
    all
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn the_same_seed_gives_the_same_bytes_also_on_a_busy_machine() {
    let dir = tempfile::tempdir().unwrap();
    let idle = outcomes(&dir.path().join("idle"));
    assert_eq!(idle.len(), 4, "BBR, PCC, and of the calibration the bare path and the lone CUBIC");

    let done = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // The spinning must end also when the run fails.
        let busy = std::panic::catch_unwind(|| outcomes(&dir.path().join("busy/and/elsewhere")));
        done.store(true, Ordering::Relaxed);
        busy
    });
    let busy = busy.unwrap_or_else(|failure| std::panic::resume_unwind(failure));
    for ((name, first), (other_name, second)) in idle.iter().zip(&busy) {
        assert_eq!(name, other_name);
        assert!(first == second, "{name} differs: {} and {} bytes", first.len(), second.len());
    }
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn shards_are_merged_and_held_against_what_is_promised() {
    let dir = tempfile::tempdir().unwrap();
    let target = |over: &str, must: f64| format!("[[target]]\nrow = '1'\nmeasure = 'share'\n{over}\nmust = {must}\n");
    let targets = [target("", 0.2), target("over = ['bbr']", 100.0)].concat();
    let two_seeds = SCENARIO.replace("[7]", "[7, 8]");
    fs::write(dir.path().join("small.toml"), format!("{two_seeds}\n{targets}")).unwrap();
    let run = |arguments: &[&str], code: i32| {
        let output = lab(arguments, dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output))
    };
    run(&["run", "small.toml", "--shard", "1/2", "--results", "one"], 0);
    let (text, _) = run(&["check", "small.toml", "--results", "one"], 3);
    assert!(text.contains("not judged: lacks 1 of 2 seeds of quic:pcc at 0.01"), "{text}");
    run(&["run", "small.toml", "--shard", "2/2", "--results", "two"], 0);
    run(&["merge", "one", "two", "--results", "all"], 0);
    let (_, said) = run(&["run", "small.toml", "--results", "all"], 0);
    assert!(said.contains("all 4 runs are stored"), "{said}");
    let (text, _) = run(&["check", "small.toml", "--results", "all", "--json"], 1);
    let rows = serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let verdicts: Vec<_> = rows["rows"].as_array().unwrap().iter().map(|row| row["verdict"].clone()).collect();
    assert_eq!(verdicts, ["PASS", "MISS"], "{text}");
}
