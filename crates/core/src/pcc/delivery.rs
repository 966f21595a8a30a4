//! The path's delivery rate: at its best, and over time.

use super::silence::HOST_PAUSE;
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// The best delivery rate of the last five to ten RTT, or of 50 to 100 ms if those are shorter: two halves of a window, the older one
/// dropped at each turn. A time without deliveries makes nothing older: who pauses begins again from what was delivered before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryRate {
    best: [Rate; 2],
    half_started: Timestamp,
}

impl DeliveryRate {
    pub(super) fn update(&mut self, now: Timestamp, rate: Rate, rtt: Duration) {
        if now.since(self.half_started) > 5 * rtt.max(HOST_PAUSE) {
            self.best = [Rate::ZERO, self.best[0]];
            self.half_started = now;
        }
        self.best[0] = self.best[0].max(rate);
    }

    pub(super) fn best(&self) -> Rate {
        self.best[0].max(self.best[1])
    }
}

/// The least time over which delivered bytes are counted. Radios deliver in clumps of up to 40 ms, each of which may lie on either
/// side of an end: 4 % of a second.
const COUNTED: Duration = Duration::from_secs(1);

/// Bytes delivered over the last one to two seconds, or ten to twenty RTT if those are longer: two halves of a window, the older one
/// dropped at each turn.
///
/// No path delivers more than its rate for long, whatever is sent and however its acknowledgements bunch. The best of single
/// intervals is up to twice the rate then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    older: (Bytes, Duration),
    /// The acknowledgement that began the newer half, the latest one, and the bytes that were acknowledged after the first.
    newer: Option<(Timestamp, Timestamp, Bytes)>,
    /// The least wait of acknowledgements on their way back, in the newer half and the older one.
    waits: [Duration; 2],
}

impl Delivered {
    /// A packet was acknowledged, and the latest acknowledgement waited so long.
    pub(super) fn on_ack(&mut self, now: Timestamp, bytes: Bytes, rtt: Duration, waited: Duration) {
        let (mut began, mut latest, mut counted) = self.newer.unwrap_or((now, now, Bytes::ZERO));
        if now > latest && latest.since(began) >= COUNTED.max(10 * rtt) {
            self.older = (counted, latest.since(began));
            (began, counted) = (latest, Bytes::ZERO);
            self.waits = [waited, self.waits[0]];
        }
        self.waits[0] = self.waits[0].min(waited);
        if now > began {
            (latest, counted) = (now, counted + bytes);
        }
        self.newer = Some((began, latest, counted));
    }

    /// The sender has less to send than the path carries: what is delivered from now on tells nothing of the path.
    pub(super) fn pause(&mut self) {
        self.newer = None;
    }

    /// Bytes whose acknowledgements are on a way back that is never empty. Those that an outage holds are none: it was empty before,
    /// and then next to nothing arrives.
    pub(super) fn waiting(&self, rate: Rate, rtt: Duration) -> Bytes {
        let arriving = self.rate(rtt).unwrap_or(Rate::ZERO);
        rate.min(arriving * 2.0) * self.waits[0].min(self.waits[1])
    }

    /// `None` until it was counted for an RTT.
    pub(super) fn rate(&self, rtt: Duration) -> Option<Rate> {
        let (bytes, time) =
            self.newer.map_or((Bytes::ZERO, Duration::ZERO), |(began, latest, counted)| (counted, latest.since(began)));
        let (bytes, time) = (bytes + self.older.0, time + self.older.1);
        (time >= rtt && bytes > Bytes::ZERO).then(|| Rate::from_volume(bytes, time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(30);

    /// Two and a half seconds of 8 Mbit/s, whose acknowledgements waited so many ms in the first half and in the second.
    fn waiting(first: u64, second: u64, mbit: f64) -> u64 {
        let mut delivered = Delivered::default();
        for i in 0..250 {
            let waited = Duration::from_millis(if i < 125 { first } else { second });
            delivered.on_ack(Timestamp::from_nanos(i * 10_000_000), Bytes::new(10_000), RTT, waited);
        }
        delivered.waiting(Rate::from_mbit(mbit), RTT).get()
    }

    #[test]
    fn what_always_waits_is_on_its_way() {
        assert_eq!(waiting(100, 120, 8.0), 100_000);
    }

    #[test]
    fn a_way_back_that_was_empty_of_late_holds_nothing() {
        assert_eq!([waiting(0, 120, 8.0), waiting(120, 0, 8.0)], [0, 0]);
    }

    #[test]
    fn no_more_waits_than_is_sent_nor_twice_what_arrives() {
        assert_eq!([waiting(100, 100, 4.0), waiting(100, 100, 80.0)], [50_000, 200_000]);
    }
}
