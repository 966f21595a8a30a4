mod bounds;

use super::*;
use crate::rtt::RttSample;

const fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

const PACKET: Bytes = Bytes::new(1000);

/// A monitor on a path of 30 ms with ten packets of an interval sent, one each 3 ms.
fn sent_ten() -> (Monitor, RttEstimator) {
    let (mut monitor, mut rtt) = (Monitor::new(Config::default()), RttEstimator::default());
    rtt.update(at(0), Duration::from_millis(30));
    let plan = IntervalPlan { rtts: (1.0, 1.0), ..IntervalPlan::filler(Rate::from_mbit(8.0 / 3.0)) };
    monitor.open(at(0), plan, PACKET, Duration::from_millis(30), &mut Rng::new(1));
    for i in 0..10 {
        monitor.on_packet_sent(at(3 * i), i, PACKET, false);
    }
    (monitor, rtt)
}

#[track_caller]
fn popped(monitor: &mut Monitor, now: Timestamp) -> Report {
    match monitor.pop(now) {
        Some((_, Some(report))) => report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn interval_is_reported_when_fate_of_its_last_packet_is_known() {
    let (mut monitor, rtt) = sent_ten();
    assert!(!monitor.close_if_due(at(29), &rtt, None) && monitor.close_if_due(at(30), &rtt, None));
    for i in 0..9 {
        monitor.on_ack(at(30 + 3 * i), i);
        assert!(monitor.pop(at(60)).is_none());
    }
    monitor.on_loss(at(60), 9);
    let report = popped(&mut monitor, at(60));
    assert_eq!((report.packets, report.packets_lost, report.timed_out), (10, 1, false));
    assert_eq!(monitor.bytes_in_flight(), Bytes::ZERO);
}

#[test]
fn a_judged_interval_has_time_for_ten_trains() {
    let lasts = |trial| {
        let mut monitor = Monitor::new(Config::default());
        let plan = IntervalPlan { trial, ..IntervalPlan::filler(Rate::from_mbit(1000.0)) };
        monitor.open(at(0), plan, PACKET, Duration::from_micros(100), &mut Rng::new(1));
        monitor.open_interval().map(|interval| interval.length)
    };
    assert_eq!(lasts(Some(0)), Some(10 * crate::interval::TRAIN));
    assert_eq!(lasts(None), Some(Duration::from_micros(100)), "what only fills time may be short");
}

#[test]
fn packets_never_reported_on_count_as_lost_at_the_deadline() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    monitor.on_ack(at(40), 0);
    let deadline = monitor.next_deadline(&rtt).unwrap();
    assert_eq!(deadline, at(30) + rtt.stall_period());
    assert!(monitor.pop(deadline - Duration::from_nanos(1)).is_none());
    let report = popped(&mut monitor, deadline);
    assert_eq!((report.packets_lost, report.timed_out), (9, true));
    assert_eq!(monitor.bytes_in_flight(), Bytes::new(9000), "the transport still waits for them");
}

#[test]
fn a_late_acknowledgement_takes_a_loss_back() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    monitor.on_loss(at(40), 0);
    for i in 0..10 {
        monitor.on_ack(at(60), i);
    }
    let report = popped(&mut monitor, at(60));
    assert_eq!((report.packets_lost, report.lost), (0, Bytes::ZERO));
    assert_eq!(monitor.on_ack(at(61), 0), None, "a duplicate is no news");
}

#[test]
fn only_the_newest_packet_of_an_acknowledgement_gives_an_rtt() {
    let (mut monitor, _) = sent_ten();
    monitor.on_ack(at(50), 3);
    monitor.on_ack(at(50), 4);
    assert_eq!(monitor.on_end_acks(at(50)).map(RttSample::forward), Some(Duration::from_millis(50 - 12)));
    monitor.on_ack(at(51), 2); // reordered: older than what is known
    assert!(monitor.on_end_acks(at(51)).is_none());
}

#[test]
fn what_an_acknowledgement_waited_is_none_of_the_intervals_rtt() {
    let (mut monitor, rtt) = sent_ten();
    assert!(monitor.close_if_due(at(30), &rtt, None));
    for i in 0..10 {
        let read = at(40 + 3 * i + 5 * (i % 2));
        monitor.on_ack(read, i);
        monitor.on_ack_left(read, at(1025 + 3 * i));
        let sample = monitor.on_end_acks(read).unwrap();
        assert_eq!(sample.rtt, Duration::from_millis(40 + 5 * (i % 2)));
        assert!(
            sample.forward().abs_diff(Duration::from_millis(40)) < Duration::from_micros(1),
            "as far as clocks part"
        );
    }
    let report = popped(&mut monitor, at(75));
    assert!(report.rtt.unwrap().abs_diff(Duration::from_millis(40)) < Duration::from_micros(1));
    assert!(report.rtt_gradient.is_none_or(|slope| slope.abs() < 1e-4), "{:?}", report.rtt_gradient);
}

#[test]
fn realigned_packets_are_not_judged_and_leave_the_flight() {
    let (mut monitor, rtt) = sent_ten();
    monitor.realign();
    monitor.open(
        at(30),
        IntervalPlan::filler(Rate::from_mbit(1.0)),
        PACKET,
        Duration::from_millis(30),
        &mut Rng::new(1),
    );
    monitor.on_packet_sent(at(30), 10, PACKET, false);
    for i in 0..11 {
        monitor.on_ack(at(60), i);
    }
    monitor.close_if_due(at(500), &rtt, None);
    assert_eq!(popped(&mut monitor, at(500)).packets, 1);
    assert_eq!(monitor.bytes_in_flight(), Bytes::ZERO);
}

#[test]
fn packet_that_transport_forgot_says_nothing_at_deadline() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    (0..10).filter(|packet| *packet != 4).for_each(|packet| {
        monitor.on_ack(at(60), packet);
    });
    assert!(monitor.pop(at(60)).is_none());
    let deadline = monitor.next_deadline(&rtt).unwrap();
    let report = popped(&mut monitor, deadline);
    assert_eq!((report.packets, report.packets_lost, report.timed_out), (9, 0, false));
    assert_eq!(monitor.bytes_in_flight(), Bytes::ZERO, "and leaves room for others");
}

#[test]
fn interval_whose_packets_were_all_discarded_is_told_of_as_void() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    monitor.discard_below(10);
    assert!(matches!(monitor.pop(at(31)), Some((_, None))));
    assert!(monitor.pop(at(31)).is_none());
}

#[test]
fn no_interval_is_given_up_for_want_of_room() {
    let (mut monitor, rtt) = sent_ten();
    let mut closed = u32::from(monitor.close_if_due(at(30), &rtt, None));
    for i in 10..200 {
        let now = at(31 * i);
        if monitor.open_interval().is_none() {
            let plan = IntervalPlan::filler(Rate::from_mbit(100.0));
            monitor.open(now, plan, PACKET, Duration::from_millis(30), &mut Rng::new(1));
        }
        monitor.on_packet_sent(now, i, PACKET, false);
        closed += u32::from(monitor.close_if_due(now + Duration::from_millis(31), &rtt, None));
    }
    (0..200).for_each(|packet| {
        monitor.on_ack(at(7000), packet);
    });
    let told = core::iter::from_fn(|| monitor.pop(at(7000))).count();
    assert_eq!((told, closed), (MAX_INTERVALS - 1, MAX_INTERVALS as u32 - 1), "the last one is still open");
    assert_eq!(monitor.open_interval().map(|open| open.packets), Some(200 - 10 - 62));
}

#[test]
fn where_packets_arrive_late_losses_are_not_believed_at_once() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    monitor.on_ack(at(40), 1);
    monitor.on_end_acks(at(40)); // 37 ms
    monitor.on_loss(at(41), 0);
    monitor.on_ack(at(45), 0); // 45 ms: 8 later than its neighbour
    (2..9).for_each(|packet| {
        monitor.on_ack(at(60), packet);
    });
    monitor.on_loss(at(60), 9);
    assert!(monitor.pop(at(67)).is_none());
    assert_eq!(monitor.next_deadline(&rtt), Some(at(68)));
    monitor.on_ack(at(67), 9);
    assert_eq!(popped(&mut monitor, at(68)).packets_lost, 0);
}

#[test]
fn marks_count_for_the_newest_packet_s_interval_and_as_losses() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    for i in 0..10 {
        monitor.on_ack(at(60), i);
    }
    monitor.on_marked(2);
    monitor.on_end_acks(at(60));
    let report = popped(&mut monitor, at(60));
    assert_eq!((report.packets_marked, report.packets_lost, report.packets_refused()), (2, 0, 2));
    assert!((report.loss() - 0.2).abs() < 1e-12);
    assert!((report.throughput().mbit() - report.achieved.mbit()).abs() < 1e-9, "they were delivered");
}

#[test]
fn discarded_packets_were_never_sent_as_far_as_interval_knows() {
    let (mut monitor, rtt) = sent_ten();
    monitor.discard_below(4);
    monitor.close_if_due(at(30), &rtt, None);
    for i in 0..10 {
        monitor.on_ack(at(60), i);
    }
    let report = popped(&mut monitor, at(60));
    assert_eq!((report.packets, report.packets_lost), (6, 0));
}
