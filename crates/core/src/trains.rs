//! The rate of the bottleneck, by how far apart the first packets arrive.
//!
//! Packets that leave back to back arrive as far apart as the bottleneck takes for each of them (packet trains, Jain and
//! Routhier 1986; dispersion, Dovrolis et al., INFOCOM 2001). The packets of the first round trip leave in trains; of each,
//! the times of acknowledgements are regressed on the bytes that had arrived by then. The slope is seconds a byte, and how much
//! trains differ in it is its error. Where hosts' timers and interrupts make that too large, trains go on while the rate
//! doubles, and with each doubling of their number the question is asked again.
//!
//! It is the capacity, not what others leave of it. Where trains wait longer than they take to pass, others' packets are among
//! ours, and nothing is told; a queue of others that never changes is not seen. So who is told something still has to see that
//! rate pass ([`crate::control`], start-up).
//!
//! A receiver can pretend any rate up to that of a train in 100 µs, some 580 Mbit/s with packets of 1200 bytes. Its
//! acknowledgements of each step bound the packets that leave because of it. A receiver that answers by a timer tells a
//! rate that is too low, from which the law climbs.

mod arrived;
mod train;

use crate::units::{Bytes, Rate, Timestamp};
use arrived::Arrived;
pub(crate) use arrived::LARGEST_ERROR;
use core::time::Duration;
use train::{PACKETS, Train};

/// Trains of the first round trip: together what any sender may have in flight on a new path, give or take (RFC 6928: ten
/// packets; Linux paces twice that into the first round trip).
const TRAINS: u32 = 3;
/// The most trains that leave, whole or not. Not swept.
const MOST_TRAINS: u32 = 32;
/// And so many are watched at a time.
const WATCHED: usize = 8;
/// For so long what they told is believed, as the least RTT is (RFC 9002 has no bound, BBR ten seconds).
const MEMORY: Duration = Duration::from_secs(10);
/// On a shorter path doubling takes no time.
const SHORTEST_RTT: Duration = Duration::from_millis(5);

/// The trains of a sender that begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trains {
    /// Trains of which more will be heard.
    watched: [Option<Train>; WATCHED],
    /// Where the newest one is; `None` once a packet left that is not watched.
    last: Option<usize>,
    begun: u32,
    settled: u32,
    /// With so many settled the question was asked for the last time.
    asked: u32,
    arrived: Arrived,
    /// When the newest one left.
    latest: Option<Timestamp>,
    /// Bytes in flight before the first train.
    before: Bytes,
    /// The newest packet of the acknowledgement being read.
    newest: Option<u64>,
    /// The rate that trains told, and when.
    told: Option<(Rate, Timestamp)>,
    is_over: bool,
}

impl Trains {
    /// For a path of this RTT, on which so much is in flight.
    pub(crate) fn new(rtt: Duration, in_flight: Bytes) -> Self {
        Self { is_over: rtt < SHORTEST_RTT, before: in_flight, ..Self::default() }
    }

    /// No train leaves, and nothing more is learned.
    pub(crate) fn none() -> Self {
        Self { is_over: true, ..Self::default() }
    }

    /// When the newest one left.
    pub(crate) const fn latest(&self) -> Option<Timestamp> {
        self.latest
    }

    /// Bytes in flight that the trains of the first round trip need.
    pub(crate) fn volume(&self, packet: Bytes) -> Bytes {
        if self.is_over {
            return Bytes::ZERO;
        }
        self.before + Bytes::new(packet.get().saturating_mul(u64::from(PACKETS * TRAINS)))
    }

    /// The train that leaves, as long as it is not complete.
    fn leaving(&self) -> Option<&Train> {
        self.watched[self.last?].as_ref().filter(|train| train.is_leaving())
    }

    /// Where one more would be watched.
    fn place(&self) -> Option<usize> {
        self.watched.iter().position(Option::is_none).filter(|_| self.begun < MOST_TRAINS)
    }

    /// Number of packets that should leave back to back.
    pub(crate) fn packets(&self) -> u32 {
        let is_train = !self.is_over && (self.leaving().is_some() || self.place().is_some());
        if is_train { PACKETS } else { 1 }
    }

    pub(crate) fn on_packet_sent(&mut self, now: Timestamp, packet: u64, bytes: Bytes) {
        if self.is_over {
            return;
        }
        if !self.leaving().is_some_and(|train| train.goes_on_with(now, packet)) {
            self.last = self.place();
            let Some(place) = self.last else { return };
            self.watched[place] = Some(Train::new(now, packet));
            self.latest = Some(now);
            self.begun += 1;
        }
        if let Some(train) = self.last.and_then(|place| self.watched[place].as_mut()) {
            train.on_packet_sent(bytes);
        }
    }

    pub(crate) fn on_ack(&mut self, packet: u64, bytes: Bytes) {
        if self.is_over {
            return;
        }
        self.newest = self.newest.max(Some(packet));
        if let Some(train) = self.watched.iter_mut().flatten().find(|train| train.has(packet)) {
            train.on_ack(packet, bytes);
        }
    }

    /// The acknowledgement was read. `least_rtt` is the path's, and `spread` how long it holds packets back now and then.
    pub(crate) fn on_end_acks(&mut self, now: Timestamp, least_rtt: Duration, spread: Duration) {
        if self.is_over {
            return;
        }
        let latest = self.newest.take();
        for train in self.watched.iter_mut().flatten() {
            train.on_end_acks(now, latest);
        }
        for place in &mut self.watched {
            if let Some(train) = place.take_if(|train| train.is_settled()) {
                // A sender with little to say, or a busy one, sends shorter ones too.
                self.settled += u32::from(train.slope().is_some() || train.is_whole());
                self.arrived.add(&train);
            }
        }
        // Each look may be mistaken: so there are few.
        if self.settled >= TRAINS.max(self.asked * 2) {
            self.asked = self.settled;
            let may_tell = self.arrived.may_tell(least_rtt);
            let is_clear = may_tell && !self.arrived.may_be_jitter(least_rtt, spread);
            self.told = self.arrived.rate().filter(|_| is_clear).map(|rate| (rate, now));
            self.is_over = self.told.is_some() || !may_tell;
        }
        self.is_over |= self.begun >= MOST_TRAINS && self.watched.iter().all(Option::is_none);
    }

    pub(crate) fn on_loss(&mut self, packet: u64) {
        if self.is_over {
            return;
        }
        for train in self.watched.iter_mut().flatten().filter(|train| train.has(packet)) {
            train.cut();
        }
    }

    /// Nothing more will be heard of packets below this number.
    pub(crate) fn discard_below(&mut self, packet: u64) {
        if self.is_over {
            return;
        }
        for train in self.watched.iter_mut().flatten() {
            train.discard_below(packet);
        }
    }

    /// The bottleneck's rate, if they told it.
    pub(crate) fn told(&self) -> Option<Rate> {
        self.told.map(|(rate, _)| rate)
    }

    pub(crate) fn forget_what_is_old(&mut self, now: Timestamp) {
        self.told = self.told.filter(|(_, at)| now.since(*at) < MEMORY);
    }
}

#[cfg(test)]
mod tests;
