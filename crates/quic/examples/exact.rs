//! Everything this crate has to offer a sender: exact pacing, buffers and windows for a fast path, and a look at what
//! PCC decides.
//!
//! `cargo run -p pcc-quic --example exact` starts a server and a client in one process and moves 4 MB at 50 Mbit/s.
#![allow(clippy::print_stdout, reason = "it talks to whoever started it")]

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use pcc::observe::{Event, Observer};
use pcc::units::Rate;
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, PccConfig, socket};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

const VOLUME: usize = 4_000_000;

/// Prints each decision.
#[derive(Debug)]
struct Narrator;

impl Observer for Narrator {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Decision { at, state, rate, reason, .. } = event {
            println!("{:6.0} ms  {state:16} {rate:>12}  {reason}", at.as_secs_f64() * 1e3);
        }
    }
}

#[tokio::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = certified.cert.der().clone();
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()).into();

    let mut pcc = PccConfig::default();
    pcc.core.observer = Some(Arc::new(Narrator));
    pcc.core.max_rate = Some(Rate::from_mbit(50.0));
    let transport = transport::config(&Algorithm::Pcc(pcc), &Windows::default());

    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default(); // a build of all crates has two
    let tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate.clone()], key)?;
    let mut config = noq::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let server = endpoint(Some(config))?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(serve(server));

    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let client = endpoint(None)?;
    client.set_default_client_config(noq::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));

    let connection = client.connect(address, "localhost")?.await?;
    let mut stream = connection.accept_uni().await?;
    let received = stream.read_to_end(VOLUME).await?;
    anyhow::ensure!(received == vec![42; VOLUME], "not what was sent");
    connection.close(0_u32.into(), b"done");
    serving.await?
}

/// An endpoint whose packets leave at their times, on a socket with large buffers.
fn endpoint(server: Option<noq::ServerConfig>) -> anyhow::Result<noq::Endpoint> {
    let bound = socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    if let Some(warning) = bound.warning {
        println!("{warning}");
    }
    Ok(noq::Endpoint::new(Default::default(), server, bound.socket, PacedRuntime::new()?)?)
}

async fn serve(endpoint: noq::Endpoint) -> anyhow::Result<()> {
    let Some(incoming) = endpoint.accept().await else { return Ok(()) };
    let connection = incoming.await?;
    tokio::spawn(transport::tune_send_window(connection.weak_handle(), Windows::default()));
    let mut stream = connection.open_uni().await?;
    stream.write_all(&vec![42; VOLUME]).await?;
    stream.finish()?;
    connection.closed().await;
    println!("{} packets sent, {} lost", connection.stats().udp_tx.datagrams, connection.stats().lost_packets);
    Ok(())
}
