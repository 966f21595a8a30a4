//! Tunnels from a program to its destination, over loopback.

use core::time::Duration;
use pcc_files::serve::{Options, Server, Token, Tunnels, start};
use pcc_files::{Identity, dialer};
use pcc_net::dial::Transport;
use pcc_net::tls::Trust;
use pcc_net::url::Peer;
use pcc_quic::Algorithm;
use pcc_quic::transport::{self, Windows};
use pcc_tunnel::{Event, Gate, Port, Refused, Rule, Tunnel, Way, serve_port};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "correct-horse";
const IDLE: Duration = Duration::from_secs(3600);

/// A server with tunnels, and a client of it.
struct Bench {
    server: Option<Server>,
    tunnel: Tunnel,
    _dir: tempfile::TempDir,
}

fn server(dir: &std::path::Path, allow: &[&str], most: u32, idle: Duration) -> (Server, Trust) {
    server_of(Identity::generate().unwrap(), 0, dir, allow, most, idle)
}

fn server_of(
    identity: Identity,
    port: u16,
    dir: &std::path::Path,
    allow: &[&str],
    most: u32,
    idle: Duration,
) -> (Server, Trust) {
    let trust = Trust::Pinned(identity.fingerprint());
    let rules = allow.iter().map(|rule| rule.parse::<Rule>().unwrap()).collect();
    let tunnels = Some(Tunnels { token: Token::new(TOKEN), gate: Gate::new(rules, most, idle) });
    let options = Options::new(dir, ([127, 0, 0, 1], port).into(), identity);
    (start(Options { tunnels, ..options }).unwrap(), trust)
}

async fn connect(server: &Server, trust: Trust, token: &str) -> Result<Tunnel, Refused> {
    let (tunnel, kept) = Tunnel::connect(way(server, trust, token)).await?;
    tokio::spawn(kept);
    Ok(tunnel)
}

fn way(server: &Server, trust: Trust, token: &str) -> Way {
    let transport = Transport::from(Arc::new(transport::config(&Algorithm::default(), &Windows::default())));
    let peer = Peer { host: server.address.ip().to_string(), port: server.address.port() };
    Way {
        dialer: dialer(trust, transport),
        peer,
        token: token.to_owned(),
        windows: Windows::default(),
        give_up: Duration::ZERO,
        hear: Arc::new(|event| event.log()),
    }
}

impl Bench {
    async fn new(allow: &[&str]) -> Self {
        Self::with(allow, 100, IDLE).await
    }

    async fn with(allow: &[&str], most: u32, idle: Duration) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (server, trust) = server(dir.path(), allow, most, idle);
        let tunnel = connect(&server, trust, TOKEN).await.unwrap();
        Self { server: Some(server), tunnel, _dir: dir }
    }

    async fn port(&self, port: Port) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve_port(listener, port, self.tunnel.clone(), IDLE));
        address
    }

    /// A connection through the tunnel.
    async fn to(&self, target: SocketAddr) -> TcpStream {
        self.try_to(target).await.unwrap()
    }

    async fn try_to(&self, target: SocketAddr) -> io::Result<TcpStream> {
        let port = self.port(Port::Forward(target.to_string().parse().unwrap())).await;
        TcpStream::connect(port).await
    }
}

/// Sends back what comes, and ends when the client has.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = tcp.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
                let _ = write.shutdown().await;
            });
        }
    });
    address
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("it takes far less")
}

async fn rest(tcp: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut rest = Vec::new();
    in_time(tcp.read_to_end(&mut rest)).await?;
    Ok(rest)
}

/// So many bytes of which no two stretches are alike.
fn data(len: usize) -> Vec<u8> {
    let mut data = vec![0; len];
    blake3::Hasher::new().finalize_xof().fill(&mut data);
    data
}

/// What a client of SOCKS5 hears that asks for this name.
async fn socks(port: SocketAddr, name: &str, target: u16) -> (TcpStream, u8) {
    let mut tcp = TcpStream::connect(port).await.unwrap();
    tcp.write_all(&[5, 2, 2, 0]).await.unwrap();
    let mut method = [0; 2];
    in_time(tcp.read_exact(&mut method)).await.unwrap();
    assert_eq!(method, [5, 0]);
    let mut request = vec![5, 1, 0, 3, name.len() as u8];
    request.extend_from_slice(name.as_bytes());
    request.extend_from_slice(&target.to_be_bytes());
    tcp.write_all(&request).await.unwrap();
    let mut reply = [0; 10];
    in_time(tcp.read_exact(&mut reply)).await.unwrap();
    (tcp, reply[1])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_megabytes_go_there_and_come_back() {
    let bench = Bench::new(&["127.0.0.1:*"]).await;
    let mut tcp = bench.to(echo().await).await;
    let sent = data(100_000_000);
    let digest = blake3::hash(&sent);
    let (mut read, mut write) = tcp.split();
    let back = async {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match read.read(&mut buffer).await.unwrap() {
                0 => return hasher.finalize(),
                length => hasher.update(&buffer[..length]),
            };
        }
    };
    let there = async {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let (back, ()) = timeout(3 * PATIENCE, async { tokio::join!(back, there) }).await.unwrap();
    assert_eq!(back, digest);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_direction_ends_by_itself() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bench = Bench::new(&["127.0.0.1:*"]).await;
    let mut client = bench.to(listener.local_addr().unwrap()).await;
    let (mut far, _) = in_time(listener.accept()).await.unwrap();
    client.write_all(b"question").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(rest(&mut far).await.unwrap(), b"question");
    far.write_all(b"answer").await.unwrap();
    drop(far);
    assert_eq!(rest(&mut client).await.unwrap(), b"answer");

    let mut client = bench.to(listener.local_addr().unwrap()).await;
    let (mut far, _) = in_time(listener.accept()).await.unwrap();
    far.shutdown().await.unwrap();
    assert_eq!(rest(&mut client).await.unwrap(), b"");
    client.write_all(b"afterwards").await.unwrap();
    drop(client);
    assert_eq!(rest(&mut far).await.unwrap(), b"afterwards");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_is_no_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bench = Bench::new(&["127.0.0.1:*"]).await;
    let mut client = bench.to(listener.local_addr().unwrap()).await;
    let (mut far, _) = in_time(listener.accept()).await.unwrap();
    far.write_all(b"half").await.unwrap();
    let mut half = [0; 4];
    in_time(client.read_exact(&mut half)).await.unwrap();
    socket2::SockRef::from(&far).set_linger(Some(Duration::ZERO)).unwrap();
    drop(far);
    assert_eq!(rest(&mut client).await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn socks_clients_hear_why_there_is_no_tunnel() {
    let target = echo().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let bench = Bench::new(&["localhost:*", "nowhere.invalid:80"]).await;
    let port = bench.port(Port::Socks).await;
    let (mut tcp, reply) = socks(port, "localhost", target.port()).await;
    assert_eq!(reply, 0);
    tcp.write_all(b"hello").await.unwrap();
    tcp.shutdown().await.unwrap();
    assert_eq!(rest(&mut tcp).await.unwrap(), b"hello");
    for (name, port_there, expected) in
        [("localhost", closed, 5), ("example.org", 22, 2), ("127.0.0.2", target.port(), 2), ("nowhere.invalid", 80, 4)]
    {
        assert_eq!(socks(port, name, port_there).await.1, expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forward_to_what_is_not_allowed_is_reset() {
    let target = echo().await;
    let bench = Bench::new(&["*:*"]).await;
    // The reset may come before the call that connects has returned.
    let refused = match bench.try_to(target).await {
        Ok(mut client) => rest(&mut client).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_token_or_tunnels_there_is_no_start() {
    let dir = tempfile::tempdir().unwrap();
    let (with_tunnels, trust) = server(dir.path(), &["*:*"], 1, IDLE);
    let refused = connect(&with_tunnels, trust, "wrong-token").await.unwrap_err();
    assert!(matches!(refused, Refused::Token(_)), "{refused}");
    let said = refused.to_string();
    assert!(said.contains("PCC_TOKEN") && !said.contains("wrong-token"), "{said}");

    let identity = Identity::generate().unwrap();
    let trust = Trust::Pinned(identity.fingerprint());
    let files = start(Options::new(dir.path(), ([127, 0, 0, 1], 0).into(), identity)).unwrap();
    let refused = connect(&files, trust, TOKEN).await.unwrap_err();
    assert!(matches!(refused, Refused::NoTunnel(_)) && refused.to_string().contains("--tunnel --allow"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_has_no_more_tunnels_than_it_may() {
    let target = echo().await;
    let bench = Bench::with(&["127.0.0.1:*"], 2, IDLE).await;
    let port = bench.port(Port::Socks).await;
    let (first, reply) = socks(port, "127.0.0.1", target.port()).await;
    let (_second, second) = socks(port, "127.0.0.1", target.port()).await;
    assert_eq!((reply, second, socks(port, "127.0.0.1", target.port()).await.1), (0, 0, 1));
    drop(first);
    in_time(async { while socks(port, "127.0.0.1", target.port()).await.1 != 0 {} }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_tunnel_ends_at_both_sides() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bench = Bench::with(&["127.0.0.1:*"], 1, Duration::from_millis(200)).await;
    let mut client = bench.to(listener.local_addr().unwrap()).await;
    let (mut far, _) = in_time(listener.accept()).await.unwrap();
    assert!(rest(&mut far).await.is_err() && rest(&mut client).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_resets_its_tunnels() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut bench = Bench::new(&["127.0.0.1:*"]).await;
    let mut client = bench.to(listener.local_addr().unwrap()).await;
    let (mut far, _) = in_time(listener.accept()).await.unwrap();
    drop(bench.server.take());
    assert!(rest(&mut client).await.is_err() && rest(&mut far).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_back_has_tunnels_again() {
    let (dir, target) = (tempfile::tempdir().unwrap(), echo().await);
    let identity = || Identity::load(&dir.path().join("cert.pem"), &dir.path().join("key.pem")).unwrap();
    write_identity(dir.path());
    let begin = |port| server_of(identity(), port, dir.path(), &["127.0.0.1:*"], 10, IDLE);
    let (server, trust) = begin(0);
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = told.clone();
    let hear = Arc::new(move |event: Event<'_>| heard.lock().unwrap().push(format!("{event:?}")));
    let (tunnel, kept) = Tunnel::connect(Way { give_up: PATIENCE, hear, ..way(&server, trust, TOKEN) }).await.unwrap();
    tokio::spawn(kept);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap();
    tokio::spawn(serve_port(listener, Port::Forward(target.to_string().parse().unwrap()), tunnel, IDLE));
    let talk = async || {
        let mut tcp = TcpStream::connect(port).await.unwrap();
        tcp.write_all(b"hello").await.unwrap();
        let mut back = [0; 5];
        in_time(tcp.read_exact(&mut back)).await.map(|_| tcp)
    };
    let mut running = talk().await.unwrap();
    let address = server.address;
    drop(server);
    assert!(rest(&mut running).await.is_err(), "a tunnel that breaks is no tunnel that ends");
    let _again = in_time(async {
        loop {
            // The port may be held for a moment longer.
            match std::net::UdpSocket::bind(address) {
                Ok(free) => break drop(free),
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
        begin(address.port())
    })
    .await;
    assert!(talk().await.is_ok(), "{:?}", told.lock().unwrap());
    let told = told.lock().unwrap();
    for word in ["h3", "Remote", "Connection error"] {
        assert!(!told.iter().any(|event| event.contains(word)), "a term of a library: {word}: {told:?}");
    }
    for word in ["Opened", "Broken", "Lost", "Again"] {
        assert!(told.iter().any(|event| event.starts_with(word)), "{word}: {told:?}");
    }
}

fn write_identity(dir: &std::path::Path) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(dir.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}
