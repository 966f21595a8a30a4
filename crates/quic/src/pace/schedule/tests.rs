use super::*;

const PACKET: Bytes = Bytes::new(1200);

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// One packet of 1200 bytes every 96 µs: 100 Mbit/s.
fn single() -> Pace {
    Pace { rate: Rate::from_mbit(100.0), quantum: PACKET, packet: PACKET }
}

/// Trains of ten packets, one every 96 µs: 1 Gbit/s.
fn trains() -> Pace {
    Pace { rate: Rate::from_mbit(1000.0), quantum: Bytes::new(12_500), packet: PACKET }
}

/// A sender that always has data: it sends when the schedule allows and `delay` says it is awake.
struct Sender {
    schedule: Schedule,
    now: Timestamp,
    due: Timestamp,
    departures: Vec<Timestamp>,
}

impl Sender {
    fn new() -> Self {
        let start = Timestamp::from_nanos(1_000_000_000);
        Self { schedule: Schedule::default(), now: start, due: start, departures: Vec::new() }
    }

    /// One packet, woken `delay` after it may leave.
    fn sends(&mut self, delay: Duration, pace: Pace) {
        let departure = if self.due > self.now {
            self.now = self.due + delay;
            Departure::Waited { woken: self.now }
        } else {
            Departure::Followed { ready: self.now }
        };
        self.departures.push(self.now);
        if let Some(next) = self.schedule.on_sent(self.now, PACKET, departure, pace) {
            self.due = next;
        }
    }

    fn gaps(&self) -> impl Iterator<Item = Duration> {
        self.departures.windows(2).map(|pair| pair[1].since(pair[0]))
    }

    /// Time from the first departure to the last.
    fn span(&self) -> Duration {
        self.gaps().sum()
    }
}

#[test]
fn a_hundred_thousand_packets_take_exactly_their_time() {
    let mut sender = Sender::new();
    (0..=100_000).for_each(|_| sender.sends(Duration::ZERO, single()));
    assert_eq!(sender.span(), us(96) * 100_000);
    assert!(sender.gaps().all(|gap| gap == us(96)));
}

#[test]
fn an_odd_rate_is_kept_to_a_millionth() {
    let pace = Pace { rate: Rate::from_mbit(77.777_777), ..single() };
    let mut sender = Sender::new();
    (0..=100_000).for_each(|_| sender.sends(Duration::ZERO, pace));
    let rate = Rate::from_volume(Bytes::new(1200 * 100_000), sender.span());
    assert!((rate.mbit() / 77.777_777 - 1.0).abs() < 1e-5, "{rate:?}");
}

#[test]
fn a_constant_delay_moves_every_packet_and_changes_no_gap() {
    for delay in [5, 30, 60, 90] {
        let mut sender = Sender::new();
        (0..=10_000).for_each(|_| sender.sends(us(delay), single()));
        let uneven = sender.gaps().skip(1000).find(|&gap| gap != us(96));
        assert_eq!(uneven, None, "delay of {delay} µs");
    }
}

#[test]
fn a_delay_longer_than_the_gap_costs_no_rate() {
    // As where timers count milliseconds: nothing but trains can keep the rate.
    for delay in [150, 400, 1000, 3000] {
        let mut sender = Sender::new();
        (0..=110_000).for_each(|_| sender.sends(us(delay), single()));
        // The host's delay is learnt within the first second.
        let settled = sender.departures.split_off(10_000);
        sender.departures = settled;
        let rate = Rate::from_volume(Bytes::new(1200 * 100_000), sender.span());
        assert!((rate.mbit() / 100.0 - 1.0).abs() < 1e-3, "delay of {delay} µs: {rate:?}");
        let longest_wait = sender.gaps().max().unwrap();
        assert!(longest_wait < us(delay) + us(96) * 2, "delay of {delay} µs: waited {longest_wait:?}");
    }
}

#[test]
fn uneven_delays_leave_the_average_exact_and_bunch_no_packets() {
    let mut sender = Sender::new();
    // Delays below 64 µs and, once in 4096, 4 ms, as on a busy host.
    let mut state = 7_u64;
    for _ in 0..=100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let delay = if state >> 52 == 0 { us(4_000) } else { us(state >> 58) };
        sender.sends(delay, single());
    }
    let rate = Rate::from_volume(Bytes::new(1200 * 100_000), sender.span());
    assert!((rate.mbit() / 100.0 - 1.0).abs() < 1e-3, "{rate:?}");
    let shortest = sender.gaps().min().unwrap();
    assert!(shortest >= us(96 - 64), "{shortest:?} is shorter than the delays explain");
}

#[test]
fn a_late_packet_is_made_good_at_five_quarters_of_the_rate() {
    let mut sender = Sender::new();
    sender.sends(Duration::ZERO, single());
    sender.sends(us(4_000), single());
    (0..300).for_each(|_| sender.sends(Duration::ZERO, single()));
    // The first is shorter by what the long delay taught about this host.
    let catching_up = sender.gaps().skip(1).take_while(|&gap| gap > us(74) && gap < us(78)).count();
    // Each fast gap wins 19.2 µs of the 4 ms.
    assert!((205..=210).contains(&catching_up), "{catching_up}");
    assert_eq!(sender.gaps().last(), Some(us(96)), "then the rate is kept again");
    assert_eq!(sender.span(), us(96) * 301, "and nothing was lost");
}

#[test]
fn of_a_long_stop_only_five_milliseconds_are_made_good() {
    let mut sender = Sender::new();
    sender.sends(Duration::ZERO, single());
    sender.sends(Duration::from_secs(2), single());
    (0..2_000).for_each(|_| sender.sends(Duration::ZERO, single()));
    let lost = sender.span() - us(96) * 2_001;
    assert_eq!(lost, Duration::from_secs(2) - LARGEST_DEBT);
    let shortest = sender.gaps().min().unwrap();
    assert!(shortest >= us(74), "one stop is no rule, and is answered by no burst: {shortest:?}");
}

#[test]
fn where_gaps_are_long_a_whole_gap_is_made_good() {
    // 1 Mbit/s: 9.6 ms a packet. Every tenth is 9 ms late.
    let slow = Pace { rate: Rate::from_mbit(1.0), ..single() };
    let mut sender = Sender::new();
    (0..=1_000).for_each(|index| sender.sends(us(if index % 10 == 9 { 9_000 } else { 0 }), slow));
    let rate = Rate::from_volume(Bytes::new(1200 * 1_000), sender.span());
    assert!((rate.mbit() - 1.0).abs() < 0.01, "{rate:?}");
}

#[test]
fn idle_time_earns_no_credit() {
    let mut schedule = Schedule::default();
    let start = Timestamp::from_nanos(1);
    let first = schedule.on_sent(start, PACKET, Departure::Fresh, single()).unwrap();
    let resumed = first + Duration::from_secs(3);
    let next = schedule.on_sent(resumed, PACKET, Departure::Fresh, single()).unwrap();
    assert_eq!(next.since(resumed), us(96));
}

#[test]
fn trains_fill_their_quantum_and_wait_for_all_of_it() {
    let mut sender = Sender::new();
    (0..100_000).for_each(|_| sender.sends(Duration::ZERO, trains()));
    let gaps: Vec<_> = sender.gaps().collect();
    for (index, &gap) in gaps.iter().enumerate() {
        let expected = if index % 10 == 9 { us(96) } else { Duration::ZERO };
        assert_eq!(gap, expected, "gap {index}");
    }
}

#[test]
fn a_train_cut_short_is_paid_for_and_earns_nothing() {
    let mut schedule = Schedule::default();
    let start = Timestamp::from_nanos(1);
    for _ in 0..3 {
        assert_eq!(schedule.on_sent(start, PACKET, Departure::Fresh, trains()), None);
    }
    // The application comes back long after: a whole new train, not the rest of the old one.
    let resumed = start + Duration::from_secs(1);
    let closes: Vec<_> = (0..10).map(|_| schedule.on_sent(resumed, PACKET, Departure::Fresh, trains())).collect();
    assert!(closes[..9].iter().all(Option::is_none), "{closes:?}");
    assert_eq!(closes[9].unwrap().since(resumed), us(96));
}

#[test]
fn a_new_rate_rules_from_the_next_packet() {
    let mut sender = Sender::new();
    let half = Pace { rate: Rate::from_mbit(50.0), ..single() };
    for pace in [single(), single(), half, half, single(), single()] {
        sender.sends(Duration::ZERO, pace);
    }
    assert_eq!(sender.gaps().collect::<Vec<_>>(), [us(96), us(96), us(192), us(192), us(96)]);
}

#[test]
fn packets_ahead_of_their_time_are_charged() {
    // Loss probes leave unasked.
    let mut schedule = Schedule::default();
    let start = Timestamp::from_nanos(1);
    for probe in 1..=3_u32 {
        let next = schedule.on_sent(start, PACKET, Departure::Fresh, single()).unwrap();
        assert_eq!(next.since(start), us(96) * probe);
    }
}

#[test]
fn small_packets_are_charged_their_size() {
    let mut schedule = Schedule::default();
    let start = Timestamp::from_nanos(1);
    let next = schedule.on_sent(start, Bytes::new(100), Departure::Fresh, single()).unwrap();
    assert_eq!(next.since(start), us(8));
}

#[test]
fn no_rate_stops_a_sender_for_good() {
    for rate in [Rate::ZERO, Rate::from_bytes_per_sec(1e-9), Rate::from_bytes_per_sec(f64::MAX)] {
        let pace = Pace { rate, ..single() };
        let start = Timestamp::from_nanos(1);
        let next = Schedule::default().on_sent(start, PACKET, Departure::Fresh, pace).unwrap();
        assert!(next.since(start) <= LONGEST_GAP, "{rate:?}");
    }
}

#[test]
fn a_host_with_many_stops_costs_little_rate() {
    // Four busy processes: a wake-up waits for one slice of 4 ms or for all of them, or for none right after a turn.
    for seed in 1..=8_u64 {
        let mut sender = Sender::new();
        let mut state = seed;
        for _ in 0..=110_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let slices = [0, 0, 0, 1, 1, 2, 3, 4][(state >> 61) as usize];
            sender.sends(us(20 + 4_000 * slices), single());
        }
        let settled = sender.departures.split_off(10_000);
        sender.departures = settled;
        let rate = Rate::from_volume(Bytes::new(1200 * 100_000), sender.span());
        assert!((0.92..=0.94).contains(&(rate.mbit() / 100.0)), "{rate:?} with seed {seed}");
    }
}
