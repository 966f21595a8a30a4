//! PCC as `pcc perf` has it: noq with the patches of vendor/, and exact pacing. And noq's own CUBIC there.

use crate::run::{Arrived, Began, announce, socket};
use crate::{CHUNK, CHUNKS_AT_A_TIME, WINDOW, tls};
use anyhow::{Context, Result};
use bytes::Bytes;
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{Endpoint, TransportConfig, VarInt};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

fn config(algorithm: &Algorithm) -> Arc<TransportConfig> {
    let mut config = transport::config(algorithm, &Windows::default());
    let window = VarInt::from_u32(WINDOW);
    config.stream_receive_window(window).receive_window(window).send_window(WINDOW.into());
    Arc::new(config)
}

pub(crate) async fn receive(certificate: &str, key: &str) -> Result<()> {
    let tls = QuicServerConfig::try_from(tls::server(certificate, key)?)?;
    let mut server = noq::ServerConfig::with_crypto(Arc::new(tls));
    server.transport_config(config(&Algorithm::default()));
    let endpoint = Endpoint::new(Default::default(), Some(server), socket()?, PacedRuntime::new()?)?;
    announce(endpoint.local_addr()?)?;
    let connection = endpoint.accept().await.context("the endpoint was closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let (mut arrived, mut chunks) = (Arrived::default(), [const { Bytes::new() }; CHUNKS_AT_A_TIME]);
    while let Some(count) = stream.read_many_chunks(&mut chunks).await? {
        arrived.add(&mut chunks[..count])?;
    }
    arrived.report().await
}

pub(crate) async fn send(certificate: &str, to: SocketAddr, time: Duration, algorithm: Algorithm) -> Result<()> {
    let tls = QuicClientConfig::try_from(tls::client(certificate)?)?;
    let mut client = noq::ClientConfig::new(Arc::new(tls));
    client.transport_config(config(&algorithm));
    let endpoint = Endpoint::new(Default::default(), None, socket()?, PacedRuntime::new()?)?;
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
