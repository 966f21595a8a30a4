//! What waiting and sending cost by themselves: the floor under any sender that wakes up for each packet.

use crate::machine::Span;
use crate::tap::Tap;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use pcc::units::{Bytes, Rate};
use std::net::UdpSocket;
use std::time::Duration;

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
        timer.wait()?;
        socket.send_to(&PACKET, tap.address)?;
    }
    let share = span.end()?.thread;
    tap.stop()?;
    Ok(share)
}

/// A timer that expires each `gap`.
fn periodic(gap: Duration) -> nix::Result<TimerFd> {
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
    timer.set(Expiration::Interval(TimeSpec::from_duration(gap)), TimerSetTimeFlags::empty())?;
    Ok(timer)
}
