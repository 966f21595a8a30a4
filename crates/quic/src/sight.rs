//! The findings of a sender about its path, for people who wonder why a transfer was as fast as it was.

use core::time::Duration;
use noq::{Connection, PathId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Looks at a connection while it carries data, and remembers what it saw of the path. Clones are one.
///
/// A [`SendWindow`](crate::transport::SendWindow) looks each 50 ms.
#[derive(Clone, Debug, Default)]
pub struct Sight(Arc<Mutex<Seen>>);

/// The findings about a path, from its sender's end.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PathFigures {
    /// The share of packets that are lost at most times, from 0 to 1. Losses of single moments, such as those of start-up, do not count.
    pub loss: f64,
    /// The shortest round trip, as smoothed.
    pub base_rtt: Duration,
    /// The mean round trip while data moved.
    pub rtt: Duration,
}

impl PathFigures {
    /// The same as its sender told it.
    pub const fn told(loss: f64, base_rtt: Duration, rtt: Duration) -> Self {
        Self { loss, base_rtt, rtt }
    }

    /// The mean queueing delay.
    pub const fn queue(&self) -> Duration {
        self.rtt.saturating_sub(self.base_rtt)
    }
}

/// Stretches of a transfer that are told apart, at most. When there are more, two and two become one.
const MOST_STRETCHES: usize = 16;

/// With fewer nobody can tell a moment from all others.
const FEWEST_STRETCHES: usize = 4;

/// Packets of a stretch at first: a loss of 1 % is five.
const FEWEST_PACKETS: u64 = 500;

/// Packets that were sent, and those of them that were lost.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    sent: u64,
    lost: u64,
}

impl Stretch {
    const fn and(self, other: Self) -> Self {
        Self { sent: self.sent + other.sent, lost: self.lost + other.lost }
    }

    fn loss(self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}

#[derive(Debug)]
struct Seen {
    stretches: Vec<Stretch>,
    /// Packets of a stretch.
    length: u64,
    /// Totals where the present stretch begins.
    before: Stretch,
    /// The totals at the last look.
    latest: Stretch,
    base_rtt: Option<Duration>,
    rtt_sum: Duration,
    looks: u32,
    has_several_paths: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            stretches: Vec::with_capacity(MOST_STRETCHES),
            length: FEWEST_PACKETS,
            before: Stretch::default(),
            latest: Stretch::default(),
            base_rtt: None,
            rtt_sum: Duration::ZERO,
            looks: 0,
            has_several_paths: false,
        }
    }
}

impl Seen {
    /// The totals up to now, and the smoothed RTT.
    fn look(&mut self, total: Stretch, rtt: Duration) {
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        if total.sent > self.latest.sent {
            self.rtt_sum = self.rtt_sum.saturating_add(rtt);
            self.looks = self.looks.saturating_add(1);
        }
        self.latest = total;
        let sent = total.sent.saturating_sub(self.before.sent);
        if sent < self.length {
            return;
        }
        let stretch = Stretch { sent, lost: total.lost.saturating_sub(self.before.lost) };
        self.before = total;
        self.stretches.push(stretch);
        if self.stretches.len() == MOST_STRETCHES {
            self.stretches = self.stretches.chunks(2).map(|two| two[0].and(two[1])).collect();
            self.length = self.length.saturating_mul(2);
        }
    }

    fn figures(&self) -> Option<PathFigures> {
        let base_rtt = self.base_rtt.filter(|_| !self.has_several_paths && self.looks > 0)?;
        let mut losses: Vec<_> = self.stretches.iter().map(|stretch| stretch.loss()).collect();
        losses.sort_by(f64::total_cmp);
        let loss = *losses.get(losses.len() / 2).filter(|_| losses.len() >= FEWEST_STRETCHES)?;
        Some(PathFigures { loss, base_rtt, rtt: self.rtt_sum / self.looks })
    }
}

impl Sight {
    /// Looks once.
    pub(crate) fn look(&self, connection: &Connection, mut paths: impl Iterator<Item = PathId>) {
        let (first, is_only) = (paths.next(), paths.next().is_none());
        if !is_only {
            self.seen().has_several_paths = true;
        }
        if let Some(stats) = first.and_then(|path| connection.path_stats(path)) {
            self.seen().look(Stretch { sent: stats.sent_packets, lost: stats.lost_packets }, stats.rtt);
        }
    }

    /// The findings. `None` after fewer than 2000 packets, and of a connection with several paths.
    pub fn figures(&self) -> Option<PathFigures> {
        self.seen().figures()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(30);

    /// A sender of 100 packets a look, of which the first 2000 are lost by a tenth, and later ones by this share.
    fn seen(looks: u64, later: f64) -> Seen {
        let mut seen = Seen::default();
        let mut total = Stretch::default();
        let mut lost = 0.0;
        for look in 0..looks {
            total.sent += 100;
            lost += if look < 20 { 10.0 } else { 100.0 * later };
            total.lost = lost as u64;
            seen.look(total, RTT);
        }
        seen
    }

    #[test]
    fn the_losses_of_start_up_are_no_property_of_the_path() {
        assert_eq!(seen(1000, 0.0).figures().unwrap().loss, 0.0);
        let loss = seen(1000, 0.01).figures().unwrap().loss;
        assert!((0.009..0.011).contains(&loss), "{loss}");
    }

    #[test]
    fn one_loss_in_a_thousand_is_seen_and_memory_is_bounded() {
        let seen = seen(100_000, 0.001);
        assert!(seen.stretches.len() < MOST_STRETCHES && seen.stretches.capacity() <= MOST_STRETCHES);
        let loss = seen.figures().unwrap().loss;
        assert!((0.0009..0.0011).contains(&loss), "{loss}");
    }

    #[test]
    fn a_short_transfer_says_nothing() {
        assert!(seen(19, 0.0).figures().is_none());
        assert!(Sight::default().figures().is_none());
    }

    #[test]
    fn the_queue_is_what_the_mean_has_above_the_least() {
        let mut seen = seen(30, 0.0);
        for look in 31..=60 {
            seen.look(Stretch { sent: 100 * look, lost: 0 }, 2 * RTT);
        }
        seen.look(Stretch { sent: 6000, lost: 0 }, 9 * RTT);
        let figures = seen.figures().unwrap();
        assert_eq!((figures.base_rtt, figures.queue()), (RTT, RTT / 2), "an idle connection shows no queue");
    }
}
