//! What waiting and sending cost by themselves: the floor under any sender that wakes up for each packet.

use crate::machine::Span;
use crate::tap::Tap;
use pcc::units::{Bytes, Rate};
use std::mem::size_of_val;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;
use std::{io, ptr};

/// A full packet of the senders that are measured.
const PACKET: [u8; 1452] = [0; 1452];

/// Share of a core that a thread takes which waits for a timer of the kernel and sends a packet, again and again, without
/// any protocol.
pub(crate) fn measure(rate: Rate, time: Duration) -> anyhow::Result<f64> {
    let gap = rate.time_for(Bytes::new(PACKET.len() as u64));
    let nobody = UdpSocket::bind("127.0.0.1:0")?;
    let tap = Tap::start(nobody.local_addr()?)?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let timer = periodic(gap)?;
    let span = Span::start()?;
    for _ in 0..(time.as_nanos() / gap.as_nanos().max(1)) {
        wait(&timer)?;
        socket.send_to(&PACKET, tap.address)?;
    }
    let share = span.end()?.thread;
    tap.stop()?;
    Ok(share)
}

/// A timer that expires each `gap`.
fn periodic(gap: Duration) -> io::Result<OwnedFd> {
    let gap = libc::timespec { tv_sec: gap.as_secs() as libc::time_t, tv_nsec: gap.subsec_nanos().into() };
    let setting = libc::itimerspec { it_interval: gap, it_value: gap };
    // SAFETY: a descriptor that is not negative is open and ours alone; the kernel reads one itimerspec, and a null
    // pointer says that the old setting is not wanted.
    unsafe {
        let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = OwnedFd::from_raw_fd(fd);
        if libc::timerfd_settime(fd, 0, &raw const setting, ptr::null_mut()) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(timer)
    }
}

/// Blocks until it expires.
fn wait(timer: &OwnedFd) -> io::Result<()> {
    let mut expired = 0_u64;
    // SAFETY: the descriptor is open, and the kernel writes at most the eight bytes of `expired`.
    let read = unsafe { libc::read(timer.as_raw_fd(), (&raw mut expired).cast(), size_of_val(&expired)) };
    if read < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
