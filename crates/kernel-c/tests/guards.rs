//! The intervals to which the kernel's sender books packets, and its guards: losses, silences, pauses, and limits of others.
#![cfg(target_os = "linux")]

mod tcp;

use pcc::rng::Rng;
use pcc::utility::Expression;
use pcc_kernel_c::{Flow, Program, Sample};
use tcp::{MS, PACKET, Path, SECOND, Tcp};

#[test]
fn a_loss_belongs_to_the_interval_in_which_it_was_sent() {
    let mut tcp = Tcp::over(Path { last_lost: 5, ..Path::default() });
    tcp.run(3 * SECOND);
    let first = tcp.flow.intervals() + 1;
    tcp.reported.clear();
    tcp.run(3 * SECOND);
    let numbers = first..first + tcp.reported.len() as u32;
    let booked: Vec<_> =
        numbers.clone().zip(&tcp.reported).filter(|(_, loss)| **loss > 0.0).map(|(number, _)| number).collect();
    let expected: Vec<_> = numbers.filter(|number| number % 5 == 0).collect();
    assert!(booked.len() > 10);
    assert_eq!(booked, expected);
}

#[test]
fn what_starting_lost_is_not_booked_to_what_comes_after_it() {
    let mut tcp = Tcp::over(Path { buffer: 30, ..Path::default() });
    while tcp.flow.is_starting() {
        tcp.run(MS);
        assert!(tcp.age() < SECOND);
    }
    tcp.reported.clear();
    let lost = tcp.lost;
    tcp.run(200 * MS);
    assert!(tcp.lost > lost + 20, "{} found lost since", tcp.lost - lost);
    assert!(tcp.reported.iter().all(|loss| *loss < 0.05), "{:?}", tcp.reported);
}

#[test]
fn a_time_out_s_losses_are_of_each_interval_that_it_lost() {
    let silent = (5 * SECOND, 5850 * MS);
    let mut tcp = Tcp::over(Path { mbit: 50.0, rtt: 300 * MS, silent, ..Path::default() });
    tcp.run(silent.0);
    let mut lost = Vec::new();
    while tcp.time_outs == 0 {
        lost = tcp.flying.iter().map(|packet| packet.interval).collect();
        tcp.run(MS);
    }
    let (first, last) = (lost[0], lost[lost.len() - 1]);
    assert!(last - first > 3 && tcp.flow.intervals() < first, "{first} to {last}");
    while tcp.flow.intervals() < first {
        tcp.run(MS / 10);
    }
    // The first one had begun before the path fell silent.
    let (told, loss) = (tcp.flow.told(), tcp.flow.loss());
    assert!((first + 1..last).contains(&told.intervals) && told.silences == 0, "{told:?}");
    assert!(loss > 0.95, "interval {} of {first} to {last}: {loss}", told.intervals);
}

#[test]
fn when_nothing_is_in_flight_all_that_was_sent_is_reported() {
    let mut tcp = Tcp::over(Path { idle: (3 * SECOND, 4 * SECOND), ..Path::default() });
    tcp.run(2900 * MS);
    let pending = |tcp: &Tcp| tcp.flow.told().opened - tcp.flow.told().intervals;
    assert!(pending(&tcp) > 2);
    tcp.run(200 * MS);
    assert_eq!((tcp.in_flight(), pending(&tcp)), (0, 1), "the one that is open");
}

#[test]
fn who_held_it_back_is_told() {
    let usual = Path::default;
    for (who, what, path) in [
        (0, "the network", usual()),
        (1, "the application", Path { source: 5.0, ..usual() }),
        (2, "the receiver", Path { late: 0.3, slow_peer: 1, ..usual() }),
        (3, "the host", Path { late: 0.3, ..usual() }),
    ] {
        let mut tcp = Tcp::over(path);
        tcp.run(2 * SECOND);
        assert_eq!(tcp.flow.told().limited_by, who, "{what}");
    }
}

#[test]
fn at_a_panic_the_rate_is_at_once_what_still_arrives() {
    let mut tcp = Tcp::over(Path { then: 20.0, buffer: 40, ..Path::default() });
    while tcp.flow.told().panics == 0 {
        tcp.run(MS);
        assert!(tcp.age() < 3 * SECOND, "no panic");
    }
    let mbit = tcp.flow.rate() as f64 * 8e-6;
    assert!((12.0..32.0).contains(&mbit), "{mbit} Mbit/s where 20 arrive");
}

#[test]
fn a_burst_of_losses_in_an_interval_is_no_panic() {
    for seed in 1..=5 {
        let path = Path { mbit: 12.0, rtt: 500 * MS, buffer: 600, loss: 0.024, burst: 24, ..Path::default() };
        let mut tcp = Tcp::over(path);
        tcp.rng = Rng::new(seed);
        let (mbit, lost, queue) = tcp.run(10 * SECOND).measured(50 * SECOND);
        let panics = tcp.flow.told().panics;
        assert_eq!(panics, 0, "seed {seed}: {mbit} Mbit/s, {lost} lost, {queue} ms");
        assert!(mbit > 9.0 && lost < 0.04 && queue < 40.0, "seed {seed}: {mbit} Mbit/s, {lost} lost, {queue} ms");
    }
}

#[test]
fn a_path_that_became_longer_was_not_silent() {
    let mut tcp = Tcp::over(Path { longer: 150 * MS, ..Path::default() });
    tcp.run(2 * SECOND);
    while tcp.age() < 3 * SECOND {
        tcp.run(10 * MS);
        assert!(!tcp.flow.is_starting(), "at {} ms", tcp.age() / MS);
    }
    assert_eq!(tcp.flow.told().silences, 1, "it was looked at");
}

#[test]
fn path_that_froze_during_the_search_is_searched_further() {
    let frozen = (70 * MS, 300 * MS);
    let mut tcp = Tcp::over(Path { frozen, undone: true, buffer: 5000, ..Path::default() });
    while tcp.flow.told().silences == 0 {
        tcp.run(MS);
        assert!(tcp.flow.is_starting() && tcp.age() < SECOND, "at {} ms", tcp.age() / MS);
    }
    assert!(tcp.flow.is_starting(), "what was sent before it was noticed arrived");
    let (mbit, ..) = tcp.run(700 * MS).measured(SECOND);
    assert!(mbit > 80.0, "{mbit} Mbit/s");
}

#[test]
fn a_short_silence_keeps_a_quarter_and_a_long_one_nothing() {
    for (seconds, least, most) in [(2, 20.0, 30.0), (12, 0.0, 3.0)] {
        let silent = (5 * SECOND, (5 + seconds) * SECOND);
        let mut tcp = Tcp::over(Path { silent, ..Path::default() });
        tcp.run(silent.1);
        while tcp.flow.told().silences == 0 {
            tcp.run(MS);
            assert!(tcp.age() < silent.1 + 3 * SECOND, "it was not noticed");
        }
        let mbit = tcp.flow.rate() as f64 * 8e-6;
        assert!((least..most).contains(&mbit), "{seconds} s: {mbit} Mbit/s");
    }
}

#[test]
fn packets_lost_in_a_silence_leave_room_in_the_window() {
    for case in 0..6 {
        let silent = (5 * SECOND, (5 + case % 3) * SECOND + (4 + case) * 100 * MS);
        let mut tcp = Tcp::over(Path { silent, undone: true, buffer: 100 + 50 * case, ..Path::default() });
        tcp.run(silent.1);
        while tcp.flow.told().silences == 0 {
            tcp.run(MS);
        }
        assert!(tcp.in_flight() > 50, "{} packets are taken for being in flight", tcp.in_flight());
        let before = tcp.time_outs;
        let (mbit, ..) = tcp.measured(300 * MS);
        assert_eq!(tcp.time_outs, before, "silent until {} ms", silent.1 / MS);
        assert!(
            mbit > 40.0,
            "silent until {} ms: {mbit} Mbit/s in the ten round trips after the answer",
            silent.1 / MS
        );
    }
}

#[test]
fn a_short_freeze_loses_nothing_though_tcp_counts_all_lost() {
    // Longer than TCP waits, shorter than a silence of four RTT. How soon the rate is back depends on where in a pair of
    // intervals it froze.
    let after = |begin: u64| {
        let frozen = (begin, begin + 300 * MS);
        let path = Path { mbit: 50.0, rtt: 100 * MS, frozen, undone: true, buffer: 5000, ..Path::default() };
        let mut tcp = Tcp::over(path);
        tcp.run(frozen.1);
        assert!(tcp.time_outs > 0 && tcp.flow.told().panics == 0);
        tcp.reported.clear();
        let (mbit, ..) = tcp.run(300 * MS).measured(SECOND);
        assert!(tcp.reported.iter().all(|loss| *loss == 0.0), "frozen from {} ms: {:?}", begin / MS, tcp.reported);
        assert_eq!(tcp.flow.told().panics, 0, "frozen from {} ms: {mbit} Mbit/s after it", begin / MS);
        mbit
    };
    let mut goodputs: Vec<_> = (0..24).map(|phase| after(5 * SECOND + 10 * MS * phase)).collect();
    goodputs.sort_by(f64::total_cmp);
    assert!(goodputs[12] > 40.0, "{goodputs:?} Mbit/s");
}

#[test]
fn what_was_too_large_for_a_new_route_was_not_lost_to_the_rate() {
    let mut tcp = Tcp::over(Path { mbit: 50.0, ..Path::default() });
    tcp.run(5 * SECOND);
    // A router tells that packets are too large: TCP sends all again in smaller ones, having counted them as lost.
    tcp.sample.packet -= 100;
    tcp.sample.lost = tcp.sample.lost.wrapping_add(tcp.in_flight());
    let (mbit, ..) = tcp.measured(SECOND);
    let panics = tcp.flow.told().panics;
    assert!(panics == 0 && mbit > 45.0, "{mbit} Mbit/s after it, {panics} panics");
}

#[test]
fn a_delayed_acknowledgement_is_no_silent_path() {
    let mut tcp = Tcp::over(Path { rtt: 40 * MS, ..Path::default() });
    tcp.run(3 * SECOND);
    let before = tcp.flow.rate();
    (tcp.path.longer, tcp.path.untold) = (150 * MS, tcp.age());
    for _ in 0..5 {
        tcp.path.idle = (tcp.age(), tcp.age() + SECOND);
        tcp.run(SECOND + 10_000);
        assert_eq!(tcp.in_flight(), 1);
    }
    let (after, silences) = (tcp.flow.rate(), tcp.flow.told().silences);
    assert!(silences == 0 && after > before / 2, "{before} byte/s before, {after} after, {silences} silences");
}

#[test]
fn a_new_highest_rate_holds_from_then_on() {
    let mut tcp = Tcp::over(Path::default());
    tcp.run(3 * SECOND);
    let before = tcp.flow.rate();
    tcp.flow.limit(1_000_000);
    assert!(before > 10_000_000 && tcp.flow.rate() == 1_000_000, "{} byte/s", tcp.flow.rate());
    let (mbit, ..) = tcp.run(SECOND).measured(SECOND);
    assert!((7.0..8.1).contains(&mbit), "{mbit} Mbit/s");
    tcp.flow.limit(0);
    let (mbit, ..) = tcp.run(3 * SECOND).measured(SECOND);
    assert!(mbit > 90.0, "{mbit} Mbit/s without a limit");
}

#[test]
fn the_peer_s_own_data_does_not_open_a_timed_out_window() {
    let silent = (5 * SECOND, 9 * SECOND);
    let mut tcp = Tcp::over(Path { silent, chatter: 20 * MS, ..Path::default() });
    tcp.run(silent.0 - MS);
    assert!(tcp.window > 300, "{} packets", tcp.window);
    while tcp.time_outs == 0 {
        tcp.run(MS);
    }
    let lost = tcp.lost;
    tcp.run(silent.1 - tcp.age());
    assert_eq!(tcp.lost - lost, u64::from(tcp.time_outs) - 1, "a packet for each time that the path was asked");
    let (mbit, ..) = tcp.run(SECOND).measured(2 * SECOND);
    assert!(mbit > 90.0, "{mbit} Mbit/s once it answers again");
}

#[test]
fn path_that_fell_silent_in_pause_is_known_to_have_been_silent() {
    let (idle, silent) = ((3 * SECOND, 4 * SECOND), (3500 * MS, 8 * SECOND));
    let mut tcp = Tcp::over(Path { idle, silent, then: 10.0, ..Path::default() });
    tcp.run(idle.0);
    assert!(tcp.flow.rate() < 15 * 125_000 && tcp.flow.told().silences == 0);
    tcp.run(silent.1 - tcp.age());
    while tcp.flow.told().silences == 0 {
        tcp.run(MS);
        assert!(tcp.age() < silent.1 + 3 * SECOND, "it was not noticed");
    }
}

#[test]
fn who_starts_for_days_keeps_a_window_when_the_counters_wrap() {
    let mut tcp = Tcp::over(Path { source: 5.0, ..Path::default() });
    tcp.run(2 * SECOND);
    let mut jump = |packets: u32| {
        for counter in [&mut tcp.sample.sent, &mut tcp.sample.delivered] {
            *counter = counter.wrapping_add(packets);
        }
        for _ in 0..100 {
            tcp.run(MS);
            assert!(tcp.flow.is_starting() && tcp.window > 20, "{} packets", tcp.window);
        }
        tcp.delivered as u32
    };
    let before = (0..31).map(|_| jump(1 << 27)).last().unwrap();
    // As many as at first.
    jump((1 << 27) - before);
}

#[test]
fn least_rtt_is_of_more_than_running_half_of_ten_seconds() {
    let mut tcp = Tcp::over(Path { longer: 20 * MS, ..Path::default() });
    let least = |tcp: &Tcp| tcp.flow.told().least_rtt / MS;
    tcp.run(6 * SECOND);
    assert_eq!(least(&tcp), 30, "the running half began with longer ones");
    tcp.run(6 * SECOND);
    assert!((50..55).contains(&least(&tcp)), "{} ms, and a queue", least(&tcp));
}

#[test]
fn a_pause_of_the_application_is_part_of_no_interval() {
    let mut tcp = Tcp::over(Path { idle: (3 * SECOND, 4 * SECOND), ..Path::default() });
    tcp.run(3900 * MS);
    let before = tcp.flow.intervals();
    while tcp.age() < 5 * SECOND {
        tcp.run(MS);
        let told = tcp.flow.told();
        assert!(told.intervals == before || told.limited_by == 0, "{told:?} at {} ms", tcp.age() / MS);
    }
}

#[test]
fn a_few_packets_now_and_then_do_not_keep_a_rate_of_long_ago() {
    let mut tcp = Tcp::over(Path::default());
    tcp.run(3 * SECOND);
    for pause in 1..=6 {
        tcp.path.idle = (tcp.age(), tcp.age() + 3 * SECOND);
        tcp.run(3 * SECOND + 2 * MS);
        // In the first two, what leaves is enough to show what the path carries.
        assert!(pause < 3 || tcp.in_flight() < 10, "{} packets", tcp.in_flight());
        assert_eq!(tcp.flow.is_starting(), pause == 6, "after {pause} pauses of 3 s: {:?}", tcp.flow.told());
    }
}

#[test]
fn a_pause_is_no_long_idle_though_an_interval_has_few_packets() {
    let mut tcp = Tcp::over(Path { mbit: 2.0, buffer: 30, ..Path::default() });
    tcp.run(12 * SECOND);
    tcp.path.idle = (tcp.age(), tcp.age() + 300 * MS);
    for _ in 0..500 {
        tcp.run(MS);
        assert!(!tcp.flow.is_starting(), "{:?} at {} ms", tcp.flow.told(), tcp.age() / MS);
    }
}

#[test]
fn without_rtt_samples_tcp_s_own_rtt_decides() {
    for (untold, mbit, then) in [(2 * SECOND, 2.0, 0.4), (2 * SECOND, 20.0, 2.0), (0, 20.0, 20.0)] {
        let mut tcp = Tcp::over(Path { mbit, then, buffer: 20, untold, ..Path::default() });
        let (before, ..) = tcp.run(SECOND).measured(SECOND);
        let (goodput, ..) = tcp.run(10 * SECOND).measured(10 * SECOND);
        let rate = tcp.flow.rate() as f64 * 8e-6;
        assert!(before > 0.8 * mbit && goodput > 0.8 * then, "{before} of {mbit} Mbit/s, {goodput} of {then}");
        assert!(rate < 1.3 * then, "{rate} Mbit/s where {then} arrive");
    }
}

/// By the rate after its tenth packet TCP waits before anything is acknowledged.
#[test]
fn first_rate_is_by_round_trip_of_handshake_where_tcp_knows_one() {
    let utility: Expression = "x".parse().unwrap();
    // In us; of half a millisecond ten packets would be a burst.
    for (rtt, seconds) in [(0, 0.1), (100, 0.001), (2000, 0.001), (60_000, 0.03)] {
        let sample = Sample { packet: 1448, taken_rtt: rtt, window: 10, ..Sample::default() };
        let rate = Flow::new(Program::new(utility.program()), &sample, 1).rate() as f64;
        // A probe may be a step off.
        assert!((rate * seconds / 14_480.0 - 1.0).abs() < 0.06, "{rtt} us: {rate} byte/s");
    }
}

#[test]
fn the_initial_window_is_the_routes_until_the_rtt_is_known() {
    let utility: Expression = "x".parse().unwrap();
    // A connection that has sent something has another congestion control's window.
    for (window, sent, expected) in [(10, 0, 10), (3, 0, 3), (1, 0, 1), (40, 0, 40), (40, 1, 10), (3, 1, 3)] {
        let mut sample = Sample { packet: 1448, taken_rtt: 60_000, window, sent, ..Sample::default() };
        (sample.delivered, sample.now) = (sent, SECOND);
        let mut flow = Flow::new(Program::new(utility.program()), &sample, 1);
        assert_eq!(flow.window(window), expected, "of {window} packets with {sent} sent");
        let rate = flow.rate() as f64 * 0.03 / 1448.0;
        assert!((rate / f64::from(expected) - 1.0).abs() < 0.06, "{rate} packets in half a round trip, not {expected}");
        // An acknowledgement that tells no RTT, and then the first that does.
        (sample.sent, sample.in_flight, sample.outstanding) = (sent + expected, expected, expected);
        sample.now += 60 * MS;
        flow.on_ack(&sample);
        assert_eq!(flow.window(expected), expected, "before the first RTT");
        (sample.delivered, sample.in_flight, sample.rtt) = (sent + 1, expected - 1, 60_000);
        sample.outstanding = expected - 1;
        flow.on_ack(&sample);
        let after = flow.window(expected);
        assert!((expected..=2 * expected).contains(&after), "{after} packets after the first of {expected}");
    }
}

/// TCP's trains last 1 ms, and more where the round trip is short.
#[test]
fn a_probe_of_a_short_path_lasts_four_trains() {
    let mut tcp = Tcp::over(Path { rtt: MS / 10, ..Path::default() });
    tcp.run(SECOND);
    let before = tcp.flow.intervals();
    tcp.run(SECOND);
    let probes = tcp.flow.intervals() - before;
    assert!((200..=256).contains(&probes), "{probes} a second");
}

/// Packets that may leave once so many of 45 were acknowledged at once.
fn window(tcp: &Tcp, arrived: u32) -> u32 {
    let (mut flow, mut sample) = (tcp.flow.clone(), tcp.sample);
    sample.now += MS;
    (sample.sent, sample.bytes_sent) = (sample.sent.wrapping_add(45), sample.bytes_sent + 45 * PACKET);
    sample.delivered = sample.delivered.wrapping_add(arrived);
    sample.in_flight += 45 - arrived;
    sample.outstanding = sample.in_flight;
    flow.on_ack(&sample);
    flow.window(1000).saturating_sub(sample.in_flight)
}

/// The path of 0.1 ms has 10 ms more from 2 s on, for longer than we remember a least RTT. TCP remembers it, and has trains of
/// 64 kB.
#[test]
fn trains_are_bound_by_the_rtt_that_tcp_makes_them_by() {
    let mut tcp = Tcp::over(Path { rtt: MS / 10, longer: 10 * MS, loss: 0.05, ..Path::default() });
    tcp.flow.limit(50 * 125_000);
    tcp.run(15 * SECOND);
    assert!(window(&tcp, 45) < 10, "{} packets", window(&tcp, 45));
}

/// On a path of 0.1 ms a train has up to 64 kB, which are 45 packets, and TCP sends half of the window at once.
#[test]
fn window_has_room_for_trains_unless_packets_are_lost_or_marked() {
    for (loss, marks) in [(0.05, 0.0), (0.0, 0.05)] {
        let mut tcp = Tcp::over(Path { rtt: MS / 10, ..Path::default() });
        tcp.flow.limit(50 * 125_000);
        tcp.run(2 * SECOND);
        assert!(window(&tcp, 45) > 45, "{} packets more without a loss", window(&tcp, 45));
        assert!(window(&tcp, 12) >= 24, "{} packets more for twelve that arrived", window(&tcp, 12));
        assert!(window(&tcp, 1) < 12, "{} packets more for one that arrived", window(&tcp, 1));
        (tcp.path.loss, tcp.path.marks) = (loss, marks);
        tcp.run(SECOND);
        // Two trains of the time that they have on longer paths.
        assert!(window(&tcp, 45) < 10, "{} more with {loss} of them lost and {marks} marked", window(&tcp, 45));
    }
}

#[test]
fn a_pause_of_ten_milliseconds_is_a_busy_hosts() {
    let mut tcp = Tcp::over(Path { rtt: 2 * MS, ..Path::default() });
    tcp.run(SECOND);
    tcp.path.idle = (tcp.age(), 2 * SECOND);
    tcp.run(200 * MS);
    assert_eq!(tcp.in_flight(), 0);
    for (pause, is_one) in [(9900, false), (10_100, true)] {
        let sample = Sample { now: tcp.sample.now + pause * 1000, outstanding: 0, ..tcp.sample };
        assert_eq!(tcp.flow.clone().on_resumption(&sample), is_one, "{pause} us");
    }
}
