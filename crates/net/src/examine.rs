//! The limits of QUIC on a path to a server, and on this computer.
//!
//! It takes some fifty packets that every QUIC server answers, and one connection.
//!
//! | file | what it answers |
//! |---|---|
//! | `probe` | what a server answers that need not know us: reach, round trip, sizes, marks |
//! | `marks` | which ECN marks a connection has |
//! | `connect` | whether the server speaks HTTP/3 |

mod connect;
mod marks;
mod probe;

pub use connect::Outcome;
pub use marks::Marks;
pub use probe::Answers;

use crate::look_up;
use crate::tls::Trust;
use crate::url::Peer;
use core::time::Duration;
use pcc_quic::socket;
use std::io;
use std::net::SocketAddr;
use std::time::Instant;
use tokio::net::TcpStream;

/// Addresses of a host that are asked.
const MOST_ADDRESSES: usize = 4;

/// How long a host has to say something by TCP.
const TCP_PATIENCE: Duration = Duration::from_secs(2);

/// Sleeps by which the clock is judged, and how long each is.
const SLEEPS: usize = 50;
const SLEEP: Duration = Duration::from_micros(500);

/// All that was measured.
#[derive(Debug)]
pub struct Examined {
    /// The server.
    pub peer: Peer,
    /// Its address that answered, or the last one.
    pub address: SocketAddr,
    /// Its answers.
    pub answers: Answers,
    /// Only of hosts that answer nothing: whether they answer by TCP.
    pub tcp: Option<bool>,
    /// Only of hosts that answer: the connection.
    pub connected: Option<Outcome>,
    /// A warning about the UDP buffers of this computer.
    pub buffers: Option<String>,
    /// How late this computer wakes up, at the median.
    pub late: Duration,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExamineError {
    /// The name has no address.
    #[error("unknown host `{host}`: check the spelling, or write its address instead")]
    UnknownHost {
        /// As it was written.
        host: String,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// This computer knows no way there.
    #[error("no route to {0}; check this computer's network")]
    NoRoute(Peer),
    /// This computer has no socket for it.
    #[error("could not open a UDP socket")]
    NoSocket(#[source] io::Error),
}

/// Asks the first address of `peer` that answers, and connects to it as `trust` allows.
pub async fn examine(peer: &Peer, trust: &Trust) -> Result<Examined, ExamineError> {
    let found = look_up(&peer.host, peer.port, ()).await;
    let found = found.map_err(|reason| ExamineError::UnknownHost { host: peer.host.clone(), reason })?;
    let mut told = None;
    for address in found.into_iter().take(MOST_ADDRESSES) {
        let bound = socket::bind(probe::local(address)).map_err(ExamineError::NoSocket)?;
        match probe::ask(bound.socket, address).await {
            Ok(answers) => {
                let is_answered = !answers.round_trips.is_empty();
                told = Some((address, answers, bound.warning));
                if is_answered {
                    break;
                }
            }
            // No way there by this version of IP, say.
            Err(error) => tracing::info!("{address}: {error}"),
        }
    }
    let (address, answers, buffers) = told.ok_or_else(|| ExamineError::NoRoute(peer.clone()))?;
    let is_answered = !answers.round_trips.is_empty();
    let tcp = if is_answered { None } else { Some(answers_tcp(address).await) };
    let connected = if is_answered { Some(connect::connect(peer, address, trust).await) } else { None };
    let late = tokio::task::spawn_blocking(lateness).await.unwrap_or_default();
    Ok(Examined { peer: peer.clone(), address, answers, tcp, connected, buffers, late })
}

/// Whether the host says anything by TCP: that nobody listens is an answer, too.
async fn answers_tcp(address: SocketAddr) -> bool {
    match tokio::time::timeout(TCP_PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Err(_) => false,
    }
}

/// How late this computer wakes up a thread that sleeps, at the median. Blocks.
fn lateness() -> Duration {
    let mut late: Vec<_> = (0..SLEEPS)
        .map(|_| {
            let begun = Instant::now();
            std::thread::sleep(SLEEP);
            begun.elapsed().saturating_sub(SLEEP)
        })
        .collect();
    late.sort();
    late[SLEEPS / 2]
}
