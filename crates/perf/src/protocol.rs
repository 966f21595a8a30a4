//! The QUIC performance protocol: streams whose first 8 bytes say how much the server shall send back.
//!
//! Source: draft-banks-quic-performance-00. Two additions, agreed on by the protocol name in the TLS handshake so that
//! other stacks' tools never meet them: [`Dialect::Reporting`] has the server send a datagram of JSON, a
//! [`crate::side::Side`], every [`REPORT_INTERVAL`]; and the name may end in the congestion control algorithm with
//! which the server shall send.

use crate::meter::Counter;
use bytes::Bytes;
use noq::crypto::rustls::HandshakeData;
use noq::{Connection, ConnectionError, ReadError, ReadExactError, RecvStream, SendStream, VarInt, WriteError};
use pcc_net::throttle::Throttle;
use pcc_quic::Algorithm;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;

/// The draft's name in the TLS handshake.
const PLAIN: &str = "perf";
/// Ours: the same with reports.
const REPORTING: &str = "pcc-perf/1";

/// Trains of datagrams, see [`crate::record`]. It stands first in a server's list: whoever offers it speaks it, since the server
/// chooses a sender without congestion control by that offer.
pub const RECORD: &[u8] = b"pcc-record/1";

/// Time between two reports of a server.
pub const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Asked for in place of a size by a client that will stop the answer when it has seen enough.
pub const UNLIMITED: u64 = u64::MAX;

/// Closes streams and connections that ended as planned.
pub const NO_ERROR: VarInt = VarInt::from_u32(0);

/// Closes a connection that went beyond a limit of the server, with the limit as its reason.
pub const OVER_LIMIT: VarInt = VarInt::from_u32(1);

/// A limit of the server that ends a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverLimit {
    /// Bytes.
    #[error("over the server's limit of bytes for one connection")]
    Bytes,
    /// Seconds.
    #[error("over the server's limit of time for one connection")]
    Time,
}

impl OverLimit {
    /// As the server says it.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Bytes => "over the limit of bytes",
            Self::Time => "over the limit of time",
        }
    }
}

/// The limit of the server, if it closed the connection for one.
pub fn over_limit(connection: &Connection) -> Option<OverLimit> {
    match connection.close_reason()? {
        ConnectionError::ApplicationClosed(close) if close.error_code == OVER_LIMIT => {
            [OverLimit::Bytes, OverLimit::Time].into_iter().find(|limit| close.reason == limit.reason().as_bytes())
        }
        _ => None,
    }
}

/// Handed to the transport at a time.
pub const CHUNK: usize = 64 << 10;
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// How the two ends talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The draft as it stands: the client knows only what the draft lets it know.
    Plain,
    /// The server reports what it received and, where it is the sender, how it sends.
    Reporting,
}

impl Dialect {
    /// The meaning of a negotiated protocol name; `None` for names of other protocols.
    pub fn of(alpn: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(alpn).ok()?;
        match name {
            PLAIN => Some(Self::Plain),
            REPORTING => Some(Self::Reporting),
            _ => name.strip_prefix(REPORTING)?.strip_prefix('/').map(|_| Self::Reporting),
        }
    }
}

/// The names a server answers to; the first one that the client offers too is taken.
pub const SERVER_ALPN: &[&[u8]] =
    &[RECORD, b"pcc-perf/1/pcc", b"pcc-perf/1/cubic", b"pcc-perf/1/bbr", b"pcc-perf/1/newreno", b"pcc-perf/1", b"perf"];

/// The names a client offers; `algorithm` is what it wishes the server to send with.
pub const fn client_alpn(algorithm: Option<&Algorithm>) -> &'static [&'static [u8]] {
    match algorithm {
        Some(Algorithm::Pcc(_)) => &[b"pcc-perf/1/pcc", b"perf"],
        Some(Algorithm::Cubic) => &[b"pcc-perf/1/cubic", b"perf"],
        Some(Algorithm::Bbr) => &[b"pcc-perf/1/bbr", b"perf"],
        Some(Algorithm::NewReno) => &[b"pcc-perf/1/newreno", b"perf"],
        _ => &[b"pcc-perf/1", b"perf"],
    }
}

/// The protocol on which the two ends of a connection agreed.
pub fn spoken(connection: &Connection) -> Dialect {
    // Without a name there would be no connection: both ends insist on one.
    agreed(connection).and_then(|name| Dialect::of(&name)).unwrap_or(Dialect::Plain)
}

/// Whether they agreed to record the path.
pub fn is_recorded(connection: &Connection) -> bool {
    agreed(connection).is_some_and(|name| name == RECORD)
}

fn agreed(connection: &Connection) -> Option<Vec<u8>> {
    connection.handshake_data()?.downcast::<HandshakeData>().ok()?.protocol
}

/// The algorithm that a client wishes for in the names it offers: one that controls congestion, since a stranger must
/// not have this host send at a rate of its choice whatever is lost.
pub fn wished_algorithm(alpn: &[u8]) -> Option<Algorithm> {
    let name = std::str::from_utf8(alpn).ok()?.strip_prefix(REPORTING)?.strip_prefix('/')?;
    if Algorithm::NAMES.contains(&name) { name.parse().ok() } else { None }
}

/// Reads the size of the answer; `None` if the stream ended before it was complete, which is to be ignored.
pub async fn read_request(stream: &mut RecvStream) -> Result<Option<u64>, ReadError> {
    let mut size = [0; 8];
    match stream.read_exact(&mut size).await {
        Ok(()) => Ok(Some(u64::from_be_bytes(size))),
        Err(ReadExactError::FinishedEarly(_)) => Ok(None),
        Err(ReadExactError::ReadError(error)) => Err(error),
    }
}

/// Asks for an answer of `size` bytes.
pub async fn write_request(stream: &mut SendStream, size: u64) -> Result<(), WriteError> {
    stream.write_all(&size.to_be_bytes()).await
}

/// How far a test is. Streams follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Data flows.
    Run,
    /// No more new data; what was taken is still delivered.
    Finish,
    /// Over, delivered or not.
    Abort,
}

/// Resolves when the test reaches `phase`; never, if it ends before.
pub async fn reached(phase: Phase, mut now: watch::Receiver<Phase>) {
    if now.wait_for(|now| *now >= phase).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Reads to the end, counting as data comes in and in whatever order: what arrived counts when it arrived, even if a
/// lost packet before it is still missing. Stops the stream when the test is aborted.
pub async fn drain(stream: RecvStream, counter: &Counter, phase: watch::Receiver<Phase>) -> Result<(), ReadError> {
    let mut stream = stream.into_unordered();
    let mut aborted = pin!(reached(Phase::Abort, phase));
    loop {
        let read = tokio::select! {
            biased;
            () = &mut aborted => {
                let _ = stream.stop(NO_ERROR); // already closed is as good
                return Ok(());
            }
            read = stream.read_chunk(CHUNK) => read?,
        };
        match read {
            Some(chunk) => {
                let bytes = chunk.bytes.len() as u64;
                let allowed = counter.claim(bytes);
                counter.received(allowed);
                if allowed < bytes {
                    aborted.await;
                    return Ok(());
                }
            }
            None => return Ok(()),
        }
    }
}

/// Writes `size` zeros, or as many as the test has time for, counting what the transport took.
pub async fn fill(
    stream: &mut SendStream,
    size: u64,
    counter: &Counter,
    throttle: Option<&Throttle>,
    phase: watch::Receiver<Phase>,
) -> Result<(), WriteError> {
    let mut finished = pin!(reached(Phase::Finish, phase));
    let chunk = throttle.map_or(CHUNK, |throttle| throttle.chunk(CHUNK));
    let mut left = size;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(chunk).min(chunk);
        let part = usize::try_from(counter.claim(wanted as u64)).unwrap_or(wanted);
        if part == 0 {
            finished.await;
            return Ok(());
        }
        let write = async {
            if let Some(throttle) = throttle {
                throttle.wait(part).await;
            }
            stream.write_many_chunks(&mut &mut [Bytes::from_static(&ZEROS[..part])][..]).await
        };
        let written = tokio::select! {
            biased;
            () = &mut finished => return Ok(()),
            written = write => written? as u64,
        };
        counter.sent(written);
        counter.give_back(part as u64 - written);
        if size != UNLIMITED {
            left = left.saturating_sub(written);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_and_a_server_of_ours_agree_to_report() {
        let agreed = |offered: &[&[u8]]| *SERVER_ALPN.iter().find(|name| offered.contains(name)).unwrap();
        assert_eq!(agreed(client_alpn(None)), b"pcc-perf/1");
        for name in Algorithm::NAMES {
            let agreed = agreed(client_alpn(Some(&name.parse().unwrap())));
            assert_eq!(Dialect::of(agreed), Some(Dialect::Reporting));
            assert_eq!(wished_algorithm(agreed).unwrap().name(), name);
        }
    }

    #[test]
    fn other_stacks_meet_the_draft_as_it_stands() {
        assert!(SERVER_ALPN.contains(&&b"perf"[..]));
        assert!(client_alpn(Some(&Algorithm::Bbr)).contains(&&b"perf"[..]));
        assert_eq!(Dialect::of(b"perf"), Some(Dialect::Plain));
        assert!(wished_algorithm(b"perf").is_none());
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_ours_or_foreign_and_wishes_for_what_is_known(name in proptest::collection::vec(0..=255_u8, 0..40)) {
            let ours = Dialect::of(&name) == Some(Dialect::Reporting);
            proptest::prop_assert!(!ours || name.starts_with(b"pcc-perf/1"));
            proptest::prop_assert!(wished_algorithm(&name).is_none() || ours);
        }

        #[test]
        fn a_wish_is_granted_only_by_name(wish in "[a-z0-9:/.]{0,20}") {
            let wished = wished_algorithm(format!("pcc-perf/1/{wish}").as_bytes());
            proptest::prop_assert_eq!(wished.is_some(), Algorithm::NAMES.contains(&wish.as_str()), "{}", wish);
        }
    }

    #[test]
    fn whoever_offers_to_record_does_nothing_else() {
        assert_eq!(SERVER_ALPN[0], RECORD, "the first name that both have is taken");
        assert!(wished_algorithm(RECORD).is_none() && Dialect::of(RECORD).is_none());
    }

    #[test]
    fn nobody_can_wish_for_a_rate_that_heeds_no_loss() {
        assert!("fixed:10Gbit".parse::<Algorithm>().is_ok(), "who runs the server may choose it");
        assert!(wished_algorithm(b"pcc-perf/1/fixed:10Gbit").is_none());
    }

    #[test]
    fn foreign_names_are_not_ours() {
        for foreign in [&b"h3"[..], b"perf2", b"pcc-perf/12", b"", b"\xff"] {
            assert_eq!(Dialect::of(foreign), None, "{foreign:?}");
        }
    }
}
