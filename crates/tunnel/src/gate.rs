//! The server's end: connects to what the rules allow, and carries bytes there.

use crate::pump::{self, Broken, Moved};
use crate::rules::Rules;
use crate::target::{Host, Target};
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use http::{Request, StatusCode};
use pcc_net::look_up;
use pcc_quic::http3::ResponseStream;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// From a request to its connection: resolving the name, and trying its addresses.
const CONNECT: Duration = Duration::from_secs(10);

/// Addresses of a host that are tried.
const MOST_ADDRESSES: usize = 4;

/// Who may have tunnels, whereto, and how many. Who asks has shown a token before.
#[derive(Debug)]
pub struct Gate {
    rules: Rules,
    most_of_one: u32,
    idle: Duration,
    held: Arc<Mutex<HashMap<IpAddr, u32>>>,
}

/// A connection to a target.
#[derive(Debug)]
pub struct Tried {
    tcp: TcpStream,
    idle: Duration,
    _place: Place,
}

/// A tunnel that ended.
#[derive(Debug)]
pub struct Done {
    /// In both directions.
    pub bytes: u64,
    /// Why it ended before both sides had closed it.
    pub broken: Option<io::Error>,
}

/// Why there is no connection to a target.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The request names no target, or is no plain CONNECT.
    #[error("CONNECT needs a destination such as host:22")]
    NoTarget,
    /// No rule.
    #[error("{0} is not allowed here: `pcc serve --tunnel --allow {0}` allows it")]
    Forbidden(Target),
    /// DNS.
    #[error("unknown host: {0} has no address")]
    UnknownHost(Target),
    /// TCP.
    #[error("could not connect to {0}: {1}")]
    Failed(Target, io::ErrorKind),
    /// DNS is silent, or it was not the look-up's turn yet.
    #[error("no address was found for {0} within {CONNECT:?}: the name servers are slow, or other look-ups came first")]
    SilentDns(Target),
    /// Silence.
    #[error("{0} did not answer within {CONNECT:?}")]
    NoAnswer(Target),
    /// Too many.
    #[error("{0} tunnels of this network are open, and no more are allowed: close some")]
    Full(u32),
}

impl Problem {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NoTarget => StatusCode::BAD_REQUEST,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::UnknownHost(_) | Self::Failed(..) => StatusCode::BAD_GATEWAY,
            Self::SilentDns(_) | Self::NoAnswer(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::Full(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The field Proxy-Status of the answer (RFC 9209 §2.3).
    pub fn proxy_status(&self) -> &'static str {
        match self {
            Self::NoTarget => "pcc; error=http_protocol_error",
            Self::Forbidden(_) => "pcc; error=destination_ip_prohibited",
            Self::UnknownHost(_) => "pcc; error=dns_error",
            Self::Failed(_, io::ErrorKind::ConnectionRefused) => "pcc; error=connection_refused",
            Self::Failed(..) => "pcc; error=destination_ip_unroutable",
            Self::SilentDns(_) => "pcc; error=dns_timeout",
            Self::NoAnswer(_) => "pcc; error=connection_timeout",
            Self::Full(_) => "pcc; error=connection_limit_reached",
        }
    }
}

/// One of the tunnels that a network may have.
#[derive(Debug)]
struct Place {
    network: IpAddr,
    held: Arc<Mutex<HashMap<IpAddr, u32>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = held.get_mut(&self.network) {
            *number -= 1;
            if *number == 0 {
                held.remove(&self.network);
            }
        }
    }
}

impl Gate {
    /// Allows what `rules` do, `most_of_one` tunnels of each network at a time, and ends a tunnel without data after `idle`.
    pub fn new(rules: Rules, most_of_one: u32, idle: Duration) -> Self {
        Self { rules, most_of_one, idle, held: Arc::default() }
    }

    /// Connects to what the request names. The answer of success is the caller's to send.
    ///
    /// A look-up of a name cannot be stopped, and outlives the request where no name server answers. It begins when its `turn` has
    /// come, and holds the turn until it is done: so the caller bounds how many there are.
    pub async fn connect<B, T: Send + 'static>(
        &self,
        network: IpAddr,
        request: &Request<B>,
        turn: impl Future<Output = T>,
    ) -> Result<Tried, Problem> {
        let is_extended = request.extensions().get::<h3::ext::Protocol>().is_some();
        let named = request.uri().authority().filter(|_| !is_extended);
        let target: Target = named.and_then(|named| named.as_str().parse().ok()).ok_or(Problem::NoTarget)?;
        let place = self.place(network)?;
        if !self.rules.may_allow(&target) {
            return Err(Problem::Forbidden(target));
        }
        let end = Instant::now() + CONNECT;
        let Ok(addresses) = timeout_at(end, self.addresses(&target, turn)).await else {
            return Err(Problem::SilentDns(target));
        };
        let Ok(tried) = timeout_at(end, try_addresses(&target, addresses?)).await else {
            return Err(Problem::NoAnswer(target));
        };
        let tcp = tried?;
        pump::reset_at_close(&tcp, true);
        // Small writes of interactive programs leave at once. It is only slower without.
        let _ = tcp.set_nodelay(true);
        Ok(Tried { tcp, idle: self.idle, _place: place })
    }

    fn place(&self, network: IpAddr) -> Result<Place, Problem> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let number = held.entry(network).or_default();
        if *number >= self.most_of_one {
            return Err(Problem::Full(*number));
        }
        *number += 1;
        Ok(Place { network, held: self.held.clone() })
    }

    /// Those that the rules allow, of all that the target has: they are connected to as they are, without asking DNS again.
    async fn addresses<T: Send + 'static>(
        &self,
        target: &Target,
        turn: impl Future<Output = T>,
    ) -> Result<Vec<SocketAddr>, Problem> {
        let found = match &target.host {
            Host::Address(address) => vec![(*address, target.port).into()],
            Host::Name(name) => {
                let found = look_up(name, target.port, turn.await).await;
                found.map_err(|_| Problem::UnknownHost(target.clone()))?
            }
        };
        let allowed: Vec<_> = found.into_iter().filter(|found| self.rules.allow(target, found.ip())).collect();
        if allowed.is_empty() {
            return Err(Problem::Forbidden(target.clone()));
        }
        Ok(allowed.into_iter().take(MOST_ADDRESSES).collect())
    }
}

async fn try_addresses(target: &Target, addresses: Vec<SocketAddr>) -> Result<TcpStream, Problem> {
    let mut why = io::ErrorKind::AddrNotAvailable;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(tcp) => return Ok(tcp),
            Err(error) => why = error.kind(),
        }
    }
    Err(Problem::Failed(target.clone(), why))
}

impl Tried {
    /// Carries bytes until both sides have closed, or one broke.
    pub async fn carry(mut self, stream: ResponseStream) -> Done {
        let (sending, receiving) = stream.split();
        let moved = Moved::default();
        let ended = pump::carry(&mut self.tcp, sending, receiving, self.idle, &moved).await;
        Done { bytes: moved.bytes(), broken: ended.err().map(Broken::into_io) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::future::{pending, ready};
    use http::Method;

    const NETWORK: IpAddr = IpAddr::V4(core::net::Ipv4Addr::LOCALHOST);

    fn gate(rule: &str) -> Gate {
        Gate::new([rule.parse().unwrap()].into_iter().collect(), 1, Duration::from_secs(1))
    }

    fn connect(target: &str) -> Request<()> {
        Request::builder().method(Method::CONNECT).uri(target).body(()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_whose_turn_never_comes_is_refused_in_time() {
        let gate = gate("*:*");
        let refused = gate.connect(NETWORK, &connect("host.example.org:80"), pending::<()>()).await.unwrap_err();
        assert_eq!((refused.status(), refused.proxy_status()), (StatusCode::GATEWAY_TIMEOUT, "pcc; error=dns_timeout"));
        assert!(gate.place(NETWORK).is_ok(), "its place is free again");
    }

    #[tokio::test]
    async fn an_address_waits_for_nobody_s_look_up() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap().to_string();
        gate(&target).connect(NETWORK, &connect(&target), pending::<()>()).await.unwrap();
    }

    #[tokio::test]
    async fn a_name_is_looked_up_in_its_turn() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("localhost:{}", listener.local_addr().unwrap().port());
        gate(&target).connect(NETWORK, &connect(&target), ready(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_connection_that_nobody_carries_is_reset() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap().to_string();
        let tried = gate(&target).connect(NETWORK, &connect(&target), pending::<()>()).await.unwrap();
        let (mut far, _) = listener.accept().await.unwrap();
        drop(tried);
        let read = tokio::io::AsyncReadExt::read(&mut far, &mut [0]).await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
}
