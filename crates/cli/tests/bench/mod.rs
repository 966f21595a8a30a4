//! A folder with a server's directory and a client's, and `pcc` in all its parts as its users run it.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// `size` bytes of which no two stretches are alike.
pub(crate) fn data(size: usize, seed: u32) -> Vec<u8> {
    let words = (0..size.div_ceil(4) as u32).flat_map(|n| (n ^ seed << 24).wrapping_mul(0x9e37_79b9).to_le_bytes());
    words.take(size).collect()
}

pub(crate) fn said(output: &Output) -> String {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{:?}: {out}{error}", output.status.code())
}

pub(crate) fn last_json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or("")).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

/// Waits until it is so.
pub(crate) fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to be");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ctrl-C.
#[cfg(unix)]
pub(crate) fn interrupt(process: &Child) {
    let process = rustix::process::Pid::from_child(process);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
}

/// The exit code, and what was said on standard error. Standard output may be a pipe that is not read.
pub(crate) fn end_of(process: &mut Child) -> (Option<i32>, String) {
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            process.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut text = String::new();
    if let Some(mut errors) = process.stderr.take() {
        errors.read_to_string(&mut text).unwrap();
    }
    (status.code(), text)
}

/// Ended with the test.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder for a test.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

/// A running `pcc serve`.
pub(crate) struct Server {
    process: Ended,
    address: String,
    fragment: String,
}

impl Server {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}/{path}#{}", self.address, self.fragment)
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for sub in ["served", "client"] {
            std::fs::create_dir(dir.path().join(sub)).unwrap();
        }
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The names in a directory.
    pub(crate) fn names(&self, dir: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(dir)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn write(&self, name: &str, size: usize) -> Vec<u8> {
        let data = data(size, 0);
        std::fs::write(self.path(name), &data).unwrap();
        data
    }

    pub(crate) fn pcc(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
        command
            .args(arguments)
            .current_dir(self.path("client"))
            .env("XDG_STATE_HOME", self.path("state"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.pcc(arguments).output().unwrap()
    }

    pub(crate) fn serve(&self, more: &[&str]) -> Server {
        let served = self.path("served");
        let mut command = self.pcc(&["serve", served.to_str().unwrap(), "--json", "--listen", "127.0.0.1:0"]);
        let (process, first) = start(command.args(more));
        let listening: Value = serde_json::from_str(&first).unwrap();
        let text = |field: &str| listening[field].as_str().unwrap().to_owned();
        Server { process, address: text("address"), fragment: text("fingerprint") }
    }
}

/// A running `pcc emulate` in front of a server.
pub(crate) struct Relay {
    process: Ended,
    address: String,
}

impl Relay {
    pub(crate) fn start(bench: &Bench, link: &str, server: &Server) -> Self {
        let (process, first) = start(&mut bench.pcc(&["emulate", "--link", link, "--to", &server.address, "--json"]));
        let listening: Value = serde_json::from_str(&first).unwrap();
        Self { process, address: listening["listen"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn url(&self, server: &Server, path: &str) -> String {
        format!("https://{}/{path}#{}", self.address, server.fragment)
    }
}

/// Starts what prints a line when it is ready.
fn start(command: &mut Command) -> (Ended, String) {
    let mut process = Ended(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
    let first = lines.next().expect("it says where it is").unwrap();
    std::thread::spawn(move || lines.for_each(drop)); // a full pipe would stop it
    (process, first)
}
