//! quinn as released, with its own CUBIC or with PCC.

use crate::run::{Arrived, Began, announce, socket};
use crate::{CHUNK, CHUNKS_AT_A_TIME, WINDOW, tls};
use anyhow::{Context, Result};
use bytes::Bytes;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Endpoint, TokioRuntime, TransportConfig, VarInt};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

fn config() -> TransportConfig {
    let mut config = TransportConfig::default();
    let window = VarInt::from_u32(WINDOW);
    config.stream_receive_window(window).receive_window(window).send_window(WINDOW.into());
    config
}

pub(crate) async fn receive(certificate: &str, key: &str) -> Result<()> {
    let tls = QuicServerConfig::try_from(tls::server(certificate, key)?)?;
    let mut server = quinn::ServerConfig::with_crypto(Arc::new(tls));
    server.transport_config(Arc::new(config()));
    let endpoint = Endpoint::new(Default::default(), Some(server), socket()?, Arc::new(TokioRuntime))?;
    announce(endpoint.local_addr()?)?;
    let connection = endpoint.accept().await.context("the endpoint was closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let (mut arrived, mut chunks) = (Arrived::default(), [const { Bytes::new() }; CHUNKS_AT_A_TIME]);
    while let Some(count) = stream.read_chunks(&mut chunks).await? {
        arrived.add(&mut chunks[..count])?;
    }
    arrived.report().await
}

pub(crate) async fn send(certificate: &str, to: SocketAddr, time: Duration, with_pcc: bool) -> Result<()> {
    let mut transport = config();
    if with_pcc {
        transport.congestion_controller_factory(Arc::new(pcc_quinn::PccConfig::default()));
    }
    let tls = QuicClientConfig::try_from(tls::client(certificate)?)?;
    let mut client = quinn::ClientConfig::new(Arc::new(tls));
    client.transport_config(Arc::new(transport));
    let endpoint = Endpoint::new(Default::default(), None, socket()?, Arc::new(TokioRuntime))?;
    let connection = endpoint.connect_with(client, to, "localhost")?.await?;
    let mut stream = connection.open_uni().await?;
    let began = Began::now()?;
    while began.elapsed() < time {
        stream.write_chunk(Bytes::from_static(CHUNK)).await?;
    }
    stream.finish()?;
    stream.stopped().await?; // when all of it was acknowledged
    began.report()
}
