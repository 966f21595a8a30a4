//! PCC in an application that uses noq already: see the line marked below.
//!
//! `cargo run -p pcc-quic --example one_line` starts a server and a client in one process, moves 4 MB and says how fast.
#![allow(clippy::print_stdout, reason = "it talks to whoever started it")]

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

const VOLUME: usize = 4_000_000;

#[tokio::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = certified.cert.der().clone();
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()).into();
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));

    // The sender decides: here the server, which answers with data.
    let mut transport = noq::TransportConfig::default();
    // The one line:
    transport.congestion_controller_factory(Arc::new(pcc_quic::PccConfig::default()));

    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default(); // a build of all crates has two
    let tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate.clone()], key)?;
    let mut config = noq::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let server = noq::Endpoint::server(config, anywhere)?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(serve(server));

    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let client = noq::Endpoint::client(anywhere)?;
    client.set_default_client_config(noq::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));

    let started = Instant::now();
    let connection = client.connect(address, "localhost")?.await?;
    let mut stream = connection.accept_uni().await?;
    let received = stream.read_to_end(VOLUME).await?;
    anyhow::ensure!(received == vec![42; VOLUME], "not what was sent");
    println!("{} bytes in {:.0?}, sent with PCC", received.len(), started.elapsed());
    connection.close(0_u32.into(), b"done");
    serving.await?
}

async fn serve(endpoint: noq::Endpoint) -> anyhow::Result<()> {
    let Some(incoming) = endpoint.accept().await else { return Ok(()) };
    let connection = incoming.await?;
    let mut stream = connection.open_uni().await?;
    stream.write_all(&vec![42; VOLUME]).await?;
    stream.finish()?;
    connection.closed().await;
    Ok(())
}
