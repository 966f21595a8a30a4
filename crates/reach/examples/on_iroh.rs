//! PCC in an application that uses iroh already: see the line marked below.
//!
//! `cargo run -p pcc-reach --example on_iroh` starts two endpoints in one process and moves 4 MB.
#![allow(clippy::print_stdout, reason = "it talks to whoever started it")]

use iroh::endpoint::{PathId, QuicTransportConfig, presets};
use iroh::{Endpoint, RelayMode};
use std::sync::Arc;

const VOLUME: usize = 4_000_000;
const ALPN: &[u8] = b"example";

#[tokio::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let transport = QuicTransportConfig::builder()
        // The one line:
        .congestion_controller_factory(Arc::new(pcc_quic::PccConfig::default()))
        .build();
    // The sender decides: here the endpoint that accepts.
    let sender = endpoint(transport).await?;
    let receiver = endpoint(QuicTransportConfig::default()).await?;
    let port = sender.bound_sockets().iter().find(|socket| socket.is_ipv4()).map_or(0, |socket| socket.port());
    let to = iroh::EndpointAddr::new(sender.id()).with_ip_addr(([127, 0, 0, 1], port).into());
    let sending = tokio::spawn(send(sender));

    let connection = receiver.connect(to, ALPN).await?;
    let received = connection.accept_uni().await?.read_to_end(VOLUME).await?;
    anyhow::ensure!(received == vec![42; VOLUME], "not what was sent");
    println!("{} bytes, sent with PCC", received.len());
    connection.close(0_u32.into(), b"done");
    receiver.close().await;
    sending.await?
}

/// An endpoint that contacts nobody.
async fn endpoint(transport: QuicTransportConfig) -> anyhow::Result<Endpoint> {
    let builder = Endpoint::builder(presets::Minimal).relay_mode(RelayMode::Disabled);
    Ok(builder.alpns(vec![ALPN.to_vec()]).transport_config(transport).bind().await?)
}

async fn send(endpoint: Endpoint) -> anyhow::Result<()> {
    let Some(incoming) = endpoint.accept().await else { return Ok(()) };
    let connection = incoming.await?;
    let controller = connection.congestion_state(PathId::ZERO);
    let sets_a_rate = controller.is_some_and(|controller| controller.metrics().pacing_rate.is_some());
    anyhow::ensure!(sets_a_rate, "PCC is in charge: iroh's own controller leaves the rate to the pacer");
    let mut stream = connection.open_uni().await?;
    stream.write_all(&vec![42; VOLUME]).await?;
    stream.finish()?;
    connection.closed().await;
    endpoint.close().await;
    Ok(())
}
