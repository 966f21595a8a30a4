//! The cable between two interfaces: a thread that reads the packets of one interface, asks the path when each comes out, and
//! writes it to the other.

use crate::departures::Departures;
use crate::host::{Doing, HostError};
use crate::ip::{self, told};
use crate::wait::{be_exact, wait};
use crate::waiting::{Offered, Waiting};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use pcc::units::Timestamp;
use pcc_link::{Counters, Passed, Path};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The cable's counts so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// From client to server. Sizes are those of IP packets.
    pub up: Counters,
    /// From server to client.
    pub down: Counters,
    /// Bytes of TCP payload that came out at the client, repetitions included.
    pub arrived: u64,
    /// Packets that an interface refused, or that there was no memory for.
    pub dropped_host: u64,
}

/// A cable at work; it stops when this is dropped.
#[derive(Debug)]
pub struct Cable {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    counts: Mutex<Counts>,
}

impl Cable {
    /// Connects two interfaces that do not block. The path's time begins with the first packet.
    ///
    /// Errors: a path that cannot be, or no thread.
    pub fn connect(server: File, client: File, path: &Path, seed: u64) -> Result<Self, HostError> {
        let (up, down) = path.bottlenecks(seed).doing("no such path")?;
        let end = |interface, bottleneck| End { interface, path: Waiting::new(bottleneck) };
        let shared = Arc::new(Shared::default());
        let engine = Engine {
            ends: [end(server, down), end(client, up)],
            shared: Arc::clone(&shared),
            began: None,
            departures: Departures::default(),
            arrived: 0,
            dropped_host: 0,
        };
        let thread = std::thread::Builder::new().name("cable".to_owned()).spawn(move || engine.run());
        Ok(Self { shared, thread: Some(thread.doing("no thread for the emulated path")?) })
    }

    /// Its counts so far.
    pub fn counts(&self) -> Counts {
        *self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the emulated path failed");
        }
    }
}

/// An interface, and the path of what leaves it.
struct End {
    interface: File,
    path: Waiting,
}

struct Engine {
    /// The server's, then the client's.
    ends: [End; 2],
    shared: Arc<Shared>,
    began: Option<Instant>,
    /// Packets under way, each with the place of the end that it left.
    departures: Departures<usize>,
    arrived: u64,
    dropped_host: u64,
}

const SERVER: usize = 0;

/// How old the counts may be, and how long a stop may take.
const TICK: Duration = Duration::from_millis(20);
/// Packets read from one end before the other, and the departures, have their turn.
const BATCH: usize = 16;

impl Engine {
    fn run(mut self) {
        be_exact();
        let mut buffer = vec![0; 65_536];
        let mut ready = Vec::new();
        while !self.shared.stop.load(Relaxed) {
            self.serve(Instant::now());
            self.send_due();
            *self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner) = Counts {
                up: self.ends[1 - SERVER].path.counters(),
                down: self.ends[SERVER].path.counters(),
                arrived: self.arrived,
                dropped_host: self.dropped_host,
            };
            let now = Instant::now();
            let next = self.next().map_or(TICK, |at| at.saturating_duration_since(now).min(TICK));
            wait(self.ends.iter().map(|end| &end.interface), next, &mut ready);
            for (place, _) in ready.iter().enumerate().filter(|(_, ready)| **ready) {
                self.read(place, &mut buffer);
            }
        }
    }

    fn read(&mut self, place: usize, buffer: &mut [u8]) {
        for _ in 0..BATCH {
            let Some(end) = self.ends.get(place) else { return };
            let Ok(len) = (&end.interface).read(buffer) else { return };
            let packet = buffer.get(..len).unwrap_or_default();
            // Nobody has an address of IPv6 here; what the kernel says by it to whom it may concern is no traffic.
            if packet.first().is_none_or(|first| first >> 4 != 4) {
                continue;
            }
            let now = Instant::now();
            let began = *self.began.get_or_insert(now);
            let sent = Timestamp::ZERO + now.saturating_duration_since(began);
            self.serve(now);
            let Some(end) = self.ends.get_mut(place) else { return };
            match end.path.offer(sent, told(packet), packet) {
                Offered::Passes(passed) => self.depart(place, &passed, packet),
                Offered::Kept => {}
                Offered::NoRoom => self.dropped_host += 1,
            }
        }
    }

    /// When something is due: a packet comes out at the far end, or leaves the queue.
    fn next(&self) -> Option<Instant> {
        let began = self.began?;
        let served = self.ends.iter().filter_map(|end| end.path.next()).map(|at| began + at.since(Timestamp::ZERO));
        served.chain(self.departures.next()).min()
    }

    /// Lets the packets out of both queues that have left them by now.
    fn serve(&mut self, now: Instant) {
        let Some(began) = self.began else { return };
        let now = Timestamp::ZERO + now.saturating_duration_since(began);
        for place in 0..self.ends.len() {
            while let Some((passed, mut data)) = self.ends.get_mut(place).and_then(|end| end.path.serve(now)) {
                if passed.packet.marked {
                    ip::mark(&mut data);
                }
                self.depart(place, &passed, &data);
            }
        }
    }

    fn depart(&mut self, place: usize, passed: &Passed, packet: &[u8]) {
        let Some(began) = self.began else { return };
        for at in [Some(passed.at), passed.duplicate].into_iter().flatten() {
            let fits = self.departures.push(began + at.since(Timestamp::ZERO), place, packet);
            self.dropped_host += u64::from(!fits);
        }
    }

    fn send_due(&mut self) {
        for _ in 0..BATCH * 4 {
            let Some((_, from, packet)) = self.departures.due(Instant::now()) else { return };
            let Some(to) = self.ends.get(1 - from) else { return };
            match (&to.interface).write(&packet) {
                Ok(_) if from == SERVER => self.arrived += payload(&packet),
                Ok(_) => {}
                Err(error) => {
                    self.dropped_host += 1;
                    if error.kind() != io::ErrorKind::WouldBlock {
                        tracing::debug!(%error, "a packet was refused");
                    }
                }
            }
            self.departures.reuse(packet);
        }
    }
}

/// Bytes of data in a packet of TCP over IPv4 (RFC 791 §3.1, RFC 9293 §3.1): both headers say how long they are.
fn payload(packet: &[u8]) -> u64 {
    let words = |at: usize, shift: u8| packet.get(at).map_or(0, |byte| usize::from(byte >> shift & 15) * 4);
    let ip = words(0, 0);
    packet.len().saturating_sub(ip + words(ip + 12, 4)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packets_payload_is_what_its_headers_leave() {
        let mut packet = vec![0; 1480];
        (packet[0], packet[32]) = (0x45, 0x80); // 20 bytes of IPv4, 32 of TCP with its time stamps
        assert_eq!(payload(&packet), 1428);
        packet[0] = 0x46; // with an option of IP, TCP begins elsewhere
        packet[36] = 0x50;
        assert_eq!(payload(&packet), 1480 - 24 - 20);
        assert_eq!((payload(&[]), payload(&[0x4f; 10])), (0, 0));
    }
}
