//! Both directions of a path.

use crate::bottleneck::Bottleneck;
use crate::conditions::{Conditions, Impossible};
use crate::link::{Link, OneWay};
use crate::queue::Queue;
use crate::rng::Rng;
use crate::schedule::Schedule;
use core::time::Duration;
use pcc::units::Rate;

/// Tells the draws of the queue on the way up from those on the way down.
const UP: u64 = 0x6261_636b;

/// A path: two links, one each way.
///
/// Written and read as text: `rate=42Mbit,rtt=800ms,loss=0.74%,buffer=7.5KB`, or the name of a preset, alone or followed
/// by what differs from it: `satellite,loss=2%`. [`KEYS`](crate::KEYS) lists the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// From the side that opens the connection to the side that listens: the way of an upload's data.
    pub up: OneWay,
    /// The way back: that of a download's data.
    pub down: OneWay,
}

impl Path {
    /// The same link both ways, each with half the round-trip time; see [`Conditions::new`].
    pub fn symmetric(rate: Rate, rtt: Duration) -> Self {
        let way = OneWay {
            conditions: Conditions::new(rate, rtt / 2),
            schedule: Schedule::default(),
            queue: Queue::DropTail,
        };
        Self { up: way.clone(), down: way }
    }

    /// The round-trip time at time zero of a packet that meets no queue and no jitter, without transmission times.
    pub fn rtt(&self) -> Duration {
        self.up.conditions.delay + self.down.conditions.delay
    }

    /// Both links behind their queues, up and down, ready to use: [`Self::links`] of the same seed.
    pub fn bottlenecks(&self, seed: u64) -> Result<(Bottleneck, Bottleneck), Impossible> {
        let (up, down) = self.links(seed)?;
        Ok((Bottleneck::new(up, self.up.queue, seed ^ UP), Bottleneck::new(down, self.down.queue, seed)))
    }

    /// Both links, up and down, ready to use. Their schedules draw the same numbers, so that what varies at random
    /// varies in both directions alike; what happens to single packets is independent.
    pub fn links(&self, seed: u64) -> Result<(Link, Link), Impossible> {
        let changes = Rng::new(seed);
        let mut packets = changes.clone();
        let _ = packets.next_u64(); // the draw of the schedules
        let (up, down) = (packets.split(), packets.split());
        Ok((Link::with_rngs(&self.up, changes.clone(), up)?, Link::with_rngs(&self.down, changes, down)?))
    }
}
