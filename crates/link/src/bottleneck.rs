//! A bottleneck: a queue, and the link behind it.

use crate::link::{Counters, Link, Outcome};
use crate::queue::{Discipline, Packet, Queue, discipline};
use core::time::Duration;
use pcc::units::{Bytes, Timestamp};

/// A packet that comes out, and when; a copy of it too, if the network made one.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// The packet, marked or not.
    pub packet: Packet,
    /// When it arrives.
    pub at: Timestamp,
    /// When a copy of it arrives.
    pub duplicate: Option<Timestamp>,
}

/// A link behind a queue discipline. A drop-tail queue is the link's own, which knows at once what becomes of a packet. With
/// any other discipline packets wait here, and the link, whose buffer is never used then, gets each when it is free. So whoever
/// drives it asks after each call when to serve it next.
pub struct Bottleneck {
    link: Link,
    queue: Option<Box<dyn Discipline>>,
    /// Packets that never arrive, as far as the caller has not asked.
    lost: Vec<Packet>,
    dropped: Counters,
    /// Whether [`Self::serve`] is going to be called.
    is_awaited: bool,
}

impl core::fmt::Debug for Bottleneck {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Bottleneck").field("link", &self.link).finish_non_exhaustive()
    }
}

impl Bottleneck {
    /// This queue before this link, whose first conditions say how large the buffer is, and CAKE's rate.
    pub fn new(link: Link, queue: Queue, seed: u64) -> Self {
        let queue = discipline(queue, link.conditions().buffer, link.conditions().rate, seed);
        Self { link, queue, lost: Vec::new(), dropped: Counters::default(), is_awaited: false }
    }

    /// A packet comes; it if it passes at once.
    pub fn offer(&mut self, now: Timestamp, packet: Packet) -> Option<Passed> {
        let Some(queue) = &mut self.queue else { return self.pass(now, packet) };
        self.dropped.sent.add(packet.size);
        let before = self.lost.len();
        queue.enqueue(Packet { came: now, ..packet }, &mut self.lost);
        self.count(before);
        None
    }

    /// When [`Self::serve`] is to be called, if it is not known yet: when packets wait and the link is free.
    pub fn wants_service(&mut self, now: Timestamp) -> Option<Timestamp> {
        let waits = self.queue.as_ref().is_some_and(|queue| queue.backlog() > 0);
        if self.is_awaited || !waits {
            return None;
        }
        self.is_awaited = true;
        Some(now + self.link.queueing_delay(now))
    }

    /// The link is free: the next packet, if it passes.
    pub fn serve(&mut self, now: Timestamp) -> Option<Passed> {
        self.is_awaited = false;
        let before = self.lost.len();
        let packet = self.queue.as_mut()?.dequeue(now, &mut self.lost);
        self.count(before);
        let packet = packet?;
        if packet.marked {
            self.dropped.marked.add(packet.size);
        }
        self.pass(now, packet)
    }

    /// One of the packets that turned out to arrive never, whatever dropped it. A caller that keeps something for each asks
    /// until there are none.
    pub fn next_lost(&mut self) -> Option<Packet> {
        self.lost.pop()
    }

    /// The link alone.
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// How long a packet that came now would wait for those before it.
    pub fn delay(&self, now: Timestamp) -> Duration {
        let in_queue = self.queue.as_ref().map_or(0, |queue| queue.backlog());
        self.link.conditions().rate.time_for(Bytes::new(in_queue)) + self.link.queueing_delay(now)
    }

    /// The counts so far, those of the queue and those of the link together. Waiting packets are sent and not yet delivered.
    pub fn counters(&self) -> Counters {
        let mut counters = *self.link.counters();
        if self.queue.is_some() {
            (counters.sent, counters.marked) = (self.dropped.sent, self.dropped.marked);
            counters.dropped_queue = self.dropped.dropped_queue;
        }
        counters
    }

    /// Books what the queue dropped, which are the last of those that are lost.
    fn count(&mut self, before: usize) {
        self.lost.iter().skip(before).for_each(|packet| self.dropped.dropped_queue.add(packet.size));
    }

    fn pass(&mut self, now: Timestamp, packet: Packet) -> Option<Passed> {
        match self.link.send(now, packet.size) {
            Outcome::Delivered { at, duplicate } => Some(Passed { packet, at, duplicate }),
            Outcome::Dropped(_) => {
                self.lost.push(packet);
                None
            }
        }
    }
}
