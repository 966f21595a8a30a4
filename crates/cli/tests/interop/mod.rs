//! Peers that are not ours: scripts on aioquic, a QUIC implementation from PyPI that `make test` installs.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A script of this folder.
pub(crate) fn script(name: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(name));
    command
}

/// A server on a free port of 127.0.0.1; killed when dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: String,
    lines: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Server {
    /// Starts a script that prints its port.
    pub(crate) fn start(script: &mut Command) -> Self {
        let mut process = script.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("python3 runs");
        let mut lines: Lines<BufReader<ChildStdout>> = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.next().expect("aioquic is installed: `make test` does it").unwrap();
        let lines = Some(std::thread::spawn(move || lines.map_while(Result::ok).collect()));
        Self { process, port, lines }
    }

    /// Ends it; what it printed after its port.
    pub(crate) fn end(mut self) -> Vec<String> {
        self.kill();
        self.lines.take().unwrap().join().unwrap()
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
