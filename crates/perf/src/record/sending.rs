//! A train leaves, each datagram at its time.

use super::train::{LONGEST, Train, datagram};
use noq::Connection;
use std::time::{Duration, Instant};

/// Sends a train, and tells when each datagram left, counted from `epoch`. Blocks: a thread that sleeps wakes within a tenth of a
/// millisecond, where an asynchronous timer counts whole ones.
pub(super) fn send(connection: &Connection, number: u32, train: Train, epoch: Instant) -> Vec<f64> {
    let begun = Instant::now();
    let (mut left, mut latest) = (Vec::new(), Duration::ZERO);
    for place in 0..train.packets {
        let due = train.gap.saturating_mul(place).max(latest + train.gap.mul_f64(CATCHING_UP));
        let early = due.saturating_sub(begun.elapsed());
        if early > SPIN {
            std::thread::sleep(early - SPIN / 2);
        }
        while begun.elapsed() < due {
            std::hint::spin_loop();
        }
        let at = epoch.elapsed();
        latest = begun.elapsed();
        if connection.send_datagram(datagram(number, place, at)).is_err() || begun.elapsed() > LONGEST {
            break;
        }
        left.push(at.as_secs_f64());
    }
    left
}

/// After a delay packets follow each other by at least this part of the gap. A calm train has half of the path's rate, so it catches
/// up at that rate. A burst would overflow a small buffer, and its losses would pass for random ones.
const CATCHING_UP: f64 = 0.5;

/// Sleeps are late by about as much. The rest is waited for awake, which is half a processor at 100 Mbit/s.
const SPIN: Duration = Duration::from_micros(60);
