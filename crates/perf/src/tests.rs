//! Both ends in one process, where one of them is not ours or misbehaves.

use super::client::{self, Outcome, Plan};
use super::datagram::{self, LargestDatagram};
use super::flow::{Counted, Way};
use super::load::{Load, Until};
use super::meter::Meter;
use super::protocol::{self, Dialect};
use super::record::train::Train;
use super::server::{Limits, Served, Server};
use super::windows::Windows;
use noq::{ClientConfig, Connecting, Connection, Endpoint, PathId, ServerConfig};
use pcc_net::tls::{self, Identity, Trust};
use pcc_quic::{Algorithm, socket};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// A server within `limits` that speaks only `alpn`, and a client of it.
struct Pair {
    largest_datagram: Option<LargestDatagram>,
    identity: Identity,
    server: Endpoint,
    /// The server's connections that ended, in the order in which they did.
    served: mpsc::UnboundedReceiver<Served>,
}

const ROOMY: Limits = Limits { clients: 10, bytes: u64::MAX, time: Duration::from_secs(600) };

impl Pair {
    fn new(alpn: &[&[u8]], limits: Limits) -> Self {
        Self::with(alpn, limits, None)
    }

    fn with(alpn: &[&[u8]], limits: Limits, largest_datagram: Option<LargestDatagram>) -> Self {
        let identity = Identity::generate().unwrap();
        let config = ServerConfig::with_crypto(Arc::new(tls::server(&identity, alpn).unwrap()));
        let endpoint = endpoint(largest_datagram);
        let (ended, served) = mpsc::unbounded_channel();
        let server = Server {
            endpoint: endpoint.clone(),
            config,
            algorithm: Algorithm::Cubic,
            windows: Windows::default(),
            qlog: None,
            largest_datagram,
            max_rate: None,
            limits,
            once: false,
        };
        // A test that is over before its server listens no more.
        tokio::spawn(server.run(move |connection| drop(ended.send(connection.clone()))));
        Self { largest_datagram, identity, server: endpoint, served }
    }

    async fn connect(&self) -> Result<(Endpoint, Connection), noq::ConnectionError> {
        let (endpoint, connecting) = self.begin(self.server.local_addr().unwrap());
        Ok((endpoint, connecting.await?))
    }

    /// Begins to connect to whoever has that address.
    fn begin(&self, to: SocketAddr) -> (Endpoint, Connecting) {
        self.begin_as(to, protocol::client_alpn(None))
    }

    /// The same for a client that offers these protocols.
    fn begin_as(&self, to: SocketAddr, alpn: &'static [&'static [u8]]) -> (Endpoint, Connecting) {
        let trust = Trust::Pinned(self.identity.fingerprint());
        let (tls, _) = tls::client(&trust, alpn).unwrap();
        let mut config = ClientConfig::new(Arc::new(tls));
        let mut transport = Windows::default().transport(&Algorithm::Cubic);
        if let Some(largest) = self.largest_datagram {
            largest.limit(&mut transport);
        }
        config.transport_config(Arc::new(transport));
        let endpoint = endpoint(self.largest_datagram);
        let connecting = endpoint.connect_with(config, to, "localhost").unwrap();
        (endpoint, connecting)
    }

    async fn measure(&self, load: Load) -> (Dialect, Outcome) {
        self.measure_by(self.server.local_addr().unwrap(), load).await
    }

    /// The same, with the server or a way to it at this address.
    async fn measure_by(&self, address: SocketAddr, load: Load) -> (Dialect, Outcome) {
        let (_endpoint, connecting) = self.begin(address);
        let connection = connecting.await.unwrap();
        let meter = Arc::new(Meter::new("cubic", None));
        let plan = Plan {
            load,
            interval: Duration::ZERO,
            omit: Duration::ZERO,
            throttle: None,
            send_window: 1 << 24,
            at_once: false,
        };
        let dialect = protocol::spoken(&connection);
        let outcome =
            client::run(&connection, &meter, dialect, &plan, std::future::pending(), &mut |_| {}).await.unwrap();
        (dialect, outcome)
    }
}

/// A way to `server` that carries so many bytes, and from then on nothing.
async fn way_to(server: SocketAddr, bytes: usize) -> SocketAddr {
    let here = || tokio::net::UdpSocket::bind("127.0.0.1:0");
    let (front, back) = (here().await.unwrap(), here().await.unwrap());
    let address = front.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut up, mut down, mut carried, mut client) = ([0; 2000], [0; 2000], 0, None);
        while carried < bytes {
            tokio::select! {
                Ok((length, from)) = front.recv_from(&mut up) => {
                    client = Some(from);
                    let _ = back.send_to(&up[..length], server).await;
                    carried += length;
                }
                Ok((length, _)) = back.recv_from(&mut down) => {
                    let Some(client) = client else { continue };
                    let _ = front.send_to(&down[..length], client).await;
                    carried += length;
                }
            }
        }
        // Open sockets: a closed one would be answered for.
        std::future::pending::<()>().await;
        drop((front, back));
    });
    address
}

fn endpoint(largest: Option<LargestDatagram>) -> Endpoint {
    let socket = socket::bind("127.0.0.1:0".parse().unwrap()).unwrap().socket;
    Endpoint::new(datagram::endpoint(largest).unwrap(), None, socket, Arc::new(noq::TokioRuntime)).unwrap()
}

fn volume(way: Way, bytes: u64) -> Load {
    Load { ways: vec![way], streams: 2, until: Until::Volume(bytes) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_knows_only_the_draft_is_measured_too() {
    let pair = Pair::new(&[b"perf"], ROOMY);
    let (dialect, up) = pair.measure(volume(Way::Up, 3_000_001)).await;
    assert_eq!(dialect, Dialect::Plain);
    let flow = &up.flows[0].1;
    assert_eq!((flow.bytes, flow.counted), (3_000_001, Counted::Receiver), "the server's FIN confirms every byte");
    assert!(up.cpu_there.is_none() && flow.waste().is_some());

    let (_, down) = pair.measure(volume(Way::Down, 3_000_001)).await;
    let flow = &down.flows[0].1;
    assert_eq!(flow.bytes, 3_000_001);
    assert_eq!((flow.loss(), flow.waste(), &flow.algorithm), (None, None, &None), "only that server knows");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timed_upload_to_such_a_server_counts_what_it_confirmed() {
    let pair = Pair::new(&[b"perf"], ROOMY);
    let load = Load { ways: vec![Way::Up], streams: 1, until: Until::Time(Duration::from_millis(300)) };
    let (_, outcome) = pair.measure(load).await;
    let (flow, sent) = (&outcome.flows[0].1, outcome.streams[0].1);
    assert_eq!((flow.bytes, flow.counted), (sent, Counted::Receiver));
    assert!(sent > 0 && outcome.cut_short.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_falls_silent_is_lost() {
    let silent = |alpn: &'static [&'static [u8]], way| async move {
        let pair = Pair::new(alpn, ROOMY);
        let load = Load { ways: vec![way], streams: 1, until: Until::Time(Duration::from_millis(600)) };
        let address = way_to(pair.server.local_addr().unwrap(), 100_000).await;
        let (_, outcome) = pair.measure_by(address, load).await;
        let reason = outcome.cut_short.expect("nobody was there at the end").told();
        assert!(reason.contains("the server has not answered since second 0."), "{way:?}: {reason}");
    };
    let plain: &[&[u8]] = &[b"perf"];
    tokio::join!(
        silent(protocol::SERVER_ALPN, Way::Up),
        silent(protocol::SERVER_ALPN, Way::Down),
        silent(plain, Way::Up),
        silent(plain, Way::Down),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_on_a_unidirectional_stream_is_answered_on_another() {
    let pair = Pair::new(&[b"perf"], ROOMY);
    let (_endpoint, connection) = pair.connect().await.unwrap();
    let mut request = connection.open_uni().await.unwrap();
    request.write_all(&70_000_u64.to_be_bytes()).await.unwrap();
    request.write_all(b"some upload").await.unwrap();
    request.finish().unwrap();
    let mut answer = connection.accept_uni().await.unwrap();
    assert_eq!(answer.read_to_end(100_000).await.unwrap().len(), 70_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_ends_before_its_size_is_ignored() {
    let pair = Pair::new(&[b"perf"], ROOMY);
    let (_endpoint, connection) = pair.connect().await.unwrap();
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&[0; 7]).await.unwrap();
    send.finish().unwrap();
    assert_eq!(recv.read_to_end(10).await.unwrap(), [0_u8; 0], "closed on the other end, with nothing");
    assert!(connection.close_reason().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_beyond_the_limit_of_bytes_is_cut_off_and_named() {
    let mut pair = Pair::new(protocol::SERVER_ALPN, Limits { bytes: 500_000, ..ROOMY });
    let load = Load { ways: vec![Way::Down], streams: 1, until: Until::Time(Duration::from_secs(600)) };
    let (dialect, outcome) = pair.measure(load).await;
    assert_eq!(dialect, Dialect::Reporting);
    let reason = outcome.cut_short.expect("it ended long before its time").told();
    assert!(reason.contains("limit of bytes"), "{reason}");
    // The server tells of it once it has closed the connection, which the client may hear of before.
    let Served { end, side, .. } = pair.served.recv().await.unwrap();
    assert!(end.contains("limit of bytes"), "{end}");
    assert_eq!(side.sent + side.received, 500_000, "that much, and not a byte more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_surplus_client_is_refused_until_another_leaves() {
    let pair = Pair::new(protocol::SERVER_ALPN, Limits { clients: 1, ..ROOMY });
    let (_endpoint, first) = pair.connect().await.unwrap();
    let refused = pair.connect().await.unwrap_err();
    assert!(refused.to_string().contains("refused"), "{refused}");
    first.close(protocol::NO_ERROR, b"");
    let again = async {
        while pair.connect().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), again).await.expect("there is room again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discovery_ends_at_the_largest_datagram_to_the_byte() {
    for largest in ["1200", "1333", "8952"] {
        let pair = Pair::with(protocol::SERVER_ALPN, ROOMY, Some(largest.parse().unwrap()));
        let (_endpoint, connection) = pair.connect().await.unwrap();
        let size = || connection.path_stats(PathId::ZERO).unwrap().current_mtu.to_string();
        let found = async {
            while size() != largest {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), found)
            .await
            .unwrap_or_else(|_| panic!("{} of {largest}", size()));
        let mut upload = connection.open_uni().await.unwrap();
        upload.write_all(&vec![0; 5_000_000]).await.unwrap();
        upload.finish().unwrap();
        upload.stopped().await.unwrap();
        assert_eq!(size(), largest, "all of it leaves in such datagrams, many at a time");
        assert!(connection.stats().udp_tx.datagrams < 2 * 5_000_000 / largest.parse::<u64>().unwrap(), "{largest}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_never_answer_leave_places_for_those_that_do() {
    let pair = Pair::new(protocol::client_alpn(None), ROOMY);
    let trap = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut first_packet = [0; 2000];
    for _ in 0..2 * ROOMY.clients {
        let _begun = pair.begin(trap.local_addr().unwrap());
        let (length, _) = trap.recv_from(&mut first_packet).await.unwrap();
        // From an address where nobody reads what the server answers.
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap();
        nobody.send_to(&first_packet[..length], pair.server.local_addr().unwrap()).unwrap();
    }
    let connected = tokio::time::timeout(Duration::from_secs(60), pair.connect()).await.expect("an answer");
    assert!(connected.is_ok(), "{connected:?}");
}

/// Asks for a train to this end, and hears at which gap the server sends it. Waits for its end.
async fn asked(connection: &Connection, number: u32, train: Train) -> Option<Duration> {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&train.request(true, number)).await.unwrap();
    send.finish().unwrap();
    let mut gap = [0; 8];
    recv.read_exact(&mut gap).await.ok()?;
    recv.read_to_end(0).await.unwrap();
    Some(Duration::from_nanos(u64::from_be_bytes(gap)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_sent_little_more_than_it_has_received() {
    let pair = Pair::new(protocol::SERVER_ALPN, ROOMY);
    // It offers to speak another protocol as well, and does not.
    let (_endpoint, connecting) =
        pair.begin_as(pair.server.local_addr().unwrap(), &[b"pcc-perf/1/cubic", protocol::RECORD]);
    let connection = connecting.await.unwrap();
    assert!(protocol::is_recorded(&connection));
    let fastest = Train { packets: 60, gap: Duration::from_micros(10) };
    let first = asked(&connection, 1, fastest).await.unwrap();
    assert!((first.as_secs_f64() / 4.83e-3 - 1.0).abs() < 0.01, "2 Mbit/s: {first:?}");
    let mut before = first;
    for number in 2..5 {
        let gap = asked(&connection, number, fastest).await.unwrap();
        assert!(gap >= before.mul_f64(0.399) && gap < before, "{gap:?} after {before:?}");
        before = gap;
    }
    let endless = Train { packets: u32::MAX, gap: Duration::from_micros(10) };
    assert_eq!(asked(&connection, 9, endless).await, None);
    let slow = Train { packets: 1000, gap: Duration::from_secs(1) };
    assert_eq!(asked(&connection, 10, slow).await, None);
    assert!(connection.close_reason().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trains_count_against_the_limit_of_bytes() {
    let mut pair = Pair::new(protocol::SERVER_ALPN, Limits { bytes: 100_000, ..ROOMY });
    let (_endpoint, connecting) = pair.begin_as(pair.server.local_addr().unwrap(), &[protocol::RECORD]);
    let connection = connecting.await.unwrap();
    let train = Train { packets: 60, gap: Duration::from_millis(1) };
    assert!(asked(&connection, 1, train).await.is_some());
    assert!(asked(&connection, 2, train).await.is_none());
    let Served { end, side, .. } = pair.served.recv().await.unwrap();
    assert!(end.contains("limit of bytes") && side.sent <= 100_000, "{end}: {}", side.sent);
}
