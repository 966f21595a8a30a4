//! A UDP socket for noq with no more system calls than its packets need.
//!
//! Tokio's socket is told whenever there is room in the send buffer. There is more room each time the network has taken
//! a packet, so a paced sender was woken a second time for every packet. After each batch of arrivals it asked once
//! more, to hear that there are none. This socket looks for room only after the kernel refused a packet, and takes a
//! batch that is not full for the last. `udp/arrival.rs` tells when datagrams came.

mod arrival;
mod room;

use arrival::Arrivals;
use room::{Room, Sending};

use crate::pace;
use core::num::NonZeroUsize;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use noq::udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState, is_msg_size_err};
use noq::{AsyncUdpSocket, UdpSender};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

#[derive(Debug)]
pub(crate) struct Socket {
    arrivals: AsyncFd<OwnedFd>,
    outlet: Arc<Outlet>,
    received: Arrivals,
}

/// The state that all senders of a socket share.
#[derive(Debug)]
struct Outlet {
    socket: UdpSocket,
    /// The system's options for a UDP socket, and how they are set.
    system: UdpSocketState,
    room: Room,
}

impl Socket {
    /// Errors: no descriptors left; not inside a Tokio runtime with I/O.
    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        let system = UdpSocketState::new(UdpSockRef::from(&socket))?; // not blocking from here on
        let outlet = Outlet { socket: socket.try_clone()?, system, room: Room::default() };
        let arrivals = crate::sys::watch(socket, Interest::READABLE)?;
        let received = Arrivals::at(arrivals.get_ref());
        Ok(Self { arrivals, outlet: Arc::new(outlet), received })
    }
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender { outlet: Arc::clone(&self.outlet), sending: Sending::default(), reported: None })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let kept = self.received.take(meta, buffers);
        if kept > 0 {
            pace::time_passes();
            return Poll::Ready(Ok(kept));
        }
        if self.received.is_turn_spent() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            let mut ready = ready!(self.arrivals.poll_read_ready(cx))?;
            let socket = self.arrivals.get_ref();
            let (before, space) = self.received.before(buffers.len());
            match self.outlet.system.recv(UdpSockRef::from(socket), &mut buffers[..space], meta) {
                Ok(count) => {
                    // Fewer than there was space for: the kernel had no more (recvmmsg), and tells us of the next.
                    let last = count < space;
                    if last {
                        ready.clear_ready();
                    }
                    if self.received.keep(socket, &meta[..count], buffers, last.then_some(before)) {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.received.nothing_at(before);
                    ready.clear_ready();
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.outlet.socket.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.outlet.system.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.outlet.system.may_fragment()
    }
}

/// One connection's way out.
#[derive(Debug)]
struct Sender {
    outlet: Arc<Outlet>,
    sending: Sending,
    /// When an error was last reported.
    reported: Option<Instant>,
}

impl UdpSender for Sender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { outlet, sending, reported } = &mut *self;
        let send = || outlet.system.try_send(UdpSockRef::from(&outlet.socket), transmit);
        match ready!(sending.poll(cx, &outlet.room, &outlet.socket, send)) {
            Ok(()) => pace::time_passes(),
            Err(Failure::Wait(error)) => return Poll::Ready(Err(error)),
            Err(Failure::Send(error)) => report(&error, transmit, reported),
        }
        Poll::Ready(Ok(()))
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.outlet.system.max_gso_segments()
    }
}

/// Why a packet did not leave.
#[derive(Debug)]
enum Failure {
    /// The system refused it: QUIC sends again what is lost.
    Send(io::Error),
    /// Nobody will tell when there is room: the end of the connection.
    Wait(io::Error),
}

/// One message a minute is enough: a network that is down fails every packet.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

fn report(error: &io::Error, transmit: &Transmit<'_>, reported: &mut Option<Instant>) {
    // A probe for a larger MTU is meant to find that out; it goes alone.
    let is_probe = is_msg_size_err(error) && transmit.segment_size.is_none();
    if is_probe || reported.is_some_and(|at| at.elapsed() < REPORT_INTERVAL) {
        return;
    }
    *reported = Some(Instant::now());
    tracing::warn!(
        %error, to = %transmit.destination, from = ?transmit.src_ip, bytes = transmit.contents.len(),
        segment = ?transmit.segment_size, "the system did not send a packet"
    );
}

#[cfg(test)]
mod tests;
