//! One file over HTTP/3: a server that sends it, a client that writes it down.

use super::source::Source;
use anyhow::{Context, ensure};
use bytes::{Buf, Bytes};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use http::{Request, Response, StatusCode};
use noq::{Connection, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use pcc_files::off_thread;
use pcc_net::dial::{self, Dialed, Dialer, Family};
use pcc_net::tls::{self, Identity, Trust};
use pcc_net::url::Peer;
use pcc_quic::http3::{self, Requests, ResponseStream};
use pcc_quic::transport::{Windows, tune_send_window};
use pcc_quic::{PacedRuntime, socket};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// Read from the file at a time.
const PART: usize = 256 << 10;

/// A server of one file, for one client.
pub(crate) struct Server {
    endpoint: Endpoint,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// How its client knows it.
    pub(crate) trust: Trust,
    /// The client's connection, once there is one.
    pub(crate) connection: Arc<OnceLock<Connection>>,
}

impl Server {
    /// Starts to serve `file` at a free port of this host.
    pub(crate) fn start(file: Arc<Source>, transport: TransportConfig, windows: Windows) -> anyhow::Result<Self> {
        let identity = Identity::generate()?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls::server(&identity, &[http3::ALPN])?));
        config.transport_config(Arc::new(transport));
        let bound = socket::bind((Ipv4Addr::LOCALHOST, 0).into()).context("cannot open a UDP socket")?;
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), bound.socket, PacedRuntime::new()?)?;
        let address = endpoint.local_addr()?;
        let connection = Arc::new(OnceLock::new());
        let (accepting, known) = (endpoint.clone(), Arc::clone(&connection));
        tokio::spawn(async move {
            if let Err(error) = serve(accepting, &known, file, windows).await {
                tracing::debug!("the server of the race ended: {error:#}");
            }
        });
        Ok(Self { endpoint, address, trust: Trust::Pinned(identity.fingerprint()), connection })
    }

    /// Ends it.
    pub(crate) fn close(&self) {
        self.endpoint.close(VarInt::from_u32(0), b"");
    }
}

async fn serve(
    endpoint: Endpoint,
    known: &OnceLock<Connection>,
    file: Arc<Source>,
    windows: Windows,
) -> anyhow::Result<()> {
    let connection = endpoint.accept().await.context("closed")?.await?;
    tokio::spawn(tune_send_window(connection.weak_handle(), windows));
    let _ = known.set(connection.clone()); // the first one, by construction
    let mut server = http3::server(connection).await?;
    while let Some(request) = server.accept().await? {
        let file = Arc::clone(&file);
        tokio::spawn(async move {
            let (request, stream) = request.resolve_request().await?;
            answer(request.uri().path(), &file, stream).await
        });
    }
    Ok(())
}

async fn answer(path: &str, file: &Source, mut stream: ResponseStream) -> anyhow::Result<()> {
    if path != "/file" {
        stream.send_response(Response::builder().status(StatusCode::NOT_FOUND).body(())?).await?;
        return Ok(stream.finish().await?);
    }
    stream.send_response(Response::builder().header(http::header::CONTENT_LENGTH, file.bytes).body(())?).await?;
    let mut reader = file.reader().take(file.bytes);
    loop {
        let (part, read_on) = off_thread(move || {
            let mut part = vec![0; PART];
            let len = reader.read(&mut part)?;
            part.truncate(len);
            Ok((part, reader))
        })
        .await?;
        if part.is_empty() {
            break;
        }
        reader = read_on;
        stream.send_data(part.into()).await?;
    }
    Ok(stream.finish().await?)
}

/// A client that is connected.
pub(crate) struct Client {
    dialed: Dialed,
    requests: Requests,
}

impl Client {
    /// Connects through `address` to a server that `trust` accepts.
    pub(crate) async fn connect(address: SocketAddr, trust: Trust, transport: TransportConfig) -> anyhow::Result<Self> {
        let transport = Arc::new(transport);
        let dialer = Dialer {
            alpn: &[http3::ALPN],
            trust,
            transport: transport.into(),
            endpoint: EndpointConfig::default(),
            timeout: dial::TIMEOUT,
            family: Family::V4,
            via: Vec::new(),
        };
        let dialed = dialer.dial(&Peer { host: address.ip().to_string(), port: address.port() }).await?;
        let (driver, requests) = http3::client(dialed.connection.clone()).await?;
        tokio::spawn(driver);
        Ok(Self { dialed, requests })
    }

    /// For statistics.
    pub(crate) fn connection(&self) -> Connection {
        self.dialed.connection.clone()
    }

    /// A warning about this host for the user, if there is one.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.dialed.warning.as_deref()
    }

    /// Fetches the file into `copy`, counts what was `received` in order, and answers when the last byte was.
    pub(crate) async fn fetch(&mut self, copy: &mut File, received: &AtomicU64) -> anyhow::Result<Instant> {
        let request = Request::get("https://localhost/file").body(())?;
        let mut stream = self.requests.send_request(request).await?;
        stream.finish().await?;
        let response = stream.recv_response().await?;
        ensure!(response.status() == StatusCode::OK, "the server answered {}", response.status());
        while let Some(mut part) = stream.recv_data().await? {
            let part: Bytes = part.copy_to_bytes(part.remaining());
            received.fetch_add(part.len() as u64, Relaxed);
            copy.write_all(&part).await.context("cannot write the copy; set TMPDIR to a folder with more room")?;
        }
        Ok(Instant::now())
    }

    /// Ends it.
    pub(crate) fn close(&self) {
        self.dialed.endpoint.close(VarInt::from_u32(0), b"");
    }
}
