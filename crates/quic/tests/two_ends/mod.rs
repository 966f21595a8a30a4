//! A client and a server in virtual time, and between them a path that a test decides about, datagram by datagram.
#![allow(dead_code, reason = "each test file uses its part")]

use crate::loopback;
use bytes::BytesMut;
use noq_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, FourTuple, FrameStats, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig,
};
use pcc_quic::Algorithm;
use pcc_quic::transport::{self, Windows};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// How long a datagram is on its way.
const DELAY: Duration = Duration::from_millis(15);

/// Datagrams that an end may hand over at a time, as Linux's segmentation offload takes them.
const SEGMENTS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Client,
    Server,
}

/// A datagram that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) by: Who,
    pub(crate) to: SocketAddr,
    /// Since the beginning.
    pub(crate) at: Duration,
    pub(crate) marked: bool,
    pub(crate) bytes: usize,
}

/// Whether the path delivers a datagram.
type Delivers = Box<dyn FnMut(&Sent) -> bool>;

struct Datagram {
    arrives: Instant,
    from: SocketAddr,
    to: Who,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
}

/// One end of the connection.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    lost: Option<ConnectionError>,
    /// What it still has to send, all on one stream.
    to_send: usize,
    out: Option<StreamId>,
    received: usize,
}

pub(crate) struct TwoEnds {
    began: Instant,
    now: Instant,
    client: End,
    server: End,
    pub(crate) client_address: SocketAddr,
    server_address: SocketAddr,
    under_way: VecDeque<Datagram>,
    path: Delivers,
    pub(crate) sent: Vec<Sent>,
}

/// What both use unless a test needs something else.
pub(crate) fn usual() -> TransportConfig {
    transport::config(&Algorithm::Cubic, &Windows::default())
}

impl TwoEnds {
    /// The client begins to connect.
    pub(crate) fn connect(transport: TransportConfig, path: impl FnMut(&Sent) -> bool + 'static) -> Self {
        let (server, client) = loopback::configured(transport);
        Self::between(client, server, path)
    }

    /// The same with what the ends are given.
    pub(crate) fn between(
        client_config: ClientConfig,
        server_config: ServerConfig,
        path: impl FnMut(&Sent) -> bool + 'static,
    ) -> Self {
        let now = Instant::now();
        let server_address = "192.0.2.1:443".parse().expect("an address");
        let mut client = End::new(None);
        let connecting = client.endpoint.connect(now, client_config, server_address, "localhost");
        client.connection = Some(connecting.expect("a valid name"));
        Self {
            began: now,
            now,
            client,
            server: End::new(Some(server_config)),
            client_address: "192.0.2.2:40000".parse().expect("an address"),
            server_address,
            under_way: VecDeque::new(),
            path: Box::new(path),
            sent: Vec::new(),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.now - self.began
    }

    /// The path is another one from now on.
    pub(crate) fn set_path(&mut self, path: impl FnMut(&Sent) -> bool + 'static) {
        self.path = Box::new(path);
    }

    /// A NAT gives the client another port, and what is on its way to the old one is lost.
    pub(crate) fn rebind(&mut self) {
        self.client_address.set_port(self.client_address.port() + 1);
        self.under_way.retain(|datagram| datagram.to == Who::Server);
    }

    /// One end has this much more to send.
    pub(crate) fn send(&mut self, who: Who, bytes: usize) {
        self.end(who).to_send += bytes;
    }

    /// Bytes that arrived at this end.
    pub(crate) fn received(&mut self, who: Who) -> usize {
        self.end(who).received
    }

    /// Frames of each type that arrived at this end.
    pub(crate) fn frames_received(&mut self, who: Who) -> FrameStats {
        self.end(who).connection.as_mut().map(|(_, connection)| connection.stats().frame_rx).unwrap_or_default()
    }

    /// Runs until this holds; answers whether it did in time.
    pub(crate) fn run_until(&mut self, limit: Duration, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + limit;
        while !holds(self) {
            if self.now >= end || !self.step(end) {
                return false;
            }
        }
        true
    }

    /// Runs until both ends have all that was sent.
    pub(crate) fn deliver(&mut self, who: Who, bytes: usize, limit: Duration) -> bool {
        let to = who.other();
        let wanted = self.received(to) + bytes;
        self.send(who, bytes);
        self.run_until(limit, |ends| ends.received(to) >= wanted)
    }

    pub(crate) fn is_connected(&mut self) -> bool {
        [Who::Client, Who::Server]
            .into_iter()
            .all(|who| self.end(who).connection.as_ref().is_some_and(|(_, connection)| !connection.is_handshaking()))
    }

    /// Why the connection ended, if it did.
    pub(crate) fn lost(&self) -> Option<&ConnectionError> {
        self.client.lost.as_ref().or(self.server.lost.as_ref())
    }

    fn end(&mut self, who: Who) -> &mut End {
        match who {
            Who::Client => &mut self.client,
            Who::Server => &mut self.server,
        }
    }

    /// Everything up to the next thing that happens, at `end` at the latest; `false` if nothing will.
    fn step(&mut self, end: Instant) -> bool {
        for who in [Who::Client, Who::Server] {
            self.transmit(who);
        }
        let arrival = self.under_way.front().map(|datagram| datagram.arrives);
        let Some(next) = [arrival, self.client.timeout(), self.server.timeout()].into_iter().flatten().min() else {
            return false;
        };
        self.now = next.clamp(self.now, end);
        for who in [Who::Client, Who::Server] {
            let now = self.now;
            self.end(who).expire(now);
        }
        while self.under_way.front().is_some_and(|datagram| datagram.arrives <= self.now) {
            let datagram = self.under_way.pop_front().expect("there is one");
            self.arrive(datagram);
        }
        true
    }

    fn transmit(&mut self, who: Who) {
        let now = self.now;
        self.end(who).work();
        let mut buffer = Vec::new();
        while let Some(transmit) = self.end(who).poll_transmit(now, &mut buffer) {
            self.carry(who, &transmit, &buffer);
            buffer.clear();
        }
    }

    fn carry(&mut self, by: Who, transmit: &Transmit, buffer: &[u8]) {
        let contents = &buffer[..transmit.size];
        for data in contents.chunks(transmit.segment_size.unwrap_or(transmit.size)) {
            let sent = Sent {
                by,
                to: transmit.destination,
                at: self.elapsed(),
                marked: transmit.ecn.is_some(),
                bytes: data.len(),
            };
            self.sent.push(sent);
            let (from, to) = match by {
                Who::Client => (self.client_address, Who::Server),
                Who::Server => (self.server_address, Who::Client),
            };
            let is_there = to == Who::Server || transmit.destination == self.client_address;
            if (self.path)(&sent) && is_there {
                let arrives = self.now + DELAY;
                self.under_way.push_back(Datagram { arrives, from, to, ecn: transmit.ecn, data: data.into() });
            }
        }
    }

    fn arrive(&mut self, datagram: Datagram) {
        let (now, to) = (self.now, datagram.to);
        let mut answer = Vec::new();
        if let Some(transmit) = self.end(to).receive(now, datagram, &mut answer) {
            self.carry(to, &transmit, &answer);
        }
    }
}

impl Who {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

impl End {
    fn new(config: Option<ServerConfig>) -> Self {
        let mut endpoint = noq::EndpointConfig::default();
        endpoint.rng_seed(Some([7; 32]));
        let endpoint = Endpoint::new(Arc::<EndpointConfig>::new(endpoint), config.map(Arc::new), true);
        Self { endpoint, connection: None, lost: None, to_send: 0, out: None, received: 0 }
    }

    fn timeout(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout())
    }

    fn expire(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|due| due <= now)
        {
            connection.handle_timeout(now);
        }
    }

    /// What an application and its endpoint do: read, write, pass events on.
    fn work(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll() {
            match event {
                Event::ConnectionLost { reason } => self.lost = Some(reason),
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
        if self.to_send > 0 && !connection.is_handshaking() {
            let out = *self.out.get_or_insert_with(|| connection.streams().open(Dir::Uni).expect("a stream"));
            let piece = vec![7; self.to_send.min(1 << 16)];
            self.to_send -= connection.send_stream(out).write(&piece).unwrap_or(0);
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        self.connection.as_mut().and_then(|(_, connection)| connection.poll_transmit(now, SEGMENTS, buffer))
    }

    /// Answers what the endpoint itself says to it.
    fn receive(&mut self, now: Instant, datagram: Datagram, answer: &mut Vec<u8>) -> Option<Transmit> {
        let Datagram { from, ecn, data, .. } = datagram;
        match self.endpoint.handle(now, FourTuple::new(from, None), ecn, data, answer)? {
            DatagramEvent::ConnectionEvent(_, event) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
                None
            }
            DatagramEvent::NewConnection(incoming) => {
                let accepted = self.endpoint.accept(incoming, now, answer, None).expect("a sound handshake");
                self.connection = Some(accepted);
                None
            }
            DatagramEvent::Response(transmit) => Some(transmit),
        }
    }
}

/// Reads all there is.
fn read(connection: &mut Connection, id: StreamId) -> usize {
    let mut bytes = 0;
    let mut stream = connection.recv_stream(id);
    if let Ok(mut chunks) = stream.read(true) {
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            bytes += chunk.bytes.len();
        }
        let _ = chunks.finalize();
    }
    bytes
}
