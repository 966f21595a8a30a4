//! A train: datagrams of one size, evenly spaced.

use pcc::units::{Bytes, Rate};
use std::time::Duration;

/// Payload of each datagram: every path of QUIC carries it, and no two share a packet. Unit: bytes.
pub const PAYLOAD: usize = 1150;

/// Headers of IP and UDP, QUIC's short header with a connection identifier of 8 bytes, its tag and the frame's type. Unit: bytes.
const HEADERS: u64 = 28 + 1 + 8 + 2 + 16 + 1;

/// A datagram's packet, over IPv4.
pub const WIRE: Bytes = Bytes::new(PAYLOAD as u64 + HEADERS);

/// Datagrams in a train at most: what either end keeps for it, and what a stranger can have the other send at once.
pub const MOST_PACKETS: u32 = 200_000;

/// The rate of the fastest train: 1 Gbit/s. Unit: bytes per second.
pub const FASTEST: f64 = 125e6;

/// The longest that a train may take.
pub const LONGEST: Duration = Duration::from_secs(60);

/// A train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Train {
    /// How many datagrams.
    pub packets: u32,
    /// Time from one to the next.
    pub gap: Duration,
}

impl Train {
    /// A train of this rate that lasts this time, within the bounds.
    pub fn new(rate: Rate, time: Duration) -> Self {
        let rate = rate.min(Rate::from_bytes_per_sec(FASTEST)).max(Rate::from_bytes_per_sec(SLOWEST));
        let gap = rate.time_for(WIRE);
        let packets = (time.as_secs_f64() / gap.as_secs_f64()).ceil().clamp(LEAST, f64::from(MOST_PACKETS));
        Self { packets: packets as u32, gap }
    }

    /// Its rate on the wire.
    pub fn rate(&self) -> Rate {
        Rate::from_bytes_per_sec(WIRE.get() as f64 / self.gap.as_secs_f64().max(1e-9))
    }

    /// Whether both ends bear it.
    pub fn is_bearable(&self) -> bool {
        let fastest = Duration::from_secs_f64(WIRE.get() as f64 / FASTEST).saturating_sub(Duration::from_nanos(1));
        (1..=MOST_PACKETS).contains(&self.packets) && self.gap >= fastest && self.gap * self.packets <= LONGEST
    }

    /// As it is asked for: the direction, a number that tells its datagrams from others, and the train.
    pub(crate) fn request(&self, is_down: bool, number: u32) -> [u8; REQUEST] {
        let mut request = [0; REQUEST];
        request[0] = u8::from(is_down);
        request[1..5].copy_from_slice(&number.to_be_bytes());
        request[5..9].copy_from_slice(&self.packets.to_be_bytes());
        request[9..].copy_from_slice(&(self.gap.as_nanos() as u64).to_be_bytes());
        request
    }

    /// Reads that; `None` if it is more than can be borne.
    pub(super) fn requested(request: &[u8; REQUEST]) -> Option<(bool, u32, Self)> {
        let number = |at: usize| Some(u32::from_be_bytes(*request.get(at..)?.first_chunk()?));
        let gap = Duration::from_nanos(u64::from_be_bytes(*request.last_chunk()?));
        let packets = number(5)?;
        if gap > LONGEST {
            return None;
        }
        let train = Self { packets, gap };
        train.is_bearable().then_some((request[0] == 1, number(1)?, train))
    }
}

/// A packet in two seconds. Unit: bytes per second.
const SLOWEST: f64 = WIRE.get() as f64 / 2.0;

/// Fewer packets say nothing.
const LEAST: f64 = 8.0;

/// Length of a request. Unit: bytes.
pub(crate) const REQUEST: usize = 17;

/// A datagram of a train: when it left, and when it arrived if it did, each by the clock of that end. Unit: seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet {
    /// When it left.
    pub sent: f64,
    /// When it arrived.
    pub arrived: Option<f64>,
}

/// A train that has passed.
#[derive(Clone, Debug)]
pub struct Heard {
    /// As it was asked for.
    pub train: Train,
    /// Its datagrams, in the order in which they left.
    pub packets: Vec<Packet>,
}

/// In front of each datagram.
const MARK: u8 = b'R';

/// A datagram.
pub(super) fn datagram(number: u32, place: u32, at: Duration) -> bytes::Bytes {
    let mut datagram = Vec::with_capacity(PAYLOAD);
    datagram.push(MARK);
    datagram.extend(number.to_be_bytes());
    datagram.extend(place.to_be_bytes());
    datagram.extend((at.as_nanos() as u64).to_be_bytes());
    datagram.resize(PAYLOAD, 0);
    datagram.into()
}

/// Its train's number, its place in the train, and when it left. Unit: s.
pub(super) fn read(datagram: &[u8]) -> Option<(u32, u32, f64)> {
    let rest = datagram.strip_prefix(&[MARK])?;
    let (number, rest) = rest.split_first_chunk()?;
    let (place, rest) = rest.split_first_chunk()?;
    let at = u64::from_be_bytes(*rest.first_chunk()?);
    Some((u32::from_be_bytes(*number), u32::from_be_bytes(*place), at as f64 * 1e-9))
}

/// The arrivals of a train as they travel back: places and microseconds, each as the difference to the one before, in
/// variable-length integers (LEB128, zigzag for places).
pub(super) fn arrivals_written(arrivals: &[(u32, u64)]) -> Vec<u8> {
    let mut written = Vec::new();
    let (mut place, mut at) = (0_i64, 0_u64);
    for (next, time) in arrivals {
        let step = i64::from(*next) - place;
        number_written((step << 1 ^ step >> 63) as u64, &mut written);
        number_written(time.saturating_sub(at), &mut written);
        (place, at) = (i64::from(*next), *time);
    }
    written
}

/// Most bytes of that for a train.
pub(super) fn most_written(train: Train) -> usize {
    16 * train.packets as usize
}

/// Reads it: for each packet of a train when it arrived, in seconds. Impossible entries are left out.
pub(super) fn arrivals_read(written: &[u8], packets: usize) -> Vec<Option<f64>> {
    let mut arrived = vec![None; packets];
    let (mut rest, mut place, mut at) = (written, 0_i64, 0_u64);
    while let (Some(step), Some(time)) = (number_read(&mut rest), number_read(&mut rest)) {
        place = place.saturating_add((step >> 1) as i64 ^ -((step & 1) as i64));
        at = at.saturating_add(time);
        if let Some(arrival) = usize::try_from(place).ok().and_then(|place| arrived.get_mut(place)) {
            arrival.get_or_insert(at as f64 * 1e-6);
        }
    }
    arrived
}

fn number_written(mut value: u64, written: &mut Vec<u8>) {
    while value >= 0x80 {
        written.push(value as u8 | 0x80);
        value >>= 7;
    }
    written.push(value as u8);
}

fn number_read(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, others) = rest.split_first()?;
        *rest = others;
        value |= u64::from(first & 0x7f).checked_shl(shift).unwrap_or(0);
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
