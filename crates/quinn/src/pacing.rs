//! A rate for quinn's pacer, which knows windows only.
//!
//! Before each datagram of data quinn 0.11 asks twice for the window: whether the datagram has room in it, and how fast
//! the pacer's bucket fills, which is 1.25 windows a smoothed RTT. The second answer is the window that makes this PCC's rate.
//!
//! The bucket holds 2 ms of the window, or ten packets. A host that wakes quinn later loses the rest of that time. A schedule
//! of what should have left notices it and asks for a faster bucket until the loss is made good.
//!
//! No bucket holds more than 256 packets. At a rate that sends them in less time than timers may be late, a sender that is behind
//! its schedule does not wait for the bucket.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};

/// quinn-proto's pacer fills its bucket with so many windows a smoothed RTT.
const WINDOWS_PER_RTT: f64 = 1.25;

/// quinn's assumption before the first sample, from RFC 9002 §6.2.2.
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Time that the host lost is made good up to this much, or one burst where that is longer. After a longer stop the queue on
/// the path has drained, and what is owed would overflow it.
const LARGEST_DEBT: Duration = Duration::from_millis(5);

/// quinn-proto's bucket holds no more packets, and 2 ms of the window where these are less, since Tokio's timers may be so late.
const LARGEST_BUCKET: u64 = 256;
const BUCKET_TIME: Duration = Duration::from_millis(2);

/// quinn-proto does not pace a sender with a window beyond this one.
const LARGEST_PACED: u64 = u32::MAX as u64;

/// For each of these that a sender is behind, quinn's bucket fills once the rate faster.
const UNIT: Duration = Duration::from_micros(500);

/// The slowest and the fastest that the bucket fills, as a multiple of the rate.
const SLOWEST: f64 = 0.75;
const FASTEST: f64 = 25.0;

/// The numbers for quinn's pacer, and whether the host keeps up with them.
///
/// quinn calls a controller under a lock; the atomics only serve to change through `&self`, as its trait demands.
#[derive(Debug)]
pub(crate) struct Pacing {
    /// quinn found room for a datagram, and asks next how fast it may leave.
    has_room: AtomicBool,
    /// Datagrams that had room since a packet left.
    admitted: AtomicU32,
    /// Data had to wait for room since a packet left.
    was_full: AtomicBool,
    /// quinn built fewer datagrams than had room: its pacer held back data.
    held: bool,
    /// For so long a window lasts in quinn's pacer. Unit: s.
    window_time: f64,
    /// When all that left should have left.
    due: Timestamp,
    latest: Timestamp,
    /// Bytes that left at the latest time.
    burst: Bytes,
    /// The bucket fills so many times faster than the rate.
    haste: f64,
}

/// Which question quinn asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// How much may be in flight?
    Room,
    /// How fast may it leave?
    Speed,
}

impl Pacing {
    pub(crate) fn new() -> Self {
        Self {
            has_room: AtomicBool::new(false),
            admitted: AtomicU32::new(0),
            was_full: AtomicBool::new(false),
            held: false,
            window_time: window_time(INITIAL_RTT),
            due: Timestamp::ZERO,
            latest: Timestamp::ZERO,
            burst: Bytes::ZERO,
            haste: 1.0,
        }
    }

    /// quinn asks for the window. It asks for the speed only after it found room.
    pub(crate) fn on_question(&self) -> Question {
        let has_room = self.has_room.load(Relaxed);
        self.has_room.store(!has_room, Relaxed);
        if !has_room {
            return Question::Room;
        }
        self.admitted.store(self.admitted.load(Relaxed).saturating_add(1), Relaxed);
        Question::Speed
    }

    /// Something happened, and quinn begins anew with its questions. If it did not ask for the speed, there was no room.
    pub(crate) fn on_event(&mut self) {
        if core::mem::take(self.has_room.get_mut()) {
            *self.was_full.get_mut() = true;
        }
    }

    /// Datagrams that had room since a packet left: none before a packet that is not subject to the window.
    pub(crate) fn admitted(&self) -> u32 {
        self.admitted.load(Relaxed)
    }

    /// quinn's smoothed RTT.
    pub(crate) fn set_smoothed(&mut self, smoothed: Duration) {
        self.window_time = window_time(smoothed);
    }

    /// `packets` with these bytes leave at `now`. Answers since when the host is behind for good, if it is. `was_idle`: the
    /// application had nothing to send before.
    pub(crate) fn on_sent(
        &mut self,
        now: Timestamp,
        bytes: Bytes,
        packets: u64,
        rate: Rate,
        was_idle: bool,
    ) -> Option<Timestamp> {
        let follows = now == self.latest;
        let was_full = core::mem::take(self.was_full.get_mut());
        let is_left = u64::from(core::mem::take(self.admitted.get_mut())) > packets;
        let was_held = core::mem::replace(&mut self.held, is_left) || is_left;
        let grace = match follows || was_held && !was_full && !was_idle {
            true => LARGEST_DEBT.max(rate.time_for(self.burst)),
            false => Duration::ZERO,
        };
        let lost_since = (!grace.is_zero() && now > self.due + grace).then_some(self.due + grace);
        self.burst = if follows { self.burst + bytes } else { bytes };
        self.due = self.due.max(now - grace) + rate.time_for(bytes);
        self.latest = now;
        self.haste = self.haste_at(now, rate);
        lost_since
    }

    /// When the time of all that left is over.
    pub(crate) fn free_from(&self) -> Timestamp {
        self.due.max(self.latest)
    }

    fn haste_at(&self, now: Timestamp, rate: Rate) -> f64 {
        let haste = match self.due.since(now) {
            Duration::ZERO => 1.0 + now.since(self.due).as_secs_f64() / UNIT.as_secs_f64(),
            wait => rate.time_for(self.burst).as_secs_f64() / wait.as_secs_f64(),
        };
        haste.clamp(SLOWEST, FASTEST)
    }

    /// The window with which quinn's pacer keeps this rate with packets of that size.
    pub(crate) fn window(&self, rate: Rate, packet: Bytes) -> u64 {
        let bucket = Bytes::new(packet.get() * LARGEST_BUCKET);
        let is_behind = self.due <= self.latest;
        if is_behind && rate.time_for(bucket) < BUCKET_TIME {
            return LARGEST_PACED + 1;
        }
        let window = rate.bytes_per_sec() * self.haste * self.window_time;
        window.clamp(1.0, LARGEST_PACED as f64) as u64
    }
}

fn window_time(smoothed: Duration) -> f64 {
    smoothed.as_secs_f64() / WINDOWS_PER_RTT
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 96.0; // 1200 bytes in 0.1 ms
    const PACKET: Bytes = Bytes::new(1200);

    fn ms(ms: f64) -> Timestamp {
        Timestamp::from_nanos((ms * 1e6) as u64)
    }

    /// Bursts of ten packets, that the pacer holds back and the host wakes so many milliseconds late each time.
    fn haste_after_bursts(late: f64) -> f64 {
        let (mut pacing, rate) = (Pacing::new(), Rate::from_mbit(RATE));
        let mut now = 10.0;
        for _ in 0..100 {
            (0..22).for_each(|_| _ = pacing.on_question());
            pacing.on_sent(ms(now), Bytes::new(12_000), 10, rate, false);
            now += 1.0 / pacing.haste + late;
        }
        pacing.haste
    }

    #[test]
    fn quinn_asks_for_room_and_then_for_speed() {
        let pacing = Pacing::new();
        let asked: Vec<_> = (0..4).map(|_| pacing.on_question()).collect();
        assert_eq!(asked, [Question::Room, Question::Speed, Question::Room, Question::Speed]);
        assert_eq!(pacing.admitted(), 2);
    }

    #[test]
    fn after_an_event_quinn_asks_for_room_first() {
        let mut pacing = Pacing::new();
        assert_eq!(pacing.on_question(), Question::Room);
        pacing.on_event();
        assert_eq!(pacing.on_question(), Question::Room, "there was none the first time");
    }

    #[test]
    fn the_window_paces_at_the_rate() {
        let mut pacing = Pacing::new();
        pacing.set_smoothed(Duration::from_millis(100));
        // 12 MB/s over 100 ms are 1.2 MB, of which quinn sends 1.25 times as much.
        pacing.on_sent(ms(1.0), PACKET, 1, Rate::from_mbit(RATE), true);
        assert_eq!(pacing.window(Rate::from_mbit(RATE), PACKET), 960_000);
        assert_eq!(pacing.window(Rate::from_mbit(1e6), PACKET), LARGEST_PACED);
        pacing.set_smoothed(Duration::ZERO);
        assert_eq!(pacing.window(Rate::from_mbit(RATE), PACKET), 1, "quinn takes none for nonsense");
    }

    /// Bursts of 20 packets, as quinn sends them in one call, each so many milliseconds after the one before.
    fn is_paced(mbit: f64, apart: f64) -> bool {
        let (mut pacing, rate) = (Pacing::new(), Rate::from_mbit(mbit));
        pacing.set_smoothed(Duration::from_millis(1));
        for burst in 0..100 {
            (0..42).for_each(|_| _ = pacing.on_question());
            pacing.on_sent(ms(10.0 + apart * f64::from(burst)), Bytes::new(24_000), 20, rate, burst == 0);
        }
        pacing.window(rate, PACKET) <= LARGEST_PACED
    }

    #[test]
    fn the_bucket_limits_no_fast_sender_that_is_behind() {
        // 24 kB are 19.2 µs of 10 Gbit/s, and the largest bucket 246 µs.
        assert!(!is_paced(1e4, 0.025));
        assert!(is_paced(1e4, 0.015), "it is ahead");
        assert!(is_paced(1e3, 0.25), "the bucket holds 2 ms");
    }

    #[test]
    fn a_host_in_time_needs_no_haste() {
        let haste = haste_after_bursts(0.0);
        assert!((haste - 1.0).abs() < 0.01, "{haste}");
    }

    #[test]
    fn a_late_host_is_made_good_for() {
        // Ten packets each 1 ms are the rate: woken 0.5 ms late, the pacer has to wait 0.5 ms.
        let haste = haste_after_bursts(0.5);
        assert!((1.9..2.3).contains(&haste), "{haste}");
    }

    #[test]
    fn an_idle_sender_owes_nothing() {
        let (mut pacing, rate) = (Pacing::new(), Rate::from_mbit(RATE));
        for now in [1.0, 501.0] {
            (0..20).for_each(|_| _ = pacing.on_question());
            assert_eq!(pacing.on_sent(ms(now), Bytes::new(12_000), 10, rate, true), None);
            assert_eq!(pacing.haste, 1.0);
        }
    }

    #[test]
    fn a_stopped_host_is_told_of() {
        let (mut pacing, rate) = (Pacing::new(), Rate::from_mbit(RATE));
        for (now, was_idle, lost) in [(1.0, true, None), (101.0, false, Some(ms(2.0) + LARGEST_DEBT))] {
            (0..22).for_each(|_| _ = pacing.on_question());
            assert_eq!(pacing.on_sent(ms(now), Bytes::new(12_000), 10, rate, was_idle), lost);
        }
    }
}
