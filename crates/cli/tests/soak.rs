//! A server that many clients come to and leave, politely or not, for a long time: `make soak`.
//!
//! It works several times for the same time, and rests after each until everything of it has timed out. Descriptors and
//! threads must then be what they were, and the memory that the system gives must have come to a plateau. That is coarse:
//! an allocator keeps tens of megabytes of what was given back, now more and now less. To the kilobyte a test in
//! `src/serve/tests/memory.rs` sees what a connection leaves, which `make soak` runs first.
#![cfg(target_os = "linux")]

use bytes::Buf;
use core::sync::atomic::{AtomicU64, Ordering};
use http::Request;
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, Endpoint, EndpointConfig};
use pcc::units::Rate;
use pcc_quic::http3::{self, RequestStream, Requests};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, socket};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// In a second of work, at the least: 2,000 in ten minutes, as many as it takes to see a leak of a few kilobytes in each.
const CONNECTIONS: u64 = 4;

/// Clients at a time.
const CLIENTS: usize = 16;

/// Longer than the server keeps a connection that went without a word.
const REST: Duration = Duration::from_secs(40);

/// Times that it works and rests. After the first two the allocator has what it ever needs, in the usual run of things.
const ROUNDS: u32 = 5;

/// An allocator's variation without any leak: in rounds without one it kept up to 50 MB more or less than in others.
const SLACK_KB: u64 = 32 << 10;

struct Server {
    process: Child,
    address: SocketAddr,
    config: ClientConfig,
    slow: ClientConfig,
    served: AtomicU64,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The memory of the server's process.
#[derive(Debug)]
struct Held {
    rss_kb: u64,
    descriptors: usize,
    threads: usize,
}

impl Server {
    fn start(dir: &Path) -> Self {
        let served = dir.join("served");
        std::fs::create_dir_all(served.join("many")).unwrap();
        std::fs::write(served.join("small"), vec![7; 10_000]).unwrap();
        std::fs::write(served.join("large"), vec![8; 30_000_000]).unwrap();
        (0..2000).for_each(|number| std::fs::write(served.join(format!("many/{number}")), "").unwrap());
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (cert, key) = (dir.join("cert.pem"), dir.join("key.pem"));
        std::fs::write(&cert, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_pcc"))
            .args(["serve", "-l", "127.0.0.1:0", "--max-per-address", "256", "--json"])
            .arg("--cert")
            .arg(cert)
            .arg("--key")
            .arg(key)
            .arg(served)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let mut trusted = rustls::RootCertStore::empty();
        trusted.add(made.cert.der().clone()).unwrap();
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default(); // a build of all crates has two
        let mut tls = rustls::ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
        tls.alpn_protocols = vec![http3::ALPN.to_vec()];
        let tls = Arc::new(QuicClientConfig::try_from(tls).unwrap());
        let config = |windows| {
            let mut config = ClientConfig::new(tls.clone());
            config.transport_config(Arc::new(transport::config(&Algorithm::default(), &windows)));
            config
        };
        Self {
            process,
            address: first["address"].as_str().unwrap().parse().unwrap(),
            config: config(Windows::default()),
            slow: config(Windows { rate: Rate::from_mbit(1.0), rtt: Duration::ZERO }),
            served: AtomicU64::new(0),
        }
    }

    fn held(&self) -> Held {
        let proc = format!("/proc/{}", self.process.id());
        let status = std::fs::read_to_string(format!("{proc}/status")).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let rss_kb = line.trim().trim_end_matches(" kB").parse().unwrap();
        let count = |what| std::fs::read_dir(format!("{proc}/{what}")).unwrap().count();
        Held { rss_kb, descriptors: count("fd"), threads: count("task") }
    }

    /// Clients come and go until then, and until there were enough of them.
    async fn work(self: &Arc<Self>, until: Instant, least: u64) {
        let clients = (0..CLIENTS).map(|client| {
            let server = self.clone();
            tokio::spawn(async move {
                for visit in client.. {
                    if Instant::now() >= until && server.served.load(Ordering::Relaxed) >= least {
                        return;
                    }
                    // A failure at the end is no news here; that the server lives is seen at the end.
                    let visited = tokio::time::timeout(Duration::from_secs(60), server.visit(visit)).await;
                    if !matches!(visited, Ok(Ok(()))) {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
    }

    /// One connection, in one of eight manners.
    async fn visit(&self, visit: usize) -> anyhow::Result<()> {
        let bound = socket::bind("127.0.0.1:0".parse()?)?;
        let endpoint = Endpoint::new(EndpointConfig::default(), None, bound.socket, PacedRuntime::new()?)?;
        let slow = matches!(visit % 8, 2 | 3);
        let config = if slow { self.slow.clone() } else { self.config.clone() };
        let connection = endpoint.connect_with(config, self.address, "localhost")?.await?;
        self.served.fetch_add(1, Ordering::Relaxed);
        let (driver, mut requests) = http3::client(connection.clone()).await?;
        tokio::spawn(driver);
        match visit % 8 {
            0 => {
                for _ in 0..5 {
                    read(ask(&mut requests, "GET", "/small", "").await?, u64::MAX).await?;
                }
            }
            1 => read(ask(&mut requests, "GET", "/large", "").await?, u64::MAX).await?,
            2 => read(ask(&mut requests, "GET", "/large", "").await?, 300_000).await?,
            3 => {
                let unread = ask(&mut requests, "GET", "/large", "").await?;
                tokio::time::sleep(Duration::from_secs(2)).await;
                drop(unread);
            }
            4 => read(ask(&mut requests, "HEAD", "/large", "").await?, 0).await?,
            5 => read(ask(&mut requests, "GET", "/many/", "application/json").await?, u64::MAX).await?,
            6 => {
                for _ in 0..50 {
                    ask(&mut requests, "GET", "/small", "").await?.stop_sending(h3::error::Code::H3_REQUEST_CANCELLED);
                }
            }
            _ => garbage(&connection).await?,
        }
        if visit % 16 < 8 {
            connection.close(0u32.into(), b"");
            endpoint.wait_idle().await;
        }
        Ok(()) // the others go without a word
    }
}

async fn ask(requests: &mut Requests, method: &str, path: &str, accept: &str) -> anyhow::Result<RequestStream> {
    let request = Request::builder().method(method).uri(format!("https://localhost{path}"));
    let request = request.header("accept", accept).header("want-repr-digest", "blake3=10").body(())?;
    let mut stream = requests.send_request(request).await?;
    stream.finish().await?;
    Ok(stream)
}

/// Reads that much of the body, or all.
async fn read(mut stream: RequestStream, most: u64) -> anyhow::Result<()> {
    stream.recv_response().await?;
    let mut bytes = 0;
    while bytes < most
        && let Some(part) = stream.recv_data().await?
    {
        bytes += part.remaining() as u64;
    }
    Ok(())
}

/// Half a request, which never goes on, and one that is none.
async fn garbage(connection: &Connection) -> anyhow::Result<()> {
    let (mut half, _half) = connection.open_bi().await?;
    half.write_all(&[0x01, 0x20]).await?;
    let (mut noise, mut answer) = connection.open_bi().await?;
    noise.write_all(&[0x04, 0x00]).await?;
    let _ = answer.read_to_end(1000).await;
    Ok(())
}

#[ignore = "takes ten minutes: make soak"]
#[expect(clippy::print_stderr, reason = "whoever waits for ten minutes wants to see something")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_connections_that_are_over() {
    let seconds = std::env::var("SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(600);
    let turn = Duration::from_secs(seconds).saturating_sub(ROUNDS * REST) / ROUNDS;
    let dir = tempfile::tempdir().unwrap();
    let server = Arc::new(Server::start(dir.path()));
    eprintln!("idle: {:?}", server.held());
    let mut rounds = Vec::new();
    for round in 1..=ROUNDS {
        server.work(Instant::now() + turn, u64::from(round) * turn.as_secs() * CONNECTIONS).await;
        let busy = server.held();
        tokio::time::sleep(REST).await;
        let rested = server.held();
        let connections = server.served.load(Ordering::Relaxed);
        eprintln!("{connections} connections; while they came {busy:?}, afterwards {rested:?}");
        rounds.push(rested);
    }
    let Some((last, before)) = rounds.split_last() else { panic!("several rounds") };
    let most = |held: fn(&Held) -> usize| before.iter().map(held).max().unwrap_or(0);
    assert!(last.descriptors <= most(|held| held.descriptors), "{rounds:?}");
    assert!(last.threads <= most(|held| held.threads), "{rounds:?}");
    assert!(last.rss_kb <= before[0].rss_kb.max(before[1].rss_kb) + SLACK_KB, "{rounds:?}");
}
