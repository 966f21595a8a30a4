//! A path from which nothing comes back, for a moment and for long.

use super::*;

/// A sender that has found a rate, and its path falls silent until it notices.
pub(super) fn silent() -> (Flow, Rate) {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    let before = flow.pcc.law.rate();
    flow.now = flow.now + ms(160);
    flow.pcc.on_timer(flow.now);
    flow.tells("no acknowledgement");
    assert!(flow.pcc.law.rate() <= before * 0.5, "{before} became {}", flow.pcc.law.rate());
    (flow, before)
}

#[test]
fn a_late_answer_ends_the_silence_and_restores_the_rate() {
    let (mut flow, before) = silent();
    let (_, oldest) = flow.awaited.pop_front().unwrap();
    flow.pcc.on_ack(flow.now, oldest);
    flow.tells("late answer");
    assert_eq!(flow.pcc.law.rate(), before);
}

/// The halvings that are due after this long a silence: the first after the stall period, the others a probe time-out apart.
fn due(flow: &Flow, silence: Duration) -> u64 {
    let asked = silence.saturating_sub(flow.pcc.rtt().stall_period());
    1 + (asked.as_nanos() / flow.pcc.rtt().pto().as_nanos()) as u64
}

#[test]
fn a_long_silence_halves_as_often_as_was_due() {
    for looks in [1, 7, 400] {
        let (mut flow, _) = silent();
        let began = flow.pcc.stall.progress;
        for look in 1..=looks {
            let now = flow.now.max(began + ms(20_000) * look / looks);
            flow.pcc.on_timer(now);
            let next = flow.pcc.next_timer().unwrap();
            assert!(next > now && next <= now + flow.pcc.rtt().pto(), "{:?} ahead", next.since(now));
        }
        let halvings = flow.pcc.stall.halvings;
        assert_eq!(halvings, due(&flow, ms(20_000)), "{looks} looks");
        assert!(halvings > 100 && flow.pcc.rate() >= flow.pcc.knocking_rate() * 0.99);
    }
}

#[test]
fn a_silent_path_is_probed_for_ten_seconds() {
    let (mut flow, _) = silent();
    flow.answers = false;
    let mut sent_within = |time: u64| {
        let first = flow.next;
        flow.sends_for(ms(time));
        flow.next - first
    };
    sent_within(3000);
    let knocks = 2.0 * 4.0 / flow_pto(&silent().0);
    let early = sent_within(4000) as f64;
    assert!((0.8..1.2).contains(&(early / knocks)), "{early} packets in four seconds, not {knocks}");
    sent_within(4000);
    let late = sent_within(4000);
    assert!(late <= 41, "{late} packets in four seconds, and the transport's own are one each 100 ms");
}

fn flow_pto(flow: &Flow) -> f64 {
    flow.pcc.rtt().pto().as_secs_f64()
}

#[test]
fn transport_without_timer_leaves_silence_to_next_packet() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    let before = flow.pcc.law.rate();
    let probe = flow.pcc.stall.progress + flow.pcc.rtt().stall_period();
    flow.pcc.on_packet_sent(probe + ms(1), flow.next, PACKET);
    flow.tells("no acknowledgement");
    assert!(flow.pcc.law.rate() <= before * 0.5);
}

#[test]
fn who_waits_for_answers_is_not_idle() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    assert!(flow.pcc.bytes_in_flight() > Bytes::ZERO);
    let judged = flow.pcc.previous.map(|previous| previous.id);
    let later = flow.now + ms(35);
    flow.pcc.on_packet_sent(later, flow.next, PACKET);
    for (_, packet) in std::mem::take(&mut flow.awaited) {
        flow.pcc.on_ack(later, packet);
    }
    flow.pcc.on_end_acks(later);
    let newest = flow.pcc.previous.map(|previous| previous.id);
    assert!(newest > judged, "{newest:?} after {judged:?}: what was under way is judged all the same");
}

#[test]
fn trials_wait_until_the_path_answers() {
    let (mut flow, _) = silent();
    assert_eq!(flow.pcc.plan.trial, None);
    let newest = flow.next;
    flow.pcc.on_packet_sent(flow.now, newest, PACKET);
    flow.now = flow.now + RTT;
    flow.pcc.on_ack(flow.now, newest);
    assert!(flow.pcc.plan.trial.is_some());
    assert_eq!(Flow::new().pcc.plan.trial, None, "nor before the first answer");
}

#[test]
fn a_returning_path_begins_at_a_quarter_of_its_rate() {
    for (silence, reason, quarter) in [(9_990, "path returned,", true), (10_010, "path returned after long,", false)] {
        let (mut flow, before) = silent();
        let end = flow.pcc.stall.progress + ms(silence);
        flow.pcc.on_timer(end - RTT);
        flow.pcc.on_packet_sent(end - RTT, flow.next, PACKET);
        let knocking = flow.pcc.law.rate();
        assert!(knocking < before * 0.1, "{knocking}");
        flow.pcc.on_ack(end, flow.next);
        flow.tells(reason);
        let expected = if quarter { before * 0.25 } else { knocking };
        let rate = flow.pcc.law.rate();
        assert!((rate.mbit() / expected.mbit() - 1.0).abs() < 0.01, "{silence} ms: {rate}, not {expected}");
    }
}

#[test]
fn hiccup_while_path_s_rate_is_looked_for_does_not_end_that() {
    let mut flow = Flow::new();
    flow.sends_for(ms(80));
    assert!(flow.pcc.law.is_starting());
    let before = flow.pcc.law.rate();
    // The path holds everything back for a while.
    flow.now = flow.now + ms(300);
    flow.pcc.on_timer(flow.now);
    flow.tells("no acknowledgement");
    flow.due = flow.now;
    flow.sends_for(ms(1)).tells("late answer, Starting");
    assert_eq!(flow.pcc.law.rate(), before);
    flow.sends_for(ms(1000));
    assert!(flow.pcc.law.rate() > before * 100.0, "{before}, and a second later {}", flow.pcc.law.rate());
}

#[test]
fn a_silence_lasts_while_the_transport_probes() {
    for (idle, begins) in [(false, "path returned"), (true, "long idle")] {
        let (mut flow, before) = silent();
        let noticed = flow.pcc.stall.progress;
        // As with a retransmission time-out: everything is lost, and one packet sent anew.
        for _ in 0..4 {
            flow.awaited.drain(..).for_each(|(_, packet)| flow.pcc.on_loss(flow.now, packet));
            assert_eq!(flow.pcc.bytes_in_flight(), Bytes::ZERO);
            flow.now = flow.now + ms(200);
            flow.pcc.on_packet_sent(flow.now, flow.next, PACKET);
            flow.awaited.push_back((flow.now + RTT, flow.next));
            flow.next += 1;
            assert_eq!(flow.pcc.stall.progress, noticed, "nothing was answered");
        }
        if idle {
            flow.awaited.drain(..).for_each(|(_, packet)| flow.pcc.on_loss(flow.now, packet));
            flow.now = flow.now + Duration::from_secs(3600);
            (flow.due, flow.probed) = (flow.now, flow.now);
        }
        flow.sends_for(RTT + ms(2)).tells(begins);
        let story = flow.story.0.lock().unwrap().join("\n");
        assert!(idle || flow.pcc.rate() < before * 0.51, "{before}, and then {}:\n{story}", flow.pcc.rate());
        assert_eq!(story.contains("path returned"), !idle, "{story}");
    }
}
