mod guards;
mod judging;
mod memory;
mod silence;
mod steer;
mod trains;

use super::silence::LONG_IDLE;
use super::*;
use std::sync::Mutex;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const PACKET: Bytes = Bytes::new(1200);
const RTT: Duration = Duration::from_millis(30);

#[derive(Debug, Default)]
struct Story(Mutex<Vec<String>>);

impl Observer for Story {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Decision { at, state, rate, reason } = event {
            self.0.lock().unwrap().push(format!("{:.3} s: {reason}, {state} at {rate}", at.as_secs_f64()));
        }
    }
}

/// A sender on a path of 30 ms without bounds that acknowledges each packet, unless told otherwise. Like QUIC it
/// asks again each 100 ms when its window is full, and learns of losses by the next acknowledgement.
struct Flow {
    pcc: Pcc,
    now: Timestamp,
    next: u64,
    awaited: std::collections::VecDeque<(Timestamp, u64)>,
    unanswered: Vec<u64>,
    due: Timestamp,
    probed: Timestamp,
    answers: bool,
    /// How long acknowledgements wait of packets from this number on.
    way_back: (Duration, u64),
    story: Arc<Story>,
}

impl Flow {
    fn new() -> Self {
        let story = Arc::new(Story::default());
        let now = Timestamp::from_nanos(1);
        let pcc = Pcc::new(Config { observer: Some(story.clone()), ..Config::default() }, now);
        Self {
            pcc,
            now,
            next: 0,
            awaited: std::collections::VecDeque::new(),
            unanswered: Vec::new(),
            due: now,
            probed: now,
            answers: true,
            way_back: (Duration::ZERO, 0),
            story,
        }
    }

    /// Sends at the sender's rate, within its window, for this long.
    fn sends_for(&mut self, time: Duration) -> &mut Self {
        let end = self.now + time;
        while self.now < end {
            while let Some(&(due, packet)) = self.awaited.front()
                && due <= self.now
            {
                self.awaited.pop_front();
                if self.answers {
                    self.pcc.on_ack(self.now, packet);
                    let waited = if packet < self.way_back.1 { Duration::ZERO } else { self.way_back.0 };
                    self.pcc.on_ack_left(self.now, self.now - waited);
                    self.pcc.on_end_acks(self.now);
                    for lost in self.unanswered.drain(..) {
                        self.pcc.on_loss(self.now, lost);
                    }
                } else {
                    self.unanswered.push(packet);
                }
            }
            let probe = self.now.since(self.probed) > ms(100);
            let open = self.pcc.bytes_in_flight() + PACKET <= self.pcc.congestion_window();
            if probe || (open && self.due <= self.now) {
                self.probed = self.now;
                self.pcc.on_packet_sent(self.now, self.next, PACKET);
                self.awaited.push_back((self.now + RTT + self.way_back.0, self.next));
                self.next += 1;
                self.due = self.now + self.pcc.rate().time_for(PACKET);
            } else {
                self.pcc.on_timer(self.now);
            }
            self.now = (self.now + ms(1)).min(self.due.max(self.now + Duration::from_micros(1)));
        }
        self
    }

    fn tells(&self, wanted: &str) -> &Self {
        let story = self.story.0.lock().unwrap();
        assert!(story.iter().any(|line| line.contains(wanted)), "no `{wanted}` in:\n{}", story.join("\n"));
        self
    }
}

#[test]
fn first_rtt_sample_sets_rate_to_ten_packets_in_half_round() {
    let mut flow = Flow::new();
    assert!((flow.pcc.rate().mbit() - 0.96).abs() < 1e-9, "ten packets in the assumed 100 ms");
    flow.sends_for(ms(31)).tells("first RTT sample, Starting at 6.40 Mbit/s");
}

#[test]
fn handshake_that_took_long_does_not_slow_start_on_short_path() {
    let mut flow = Flow::new();
    let mut exchange = |sent: Timestamp, took: Duration| {
        let packet = flow.next;
        flow.next += 1;
        flow.pcc.on_packet_sent(sent, packet, PACKET);
        flow.pcc.on_ack(sent + took, packet);
        flow.pcc.on_end_acks(sent + took);
        flow.pcc.rate().mbit()
    };
    let first = exchange(flow.now, ms(50));
    assert!((first - 3.84).abs() < 0.01, "ten packets in 25 ms, not {first}");
    let second = exchange(flow.now + ms(60), ms(4));
    assert!((second - 48.0).abs() < 0.1, "ten packets in 2 ms, not {second}");
    assert_eq!(flow.pcc.rtt().smoothed(), Some(ms(4)));
    flow.tells("shorter RTT, Starting");
}

#[test]
fn the_rate_doubles_on_paths_shorter_than_a_train() {
    let mut pcc = Pcc::new(Config::default(), Timestamp::ZERO);
    let (mut now, mut packet) = (Timestamp::ZERO, 0);
    // Each train is acknowledged before the next one leaves; at times the host stops for a few milliseconds, and
    // at times it is quicker than ever.
    for train in 0_u64..200 {
        let volume = pcc.send_quantum().get() / PACKET.get();
        for _ in 0..volume {
            pcc.on_packet_sent(now, packet, PACKET);
            packet += 1;
        }
        let acked = now + Duration::from_micros(if train % 50 == 49 { 20 } else { 60 });
        (packet - volume..packet).for_each(|packet| pcc.on_ack(acked, packet));
        pcc.on_end_acks(acked);
        let gap = pcc.rate().time_for(Bytes::new(volume * PACKET.get()));
        now = now + if train % 40 == 39 { ms(4) } else { gap };
    }
    assert!(pcc.rate().mbit() > 10_000.0, "{} after {} ms", pcc.rate(), now.as_secs_f64() * 1e3);
}

#[test]
fn the_rate_doubles_once_a_round() {
    let mut flow = Flow::new();
    flow.sends_for(ms(31 + 6 * 31));
    let doublings = (flow.pcc.rate().mbit() / 6.4).log2();
    assert!((4.0..=6.0).contains(&doublings), "{doublings} doublings in 6 RTT");
}

#[test]
fn a_silent_path_gets_two_packets_a_round() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    let before = flow.pcc.rate();
    flow.answers = false;
    flow.sends_for(ms(2000)).tells("no acknowledgement");
    let floor = flow.pcc.knocking_rate();
    assert!(before > floor * 40.0 && flow.pcc.rate() <= floor * 1.01, "{} after {before}", flow.pcc.rate());
    flow.answers = true;
    flow.sends_for(20 * RTT).tells("path returned, Starting");
    let story = flow.story.0.lock().unwrap().join("\n");
    assert!(flow.pcc.rate() > before * 0.8, "{} of {before} after 20 RTT\n{story}", flow.pcc.rate());
}

#[test]
fn a_silent_path_is_never_sent_more_than_the_window() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    let window = flow.pcc.congestion_window();
    flow.answers = false;
    flow.sends_for(ms(500));
    let probes = Bytes::new(6 * PACKET.get());
    assert!(flow.pcc.bytes_in_flight() <= window + probes, "{} in flight of {window}", flow.pcc.bytes_in_flight());
    let bdp = flow.pcc.rtt().smoothed_or_assumed().as_secs_f64() * Rate::from_mbit(100.0).bytes_per_sec();
    assert!(window.get() as f64 > bdp, "the window must not rule");
}

#[test]
fn a_short_pause_keeps_the_rate_and_a_long_one_starts_again() {
    let mut flow = Flow::new();
    flow.sends_for(ms(300));
    let rate = flow.pcc.law.rate();
    for pause in [ms(9_000), ms(11_000)] {
        for (_, packet) in std::mem::take(&mut flow.awaited) {
            flow.pcc.on_ack(flow.now + RTT, packet);
        }
        flow.pcc.on_end_acks(flow.now + RTT);
        flow.now = flow.now + RTT + pause;
        flow.sends_for(ms(1));
        if pause < LONG_IDLE {
            assert!(flow.pcc.law.rate() > rate * 0.9, "{rate} became {} in {pause:?}", flow.pcc.law.rate());
        }
    }
    flow.tells("long idle, Starting");
    assert!(flow.pcc.rate() < rate);
}

#[test]
fn a_pausing_application_does_not_make_the_rate_grow() {
    let mut flow = Flow::new();
    flow.sends_for(ms(200));
    for _ in 0..200 {
        flow.sends_for(ms(2));
        flow.pcc.on_limited(flow.now, LimitedBy::Application);
        flow.now = flow.now + ms(18);
    }
    let peak = flow.pcc.rate();
    assert_eq!(flow.pcc.limited_by(), LimitedBy::Application);
    for _ in 0..200 {
        flow.sends_for(ms(2));
        flow.pcc.on_limited(flow.now, LimitedBy::Application);
        flow.now = flow.now + ms(18);
    }
    assert!(flow.pcc.rate() <= peak * 1.06, "{peak} grew to {}", flow.pcc.rate());
}

#[test]
fn an_undefined_utility_decides_nothing_and_is_traced() {
    // Not defined from 20 Mbit/s on: the rate stays near it, and the law never hears of NaN.
    let utility = "let panic_loss = 1; if(x < 20Mbit, x, x/(0*x))".parse::<crate::utility::Expression>();
    let mut flow = Flow::new();
    let observer: Arc<dyn Observer> = flow.story.clone();
    flow.pcc = Pcc::new(
        Config { utility: Arc::new(utility.unwrap()), observer: Some(observer), ..Config::default() },
        flow.now,
    );
    flow.sends_for(ms(3000)).tells("utility undefined");
    let rate = flow.pcc.rate().mbit();
    assert!((5.0..60.0).contains(&rate), "{rate} Mbit/s");
    assert!(flow.pcc.previous.is_some_and(|previous| previous.rtt.is_some()));
}

#[test]
fn the_user_s_limit_is_never_exceeded() {
    let max = Rate::from_mbit(5.0);
    let mut flow = Flow::new();
    flow.pcc = Pcc::new(Config { max_rate: Some(max), ..Config::default() }, flow.now);
    for _ in 0..2000 {
        flow.sends_for(ms(1));
        assert!(flow.pcc.rate() <= max);
    }
}
