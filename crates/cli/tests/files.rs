//! `pcc serve`, `pcc get` and `pcc put` as their users run them, and against an HTTP/3 implementation that is not ours.

mod interop;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "correct-horse";

/// A folder with what a test needs: the server's directory, its identity, and a place for the client.
struct Bench {
    dir: tempfile::TempDir,
}

/// A running `pcc serve`, ended with the test.
struct Server {
    process: Child,
    /// With `/` at the end, and the fragment.
    base: String,
    fragment: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn url(&self, path: &str) -> String {
        format!("{}{path}#{}", self.base, self.fragment)
    }

    fn port(&self) -> &str {
        self.base.trim_end_matches('/').rsplit(':').next().unwrap()
    }
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for sub in ["served", "client"] {
            std::fs::create_dir(dir.path().join(sub)).unwrap();
        }
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        std::fs::write(dir.path().join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(dir.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn pcc(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
        command
            .args(arguments)
            .current_dir(self.path("client"))
            .env("PCC_TOKEN", TOKEN)
            .env("XDG_STATE_HOME", self.path("state"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.pcc(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Serves on `port`; 0 takes a free one.
    fn serve(&self, port: &str, more: &[&str]) -> Server {
        let served = self.path("served");
        let listen = format!("127.0.0.1:{port}");
        let mut process = self
            .pcc(&["serve", served.to_str().unwrap(), "--writable", "--listen", &listen])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.by_ref().map(|line| line.unwrap()).find_map(|line| {
            line.split_whitespace()
                .find(|word| word.contains("https://"))
                .map(|word| word.trim_matches('\'').to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop)); // a full pipe would stop the server
        let url = url.expect("the server prints its URL");
        let (base, fragment) = url.split_once('#').unwrap_or((&url, ""));
        Server { process, base: base.to_owned(), fragment: fragment.to_owned() }
    }

    /// Bytes of which no two stretches are alike.
    fn write(&self, name: &str, size: usize) -> Vec<u8> {
        let words = (0..size.div_ceil(4) as u32).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes());
        let data: Vec<u8> = words.take(size).collect();
        std::fs::write(self.path(name), &data).unwrap();
        data
    }
}

fn said(output: &Output) -> String {
    format!(
        "{:?}: {}{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn last_json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or("")).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

/// Waits until `path` holds at least so many bytes.
fn wait_for(path: impl Fn() -> Option<PathBuf>, bytes: u64) {
    let begun = Instant::now();
    while path().and_then(|path| path.metadata().ok()).is_none_or(|found| found.len() < bytes) {
        assert!(begun.elapsed() < PATIENCE, "the file does not grow");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn files_directories_and_pipes_go_there_and_back() {
    let bench = Bench::new();
    let server = bench.serve("0", &[]);
    let data = bench.write("client/a file", 3_000_000);
    bench.write("client/empty", 0);
    std::fs::create_dir_all(bench.path("client/tree/sub")).unwrap();
    bench.write("client/tree/sub/b", 100_000);
    for (source, url) in [("a file", ""), ("empty", ""), ("tree", "")] {
        let put = bench.run(&["put", source, &server.url(url), "--json"]);
        assert!(put.status.success(), "{source}: {}", said(&put));
        assert_eq!(last_json(&put)["verified"], true);
    }
    let mut piped = bench.pcc(&["put", "-", &server.url("piped")]).stdin(Stdio::piped()).spawn().unwrap();
    piped.stdin.take().unwrap().write_all(&data).unwrap();
    assert!(piped.wait().unwrap().success());

    for (name, copy) in [("a%20file", "copy"), ("piped", "copy2")] {
        let got = bench.run(&["get", &server.url(name), "-o", copy, "--json"]);
        assert!(got.status.success(), "{name}: {}", said(&got));
        let done = last_json(&got);
        assert_eq!(
            (&done["event"], &done["verified"], &done["bytes"]),
            (&json!("done"), &json!(true), &json!(3_000_000))
        );
        assert!(std::fs::read(bench.path("client").join(copy)).unwrap() == data, "{name} is what was put");
    }
    let got = bench.run(&["get", &server.url("tree/"), "-o", "back"]);
    assert!(got.status.success(), "{}", said(&got));
    assert_eq!(std::fs::read(bench.path("client/back/sub/b")).unwrap().len(), 100_000);
    let out = bench.run(&["get", &server.url("a%20file"), "-o", "-", "-q"]);
    assert!(out.stdout == data, "standard output is the file");
}

#[test]
fn download_survives_death_of_either_side_and_flipped_byte() {
    let bench = Bench::new();
    let data = bench.write("served/big", 40_000_000);
    let mut server = bench.serve("0", &["--limit", "80Mbit"]);
    let part = || Some(bench.path("client/.big.pcc-part"));
    let mut client = bench.pcc(&["get", &server.url("big"), "-q"]).spawn().unwrap();
    wait_for(part, 14 << 20);
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(!bench.path("client/big").exists(), "nothing partial under the final name");

    let part = bench.path("client/.big.pcc-part");
    let mut damaged = std::fs::read(&part).unwrap();
    damaged[9_000_000] ^= 1;
    std::fs::write(&part, &damaged).unwrap();
    let client = bench
        .pcc(&["get", &server.url("big"), "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| Some(part.clone()), 20 << 20);
    let port = server.port().to_owned();
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    server = bench.serve(&port, &["--limit", "200Mbit"]);
    let done = client.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    let result = last_json(&done);
    // Blocks of 4 MiB: the third one was damaged, the two before it are good.
    assert_eq!((&result["verified"], &result["resumed_from"]), (&json!(true), &json!(8 << 20)), "{}", said(&done));
    assert!(std::fs::read(bench.path("client/big")).unwrap() == data);
    assert!(!part.exists());
    drop(server);
}

#[test]
fn an_upload_goes_on_where_it_was_killed() {
    let bench = Bench::new();
    let data = bench.write("client/big", 30_000_000);
    let server = bench.serve("0", &[]);
    let unfinished = || {
        let mut entries = std::fs::read_dir(bench.path("served")).unwrap().map(|entry| entry.unwrap().path());
        entries.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(".pcc-upload-"))
    };
    let mut client = bench.pcc(&["put", "big", &server.url(""), "-q", "--limit", "40Mbit"]).spawn().unwrap();
    wait_for(unfinished, 5_000_000);
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(!bench.path("served/big").exists());
    let put = bench.run(&["put", "big", &server.url(""), "--json"]);
    assert!(put.status.success(), "{}", said(&put));
    assert!(last_json(&put)["resumed_from"].as_u64().unwrap() >= 4_000_000, "{}", said(&put));
    assert!(std::fs::read(bench.path("served/big")).unwrap() == data);
}

#[test]
fn what_is_wrong_is_named_with_its_exit_code() {
    let bench = Bench::new();
    bench.write("served/file", 1000);
    bench.write("client/file", 1000);
    let server = bench.serve("0", &[]);
    let wrong_pin = format!("{}file#sha256={}", server.base, "0".repeat(64));
    let secret = bench.path("outside");
    std::fs::write(&secret, "secret").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, bench.path("served/link")).unwrap();
    for (arguments, code, word) in [
        (vec!["get", &server.url("missing")], 1, "missing"),
        (vec!["get", &server.url("link")], 1, "link"),
        (vec!["get", &server.url("%2e%2e/outside"), "-o", "x"], 1, "outside"),
        (vec!["get", &wrong_pin], 1, "certificate"),
        (vec!["get", "https://no-such-host.invalid/file"], 5, "no-such-host.invalid"),
        (vec!["get", "https://127.0.0.1:1/file"], 5, "127.0.0.1:1"),
        (vec!["get", &server.url("file"), "--limit", "100"], 2, "has no unit"),
        (vec!["get", &server.url("file"), "-o", "no/such/folder/file"], 1, "no/such/folder"),
        (vec!["put", "no-such-file", &server.url("")], 1, "no-such-file"),
        (vec!["put", "-", &server.url("")], 2, "standard input has no name"),
    ] {
        let output = bench.run(&arguments);
        let text = said(&output);
        assert!(output.status.code() == Some(code) && text.contains(word), "{arguments:?}: {text}");
    }
    let refused = bench.pcc(&["put", "file", &server.url("new")]).env("PCC_TOKEN", "wrong").output().unwrap();
    assert!(refused.status.code() == Some(1) && said(&refused).contains("token"), "{}", said(&refused));
    assert!(!said(&refused).contains(TOKEN) && !bench.path("served/new").exists());
    assert!(!bench.path("client/x").exists() && !bench.path("client/link").exists());
}

#[test]
fn aioquic_downloads_from_us_whole_and_in_part() {
    let bench = Bench::new();
    let data = bench.write("served/file", 500_000);
    let (cert, key) = (bench.path("cert.pem"), bench.path("key.pem"));
    let server = bench.serve("0", &["--cert", cert.to_str().unwrap(), "--key", key.to_str().unwrap()]);
    let requests = json!([
        {"method": "GET", "path": "/file"},
        {"method": "GET", "path": "/file", "headers": {"range": "bytes=100-199"}},
        {"method": "GET", "path": "/../cert.pem"},
        {"method": "GET", "path": "/nothing"},
    ]);
    let responses = python(
        &bench,
        "client.py",
        &["127.0.0.1", server.port(), bench.path("cert.pem").to_str().unwrap()],
        &requests.to_string(),
    );
    let responses: Vec<Value> = serde_json::from_str(&responses).unwrap_or_else(|error| panic!("{error}: {responses}"));
    let statuses: Vec<_> = responses.iter().map(|response| response["status"].as_u64().unwrap_or(0)).collect();
    assert_eq!((statuses[0], statuses[1], statuses[3]), (200, 206, 404), "{responses:?}");
    assert!(statuses[2] >= 400, "{responses:?}");
    assert_eq!((&responses[0]["length"], &responses[1]["length"]), (&json!(data.len()), &json!(100)));
}

/// Runs a script of `tests/interop` to its end.
fn python(bench: &Bench, script: &str, arguments: &[&str], input: &str) -> String {
    let mut child = interop::script(script)
        .args(arguments)
        .current_dir(bench.path("client"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn we_download_from_aioquic_also_when_it_breaks_off() {
    let bench = Bench::new();
    let data = bench.write("served/file", 2_000_000);
    let files = [bench.path("served/file"), bench.path("cert.pem"), bench.path("key.pem")];
    let server = interop::Server::start(interop::script("server.py").args(files).arg("700000"));
    let port = server.port.clone();
    let (url, ca) = (format!("https://127.0.0.1:{port}/file"), bench.path("cert.pem"));
    let got = bench.run(&["get", &url, "--ca", ca.to_str().unwrap(), "--json"]);
    let missing = bench.run(&["get", &format!("https://127.0.0.1:{port}/missing"), "--ca", ca.to_str().unwrap()]);
    let requests = server.end().join("\n");
    assert!(got.status.success(), "{}\n{requests}", said(&got));
    assert!(std::fs::read(bench.path("client/file")).unwrap() == data);
    // It knows no BLAKE3, and we say so.
    assert_eq!(last_json(&got)["verified"], false, "{}", said(&got));
    assert!(requests.contains("\"range\": \"bytes="), "the rest was asked for, not all again: {requests}");
    assert!(missing.status.code() == Some(1) && said(&missing).contains("does not exist"), "{}", said(&missing));
}
