use super::*;
use core::time::Duration;
use pcc::units::Rate;

const PACKET: u64 = 1452;

fn pace(mbit: f64) -> Pace {
    let packet = Bytes::new(PACKET);
    Pace { rate: Rate::from_mbit(mbit), quantum: packet, packet }
}

/// noq's pacer (noq-proto 1.4.0, `connection/pacing.rs`), told what [`ForeignPacer`] makes of a rate.
struct Noq {
    foreign_pacer: ForeignPacer,
    pace: Pace,
    tokens: f64,
    asked: Timestamp,
    sent: u64,
    listens: bool,
}

impl Noq {
    fn at(mbit: f64) -> Self {
        Self {
            foreign_pacer: ForeignPacer::default(),
            pace: pace(mbit),
            tokens: f64::MAX,
            asked: ms(0),
            sent: 0,
            listens: true,
        }
    }

    /// Asks before a packet of data, and answers how long it is to wait, in seconds.
    fn asks(&mut self, now: Timestamp) -> f64 {
        self.foreign_pacer.on_window();
        let haste = self.foreign_pacer.haste();
        let rate = self.pace.rate.bytes_per_sec() * if self.listens { haste } else { 1.0 };
        let packet = PACKET as f64;
        let burst = (rate * 0.002).clamp(10.0 * packet, 256.0 * packet).min((rate * 0.010).max(packet));
        self.tokens = (self.tokens + rate * now.since(self.asked).as_secs_f64()).min(burst);
        self.asked = now;
        (packet.min(burst) - self.tokens).max(0.0) / rate
    }

    /// One call of a sender that has data: all that noq lets go, one datagram at a time. Answers when its timer is due.
    fn sends_what_it_may(&mut self, now: Timestamp) -> Timestamp {
        for _ in 0..20 {
            let wait = self.asks(now);
            if wait > 0.0 {
                return now + Duration::from_secs_f64(wait);
            }
            self.leaves(now, false);
            self.asks(now); // whether there would be another datagram
        }
        now
    }

    /// Looks at how fast packets may leave, then at the window, and goes no further.
    fn finds_the_window_full(&mut self) {
        self.foreign_pacer.haste();
        self.foreign_pacer.on_window();
        self.foreign_pacer.on_window_full();
    }

    /// Answers since when the host has lost sending time for good.
    fn leaves(&mut self, now: Timestamp, had_none: bool) -> Option<Timestamp> {
        self.tokens -= PACKET as f64;
        self.sent += PACKET;
        let limited = self.foreign_pacer.on_sent(now, Bytes::new(PACKET), self.pace, had_none);
        limited.filter(|(_, by)| *by == LostTo::Host).map(|(since, _)| since)
    }

    /// The share of its rate that a sender with data has in two seconds, on a host that wakes it `late`.
    fn share(mut self, late: impl Fn(u32) -> Duration) -> f64 {
        let (begin, end) = (ms(0), ms(2000));
        let mut now = begin;
        let mut call = 0;
        while now < end {
            let due = self.sends_what_it_may(now);
            call += 1;
            // Another call at once is no sleep.
            now = if due > now { due + late(call) } else { now + Duration::from_micros(50) };
        }
        self.sent as f64 / (self.pace.rate.bytes_per_sec() * end.since(begin).as_secs_f64())
    }
}

fn ms(millis: u64) -> Timestamp {
    Timestamp::from_nanos((1000 + millis) * 1_000_000)
}

#[test]
fn a_host_that_is_always_late_keeps_its_rate() {
    for (mbit, millis, alone, least) in [
        (0.5, 0, 1.0, 0.95),
        (100.0, 0, 1.0, 0.95),
        (100.0, 1, 1.0, 0.95),
        (2.0, 12, 0.6, 0.95),
        (10.0, 12, 0.8, 0.9),
        (10.0, 24, 0.5, 0.8),
        (100.0, 4, 0.5, 0.8),
        (100.0, 24, 0.1, 0.45), // three quarters of a stop leave at once, and for the rest there is no time
    ] {
        let late = |_| Duration::from_millis(millis);
        let share = Noq::at(mbit).share(late);
        assert!((least..1.05).contains(&share), "{mbit} Mbit/s, {millis} ms late: {share}");
        let unaware = Noq { listens: false, ..Noq::at(mbit) }.share(late);
        assert!(unaware <= alone + 0.02, "{mbit} Mbit/s, {millis} ms late: {unaware} alone");
    }
}

#[test]
fn a_host_that_stops_now_and_then_keeps_its_rate() {
    for mbit in [2.0, 10.0, 100.0] {
        let late = |call| if call % 40 == 0 { Duration::from_millis(16) } else { Duration::from_micros(600) };
        let share = Noq::at(mbit).share(late);
        assert!((0.9..1.05).contains(&share), "{mbit} Mbit/s: {share}");
    }
}

#[test]
fn a_host_in_time_is_told_the_rate() {
    let mut noq = Noq::at(100.0);
    for call in 0..1000 {
        noq.sends_what_it_may(ms(call));
        assert!(noq.foreign_pacer.haste() <= 2.0, "{}", noq.foreign_pacer.haste());
    }
}

#[test]
fn what_an_application_did_not_send_is_not_made_up_for() {
    let mut noq = Noq::at(10.0);
    for request in 0..100 {
        noq.asks(ms(request * 40));
        assert_eq!(noq.leaves(ms(request * 40), false), None);
        assert_eq!(noq.foreign_pacer.haste(), 1.0);
    }
    // Somebody looked at the statistics, and noq had said that there is no data.
    for request in 100..200 {
        noq.asks(ms(request * 40 - 5));
        noq.asks(ms(request * 40));
        assert_eq!(noq.leaves(ms(request * 40), true), None);
        assert_eq!(noq.foreign_pacer.haste(), 1.0);
    }
}

#[test]
fn time_lost_to_a_full_window_is_not_the_host_s() {
    let mut noq = Noq::at(10.0);
    for round in 0..100 {
        noq.asks(ms(round * 40));
        assert_eq!(noq.leaves(ms(round * 40), false), None);
        // It looks for more in the same call, and then each time an acknowledgement makes too little room.
        for _ in 0..3 {
            noq.finds_the_window_full();
        }
        assert_eq!(noq.foreign_pacer.haste(), 1.0);
    }
}

#[test]
fn a_stop_too_long_to_make_good_is_the_host_s_limit() {
    let mut noq = Noq::at(100.0);
    noq.sends_what_it_may(ms(0));
    noq.asks(ms(200));
    let since = noq.leaves(ms(200), false).expect("the host stood still");
    assert!(since > ms(0) && since < ms(20), "{since:?}");
}
