//! `pcc shell`: commands behind emulated paths, in real network namespaces. Tests that make namespaces are ignored:
//! `make test` runs them where `unshare` can make namespaces, and lists them as not run elsewhere.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PCC: &str = env!("CARGO_BIN_EXE_pcc");

/// Waits for the server that `--outside` started, and measures the path to it.
const MEASURE: &str = "until grep -q fingerprint server.txt; do sleep 0.05; done; \
    port=$(sed -n 's/.* -p \\([0-9]*\\).*/\\1/p' server.txt); \
    pcc perf -c $PCC_SHELL_OUTSIDE -p $port --insecure -n 300kB -J";
const SERVE: &str = "pcc perf -s -p 0 > server.txt";

/// Runs it in this directory, with this build's `pcc` in the path, after these words.
fn shell(dir: &Path, before: &[&str], args: &[&str]) -> Output {
    let path = format!("{}:{}", Path::new(PCC).parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let words = [&["timeout", "120"], before, &["pcc", "shell"], args].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir).env("PATH", path).env_remove("PCC_SHELL_PLACE");
    command.env("HOME", dir).output().expect("timeout runs")
}

/// The standard output of a command that ended well.
fn said(done: &Output) -> String {
    assert!(done.status.success(), "{}: {}", done.status, String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn measured(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn command_sees_path_s_round_trips_its_rate_and_its_losses() {
    let dir = tempfile::tempdir().unwrap();
    let link = "rate=8Mbit,rtt=40ms,loss=10%";
    let args = ["--link", link, "--json", "path.json", "--outside", SERVE, "--", "sh", "-c", MEASURE];
    let text = said(&shell(dir.path(), &[], &args));
    let pcc = &measured(&text)["end"]["pcc"];
    let idle = pcc["rtt_idle_ms"].as_f64().unwrap();
    assert!(idle >= 40.0, "{idle} ms");
    let lines = std::fs::read_to_string(dir.path().join("path.json")).unwrap();
    let end: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let packets = |way: &str, what: &str| end[way][what]["packets"].as_u64().unwrap();
    assert_eq!(end["event"], "end");
    for way in ["up", "down"] {
        let dropped = ["buffer", "random", "blackout"].map(|why| packets(way, &format!("dropped_{why}")));
        let (sent, delivered) = (packets(way, "sent"), packets(way, "delivered"));
        assert!(sent > 20 && delivered + dropped.iter().sum::<u64>() <= sent, "{end}");
        assert!(dropped[1] > 0, "{end}");
    }
    // 300 kB went up, and what was lost of it twice.
    assert!(end["up"]["sent"]["bytes"].as_u64().unwrap() > 310_000, "{end}");
    let seconds = end["seconds"].as_f64().unwrap();
    let carried = end["up"]["delivered"]["bytes"].as_u64().unwrap() as f64 * 8e-6 / seconds;
    assert!(carried <= 8.0, "{carried} Mbit/s");
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn a_shell_in_a_shell_adds_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let inner = ["pcc", "shell", "--link", "rate=50Mbit,rtt=60ms", "--", "sh", "-c", MEASURE];
    let args = [&["--link", "rate=20Mbit,rtt=40ms", "--outside", SERVE, "--"], &inner[..]].concat();
    let text = said(&shell(dir.path(), &[], &args));
    let idle = measured(&text)["end"]["pcc"]["rtt_idle_ms"].as_f64().unwrap();
    assert!(idle >= 100.0, "{idle} ms");
}

#[test]
#[ignore = "needs user namespaces: make test"]
fn without_rights_it_makes_a_network_and_says_what_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let may_not = ["setpriv", "--bounding-set=-sys_admin,-net_admin", "--inh-caps=-all"];
    // Only root has rights to give up.
    let before: &[&str] = if rustix::process::geteuid().is_root() { &may_not } else { &[] };
    let path = ["--link", "rate=20Mbit,rtt=40ms"];
    let done = shell(dir.path(), before, &[&path[..], &["--outside", SERVE, "--", "sh", "-c", MEASURE]].concat());
    let text = said(&done);
    assert!(measured(&text)["end"]["pcc"]["rtt_idle_ms"].as_f64().unwrap() >= 40.0);
    let done = shell(dir.path(), before, &[&path[..], &["--", "true"]].concat());
    said(&done);
    assert!(String::from_utf8_lossy(&done.stderr).contains("--outside COMMAND"), "{done:?}");
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn it_ends_as_the_command_does_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let link = ["--link", "lossy"];
    for (line, code) in [("exit 7", 7), ("kill -KILL $$", 137)] {
        let done = shell(dir.path(), &[], &[&link[..], &["--", "sh", "-c", line]].concat());
        assert_eq!(done.status.code(), Some(code), "{line}: {done:?}");
    }
    std::fs::write(dir.path().join("text"), "no program").unwrap();
    for (command, code) in [("no-such-command", 127), ("./text", 126)] {
        let done = shell(dir.path(), &[], &[&link[..], &["--", command]].concat());
        let error = String::from_utf8_lossy(&done.stderr);
        let said = format!("could not start {command}");
        assert!(done.status.code() == Some(code) && error.contains(&said), "{done:?}");
    }
    // A program that runs outside ends with the command.
    let line = "until test -s pid; do sleep 0.05; done";
    let outside = "echo $$ > pid; sleep 1000";
    said(&shell(dir.path(), &[], &[&link[..], &["--outside", outside, "--", "sh", "-c", line]].concat()));
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} still runs");
}

/// A shell at work that is its own process group, once its command has said a line.
fn at_work(dir: &Path, args: &[&str]) -> (Child, impl FnMut() -> String + use<>) {
    let mut command = Command::new(PCC);
    command.args(["shell", "--link", "lossy"]).args(args).current_dir(dir).process_group(0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said_so_far = BufReader::new(child.stdout.take().unwrap());
    let mut next = move || {
        let mut line = String::new();
        said_so_far.read_line(&mut line).unwrap();
        line
    };
    if next().is_empty() {
        panic!("the command said nothing: {:?}", child.wait_with_output().unwrap());
    }
    (child, next)
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn ctrl_c_is_the_command_s_to_answer() {
    let line = "trap 'exit 9' INT; echo ready; while :; do sleep 0.05; done";
    let (mut child, _) = at_work(Path::new("."), &["--", "sh", "-c", line]);
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn a_request_to_end_reaches_a_command_that_ctrl_c_did_not_end() {
    let line = "trap 'echo heard' INT; trap 'exit 8' TERM; echo ready; while :; do sleep 0.05; done";
    let (mut child, mut next) = at_work(Path::new("."), &["--", "sh", "-c", line]);
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(next(), "heard\n");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(8));
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn what_was_started_ends_when_the_shell_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    // A shell that has one more thing to do stays, and what it runs is not told of its death.
    let outside = "sh -c 'echo $$ > outside; exec sleep 1000'; true";
    let line = "until test -s outside; do sleep 0.05; done; echo $$; exec sleep 1000";
    let (mut child, _) = at_work(dir.path(), &["--outside", outside, "--", "sh", "-c", line]);
    let outside = std::fs::read_to_string(dir.path().join("outside")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // A process that is dead but not yet buried has no command line any more.
    let about = Path::new("/proc").join(outside.trim()).join("cmdline");
    let is_there = || std::fs::read(&about).is_ok_and(|words| !words.is_empty());
    let end = Instant::now() + Duration::from_secs(20);
    while is_there() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!is_there(), "{outside} still runs");
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn a_full_disk_costs_the_record_and_not_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["--link", "lossy", "--json", "/dev/full", "--", "sh", "-c", "sleep 1.5; echo done"];
    let done = shell(dir.path(), &[], &args);
    let text = said(&done);
    assert_eq!(text, "done\n");
    let error = String::from_utf8_lossy(&done.stderr);
    assert_eq!(error.matches("cannot write /dev/full").count(), 1, "{error}");
}

#[test]
fn what_is_no_path_is_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    for (args, expected) in [
        (&["--link", "rate=fast"][..], "`fast`"),
        (&["--link", "rate=20Mbit,rtt=40ms,delay=-5ms"], "delay"),
        (&["--", "true"], "--link"),
    ] {
        let done = shell(dir.path(), &[], args);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && error.contains(expected), "{args:?}: {error}");
    }
    let args = ["--link", "lossy", "--json", "no/such/file", "--", "true"];
    let error = String::from_utf8_lossy(&shell(dir.path(), &[], &args).stderr).into_owned();
    assert!(error.contains("--json FILE"), "{error}");
}
