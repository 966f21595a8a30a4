use super::*;
use crate::PathStore as _;
use core::time::Duration;
use notes::Notes;
use pcc::interval::Report;

#[path = "../../tests/loopback/notes.rs"]
mod notes;

const SIZE: u16 = 1200;

/// A controller and a clock that stands still until told otherwise, outside any turn: noq's times count.
struct Path {
    controller: PccController,
    now: Instant,
}

impl Path {
    fn new() -> Self {
        Self::with(PccConfig::default())
    }

    fn with(config: PccConfig) -> Self {
        let now = Instant::now();
        Self { controller: PccController::new(Arc::new(config), now, SIZE), now }
    }

    fn passes(&mut self, ms: u64) -> Instant {
        self.now += Duration::from_millis(ms);
        self.now
    }

    /// Packet `number` leaves; answers when.
    fn sends(&mut self, number: u64) -> Instant {
        self.controller.on_packet_sent(self.now, SIZE, number);
        self.now
    }

    /// noq looks for something to send; there is none.
    fn looks_in_vain(&self) {
        self.controller.metrics();
    }

    /// noq looks, finds data, and sends it as one datagram.
    fn looks_and_sends(&mut self, number: u64) -> Instant {
        self.controller.metrics();
        self.controller.window();
        self.controller.metrics();
        let sent = self.sends(number);
        self.controller.on_sent(self.now, u64::from(SIZE), number);
        sent
    }

    fn hears_of(&mut self, number: u64, sent: Instant) {
        self.controller.acknowledged(self.now, sent, number, false);
        self.controller.on_end_acks(self.now, 0, false, None);
    }

    fn loses(&mut self, numbers: &[u64], last_sent: Instant) {
        for &number in numbers {
            self.controller.on_packet_lost(SIZE, number, self.now);
        }
        self.controller.on_congestion_event(self.now, last_sent, false, false, 0, 0);
    }

    fn packets_in_flight(&self) -> u64 {
        self.controller.pcc.bytes_in_flight().get() / u64::from(SIZE)
    }
}

#[test]
fn what_noq_forgets_is_not_in_flight_for_ever() {
    let mut path = Path::new();
    path.sends(0); // Handshake, never reported on
    let mut sent = path.sends(1); // Data: noq skipped the number 0 of that space
    for number in 2..20 {
        path.passes(30);
        path.hears_of(number - 1, sent);
        sent = path.sends(number);
    }
    assert_eq!(path.packets_in_flight(), 1, "the latest");
}

#[test]
fn handshake_leaves_nothing_in_flight_that_will_not_be_reported() {
    let mut path = Path::new();
    path.sends(0); // Initial
    path.passes(30);
    path.sends(0); // Handshake: the Initial keys are gone, no acknowledgement of it will come
    assert_eq!(path.packets_in_flight(), 1);
    path.passes(1);
    let data: Vec<_> = (0..3).map(|number| path.sends(number)).collect();
    assert_eq!(path.packets_in_flight(), 3);
    path.passes(30);
    for (number, sent) in data.into_iter().enumerate() {
        path.hears_of(number as u64, sent);
    }
    assert_eq!(path.packets_in_flight(), 0);
    assert!(path.controller.pcc.rtt().smoothed().is_some());
}

#[test]
fn acknowledgement_of_handshake_is_not_taken_for_one_of_data() {
    let mut path = Path::new();
    let handshake = path.sends(0);
    path.passes(10);
    path.sends(0);
    path.passes(10);
    path.hears_of(0, handshake);
    assert_eq!(path.packets_in_flight(), 1);
}

#[test]
fn a_probe_for_a_larger_mtu_is_not_accounted_for() {
    let mut path = Path::new();
    path.sends(0);
    path.controller.on_packet_sent(path.now, 1400, 1);
    assert_eq!(path.packets_in_flight(), 1);
    path.passes(20);
    path.controller.on_mtu_update(1400);
    path.hears_of(1, path.now - Duration::from_millis(20));
    assert_eq!(path.packets_in_flight(), 1);
    path.controller.on_packet_sent(path.now, 1400, 2);
    assert_eq!(path.controller.pcc.bytes_in_flight().get(), 1200 + 1400, "now it is an ordinary size");
}

#[test]
fn losses_are_taken_when_their_time_of_sending_is_known() {
    let mut path = Path::new();
    let sent: Vec<_> = (0..5).map(|number| path.sends(number)).collect();
    path.passes(50);
    path.loses(&[1, 2], sent[2]);
    assert_eq!(path.packets_in_flight(), 3);
}

/// A packet each 2 ms, and each acknowledged after 50 ms; of every hundred, five are overtaken by those of 8 ms.
/// Answers the reports, and how many packets noq took for lost. `noq_tells`: when they have arrived.
fn reports_of_reordering(noq_tells: bool) -> (Vec<Report>, usize) {
    let notes = Arc::new(Notes::default());
    let rate = Rate::from_volume(Bytes::new(SIZE.into()), Duration::from_millis(2));
    let observer = Some(Arc::clone(&notes) as _);
    let mut path = Path::with(pcc::Config { observer, max_rate: Some(rate), ..PccConfig::default().core }.into());
    let mut sent = Vec::new();
    let mut taken_for_lost = 0;
    for number in 0..2000_u64 {
        if let Some(acked) = number.checked_sub(25) {
            let late = |number: u64| number % 100 >= 95;
            if !late(acked) {
                path.hears_of(acked, sent[acked as usize]);
            }
            match acked % 100 {
                // The third acknowledgement beyond the last of them.
                2 if acked > 100 => {
                    let overtaken: Vec<_> = (acked - 7..acked - 2).collect();
                    path.loses(&overtaken, sent[(acked - 3) as usize]);
                    taken_for_lost += overtaken.len();
                }
                4 if acked > 100 && noq_tells => {
                    #[cfg(feature = "patched-noq-proto")]
                    for late in acked - 9..acked - 4 {
                        path.controller.on_spurious_loss(path.now, sent[late as usize], late);
                    }
                    path.controller.on_spurious_congestion_event();
                }
                _ => {}
            }
        }
        sent.push(path.looks_and_sends(number));
        path.passes(2);
    }
    let reports = notes.0.lock().unwrap().clone();
    (reports, taken_for_lost)
}

#[test]
fn spurious_losses_are_taken_back() {
    let lost = |reports: &[Report]| reports.iter().map(|report| report.packets_lost as usize).sum::<usize>();
    let (reports, taken_for_lost) = reports_of_reordering(false);
    assert!(lost(&reports) * 10 > taken_for_lost * 7, "{} of {taken_for_lost}", lost(&reports));
    let (reports, taken_for_lost) = reports_of_reordering(true);
    assert!(taken_for_lost > 80 && lost(&reports) <= 10, "{} of {taken_for_lost}", lost(&reports));
}

#[cfg(not(feature = "patched-noq-proto"))]
#[test]
fn only_the_latest_batch_is_known_to_have_arrived_and_only_once() {
    let mut path = Path::new();
    let sent: Vec<_> = (0..10).map(|number| path.sends(number)).collect();
    path.passes(50);
    path.loses(&[0, 1], sent[1]);
    path.loses(&[2, 3, 4], sent[4]);
    assert_eq!(path.controller.batch, [2, 3, 4]);
    path.controller.on_congestion_event(path.now, sent[5], false, true, 0, 5);
    assert_eq!(path.controller.batch.len(), 3, "a mark is no loss");
    path.controller.on_spurious_congestion_event();
    path.hears_of(6, sent[6]);
    assert!(path.controller.batch.is_empty());
    assert_eq!(path.packets_in_flight(), 4, "what was lost had left the flight before");
    path.controller.on_spurious_congestion_event();
    path.passes(1);
    path.sends(10);
    assert_eq!(path.packets_in_flight(), 5);
}

#[test]
fn a_batch_without_end_is_not_remembered() {
    let mut path = Path::new();
    let last = (0..5000).map(|number| path.sends(number)).last().unwrap();
    path.passes(50);
    path.loses(&(0..5000).collect::<Vec<_>>(), last);
    assert_eq!((path.controller.batch.capacity(), path.packets_in_flight()), (0, 0));
}

#[test]
fn losses_in_an_earlier_space_are_not_taken_for_data() {
    let mut path = Path::new();
    let handshake: Vec<_> = (0..2).map(|number| path.sends(number)).collect();
    path.passes(10);
    for number in 0..2 {
        path.sends(number);
    }
    path.passes(10);
    path.loses(&[0, 1], handshake[1]);
    assert_eq!(path.packets_in_flight(), 2);
}

#[test]
fn losses_that_were_not_in_flight_here_are_forgotten() {
    let mut path = Path::new();
    let sent: Vec<_> = (0..5).map(|number| path.sends(number)).collect();
    path.passes(50);
    // No event follows: these packets were sent on another path.
    path.controller.on_packet_lost(SIZE, 0, path.now);
    path.controller.on_packet_lost(SIZE, 1, path.now);
    path.sends(5);
    path.loses(&[3], sent[3]);
    assert_eq!(path.packets_in_flight(), 5, "six sent, one lost");
}

#[test]
fn congestion_marks_are_not_losses() {
    let mut path = Path::new();
    let sent = path.sends(0);
    let before = path.controller.pcc.rate();
    path.controller.on_packet_lost(SIZE, 0, path.now);
    path.controller.on_congestion_event(path.now, sent, false, true, 0, 0);
    assert_eq!((path.packets_in_flight(), path.controller.pcc.rate()), (1, before));
}

/// As noq-proto tells it, with its number or without, and what PCC has heard after the next acknowledgement.
#[test]
fn marks_are_told_with_an_acknowledgement() {
    let mut path = Path::new();
    let sent: Vec<_> = (0..10).map(|number| path.sends(number)).collect();
    path.passes(30);
    for (number, at) in (0..5).zip(&sent) {
        path.controller.acknowledged(path.now, *at, number, false);
    }
    #[cfg(feature = "patched-noq-proto")]
    path.controller.on_ce_marks(path.now, 3);
    path.controller.on_end_acks(path.now, 0, false, Some(4));
    assert_eq!(path.controller.marked, 0, "told");
    path.controller.on_congestion_event(path.now, sent[4], false, true, 0, 4);
    assert_eq!(path.controller.marked, if cfg!(feature = "patched-noq-proto") { 0 } else { 1 }, "none twice");
    path.hears_of(5, sent[5]);
    assert_eq!(path.controller.marked, 0);
    assert_eq!(path.packets_in_flight(), 4, "a mark is no loss");
}

#[test]
fn everything_lost_for_long_slows_the_sender() {
    let mut path = Path::new();
    for number in 0..20 {
        let sent = path.sends(number);
        path.passes(20);
        path.hears_of(number, sent);
    }
    let before = path.controller.pcc.rate();
    path.controller.on_congestion_event(path.now, path.now, true, false, 0, 0);
    assert!(path.controller.pcc.rate().mbit() < before.mbit() * 0.9, "{before} and {}", path.controller.pcc.rate());
}

#[test]
fn a_path_that_takes_over_starts_afresh() {
    let mut path = Path::new();
    for number in 0..3 {
        path.sends(number);
    }
    let fresh = path.controller.clone_box().into_any().downcast::<PccController>().unwrap();
    assert_eq!(fresh.pcc.bytes_in_flight(), Bytes::ZERO);
    assert!(fresh.pcc.rtt().smoothed().is_none());
}

#[test]
fn no_two_paths_have_one_seed() {
    let mut seeds: Vec<_> = (0..100).map(|_| vary(1)).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 100);
}

#[test]
fn packets_unknown_to_pcc_take_no_room_in_the_window() {
    let mut path = Path::new();
    let extra = |path: &Path| path.controller.window() - path.controller.pcc.congestion_window().get();
    path.sends(0); // Initial
    path.passes(30);
    path.sends(0); // Handshake: noq has the Initial packet in flight for as long as its keys
    assert_eq!(extra(&path), u64::from(SIZE));
    path.passes(1);
    let before = path.sends(1);
    path.passes(1);
    path.controller.on_packet_sent(path.now, 1400, 2);
    assert_eq!(extra(&path), u64::from(SIZE) + 1400, "a probe of a larger MTU");
    path.passes(1);
    let after = path.sends(3);
    path.passes(30);
    path.hears_of(1, before);
    assert_eq!(extra(&path), u64::from(SIZE) + 1400, "it may still be on its way");
    path.hears_of(3, after);
    assert_eq!(extra(&path), 0);
}

#[test]
fn without_our_runtime_noq_is_told_how_to_pace() {
    let path = Path::new();
    let metrics = path.controller.metrics();
    assert_eq!(metrics.pacing_rate, Some(path.controller.pcc.rate().bytes_per_sec() as u64));
    assert_eq!(metrics.send_quantum, Some(u64::from(SIZE)));
    assert_eq!(metrics.congestion_window, path.controller.window());
}

#[tokio::test]
async fn under_our_runtime_the_window_paces_and_noq_does_not() {
    let timer = Arc::new(pace::Timer::start().unwrap());
    let turn = async {
        // So slow that no stop of this machine lasts longer than a gap.
        let core = pcc::Config { max_rate: Some(Rate::from_mbit(0.001)), ..PccConfig::default().core };
        let mut controller = PccController::new(Arc::new(core.into()), Instant::now(), SIZE);
        assert!(controller.window() > 1);
        controller.on_packet_sent(Instant::now(), SIZE, 0);
        assert_eq!(controller.window(), 1);
        let metrics = controller.metrics();
        assert!(metrics.pacing_rate > Some(1 << 36) && metrics.send_quantum.is_none());
        assert!(metrics.congestion_window >= 10 * u64::from(SIZE), "statistics see the real window");
    };
    pace::PollScope::new(Box::pin(turn), timer).await;
}

#[tokio::test]
async fn the_first_packets_after_the_handshake_leave_in_trains_of_six() {
    let timer = Arc::new(pace::Timer::start().unwrap());
    // So slow that no stop of this machine lasts longer than a gap.
    let core = pcc::Config { max_rate: Some(Rate::from_mbit(0.001)), ..PccConfig::default().core };
    let mut controller = PccController::new(Arc::new(core.into()), Instant::now(), SIZE);
    // Outside a turn nothing is paced.
    let sent = Instant::now();
    controller.on_packet_sent(sent, SIZE, 0);
    let acked = sent + Duration::from_millis(100);
    controller.acknowledged(acked, sent, 0, false);
    controller.on_end_acks(acked, 0, false, Some(0));
    let turn = async move {
        for packet in 1..=6 {
            assert!(controller.window() > 1, "packet {packet}");
            controller.on_packet_sent(Instant::now(), SIZE, packet);
        }
        assert_eq!(controller.window(), 1);
    };
    pace::PollScope::new(Box::pin(turn), timer).await;
}

/// Seventeen packets, one each 2 ms, and a pause of 30 ms, for three seconds: acknowledgements of a round before arrive
/// while the next is sent, and none in the pause. Answers the reports from the second second on.
fn reports_of_rounds(when_the_pause_begins: impl Fn(&mut Path)) -> Vec<Report> {
    const ROUND: u64 = 64;
    let notes = Arc::new(Notes::default());
    let rate = Rate::from_volume(Bytes::new(SIZE.into()), Duration::from_millis(2));
    let observer = Some(Arc::clone(&notes) as _);
    let mut path = Path::with(pcc::Config { observer, max_rate: Some(rate), ..PccConfig::default().core }.into());
    let mut sent = Vec::new();
    for round in 0..48u64 {
        for packet in 0..17 {
            if let Some(acked) = (17 * round + packet).checked_sub(34) {
                path.hears_of(acked, sent[acked as usize]);
            }
            sent.push(path.looks_and_sends(17 * round + packet));
            if packet < 16 {
                path.controller.metrics();
                path.controller.window();
                path.controller.metrics(); // noq's pacer lets none go before its time
            } else {
                when_the_pause_begins(&mut path);
            }
            path.passes(2);
        }
        path.passes(ROUND - 2 * 17);
    }
    let reports = notes.0.lock().unwrap();
    reports.iter().filter(|report| report.started.as_nanos() > 1_000_000_000).cloned().collect()
}

#[test]
fn a_pause_between_acks_is_the_application_s_limit() {
    let reports = reports_of_rounds(|path| path.looks_in_vain());
    assert!(reports.len() > 8, "{reports:?}");
    for report in reports {
        assert!(report.app_limited && report.limited_by == LimitedBy::Application, "{report:?}");
    }
}

#[test]
fn a_host_that_stops_a_sender_with_data_is_what_limits() {
    let data_waits = |path: &mut Path| {
        path.controller.metrics();
        path.controller.window();
        path.controller.metrics();
    };
    let reports = reports_of_rounds(data_waits);
    assert!(reports.len() > 8, "{reports:?}");
    for report in reports {
        assert!(!report.app_limited && report.limited_by != LimitedBy::Application, "{report:?}");
    }
}

#[test]
fn a_socket_that_is_full_is_no_silence_of_the_application() {
    for report in reports_of_rounds(|_| ()) {
        assert!(!report.app_limited && report.limited_by != LimitedBy::Application, "{report:?}");
    }
}

#[cfg(feature = "patched-noq-proto")]
#[test]
fn a_further_path_resumes_what_is_known_of_its_own_address() {
    let store = Arc::new(crate::RecentPaths::default());
    let base_rtt = Duration::from_millis(30);
    for (address, mbit) in [("192.0.2.7", 40.0), ("198.51.100.7", 20.0)] {
        let memory = pcc::PathMemory { rate: Rate::from_mbit(mbit), base_rtt };
        store.keep(address.parse().unwrap(), memory);
    }
    let peer = Some(Peer { address: "192.0.2.7".parse().unwrap(), store });
    let config = Arc::new(PccConfig { peer, ..PccConfig::default() });
    for (remote, mbit) in [("192.0.2.7:1", 20.0), ("[::ffff:198.51.100.7]:2", 10.0)] {
        let now = Instant::now();
        let built = Arc::clone(&config).build_for(remote.parse().unwrap(), now, SIZE);
        let mut path = Path { controller: *built.into_any().downcast().unwrap(), now };
        let sent = path.sends(0);
        path.passes(31);
        path.hears_of(0, sent);
        let found = path.controller.pcc.rate().mbit();
        assert!((found / mbit - 1.0).abs() < 0.01, "{remote}: {found} Mbit/s");
    }
}

#[test]
fn connection_keeps_what_it_learnt_and_next_one_resumes_it() {
    let store = Arc::new(crate::RecentPaths::default());
    let address = "192.0.2.7".parse().unwrap();
    let peer = Some(Peer { address, store: store.clone() });
    let core = pcc::Config { max_rate: Some(Rate::from_mbit(48.0)), ..pcc::Config::default() };
    let mut path = Path::with(PccConfig { peer: peer.clone(), ..core.into() });
    let mut sent = std::collections::VecDeque::new();
    // Five packets a millisecond, each answered after thirty.
    for number in 0..15_000 {
        sent.push_back(path.sends(number));
        if number % 5 == 4 {
            path.passes(1);
        }
        if number >= 150 {
            path.hears_of(number - 150, sent.pop_front().unwrap());
        }
    }
    drop(path);
    let learnt = store.recall(address).unwrap();
    assert!((40.0..50.0).contains(&learnt.rate.mbit()), "{learnt:?}");
    let mut next = Path::with(PccConfig { peer, ..PccConfig::default() });
    let sent = next.sends(0);
    next.passes(31);
    next.hears_of(0, sent);
    let found = next.controller.pcc.rate().mbit();
    assert!((found / learnt.rate.mbit() - 0.5).abs() < 0.01, "{found} Mbit/s of {learnt:?}");
}
