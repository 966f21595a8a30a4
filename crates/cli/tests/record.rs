//! `pcc record` as its users run it: through an emulated path, in real time. Its figures are tested in virtual time beside the code.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A server behind an emulated path.
struct Far {
    processes: Vec<Child>,
    address: String,
    fingerprint: String,
    folder: TempDir,
}

impl Far {
    fn behind(link: &str, extra: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (server, listening) =
            started(pcc(folder.path()).args(["perf", "-s", "-p", "0", "-B", "127.0.0.1", "--json-stream"]).args(extra));
        let port = listening["data"]["port"].to_string();
        let fingerprint = listening["data"]["fingerprint"].as_str().unwrap().to_owned();
        let (relay, listening) =
            started(pcc(folder.path()).args(["emulate", link, "--json", "--to", &format!("127.0.0.1:{port}")]));
        let address = listening["listen"].as_str().unwrap().to_owned();
        Self { processes: vec![server, relay], address, fingerprint, folder }
    }

    fn record(&self, arguments: &[&str]) -> Command {
        let (host, port) = self.address.rsplit_once(':').unwrap();
        let mut command = pcc(self.folder.path());
        command.args(["record", host, "-p", port, "--fingerprint", &self.fingerprint]).args(arguments);
        command
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn pcc(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.current_dir(folder).env("XDG_STATE_HOME", folder).stdin(Stdio::null());
    command
}

/// Starts what prints a line of JSON when it is ready.
fn started(command: &mut Command) -> (Child, Value) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().expect("it says where it is").unwrap();
    std::thread::spawn(move || lines.for_each(drop)); // a full pipe would stop it
    (child, serde_json::from_str(&first).unwrap())
}

/// A busy computer adds delay and never takes any away, so only wide bounds hold.
#[test]
fn a_recorded_path_is_near_what_was_emulated() {
    let far = Far::behind("rate=8Mbit,up.rate=3Mbit,rtt=60ms,buffer=60KB", &[]);
    let output = far.record(&["-t", "6", "-o", "home.path", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (way, mbit) in [("up", 3.0), ("down", 8.0)] {
        let found =
            |what: &str| document[way][what]["value"].as_f64().unwrap_or_else(|| panic!("{what}: {document:#}"));
        assert!((found("rate_bps") / 1e6 / mbit - 1.0).abs() < 0.15, "{way}: {document:#}");
        assert!((0.6..1.6).contains(&(found("buffer_bytes") / 60e3)), "{way}: {document:#}");
        assert!(found("loss") < 0.05, "{way}: {document:#}");
    }
    let rtt = document["rtt_ms"]["value"].as_f64().unwrap();
    assert!((59.0..80.0).contains(&rtt), "{document:#}");
    let written = std::fs::read_to_string(far.folder.path().join("home.path")).unwrap();
    assert!(written.starts_with("# The path to 127.0.0.1") && written.contains("rtt="), "{written}");
    // And it is a path for whoever reads one.
    let (mut relay, _) =
        started(pcc(far.folder.path()).args(["emulate", "@home.path", "--json", "--to", "127.0.0.1:9"]));
    relay.kill().unwrap();
    relay.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn an_interrupted_recording_leaves_a_whole_file_or_none() {
    let far = Far::behind("rate=5Mbit,rtt=40ms", &[]);
    for (after, has_file) in [("up: confirms", false), ("up: looks for losses", true)] {
        let mut child =
            far.record(&["-t", "8", "-o", "cut.path"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        lines.find(|line| line.as_ref().unwrap().starts_with(after)).expect("it says so").unwrap();
        // SAFETY: a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) }, 0);
        lines.for_each(drop);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{after}");
        let file = std::fs::read_to_string(far.folder.path().join("cut.path"));
        assert_eq!(file.is_ok(), has_file, "{after}");
        assert!(file.is_ok_and(|text| text.contains("cut short") && text.contains("rtt=")) == has_file, "{after}");
    }
}

#[test]
fn misuse_and_nobody_there_are_told_by_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, code) in [
        (&["127.0.0.1", "-t", "1"][..], 2),
        (&["127.0.0.1", "-o", "a,b"], 2),
        (&["127.0.0.1", "-o", "no/such/folder/file"], 2),
        (&["127.0.0.1", "-p", "1", "--insecure"], 5),
    ] {
        let output = pcc(folder.path()).arg("record").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
    }
}
