//! Requests that clients of `--http` may make, by hand.
#![cfg(target_os = "linux")]

use super::*;
use crate::serve::bounded::LEAST;
use crate::serve::budget::MOST_SENT;
use crate::serve::server::Http;
use std::net::{SocketAddr, TcpStream};

impl Bench {
    /// With a second way in.
    fn over_tcp() -> (Self, SocketAddr) {
        let http = Http { listen: "127.0.0.1:0".parse().unwrap(), tls: false };
        let bench = Self::with_options(Guests::new(256, 64), Privacy::Public, &Algorithm::default(), |options| {
            options.http = Some(http);
        });
        let address = bench.server.tcp.unwrap();
        (bench, address)
    }
}

/// The first line of the answer, and all of it, from a server that closes the connection then.
fn said(address: SocketAddr, request: &str) -> (String, String) {
    use std::io::Read;
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer.lines().next().unwrap_or_default().to_owned(), answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_request_is_refused_and_told() {
    let (mut bench, address) = Bench::over_tcp();
    bench.write("file", 10);
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(100_000));
    let many = format!("GET /file HTTP/1.1\r\nHost: x\r\n{}\r\n", "a: b\r\n".repeat(200));
    for (request, status, method) in [
        ("GET /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200, "GET"),
        ("GET /file HTTP/1.0\r\n\r\n", 200, "GET"),
        ("GET /file HTTP/1.1\r\nConnection: close\r\n\r\n", 400, "GET"),
        ("GET /file HTTP/1.1\r\nConnection: close\r\nHost: x\r\nHost: x\r\n\r\n", 400, "GET"),
        ("GET /file HTTP/1.1\r\nConnection: close\r\nHost: a b/../\r\n\r\n", 400, "GET"),
        ("CONNECT a:22 HTTP/1.1\r\nConnection: close\r\nHost: a:22\r\n\r\n", 405, "CONNECT"),
        ("OPTIONS * HTTP/1.1\r\nConnection: close\r\nHost: x\r\n\r\n", 405, "OPTIONS"),
        ("GET /file HTTP/9.9\r\nHost: x\r\n\r\n", 400, "-"),
        ("G\u{1}T /file HTTP/1.1\r\nHost: x\r\n\r\n", 400, "-"),
        (&long, 414, "-"),
        (&many, 431, "-"),
    ] {
        let shown = &request[..request.len().min(60)];
        let (first, answer) = said(address, request);
        assert!(first.split(' ').nth(1) == Some(&status.to_string()), "{shown:?}: {first}");
        assert_eq!(status == 405, answer.contains("\r\nallow: GET, HEAD\r\n"), "{answer}");
        let line = bench.logged().await;
        assert_eq!((&line["status"], &line["method"]), (&status.into(), &method.into()), "{shown:?}: {line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_tomorrow_was_modified_by_now() {
    let (bench, address) = Bench::over_tcp();
    bench.write("file", 10);
    let file = std::fs::File::options().write(true).open(bench.path("file")).unwrap();
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(1_000_000)).unwrap();
    let (_, answer) = said(address, "HEAD /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let date = |name: &str| {
        let line = answer.lines().find_map(|line| line.strip_prefix(name)).expect("a date");
        httpdate::parse_http_date(line).unwrap()
    };
    assert!(date("last-modified: ") <= date("date: "), "{answer}");
}

/// Bytes that the kernel holds to be sent from this port, by `/proc/net/tcp`.
fn queued(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let of_connection = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let from = fields.get(1)?.split_once(':')?.1;
        let unsent = fields.get(4)?.split_once(':')?.0;
        (u16::from_str_radix(from, 16).ok()? == port).then(|| u64::from_str_radix(unsent, 16).ok())?
    };
    table.lines().filter_map(of_connection).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_kernel_holds_for_stalled_clients_is_bounded() {
    const CLIENTS: u64 = 64;
    let (bench, address) = Bench::over_tcp();
    std::fs::File::create(bench.path("huge")).unwrap().set_len(1 << 40).unwrap();
    let connect = || {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(b"GET /huge HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        connection
    };
    let _stalled: Vec<_> = (0..CLIENTS).map(|_| connect()).collect();
    let settled = async {
        let (mut before, mut now) = (u64::MAX, 0);
        while before != now || now < CLIENTS * LEAST / 4 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            (before, now) = (now, queued(address.port()));
        }
        now
    };
    let held = timeout(PATIENCE, settled).await.expect("they are full");
    // One network has half of the budget; a write that began within it may be the last.
    let (most, write) = (CLIENTS * LEAST + MOST_SENT / 2, CLIENTS * (128 << 10));
    assert!(held <= most + write, "{held} bytes, of {most}");
    assert!(held > MOST_SENT / 4, "{held} bytes: there is room for more");
}
