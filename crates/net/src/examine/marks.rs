//! Which ECN marks a connection sends and receives: noq's own socket, watched.

use core::num::NonZeroUsize;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll};
use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncTimer, AsyncUdpSocket, Runtime, UdpSender};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

/// The counts.
#[derive(Debug, Default)]
pub struct Marks {
    sent: AtomicU64,
    /// Sent unmarked since the last marked packet.
    unmarked: AtomicU64,
    received: AtomicU64,
    received_marked: AtomicU64,
}

/// More unmarked packets than this after the last marked one mean that noq has given up marking: acknowledgements are never marked,
/// and what needs one is.
const GIVEN_UP: u64 = 12;

impl Marks {
    /// Whether packets still leave with marks: the server reports those that it receives (RFC 9000 §13.4.2).
    pub fn are_reported(&self) -> bool {
        self.sent.load(Ordering::Relaxed) > 0 && self.unmarked.load(Ordering::Relaxed) < GIVEN_UP
    }

    /// Packets that came, and those of them that had a mark.
    pub fn received(&self) -> (u64, u64) {
        (self.received.load(Ordering::Relaxed), self.received_marked.load(Ordering::Relaxed))
    }

    fn on_sent(&self, marked: bool) {
        if marked {
            self.sent.fetch_add(1, Ordering::Relaxed);
            self.unmarked.store(0, Ordering::Relaxed);
        } else {
            self.unmarked.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn on_received(&self, meta: &[RecvMeta]) {
        self.received.fetch_add(meta.len() as u64, Ordering::Relaxed);
        let marked = meta.iter().filter(|meta| meta.ecn.is_some()).count();
        self.received_marked.fetch_add(marked as u64, Ordering::Relaxed);
    }
}

/// A runtime whose sockets are watched.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) inner: Arc<dyn Runtime>,
    pub(super) marks: Arc<Marks>,
}

impl Runtime for Watched {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.inner.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.inner.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        Ok(Box::new(Socket { inner: self.inner.wrap_udp_socket(socket)?, marks: self.marks.clone() }))
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }
}

#[derive(Debug)]
struct Socket {
    inner: Box<dyn AsyncUdpSocket>,
    marks: Arc<Marks>,
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender { inner: self.inner.create_sender(), marks: self.marks.clone() })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let came = self.inner.poll_recv(cx, buffers, meta);
        if let Poll::Ready(Ok(count)) = came {
            self.marks.on_received(&meta[..count]);
        }
        came
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
    marks: Arc<Marks>,
}

impl UdpSender for Sender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = self.inner.as_mut().poll_send(transmit, cx);
        if matches!(sent, Poll::Ready(Ok(()))) {
            self.marks.on_sent(transmit.ecn.is_some());
        }
        sent
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.inner.max_transmit_segments()
    }
}
