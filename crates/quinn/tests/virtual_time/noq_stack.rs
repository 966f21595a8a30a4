//! Noq as an end of the path.

use super::{End, STREAM_WINDOW, STREAMS, WINDOW};
use bytes::BytesMut;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, FourTuple,
    ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig, VarInt,
};
use pcc::recovery::{PACKET_THRESHOLD, TIME_THRESHOLD};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

pub(crate) struct Noq {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Streams that it sends on.
    streams: usize,
    out: Vec<StreamId>,
    received: u64,
    /// It writes nothing from the first time to the second.
    quiet: Option<(Instant, Instant)>,
    /// When it writes again.
    wakes: Option<Instant>,
}

const DATAGRAMS: std::num::NonZeroUsize = std::num::NonZeroUsize::new(8).unwrap();

fn address() -> SocketAddr {
    "192.0.2.1:443".parse().expect("an address")
}

fn transport(controller: Arc<dyn noq_proto::congestion::ControllerFactory + Send + Sync>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let window = VarInt::from_u32(WINDOW);
    transport
        .congestion_controller_factory(controller)
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(window)
        .send_window(WINDOW.into())
        .packet_threshold(PACKET_THRESHOLD)
        .time_threshold(TIME_THRESHOLD);
    transport
}

/// A client, and a server that sends.
pub(crate) fn pair(
    now: Instant,
    controller: impl noq_proto::congestion::ControllerFactory + Send + Sync + 'static,
) -> (Noq, Noq) {
    pair_with(now, transport(Arc::new(controller)), STREAMS)
}

/// The same with this transport at both ends, and so many streams.
pub(crate) fn pair_with(now: Instant, transport: TransportConfig, streams: usize) -> (Noq, Noq) {
    let transport = Arc::new(transport);
    let tls = QuicClientConfig::try_from(super::client_tls()).expect("TLS 1.3");
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::clone(&transport));
    let mut client = Noq::new(None, 0);
    client.connection = Some(client.endpoint.connect(now, config, address(), "localhost").expect("a valid name"));
    let tls = QuicServerConfig::try_from(super::server_tls()).expect("TLS 1.3");
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(transport);
    (client, Noq::new(Some(config), streams))
}

impl Noq {
    fn new(config: Option<ServerConfig>, streams: usize) -> Self {
        let mut endpoint = noq::EndpointConfig::default();
        endpoint.rng_seed(Some([7; 32]));
        let endpoint = Endpoint::new(Arc::<EndpointConfig>::new(endpoint), config.map(Arc::new), true);
        Self { endpoint, connection: None, streams, out: Vec::new(), received: 0, quiet: None, wakes: None }
    }

    /// It writes nothing from one time to the other.
    #[allow(dead_code, reason = "one test file has pauses")]
    pub(crate) fn quiet(self, from: Instant, to: Instant) -> Self {
        Self { quiet: Some((from, to)), ..self }
    }
}

/// Each datagram of what is to be sent.
fn datagrams<'a>(transmit: &Transmit, buffer: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    buffer[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size).max(1))
}

/// Reads all there is.
fn read(connection: &mut Connection, id: StreamId) -> u64 {
    let mut bytes = 0;
    let mut stream = connection.recv_stream(id);
    if let Ok(mut chunks) = stream.read(true) {
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            bytes += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }
    bytes
}

impl End for Noq {
    fn timeout(&mut self) -> Option<Instant> {
        let timer = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        [timer, self.wakes].into_iter().flatten().min()
    }

    fn on_timeout(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn work(&mut self, now: Instant) {
        self.wakes = self.quiet.filter(|(from, to)| (*from..*to).contains(&now)).map(|(_, to)| to);
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll() {
            match event {
                Event::ConnectionLost { reason } => panic!("the connection ended: {reason}"),
                Event::Stream(StreamEvent::Readable { id }) => self.received += read(connection, id),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = connection.streams().accept(dir) {
                        self.received += read(connection, id);
                    }
                }
                _ => {}
            }
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        if !connection.is_handshaking() && self.wakes.is_none() {
            while self.out.len() < self.streams {
                self.out.push(connection.streams().open(Dir::Uni).expect("a stream"));
            }
            for &out in &self.out {
                while connection.send_stream(out).write(&[7; 1 << 16]).is_ok() {}
            }
        }
    }

    fn transmit(&mut self, now: Instant, send: &mut dyn FnMut(&[u8])) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut buffer = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, DATAGRAMS, &mut buffer) {
            datagrams(&transmit, &buffer).for_each(&mut *send);
            buffer.clear();
        }
    }

    fn receive(&mut self, now: Instant, datagram: &[u8], send: &mut dyn FnMut(&[u8])) {
        let mut answer = Vec::new();
        let remote = FourTuple::new(address(), None);
        let event = self.endpoint.handle(now, remote, None, BytesMut::from(datagram), &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.unwrap_or_else(|_| panic!("a sound handshake")));
            }
            Some(DatagramEvent::Response(transmit)) => datagrams(&transmit, &answer).for_each(send),
            None => {}
        }
    }

    fn received(&self) -> u64 {
        self.received
    }

    fn declared_lost(&mut self) -> u64 {
        self.connection.as_mut().map_or(0, |(_, connection)| connection.stats().lost_packets)
    }
}
