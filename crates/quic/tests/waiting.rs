//! What an endpoint keeps for connections whose tasks do not get the processor.

mod loopback;

use core::num::NonZeroUsize;
use loopback::{PATIENCE, connect, endpoint, pattern};
use noq::udp::RecvMeta;
use noq::{AsyncTimer, AsyncUdpSocket, Connection, ConnectionError, Endpoint, Runtime, TokioRuntime, UdpSender};
use pcc_quic::Algorithm;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::time::timeout;

/// The most that waits for all connections, and for one that lags alone: noq's patch 0002.
const ALL: usize = 32 << 20;
const ONE: usize = ALL / 2;

/// No datagram costs less, however short.
const BOOKKEEPING: usize = 128;

const FILE: usize = 2_000_000;

/// Tokio's, with connections' tasks that can be held, and an eye on what is received.
#[derive(Debug, Default)]
struct Held {
    spawned: AtomicUsize,
    gate: Arc<Gate>,
    received: Arc<Received>,
}

#[derive(Debug, Default)]
struct Gate {
    is_closed: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

#[derive(Debug, Default)]
struct Received {
    datagrams: AtomicUsize,
    /// The head of the last one of a connection that is established: flags and the server's connection ID of 8 bytes.
    head: Mutex<[u8; 9]>,
}

impl Runtime for Held {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, mut future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        // The first is the endpoint's, the last that of a connection that does not lag.
        let number = self.spawned.fetch_add(1, Ordering::Relaxed);
        if !(1..=LAGGING).contains(&number) {
            return TokioRuntime.spawn(future);
        }
        let gate = Arc::clone(&self.gate);
        TokioRuntime.spawn(Box::pin(std::future::poll_fn(move |cx| {
            if gate.holds(cx) { Poll::Pending } else { future.as_mut().poll(cx) }
        })));
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        let socket = TokioRuntime.wrap_udp_socket(socket)?;
        Ok(Box::new(Socket { socket, received: Arc::clone(&self.received) }))
    }
}

impl Gate {
    fn holds(&self, cx: &Context<'_>) -> bool {
        let mut waiting = self.waiting.lock().unwrap();
        let is_closed = self.is_closed.load(Ordering::Relaxed);
        if is_closed {
            waiting.push(cx.waker().clone());
        }
        is_closed
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    fn open(&self) {
        let mut waiting = self.waiting.lock().unwrap();
        self.is_closed.store(false, Ordering::Relaxed);
        waiting.drain(..).for_each(Waker::wake);
    }
}

#[derive(Debug)]
struct Socket {
    socket: Box<dyn AsyncUdpSocket>,
    received: Arc<Received>,
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        self.socket.create_sender()
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let polled = self.socket.poll_recv(cx, buffers, meta);
        if let Poll::Ready(Ok(messages)) = &polled {
            for (meta, buffer) in meta[..*messages].iter().zip(buffers.iter()) {
                self.received.datagrams.fetch_add(meta.len.div_ceil(meta.stride), Ordering::Relaxed);
                let is_established = buffer[0] & 0x80 == 0;
                if is_established {
                    self.received.head.lock().unwrap().copy_from_slice(&buffer[..9]);
                }
            }
        }
        polled
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

/// Connections of the server whose tasks can be held: its first ones.
const LAGGING: usize = 4;

struct Server {
    runtime: Arc<Held>,
    endpoint: Endpoint,
    client: Endpoint,
    stranger: UdpSocket,
}

impl Server {
    fn start() -> Self {
        let runtime = Arc::new(Held::default());
        let endpoint = endpoint(&Algorithm::Cubic, Arc::clone(&runtime) as Arc<dyn Runtime>);
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.connect(endpoint.local_addr().unwrap()).unwrap();
        let client = loopback::endpoint(&Algorithm::Cubic, Arc::new(TokioRuntime));
        Self { runtime, endpoint, client, stranger }
    }

    /// Connects, and answers with the head of a datagram for the new connection.
    async fn connect(&self) -> (Connection, Connection, [u8; 9]) {
        let (client, server) = connect(&self.client, &self.endpoint).await;
        deliver(&client, &server, 1).await;
        let head = *self.runtime.received.head.lock().unwrap();
        (client, server, head)
    }

    /// A stranger sends datagrams to a connection, and the endpoint receives them. Answers how many it keeps.
    async fn flood(&self, head: [u8; 9], count: usize, len: usize) -> usize {
        let mut datagram = vec![7; len];
        datagram[..head.len()].copy_from_slice(&head);
        let counts = || (self.received(), self.endpoint.stats().dropped_datagrams as usize);
        let (received, dropped) = counts();
        for sent in 1..=count {
            self.stranger.send(&datagram).unwrap();
            // No more than a socket's buffer holds on any system.
            while sent % 32 == 0 && self.received() < received + sent {
                tokio::task::yield_now().await;
            }
        }
        let (received_now, dropped_now) = counts();
        (received_now - received) - (dropped_now - dropped)
    }

    fn received(&self) -> usize {
        self.runtime.received.datagrams.load(Ordering::Relaxed)
    }
}

/// Moves so many bytes.
async fn deliver(from: &Connection, to: &Connection, bytes: usize) {
    let send = async {
        let mut stream = from.open_uni().await.unwrap();
        stream.write_all(&pattern(bytes)).await.unwrap();
        stream.finish().unwrap();
    };
    let receive = async { to.accept_uni().await.unwrap().read_to_end(bytes).await.unwrap() };
    let ((), received) = timeout(PATIENCE, async { tokio::join!(send, receive) }).await.expect("in time");
    assert!(received == pattern(bytes));
}

#[tokio::test]
async fn a_connection_that_lags_keeps_16_mb_at_most() {
    let server = Server::start();
    let (client, connection, head) = server.connect().await;
    for len in [1200, 40] {
        let fit = ONE / (len + BOOKKEEPING);
        server.runtime.gate.close();
        let kept = server.flood(head, fit + 20_000, len).await;
        assert!(kept <= fit, "{kept} of {len} bytes");
        assert!(kept > fit / 3, "{kept} of {len} bytes");
        server.runtime.gate.open();
        deliver(&client, &connection, FILE).await;
    }
}

#[tokio::test]
async fn a_connection_finds_room_beside_those_that_lag() {
    let server = Server::start();
    let mut lagging = Vec::new();
    for _ in 0..LAGGING {
        lagging.push(server.connect().await);
    }
    let (client, connection, _) = server.connect().await;
    server.runtime.gate.close();
    let mut kept = 0;
    for (_, _, head) in &lagging {
        kept += server.flood(*head, ONE / 1200, 1200).await;
    }
    assert!(kept * (1200 + BOOKKEEPING) <= ALL, "{kept}");
    deliver(&client, &connection, FILE).await;
    assert!(server.runtime.gate.is_closed.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_connection_that_lags_hears_of_its_end() {
    let server = Server::start();
    let (client, connection, head) = server.connect().await;
    server.runtime.gate.close();
    server.flood(head, ONE / 1200, 1200).await;
    assert!(server.endpoint.stats().dropped_datagrams > 0);
    server.endpoint.close(7u8.into(), b"enough");
    server.runtime.gate.open();
    let ended = timeout(PATIENCE, client.closed()).await.expect("in time");
    assert!(matches!(ended, ConnectionError::ApplicationClosed(_)), "{ended}");
    drop(connection);
}
