//! A connection over TCP whose data in the kernel is within the server's budget.
//!
//! A kernel lets a connection's send buffer grow with its path: Linux to `net.ipv4.tcp_wmem`, 4 MiB. Data that a client does not
//! take stays there, beside the server's own memory. So what a buffer has grown by is leased. One that finds no room
//! stays as it is from then on.

use super::budget::Lease;
use core::pin::Pin;
use core::task::{Context, Poll};
use socket2::SockRef;
use std::io::{self, IoSlice};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes in the kernel for what is to be sent, of each connection: 20 Mbit/s over 100 ms.
pub(super) const LEAST: u64 = 256 << 10;

/// Bytes in the kernel for requests that are not read yet.
const UNREAD: usize = 64 << 10;

/// Linux takes twice as much as it is told, for its own structures.
const DOUBLED: u64 = if cfg!(any(target_os = "linux", target_os = "android")) { 2 } else { 1 };

/// A connection, and what its kernel may hold beyond [`LEAST`].
pub(super) struct Bounded {
    connection: TcpStream,
    lease: Lease,
    /// Whether the buffer stays as it is.
    is_fixed: bool,
}

impl Bounded {
    pub(super) fn new(connection: TcpStream, lease: Lease) -> Self {
        if let Err(error) = SockRef::from(&connection).set_recv_buffer_size(UNREAD / DOUBLED as usize) {
            tracing::debug!(%error, "the receive buffer has another size");
        }
        Self { connection, lease, is_fixed: false }
    }

    /// Sees to it that there is room for all that the kernel would take now. Data that is written next counts as it was before.
    fn fit(&mut self) {
        let socket = SockRef::from(&self.connection);
        let size = || socket.send_buffer_size().map_or(0, |size| size as u64);
        let wanted = size();
        if self.is_fixed || wanted <= LEAST + self.lease.grow_to(wanted.saturating_sub(LEAST)) {
            return;
        }
        let granted = LEAST + self.lease.grow_to(0);
        if let Err(error) = socket.set_send_buffer_size((granted / DOUBLED) as usize) {
            tracing::debug!(%error, "the send buffer has another size");
        }
        // The system may allow less.
        self.lease.shrink(size().saturating_sub(LEAST));
        self.is_fixed = true;
    }
}

impl AsyncRead for Bounded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.fit();
        Pin::new(&mut self.connection).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.fit();
        Pin::new(&mut self.connection).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(cx)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::budget::Budget;
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    /// The send buffer of a connection over loopback with so much room besides [`LEAST`], before and after a write.
    async fn sizes(room: u64) -> [u64; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (connection, address) = listener.accept().await.unwrap();
        // One network has half of a budget at most.
        let mut bounded = Bounded::new(connection, Budget::new(2 * room).none(address.ip()));
        let size = |bounded: &Bounded| SockRef::from(&bounded.connection).send_buffer_size().unwrap() as u64;
        let before = size(&bounded);
        bounded.write_all(b"x").await.unwrap();
        [before, size(&bounded)]
    }

    #[tokio::test]
    async fn a_send_buffer_with_room_is_the_kernels() {
        let [before, after] = sizes(64 << 20).await;
        assert!(before == after && before > LEAST, "{before}, {after}: over loopback it begins large");
    }

    #[tokio::test]
    async fn a_send_buffer_without_room_is_the_least() {
        for room in [0, 100 << 10] {
            let [before, after] = sizes(room).await;
            assert!(before > LEAST + room && after <= LEAST + room, "{before}, {after} with {room}");
        }
    }
}
