//! A whole server, in this process, and clients that do what they like.

#[cfg(unix)]
mod attributes;
mod changes;
mod deltas;
mod hostile;
mod memory;
mod over_tcp;
mod transfers;
mod turns;

use super::guests::Guests;
use super::log::{Lines, Log};
use super::{Metrics, Options, Privacy, Server, Token, start};
use bytes::{Buf, Bytes};
use core::time::Duration;
use h3::error::{Code, StreamError};
use http::{HeaderMap, Request, StatusCode};
use noq::{Connection, Endpoint, EndpointConfig, TransportConfig};
use pcc::units::Rate;
use pcc_net::dial::{Dialed, Dialer, Family, TIMEOUT};
use pcc_net::tls::{Identity, Trust};
use pcc_net::url::Peer;
use pcc_quic::http3::{self, RequestStream, Requests};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PccConfig};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Far longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "correct-horse";
const WANTS_DIGEST: [(&str, &str); 1] = [("want-repr-digest", "blake3=10")];

/// A server of the directory `served` below `dir`.
struct Bench {
    dir: tempfile::TempDir,
    server: Server,
    trust: Trust,
    log: mpsc::UnboundedReceiver<String>,
}

/// A client's connection.
struct Client {
    requests: Requests,
    connection: Connection,
    _endpoint: Endpoint,
}

/// An answer, to its end.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    trailers: HeaderMap,
}

/// Hands each line on.
struct Lined(mpsc::UnboundedSender<String>);

impl Write for Lined {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(text).into_owned());
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Bench {
    fn new() -> Self {
        Self::with(Guests::new(256, 64), Privacy::Public, &Algorithm::default())
    }

    /// Sends no faster than that.
    fn limited(rate: Rate) -> Self {
        let Algorithm::Pcc(PccConfig { mut core, .. }) = Algorithm::default() else { panic!("the default is PCC") };
        core.max_rate = Some(rate);
        Self::with(Guests::new(256, 64), Privacy::Public, &Algorithm::Pcc(core.into()))
    }

    fn with(guests: Guests, privacy: Privacy, algorithm: &Algorithm) -> Self {
        Self::with_options(guests, privacy, algorithm, |_| ())
    }

    fn with_options(
        guests: Guests,
        privacy: Privacy,
        algorithm: &Algorithm,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let algorithm = algorithm.clone();
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("served")).unwrap();
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        let identity = Identity::generate().unwrap();
        let trust = Trust::Pinned(identity.fingerprint());
        let (lines, log) = mpsc::unbounded_channel();
        let mut options = Options {
            root: dir.path().join("served"),
            listen: "127.0.0.1:0".parse().unwrap(),
            identity,
            privacy,
            token: Some(Token::new(TOKEN)),
            same_user: false,
            may_delete: false,
            tunnels: None,
            transport: Arc::new(move |_, windows| transport::config(&algorithm, windows)),
            guests,
            log: Log::to(io::LineWriter::new(Lined(lines)), Lines::Json).0,
            metrics: Metrics::default(),
            http: None,
        };
        change(&mut options);
        let server = start(options).unwrap();
        Self { dir, server, trust, log }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("served").join(name)
    }

    /// A file of which no two stretches are alike.
    fn write(&self, name: &str, size: usize) -> Vec<u8> {
        let mut data = vec![0; size];
        blake3::Hasher::new().finalize_xof().fill(&mut data);
        std::fs::write(self.path(name), &data).unwrap();
        data
    }

    /// Connects, if there is a place.
    async fn enter(&self, windows: Windows) -> Option<Dialed> {
        self.enter_with(transport::config(&Algorithm::default(), &windows)).await
    }

    async fn enter_with(&self, transport: TransportConfig) -> Option<Dialed> {
        let dialer = Dialer {
            alpn: &[http3::ALPN],
            trust: self.trust.clone(),
            transport: Arc::new(transport).into(),
            endpoint: EndpointConfig::default(),
            timeout: TIMEOUT,
            family: Family::Any,
            via: Vec::new(),
        };
        let peer = Peer { host: "127.0.0.1".to_owned(), port: self.server.address.port() };
        dialer.dial(&peer).await.ok()
    }

    async fn client_with(&self, windows: Windows) -> Client {
        let Dialed { endpoint, connection, .. } = self.enter(windows).await.expect("a place");
        let (driver, requests) = http3::client(connection.clone()).await.unwrap();
        tokio::spawn(driver);
        Client { requests, connection, _endpoint: endpoint }
    }

    async fn client(&self) -> Client {
        self.client_with(Windows::default()).await
    }

    /// A client that the server has answered; it tries until there is a place.
    async fn client_with_place(&self) -> Client {
        loop {
            let Some(Dialed { endpoint, connection, .. }) = self.enter(Windows::default()).await else { continue };
            let Ok((driver, requests)) = http3::client(connection.clone()).await else { continue };
            tokio::spawn(driver);
            let mut client = Client { requests, connection, _endpoint: endpoint };
            if client.ask("GET", "/file", &[]).await.is_ok() {
                return client;
            }
        }
    }

    /// A client that takes no more than a megabyte ahead of its reader.
    async fn slow_client(&self) -> Client {
        self.client_with(Windows { rate: Rate::from_mbit(1.0), rtt: Duration::ZERO }).await
    }

    /// The next request that is done.
    async fn logged(&mut self) -> serde_json::Value {
        let mut text = String::new();
        while !text.ends_with('\n') {
            text += &timeout(PATIENCE, self.log.recv()).await.expect("a line").expect("the server runs");
        }
        serde_json::from_str(&text).unwrap()
    }
}

impl Client {
    async fn begin(&mut self, method: &str, path: &str, fields: &[(&str, &str)]) -> Result<RequestStream, StreamError> {
        let mut request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut stream = self.requests.send_request(request.body(()).unwrap()).await?;
        match stream.finish().await {
            Ok(()) | Err(StreamError::RemoteTerminate { .. }) => Ok(stream), // an answer may come before the end
            Err(error) => Err(error),
        }
    }

    async fn ask(&mut self, method: &str, path: &str, fields: &[(&str, &str)]) -> Result<Answer, StreamError> {
        let mut stream = self.begin(method, path, fields).await?;
        timeout(PATIENCE, read(&mut stream)).await.expect("an answer")
    }
}

async fn read(stream: &mut RequestStream) -> Result<Answer, StreamError> {
    let (head, ()) = stream.recv_response().await?.into_parts();
    let mut body = Vec::new();
    while let Some(part) = stream.recv_data().await? {
        body.extend_from_slice(&Bytes::from_owner(take(part)));
    }
    let trailers = stream.recv_trailers().await?.unwrap_or_default();
    Ok(Answer { status: head.status, headers: head.headers, body, trailers })
}

fn take(mut part: impl Buf) -> Bytes {
    part.copy_to_bytes(part.remaining())
}

fn digest_field(data: &[u8]) -> String {
    crate::wire::digest_field(&blake3::hash(data))
}
