//! A sender on a path without a bottleneck, and an allocator that counts: what benchmarks and tests of cost share.

use pcc::observe::{Event, Observer};
use pcc::units::{Bytes, Rate, Timestamp};
use pcc::{Config, Pcc};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A sender at its highest rate, whose packets are acknowledged after the round-trip time, two at once.
#[derive(Debug)]
pub(crate) struct Path {
    sender: Pcc,
    judged: Arc<Judged>,
    now: Timestamp,
    rtt: Duration,
    lose_every: u64,
    next: u64,
    on_the_way: VecDeque<(Timestamp, u64)>,
}

const PACKET: Bytes = Bytes::new(1200);

impl Path {
    /// A path of this capacity and round-trip time that loses one packet in `lose_every`, or none if that is zero.
    pub(crate) fn new(capacity: Rate, rtt: Duration, lose_every: u64) -> Self {
        let judged = Arc::new(Judged::default());
        let config = Config { max_rate: Some(capacity), observer: Some(judged.clone()), ..Config::default() };
        let now = Timestamp::ZERO;
        let on_the_way = VecDeque::with_capacity(1 << 16);
        Self { sender: Pcc::new(config, now), judged, now, rtt, lose_every, next: 0, on_the_way }
    }

    /// Sends so many packets, each at its time, and hands over what comes back meanwhile.
    pub(crate) fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            self.now = self.now + self.sender.rate().time_for(PACKET);
            self.receive();
            self.sender.on_packet_sent(self.now, self.next, PACKET);
            self.on_the_way.push_back((self.now + self.rtt, self.next));
            self.next += 1;
        }
    }

    fn receive(&mut self) {
        while let Some(&(_, first)) = self.on_the_way.front()
            && let Some(&(second_arrives, second)) = self.on_the_way.get(1)
            && second_arrives <= self.now
        {
            self.on_the_way.drain(..2);
            for packet in [first, second] {
                if self.lose_every != 0 && packet % self.lose_every == 0 {
                    self.sender.on_loss(self.now, packet);
                } else {
                    self.sender.on_ack(self.now, packet);
                }
            }
            self.sender.on_end_acks(self.now);
        }
    }

    /// Intervals resolved and decisions taken so far.
    pub(crate) fn judged(&self) -> u64 {
        self.judged.0.load(Relaxed)
    }
}

/// Counts what the sender tells of.
#[derive(Debug, Default)]
struct Judged(AtomicU64);

impl Observer for Judged {
    fn on_event(&self, _event: &Event<'_>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// The system's allocator; counts what the process asks of it.
#[derive(Debug)]
pub(crate) struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

impl Counting {
    /// Allocations so far, reallocations included.
    pub(crate) fn allocations() -> u64 {
        ALLOCATIONS.load(Relaxed)
    }

    /// Bytes allocated and not freed.
    pub(crate) fn live_bytes() -> i64 {
        LIVE_BYTES.load(Relaxed)
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        LIVE_BYTES.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}
