//! Persistent congestion, panic, windows and timers, each by itself.

use super::silence::silent;
use super::*;
use crate::interval::Report;
use crate::utility::tests::report;

#[derive(Debug, Default)]
struct Marked(Mutex<u32>);

impl Observer for Marked {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Interval { report, .. } = event {
            *self.0.lock().unwrap() += report.packets_marked;
        }
    }
}

/// Sends at the sender's rate for this long over a path that loses so many of ten packets.
fn loses(flow: &mut Flow, time: Duration, of_ten: u64) {
    let end = flow.now + time;
    while flow.now < end {
        while let Some(&(due, packet)) = flow.awaited.front()
            && due <= flow.now
        {
            flow.awaited.pop_front();
            match packet % 10 < of_ten {
                true => flow.pcc.on_loss(flow.now, packet),
                false => flow.pcc.on_ack(flow.now, packet),
            }
            flow.pcc.on_end_acks(flow.now);
        }
        flow.pcc.on_packet_sent(flow.now, flow.next, PACKET);
        flow.awaited.push_back((flow.now + RTT, flow.next));
        flow.next += 1;
        flow.now = flow.now + flow.pcc.rate().time_for(PACKET);
    }
}

#[test]
fn persistent_congestion_halves_unless_a_silence_did() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    let before = flow.pcc.law.rate();
    flow.pcc.on_persistent_congestion(flow.now);
    flow.tells("persistent congestion, Draining");
    assert_eq!(flow.pcc.law.rate(), before * 0.5);

    let (mut flow, _) = silent();
    let (_, oldest) = flow.awaited.pop_front().unwrap();
    flow.pcc.on_ack(flow.now, oldest);
    let rate = flow.pcc.law.rate();
    let rtt = flow.pcc.rtt().smoothed_or_assumed();
    flow.pcc.on_persistent_congestion(flow.now + rtt);
    assert_eq!(flow.pcc.law.rate(), rate);
    flow.pcc.on_persistent_congestion(flow.now + rtt + ms(1));
    assert_eq!(flow.pcc.law.rate(), rate * 0.5);
}

#[test]
fn above_the_panic_level_the_rate_is_what_arrived() {
    for (of_ten, panics) in [(0, false), (2, false), (6, true)] {
        let mut flow = Flow::new();
        flow.sends_for(ms(250));
        flow.pcc.on_persistent_congestion(flow.now); // Starting has its own answer to loss
        loses(&mut flow, ms(400), of_ten);
        let story = flow.story.0.lock().unwrap().join("\n");
        assert_eq!(story.contains("panic loss"), panics, "{of_ten} of ten lost:\n{story}");
    }
}

#[test]
fn a_burst_of_losses_or_two_are_no_panic_and_three_are() {
    for (lost, runs, panics) in [(1000, 1, false), (600, 2, false), (600, 3, true), (20, 3, true), (19, 3, false)] {
        let mut flow = Flow::new();
        flow.sends_for(ms(250));
        flow.pcc.on_persistent_congestion(flow.now); // Starting has its own answer to loss
        let before = flow.pcc.law.rate();
        let packets = if lost < 100 { 30 } else { 1000 };
        let share = f64::from(lost) / f64::from(packets);
        let seen = Report { packets, packets_lost: lost, loss_bursts: runs, ..report(before.mbit(), share) };
        flow.pcc.judge(flow.now, IntervalPlan { trial: Some(0), ..IntervalPlan::filler(before) }, &seen);
        let story = flow.story.0.lock().unwrap().join("\n");
        assert_eq!(story.contains("panic loss"), panics, "{lost} of {packets} lost in {runs} runs:\n{story}");
    }
}

#[test]
fn loss_is_no_panic_in_an_interval_that_only_fills_time() {
    for (trial, panics) in [(None, false), (Some(0), true)] {
        let mut flow = Flow::new();
        flow.sends_for(ms(250));
        flow.pcc.on_persistent_congestion(flow.now); // Starting has its own answer to loss
        let before = flow.pcc.law.rate();
        let lossy = report(before.mbit(), 0.6);
        flow.pcc.judge(flow.now, IntervalPlan { trial, ..IntervalPlan::filler(before) }, &lossy);
        assert_eq!(flow.pcc.law.rate() < before, panics, "{trial:?}: {before} became {}", flow.pcc.law.rate());
    }
}

#[test]
fn a_utility_whose_panic_level_is_all_never_panics() {
    let utility = "let panic_loss = 1; x".parse::<crate::utility::Expression>().unwrap();
    let mut flow = Flow::new();
    flow.pcc = Pcc::new(Config { utility: Arc::new(utility), ..Config::default() }, flow.now);
    flow.sends_for(ms(250));
    flow.pcc.on_persistent_congestion(flow.now); // Starting has its own answer to loss
    let before = flow.pcc.law.rate();
    flow.pcc.judge(
        flow.now,
        IntervalPlan { trial: Some(0), ..IntervalPlan::filler(before) },
        &report(before.mbit(), 1.0),
    );
    assert_eq!(flow.pcc.law.rate(), before);
}

#[test]
fn a_trial_of_discarded_packets_is_void() {
    for is_trial in [true, false] {
        let mut flow = Flow::new();
        flow.sends_for(ms(200));
        if !is_trial {
            flow.pcc.on_persistent_congestion(flow.now); // and the queue drains first
        }
        let plan = flow.pcc.plan;
        assert_eq!(plan.trial.is_some(), is_trial);
        flow.pcc.monitor.realign();
        let first = flow.next;
        while flow.pcc.plan == plan && flow.next < first + 1000 {
            flow.pcc.on_packet_sent(flow.now, flow.next, PACKET);
            flow.next += 1;
            flow.now = flow.now + plan.rate.time_for(PACKET);
        }
        flow.pcc.on_discarded(flow.now, flow.next);
        let story = flow.story.0.lock().unwrap().join("\n");
        assert_eq!(story.contains("trial void"), is_trial, "{story}");
    }
}

#[test]
fn the_window_s_limit_is_the_path_s_other_limits_the_host_s() {
    for (packets, by) in [(2_u32, LimitedBy::Host), (3, LimitedBy::Network)] {
        let mut flow = Flow::new();
        flow.pcc.on_packet_sent(flow.now, 0, PACKET);
        let known = flow.now + RTT;
        flow.pcc.on_ack(known, 0);
        flow.pcc.on_end_acks(known);
        flow.pcc.window = Bytes::new(3 * PACKET.get());
        for packet in 1..=packets {
            flow.pcc.on_packet_sent(known + ms(5) * (packet - 1), packet.into(), PACKET);
        }
        flow.pcc.on_timer(known + ms(60));
        (1..=packets).for_each(|packet| flow.pcc.on_ack(known + ms(60), packet.into()));
        flow.pcc.on_end_acks(known + ms(60));
        assert_eq!(flow.pcc.limited_by(), by, "{packets} packets where the window has room for three");
    }
}

#[test]
fn the_first_answer_is_awaited_by_rfc_9002s_initial_window() {
    // Bytes of a packet, and how many of them leave: ten, 14,720 bytes, or two packets.
    for (bytes, packets) in [(1200, 10), (1472, 10), (1500, 9), (4000, 3), (9000, 2)] {
        let packet = Bytes::new(bytes);
        let config = Config { max_datagram_size: packet, ..Config::default() };
        let (mut pcc, mut now, mut sent) = (Pcc::new(config, Timestamp::ZERO), Timestamp::ZERO, 0);
        while pcc.bytes_in_flight() + packet <= pcc.congestion_window() {
            pcc.on_packet_sent(now, sent, packet);
            now = now + pcc.rate().time_for(packet);
            sent += 1;
        }
        assert_eq!(sent, packets, "packets of {bytes} bytes before the first acknowledgement");
        let answered = now + ms(30);
        pcc.on_ack(answered, 0);
        pcc.on_end_acks(answered);
        assert!(
            pcc.bytes_in_flight() + packet + packet <= pcc.congestion_window(),
            "{bytes} bytes: an answer makes room"
        );
    }
}

#[test]
fn after_a_long_pause_four_initial_windows_are_the_most() {
    for (sent_for, mbit) in [(200, 25.6), (40, 0.0)] {
        let mut flow = Flow::new();
        flow.sends_for(ms(sent_for));
        let acked = flow.now + RTT;
        for (_, packet) in std::mem::take(&mut flow.awaited) {
            flow.pcc.on_ack(acked, packet);
        }
        flow.pcc.on_end_acks(acked);
        let before = flow.pcc.law.rate().mbit();
        flow.now = acked + ms(11_000);
        flow.pcc.on_packet_sent(flow.now, flow.next, PACKET);
        flow.tells("long idle, Starting");
        let expected = if mbit > 0.0 { mbit } else { before };
        assert!((flow.pcc.law.rate().mbit() / expected - 1.0).abs() < 0.01, "{before} became {}", flow.pcc.law.rate());
    }
}

#[test]
fn a_ping_now_and_then_does_not_keep_a_rate_of_long_ago() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    for second in 1..=4 {
        let acked = flow.now + RTT;
        for (_, packet) in std::mem::take(&mut flow.awaited) {
            flow.pcc.on_ack(acked, packet);
        }
        flow.pcc.on_end_acks(acked);
        assert!(flow.pcc.law.rate().mbit() > 26.0 || second > 3, "after {second} pings: {}", flow.pcc.law.rate());
        flow.now = acked + ms(3_000);
        flow.pcc.on_packet_sent(flow.now, flow.next, PACKET);
        flow.awaited.push_back((flow.now, flow.next));
        flow.next += 1;
    }
    flow.tells("long idle, Starting");
}

#[test]
fn a_pause_is_no_long_idle_though_an_interval_has_few_packets() {
    let mut flow = Flow::new();
    flow.pcc.config.max_rate = Some(Rate::from_mbit(2.0));
    // Six packets an RTT, and a probe lasts for one at the most.
    flow.sends_for(ms(12_000));
    flow.story.0.lock().unwrap().clear();
    for (at, packet) in std::mem::take(&mut flow.awaited) {
        flow.pcc.on_ack(at, packet);
        flow.pcc.on_end_acks(at);
    }
    flow.now = flow.now + ms(300);
    flow.sends_for(ms(100));
    let story = flow.story.0.lock().unwrap().join("\n");
    assert!(!story.contains("long idle"), "{story}");
}

#[test]
fn the_window_is_twice_the_path_its_scatter_and_ten_packets() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    flow.pcc.on_persistent_congestion(flow.now);
    let base = flow.pcc.rtt().min().unwrap();
    let holds = flow.pcc.law.rate().max(flow.pcc.rate()) * (base * 2 + flow.pcc.rtt().spread());
    assert_eq!(flow.pcc.congestion_window(), holds + Bytes::new(12_000));
}

#[test]
fn the_window_has_room_for_acknowledgements_that_always_wait() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    flow.pcc.on_persistent_congestion(flow.now);
    flow.sends_for(ms(200));
    flow.way_back = (ms(60), flow.next);
    flow.sends_for(ms(3000));
    let rtt = flow.pcc.rtt();
    assert_eq!(rtt.min(), Some(RTT), "the wait is none of the path's");
    assert!(rtt.waited().abs_diff(ms(60)) < ms(1), "{:?}", rtt.waited());
    assert!(rtt.smoothed() > Some(ms(85)), "but it is awaited");
    let waiting = flow.pcc.rate() * ms(60);
    assert!(flow.pcc.congestion_window() > flow.pcc.rate() * (RTT * 2) + waiting, "{}", flow.pcc.congestion_window());
}

#[test]
fn the_window_of_starting_grows_with_what_is_answered() {
    let mut flow = Flow::new();
    assert_eq!(flow.pcc.congestion_window(), Bytes::new(12_000));
    (0..10).for_each(|packet| flow.pcc.on_packet_sent(flow.now, packet, PACKET));
    let mut acked = |packet| {
        flow.pcc.on_ack(flow.now + RTT, packet);
        flow.pcc.on_end_acks(flow.now + RTT);
        flow.pcc.congestion_window()
    };
    // The first of them told the RTT: beside the nine in flight there is room for three trains of six. From there on nine were
    // answered for.
    assert_eq!(acked(0), Bytes::new((9 + 18) * 1200));
    assert_eq!((1..10).map(acked).last(), Some(Bytes::new(18_000 + 9 * 1800)));
}

#[test]
fn the_timer_is_the_interval_s_end_then_the_silence_s() {
    let mut flow = Flow::new();
    assert_eq!(flow.pcc.next_timer(), None);
    let sent = flow.now;
    flow.pcc.on_packet_sent(sent, 0, PACKET);
    assert_eq!(flow.pcc.next_timer(), Some(sent + ms(100)), "ten packets, in an RTT that is assumed");
    flow.pcc.on_timer(sent + ms(100));
    assert_eq!(flow.pcc.next_timer(), Some(sent + ms(650)), "two probe time-outs");
    flow.pcc.on_ack(sent + ms(200), 0);
    flow.pcc.on_end_acks(sent + ms(200));
    assert_eq!(flow.pcc.next_timer(), None);
}

#[test]
fn lost_and_discarded_packets_leave_the_flight() {
    let mut flow = Flow::new();
    (0..4).for_each(|packet| flow.pcc.on_packet_sent(flow.now, packet, PACKET));
    flow.pcc.on_loss(flow.now, 3);
    assert_eq!(flow.pcc.bytes_in_flight(), Bytes::new(3600));
    flow.pcc.on_discarded(flow.now, 2);
    assert_eq!(flow.pcc.bytes_in_flight(), Bytes::new(1200));
    flow.pcc.set_max_datagram_size(Bytes::new(9000));
    assert_eq!(flow.pcc.send_quantum(), Bytes::new(9000));
}

#[test]
fn marks_reach_the_report_of_their_interval() {
    let marked = Arc::new(Marked::default());
    let mut flow = Flow::new();
    flow.pcc = Pcc::new(Config { observer: Some(marked.clone()), ..Config::default() }, flow.now);
    for _ in 0..30 {
        flow.sends_for(ms(10));
        flow.pcc.on_congestion_experienced(1);
    }
    assert!(*marked.0.lock().unwrap() > 0);
}

#[test]
fn the_best_delivery_of_five_rtt_is_kept_for_five_more() {
    let mut delivery = DeliveryRate::default();
    let mut best = |at_ms: u64, mbit, rtt| {
        delivery.update(Timestamp::from_nanos(at_ms * 1_000_000), Rate::from_mbit(mbit), rtt);
        delivery.best().mbit().round()
    };
    assert_eq!([best(0, 10.0, RTT), best(151, 4.0, RTT), best(302, 3.0, RTT)], [10.0, 10.0, 4.0]);
    assert_eq!([best(353, 2.0, ms(1)), best(404, 1.0, ms(1))], [3.0, 2.0], "but for 50 ms at least");
}

#[derive(Debug, Default)]
struct Lasted(Mutex<Vec<Duration>>);

impl Observer for Lasted {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Interval { report, .. } = event {
            self.0.lock().unwrap().push(report.duration);
        }
    }
}

#[test]
fn a_pause_that_pacing_wants_is_nobody_s_limit() {
    for (gaps, by) in [(1, LimitedBy::Network), (4, LimitedBy::Application)] {
        let mut flow = Flow::new();
        let law = "allegro".parse().unwrap();
        flow.pcc = Pcc::new(Config { law: Some(law), ..Config::default() }, flow.now);
        flow.pcc.on_packet_sent(flow.now, 0, PACKET);
        let known = flow.now + RTT;
        flow.pcc.on_ack(known, 0);
        flow.pcc.on_end_acks(known);
        let mut now = known;
        for packet in 1..=60 {
            flow.pcc.on_packet_sent(now, packet, PACKET);
            flow.pcc.on_limited(now, LimitedBy::Application);
            now = now + flow.pcc.rate().time_for(PACKET) * gaps;
            flow.pcc.on_ack(now, packet);
            flow.pcc.on_end_acks(now);
        }
        assert_eq!(flow.pcc.limited_by(), by, "a packet each {gaps} gaps");
    }
}

#[test]
fn a_late_host_s_interval_lasts_until_the_next_packet() {
    let lasted = [LimitedBy::Host, LimitedBy::Application].map(|by| {
        let (mut flow, lasted) = (Flow::new(), Arc::new(Lasted::default()));
        flow.pcc = Pcc::new(Config { observer: Some(lasted.clone()), ..Config::default() }, flow.now);
        flow.pcc.on_packet_sent(flow.now, 0, PACKET);
        let known = flow.now + RTT;
        flow.pcc.on_ack(known, 0);
        flow.pcc.on_end_acks(known);
        (1..=3).for_each(|packet| flow.pcc.on_packet_sent(known + ms(5) * packet, packet.into(), PACKET));
        flow.pcc.on_limited(known + ms(15), by);
        flow.pcc.on_timer(known + ms(60));
        flow.pcc.on_packet_sent(known + ms(100), 4, PACKET);
        (1..=3).for_each(|packet| flow.pcc.on_ack(known + ms(101), packet));
        flow.pcc.on_end_acks(known + ms(101));
        lasted.0.lock().unwrap().last().copied()
    });
    assert_eq!(lasted, [Some(ms(95)), Some(ms(30))]);
}

#[derive(Debug, Default)]
struct Known(Mutex<Vec<(Option<Duration>, bool)>>);

impl Observer for Known {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Interval { report, .. } = event {
            self.0.lock().unwrap().push((report.rtt_base, report.previous.is_some()));
        }
    }
}

#[test]
fn report_has_least_rtt_and_what_interval_before_it_achieved() {
    let (mut flow, known) = (Flow::new(), Arc::new(Known::default()));
    flow.pcc = Pcc::new(Config { observer: Some(known.clone()), ..Config::default() }, flow.now);
    flow.sends_for(ms(400));
    let (seen, base) = (known.0.lock().unwrap(), flow.pcc.rtt().min());
    assert!(base.is_some() && seen.len() > 2 && !seen[0].1);
    assert!(seen[1..].iter().all(|(rtt_base, previous)| *rtt_base == base && *previous), "{seen:?}");
}
