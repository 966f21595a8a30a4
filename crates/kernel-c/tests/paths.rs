//! The kernel's sender over simulated paths, told what TCP's counters tell, in virtual time.
#![cfg(target_os = "linux")]

mod tcp;

use pcc::rng::Rng;
use pcc_kernel_c::read_rtt;
use tcp::{MS, PACKET, Path, SECOND, Tcp};

#[test]
fn a_path_is_filled_with_a_short_queue() {
    for (mbit, rtt, buffer) in
        [(100.0, 30 * MS, 250), (10.0, 100 * MS, 1000), (1000.0, 5 * MS, 400), (2.0, 30 * MS, 30)]
    {
        let mut tcp = Tcp::over(Path { mbit, rtt, buffer, ..Path::default() });
        let (goodput, loss, queue) = tcp.run(5 * SECOND).measured(10 * SECOND);
        let packet = PACKET as f64 * 8e-3 / mbit;
        assert!(goodput > 0.92 * mbit, "{mbit} Mbit/s, {} ms: {goodput}", rtt / MS);
        assert!(
            loss < 0.005 && queue < 5.0 / mbit.sqrt() + 4.0 * packet + 1.0,
            "{mbit} Mbit/s: {loss} lost, {queue} ms"
        );
    }
}

#[test]
fn trains_of_short_path_leave_queue_short() {
    for rtt in [MS / 10, MS / 2, MS] {
        let mut tcp = Tcp::over(Path { rtt, autosized: true, ..Path::default() });
        let (goodput, loss, queue) = tcp.run(3 * SECOND).measured(10 * SECOND);
        assert!(goodput > 92.0 && loss < 0.001 && queue < 4.0, "{rtt} ns: {goodput} Mbit/s, {loss} lost, {queue} ms");
    }
}

#[test]
fn a_pacer_that_is_always_a_little_late_fills_the_path_too() {
    for (late, least) in [(0.01, 0.95), (0.03, 0.95), (0.06, 0.91)] {
        let mut tcp = Tcp::over(Path { mbit: 400.0, rtt: 50 * MS, buffer: 70, late, ..Path::default() });
        let (goodput, loss, _) = tcp.run(4 * SECOND).measured(4 * SECOND);
        assert!(goodput > least * 400.0 && loss < 0.02, "{late}: {goodput} Mbit/s, {loss} lost");
    }
}

#[test]
fn a_path_that_becomes_a_little_longer_is_not_taken_for_a_queue() {
    for (mbit, rtt, longer) in [(400.0, 10, 400_000), (800.0, 10, 200_000), (800.0, 10, 400_000), (800.0, 30, 400_000)]
    {
        let mut tcp = Tcp::over(Path { mbit, rtt: rtt * MS, buffer: 70, longer, ..Path::default() });
        let (goodput, loss, _) = tcp.run(8 * SECOND).measured(4 * SECOND);
        assert!(
            goodput > 0.9 * mbit && loss < 0.02,
            "{rtt} ms and {longer} ns: {goodput} of {mbit} Mbit/s, {loss} lost"
        );
    }
}

/// The path is 20 ms longer from 2 s on: by the least RTT of ten seconds that would be a queue, worth 570 less.
#[test]
fn what_interval_is_worth_is_by_what_law_knows_of_path() {
    let path = Path { longer: 20 * MS, ..Path::default() };
    let mut tcp = Tcp::striving("x^0.9 - 0.57*x*q/2ms + if(known(E), 1000 - 3000*E, 0)", path);
    tcp.run(6 * SECOND);
    for _ in 0..20 {
        let worth = tcp.run(100 * MS).flow.utility();
        assert!((950.0..1070.0).contains(&worth), "{worth}");
    }
}

#[test]
fn a_radio_s_bursts_are_no_growing_queue() {
    // BPF cannot but send trains of 1 ms.
    for (jitter, train, least) in [(20, 0, 97.0), (40, 0, 97.0), (60, 0, 97.0), (20, MS, 97.0), (60, MS, 95.0)] {
        let goodput = |seed: u64| {
            let path = Path { rtt: 100 * MS, buffer: 864, jitter: jitter * MS, train, ..Path::default() };
            let mut tcp = Tcp::over(path);
            tcp.rng = Rng::new(seed);
            tcp.run(2 * SECOND).measured(8 * SECOND).0
        };
        let mean = (1..=12).map(goodput).sum::<f64>() / 12.0;
        assert!(mean > least, "{jitter} ms, trains of {train} ns: {mean} Mbit/s");
    }
}

#[test]
fn random_loss_is_borne_and_a_full_queue_is_not_taken_for_it() {
    for (loss, least) in [(0.01, 0.85), (0.03, 0.8)] {
        let mut tcp = Tcp::over(Path { loss, ..Path::default() });
        let (goodput, lost, queue) = tcp.run(5 * SECOND).measured(20 * SECOND);
        assert!(goodput > least * 100.0 && queue < 3.0, "{loss}: {goodput} Mbit/s, {queue} ms");
        assert!((lost - loss).abs() < 0.01, "{lost} of {loss}");
    }
}

#[test]
fn the_loss_that_intervals_report_is_the_path_s_without_bias() {
    let mut tcp = Tcp::over(Path { loss: 0.03, ..Path::default() });
    tcp.run(5 * SECOND);
    tcp.reported.clear();
    let (_, lost, _) = tcp.measured(20 * SECOND);
    let reported = tcp.reported.iter().sum::<f64>() / tcp.reported.len() as f64;
    assert!(tcp.reported.len() > 1000 && (reported / lost - 1.0).abs() < 0.02, "{reported} of {lost}");
}

#[test]
fn one_late_packet_does_not_keep_intervals_open() {
    for (mbit, rtt) in [(2.0, 30 * MS), (10.0, 30 * MS), (100.0, 100 * MS)] {
        let mut tcp = Tcp::over(Path { mbit, rtt, reordering: 300, loss: 0.01, buffer: 1000, ..Path::default() });
        let (goodput, _, queue) = tcp.run(SECOND).measured(SECOND);
        assert!(goodput > 0.9 * mbit && queue < 40.0, "{mbit} Mbit/s: {goodput} in the second second, {queue} ms");
        tcp.reported.clear();
        // Long enough for losses to be many: of few the mean of intervals is a few per cent off by chance.
        let (goodput, lost, _) = tcp.measured((400.0 / mbit).max(40.0) as u64 * SECOND);
        let reported = tcp.reported.iter().sum::<f64>() / tcp.reported.len() as f64;
        assert!(goodput > 0.95 * mbit, "{goodput} of {mbit} Mbit/s");
        assert!((reported / lost - 1.0).abs() < 0.02, "{mbit} Mbit/s: {reported} of {lost}");
    }
}

#[test]
fn marks_that_intervals_report_are_path_s_however_they_are_told() {
    for (marks, accurate) in [(0.005, false), (0.1, false), (0.5, false), (0.005, true), (0.5, true)] {
        let reported = |seed: u64| {
            // Twenty Mbit/s are wanted, whatever becomes of them.
            let mut tcp = Tcp::striving("min(x, 20)", Path { marks, accurate, ..Path::default() });
            tcp.rng = Rng::new(seed);
            tcp.run(5 * SECOND);
            tcp.reported.clear();
            tcp.run(100 * SECOND);
            assert!(tcp.reported.len() > 1000);
            tcp.reported.iter().sum::<f64>() / tcp.reported.len() as f64
        };
        let mean = (1..=4).map(reported).sum::<f64>() / 4.0;
        assert!((mean / marks - 1.0).abs() < 0.06, "{mean} of {marks}");
    }
}

#[test]
fn a_mark_now_and_then_costs_little() {
    let goodput = |seed: u64| {
        let mut tcp = Tcp::over(Path { marks: 0.0005, ..Path::default() });
        tcp.rng = Rng::new(seed);
        tcp.run(2 * SECOND).measured(8 * SECOND).0
    };
    let mean = (1..=12).map(goodput).sum::<f64>() / 12.0;
    assert!(mean > 97.0, "{mean} Mbit/s");
}

#[test]
fn a_buffer_of_six_packets_is_enough() {
    let mut tcp = Tcp::over(Path { buffer: 6, ..Path::default() });
    let (goodput, lost, _) = tcp.run(5 * SECOND).measured(20 * SECOND);
    assert!(goodput > 85.0 && lost < 0.05, "{goodput} Mbit/s, {lost} lost");
}

#[test]
fn a_path_that_was_silent_is_looked_for_anew() {
    let mut tcp = Tcp::over(Path { silent: (5 * SECOND, 7 * SECOND), ..Path::default() });
    let (before, ..) = tcp.run(3 * SECOND).measured(SECOND);
    let (after, ..) = tcp.run(4 * SECOND).measured(2 * SECOND);
    assert!(after > 0.8 * before, "{before} Mbit/s before, {after} after");
}

#[test]
fn a_source_that_has_little_does_not_make_the_rate_grow() {
    let mut tcp = Tcp::over(Path { source: 5.0, ..Path::default() });
    tcp.run(10 * SECOND);
    assert!(tcp.highest < 25 * 125_000, "{} byte/s for a source of 5 Mbit/s", tcp.highest);
}

#[test]
fn equal_events_give_equal_decisions_and_window() {
    let run = || {
        let mut tcp = Tcp::over(Path { loss: 0.02, ..Path::default() });
        tcp.run(5 * SECOND);
        (tcp.flow.rate(), tcp.window, tcp.delivered)
    };
    let first = run();
    assert_eq!(first, run());
    let product = first.0 as f64 * 0.03 / PACKET as f64;
    let products = f64::from(first.1) / product;
    assert!((2.0..2.3).contains(&products), "{} packets, of a product of {product}", first.1);
}

#[test]
fn the_law_is_needed_where_an_interval_ends_and_nowhere_else() {
    for rtt in [3 * MS, 30 * MS] {
        let mut tcp = Tcp::over(Path { rtt, ..Path::default() });
        tcp.run(5 * SECOND);
        let (intervals, acknowledgements, needed) = (tcp.flow.intervals(), tcp.acknowledgements, tcp.for_the_law);
        tcp.run(5 * SECOND);
        let intervals = u64::from(tcp.flow.intervals() - intervals);
        let (acknowledgements, needed) = (tcp.acknowledgements - acknowledgements, tcp.for_the_law - needed);
        assert!(acknowledgements > 10 * intervals, "{acknowledgements} of {intervals} intervals");
        assert!((intervals..=2 * intervals + 2).contains(&needed), "{needed} for {intervals} intervals");
    }
}

#[test]
fn decisions_need_nothing_of_the_working_memory_before() {
    let silent = (3 * SECOND, 4 * SECOND);
    let paths = || {
        [
            Path { loss: 0.02, marks: 0.01, idle: silent, ..Path::default() },
            Path { silent, undone: true, source: 40.0, ..Path::default() },
            Path { rtt: 2 * MS, buffer: 30, jitter: MS, then: 20.0, ..Path::default() },
        ]
    };
    for utility in ["fair", "scavenger", "sqrt(x) - 100*x*q"] {
        let run = |path: Path, leftover: Option<u8>| {
            let mut tcp = Tcp::striving(utility, path);
            leftover.into_iter().for_each(|byte| tcp.flow.share_working_memory(byte));
            let decisions: Vec<_> = (0..6000).map(|_| (tcp.run(MS).flow.rate(), tcp.window)).collect();
            (decisions, tcp.delivered)
        };
        for (number, (alone, beside)) in paths().into_iter().zip(paths()).enumerate() {
            let equal = run(alone, None) == run(beside, Some(0x40 + number as u8));
            assert!(equal, "{utility}, path {number}");
        }
    }
}

#[test]
fn an_rtt_of_whole_milliseconds_is_not_the_path_s() {
    let (sent, now) = (77_000_000, 77_047_400);
    for (what, taken, is_retransmitted, is_delayed, expected) in [
        ("nothing was lost", 47_400, false, false, 47_400),
        ("something sent again arrived with it", 47_000, false, false, 47_400),
        ("it was sent again: of which of both is this?", 47_000, true, false, 0),
        ("the receiver may have waited", 47_400, false, true, 0),
    ] {
        assert_eq!(read_rtt(now, sent, taken, is_retransmitted, is_delayed), expected, "{what}");
    }
    assert_eq!(read_rtt(sent, sent, 0, false, false), 0, "no time passed");
}
