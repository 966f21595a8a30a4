//! The client's end: one connection to the server, made again when it is lost.

use crate::event::{Event, Hear};
use crate::pump::{self, Broken, Moved};
use crate::target::Target;
use bytes::Buf;
use core::fmt;
use core::time::Duration;
use h3::error::{ConnectionError, StreamError};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use noq::VarInt;
use pcc_net::backoff::{Backoff, random};
use pcc_net::dial::{DialError, Dialed, Dialer};
use pcc_net::url::Peer;
use pcc_net::{escape_for_terminal, why_lost};
use pcc_quic::http3::{self, RequestStream, Requests};
use pcc_quic::transport::{Windows, tune_send_window};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// How long a tunnel waits for the connection to the server, and for the server's answer: more than the ten seconds in which the
/// server tries the destination.
const OPENING: Duration = Duration::from_secs(20);

/// Bytes of a refusal that are shown.
const LONGEST_REASON: usize = 500;

/// Names no destination, so the answer tells only whether the server knows the token and has tunnels.
const NOWHERE: &str = "pcc.invalid:0";

/// Why there is no tunnel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The server cannot be reached.
    #[error(transparent)]
    Dial(#[from] Box<DialError>),
    /// It does not know the token.
    #[error("{0} does not know this token: set PCC_TOKEN to the token that `pcc serve --tunnel` printed there")]
    Token(Peer),
    /// It serves files, at most.
    #[error("{0} has no tunnel: start it with `pcc serve --tunnel --allow HOST:PORT`")]
    NoTunnel(Peer),
    /// No rule of it allows that.
    #[error("{0} does not allow {1}: whoever runs it can add `--allow {1}`")]
    Forbidden(Peer, Target),
    /// DNS, at the far side.
    #[error("unknown host: the server finds no address for {0}; check the spelling")]
    UnknownHost(Target),
    /// TCP, at the far side.
    #[error("{0} refused the server's connection: nothing listens there")]
    Refused(Target),
    /// DNS, at the far side, is silent or has too much to do.
    #[error(
        "the server found no address for {0} in time: its name servers do not answer, or others wait for them, too"
    )]
    SilentDns(Target),
    /// Silence, at the far side.
    #[error("{0} did not answer the server: is it up, and does a firewall let the server through?")]
    NoAnswer(Target),
    /// The tunnel's own connection is gone, or its answer is missing.
    #[error("lost the connection to {0}: {1}")]
    Lost(Peer, String),
    /// Anything else.
    #[error("{0} answered {1}: {2}")]
    Other(Peer, StatusCode, String),
}

impl Refused {
    /// Whether the server could not be reached.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Dial(error) => error.is_unreachable(),
            Self::Lost(..) => true,
            _ => false,
        }
    }
}

/// One connection to the server.
struct Session {
    dialed: Dialed,
    requests: Requests,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&self.dialed).finish()
    }
}

impl Session {
    /// Why it is gone.
    fn explain(&self, error: &dyn fmt::Display) -> String {
        why_lost(&self.dialed.connection, error)
    }
}

type Driver = Pin<Box<dyn Future<Output = ConnectionError> + Send>>;

/// How a server is reached.
pub struct Way {
    /// How it is connected to.
    pub dialer: Dialer,
    /// Where it is.
    pub peer: Peer,
    /// What it wants of clients.
    pub token: String,
    /// What the connection may have under way.
    pub windows: Windows,
    /// How long to try to come back when the connection is lost.
    pub give_up: Duration,
    /// Hears of what happens.
    pub hear: Hear,
}

impl fmt::Debug for Way {
    /// No secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way").field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// A server through which tunnels lead.
#[derive(Clone)]
pub struct Tunnel {
    peer: Peer,
    hear: Hear,
    credentials: HeaderValue,
    session: watch::Receiver<Option<Arc<Session>>>,
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnel").field("peer", &self.peer).field("session", &self.session).finish_non_exhaustive()
    }
}

/// A tunnel that is open.
pub(crate) struct Opened(pub(crate) RequestStream);

/// Makes the connection again.
struct Keeper {
    dialer: Dialer,
    peer: Peer,
    windows: Windows,
    give_up: Duration,
    hear: Hear,
    session: watch::Sender<Option<Arc<Session>>>,
}

impl Tunnel {
    /// Connects, and asks whether the server knows the token. The future makes the connection again whenever it is lost, and ends
    /// when that was of no use for `give_up`.
    ///
    /// Errors: there is no server, or it lets nobody through.
    pub async fn connect(way: Way) -> Result<(Self, impl Future<Output = Refused> + Send + use<>), Refused> {
        let Way { dialer, peer, token, windows, give_up, hear } = way;
        let (publish, session) = watch::channel(None);
        let mut credentials =
            HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| Refused::Token(peer.clone()))?;
        credentials.set_sensitive(true);
        let keeper = Keeper { dialer, peer: peer.clone(), windows, give_up, hear: hear.clone(), session: publish };
        let mut driver = keeper.open().await?;
        let tunnel = Self { peer, hear, credentials, session };
        tokio::select! {
            answer = tunnel.ask(NOWHERE) => tunnel.judge_entrance(answer?).await?,
            error = &mut driver => return Err(tunnel.lost(&error)),
        }
        Ok((tunnel, keeper.keep(driver)))
    }

    /// The server that was meant.
    pub const fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The connection is gone.
    fn lost(&self, error: &ConnectionError) -> Refused {
        let session = self.session.borrow().clone();
        Refused::Lost(self.peer.clone(), session.map_or_else(|| error.to_string(), |session| session.explain(error)))
    }

    /// Tells whoever runs it.
    pub(crate) fn tell(&self, event: Event<'_>) {
        (self.hear)(event);
    }

    /// Says goodbye. What is on its way is lost.
    pub async fn close(&self) {
        let session = self.session.borrow().clone();
        if let Some(session) = session {
            session.dialed.endpoint.close(NO_ERROR, b"");
            let _ = timeout(GOODBYE, session.dialed.endpoint.wait_idle()).await;
        }
    }

    /// Opens a tunnel to that target.
    pub(crate) async fn open(&self, target: &Target) -> Result<Opened, Refused> {
        let opening = async {
            let (response, stream) = self.ask(&target.to_string()).await?;
            if response.status().is_success() {
                Ok(Opened(stream))
            } else {
                Err(self.explain(target, &response, stream).await)
            }
        };
        timeout(OPENING, opening)
            .await
            .unwrap_or_else(|_| Err(Refused::Lost(self.peer.clone(), format!("no answer within {OPENING:?}"))))
    }

    async fn ask(&self, authority: &str) -> Result<(Response<()>, RequestStream), Refused> {
        let mut session = self.session.clone();
        let found = session.wait_for(Option::is_some).await.ok().and_then(|session| session.clone());
        let Some(session) = found else {
            return Err(Refused::Lost(self.peer.clone(), "it was given up".to_owned()));
        };
        let lost = |error: StreamError| Refused::Lost(self.peer.clone(), session.explain(&error));
        let mut requests = session.requests.clone();
        let uri = Uri::builder().authority(authority).build().unwrap_or_default();
        let mut request = Request::new(());
        (*request.method_mut(), *request.uri_mut()) = (Method::CONNECT, uri);
        request.headers_mut().insert(header::AUTHORIZATION, self.credentials.clone());
        let mut stream = requests.send_request(request).await.map_err(lost)?;
        let response = stream.recv_response().await.map_err(lost)?;
        Ok((response, stream))
    }

    async fn judge_entrance(&self, (response, stream): (Response<()>, RequestStream)) -> Result<(), Refused> {
        match response.status() {
            StatusCode::BAD_REQUEST => Ok(()), // it would have tried, had there been a destination
            StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                Err(Refused::Token(self.peer.clone()))
            }
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED | StatusCode::NOT_FOUND => {
                Err(Refused::NoTunnel(self.peer.clone()))
            }
            status => Err(Refused::Other(self.peer.clone(), status, reason(stream).await)),
        }
    }

    async fn explain(&self, target: &Target, response: &Response<()>, stream: RequestStream) -> Refused {
        let (peer, target) = (self.peer.clone(), target.clone());
        let why = response.headers().get("proxy-status").and_then(|value| value.to_str().ok()).unwrap_or("");
        let is = |error: &str| why.split(';').any(|part| part.trim() == format!("error={error}"));
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => Refused::Token(peer),
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => Refused::NoTunnel(peer),
            StatusCode::FORBIDDEN => Refused::Forbidden(peer, target),
            _ if is("dns_timeout") => Refused::SilentDns(target),
            StatusCode::GATEWAY_TIMEOUT => Refused::NoAnswer(target),
            _ if is("dns_error") => Refused::UnknownHost(target),
            _ if is("connection_refused") => Refused::Refused(target),
            status => Refused::Other(peer, status, reason(stream).await),
        }
    }
}

/// What the server says, for people.
async fn reason(mut stream: RequestStream) -> String {
    let mut said = Vec::new();
    let read = async {
        while said.len() < LONGEST_REASON {
            let Ok(Some(mut data)) = stream.recv_data().await else { break };
            said.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
    };
    let _ = timeout(GOODBYE, read).await;
    said.truncate(LONGEST_REASON);
    escape_for_terminal(String::from_utf8_lossy(&said).trim()).to_string()
}

impl Opened {
    /// Carries bytes until both sides have closed.
    ///
    /// Errors: one side broke, or was silent for `idle`.
    pub(crate) async fn carry(self, tcp: &mut TcpStream, idle: Duration) -> (u64, io::Result<()>) {
        let (sending, receiving) = self.0.split();
        let moved = Moved::default();
        let ended = pump::carry(tcp, sending, receiving, idle, &moved).await;
        (moved.bytes(), ended.map_err(Broken::into_io))
    }
}

/// How long a goodbye, or the reason of a refusal, may take.
const GOODBYE: Duration = Duration::from_millis(500);

/// HTTP/3's code for "all went well" (RFC 9114 §8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

impl Keeper {
    /// Connects, and publishes the connection.
    async fn open(&self) -> Result<Driver, Refused> {
        let dialed = self.dialer.dial(&self.peer).await.map_err(Box::new)?;
        tokio::spawn(tune_send_window(dialed.connection.weak_handle(), self.windows));
        let lost = |reason: String| Refused::Lost(self.peer.clone(), reason);
        let begun = timeout(self.dialer.timeout, http3::client(dialed.connection.clone())).await;
        let begun = begun.map_err(|_| lost("it did not begin to speak HTTP/3".to_owned()))?;
        let (driver, requests) = begun.map_err(|error| lost(why_lost(&dialed.connection, &error)))?;
        self.session.send_replace(Some(Arc::new(Session { dialed, requests })));
        Ok(Box::pin(driver))
    }

    async fn keep(self, mut driver: Driver) -> Refused {
        loop {
            let error = driver.await;
            let lost = self.session.send_replace(None);
            let why = lost.map_or_else(|| error.to_string(), |session| session.explain(&error));
            (self.hear)(Event::Lost { reason: &Refused::Lost(self.peer.clone(), why).to_string() });
            driver = match self.open_again().await {
                Ok(driver) => driver,
                Err(refused) => return refused,
            };
            (self.hear)(Event::Again);
        }
    }

    async fn open_again(&self) -> Result<Driver, Refused> {
        let (begun, mut backoff) = (Instant::now(), Backoff::default());
        loop {
            match self.open().await {
                Ok(driver) => return Ok(driver),
                Err(refused) if begun.elapsed() >= self.give_up || !refused.may_pass() => return Err(refused),
                Err(refused) => tracing::info!("{refused}"),
            }
            tokio::time::sleep(backoff.next(random())).await;
        }
    }
}

impl Refused {
    /// Whether it may be otherwise later.
    fn may_pass(&self) -> bool {
        match self {
            Self::Dial(error) => error.is_unreachable() || error.may_pass(),
            _ => true,
        }
    }
}
