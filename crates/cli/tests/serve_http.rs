//! `pcc serve --http`: the same directory for curl, over TCP.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// A server of 3 MB, and what curl found.
struct Bench {
    dir: tempfile::TempDir,
    server: Child,
    /// The addresses for curl, without a slash at the end.
    url: String,
    data: Vec<u8>,
    _stdout: BufReader<ChildStdout>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Bench {
    fn new(arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut data = vec![0; 3_000_000];
        blake3::Hasher::new().finalize_xof().fill(&mut data);
        std::fs::create_dir(dir.path().join("served")).unwrap();
        std::fs::write(dir.path().join("served/file"), &data).unwrap();
        std::fs::write(dir.path().join("served/small.txt"), "content").unwrap();
        certificate(dir.path());
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
        command.current_dir(dir.path()).env("XDG_STATE_HOME", dir.path()).env("XDG_CACHE_HOME", dir.path());
        command.args(["serve", "served", "-l", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json"]).args(arguments);
        let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let listening: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        let url = listening["http"][0].as_str().unwrap().trim_end_matches('/').replace("127.0.0.1", "localhost");
        Self { dir, server, url, data, _stdout: stdout }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn curl(&self, arguments: &[&str], name: &str) -> Output {
        let mut command = Command::new("curl");
        command.current_dir(self.dir.path()).args([
            "-sS",
            "--noproxy",
            "*",
            "--max-time",
            "60",
            "--cacert",
            "cert.pem",
        ]);
        command.args(arguments).arg(format!("{}/{name}", self.url)).output().expect("curl, which the tests need")
    }

    /// The head of the answer, in lower case.
    fn head(&self, arguments: &[&str], name: &str) -> String {
        let arguments = [&["-o", "/dev/null", "-D", "-"], arguments].concat();
        String::from_utf8(self.curl(&arguments, name).stdout).unwrap().to_lowercase()
    }
}

fn certificate(dir: &Path) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(dir.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

#[test]
fn curl_downloads_and_resumes_and_learns_of_http3() {
    let bench = Bench::new(&["--cert", "cert.pem", "--key", "key.pem"]);
    assert!(bench.url.starts_with("https://"), "{}", bench.url);
    for version in ["--http1.1", "--http2"] {
        std::fs::write(bench.path("copy"), &bench.data[..1_000_000]).unwrap();
        let got = bench.curl(&[version, "-C", "-", "-o", "copy"], "file");
        assert!(got.status.success() && std::fs::read(bench.path("copy")).unwrap() == bench.data, "{version}: {got:?}");
        let head = bench.head(&[version], "file");
        assert!(head.contains("\r\nalt-svc: h3=\":") && head.contains("\r\netag: \""), "{head}");
    }
}

#[test]
fn ranges_versions_and_digests_are_as_over_http3() {
    let bench = Bench::new(&[]);
    assert!(bench.url.starts_with("http://"), "{}", bench.url);
    let head = bench.head(&["-I", "-H", "want-repr-digest: blake3=10"], "file");
    assert!(head.starts_with("http/1.1 200") && head.contains("\r\nrepr-digest: blake3=:"), "{head}");
    assert!(head.contains("\r\ncontent-length: 3000000\r\n") && !head.contains("alt-svc"), "{head}");
    let etag = head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a version").to_owned();

    let part = |fields: &[&str]| bench.curl(&[&["-r", "5-9"], fields].concat(), "file").stdout;
    assert_eq!(part(&["-H", &format!("if-range: {etag}")]), bench.data[5..10]);
    assert!(part(&["-H", "if-range: \"another\""]) == bench.data);
    assert!(bench.head(&["-r", "4000000-"], "file").starts_with("http/1.1 416"));
    assert!(bench.head(&["-H", &format!("if-none-match: {etag}")], "file").starts_with("http/1.1 304"));

    let page = String::from_utf8(bench.curl(&[], "").stdout).unwrap();
    assert!(page.contains("small.txt") && page.contains("<html"), "{page}");
    assert_eq!(bench.curl(&[], "small.txt").stdout, b"content");
    assert!(bench.head(&[], "../secret").starts_with("http/1.1 404"));
    assert!(bench.head(&["--path-as-is"], "../cert.pem").starts_with("http/1.1 404"));
}

#[test]
fn nobody_writes_over_tcp() {
    let bench = Bench::new(&["--writable"]);
    for method in ["PUT", "PATCH", "DELETE", "POST"] {
        let head = bench.head(&["-X", method, "-H", "authorization: Bearer x", "-d", "content"], "new");
        assert!(head.starts_with("http/1.1 405") && head.contains("allow: get, head"), "{method}: {head}");
    }
    assert!(!bench.path("served/new").exists());
}

#[test]
fn connections_over_tcp_count_among_all() {
    use std::net::TcpStream;
    let bench = Bench::new(&["--max-connections", "2", "--max-per-address", "2"]);
    let address = bench.url.rsplit('/').next().unwrap().replace("localhost", "127.0.0.1");
    let connect = || TcpStream::connect(&address).unwrap();
    let _present = [connect(), connect()];
    assert_eq!(connect().read(&mut [0]).unwrap_or(0), 0, "it is closed");
}
