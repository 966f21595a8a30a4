//! Packets that wait in a queue discipline, with what is in them.

use pcc::units::{Bytes, Timestamp};
use pcc_link::{Bottleneck, Count, Counters, Ecn, Packet, Passed};
use std::collections::HashMap;

/// Packets of one path that wait hold at most this much memory.
const MOST_HELD: usize = 256 << 20;

/// The fate of a packet that comes.
#[derive(Debug)]
pub(crate) enum Offered {
    /// It passes at once.
    Passes(Passed),
    /// It waits or never arrives, which [`Waiting::serve`] tells.
    Kept,
    /// This computer has no room for it.
    NoRoom,
}

/// A bottleneck and the packets that wait before it.
#[derive(Debug)]
pub(crate) struct Waiting {
    bottleneck: Bottleneck,
    held: HashMap<u64, Vec<u8>>,
    bytes: usize,
    count: Count,
    number: u64,
    serve_at: Option<Timestamp>,
}

/// A packet that comes: its flow, its bytes on the wire, and what it says of marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) flow: u32,
    pub(crate) size: Bytes,
    pub(crate) ecn: Ecn,
    pub(crate) marked: bool,
}

impl Told {
    /// A packet of the only flow, which is never marked.
    pub(crate) const fn plain(size: Bytes) -> Self {
        Self { flow: 0, size, ecn: Ecn::NotCapable, marked: false }
    }
}

impl Waiting {
    pub(crate) fn new(bottleneck: Bottleneck) -> Self {
        let (held, count) = (HashMap::new(), Count::default());
        Self { bottleneck, held, bytes: 0, count, number: 0, serve_at: None }
    }

    /// The counts so far of the bottleneck.
    pub(crate) fn counters(&self) -> Counters {
        self.bottleneck.counters()
    }

    /// The packets that wait now.
    pub(crate) const fn count(&self) -> Count {
        self.count
    }

    /// When [`Self::serve`] has something to do.
    pub(crate) const fn next(&self) -> Option<Timestamp> {
        self.serve_at
    }

    /// A packet comes. Whatever was due before has been served.
    pub(crate) fn offer(&mut self, now: Timestamp, told: Told, data: &[u8]) -> Offered {
        if self.bytes + data.len() > MOST_HELD {
            return Offered::NoRoom;
        }
        let Told { flow, size, ecn, marked } = told;
        self.number += 1;
        let packet = Packet { flow, number: self.number, size, came: now, ecn, marked };
        let passed = self.bottleneck.offer(now, packet);
        if let Some(passed) = passed {
            return Offered::Passes(passed);
        }
        self.bytes += data.len();
        self.count.packets += 1;
        self.count.bytes += size;
        self.held.insert(self.number, data.to_vec());
        self.see_to_losses();
        self.plan(now);
        Offered::Kept
    }

    /// A packet that leaves the queue by now, and what is in it. It leaves at its time, however late this is called.
    pub(crate) fn serve(&mut self, now: Timestamp) -> Option<(Passed, Vec<u8>)> {
        while let Some(at) = self.serve_at.take_if(|at| *at <= now) {
            let passed = self.bottleneck.serve(at);
            self.see_to_losses();
            self.plan(at);
            if let Some(passed) = passed {
                let data = self.let_go(&passed.packet)?;
                return Some((passed, data));
            }
        }
        None
    }

    fn plan(&mut self, now: Timestamp) {
        self.serve_at = self.bottleneck.wants_service(now).or(self.serve_at);
    }

    fn see_to_losses(&mut self) {
        while let Some(packet) = self.bottleneck.next_lost() {
            self.let_go(&packet);
        }
    }

    fn let_go(&mut self, packet: &Packet) -> Option<Vec<u8>> {
        let data = self.held.remove(&packet.number)?;
        self.bytes -= data.len();
        self.count.packets -= 1;
        self.count.bytes = self.count.bytes.saturating_sub(packet.size);
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_link::Path;

    fn waiting(path: &str) -> Waiting {
        Waiting::new(path.parse::<Path>().unwrap().bottlenecks(1).unwrap().0)
    }

    const fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1000)
    }

    /// When packets arrive that come all at once, by what is in them; and the bottleneck thereafter.
    fn arrivals(path: &str, count: u8) -> (Vec<(u8, u64)>, Waiting) {
        let mut waiting = waiting(path);
        let mut arrived = Vec::new();
        for number in 0..count {
            let told = Told { flow: u32::from(number % 2), ..Told::plain(Bytes::new(1500)) };
            match waiting.offer(at(0), told, &[number]) {
                Offered::Passes(passed) => arrived.push((number, passed.at.as_nanos() / 1000)),
                Offered::Kept => {}
                Offered::NoRoom => panic!("no room"),
            }
        }
        while let Some((passed, data)) = waiting.serve(at(1_000_000)) {
            arrived.push((data[0], passed.at.as_nanos() / 1000));
        }
        (arrived, waiting)
    }

    #[test]
    fn packets_leave_at_the_rate_however_late_they_are_served() {
        // 12 Mbit/s: a millisecond each, and 5 ms to the other end.
        let expected: Vec<_> = (0..10).map(|number| (number, 6000 + u64::from(number) * 1000)).collect();
        for queue in ["droptail", "pie", "codel", "red", "dualpi2"] {
            let (arrived, waiting) = arrivals(&format!("rate=12Mbit,rtt=10ms,buffer=1MB,queue={queue}"), 10);
            assert_eq!(arrived, expected, "{queue}");
            assert_eq!((waiting.count(), waiting.bytes, waiting.held.len()), (Count::default(), 0, 0));
        }
    }

    #[test]
    fn flows_take_turns_and_what_is_dropped_is_forgotten() {
        let (arrived, waiting) = arrivals("rate=12Mbit,rtt=10ms,buffer=15KB,queue=sfq", 30);
        // Ten fit, five of either flow: even ones are of the first.
        assert_eq!((arrived.len(), waiting.held.len()), (10, 0));
        assert_eq!(arrived.iter().filter(|(number, _)| number % 2 == 0).count(), 5);
        let counters = waiting.counters();
        assert_eq!((counters.sent.packets, counters.dropped_queue.packets), (30, 20));
    }
}
