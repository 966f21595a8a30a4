//! A relay that notes when the kernel received each packet of the first sender.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, mem, ptr};

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
        timestamp(&front)?;
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

/// Asks the kernel to note arrival times.
fn timestamp(socket: &UdpSocket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the kernel reads one c_int.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            mem::size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// One packet, its arrival and its sender; `None` if none came in time.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<(Arrival, SocketAddr)>> {
    #[repr(align(8))]
    struct Control([u8; 128]);
    let mut control = Control([0; 128]);
    // SAFETY: all-zero is a valid value of these plain structures.
    let (mut name, mut message): (libc::sockaddr_in, libc::msghdr) = unsafe { (mem::zeroed(), mem::zeroed()) };
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = mem::size_of_val(&name) as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: every pointer in `message` is to a live buffer of the length that stands beside it.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    if received < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    let mut nanos = 0;
    // SAFETY: the kernel filled `control` with well-formed messages, which these macros walk; a time stamp is one
    // timespec, read without assuming that it is aligned.
    unsafe {
        let mut entry = libc::CMSG_FIRSTHDR(&raw const message);
        while !entry.is_null() {
            if (*entry).cmsg_level == libc::SOL_SOCKET && (*entry).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time: libc::timespec = ptr::read_unaligned(libc::CMSG_DATA(entry).cast());
                nanos = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            }
            entry = libc::CMSG_NXTHDR(&raw const message, entry);
        }
    }
    let sender = SocketAddr::from((name.sin_addr.s_addr.to_ne_bytes(), u16::from_be(name.sin_port)));
    Ok(Some((Arrival { nanos, bytes: received as usize }, sender)))
}
