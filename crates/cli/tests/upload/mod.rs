//! A server that takes uploads, clients, and a bad network between them.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with a directory that is served and one for the client.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

/// A process that ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `pcc serve --writable --json`.
pub(crate) struct Server {
    pub(crate) process: Running,
    pub(crate) port: u16,
    fragment: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    pub(crate) fn url(&self, path: &str) -> String {
        self.url_by(self.port, path)
    }

    /// By way of another port.
    pub(crate) fn url_by(&self, port: u16, path: &str) -> String {
        format!("https://127.0.0.1:{port}/{path}#{}", self.fragment)
    }

    /// The requests that are done.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    /// Bytes of bodies that arrived.
    pub(crate) fn received(&self) -> u64 {
        self.requests().iter().map(|request| request["bytes"].as_u64().unwrap()).sum()
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

    pub(crate) fn pcc(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
        command
            .args(arguments)
            .current_dir(self.path("client"))
            .env("PCC_TOKEN", "correct-horse")
            .env("XDG_STATE_HOME", self.path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.pcc(arguments).output().unwrap()
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Running {
        Running(self.pcc(arguments).spawn().unwrap())
    }

    /// Serves on `port`; 0 takes a free one.
    pub(crate) fn serve(&self, port: u16) -> Server {
        self.serve_at(port, &[])
    }

    /// Serves with these options, too.
    pub(crate) fn serve_with(&self, options: &[&str]) -> Server {
        self.serve_at(0, options)
    }

    fn serve_at(&self, port: u16, options: &[&str]) -> Server {
        let (served, listen) = (self.path("served"), format!("127.0.0.1:{port}"));
        let arguments = ["serve", served.to_str().unwrap(), "--writable", "--json", "--listen", &listen];
        let mut process = Running(self.pcc(&[&arguments[..], options].concat()).stderr(Stdio::null()).spawn().unwrap());
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let first: Value = serde_json::from_str(&lines.next().expect("the server starts").unwrap()).unwrap();
        let url = first["urls"][0].as_str().unwrap();
        let address = first["address"].as_str().unwrap();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                log.lock().unwrap().extend(serde_json::from_str(&line));
            }
        });
        let fragment = url.split_once('#').unwrap().1.to_owned();
        Server { process, port, fragment, requests }
    }

    /// A path with these properties to the server, and its port.
    pub(crate) fn emulate(&self, link: &str, server: &Server) -> (Running, u16) {
        let to = format!("127.0.0.1:{}", server.port);
        let arguments = ["emulate", "--link", link, "--listen", "127.0.0.1:0", "--to", &to];
        let mut process = Running(self.pcc(&arguments).stderr(Stdio::null()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().nth(1).unwrap_or_else(|| panic!("`{link}`: {line}"));
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        (process, port)
    }

    /// Bytes of which no two stretches are alike.
    pub(crate) fn write(&self, name: &str, size: usize) -> Vec<u8> {
        let words = (0..size.div_ceil(4) as u32).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes());
        let data: Vec<u8> = words.take(size).collect();
        std::fs::write(self.path(name), &data).unwrap();
        data
    }

    /// The unfinished uploads beside what is served.
    pub(crate) fn unfinished(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path("served")).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(".pcc-upload-")).collect()
    }

    /// Bytes of the unfinished upload; 0 without one.
    pub(crate) fn unfinished_bytes(&self) -> u64 {
        self.unfinished().first().and_then(|path| path.metadata().ok()).map_or(0, |found| found.len())
    }
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{:?}: {out}{err}", output.status.code())
}

/// The lines of `--json`.
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{}", said(output)))).collect()
}
