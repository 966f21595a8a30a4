//! s2n-quic as released, with its own CUBIC or with PCC.

use crate::run::{Arrived, Began, announce, socket};
use crate::{CHUNK, CHUNKS_AT_A_TIME, WINDOW};
use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::Provider;
use s2n_quic::provider::io::tokio::Builder;
use s2n_quic::provider::limits::Limits;
use s2n_quic::{Client, Server};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

fn limits() -> Result<Limits> {
    Ok(Limits::new()
        .with_max_send_buffer_size(WINDOW)?
        .with_data_window(WINDOW.into())?
        .with_unidirectional_data_window(WINDOW.into())?)
}

/// One socket for both directions.
fn io() -> Result<s2n_quic::provider::io::tokio::Provider> {
    let socket = socket()?;
    Ok(Builder::default().with_tx_socket(socket.try_clone()?)?.with_rx_socket(socket)?.build()?)
}

pub(crate) async fn receive(certificate: &str, key: &str) -> Result<()> {
    let mut server = Server::builder()
        .with_tls((Path::new(certificate), Path::new(key)))
        .map_err(|error| anyhow!("{error}"))?
        .with_io(io()?)?
        .with_limits(limits()?)?
        .start()?;
    announce(server.local_addr()?)?;
    let mut connection = server.accept().await.context("the server was closed")?;
    let mut stream = connection.accept_receive_stream().await?.context("no stream")?;
    let (mut arrived, mut chunks) = (Arrived::default(), [const { Bytes::new() }; CHUNKS_AT_A_TIME]);
    let mut is_open = true;
    while is_open {
        let count;
        (count, is_open) = stream.receive_vectored(&mut chunks).await?;
        arrived.add(&mut chunks[..count])?;
    }
    arrived.report().await
}

pub(crate) async fn send(
    certificate: &str,
    to: SocketAddr,
    time: Duration,
    controller: impl Provider + 'static,
) -> Result<()> {
    let client = Client::builder()
        .with_tls(Path::new(certificate))
        .map_err(|error| anyhow!("{error}"))?
        .with_io(io()?)?
        .with_limits(limits()?)?
        .with_congestion_controller(controller)
        .map_err(|error| anyhow!("{error}"))?
        .start()?;
    let mut connection = client.connect(Connect::new(to).with_server_name("localhost")).await?;
    let mut stream = connection.open_send_stream().await?;
    let began = Began::now()?;
    while began.elapsed() < time {
        stream.send(Bytes::from_static(CHUNK)).await?;
    }
    stream.close().await?; // when all of it was acknowledged
    began.report()
}
