//! `pcc serve` as a service manager runs it: what it is told, how the server ends, and its log.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "open-sesame-of-the-test";

struct Served {
    dir: tempfile::TempDir,
    server: Child,
    url: String,
    /// The words behind its addresses.
    printed: String,
    /// Kept: a server whose output nobody reads ends.
    _stdout: BufReader<ChildStdout>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Served {
    fn new(arguments: &[&str], prepare: impl FnOnce(&Path, &mut Command)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("served")).unwrap();
        let mut command = pcc(&dir);
        command.args(["serve", "-l", "127.0.0.1:0", "served"]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(dir.path(), &mut command);
        let mut server = command.spawn().unwrap();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        let lines = stdout.by_ref().lines().map_while(Result::ok);
        let mut printed = String::new();
        for line in lines {
            printed += &format!("{line}\n");
            if line.contains("pcc get") {
                break;
            }
        }
        let url = printed.lines().map(str::trim).find(|line| line.starts_with("https://")).expect("a URL").to_owned();
        Self { dir, server, url, printed, _stdout: stdout }
    }

    /// The URL of a name below what is served.
    fn url(&self, name: &str) -> String {
        self.url.replacen('#', &format!("{name}#"), 1)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.server), signal).unwrap();
    }

    fn get(&self, name: &str) -> Output {
        pcc(&self.dir).args(["get", &self.url(name), "--give-up", "1s", "-o", "-"]).output().unwrap()
    }

    /// Its exit code and what it said.
    fn ended(&mut self) -> (Option<i32>, String) {
        let asked = Instant::now();
        let status = until(|| self.server.try_wait().unwrap());
        assert!(asked.elapsed() < PATIENCE);
        let mut said = String::new();
        self.server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status.code(), said)
    }
}

fn pcc(dir: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.current_dir(dir.path()).env("XDG_STATE_HOME", dir.path()).env("XDG_CACHE_HOME", dir.path());
    command.env_remove("PCC_TOKEN").env_remove("NOTIFY_SOCKET");
    command
}

fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn systemd_hears_that_it_is_ready_alive_and_ending() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let hears = |wanted: &str| {
        let mut text = [0; 4096];
        while {
            let length = socket.recv(&mut text).unwrap_or_else(|error| panic!("no {wanted}: {error}"));
            !String::from_utf8_lossy(&text[..length]).lines().any(|line| line == wanted)
        } {}
    };
    let mut served = Served::new(&[], |_, command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "100000");
    });
    ["READY=1", "WATCHDOG=1", "WATCHDOG=1"].into_iter().for_each(hears);
    served.signal(Signal::HUP); // `systemctl reload`, with nothing to open anew
    hears("WATCHDOG=1");
    served.signal(Signal::TERM);
    hears("STOPPING=1");
    assert_eq!(served.ended().0, Some(0));
}

#[test]
fn a_server_that_ends_refuses_and_cuts_off_after_its_grace() {
    let mut served = Served::new(&["--limit", "1Mbit", "--grace", "4s"], |dir, _| {
        std::fs::write(dir.join("served/large"), vec![7; 50_000_000]).unwrap();
    });
    let mut client = pcc(&served.dir);
    client.args(["get", &served.url("large"), "-o", "copy", "--give-up", "1s"]).stderr(Stdio::null());
    let mut client = client.spawn().unwrap();
    let part = |entry: std::fs::DirEntry| {
        entry.file_name().to_string_lossy().contains("copy").then(|| entry.metadata().ok()).flatten()
    };
    let has_bytes =
        || std::fs::read_dir(served.dir.path()).unwrap().flatten().find_map(part).map(|part| part.len() > 0);
    until(|| has_bytes().filter(|has| *has));
    served.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    let late = served.get("large");
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(late.status.code() == Some(1) && said.contains("being stopped"), "{late:?}");
    let (code, said) = served.ended();
    assert!(code == Some(3) && said.contains("--grace 4s"), "{code:?}: {said}");
    let _ = client.kill();
    let _ = client.wait();
}

#[test]
fn the_log_has_each_request_and_no_secret() {
    let mut served = Served::new(&["--log", "access.log", "--private", "--writable"], |dir, command| {
        command.env("PCC_TOKEN", TOKEN);
        std::fs::write(dir.join("served/a file"), "content").unwrap();
    });
    let [log, old] = ["access.log", "access.log.1"].map(|name| served.dir.path().join(name));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    assert!(served.get("a%20file").status.success());
    until(|| read(&log).contains("GET /a%20file HTTP/3.0\" 200 7 ").then_some(()));

    std::fs::rename(&log, &old).unwrap();
    served.signal(Signal::HUP);
    until(|| log.exists().then_some(()));
    std::fs::write(served.dir.path().join("new"), "content").unwrap();
    let mut put = pcc(&served.dir);
    assert!(put.env("PCC_TOKEN", TOKEN).args(["put", "new", &served.url("")]).output().unwrap().status.success());
    until(|| read(&log).contains("PATCH /new HTTP/3.0\" 201 7 ").then_some(()));

    let text = read(&old) + &read(&log);
    let name = served.url.split('/').nth(3).unwrap();
    assert!(name.len() > 20 && !text.contains(name) && !text.contains(TOKEN) && !text.contains('?'), "{text}");
    assert!(text.lines().all(|line| line.starts_with("127.0.0.1 - - [") && line.ends_with('"')), "{text}");
    served.signal(Signal::TERM);
    assert_eq!(served.ended().0, Some(0));
}

/// Asks by HTTP/1.1; the head and the body of the answer.
fn ask(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("{request} HTTP/1.1\r\nhost: test\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    (head.to_owned(), body.to_owned())
}

#[test]
fn totals_for_prometheus_grow_and_never_fall() {
    let served = Served::new(&["--metrics", "0"], |dir, _| {
        std::fs::write(dir.join("served/file"), vec![7; 1_000_000]).unwrap();
    });
    let address = served.printed.lines().find_map(|line| line.trim().strip_prefix("http://")).expect("an address");
    let address = address.strip_suffix("/metrics").unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let page = || {
        let (head, body) = ask(address, "GET /metrics");
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/plain; version=0.0.4"), "{head}");
        body
    };
    let value = |page: &str, series: &str| -> f64 {
        let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {series} in {page}")).parse().unwrap()
    };
    let mut before = page();
    for number in 1..=3 {
        assert!(served.get("file").status.success());
        assert!(served.get("nothing").status.code() == Some(1));
        let gone = until(|| Some(page()).filter(|page| value(page, "pcc_serve_connections") == 0.0));
        for series in before.lines().filter(|line| line.contains("_total") && !line.starts_with('#')) {
            let (series, was) = series.rsplit_once(' ').unwrap();
            assert!(value(&gone, series) >= was.parse().unwrap(), "{series} fell");
        }
        let number = f64::from(number);
        assert_eq!(value(&gone, "pcc_serve_connections_total"), 2.0 * number);
        assert!(value(&gone, "pcc_serve_sent_bytes_total") > number * 1e6);
        assert!(value(&gone, "pcc_serve_requests_total{status=\"2xx\"}") >= number);
        assert!(value(&gone, "pcc_serve_requests_total{status=\"4xx\"}") >= number);
        assert!(value(&gone, "pcc_serve_rtt_seconds_count") >= number);
        before = gone;
    }
    assert!(ask(address, "HEAD /metrics").1.is_empty() && ask(address, "GET /").0.starts_with("HTTP/1.1 404"));
    assert!(ask(address, "POST /metrics").0.starts_with("HTTP/1.1 405"));
}
