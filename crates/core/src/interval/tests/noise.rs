//! What an interval says beyond its noise, and when it may say something at all.

use super::*;
use crate::utility::tests::report;

fn close_to(what: &str, value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{what} is {value} instead of {expected}");
}

#[test]
fn what_left_the_path_is_what_arrived_less_what_went_into_the_queue() {
    let seen = Report { rtt_gradient: Some(0.25), ..report(10.0, 0.2) };
    close_to("Mbit/s", seen.throughput().mbit(), 10.0 * 0.8 / 1.25);
    let noise = Report { rtt_gradient: Some(0.25), rtt_gradient_error: 0.13, ..report(10.0, 0.2) };
    close_to("Mbit/s, growth within its noise", noise.throughput().mbit(), 8.0);
}

#[test]
fn the_queue_s_delay_is_what_the_rtt_is_above_the_path_s_own() {
    let ms30 = Some(ms(30));
    for (rtt, rtt_base, delay) in
        [(Some(ms(42)), ms30, Some(ms(12))), (Some(ms(29)), ms30, Some(ms(0))), (None, ms30, None), (ms30, None, None)]
    {
        assert_eq!(Report { rtt, rtt_base, ..report(1.0, 0.0) }.queueing_delay(), delay);
    }
}

#[test]
fn growth_is_sure_by_five_errors_and_at_the_pace_asked_for() {
    for (gradient, error, pace, sure) in
        [(0.7, 0.1, 0.6, true), (0.5, 0.01, 0.6, false), (0.7, 0.15, 0.6, false), (-0.7, 0.01, -1.0, false)]
    {
        let seen = Report { rtt_gradient: Some(gradient), rtt_gradient_error: error, ..report(1.0, 0.0) };
        assert_eq!(seen.surely_grew(pace), sure, "{gradient} ± {error}, asked for {pace}");
    }
    close_to("rise", Report { rtt_gradient: Some(0.5), ..report(1.0, 0.0) }.rtt_rise(), 0.05);
}

#[test]
fn losses_in_a_row_leave_more_doubt_than_single_ones() {
    let seen = |packets_lost, loss_bursts, packets_marked| Report {
        packets: 100,
        packets_lost,
        loss_bursts,
        packets_marked,
        ..report(1.0, 0.1)
    };
    close_to("single ones", seen(10, 10, 0).loss_error(), 0.06);
    // 1 − ρ = 2/10 + 2/90
    close_to("two runs of five", seen(10, 2, 0).loss_error(), 2.0 * (0.09 * 16.0 / 9.0 / (200.0 / 9.0_f64)).sqrt());
    close_to("marks are single", seen(5, 5, 5).loss_error(), 0.06);
}

#[test]
fn doubt_counts_for_or_against_the_interval() {
    let seen = Report {
        packets: 100,
        packets_lost: 10,
        loss_bursts: 10,
        rtt_gradient: Some(0.5),
        rtt_gradient_error: 0.01,
        ..report(1.0, 0.1)
    };
    let (favour, so_far, disfavour) = (seen.in_its_favour(), seen.in_its_favour_so_far(), seen.in_its_disfavour());
    for (what, report, loss, lost) in
        [("in favour", &favour, 0.04, 4), ("so far", &so_far, 0.04, 4), ("against", &disfavour, 0.16, 16)]
    {
        close_to(what, report.loss(), loss);
        assert!(report.packets_lost.abs_diff(lost) <= 1, "{what}: {report:?}");
    }
    // Over 100 ms two errors are 2 ms, five are 5 ms, and a host may hold back half of one.
    close_to("growth in favour", favour.rtt_gradient.unwrap(), 0.475);
    close_to("growth so far", so_far.rtt_gradient.unwrap(), 0.445);
    close_to("growth against", disfavour.rtt_gradient.unwrap(), 0.5);
    let long = Report { duration: ms(200), ..seen };
    close_to("growth in favour over 200 ms", long.in_its_favour().rtt_gradient.unwrap(), 0.2375);
}

#[test]
fn at_another_rate_volumes_and_losses_scale() {
    let seen = report(10.0, 0.1).at_rate(1.5);
    assert_eq!((seen.sent, seen.lost), (Bytes::new(1_500_000), Bytes::new(150_000)));
    close_to("Mbit/s", seen.achieved.mbit(), 15.0);
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
fn what_is_given_up_is_lost_in_one_run_and_what_is_discarded_was_not_sent() {
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
fn a_silence_counts_that_is_longer_than_two_trains_and_a_tenth_of_the_interval() {
    let us = |us: u64| Timestamp::from_nanos(us * 1000);
    // A packet each millisecond, the last of them at this time: until the interval ends it is silent for the rest.
    for (length_us, last_us, duration_us) in
        [(10_000, 8_900, 9_900), (10_000, 8_100, 9_100), (10_000, 7_900, 10_000), (1_250, 100, 1_100)]
    {
        let length = Duration::from_micros(length_us);
        let mut interval = Interval::new(0, Slot::filler(Rate::from_mbit(8.0)), length, at(0));
        interval.on_sent(at(0), Bytes::new(1000), false);
        interval.on_sent(us(last_us), Bytes::new(1000), false);
        interval.close(us(length_us), at(1000), None);
        assert_eq!(interval.report().duration, Duration::from_micros(duration_us), "last at {last_us} µs");
    }
}
