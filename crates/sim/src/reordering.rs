//! The reordering that loss detection tolerates: that of the QUIC transport which `pcc` uses, RFC 9002 §6.1 with
//! thresholds that grow by what was late on the path (`vendor/noq-proto/0012-*.patch`).

use core::time::Duration;
use pcc::recovery::{PACKET_THRESHOLD, TIME_THRESHOLD};
use pcc::units::Timestamp;

/// No timer is finer (RFC 9002 §6.1.2).
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);
/// The tolerance beyond the configured thresholds is halved after so many RTTs. RACK (RFC 8985 §6.2) waits for 16
/// recoveries, which may take as long.
const PERSISTENCE: u32 = 16;

/// An extent of reordering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    /// From the packet to the largest acknowledged one, plus one.
    packets: u64,
    /// From the departure of the packet to its acknowledgement.
    time: Duration,
}

impl Extent {
    /// The thresholds for a path that keeps the order.
    fn configured(rtt: Duration) -> Self {
        Self { packets: PACKET_THRESHOLD.into(), time: rtt.mul_f64(TIME_THRESHOLD.into()).max(GRANULARITY) }
    }

    fn max(self, other: Self) -> Self {
        Self { packets: self.packets.max(other.packets), time: self.time.max(other.time) }
    }

    /// Half the way down to `floor`.
    fn halved(self, floor: Self) -> Self {
        Self {
            packets: floor.packets + self.packets.saturating_sub(floor.packets) / 2,
            time: floor.time + self.time.saturating_sub(floor.time) / 2,
        }
    }
}

/// The reordering seen on a path. An `rtt` is the larger one of the smoothed and the latest RTT (RFC 9002 §6.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reordering {
    /// Packets that are late by less than this are not deemed lost.
    tolerated: Extent,
    /// The largest extent since `since`.
    seen: Extent,
    since: Option<Timestamp>,
}

impl Reordering {
    /// A packet was acknowledged after one that was sent later, whether or not it was deemed lost. `distance` is that to the
    /// largest one acknowledged before, and `age` the time since the packet was sent.
    pub(crate) fn on_late(&mut self, distance: u64, age: Duration) {
        let extent = Extent { packets: distance + 1, time: age + GRANULARITY };
        self.seen = self.seen.max(extent);
        self.tolerated = self.tolerated.max(extent);
    }

    /// An acknowledgement was processed: tolerates less if nothing was that late for a while.
    pub(crate) fn on_end_acks(&mut self, now: Timestamp, smoothed: Duration, rtt: Duration) {
        let since = *self.since.get_or_insert(now);
        if now.since(since) >= PERSISTENCE * smoothed {
            self.tolerated = self.tolerated.halved(Extent::configured(rtt)).max(self.seen);
            (self.seen, self.since) = (Extent::default(), Some(now));
        }
    }

    /// Packet threshold and time threshold of loss detection. The latter grows by one RTT at most.
    pub(crate) fn thresholds(&self, rtt: Duration) -> (u64, Duration) {
        let Extent { packets, time } = Extent::configured(rtt);
        (self.tolerated.packets.max(packets), self.tolerated.time.clamp(time, time + rtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(128);
    /// 5/4 of the RTT.
    const CONFIGURED: (u64, Duration) = (128, Duration::from_millis(160));
    const LATE: Duration = Duration::from_millis(179);

    #[test]
    fn thresholds_cover_what_was_late() {
        let mut reordering = Reordering::default();
        assert_eq!(reordering.thresholds(RTT), CONFIGURED);
        reordering.on_late(1, RTT);
        assert_eq!(reordering.thresholds(RTT), CONFIGURED);
        reordering.on_late(400, LATE);
        reordering.on_late(10, RTT);
        assert_eq!(reordering.thresholds(RTT), (401, LATE + GRANULARITY));
        reordering.on_late(1000, 10 * RTT);
        assert_eq!(reordering.thresholds(RTT), (1001, CONFIGURED.1 + RTT));
    }

    #[test]
    fn thresholds_return_where_nothing_is_late() {
        let (mut reordering, mut now) = (Reordering::default(), Timestamp::ZERO);
        reordering.on_end_acks(now, RTT, RTT);
        reordering.on_late(999, LATE);
        // The first period has seen it.
        for expected in [1000, 564, 346, 237, 182, 155, 141, 134, 131, 129, 128, 128] {
            now = now + PERSISTENCE * RTT;
            reordering.on_end_acks(now, RTT, RTT);
            assert_eq!(reordering.thresholds(RTT).0, expected);
        }
        assert!(reordering.thresholds(RTT).1 < CONFIGURED.1 + GRANULARITY);
    }

    #[test]
    fn thresholds_stay_where_packets_are_late() {
        let (mut reordering, mut now) = (Reordering::default(), Timestamp::ZERO);
        for _ in 0..100 {
            now = now + PERSISTENCE * RTT / 2;
            reordering.on_late(999, LATE);
            reordering.on_end_acks(now, RTT, RTT);
        }
        assert_eq!(reordering.thresholds(RTT), (1000, LATE + GRANULARITY));
    }

    #[test]
    fn the_patch_halves_after_as_many_rtts() {
        let patch =
            include_str!("../../../vendor/noq-proto/0012-recovery-tolerate-the-reordering-that-was-seen-on-th.patch");
        assert!(patch.contains(&format!("const PERSISTENCE: u32 = {PERSISTENCE};")));
    }
}
