//! Numbers, times and volumes at their limits, and what the monitor forgets.

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn times_follow_the_rtt_from_some_length_on() {
    assert_eq!([ms(30), ms(100)].map(longest_interval), [ms(250), ms(400)]);
    let floor = |rtt| floor_rate(PACKET, rtt).bytes_per_sec();
    let packet = PACKET.get() as f64;
    assert_eq!([ms(0), ms(1), ms(500)].map(floor), [1000.0 * packet, 1000.0 * packet, 2.0 * packet]);
    let mut rtt = RttEstimator::default();
    rtt.update(at(0), ms(30));
    assert_eq!(rtt.stall_period(), 2 * ms(30 + 4 * 15 + 25), "two probe time-outs");
    (0..99).for_each(|_| rtt.update(at(0), ms(30)));
    assert_eq!(rtt.stall_period(), 4 * ms(30), "of a steady path four RTT are longer");
}

#[test]
fn lengths_are_drawn_from_the_whole_span_that_the_law_asks_for() {
    let mut rng = Rng::new(1);
    let plan = IntervalPlan { rtts: (1.0, 1.4), ..IntervalPlan::filler(Rate::from_mbit(100.0)) };
    let lengths: Vec<_> = (0..100)
        .map(|_| {
            let mut monitor = Monitor::new(Config::default());
            monitor.open(at(0), plan, PACKET, ms(30), &mut rng);
            monitor.open_interval().unwrap().length
        })
        .collect();
    let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
    assert!((ms(30)..ms(32)).contains(least) && (ms(40)..ms(42)).contains(most), "{least:?} to {most:?}");
}

#[test]
fn intervals_are_numbered_and_each_closes_at_its_time() {
    let (mut monitor, rtt) = sent_ten();
    assert_eq!(monitor.next_deadline(&rtt), Some(at(30)));
    monitor.close_if_due(at(30), &rtt, None);
    monitor.open(at(30), IntervalPlan::filler(Rate::from_mbit(1.0)), PACKET, ms(30), &mut Rng::new(1));
    monitor.on_packet_sent(at(30), 10, PACKET, false);
    monitor.close_if_due(at(500), &rtt, None);
    (0..11).for_each(|packet| {
        monitor.on_ack(at(60), packet);
    });
    assert_eq!([popped(&mut monitor, at(500)).id, popped(&mut monitor, at(500)).id], [0, 1]);
}

#[test]
fn an_interval_is_stretched_to_ten_packets_within_four_rtt() {
    for (mbit, is_stretched, expected) in [(10.0, true, 12), (1.0, true, 120), (0.1, true, 120), (1.0, false, 10)] {
        let plan = IntervalPlan { trial: Some(0), is_stretched, ..IntervalPlan::filler(Rate::from_mbit(mbit)) };
        let length = crate::monitor::Config::default().length(&plan, ms(10), Bytes::new(1500), ms(30));
        assert_eq!(length, ms(expected), "{mbit} Mbit/s, {is_stretched}");
    }
}

#[test]
fn a_number_that_was_used_is_ignored_and_a_gap_is_not() {
    let (mut monitor, _) = sent_ten();
    monitor.on_packet_sent(at(30), 9, PACKET, false);
    assert_eq!(monitor.bytes_in_flight(), Bytes::new(10_000));
    monitor.on_packet_sent(at(30), 15, PACKET, false);
    assert_eq!(monitor.bytes_in_flight(), Bytes::new(11_000));
    assert_eq!(monitor.on_ack(at(60), 12), None, "nobody sent it");
}

#[test]
fn beyond_the_largest_gap_the_numbers_start_afresh() {
    for (packet, in_flight) in [(10 + MAX_GAP, 11_000), (11 + MAX_GAP, 1_000)] {
        let (mut monitor, _) = sent_ten();
        monitor.on_packet_sent(at(30), packet, PACKET, false);
        assert_eq!(monitor.bytes_in_flight(), Bytes::new(in_flight), "packet {packet}");
    }
}

#[test]
fn of_too_many_packets_the_older_half_is_forgotten() {
    let mut monitor = Monitor::new(Config::default());
    let most = MAX_PACKETS as u64;
    (0..most - 5).for_each(|packet| monitor.on_packet_sent(at(0), packet, PACKET, false));
    assert_eq!(monitor.bytes_in_flight(), Bytes::new((most - 5) * 1000), "so many are remembered");
    // Its gap would not fit any more.
    monitor.on_packet_sent(at(0), most + 5, PACKET, false);
    assert_eq!(monitor.packets.len() as u64, most / 2 + 1);
    assert_eq!(monitor.bytes_in_flight(), Bytes::new((most / 2 - 10 + 1) * 1000));
}

#[test]
fn packets_whose_fate_was_used_are_forgotten() {
    let (mut monitor, _) = sent_ten();
    (0..10).for_each(|packet| {
        monitor.on_ack(at(60), packet);
    });
    monitor.on_packet_sent(at(60), 10, PACKET, false);
    assert_eq!(monitor.packets.len(), 1);
}

#[test]
fn volumes_in_flight_and_settled_add_up_to_what_was_sent() {
    let (mut monitor, _) = sent_ten();
    monitor.discard_below(4);
    monitor.on_ack(at(60), 5);
    monitor.on_loss(at(60), 6);
    assert_eq!((monitor.bytes_in_flight(), monitor.bytes_settled()), (Bytes::new(4000), Bytes::new(6000)));
}

#[test]
fn the_slope_is_over_the_packets_times_of_sending() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    for i in 0..10 {
        // Each RTT is 3 ms longer than the one before it, and so much apart the packets left.
        assert_eq!(monitor.on_ack(at(33 + 6 * i), i), Some(Acked { sent_at: at(3 * i), bytes: Bytes::new(1000) }));
        assert_eq!(monitor.on_end_acks(at(33 + 6 * i)).map(RttSample::forward), Some(ms(33 + 3 * i)));
    }
    let gradient = popped(&mut monitor, at(90)).rtt_gradient.unwrap();
    assert!((gradient - 1.0).abs() < 1e-9, "{gradient}");
}

#[test]
fn the_time_without_data_counts_for_the_open_interval() {
    let (mut monitor, rtt) = sent_ten();
    monitor.on_limited(ms(10), LimitedBy::Application);
    monitor.close_if_due(at(30), &rtt, None);
    (0..10).for_each(|packet| {
        monitor.on_ack(at(60), packet);
    });
    assert!(popped(&mut monitor, at(60)).app_limited);
}

#[test]
fn the_wait_for_late_packets_shrinks_without_late_ones() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    monitor.on_ack(at(40), 1);
    monitor.on_end_acks(at(40)); // 37 ms
    monitor.on_loss(at(41), 0);
    monitor.on_ack(at(141), 0); // 104 ms later than its neighbour
    assert_eq!(monitor.lateness, ms(37) / 4);
    (2..10).for_each(|packet| {
        monitor.on_ack(at(150), packet);
    });
    popped(&mut monitor, at(200));
    assert_eq!(monitor.lateness, ms(37) / 4, "one was late");
    monitor.open(at(200), IntervalPlan::filler(Rate::from_mbit(1.0)), PACKET, ms(30), &mut Rng::new(1));
    monitor.on_packet_sent(at(200), 10, PACKET, false);
    monitor.on_ack(at(230), 10);
    monitor.close_if_due(at(500), &rtt, None);
    popped(&mut monitor, at(500));
    assert_eq!(monitor.lateness, ms(37) / 4 - ms(37) / 4 / 4, "none was");
}

#[test]
fn a_closed_interval_with_a_loss_tells_early() {
    for (trial, closed, lost, tells) in [
        (Some(0), true, true, true),
        (None, true, true, false),
        (Some(0), false, true, false),
        (Some(0), true, false, false),
    ] {
        let mut rtt = RttEstimator::default();
        rtt.update(at(0), ms(30));
        let mut monitor = Monitor::new(Config::default());
        let plan = IntervalPlan { trial, ..IntervalPlan::filler(Rate::from_mbit(100.0)) };
        monitor.open(at(0), plan, PACKET, ms(30), &mut Rng::new(1));
        (0..3).for_each(|packet| monitor.on_packet_sent(at(0), packet, PACKET, false));
        if closed {
            monitor.close_if_due(at(30), &rtt, None);
        }
        if lost {
            monitor.on_loss(at(31), 0);
        }
        assert_eq!(monitor.so_far().is_some(), tells, "trial {trial:?}, closed {closed}, lost {lost}");
        monitor.forget_oldest();
        assert!(monitor.intervals.is_empty());
    }
}

#[test]
fn what_is_lost_of_an_interval_that_was_given_up_is_lost_once() {
    let (mut monitor, rtt) = sent_ten();
    // Losses are believed after 7 ms only.
    monitor.lateness = ms(7);
    monitor.close_if_due(at(30), &rtt, None);
    monitor.on_ack(at(40), 0);
    let deadline = monitor.next_deadline(&rtt).unwrap();
    monitor.on_loss(deadline - ms(3), 1);
    let report = popped(&mut monitor, deadline);
    assert_eq!((report.packets_lost, report.lost, report.timed_out), (9, Bytes::new(9000), true));
    (2..10).for_each(|packet| monitor.on_loss(deadline, packet));
    assert_eq!((monitor.bytes_in_flight(), monitor.pop(deadline + ms(100)).is_none()), (Bytes::ZERO, true));
}

#[test]
fn forgotten_packets_leave_the_flight_once_overtaken() {
    let (mut monitor, rtt) = sent_ten();
    monitor.realign();
    (0..10).filter(|packet| *packet != 3 && *packet != 4).for_each(|packet| {
        monitor.on_ack(at(60), packet);
    });
    let long = at(9) + rtt.stall_period();
    for (now, left) in [(long, 2000), (long + ms(1), 1000), (long + ms(3), 1000), (long + ms(4), 0)] {
        monitor.close_if_due(now, &rtt, None);
        assert_eq!(monitor.bytes_in_flight(), Bytes::new(left), "{now:?}");
    }
    // Packets that nothing overtook may be all that the path holds.
    let (mut monitor, rtt) = sent_ten();
    monitor.realign();
    monitor.close_if_due(at(100_000), &rtt, None);
    assert_eq!(monitor.bytes_in_flight(), Bytes::new(10_000));
}

#[test]
fn an_unreported_packet_is_no_evidence() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    monitor.discard_below(2);
    (2..10).for_each(|packet| {
        monitor.on_ack(at(60), packet);
    });
    let report = popped(&mut monitor, at(60));
    assert_eq!((report.packets, report.sent, report.limited_by), (8, Bytes::new(8000), LimitedBy::Network));
    assert!((report.achieved.mbit() * 3.0 / 8.0 - 1.0).abs() < 1e-9, "{report:?}");
}

#[test]
fn an_ack_before_its_packet_tells_marks_and_no_rtt() {
    let (mut monitor, rtt) = sent_ten();
    monitor.close_if_due(at(30), &rtt, None);
    (0..10).for_each(|packet| {
        monitor.on_ack(at(20), packet);
    });
    monitor.on_marked(3);
    assert!(monitor.on_end_acks(at(20)).is_none());
    let report = popped(&mut monitor, at(31));
    assert_eq!((report.packets_marked, report.rtt_samples), (3, 0));
}
