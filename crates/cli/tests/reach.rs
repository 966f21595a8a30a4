//! `pcc send` and `pcc get CODE`: two computers that find each other. Tests that make namespaces are ignored: `make test` runs them
//! where it can.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

const PCC: &str = env!("CARGO_BIN_EXE_pcc");

/// Both computers do their part; the relay ends as soon as the way is direct, if `$END_RELAY` is set.
const MEET: &str = r#"
timeout 100 "$PCC" relay --client-rate 100Mbit > relay.txt 2>&1 & relay=$!
until grep -q 'pcc send' relay.txt; do sleep 0.05; done
near timeout 100 "$PCC" send --relay 198.51.100.1:3340 --limit "$LIMIT" --json file > sent.txt 2> sent.err & sender=$!
until grep -q '"code"' sent.txt; do sleep 0.05; done
code=$(sed -n 's/.*"code":"\([^"]*\)".*/\1/p' sent.txt)
if [ -n "${END_RELAY:-}" ]; then
    (until grep -q '"direct"' sent.txt; do sleep 0.05; done; kill "$relay"; echo ended > relay-ended.txt) &
fi
cd got
far timeout 100 "$PCC" get "$code"
wait "$sender"
"#;

/// The sender's words meanwhile, with two NATs of these kinds between the computers.
fn meet(kinds: [&str; 2], limit: &str, end_relay: bool) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("got")).unwrap();
    let content: Vec<u8> = (0..3_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(dir.path().join("file"), &content).unwrap();
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nats/network");
    let mut command = Command::new(network);
    command.args(kinds).args(["bash", "-c", MEET]).current_dir(dir.path());
    command.env("HOME", dir.path()).env("PCC", PCC).env("LIMIT", limit);
    if end_relay {
        command.env("END_RELAY", "1");
    }
    let done = command.output().expect("bash runs");
    assert!(done.status.success(), "{kinds:?}: {}", said(&done));
    assert!(std::fs::read(dir.path().join("got/file")).unwrap() == content, "{kinds:?}");
    assert_eq!(dir.path().join("relay-ended.txt").exists(), end_relay);
    let told = std::fs::read_to_string(dir.path().join("sent.txt")).unwrap();
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_direct(told: &[Value]) -> bool {
    told.iter().any(|event| event["event"] == "route" && event["direct"].is_string())
}

fn said(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn through_nats_that_keep_their_ports_the_way_is_direct() {
    for kinds in [["full-cone", "full-cone"], ["port-restricted", "port-restricted"], ["full-cone", "symmetric"]] {
        let told = meet(kinds, "5Mbit", false);
        assert!(is_direct(&told), "{kinds:?}: {told:?}");
    }
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn through_symmetric_nats_the_relay_carries_the_file() {
    for kinds in [["symmetric", "symmetric"], ["port-restricted", "symmetric"]] {
        let told = meet(kinds, "50Mbit", false);
        assert!(!is_direct(&told), "{kinds:?}: {told:?}");
        assert!(told.iter().any(|event| event["relay"].is_string()), "{kinds:?}: {told:?}");
    }
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn without_its_relay_a_direct_transfer_goes_on() {
    let told = meet(["port-restricted", "port-restricted"], "5Mbit", true);
    assert_eq!(told.iter().filter(|event| event["event"] == "connected").count(), 1, "{told:?}");
    assert_eq!(told.last().unwrap()["event"], "fetched");
}

/// A program that ends with the test. Somebody reads what it prints as long as it runs.
struct Running(Child, #[expect(dead_code, reason = "it is kept open")] Lines<BufReader<ChildStdout>>);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it, and waits for its first line with this text.
fn start(dir: &Path, args: &[&str], awaited: &str) -> (Running, String) {
    let mut command = Command::new(PCC);
    let mut child = command
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains(awaited)).expect("it says so");
    (Running(child, lines), line)
}

fn pcc(dir: &Path, args: &[&str]) -> Output {
    Command::new(PCC).args(args).current_dir(dir).env("HOME", dir).output().unwrap()
}

#[test]
fn a_code_brings_files_and_folders_and_is_used_then() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("photos/below")).unwrap();
    std::fs::create_dir(dir.path().join("here")).unwrap();
    std::fs::write(dir.path().join("photos/below/a"), "a").unwrap();
    std::fs::write(dir.path().join("b"), "b").unwrap();
    let (_relay, line) = start(dir.path(), &["relay", "-l", "127.0.0.1:0"], "pcc send");
    let relay = line.split_whitespace().nth(3).unwrap();
    let (mut sender, line) = start(dir.path(), &["send", "--relay", relay, "photos", "b"], "pcc get");
    let code = line.split_whitespace().last().unwrap();
    let got = pcc(&dir.path().join("here"), &["get", code]);
    assert!(got.status.success(), "{}", said(&got));
    assert_eq!(std::fs::read(dir.path().join("here/photos/below/a")).unwrap(), b"a");
    assert_eq!(std::fs::read(dir.path().join("here/b")).unwrap(), b"b");
    assert!(sender.0.wait().unwrap().success());
}

#[test]
fn a_mistyped_code_is_refused_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    for (code, reason) in [
        ("k7xm-3pqd-w9ra-t2fh", "typing error"),
        ("k7xm-3pqd-w9ra-t2fh@relay.example.org", "typing error"),
        ("k7xm-3pqd-w9ra-t2f@relay.example.org", "count them"),
        ("k7xm-3pqd-w9ra-t2fu", "`u` is in no code"),
    ] {
        let got = pcc(dir.path(), &["get", code]);
        assert!(got.status.code() == Some(2) && said(&got).contains(reason), "{code}: {}", said(&got));
    }
    let put = pcc(dir.path(), &["put", "x", "0000-0000-0000-0000"]);
    assert_eq!(put.status.code(), Some(2), "{}", said(&put));
}
