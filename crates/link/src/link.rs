//! One direction of a path: what happens to each packet, calculated when it is sent.

use crate::conditions::{Conditions, Impossible};
use crate::loss::{Loss, LossProcess};
use crate::queue::Queue;
use crate::rng::Rng;
use crate::schedule::{Rule, Schedule, Timeline, moment, nanos};
use core::time::Duration;
use pcc::units::{Bytes, Timestamp};
use std::collections::VecDeque;

/// One direction of a path as it was configured.
#[derive(Clone, Debug, PartialEq)]
pub struct OneWay {
    /// The conditions at time zero.
    pub conditions: Conditions,
    /// How it changes.
    pub schedule: Schedule,
    /// The discipline of the packets that wait. A [`Link`] alone is drop-tail: a [`Bottleneck`](crate::Bottleneck) has the others.
    pub queue: Queue,
}

impl OneWay {
    /// Whether there can be such a link.
    pub fn check(&self) -> Result<(), Impossible> {
        let changes_buffer = |rule: &Rule| matches!(rule, Rule::At(_, change) if change.buffer.is_some());
        if self.queue != Queue::DropTail && self.schedule.rules.iter().any(changes_buffer) {
            let (key, value) = ("queue", self.queue.name().unwrap_or_default().to_owned());
            return Err(Impossible { key, value, rule: "only droptail follows a buffer that changes" });
        }
        self.schedule.check(&self.conditions)
    }

    /// The bytes that its transmitter can move from time zero until `end`, and those of them that random loss and
    /// black-outs leave on average: what a perfect sender would deliver. The seed is that of the link.
    pub fn capacity(&self, seed: u64, end: Timestamp) -> Capacity {
        let mut timeline = self.timeline(&mut Rng::new(seed));
        let (mut at, mut carried, mut delivered) = (0, 0.0, 0.0);
        while at < end.as_nanos() {
            let next = timeline.next_change().min(end.as_nanos());
            let volume = timeline.current().rate.bytes_per_sec() * (next - at) as f64 * 1e-9;
            carried += volume;
            delivered += if timeline.is_dark() { 0.0 } else { volume * (1.0 - timeline.current().loss.mean()) };
            timeline.advance(next);
            at = next;
        }
        Capacity { carried: Bytes::new(carried as u64), delivered: Bytes::new(delivered as u64) }
    }

    /// The conditions from each moment on at which they change, until `end`, in the order of time: the first at time zero. A
    /// black-out is a loss of all. The seed is that of the link.
    pub fn course(&self, seed: u64, end: Timestamp) -> impl Iterator<Item = (Timestamp, Conditions)> + use<> {
        let mut timeline = self.timeline(&mut Rng::new(seed));
        let mut next = Some(0);
        core::iter::from_fn(move || {
            let at = next.filter(|at| *at < end.as_nanos())?;
            timeline.advance(at);
            next = Some(timeline.next_change()).filter(|next| *next > at);
            let loss = if timeline.is_dark() { Loss::Bernoulli(1.0) } else { timeline.current().loss };
            Some((moment(at), Conditions { loss, ..*timeline.current() }))
        })
    }

    /// The first draw of the link's seed belongs to the schedule, so that links of one seed change in step, whatever
    /// their packets draw.
    fn timeline(&self, rng: &mut Rng) -> Timeline {
        Timeline::new(self.conditions, &self.schedule, rng.split())
    }
}

/// A link's best possible work in some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes through the bottleneck.
    pub carried: Bytes,
    /// Bytes of these that arrive on average.
    pub delivered: Bytes,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// It arrives.
    Delivered {
        /// When.
        at: Timestamp,
        /// When a copy of it arrives, if the network made one.
        duplicate: Option<Timestamp>,
    },
    /// It never arrives.
    Dropped(Reason),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The bottleneck's buffer was full.
    Buffer,
    /// Random loss on the wire.
    Random,
    /// The link was dark.
    Blackout,
}

impl Reason {
    /// The word used in tables and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Random => "random",
            Self::Blackout => "blackout",
        }
    }
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of packets.
    pub packets: u64,
    /// The number of bytes in them.
    pub bytes: Bytes,
}

impl Count {
    pub(crate) fn add(&mut self, bytes: Bytes) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// A link's counts so far. `sent + duplicated = delivered + dropped`, in packets and in bytes; with a queue discipline in
/// front of it what waits there is missing on the right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Came in.
    pub sent: Count,
    /// Came out, or will: copies included.
    pub delivered: Count,
    /// Copies that the network made.
    pub duplicated: Count,
    /// Took a detour.
    pub reordered: Count,
    /// Dropped because the buffer was full.
    pub dropped_buffer: Count,
    /// Lost at random.
    pub dropped_random: Count,
    /// Lost in the dark.
    pub dropped_blackout: Count,
    /// Dropped by a queue discipline, its full buffer included.
    pub dropped_queue: Count,
    /// Marked by a queue discipline (ECN): these arrive, as far as nothing else drops them.
    pub marked: Count,
}

impl Counters {
    /// All that was dropped, for whatever reason.
    pub fn dropped(&self) -> Count {
        let all = [self.dropped_buffer, self.dropped_random, self.dropped_blackout, self.dropped_queue];
        all.into_iter().fold(Count::default(), |sum, one| Count {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    }
}

/// One direction of a path at work. When a packet comes in, it answers at once with the packet's fate: a pure
/// calculation, a constant number of steps a packet, no clock and no timer.
///
/// Equal seeds and equal packets at equal times give equal outcomes, on every platform.
#[derive(Clone, Debug)]
pub struct Link {
    /// The conditions where packets come in.
    entry: Timeline,
    /// The conditions where the transmitter is with its work: ahead of the entry by the length of the queue.
    service: Timeline,
    clock: u64,
    /// When the transmitter will have sent all it has accepted, in nanoseconds, and the fraction beyond.
    free_at: u64,
    free_at_fraction: f64,
    /// Accepted packets whose transmission has not begun: when it will, and their sizes.
    waiting: VecDeque<(u64, u64)>,
    waiting_bytes: u64,
    last_arrival: u64,
    loss: LossProcess,
    loss_rng: Rng,
    delay_rng: Rng,
    duplicate_rng: Rng,
    counters: Counters,
}

impl Link {
    /// A link on which no packet is under way. An error if there can be no such link.
    pub fn new(configured: &OneWay, seed: u64) -> Result<Self, Impossible> {
        let mut rng = Rng::new(seed);
        let changes = rng.clone();
        let _ = rng.next_u64(); // the draw of the schedule
        Self::with_rngs(configured, changes, rng)
    }

    /// A link whose schedule and whose packets draw from different sources.
    pub(crate) fn with_rngs(configured: &OneWay, mut changes: Rng, mut packets: Rng) -> Result<Self, Impossible> {
        configured.check()?;
        let timeline = configured.timeline(&mut changes);
        Ok(Self {
            entry: timeline.clone(),
            service: timeline,
            clock: 0,
            free_at: 0,
            free_at_fraction: 0.0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            last_arrival: 0,
            loss: LossProcess::default(),
            loss_rng: packets.split(),
            delay_rng: packets.split(),
            duplicate_rng: packets.split(),
            counters: Counters::default(),
        })
    }

    /// A packet of `bytes` bytes comes in. Time does not run backwards: an earlier `now` counts as the latest one seen.
    pub fn send(&mut self, now: Timestamp, bytes: Bytes) -> Outcome {
        self.move_to(now);
        self.counters.sent.add(bytes);
        let size = bytes.get().max(1); // an empty packet must not be a way around the buffer's bound
        let busy = self.free_at > self.clock;
        if busy && self.waiting_bytes.saturating_add(size) > self.entry.current().buffer.get() {
            return self.drop_for(Reason::Buffer, bytes);
        }
        if busy {
            self.waiting.push_back((self.free_at, size));
            self.waiting_bytes += size;
        }
        self.transmit(size);
        if self.service.is_dark() {
            return self.drop_for(Reason::Blackout, bytes);
        }
        if self.loss.next(&self.service.current().loss, &mut self.loss_rng) {
            return self.drop_for(Reason::Random, bytes);
        }
        let at = self.arrival(bytes);
        let twice = self.duplicate_rng.chance(self.service.current().duplicate);
        let duplicate = twice.then(|| {
            self.counters.duplicated.add(bytes);
            self.arrival(bytes)
        });
        Outcome::Delivered { at, duplicate }
    }

    /// Bytes that wait for the transmitter at `now`, without the packet in transmission: what [`Conditions::buffer`]
    /// bounds. Like [`Self::send`], this moves time forward.
    pub fn queued(&mut self, now: Timestamp) -> Bytes {
        self.move_to(now);
        Bytes::new(self.waiting_bytes)
    }

    /// How long a packet that came in at `now` would wait before its transmission began.
    pub fn queueing_delay(&self, now: Timestamp) -> Duration {
        moment(self.free_at).since(now)
    }

    /// The link's conditions where packets come in, as of the latest packet; the schedule included.
    pub fn conditions(&self) -> &Conditions {
        self.entry.current()
    }

    /// The counts so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn move_to(&mut self, now: Timestamp) {
        self.clock = self.clock.max(now.as_nanos());
        self.entry.advance(self.clock);
        while let Some(&(begins, size)) = self.waiting.front()
            && begins <= self.clock
        {
            self.waiting.pop_front();
            self.waiting_bytes -= size;
        }
    }

    /// Lets the transmitter work off `size` bytes more, at the rate of each moment.
    fn transmit(&mut self, size: u64) {
        if self.free_at <= self.clock {
            (self.free_at, self.free_at_fraction) = (self.clock, 0.0);
        }
        self.service.advance(self.free_at);
        let mut left = size as f64;
        loop {
            let rate = self.service.current().rate.bytes_per_sec() * 1e-9; // bytes a nanosecond
            let time = left / rate + self.free_at_fraction;
            let change = self.service.next_change();
            if time < (change - self.free_at) as f64 {
                self.free_at = self.free_at.saturating_add(time as u64);
                self.free_at_fraction = time - time.floor();
                return;
            }
            left -= ((change - self.free_at) as f64 - self.free_at_fraction) * rate;
            (self.free_at, self.free_at_fraction) = (change, 0.0);
            if change == u64::MAX {
                return; // the end of time
            }
            self.service.advance(change);
            if left <= 0.0 {
                return;
            }
        }
    }

    /// When a packet whose transmission has just ended arrives.
    fn arrival(&mut self, bytes: Bytes) -> Timestamp {
        let conditions = self.service.current();
        let mut at = self.free_at.saturating_add(nanos(conditions.delay));
        at = at.saturating_add(nanos(conditions.lateness(&mut self.delay_rng)));
        let detour = self.delay_rng.chance(conditions.reorder);
        if !conditions.jitter_reorders {
            at = at.max(self.last_arrival);
            self.last_arrival = at;
        }
        if detour {
            at = at.saturating_add(nanos(conditions.reorder_delay));
            self.counters.reordered.add(bytes);
        }
        self.counters.delivered.add(bytes);
        moment(at)
    }

    fn drop_for(&mut self, reason: Reason, bytes: Bytes) -> Outcome {
        let count = match reason {
            Reason::Buffer => &mut self.counters.dropped_buffer,
            Reason::Random => &mut self.counters.dropped_random,
            Reason::Blackout => &mut self.counters.dropped_blackout,
        };
        count.add(bytes);
        Outcome::Dropped(reason)
    }
}
