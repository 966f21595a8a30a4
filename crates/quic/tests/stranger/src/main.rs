//! An application that knows noq and nothing of PCC but docs/library.md: a server sends a file over an emulated path, and
//! a client compares what arrives.
//!
//! `stranger one-line` changes one line of the sender and nothing else; `stranger whole` takes what the guide offers both
//! ends. `PCC` names the tool whose `emulate` is the path.

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::rustls;
use pcc_quic::transport::Windows;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

type Anyhow<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const BYTES: usize = 20_000_000;

/// Far longer than it takes on any machine; only a connection that hangs gets here.
const PATIENCE: Duration = Duration::from_secs(180);

/// Some 5 MB under way, more than the released noq-proto bears unread.
const LONG: &str = "rate=100Mbit,rtt=400ms,loss=0.1%,buffer=2MB";
const LOSSY: &str = "lossy";

#[tokio::main]
async fn main() -> Anyhow<()> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let whole = mode == "whole";
    let (link, server, client) = if whole { (LONG, tuned()?, tuned()?) } else { (LOSSY, plain()?, plain()?) };
    let (server_transport, client_transport) =
        if whole { (everything(), everything()) } else { (one_line(), noq::TransportConfig::default()) };

    let (server_config, client_config) = trusting_pair(server_transport, client_transport)?;
    server.set_server_config(Some(server_config));
    client.set_default_client_config(client_config);
    let path = Emulated::path(link, server.local_addr()?)?;
    let sending = tokio::spawn(send(server));
    let arrived = tokio::time::timeout(PATIENCE, receive(client, path.entrance, whole)).await??;
    let (packets, lost) = sending.await??;
    if arrived != content() {
        return Err(format!("{} of {BYTES} bytes arrived, or others", arrived.len()).into());
    }
    println!("{mode}: {BYTES} bytes over {link}, {packets} packets sent, {lost} of them lost");
    Ok(())
}

/// The one line of the guide.
fn one_line() -> noq::TransportConfig {
    let mut transport = noq::TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(pcc_quic::PccConfig::default()));
    transport
}

/// Windows that fit the path, at both ends.
fn everything() -> noq::TransportConfig {
    pcc_quic::transport::config(&pcc_quic::Algorithm::default(), &Windows::default())
}

fn plain() -> Anyhow<noq::Endpoint> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    Ok(noq::Endpoint::new(Default::default(), None, socket, Arc::new(noq::TokioRuntime))?)
}

/// Large socket buffers and exact pacing.
fn tuned() -> Anyhow<noq::Endpoint> {
    let bound = pcc_quic::socket::bind(([127, 0, 0, 1], 0).into())?;
    Ok(noq::Endpoint::new(Default::default(), None, bound.socket, pcc_quic::PacedRuntime::new()?)?)
}

/// TLS as any noq application has it: rustls finds its cryptography by itself, so there must be exactly one.
fn trusting_pair(
    server: noq::TransportConfig,
    client: noq::TransportConfig,
) -> Anyhow<(noq::ServerConfig, noq::ClientConfig)> {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = certified.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()).into();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone())?;
    let tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key)?;
    let mut server_config = noq::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    server_config.transport_config(Arc::new(server));
    let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let mut client_config = noq::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    client_config.transport_config(Arc::new(client));
    Ok((server_config, client_config))
}

async fn send(server: noq::Endpoint) -> Anyhow<(u64, u64)> {
    let connection = server.accept().await.ok_or("the endpoint was closed")?.await?;
    let mut stream = connection.open_uni().await?;
    stream.write_all(&content()).await?;
    stream.finish()?;
    connection.closed().await;
    let stats = connection.stats();
    Ok((stats.udp_tx.datagrams, stats.lost_packets))
}

/// Behind a lost packet a whole window waits. A late reader lets it wait without luck: it reads when a second brought nothing more.
async fn receive(client: noq::Endpoint, path: SocketAddr, late: bool) -> Anyhow<Vec<u8>> {
    let connection = client.connect(path, "localhost")?.await?;
    let mut stream = connection.accept_uni().await?;
    let (mut before, mut arrived) = (0, connection.stats().udp_rx.bytes);
    while late && arrived > before && connection.close_reason().is_none() {
        tokio::time::sleep(Duration::from_secs(1)).await;
        (before, arrived) = (arrived, connection.stats().udp_rx.bytes);
    }
    let arrived = stream.read_to_end(BYTES).await?;
    connection.close(0_u32.into(), b"done");
    client.wait_idle().await;
    Ok(arrived)
}

/// Bytes that tell where they belong.
fn content() -> Vec<u8> {
    (0..BYTES).map(|index| (index * 31 + (index >> 8) * 7) as u8).collect()
}

/// `pcc emulate`, ended when dropped.
struct Emulated {
    relay: Child,
    entrance: SocketAddr,
}

impl Emulated {
    fn path(link: &str, to: SocketAddr) -> Anyhow<Self> {
        let tool = std::env::var("PCC").map_err(|_| "PCC must name the tool pcc")?;
        let mut relay = Command::new(&tool)
            .args(["emulate", "--link", link, "--to", &to.to_string(), "--time-limit", "10min"])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {tool}: {error}"))?;
        let mut line = String::new();
        BufReader::new(relay.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        // "Relaying 127.0.0.1:40213 to ..."
        let entrance = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        Ok(Self { relay, entrance: entrance.ok_or_else(|| format!("{tool} says {line:?}"))? })
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.relay.kill();
        let _ = self.relay.wait();
    }
}
