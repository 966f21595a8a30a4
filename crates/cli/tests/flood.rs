//! A server under attack: what it holds while clients ask for much and take nothing, and what is left for others.
#![cfg(target_os = "linux")]

use bytes::Buf;
use http::{Request, Response};
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, Endpoint, EndpointConfig, RecvStream, SendStream, VarInt};
use pcc_quic::http3::{self, RequestStream, Requests};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, socket};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// As many as a server takes of one address, and as many requests as it answers at a time on each.
const CONNECTIONS: usize = 64;
const REQUESTS: usize = 16;

/// Requests that a client may have begun at a time.
const STREAMS: usize = 128;

/// A server takes in this time all that it takes at all.
const TAKEN: Duration = Duration::from_secs(2);

/// Addresses that attack: together they have every place.
const ATTACKERS: u8 = 4;

/// The promise of docs/transfer.md.
const MOST_MEMORY_KB: u64 = 500_000; // 512 MB

/// The limit of descriptors that services have by default, and one that a server may raise it to.
const SOFT_LIMIT: usize = 1024;
const HARD_LIMIT: usize = 4096;

/// A download that is measured.
const LARGE: usize = 30_000_000;

/// Far longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Server {
    process: Child,
    address: SocketAddr,
    /// How clients connect that take all they get, and those that take next to nothing.
    eager: ClientConfig,
    stalled: ClientConfig,
    /// The server's words when it began to listen.
    listening: serde_json::Value,
    dir: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Serves `large`, and `many/` with so many files.
    fn start(many: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let served = dir.path().join("served");
        std::fs::create_dir_all(served.join("many")).unwrap();
        std::fs::write(served.join("large"), vec![8; LARGE]).unwrap();
        (0..many).for_each(|number| std::fs::write(served.join(format!("many/{number:0>200}")), "").unwrap());
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
        std::fs::write(&cert, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let mut process = limited(&dir.path().join("served"), &cert, &key);
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let mut trusted = rustls::RootCertStore::empty();
        trusted.add(made.cert.der().clone()).unwrap();
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default(); // a build of all crates has two
        let mut tls = rustls::ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
        tls.alpn_protocols = vec![http3::ALPN.to_vec()];
        let tls = Arc::new(QuicClientConfig::try_from(tls).unwrap());
        let mut eager = ClientConfig::new(tls.clone());
        eager.transport_config(Arc::new(transport::config(&Algorithm::default(), &Windows::default())));
        let mut tiny = transport::config(&Algorithm::default(), &Windows::default());
        tiny.stream_receive_window(VarInt::from_u32(256)).receive_window(VarInt::from_u32(8 << 10));
        let mut stalled = ClientConfig::new(tls);
        stalled.transport_config(Arc::new(tiny));
        let address = first["address"].as_str().unwrap().parse().unwrap();
        Self { process, address, eager, stalled, listening: first, dir }
    }

    fn status(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    /// A new connection from that address, if there is a place.
    async fn enter(&self, endpoint: &Endpoint, config: &ClientConfig) -> Option<(Requests, Connection)> {
        let connecting = endpoint.connect_with(config.clone(), self.address, "localhost").unwrap();
        let connection = timeout(PATIENCE, connecting).await.ok()?.ok()?;
        let (driver, requests) = http3::client(connection.clone()).await.ok()?;
        tokio::spawn(driver);
        Some((requests, connection))
    }

    /// `pcc` with these words, a URL of that path, and what it takes to be let in.
    fn client(&self, words: &[&str], path: &str) -> Command {
        let said = |field: &str| self.listening[field].as_str().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
        command.args(words).arg(format!("https://{}{path}#{}", self.address, said("fingerprint")));
        command.args(["--json", "--give-up", "60s"]).env("PCC_TOKEN", said("token"));
        command.current_dir(self.dir.path()).stdout(Stdio::piped());
        command
    }

    /// Bytes a second of a download by somebody who takes what there is; `None` if the server has no place for them.
    async fn goodput(&self) -> Option<f64> {
        let endpoint = endpoint(Ipv4Addr::LOCALHOST);
        let (mut requests, connection) = self.enter(&endpoint, &self.eager).await?;
        let begun = Instant::now();
        let read = timeout(PATIENCE, async { read(ask(&mut requests, "/large", "*/*").await?).await });
        let (response, bytes) = read.await.ok()?.ok()?;
        let took = begun.elapsed();
        connection.close(0u32.into(), b"");
        (response.status() == 200 && bytes == LARGE).then(|| bytes as f64 / took.as_secs_f64())
    }

    /// The best of several, since other work beside it only ever slows a download down; no more of them once one reaches `enough`.
    async fn best_goodput(&self, tries: usize, enough: f64) -> Option<f64> {
        let mut best: Option<f64> = None;
        for _ in 0..tries {
            let goodput = self.goodput().await;
            best = [best, goodput].into_iter().flatten().max_by(f64::total_cmp);
            if best.is_some_and(|best| best >= enough) {
                break;
            }
        }
        best
    }

    /// Waits until the server has answered what it was asked: it opens and closes nothing more.
    async fn has_answered(&self) {
        let (mut before, mut calm) = (0, 0);
        while calm < 5 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.descriptors();
            calm = if now == before { calm + 1 } else { 0 };
            before = now;
        }
    }
}

fn limited(served: &Path, cert: &Path, key: &Path) -> Child {
    let limits = format!("ulimit -Sn {SOFT_LIMIT} && ulimit -Hn {HARD_LIMIT} && exec \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(limits).arg("sh").arg(env!("CARGO_BIN_EXE_pcc"));
    command
        .args(["serve", "-l", "127.0.0.1:0", "--json", "-q", "--writable", "--cert"])
        .arg(cert)
        .arg("--key")
        .arg(key);
    command.arg(served).stdout(Stdio::piped()).spawn().unwrap()
}

fn endpoint(ip: Ipv4Addr) -> Endpoint {
    let bound = socket::bind((ip, 0).into()).unwrap();
    Endpoint::new(EndpointConfig::default(), None, bound.socket, PacedRuntime::new().unwrap()).unwrap()
}

async fn ask(requests: &mut Requests, path: &str, accept: &str) -> anyhow::Result<RequestStream> {
    let request = Request::get(format!("https://localhost{path}")).header("accept", accept).body(())?;
    let mut stream = requests.send_request(request).await?;
    stream.finish().await?;
    Ok(stream)
}

/// Reads the answer and counts its body.
async fn read(mut stream: RequestStream) -> anyhow::Result<(Response<()>, usize)> {
    let response = stream.recv_response().await?;
    let mut bytes = 0;
    while let Some(part) = stream.recv_data().await? {
        bytes += part.remaining();
    }
    Ok((response, bytes))
}

/// Begins a frame that servers have to skip, and sends as much of it as is taken, but not its end.
async fn begin_frame(connection: Connection) -> Option<(SendStream, RecvStream)> {
    let (mut send, answer) = timeout(TAKEN, connection.open_bi()).await.ok()?.ok()?;
    let header = [0x21, 0x80, 0x00, 0xff, 0xff]; // RFC 9114 §7.2.8, and a length of 65,535
    let _ = timeout(TAKEN, async { send.write_all(&[&header[..], &[0; 65_000]].concat()).await }).await;
    Some((send, answer))
}

/// The acts of an attacker on a connection.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Asks as often as is answered at a time, and takes nothing.
    Stall { path: &'static str, accept: &'static str },
    /// Begins as many requests as it may, and ends none.
    HalfHeads,
}

/// The connections that an attacker has open.
struct Open {
    _requests: Requests,
    connection: Connection,
    _asked: Vec<RequestStream>,
    _begun: Vec<(SendStream, RecvStream)>,
}

impl Kind {
    async fn open(self, server: Arc<Server>, endpoint: Endpoint) -> Option<Open> {
        let (mut requests, connection) = server.enter(&endpoint, &server.stalled).await?;
        let (mut asked, mut begun) = (Vec::new(), Vec::new());
        match self {
            Self::Stall { path, accept } => {
                for _ in 0..REQUESTS {
                    asked.push(ask(&mut requests, path, accept).await.ok()?);
                }
            }
            Self::HalfHeads => {
                let beginning: Vec<_> = (0..STREAMS).map(|_| tokio::spawn(begin_frame(connection.clone()))).collect();
                for one in beginning {
                    begun.extend(one.await.ok()?);
                }
            }
        }
        Some(Open { _requests: requests, connection, _asked: asked, _begun: begun })
    }
}

/// Each of so many addresses opens all the connections it gets.
async fn attack(server: &Arc<Server>, kind: Kind) -> (Vec<Endpoint>, Vec<Open>) {
    let endpoints: Vec<_> = (1..=ATTACKERS).map(|last| endpoint(Ipv4Addr::new(127, 0, 1, last))).collect();
    let mut open = Vec::new();
    for endpoint in &endpoints {
        let opening = (0..CONNECTIONS).map(|_| tokio::spawn(kind.open(server.clone(), endpoint.clone())));
        for opened in opening.collect::<Vec<_>>() {
            open.extend(opened.await.ok().flatten());
        }
    }
    (endpoints, open)
}

#[expect(clippy::print_stderr, reason = "the figures are for whoever reads the log")]
async fn withstands(kind: Kind, many: usize) {
    let server = Arc::new(Server::start(many));
    let alone = server.best_goodput(3, f64::INFINITY).await.expect("nobody else is there");
    let idle = (server.status("VmRSS:"), server.descriptors());
    let (endpoints, attack) = attack(&server, kind).await;
    timeout(PATIENCE, server.has_answered()).await.expect("the server answers");
    let descriptors = server.descriptors();
    // A busy machine slows some of them down, and an attack all.
    let beside = server.best_goodput(12, alone / 2.0).await;
    let peak = server.status("VmHWM:");
    let present = attack.iter().filter(|open| open.connection.close_reason().is_none()).count();
    eprintln!(
        "{kind:?}: {} connections, {present} now; idle {idle:?}; peak {peak} kB, {descriptors} descriptors; \
         goodput alone {alone:.3e} B/s, beside {beside:?}",
        attack.len(),
    );
    assert!(attack.len() >= usize::from(ATTACKERS) * CONNECTIONS * 9 / 10, "most of them came in");
    assert!(peak <= MOST_MEMORY_KB, "{peak} kB");
    assert!(descriptors < HARD_LIMIT * 9 / 10, "{descriptors} descriptors");
    let beside = beside.expect("a newcomer has a place and an answer");
    // Other work on this machine may have begun meanwhile, so its own speed is that of before or after, whichever is less.
    drop((endpoints, attack));
    let alone = alone.min(server.best_goodput(3, alone).await.expect("nobody else is there any more"));
    assert!(beside >= alone / 2.0, "{beside} of {alone} bytes a second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_downloads_leave_room_for_others() {
    withstands(Kind::Stall { path: "/large", accept: "*/*" }, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_listings_leave_room_for_others() {
    withstands(Kind::Stall { path: "/many/", accept: "application/json" }, 2000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_pages_leave_room_for_others() {
    withstands(Kind::Stall { path: "/many/", accept: "text/html" }, 10_000).await; // as many as a page shows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_request_leaves_room_for_others() {
    withstands(Kind::HalfHeads, 0).await;
}

/// The next words of `pcc --json`.
fn event(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> serde_json::Value {
    serde_json::from_str(&lines.next().expect("it says how it ends").unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_and_put_wait_as_long_as_a_full_server_asks() {
    let server = Arc::new(Server::start(0));
    let endpoint = endpoint(Ipv4Addr::LOCALHOST);
    let mut holding = Vec::new();
    for _ in 0..17 {
        // All that one network gets of the requests, and a few more.
        let stall = Kind::Stall { path: "/large", accept: "*/*" };
        holding.push(stall.open(server.clone(), endpoint.clone()).await.expect("a place"));
    }
    timeout(PATIENCE, server.has_answered()).await.expect("the server answers");
    std::fs::write(server.dir.path().join("new"), vec![9; 100_000]).unwrap();
    let clients = [server.client(&["get", "-o", "copy"], "/large"), server.client(&["put", "new"], "/new")];
    let mut clients = clients.map(|mut client| client.spawn().unwrap());
    let mut lines = clients.each_mut().map(|client| BufReader::new(client.stdout.take().unwrap()).lines());
    for lines in &mut lines {
        let told = core::iter::repeat_with(|| event(lines)).find(|event| event["event"] == "retry").unwrap();
        let (wait, reason) = (told["wait_seconds"].as_f64().unwrap(), told["reason"].as_str().unwrap());
        assert!((5.0..6.0).contains(&wait), "{told}");
        assert!(reason.contains("a pause of 5s"), "{told}");
    }
    holding.iter().for_each(|open| open.connection.close(0u32.into(), b""));
    let done =
        lines.each_mut().map(|lines| core::iter::repeat_with(|| event(lines)).find(|event| event["event"] == "done"));
    assert!(done.iter().all(Option::is_some) && clients.iter_mut().all(|client| client.wait().unwrap().success()));
    let read = |name: &str| std::fs::read(server.dir.path().join(name)).unwrap();
    assert!(read("copy") == read("served/large") && read("served/new") == read("new"));
}
