//! When an interval is judged, and what is sent on its word.

use super::trains::first_sample;
use super::*;

/// Packets of 1200 bytes, each 1.5 ms, from now on: so many. Returns when the last one left.
fn sends(pcc: &mut Pcc, mut now: Timestamp, packets: core::ops::Range<u64>) -> Timestamp {
    for packet in packets {
        pcc.on_packet_sent(now, packet, PACKET);
        now = now + Duration::from_micros(1500);
    }
    now
}

#[test]
fn a_start_ends_once_no_outstanding_result_matters() {
    // The first interval has 20 to 28 packets. Losses in a row say no more than one, so every other packet is lost.
    for (known, is_over) in [(2, false), (18, true)] {
        let (mut pcc, now) = first_sample("allegro");
        let now = sends(&mut pcc, now, 1..40);
        (1..=known).filter(|packet| packet % 2 == 0).for_each(|packet| pcc.on_loss(now, packet));
        (1..=known).filter(|packet| packet % 2 == 1).for_each(|packet| pcc.on_ack(now, packet));
        pcc.on_end_acks(now);
        assert_eq!(!pcc.law.is_starting(), is_over, "{known} are known: {}", pcc.state());
    }
}

#[test]
fn no_law_is_sent_by_more_than_limit_nor_by_less_than_floor() {
    for law in ["ascent", "allegro", "allegro,paper", "vivace", "vivace,proteus"] {
        let max = Rate::from_mbit(5.0);
        let mut flow = Flow::new();
        let config = Config { max_rate: Some(max), law: Some(law.parse().unwrap()), ..Config::default() };
        flow.pcc = Pcc::new(config, flow.now);
        for step in 0..2000 {
            // Losses in between make it go down.
            flow.answers = step % 300 < 200;
            flow.sends_for(ms(1));
            let floor = flow.pcc.path().floor;
            assert!(flow.pcc.rate() <= max && flow.pcc.rate() >= floor, "{law}: {} at {step} ms", flow.pcc.rate());
        }
    }
}

/// Counts and lengths of the intervals that were reported.
#[derive(Debug, Default)]
struct Reports(Mutex<Vec<crate::interval::Report>>);

impl Observer for Reports {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Interval { report, .. } = event {
            self.0.lock().unwrap().push((*report).clone());
        }
    }
}

/// A sender that tells its reports.
fn reporting(law: &str) -> (Flow, Arc<Reports>) {
    let (mut flow, reports) = (Flow::new(), Arc::new(Reports::default()));
    let config = Config { law: Some(law.parse().unwrap()), observer: Some(reports.clone()), ..Config::default() };
    flow.pcc = Pcc::new(config, flow.now);
    (flow, reports)
}

#[test]
fn losses_may_come_before_or_after_the_end_of_an_ack() {
    for loss_first in [true, false] {
        let (mut flow, reports) = reporting("allegro");
        flow.sends_for(RTT + ms(1));
        // An interval whose packets are all answered for at once, but for the first, which is lost by that.
        let first = flow.next;
        let sent = flow.now;
        let end = sends(&mut flow.pcc, sent, first..first + 40);
        let now = end + RTT;
        for (_, packet) in std::mem::take(&mut flow.awaited) {
            flow.pcc.on_ack(end, packet);
        }
        flow.pcc.on_end_acks(end);
        reports.0.lock().unwrap().clear();
        (first + 1..first + 40).for_each(|packet| flow.pcc.on_ack(now, packet));
        flow.pcc.on_congestion_experienced(8);
        if loss_first {
            flow.pcc.on_loss(now, first);
            flow.pcc.on_end_acks(now);
        } else {
            flow.pcc.on_end_acks(now);
            flow.pcc.on_loss(now, first);
        }
        flow.pcc.on_packet_sent(now + ms(1), first + 40, PACKET);
        flow.pcc.on_ack(now + RTT, first + 40);
        flow.pcc.on_end_acks(now + RTT);
        let reports = reports.0.lock().unwrap();
        let sum = |of: fn(&crate::interval::Report) -> u32| reports.iter().map(of).sum::<u32>();
        assert_eq!(sum(|report| report.packets_marked), 8, "loss first: {loss_first}");
        assert!(sum(|report| report.rtt_samples) >= 1, "loss first: {loss_first}");
    }
}

#[test]
fn a_clock_once_an_hour_ahead_keeps_no_sender_waiting() {
    let hour = Duration::from_secs(3600);
    let (mut flow, reports) = reporting("ascent");
    flow.sends_for(ms(300));
    let rate = flow.pcc.rate();
    flow.now = flow.now + hour;
    flow.awaited.iter_mut().for_each(|(due, _)| *due = *due + hour);
    flow.sends_for(ms(200));
    flow.now = flow.now - hour;
    (flow.due, flow.probed) = (flow.now, flow.now);
    flow.awaited.iter_mut().for_each(|(due, _)| *due = *due - hour);
    reports.0.lock().unwrap().clear();
    flow.sends_for(ms(1000));
    assert!(reports.0.lock().unwrap().len() > 10, "of the second after it");
    assert!(flow.pcc.rate() > rate, "{rate} became {}", flow.pcc.rate());
}

#[test]
fn a_punctual_train_makes_no_pause_of_the_application() {
    let (mut flow, reports) = reporting("allegro");
    flow.sends_for(ms(400));
    reports.0.lock().unwrap().clear();
    // A whole quantum leaves at once, and then nothing until the next is due.
    let max = Rate::from_mbit(200.0);
    flow.pcc.config.max_rate = Some(max);
    for _ in 0..20_000 {
        while flow.awaited.front().is_some_and(|(due, _)| *due <= flow.now) {
            let (_, packet) = flow.awaited.pop_front().unwrap();
            flow.pcc.on_ack(flow.now, packet);
            flow.pcc.on_end_acks(flow.now);
        }
        let train = (flow.pcc.send_quantum().get() / PACKET.get()).max(1);
        for _ in 0..train {
            flow.pcc.on_packet_sent(flow.now, flow.next, PACKET);
            flow.awaited.push_back((flow.now + RTT, flow.next));
            flow.next += 1;
        }
        flow.pcc.on_limited(flow.now, LimitedBy::Application);
        flow.now = flow.now + flow.pcc.rate().time_for(Bytes::new(train * PACKET.get()));
    }
    let reports = reports.0.lock().unwrap();
    let (all, limited) = (reports.len(), reports.iter().filter(|report| report.app_limited).count());
    assert!(all > 20 && limited * 20 <= all, "{limited} of {all}");
    assert!(flow.pcc.rate() > max * 0.9, "{}", flow.pcc.rate());
}

#[test]
fn no_more_may_be_in_flight_than_is_known_of() {
    let (mut pcc, now) = first_sample("ascent");
    pcc.law.back_off(Rate::from_mbit(1e6));
    pcc.replan(now, "as though it was found");
    let known = PACKET.get() * crate::monitor::MAX_IN_FLIGHT;
    assert_eq!(pcc.congestion_window(), Bytes::new(known));
}
