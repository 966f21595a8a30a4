//! A server that sends to a client over an emulated path in virtual time, for any QUIC stack that does no I/O.

pub(crate) mod noq_stack;
pub(crate) mod quinn_stack;

use pcc::units::{Bytes, Timestamp};
use pcc_link::{Link, Outcome, Path};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// What all servers show, and all clients trust.
static CERTIFIED: LazyLock<rcgen::CertifiedKey<rcgen::KeyPair>> =
    LazyLock::new(|| rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate"));

/// quinn-proto and noq-proto as released end a connection that holds more than 2048 packets of one stream behind a lost one.
const STREAM_WINDOW: u32 = 3 << 19;
/// All of them together hold more than twice what is under way on any path here.
const STREAMS: usize = 8;
const WINDOW: u32 = STREAM_WINDOW * STREAMS as u32;

/// IP and UDP headers.
const HEADERS: u64 = 28;

/// A connection and its endpoint, at one of two ends.
pub(crate) trait End {
    fn timeout(&mut self) -> Option<Instant>;
    fn on_timeout(&mut self, now: Instant);
    /// Passes events on, reads what has arrived, and writes as much as the connection takes.
    fn work(&mut self, now: Instant);
    /// Each datagram that it has to send now.
    fn transmit(&mut self, now: Instant, send: &mut dyn FnMut(&[u8]));
    /// A datagram arrives.
    fn receive(&mut self, now: Instant, datagram: &[u8], send: &mut dyn FnMut(&[u8]));
    /// Bytes of the stream that it has received.
    fn received(&self) -> u64;
    /// Packets of its own that it has declared lost.
    fn declared_lost(&mut self) -> u64;
}

pub(crate) fn certificate() -> rustls_pki_types::CertificateDer<'static> {
    CERTIFIED.cert.der().clone()
}

pub(crate) fn server_tls() -> rustls::ServerConfig {
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(CERTIFIED.signing_key.serialize_der()).into();
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default(); // a build of all crates has two
    rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate()], key)
        .expect("the key fits the certificate")
}

pub(crate) fn client_tls() -> rustls::ClientConfig {
    let mut trusted = rustls::RootCertStore::empty();
    trusted.add(certificate()).expect("a certificate");
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default(); // a build of all crates has two
    rustls::ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth()
}

/// Which way a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// What a server achieved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Achieved {
    /// Unit: Mbit/s. From half of the time on.
    pub(crate) goodput: f64,
    /// The mean time that a datagram waited in the queue on its way down, from half of the time on. Unit: ms.
    pub(crate) waited: f64,
    /// Share of the datagrams sent down that were lost.
    pub(crate) lost: f64,
    /// Packets that the server declared lost.
    pub(crate) declared_lost: u64,
}

/// Drops what exceeds a rate on its way down, once the burst is used up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policer {
    /// Unit: bytes/s.
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: Timestamp,
}

impl Policer {
    #[allow(dead_code, reason = "one test file has policers")]
    pub(crate) fn new(mbit: f64, burst: f64) -> Self {
        Self { rate: mbit * 1e6 / 8.0, burst, tokens: burst, filled: Timestamp::ZERO }
    }

    fn admits(&mut self, now: Timestamp, bytes: u64) -> bool {
        self.tokens = (self.tokens + self.rate * now.since(self.filled).as_secs_f64()).min(self.burst);
        self.filled = now;
        let passes = self.tokens >= bytes as f64;
        self.tokens -= if passes { bytes as f64 } else { 0.0 };
        passes
    }
}

/// The path between, and what is under way on it.
struct Between {
    policer: Option<Policer>,
    began: Instant,
    up: Link,
    down: Link,
    under_way: BTreeMap<(Timestamp, u64), (Way, Vec<u8>)>,
    count: u64,
    counted_from: Timestamp,
    /// Of datagrams down since `counted_from`.
    sent: u64,
    arrived: u64,
    delay: Duration,
}

impl Between {
    fn at(&self, now: Instant) -> Timestamp {
        Timestamp::ZERO + (now - self.began)
    }

    fn carry(&mut self, way: Way, now: Instant, datagram: &[u8]) {
        let now = self.at(now);
        let is_admitted = |policer: &mut Policer| policer.admits(now, datagram.len() as u64 + HEADERS);
        if way == Way::Down && !self.policer.as_mut().is_none_or(is_admitted) {
            return;
        }
        let link = if way == Way::Up { &mut self.up } else { &mut self.down };
        let outcome = link.send(now, Bytes::new(datagram.len() as u64 + HEADERS));
        let counts = way == Way::Down && now >= self.counted_from;
        self.sent += u64::from(counts);
        if let Outcome::Delivered { at, .. } = outcome {
            self.under_way.insert((at, self.count), (way, datagram.to_vec()));
            self.count += 1;
            if counts {
                self.arrived += 1;
                self.delay += at.since(now);
            }
        }
    }
}

/// A server with data without end, over this path, for so long.
pub(crate) fn run<E: End>(ends: (E, E), began: Instant, path: &str, seed: u64, time: Duration) -> Achieved {
    run_behind(None, ends, began, path, seed, time)
}

/// The same behind a policer.
pub(crate) fn run_behind<E: End>(
    policer: Option<Policer>,
    (mut client, mut server): (E, E),
    began: Instant,
    path: &str,
    seed: u64,
    time: Duration,
) -> Achieved {
    let path: Path = path.parse().expect("a path");
    let (up, down) = path.links(seed).expect("a possible path");
    let counted_from = Timestamp::ZERO + time / 2;
    let mut between = Between {
        policer,
        began,
        up,
        down,
        under_way: BTreeMap::new(),
        count: 0,
        counted_from,
        sent: 0,
        arrived: 0,
        delay: Duration::ZERO,
    };
    let mut now = began;
    let mut before = None;
    while now - began < time {
        if now - began >= time / 2 && before.is_none() {
            before = Some((client.received(), now));
        }
        for (end, way) in [(&mut client, Way::Up), (&mut server, Way::Down)] {
            end.work(now);
            end.transmit(now, &mut |datagram| between.carry(way, now, datagram));
        }
        let arrival = between.under_way.keys().next().map(|(at, _)| began + at.since(Timestamp::ZERO));
        let next = [arrival, client.timeout(), server.timeout()].into_iter().flatten().min();
        now = next.expect("something is going to happen").max(now);
        for end in [&mut client, &mut server] {
            if end.timeout().is_some_and(|due| due <= now) {
                end.on_timeout(now);
            }
        }
        while let Some(entry) =
            between.under_way.first_entry().filter(|entry| began + entry.key().0.since(Timestamp::ZERO) <= now)
        {
            let (way, datagram) = entry.remove();
            let (to, back) = if way == Way::Up { (&mut server, Way::Down) } else { (&mut client, Way::Up) };
            to.receive(now, &datagram, &mut |answer| between.carry(back, now, answer));
        }
    }
    let (bytes, since) = before.expect("half of the time passed");
    let (sent, arrived) = (between.sent.max(1) as f64, between.arrived.max(1));
    Achieved {
        goodput: (client.received() - bytes) as f64 * 8e-6 / (now - since).as_secs_f64(),
        waited: (between.delay.as_secs_f64() / arrived as f64 - path.down.conditions.delay.as_secs_f64()) * 1e3,
        lost: 1.0 - arrived as f64 / sent,
        declared_lost: server.declared_lost(),
    }
}
