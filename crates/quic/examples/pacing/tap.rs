//! A relay that notes when the kernel received each packet of the first sender.

use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A packet at the tap: nanoseconds of the kernel's wall clock, and bytes of UDP payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) nanos: u64,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Tap {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Vec<Arrival>>>,
}

impl Tap {
    /// Relays between whoever sends to it and `receiver`.
    pub(crate) fn start(receiver: SocketAddr) -> io::Result<Self> {
        let front = pcc_quic::socket::bind(([127, 0, 0, 1], 0).into())?.socket;
        let back = pcc_quic::socket::bind(([127, 0, 0, 1], 0).into())?.socket;
        back.connect(receiver)?;
        setsockopt(&front, ReceiveTimestampns, &true)?; // the kernel notes when each packet arrives
        front.set_read_timeout(Some(Duration::from_millis(100)))?;
        let address = front.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || relay(&front, &back, &stopped));
        Ok(Self { address, stop, thread })
    }

    /// What arrived, in order.
    pub(crate) fn stop(self) -> io::Result<Vec<Arrival>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the tap panicked")))
    }
}

fn relay(front: &UdpSocket, back: &UdpSocket, stop: &AtomicBool) -> io::Result<Vec<Arrival>> {
    let mut arrivals = Vec::with_capacity(1 << 20);
    let mut buffer = vec![0; 65_536];
    let mut back_thread = None;
    while !stop.load(Ordering::Relaxed) {
        let Some((arrival, sender)) = receive(front, &mut buffer)? else { continue };
        back_thread.get_or_insert_with(|| {
            let (front, back) = (front.try_clone(), back.try_clone());
            // Acknowledgements; ends with the process.
            std::thread::spawn(move || {
                let (front, back) = (front?, back?);
                let mut buffer = vec![0; 65_536];
                loop {
                    let bytes = back.recv(&mut buffer)?;
                    front.send_to(&buffer[..bytes], sender)?;
                }
                #[expect(unreachable_code)]
                io::Result::Ok(())
            })
        });
        arrivals.push(arrival);
        back.send(&buffer[..arrival.bytes])?;
    }
    Ok(arrivals)
}

/// One packet, its arrival and its sender; `None` if none came in time.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<(Arrival, SocketAddr)>> {
    let mut slices = [io::IoSliceMut::new(buffer)];
    let mut control = nix::cmsg_space!(TimeSpec);
    let got = recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty());
    let message = match got {
        Err(Errno::EAGAIN) => return Ok(None),
        other => other?,
    };
    let stamp = message.cmsgs()?.find_map(|one| match one {
        ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
        _ => None,
    });
    let nanos = stamp.ok_or_else(|| io::Error::other("a packet without its time"))?.as_nanos() as u64;
    let sender = message.address.ok_or_else(|| io::Error::other("a packet without a sender"))?;
    Ok(Some((Arrival { nanos, bytes: message.bytes }, SocketAddr::V4(sender.into()))))
}
