//! A connection over two interfaces: loopback, twice, of which one can be cut. Needs noq-proto's patch 0018.

mod loopback;

use core::num::NonZeroUsize;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use loopback::{PATIENCE, configured, pattern};
use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncUdpSocket, Connection, Endpoint, PathId, UdpSender};
use pcc::units::Rate;
use pcc_quic::interfaces::{Interfaces, keep_paths};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, socket};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::time::timeout;

/// A second of both paths together.
const FILE: usize = 5_000_000;

/// An interface that drops everything once it is cut.
#[derive(Debug)]
struct Wire {
    socket: Box<dyn AsyncUdpSocket>,
    is_cut: Arc<AtomicBool>,
}

impl AsyncUdpSocket for Wire {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(WireSender { sender: self.socket.create_sender(), is_cut: self.is_cut.clone() })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            let received = self.socket.poll_recv(cx, buffers, meta);
            if received.is_pending() || !self.is_cut.load(Relaxed) {
                return received;
            }
        }
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
struct WireSender {
    sender: Pin<Box<dyn UdpSender>>,
    is_cut: Arc<AtomicBool>,
}

impl UdpSender for WireSender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_cut.load(Relaxed) { Poll::Ready(Ok(())) } else { self.sender.as_mut().poll_send(transmit, cx) }
    }
}

/// A client with two interfaces, and the server.
struct TwoNetworks {
    client: Connection,
    server: Connection,
    cut: [Arc<AtomicBool>; 2],
    _endpoints: [Endpoint; 2],
}

impl TwoNetworks {
    /// Each path has this rate for what the server sends.
    async fn new(rate: Rate) -> Self {
        let mut transport = transport::config(&Algorithm::Fixed(rate), &Windows::default());
        transport::use_interfaces(&mut transport);
        let (config, client_config) = configured(transport);
        let local = || socket::bind("127.0.0.1:0".parse().unwrap()).unwrap().socket;
        let runtime = PacedRuntime::new().unwrap();
        let server = Endpoint::new(Default::default(), Some(config), local(), runtime.clone()).unwrap();
        let address = server.local_addr().unwrap();
        let cut = [Arc::default(), Arc::default()];
        let wire = |is_cut: &Arc<AtomicBool>| -> Box<dyn AsyncUdpSocket> {
            Box::new(Wire { socket: runtime.wrap_udp_socket(local()).unwrap(), is_cut: is_cut.clone() })
        };
        let sockets = Interfaces::new(address, (0..).zip(cut.iter().map(wire)), 0).unwrap();
        let client =
            Endpoint::new_with_abstract_socket(Default::default(), None, Box::new(sockets), runtime.clone()).unwrap();
        client.set_default_client_config(client_config);
        let (one, other) = loopback::connect(&client, &server).await;
        tokio::spawn(keep_paths(one.weak_handle(), address, 2));
        let networks = Self { client: one, server: other, cut, _endpoints: [client, server] };
        let carried = async {
            while networks.carried(1) == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), carried).await.expect("the second path carries something");
        networks
    }

    /// Bytes that came to the client by the path of that number.
    fn carried(&self, path: u8) -> u64 {
        self.client.path_stats(PathId::from(path)).map_or(0, |path| path.udp_rx.bytes)
    }

    /// The server sends a file, and `midway` is called when half of it has come.
    async fn send(&self, midway: impl FnOnce()) {
        let content = pattern(FILE);
        let mut out = self.server.open_uni().await.unwrap();
        let written = content.clone();
        let writing = tokio::spawn(async move {
            out.write_all(&written).await.unwrap();
            out.finish().unwrap();
            out.stopped().await
        });
        let mut coming = self.client.accept_uni().await.unwrap();
        let mut read = vec![0; FILE / 2];
        coming.read_exact(&mut read).await.unwrap();
        midway();
        read.extend(coming.read_to_end(FILE).await.unwrap());
        assert!(read == content);
        writing.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_of_equal_rates_carry_equal_parts() {
    let networks = TwoNetworks::new(Rate::from_mbit(20.0)).await;
    timeout(PATIENCE, networks.send(|| ())).await.unwrap();
    let (one, other) = (networks.carried(0) as f64, networks.carried(1) as f64);
    assert!(one.min(other) > 0.4 * (one + other), "{one} {other}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interface_that_is_cut_leaves_its_data_to_the_other() {
    for cut in [0, 1] {
        let networks = TwoNetworks::new(Rate::from_mbit(20.0)).await;
        timeout(PATIENCE, networks.send(|| networks.cut[cut].store(true, Relaxed))).await.unwrap();
        assert_eq!(networks.client.close_reason(), None);
        let sent = networks.server.stats().udp_tx.bytes as f64;
        assert!(sent < 1.4 * FILE as f64, "{sent} bytes were sent: at most some windows go twice");
    }
}
