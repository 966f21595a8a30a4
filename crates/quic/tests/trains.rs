//! How many packets leave at a time: as many as the system takes in one call, and no more.

mod loopback;

use core::num::NonZeroUsize;
use loopback::{PATIENCE, configured, connect};
use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncTimer, AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, UdpSender};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, socket};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::time::timeout;

const FILE: usize = 20_000_000;

/// The most that one call takes over IPv4.
const PAYLOAD: usize = 65_507;

/// The largest of what was sent in one call.
#[derive(Debug, Default)]
struct Largest {
    bytes: AtomicUsize,
    packets: AtomicUsize,
}

/// Tokio's, with an eye on what is sent.
#[derive(Debug)]
struct Watched(Arc<Largest>);

impl Runtime for Watched {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        Ok(Box::new(Socket { socket: TokioRuntime.wrap_udp_socket(socket)?, largest: Arc::clone(&self.0) }))
    }
}

#[derive(Debug)]
struct Socket {
    socket: Box<dyn AsyncUdpSocket>,
    largest: Arc<Largest>,
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender { sender: self.socket.create_sender(), largest: Arc::clone(&self.largest) })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_recv(cx, buffers, meta)
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

#[derive(Debug)]
struct Sender {
    sender: Pin<Box<dyn UdpSender>>,
    largest: Arc<Largest>,
}

impl UdpSender for Sender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let bytes = transmit.contents.len();
        let packets = transmit.segment_size.map_or(1, |segment| bytes.div_ceil(segment));
        self.largest.bytes.fetch_max(bytes, Ordering::Relaxed);
        self.largest.packets.fetch_max(packets, Ordering::Relaxed);
        self.sender.as_mut().poll_send(transmit, cx)
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.sender.max_transmit_segments()
    }
}

/// Moves a file from `address` to itself in packets of up to `mtu` bytes.
async fn largest_of_a_file(address: &str, mtu: u16) -> Arc<Largest> {
    let largest = Arc::new(Largest::default());
    let endpoint = |largest: &Arc<Largest>| {
        let mut transport = transport::config(&Algorithm::Cubic, &Windows::default());
        transport.initial_mtu(mtu).mtu_discovery_config(None);
        let (server, client) = configured(transport);
        let bound = socket::bind(address.parse().unwrap()).unwrap();
        let mut config = EndpointConfig::default();
        config.max_udp_payload_size(mtu).unwrap();
        let runtime = Arc::new(Watched(Arc::clone(largest)));
        let endpoint = Endpoint::new(config, Some(server), bound.socket, runtime).unwrap();
        endpoint.set_default_client_config(client);
        endpoint
    };
    let endpoints = [endpoint(&largest), endpoint(&largest)];
    let (client, server) = connect(&endpoints[0], &endpoints[1]).await;
    let send = async {
        let mut stream = client.open_uni().await.unwrap();
        stream.write_all(&vec![7; FILE]).await.unwrap();
        stream.finish().unwrap();
    };
    let receive = async { server.accept_uni().await.unwrap().read_to_end(FILE).await.unwrap() };
    let ((), received) = timeout(PATIENCE, async { tokio::join!(send, receive) }).await.expect("in time");
    assert_eq!(received.len(), FILE);
    largest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_train_is_as_long_as_one_call_may_be() {
    for (address, mtu) in
        [("127.0.0.1:0", 1200), ("127.0.0.1:0", 1472), ("[::1]:0", 1452), ("127.0.0.1:0", 8952), ("[::1]:0", 8932)]
    {
        let largest = largest_of_a_file(address, mtu).await;
        let (bytes, packets) = (largest.bytes.load(Ordering::Relaxed), largest.packets.load(Ordering::Relaxed));
        let fit = PAYLOAD / usize::from(mtu);
        assert!(bytes <= PAYLOAD, "{address} {mtu}: {bytes} bytes in one call");
        // Without segmentation offload each packet is a call of its own.
        assert!(packets == 1 || packets > fit / 2, "{address} {mtu}: {packets} packets at most, {fit} fit");
    }
}
