//! A bottleneck: a policer if there is one, the queue, and the link behind it.

use crate::queue::{Bucket, Discipline, Packet, Policer, Queue, discipline};
use pcc::units::{Bytes, Timestamp};
use pcc_link::{Conditions, Link, Outcome};

/// A packet that comes out, and when; a copy of it too, if the network made one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub(crate) packet: Packet,
    pub(crate) at: Timestamp,
    pub(crate) duplicate: Option<Timestamp>,
}

/// The way of the data. A drop-tail queue is the link's own, which knows at once what becomes of a packet; with any other
/// discipline packets wait here, and the link, whose buffer is never used then, gets each when it is free.
pub(crate) struct Bottleneck {
    pub(crate) link: Link,
    policer: Option<Bucket>,
    queue: Option<Box<dyn Discipline>>,
    /// Packets that the policer or a discipline dropped, and those marked.
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    /// Whether [`Self::serve`] is going to be called.
    is_awaited: bool,
}

impl Bottleneck {
    pub(crate) fn new(link: Link, queue: Queue, policer: Option<Policer>, seed: u64) -> Self {
        let queue = discipline(queue, link.conditions().buffer, seed);
        let policer = policer.map(Bucket::new);
        Self { link, policer, queue, dropped: 0, marked: 0, is_awaited: false }
    }

    /// A packet comes; it if it passes at once.
    pub(crate) fn offer(&mut self, now: Timestamp, packet: Packet) -> Option<Passed> {
        if self.policer.as_mut().is_some_and(|bucket| !bucket.admits(now, Bytes::new(packet.size))) {
            self.dropped += 1;
            return None;
        }
        let Some(queue) = &mut self.queue else { return pass(&mut self.link, now, packet) };
        self.dropped += queue.enqueue(packet);
        None
    }

    /// When [`Self::serve`] is to be called, if it is not known yet: when packets wait and the link is free.
    pub(crate) fn wants_service(&mut self, now: Timestamp) -> Option<Timestamp> {
        let waits = self.queue.as_ref().is_some_and(|queue| queue.backlog() > 0);
        if self.is_awaited || !waits {
            return None;
        }
        self.is_awaited = true;
        Some(now + self.link.queueing_delay(now))
    }

    /// The link is free: the next packet, if it passes.
    pub(crate) fn serve(&mut self, now: Timestamp) -> Option<Passed> {
        self.is_awaited = false;
        let queue = self.queue.as_mut()?;
        let (packet, dropped) = queue.dequeue(now);
        self.dropped += dropped;
        let packet = packet?;
        self.marked += u64::from(packet.marked);
        pass(&mut self.link, now, packet)
    }

    /// How long a packet that came now would wait.
    pub(crate) fn delay(&mut self, now: Timestamp) -> core::time::Duration {
        let in_queue = self.queue.as_ref().map_or(0, |queue| queue.backlog());
        let conditions: &Conditions = self.link.conditions();
        conditions.rate.time_for(Bytes::new(in_queue)) + self.link.queueing_delay(now)
    }
}

fn pass(link: &mut Link, now: Timestamp, packet: Packet) -> Option<Passed> {
    match link.send(now, Bytes::new(packet.size)) {
        Outcome::Delivered { at, duplicate } => Some(Passed { packet, at, duplicate }),
        Outcome::Dropped(_) => None,
    }
}
