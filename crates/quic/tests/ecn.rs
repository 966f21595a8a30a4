//! Paths that drop whatever is marked for ECN.

mod loopback;

use core::num::NonZeroUsize;
use core::pin::Pin;
use core::task::{Context, Poll};
use loopback::{PATIENCE, connect, endpoint, pattern};
use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncTimer, AsyncUdpSocket, Connection, Endpoint, Runtime, UdpSender};
use pcc_quic::{Algorithm, PacedRuntime, socket};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use tokio::time::timeout;

/// What the path does to packets, and has done.
#[derive(Debug, Default)]
struct Path {
    drops_marked: AtomicBool,
    /// All that is sent.
    is_down: AtomicBool,
    dropped: AtomicU64,
    marked: AtomicU64,
    unmarked: AtomicU64,
}

impl Path {
    fn takes(&self, transmit: &Transmit<'_>) -> bool {
        let is_marked = transmit.ecn.is_some();
        let is_lost = self.is_down.load(Relaxed) || is_marked && self.drops_marked.load(Relaxed);
        let count = match (is_lost, is_marked) {
            (true, _) => &self.dropped,
            (false, true) => &self.marked,
            (false, false) => &self.unmarked,
        };
        count.fetch_add(1, Relaxed);
        !is_lost
    }

    fn marked(&self) -> u64 {
        self.marked.load(Relaxed)
    }
}

/// Endpoints on both ends of a path.
#[derive(Debug)]
struct OverPath {
    inner: Arc<dyn Runtime>,
    path: Arc<Path>,
}

impl Runtime for OverPath {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.inner.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.inner.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        Ok(Box::new(Socket { inner: self.inner.wrap_udp_socket(socket)?, path: Arc::clone(&self.path) }))
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }
}

#[derive(Debug)]
struct Socket {
    inner: Box<dyn AsyncUdpSocket>,
    path: Arc<Path>,
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender { inner: self.inner.create_sender(), path: Arc::clone(&self.path) })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(cx, buffers, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

#[derive(Debug)]
struct Sender {
    inner: Pin<Box<dyn UdpSender>>,
    path: Arc<Path>,
}

impl UdpSender for Sender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.path.takes(transmit) {
            return Poll::Ready(Ok(()));
        }
        self.inner.as_mut().poll_send(transmit, cx)
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.inner.max_transmit_segments()
    }
}

fn ends(path: &Arc<Path>) -> [Endpoint; 2] {
    let inner = PacedRuntime::new().unwrap();
    [(); 2].map(|()| {
        let runtime = OverPath { inner: Arc::clone(&inner), path: Arc::clone(path) };
        endpoint(&Algorithm::default(), Arc::new(runtime))
    })
}

/// Sends data one way and checks what arrives.
async fn moves(from: &Connection, to: &Connection) {
    let data = pattern(300_000);
    let send = async {
        let mut stream = from.open_uni().await.unwrap();
        stream.write_all(&data).await.unwrap();
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
    };
    let receive = async { to.accept_uni().await.unwrap().read_to_end(data.len()).await.unwrap() };
    let ((), received) = timeout(PATIENCE, async { tokio::join!(send, receive) }).await.expect("arrives in time");
    assert!(received == data);
}

async fn moves_both_ways(client: &Connection, server: &Connection) {
    moves(client, server).await;
    moves(server, client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_drops_marked_packets_carries_a_connection() {
    let path = Arc::new(Path::default());
    path.drops_marked.store(true, Relaxed);
    let ends = ends(&path);
    let (client, server) = timeout(PATIENCE, connect(&ends[0], &ends[1])).await.expect("connects");
    moves_both_ways(&client, &server).await;
    assert_eq!(path.marked(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_comes_to_drop_marked_packets_goes_on() {
    let path = Arc::new(Path::default());
    let ends = ends(&path);
    let (client, server) = connect(&ends[0], &ends[1]).await;
    moves_both_ways(&client, &server).await;
    assert!(path.marked() > 100, "packets are marked while they arrive: {path:?}");
    path.drops_marked.store(true, Relaxed);
    moves_both_ways(&client, &server).await;
    let dropped = path.dropped.load(Relaxed);
    moves_both_ways(&client, &server).await;
    assert_eq!(path.dropped.load(Relaxed), dropped, "for good");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_such_a_path_a_client_may_get_another_address() {
    let path = Arc::new(Path::default());
    path.drops_marked.store(true, Relaxed);
    let ends = ends(&path);
    let (client, server) = timeout(PATIENCE, connect(&ends[0], &ends[1])).await.expect("connects");
    moves_both_ways(&client, &server).await;
    let dropped = path.dropped.load(Relaxed);
    for _ in 0..3 {
        ends[0].rebind(socket::bind("127.0.0.1:0".parse().unwrap()).unwrap().socket).unwrap();
        moves_both_ways(&client, &server).await;
    }
    assert_eq!(path.dropped.load(Relaxed), dropped, "what is known of the path holds for its next address");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_packet_or_two_leave_the_marks() {
    let path = Arc::new(Path::default());
    let ends = ends(&path);
    let (client, server) = connect(&ends[0], &ends[1]).await;
    for _ in 0..20 {
        moves_both_ways(&client, &server).await;
        // A time-out is due once a few hundred microseconds and the acknowledgement's delay have passed.
        path.is_down.store(true, Relaxed);
        client.open_uni().await.unwrap().write_all(b"lost at first").await.unwrap();
        while path.dropped.swap(0, Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        path.is_down.store(false, Relaxed);
        let _ = server.accept_uni().await.unwrap();
    }
    let (marked, unmarked) = (path.marked(), path.unmarked.load(Relaxed));
    moves(&client, &server).await;
    assert!(path.marked() > marked + 20, "{marked} marked, {unmarked} not; now {path:?}");
}
