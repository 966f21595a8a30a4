//! Quinn as an end of the path.

use super::{End, STREAM_WINDOW, STREAMS, WINDOW};
use bytes::BytesMut;
use pcc::recovery::{PACKET_THRESHOLD, TIME_THRESHOLD};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ServerConfig,
    StreamEvent, StreamId, Transmit, TransportConfig, VarInt,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) struct Quinn {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    sends: bool,
    out: Vec<StreamId>,
    received: u64,
    /// When its program looked at the statistics.
    looked: Option<Instant>,
}

const DATAGRAMS: usize = 8;

/// The program looks at the statistics of its connection so often.
const LOOKS: Duration = Duration::from_millis(100);

fn address() -> SocketAddr {
    "192.0.2.1:443".parse().expect("an address")
}

fn transport(controller: Arc<dyn quinn_proto::congestion::ControllerFactory + Send + Sync>) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let window = VarInt::from_u32(WINDOW);
    transport
        .congestion_controller_factory(controller)
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(window)
        .send_window(WINDOW.into())
        .packet_threshold(PACKET_THRESHOLD)
        .time_threshold(TIME_THRESHOLD);
    Arc::new(transport)
}

/// A client, and a server that sends.
pub(crate) fn pair(
    now: Instant,
    controller: impl quinn_proto::congestion::ControllerFactory + Send + Sync + 'static,
) -> (Quinn, Quinn) {
    let transport = transport(Arc::new(controller));
    let tls = QuicClientConfig::try_from(super::client_tls()).expect("TLS 1.3");
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::clone(&transport));
    let mut client = Quinn::new(None, false);
    client.connection = Some(client.endpoint.connect(now, config, address(), "localhost").expect("a valid name"));
    let tls = QuicServerConfig::try_from(super::server_tls()).expect("TLS 1.3");
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(transport);
    (client, Quinn::new(Some(config), true))
}

impl Quinn {
    fn new(config: Option<ServerConfig>, sends: bool) -> Self {
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), config.map(Arc::new), true, Some([7; 32]));
        Self { endpoint, connection: None, sends, out: Vec::new(), received: 0, looked: None }
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

impl End for Quinn {
    fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout())
    }

    fn on_timeout(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn work(&mut self, now: Instant) {
        let Some((handle, connection)) = &mut self.connection else { return };
        // quinn asks the controller for its statistics, too, and a program may want them often.
        if self.looked.is_none_or(|looked| now - looked >= LOOKS) {
            self.looked = Some(now);
            let _ = connection.stats();
        }
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
        if self.sends && !connection.is_handshaking() {
            while self.out.len() < STREAMS {
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
        let event = self.endpoint.handle(now, address(), None, None, BytesMut::from(datagram), &mut answer);
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
        self.connection.as_ref().map_or(0, |(_, connection)| connection.stats().path.lost_packets)
    }
}
