//! Waiting for room in a socket's send buffer, which is rare.

use super::Failure;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The place where the senders of a socket wait. While nobody does, the kernel is not asked to tell.
#[derive(Debug, Default)]
pub(super) struct Room(Mutex<Weak<AsyncFd<OwnedFd>>>);

impl Room {
    /// Through which the kernel tells that there is room in `socket`'s send buffer, to all who hold it.
    fn watch(&self, socket: &UdpSocket) -> io::Result<Arc<AsyncFd<OwnedFd>>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = shared.upgrade() {
            return Ok(watch);
        }
        // Its own descriptor, since Tokio knows the socket's already, for arrivals.
        let watch = Arc::new(crate::sys::watch(socket.try_clone()?, Interest::WRITABLE)?);
        *shared = Arc::downgrade(&watch);
        Ok(watch)
    }

    #[cfg(test)]
    pub(super) fn is_watched(&self) -> bool {
        self.0.lock().unwrap().strong_count() > 0
    }
}

/// How far one sender is with its packet.
#[derive(Debug, Default)]
pub(super) struct Sending(Option<Blocked>);

struct Blocked {
    watch: Arc<AsyncFd<OwnedFd>>,
    room: Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>,
}

impl Blocked {
    fn new(watch: Arc<AsyncFd<OwnedFd>>) -> Self {
        let held = Arc::clone(&watch);
        // The answer stays true until `try_io` finds otherwise.
        let room = Box::pin(async move { held.writable().await.map(|mut ready| ready.retain_ready()) });
        Self { watch, room }
    }
}

impl fmt::Debug for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocked").finish_non_exhaustive()
    }
}

impl Sending {
    /// Calls `send` now, and again when there is room, until it no longer answers that it would block.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        room: &Room,
        socket: &UdpSocket,
        send: impl Fn() -> io::Result<()>,
    ) -> Poll<Result<(), Failure>> {
        loop {
            let result = match &mut self.0 {
                None => send(),
                Some(blocked) => {
                    ready!(blocked.room.as_mut().poll(cx)).map_err(Failure::Wait)?;
                    blocked.watch.try_io(Interest::WRITABLE, |_| send())
                }
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let watch = room.watch(socket).map_err(Failure::Wait)?;
                    self.0 = Some(Blocked::new(watch));
                }
                other => {
                    self.0 = None;
                    return Poll::Ready(other.map_err(Failure::Send));
                }
            }
        }
    }
}
