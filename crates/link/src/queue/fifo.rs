//! Packets in their order, and rules for those that come.

use super::{Discipline, Packet};
use pcc::units::Timestamp;
use std::collections::VecDeque;

/// Packets in their order, and their bytes.
#[derive(Debug)]
pub(crate) struct Fifo {
    pub(super) packets: VecDeque<Packet>,
    bytes: u64,
    limit: u64,
}

impl Fifo {
    pub(crate) const fn new(limit: u64) -> Self {
        Self { packets: VecDeque::new(), bytes: 0, limit }
    }

    /// Takes a packet in; it is dropped if there is no room.
    pub(crate) fn push(&mut self, packet: Packet, dropped: &mut Vec<Packet>) -> bool {
        let fits = self.bytes + packet.size.get() <= self.limit;
        if fits {
            self.bytes += packet.size.get();
            self.packets.push_back(packet);
        } else {
            dropped.push(packet);
        }
        fits
    }

    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size.get();
        Some(packet)
    }

    /// Takes out the packet that came last.
    pub(crate) fn pop_last(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_back()?;
        self.bytes -= packet.size.get();
        Some(packet)
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// When the packet that leaves next came.
    pub(crate) fn head_came(&self) -> Option<Timestamp> {
        self.packets.front().map(|packet| packet.came)
    }
}

/// A rule for the packets that come to a queue.
pub(super) trait Rule: Send {
    /// Whether the packet is queued, which may mark it, behind so many bytes.
    fn admits(&mut self, packet: &mut Packet, waiting: u64) -> bool;
}

/// A drop-tail queue with a rule.
pub(super) struct Ruled<R> {
    pub(super) fifo: Fifo,
    pub(super) rule: R,
}

impl<R> Ruled<R> {
    pub(super) const fn new(limit: u64, rule: R) -> Self {
        Self { fifo: Fifo::new(limit), rule }
    }
}

impl<R: Rule> Discipline for Ruled<R> {
    fn enqueue(&mut self, mut packet: Packet, dropped: &mut Vec<Packet>) {
        if self.rule.admits(&mut packet, self.fifo.bytes()) {
            self.fifo.push(packet, dropped);
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, _: Timestamp, _: &mut Vec<Packet>) -> Option<Packet> {
        self.fifo.pop()
    }

    fn backlog(&self) -> u64 {
        self.fifo.bytes()
    }
}
