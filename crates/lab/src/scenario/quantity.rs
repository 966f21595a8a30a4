//! Texts with units, and what of them no network could have.

use crate::spec::{PACKET, Queue};
use pcc::units::{Bytes, Rate};

/// No path takes longer. Unit: ns.
pub(super) const LONGEST_ROUND_TRIP: u64 = 60_000_000_000;
/// Queues count bytes in 32 bits. Unit: bytes.
pub(super) const LARGEST_BUFFER: u64 = 1 << 31;

/// A time in ns.
pub(super) fn nanos(key: &str, text: &str) -> Result<u64, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("`{key}` is {text}: a time cannot be negative"));
    }
    let time = humantime::parse_duration(text).map_err(|error| format!("`{key}` is {text}: {error}; write 30ms"))?;
    u64::try_from(time.as_nanos()).map_err(|_| format!("`{key}` is {text}: that is too long"))
}

/// A round trip, or a part of one, in ns.
pub(super) fn round_trip(key: &str, text: &str) -> Result<u64, String> {
    let rtt = nanos(key, text)?;
    if rtt > LONGEST_ROUND_TRIP { Err(format!("`{key}` is {text}: 60 s is the most")) } else { Ok(rtt) }
}

/// A rate in bit/s.
pub(super) fn rate(key: &str, text: &str) -> Result<u64, String> {
    let rate: Rate = text.parse().map_err(|error| format!("`{key}`: {error}"))?;
    within(key, text, rate.bits_per_sec())
}

/// A rate in bit/s that a queue can have, of this number.
pub(super) fn within(key: &str, text: &str, rate: f64) -> Result<u64, String> {
    if !(8000.0..=100e9).contains(&rate) {
        return Err(format!("`{key}` is {text}: it must lie between 8 kbit and 100 Gbit"));
    }
    // Queues count whole bytes a second.
    Ok(rate as u64 / 8 * 8)
}

/// So slow is an outage, in bit/s: a queue cannot have no rate at all. A packet takes 0.15 s.
pub(super) const OUTAGE_RATE: f64 = 80_000.0;

/// A number of bytes.
pub(super) fn bytes(key: &str, text: &str) -> Result<u64, String> {
    Ok(text.parse::<Bytes>().map_err(|error| format!("`{key}`: {error}"))?.get())
}

/// A queue's size in bytes, written as such or as `1bdp`.
pub(super) fn buffer(text: &str, rate: u64, rtt: u64) -> Result<u64, String> {
    let buffer = match text.strip_suffix("bdp") {
        Some(factor) => {
            let factor: f64 = factor.trim().parse().map_err(|_| format!("`buffer` is {text}: write 1bdp"))?;
            (factor * rate as f64 / 8.0 * rtt as f64 / 1e9) as u64
        }
        None => bytes("buffer", text)?,
    };
    if buffer < PACKET {
        return Err(format!("`buffer` is {text}, {buffer} bytes: a packet of {PACKET} bytes would never fit"));
    }
    if buffer > LARGEST_BUFFER { Err(format!("`buffer` is {text}: 2 GB is the most")) } else { Ok(buffer) }
}

/// Bytes that a bottleneck lets pass at once.
pub(super) fn burst(text: &str) -> Result<u64, String> {
    let burst = bytes("burst", text)?;
    if burst < 2 * PACKET {
        return Err(format!("`burst` is {text}: without it single packets pass, and two have {} bytes", 2 * PACKET));
    }
    if burst > 1 << 31 { Err(format!("`burst` is {text}: 2 GB is the most")) } else { Ok(burst) }
}

/// A share of packets that are lost or otherwise touched; all of them only where that makes sense.
pub(super) fn share(key: &str, value: f64, may_be_all: bool) -> Result<f64, String> {
    let fine = (0.0..1.0).contains(&value) || (may_be_all && value == 1.0);
    let bound = if may_be_all { "at most 1" } else { "below 1" };
    if fine { Ok(value) } else { Err(format!("`{key}` is {value}: it is a share, at least 0 and {bound}")) }
}

/// A queue discipline by its name.
pub(super) fn queue(text: &str) -> Result<Queue, String> {
    match text {
        "droptail" => Ok(Queue::DropTail),
        "fq" => Ok(Queue::Fair),
        "codel" => Ok(Queue::Codel),
        "fq_codel" => Ok(Queue::FqCodel),
        "sfq" => Ok(Queue::Sfq),
        "cake" => Ok(Queue::Cake),
        _ => Err(format!("`queue` is {text}: choose from droptail, fq, sfq, codel, fq_codel, cake")),
    }
}
