use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

/// Ten packets of 1000 bytes, one each 10 ms, asked for at 0.8 Mbit/s: exactly the target.
fn ten_packets() -> Interval {
    let mut interval = Interval::new(3, IntervalPlan::filler(Rate::from_mbit(0.8)), ms(50), at(0));
    for i in 0..10 {
        interval.on_sent(at(10 * i), Bytes::new(1000), false);
    }
    interval
}

#[test]
fn the_achieved_rate_has_no_fence_post_error() {
    let report = ten_packets().report();
    assert_eq!((report.duration, report.packets), (ms(100), 10));
    assert!((report.achieved.mbit() - 0.8).abs() < 1e-9, "{report:?}");
    assert!(!report.app_limited);
}

#[test]
fn trains_span_as_many_gaps_as_packets_do() {
    let mut interval = Interval::new(0, IntervalPlan::filler(Rate::from_mbit(320.0)), ms(1), at(0));
    for train in 0..10 {
        for _ in 0..4 {
            interval.on_sent(Timestamp::from_nanos(train * 100_000), Bytes::new(1000), false);
        }
    }
    let report = interval.report();
    assert_eq!(report.duration, ms(1), "nine gaps, and the last train's own");
    assert!((report.achieved.mbit() - 320.0).abs() < 1e-9, "{report:?}");
}

#[test]
fn silence_lasts_to_the_end_or_to_the_next_packet() {
    let closed = |time, limited| {
        let mut interval = Interval::new(0, IntervalPlan::filler(Rate::from_mbit(8.0)), ms(30), at(0));
        interval.on_sent(at(0), Bytes::new(1000), false);
        interval.on_sent(at(1), Bytes::new(1000), false); // 1 ms is the gap that was asked for
        interval.close(at(time), at(1000), limited);
        interval
    };
    let spoke = closed(2, None).report();
    assert_eq!((spoke.duration, spoke.limited_by), (ms(2), LimitedBy::Network), "cut short, but not silent");
    for limited in [None, Some(LimitedBy::Host)] {
        let stopped = closed(300, limited).report();
        assert_eq!((stopped.duration, stopped.limited_by), (ms(300), LimitedBy::Host), "{limited:?}");
        assert!((stopped.achieved.mbit() - 16.0 / 300.0).abs() < 1e-9);
    }
    let idle = closed(300, Some(LimitedBy::Application)).report();
    assert_eq!((idle.duration, idle.limited_by), (ms(30), LimitedBy::Application), "until its end, no further");
    // The host stopped only after it had been closed.
    let mut late = closed(30, None);
    late.lasts_until(at(40));
    assert_eq!(late.report().duration, ms(40));
}

#[test]
fn loss_is_counted_in_bytes_and_a_spurious_loss_is_taken_back() {
    let mut interval = ten_packets();
    interval.on_lost(at(150), 3, Bytes::new(1000));
    interval.on_lost(at(150), 4, Bytes::new(1000));
    assert_eq!(interval.report().loss_bursts, 1);
    assert!((interval.report().loss() - 0.2).abs() < 1e-12);
    interval.on_spurious_loss(at(200), Bytes::new(1000));
    assert!((interval.report().loss() - 0.1).abs() < 1e-12);
    assert_eq!(interval.outstanding, 8);
}

#[test]
fn the_gradient_is_the_slope_of_rtt_over_send_time() {
    let mut interval = ten_packets();
    for i in 0..10 {
        interval.on_rtt(at(10 * i), ms(30) + Duration::from_micros(100 * i)); // 0.1 ms more each 10 ms
    }
    let report = interval.report();
    assert!((report.rtt_gradient.unwrap() - 0.01).abs() < 1e-9, "{report:?}");
    assert!(report.rtt_residual < Duration::from_nanos(100) && report.rtt_deviation > Duration::from_micros(280));
    assert_eq!(report.rtt, Some(Duration::from_micros(30_450)));
}

#[test]
fn delivery_is_slower_than_sending_when_a_queue_grows() {
    let mut interval = ten_packets();
    for i in 0..10 {
        interval.on_acked(at(100 + 20 * i), Bytes::new(1000)); // acknowledged at half the speed
    }
    assert!((interval.report().delivery_rate.unwrap().mbit() - 0.4).abs() < 1e-9);
}

#[test]
fn an_interval_short_of_its_target_says_who_held_it_back() {
    let slow = |window_limited, limited: Option<LimitedBy>| {
        let mut interval = Interval::new(0, IntervalPlan::filler(Rate::from_mbit(8.0)), ms(50), at(0));
        for i in 0..10 {
            interval.on_sent(at(10 * i), Bytes::new(1000), window_limited);
        }
        if let Some(by) = limited {
            interval.on_limited(ms(50), by);
        }
        let report = interval.report();
        (report.limited_by, report.app_limited)
    };
    assert_eq!(slow(false, None), (LimitedBy::Host, false));
    assert_eq!(slow(false, Some(LimitedBy::Host)), (LimitedBy::Host, false));
    assert_eq!(slow(true, None), (LimitedBy::Network, false));
    assert_eq!(slow(false, Some(LimitedBy::Application)), (LimitedBy::Application, true));
}

#[test]
fn a_run_of_losses_is_counted_once() {
    let mut interval = ten_packets();
    for packet in [3, 4, 6, 8] {
        interval.on_lost(at(150), packet, Bytes::new(1000));
    }
    assert_eq!((interval.report().packets_lost, interval.report().loss_bursts), (4, 3));
}

#[test]
fn given_up_packets_are_lost_and_discarded_ones_unsent() {
    let mut interval = ten_packets();
    interval.on_acked(at(150), Bytes::new(1000));
    interval.on_discarded(Bytes::new(1000));
    assert_eq!((interval.report().packets, interval.report().sent), (9, Bytes::new(9000)));
    interval.give_up();
    let report = interval.report();
    assert_eq!((report.packets_lost, report.loss_bursts, report.lost), (8, 1, Bytes::new(8000)));
    interval.give_up();
    assert_eq!(interval.report().loss_bursts, 1, "nothing was outstanding any more");
}

#[test]
fn only_losses_and_a_growing_rtt_may_tell_early() {
    let with_rtts = |rtts: [u64; 2]| {
        let mut interval = ten_packets();
        interval.on_rtt(at(0), ms(rtts[0]));
        interval.on_rtt(at(10), ms(rtts[1]));
        interval.may_tell_early()
    };
    assert_eq!([[30, 30], [31, 30], [30, 31]].map(with_rtts), [false, false, true]);
    let mut lossy = ten_packets();
    assert!(!lossy.may_tell_early());
    lossy.on_lost(at(100), 3, Bytes::new(1000));
    assert!(lossy.may_tell_early());
}

#[test]
fn a_silence_counts_beyond_two_trains_and_a_tenth() {
    let us = |us: u64| Timestamp::from_nanos(us * 1000);
    // A packet each millisecond, the last of them at this time: until the interval ends it is silent for the rest.
    for (length_us, last_us, duration_us) in
        [(10_000, 8_900, 9_900), (10_000, 8_100, 9_100), (10_000, 7_900, 10_000), (1_250, 100, 1_100)]
    {
        let length = Duration::from_micros(length_us);
        let mut interval = Interval::new(0, IntervalPlan::filler(Rate::from_mbit(8.0)), length, at(0));
        interval.on_sent(at(0), Bytes::new(1000), false);
        interval.on_sent(us(last_us), Bytes::new(1000), false);
        interval.close(us(length_us), at(1000), Some(LimitedBy::Application));
        assert_eq!(interval.report().duration, Duration::from_micros(duration_us), "last at {last_us} µs");
    }
}

#[test]
fn the_longest_cause_of_silence_is_the_limit() {
    for (causes, by) in [
        ([(40, LimitedBy::Host), (0, LimitedBy::Application)], LimitedBy::Host),
        ([(40, LimitedBy::Application), (5, LimitedBy::Host)], LimitedBy::Application),
        ([(10, LimitedBy::ReceiverWindow), (9, LimitedBy::Host)], LimitedBy::ReceiverWindow),
    ] {
        let mut interval = ten_packets();
        causes.into_iter().for_each(|(time, by)| interval.on_limited(ms(time), by));
        let report = interval.report();
        assert_eq!((report.limited_by, report.app_limited), (by, by != LimitedBy::Host), "{causes:?}");
    }
}
