//! An application that knows quinn and nothing of PCC but docs/library.md: a server sends a file over an emulated path, and
//! a client compares what arrives.
//!
//! `stranger pcc` has the guide's line in the sender, `stranger cubic` does not. `PCC` names the tool whose `emulate` is the path.

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Anyhow<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Far longer than it takes on any machine; only a connection that hangs gets here.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::main]
async fn main() -> Anyhow<()> {
    let mut arguments = std::env::args().skip(1);
    let algorithm = arguments.next().unwrap_or_default();
    let link = arguments.next().unwrap_or_else(|| "lossy".to_owned());
    let bytes: usize = arguments.next().map_or(Ok(20_000_000), |bytes| bytes.parse())?;
    let sender = match algorithm.as_str() {
        "pcc" => pcc(),
        "cubic" => quinn::TransportConfig::default(),
        other => return Err(format!("pcc or cubic, not {other:?}").into()),
    };

    let (server_config, client_config) = trusting_pair(sender)?;
    let server = quinn::Endpoint::server(server_config, ([127, 0, 0, 1], 0).into())?;
    let mut client = quinn::Endpoint::client(([127, 0, 0, 1], 0).into())?;
    client.set_default_client_config(client_config);
    let path = Emulated::path(&link, server.local_addr()?)?;
    let sending = tokio::spawn(send(server, bytes));
    let began = Instant::now();
    let arrived = tokio::time::timeout(PATIENCE, receive(client, path.entrance, bytes)).await??;
    let seconds = began.elapsed().as_secs_f64();
    let (packets, lost) = sending.await??;
    if arrived != content(bytes) {
        return Err(format!("{} of {bytes} bytes arrived, or others", arrived.len()).into());
    }
    let mbit = bytes as f64 * 8e-6 / seconds;
    println!("{algorithm}: {bytes} bytes over {link}, {mbit:.1} Mbit/s, {packets} packets sent, {lost} of them lost");
    Ok(())
}

/// The lines of the guide.
fn pcc() -> quinn::TransportConfig {
    let mut transport = quinn::TransportConfig::default();
    transport.congestion_controller_factory(std::sync::Arc::new(pcc_quinn::PccConfig::default()));
    transport
}

/// TLS as any quinn application has it.
fn trusting_pair(server: quinn::TransportConfig) -> Anyhow<(quinn::ServerConfig, quinn::ClientConfig)> {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = certified.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()).into();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone())?;
    let tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key)?;
    let mut server_config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    server_config.transport_config(Arc::new(server));
    let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok((server_config, quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?))))
}

async fn send(server: quinn::Endpoint, bytes: usize) -> Anyhow<(u64, u64)> {
    let connection = server.accept().await.ok_or("the endpoint was closed")?.await?;
    let mut stream = connection.open_uni().await?;
    stream.write_all(&content(bytes)).await?;
    stream.finish()?;
    connection.closed().await;
    let stats = connection.stats();
    Ok((stats.udp_tx.datagrams, stats.path.lost_packets))
}

async fn receive(client: quinn::Endpoint, path: SocketAddr, bytes: usize) -> Anyhow<Vec<u8>> {
    let connection = client.connect(path, "localhost")?.await?;
    let mut stream = connection.accept_uni().await?;
    let arrived = stream.read_to_end(bytes).await?;
    connection.close(0_u32.into(), b"done");
    client.wait_idle().await;
    Ok(arrived)
}

/// Bytes that tell where they belong.
fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index * 31 + (index >> 8) * 7) as u8).collect()
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
