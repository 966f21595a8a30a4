//! The number of segments that leave together. Linux hands its interface trains of a millisecond (`tcp_tso_autosize`),
//! waits for more acknowledgements if a train would be short (`tcp_tso_should_defer`), and paces trains, not packets.

use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};

/// A train is what the rate carries in this time (`sk_pacing_shift` 10: 2⁻¹⁰ s).
const TRAIN: f64 = 1.0 / 1024.0;
/// Bytes of the longest (`GSO_LEGACY_MAX_SIZE`).
const LONGEST: u64 = 65_536;
/// A shorter train waits for a third of the window (`tcp_tso_win_divisor`).
const DIVISOR: u64 = 3;
/// Nobody waits who has been silent for so long.
const RECENT: Duration = Duration::from_millis(1);
/// Of cwnd/RTT, once slow start is over (`tcp_pacing_ca_ratio`).
const RATIO: f64 = 1.2;

/// What a sender knows when it might send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: Timestamp,
    /// Segments that the window leaves.
    pub(super) room: u64,
    pub(super) window: u64,
    pub(super) rate: Rate,
    /// Segments of the shortest train.
    pub(super) least: u64,
    /// What is lost waits for nobody.
    pub(super) is_recovering: bool,
    pub(super) head_age: Option<Duration>,
    pub(super) half_rtt: Duration,
    pub(super) last_sent: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct Train {
    is_paced: bool,
    size: Bytes,
    /// Segments of this train that have not left.
    left: u64,
    /// When pacing lets the next one leave.
    next: Timestamp,
}

impl Train {
    pub(super) const fn new(is_paced: bool, size: Bytes) -> Self {
        Self { is_paced, size, left: 0, next: Timestamp::ZERO }
    }

    /// The rate by the window: packet by packet if the flow is paced without being BBR's.
    pub(super) const fn ratio(&self) -> f64 {
        if self.is_paced { 1.0 } else { RATIO }
    }

    pub(super) const fn paced_until(&self) -> Option<Timestamp> {
        if self.is_paced { Some(self.next) } else { None }
    }

    /// The window is full or everything changed: what comes is another train.
    pub(super) const fn cut(&mut self) {
        self.left = 0;
    }

    /// Segments of a full train.
    pub(super) fn length(&self, moment: &Moment) -> u64 {
        let bytes = (moment.rate.bytes_per_sec() * TRAIN) as u64;
        (bytes.min(LONGEST) / self.size.get().max(1)).max(moment.least)
    }

    /// Whether a segment may leave now; it is taken to do so.
    pub(super) fn may_leave(&mut self, moment: &Moment) -> bool {
        if self.left == 0 {
            if self.is_paced && moment.now < self.next || self.is_deferred(moment) {
                return false;
            }
            self.left = self.length(moment).min(moment.room);
            self.pace(moment);
        }
        self.left -= 1;
        true
    }

    fn is_deferred(&self, moment: &Moment) -> bool {
        let is_recent = moment.last_sent.is_some_and(|last| moment.now.since(last) <= RECENT);
        let is_enough = moment.room >= self.length(moment) || moment.room >= moment.window / DIVISOR;
        // An acknowledgement that comes soon brings more.
        let is_late = moment.head_age.is_none_or(|age| age < moment.half_rtt);
        !moment.is_recovering && is_recent && !is_enough && !is_late
    }

    /// Time that a train came late counts for the next one, up to half of it (`tcp_update_skb_after_send`).
    fn pace(&mut self, moment: &Moment) {
        let length = moment.rate.time_for(Bytes::new(self.left * self.size.get()));
        let credit = moment.now.since(self.next);
        self.next = moment.now + (length - credit.min(length / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(millis: u64, room: u64) -> Moment {
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        Moment {
            now: at(millis),
            room,
            window: 100,
            rate: Rate::from_mbit(100.0),
            least: 2,
            is_recovering: false,
            head_age: Some(Duration::from_millis(29)),
            half_rtt: Duration::from_millis(15),
            last_sent: Some(at(millis)),
        }
    }

    #[test]
    fn a_train_is_what_a_millisecond_carries() {
        let train = Train::new(false, Bytes::new(1448));
        assert_eq!(train.length(&moment(0, 50)), 8);
        assert_eq!(train.length(&Moment { rate: Rate::from_mbit(1.0), ..moment(0, 50) }), 2);
        assert_eq!(train.length(&Moment { rate: Rate::from_mbit(1e4), ..moment(0, 50) }), 45);
    }

    #[test]
    fn a_short_train_waits_for_more_but_not_for_long() {
        let mut train = Train::new(false, Bytes::new(1448));
        assert!(!train.may_leave(&moment(10, 2)));
        assert!(train.may_leave(&moment(10, 8)));
        train.cut();
        assert!(train.may_leave(&Moment { is_recovering: true, ..moment(10, 2) }));
        train.cut();
        let silent = Moment { last_sent: Some(Timestamp::from_nanos(8_000_000)), ..moment(10, 2) };
        assert!(train.may_leave(&silent));
    }

    #[test]
    fn a_paced_train_leaves_a_train_s_time_after_the_last() {
        let mut train = Train::new(true, Bytes::new(1448));
        let left = (0..10_000).filter(|tick| {
            let now = Timestamp::from_nanos(tick * 10_000);
            train.may_leave(&Moment { now, ..moment(0, 50) })
        });
        // In 100 ms at 100 Mbit/s.
        assert!((855..=871).contains(&left.count()));
    }
}
