//! The conclusions from an interval that exceed its noise, and when there may be any.

use super::*;
use crate::utility::tests::report;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn close_to(what: &str, value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{what} is {value} instead of {expected}");
}

#[test]
fn what_left_path_is_what_arrived_less_what_went_into_queue() {
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
fn growth_is_sure_by_five_errors() {
    for (gradient, error, sure) in [(0.7, 0.1, true), (0.7, 0.15, false), (-0.7, 0.01, false), (0.0, 0.0, false)] {
        let seen = Report { rtt_gradient: Some(gradient), rtt_gradient_error: error, ..report(1.0, 0.0) };
        assert_eq!(seen.surely_grew(), sure, "{gradient} ± {error}");
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
