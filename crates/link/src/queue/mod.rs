//! Queue disciplines of a bottleneck, one a file.

mod cake;
mod codel;
mod dual_pi2;
mod fair;
mod fifo;
mod marking;
mod pie;
mod red;
mod sfq;

pub(crate) use fifo::Fifo;

use cake::Cake;
use codel::CodelQueue;
use dual_pi2::DualPi2;
use fair::{FairQueue, Within};
use fifo::Ruled;
use marking::{Above, Every};
use pcc::units::{Bytes, Rate, Timestamp};
use pie::PieQueue;
use red::Red;
use sfq::Sfq;

/// A queue discipline. The buffer that the path begins with bounds each of them in bytes: that of each flow with
/// [`Queue::Fair`]. Only the drop-tail queue follows a schedule that changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    #[default]
    DropTail,
    /// The same, and marks what comes while more than so many bytes wait: what DCTCP's switches do (RFC 8257 §3.1).
    Marking(Bytes),
    /// The same, and marks every so-manieth packet whatever waits: marks that tell nothing.
    MarkingEvery(u32),
    /// A drop-tail queue for each flow, served in turn, byte by byte (deficit round robin).
    Fair,
    /// `CoDel` (RFC 8289).
    Codel,
    /// `CoDel` for each flow, served in turn (RFC 8290).
    FqCodel,
    /// Random early detection, gentle, with thresholds at a sixth and a half of the buffer.
    Red,
    /// PIE (RFC 8033).
    Pie,
    /// PIE for each flow, served in turn.
    FqPie,
    /// DualPI2 (RFC 9332): a queue below a millisecond for packets with ECT(1), coupled to that of the others.
    DualPi2,
    /// Stochastic fairness queueing: flows are hashed into 1024 drop-tail queues, served in turn.
    Sfq,
    /// CAKE with one tin and fairness between flows. Its shaper is the link, at the rate that the path begins with.
    Cake,
}

impl Queue {
    /// All disciplines by name; marks need a threshold and have none.
    pub const NAMES: [(&'static str, Self); 10] = [
        ("droptail", Self::DropTail),
        ("fq", Self::Fair),
        ("codel", Self::Codel),
        ("fq_codel", Self::FqCodel),
        ("red", Self::Red),
        ("pie", Self::Pie),
        ("fq_pie", Self::FqPie),
        ("dualpi2", Self::DualPi2),
        ("sfq", Self::Sfq),
        ("cake", Self::Cake),
    ];

    /// The discipline of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, queue)| *queue)
    }

    /// Its name, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(_, queue)| *queue == self).map(|(name, _)| *name)
    }
}

/// A packet's word on explicit congestion notification (RFC 3168 §5, RFC 9331 §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: a queue that wants to tell something drops it.
    #[default]
    NotCapable,
    /// ECT(0): a mark means as much as a loss.
    Classic,
    /// ECT(1): a mark means little, and their share means much.
    Scalable,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The flow that it belongs to: fair queues tell flows apart.
    pub flow: u32,
    /// The caller's name for it.
    pub number: u64,
    /// Its bytes on the wire.
    pub size: Bytes,
    /// When it came.
    pub came: Timestamp,
    /// Whether it may be marked instead of dropped.
    pub ecn: Ecn,
    /// Whether it is marked.
    pub marked: bool,
}

impl Packet {
    /// Marks it; false if it may not be.
    fn mark(&mut self) -> bool {
        let may = self.ecn != Ecn::NotCapable;
        self.marked |= may;
        may
    }
}

/// A queue at work. Packets that it drops, those that come or others, are added to `dropped`.
pub(crate) trait Discipline: Send {
    /// A packet comes.
    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>);
    /// The packet to be sent now.
    fn dequeue(&mut self, now: Timestamp, dropped: &mut Vec<Packet>) -> Option<Packet>;
    /// Bytes that wait.
    fn backlog(&self) -> u64;
}

/// The discipline with so much buffer before a link of this rate; none for the drop-tail queue, which a link has of its own.
pub(crate) fn discipline(queue: Queue, buffer: Bytes, rate: Rate, seed: u64) -> Option<Box<dyn Discipline>> {
    let buffer = buffer.get();
    match queue {
        Queue::DropTail => None,
        Queue::Marking(above) => Some(Box::new(Ruled::new(buffer, Above(above.get())))),
        Queue::MarkingEvery(every) => Some(Box::new(Ruled::new(buffer, Every::new(every)))),
        Queue::Fair => Some(Box::new(FairQueue::new(buffer, Within::DropTail, seed))),
        Queue::Codel => Some(Box::new(CodelQueue::new(buffer))),
        Queue::FqCodel => Some(Box::new(FairQueue::new(buffer, Within::Codel, seed))),
        Queue::Red => Some(Box::new(Ruled::new(buffer, Red::new(buffer, seed)))),
        Queue::Pie => Some(Box::new(PieQueue::new(buffer, seed))),
        Queue::FqPie => Some(Box::new(FairQueue::new(buffer, Within::Pie, seed))),
        Queue::DualPi2 => Some(Box::new(DualPi2::new(buffer, seed))),
        Queue::Sfq => Some(Box::new(Sfq::new(buffer, seed))),
        Queue::Cake => Some(Box::new(Cake::new(buffer, rate, seed))),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const fn ms(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    pub(crate) fn packet(flow: u32, number: u64, millis: u64) -> Packet {
        let (size, came) = (Bytes::new(1500), ms(millis));
        Packet { flow, number, size, came, ecn: Ecn::NotCapable, marked: false }
    }

    pub(crate) fn capable(packet: Packet) -> Packet {
        Packet { ecn: Ecn::Classic, ..packet }
    }

    /// How many were dropped when this packet came.
    pub(crate) fn enqueue(queue: &mut impl Discipline, packet: Packet) -> u64 {
        let mut dropped = Vec::new();
        queue.enqueue(packet, &mut dropped);
        dropped.len() as u64
    }

    /// The packet that leaves, and how many were dropped meanwhile.
    pub(crate) fn dequeue(queue: &mut impl Discipline, now: Timestamp) -> (Option<Packet>, u64) {
        let mut dropped = Vec::new();
        (queue.dequeue(now, &mut dropped), dropped.len() as u64)
    }

    /// The flows of so many packets that leave at once.
    pub(crate) fn take(queue: &mut impl Discipline, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| dequeue(queue, Timestamp::ZERO).0).map(|packet| packet.flow).collect()
    }

    /// Bytes that a flow of full packets gets, over those of one with packets of a fifth.
    pub(crate) fn ratio_of_bytes(queue: &mut impl Discipline) -> f64 {
        for number in 0..3000 {
            enqueue(queue, packet(0, number, 0));
            enqueue(queue, Packet { size: Bytes::new(300), ..packet(1, number, 0) });
        }
        let served = take(queue, 3000);
        let large = served.iter().filter(|flow| **flow == 0).count();
        (large * 1500) as f64 / ((served.len() - large) * 300) as f64
    }

    /// The flows of the six packets after flow 2 came to a queue in which flows 0 and 1 wait.
    pub(crate) fn after_a_newcomer(queue: &mut impl Discipline) -> Vec<u32> {
        for number in 0..50 {
            enqueue(queue, packet(0, number, 0));
            enqueue(queue, packet(1, number, 0));
        }
        take(queue, 20);
        enqueue(queue, packet(2, 0, 0));
        take(queue, 6)
    }

    #[test]
    fn each_discipline_has_one_name() {
        for (name, queue) in Queue::NAMES {
            assert_eq!((Queue::by_name(name), queue.name()), (Some(queue), Some(name)));
        }
        assert_eq!((Queue::by_name("none"), Queue::MarkingEvery(2).name()), (None, None));
    }

    #[test]
    fn a_buffer_that_is_full_drops_whatever_the_discipline() {
        for (name, queue) in &Queue::NAMES[1..] {
            let mut queue = discipline(*queue, Bytes::new(15_000), Rate::from_mbit(10.0), 1).unwrap();
            let mut dropped = Vec::new();
            (0..40).for_each(|number| queue.enqueue(packet(0, number, 0), &mut dropped));
            assert_eq!((dropped.len(), queue.backlog()), (30, 15_000), "{name}");
        }
    }
}
