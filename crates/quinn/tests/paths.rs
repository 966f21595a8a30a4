//! PCC over quinn and over noq, on the same paths in virtual time.
//!
//! The table of docs/library.md: `cargo test --release -p pcc-quinn --test paths -- --ignored --nocapture`.

mod virtual_time;

use noq_proto::TransportConfig;
use pcc::observe::{Event, Observer};
use pcc_quic::Algorithm;
use pcc_quic::transport::{self, Windows};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use virtual_time::{Achieved, noq_stack, quinn_stack, run};

/// Name, path, and the seconds that a run of the table takes.
const PATHS: [(&str, &str, u64); 8] = [
    ("loss of 1 %", "rate=100Mbit,rtt=30ms,loss=1%,buffer=375KB", 20),
    ("loss of 4 %", "rate=100Mbit,rtt=30ms,loss=4%,buffer=375KB", 20),
    ("satellite, buffer 1 MB", "rate=42Mbit,rtt=800ms,loss=0.74%,buffer=1MB", 100),
    ("satellite, buffer 30 KB", "rate=42Mbit,rtt=800ms,loss=0.74%,buffer=30KB", 100),
    ("satellite, buffer 15 KB", "rate=42Mbit,rtt=800ms,loss=0.74%,buffer=15KB", 100),
    ("satellite, buffer 7.5 KB", "rate=42Mbit,rtt=800ms,loss=0.74%,buffer=7.5KB", 100),
    ("buffer of six packets", SIX_PACKETS, 20),
    ("bufferbloat", "rate=20Mbit,rtt=30ms,buffer=2MB", 30),
];

const SIX_PACKETS: &str = "rate=100Mbit,rtt=30ms,buffer=9KB";

fn core(seed: u64) -> pcc::Config {
    pcc::Config { seed, ..pcc::Config::default() }
}

fn over_quinn(path: &str, seed: u64, time: Duration) -> Achieved {
    let now = Instant::now();
    run(quinn_stack::pair(now, pcc_quinn::PccConfig::from(core(seed))), now, path, seed, time)
}

fn over_noq(path: &str, seed: u64, time: Duration) -> Achieved {
    let now = Instant::now();
    run(noq_stack::pair(now, pcc_quic::PccConfig::from(core(seed))), now, path, seed, time)
}

/// Goodput in Mbit/s, queueing delay in ms and loss rate, each the median of so many seeds.
fn medians(seeds: u64, achieved: impl Fn(u64) -> Achieved) -> [f64; 3] {
    let all: Vec<_> = (1..=seeds).map(achieved).collect();
    [|one: &Achieved| one.goodput, |one: &Achieved| one.waited, |one: &Achieved| one.lost].map(|quantity| {
        let mut values: Vec<_> = all.iter().map(quantity).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}

/// Goodput over quinn as a share of that over noq.
fn share(name: &str, seconds: u64) -> f64 {
    let (_, path, _) = PATHS.into_iter().find(|path| path.0 == name).expect("a path of the table");
    let time = Duration::from_secs(seconds);
    let [quinn, ..] = medians(3, |seed| over_quinn(path, seed, time));
    let [noq, ..] = medians(3, |seed| over_noq(path, seed, time));
    quinn / noq
}

#[test]
fn one_percent_of_loss_is_as_over_noq() {
    assert!(share("loss of 1 %", 10) > 0.9);
}

#[test]
fn four_percent_of_loss_is_as_over_noq() {
    assert!(share("loss of 4 %", 10) > 0.9);
}

#[test]
fn a_satellite_is_as_over_noq() {
    assert!(share("satellite, buffer 1 MB", 60) > 0.9);
}

/// Trains of ten overflow it at any rate, and behind the queue that they make: losses that are somebody's.
#[test]
fn trains_of_ten_leave_a_fifth_of_a_path_with_six_packets_of_buffer() {
    let share = share("buffer of six packets", 10);
    assert!((0.15..0.5).contains(&share), "{share}");
}

#[test]
fn a_bloated_buffer_is_as_over_noq() {
    assert!(share("bufferbloat", 10) > 0.9);
}

/// quinn's pacer sends ten packets at a time. If this fails, quinn has learned better, and the guide has a row too many.
#[test]
fn trains_of_ten_overflow_five_packets_of_buffer() {
    assert!(share("satellite, buffer 7.5 KB", 60) < 0.5);
}

/// Packets are late by up to three quarters of an RTT. noq tolerates what it has seen, and tells PCC of each late packet.
const REORDERING: [(&str, f64); 5] = [
    ("rate=60Mbit,rtt=20ms,buffer=300KB,jitter=15ms:reorder", 60.0),
    ("rate=120Mbit,rtt=60ms,buffer=900KB,jitter=8ms:reorder", 120.0),
    ("rate=120Mbit,rtt=60ms,buffer=900KB,jitter=15ms:reorder", 120.0),
    ("rate=120Mbit,rtt=60ms,buffer=900KB,jitter=25ms:reorder", 120.0),
    ("rate=100Mbit,rtt=30ms,buffer=375KB,reorder=30%:20ms", 100.0),
];

#[test]
fn over_noq_late_packets_are_no_losses() {
    for (path, mbit) in REORDERING {
        let goodput = over_noq(path, 1, Duration::from_secs(4)).goodput;
        assert!(goodput > 0.8 * mbit, "{path}: {goodput} Mbit/s");
    }
}

/// Adds up the packets that PCC's reports call lost.
#[derive(Debug, Default)]
struct Lost(AtomicU64);

impl Observer for Lost {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Interval { report, .. } = event {
            self.0.fetch_add(report.packets_lost.into(), Ordering::Relaxed);
        }
    }
}

/// One packet in fifty is late by 40 ms: more than the quarter of an RTT for which noq waits at first. Two of a connection are lost to
/// it until it waits longer.
#[test]
fn over_noq_what_others_overtook_is_lost_to_noq_and_not_to_pcc() {
    let (path, time) = ("rate=10Mbit,rtt=100ms,buffer=250KB,reorder=2%:40ms", Duration::from_secs(6));
    let (by_noq, by_pcc) = (1..=40).fold((0, 0), |(by_noq, by_pcc), seed| {
        let lost = Arc::new(Lost::default());
        let core = pcc::Config { observer: Some(Arc::clone(&lost) as _), ..core(seed) };
        let now = Instant::now();
        let achieved = run(noq_stack::pair(now, pcc_quic::PccConfig::from(core)), now, path, seed, time);
        (by_noq + achieved.declared_lost, by_pcc + lost.0.load(Ordering::Relaxed))
    });
    assert!(by_noq > 40 && by_pcc * 4 < by_noq, "{by_noq} by noq, {by_pcc} by PCC");
}

/// After forty intervals it asks a connection for 5 Mbit/s and no more.
#[derive(Debug, Default)]
struct AsksForLess {
    handle: OnceLock<pcc_quinn::Handle>,
    intervals: AtomicU64,
}

impl Observer for AsksForLess {
    fn on_event(&self, event: &Event<'_>) {
        if matches!(event, Event::Interval { .. }) && self.intervals.fetch_add(1, Ordering::Relaxed) == 40 {
            let less = pcc::utility::parse("rate-limiter,limit=5Mbit").expect("a built-in one");
            self.handle.get().expect("a handle").set_utility(less);
        }
    }
}

/// A connection's probes depend on how many this process began before, those of other tests among them: one alone had 6.05.
#[test]
fn over_quinn_a_handle_changes_the_utility_of_a_connection() {
    let (path, time) = ("rate=20Mbit,rtt=30ms,buffer=75KB", Duration::from_secs(10));
    let [goodput, ..] = medians(5, |seed| {
        let asks = Arc::new(AsksForLess::default());
        let observer = Some(Arc::clone(&asks) as _);
        let config = pcc_quinn::PccConfig::from(pcc::Config { observer, ..core(seed) });
        asks.handle.set(config.handle.clone()).expect("once");
        let now = Instant::now();
        let achieved = run(quinn_stack::pair(now, config), now, path, seed, time);
        assert!(asks.intervals.load(Ordering::Relaxed) > 100, "{asks:?}");
        achieved
    });
    assert!((4.0..6.0).contains(&goodput), "{goodput} Mbit/s");
}

#[test]
fn over_quinn_the_next_connection_begins_where_the_last_was() {
    let path = "rate=40Mbit,rtt=200ms,buffer=1MB";
    let peer = pcc_quinn::Peer {
        address: "192.0.2.7".parse().expect("an address"),
        store: Arc::new(pcc_quinn::RecentPaths::default()),
    };
    let goodput = |seconds: f64| {
        let config = pcc_quinn::PccConfig { peer: Some(peer.clone()), ..core(1).into() };
        let now = Instant::now();
        run(quinn_stack::pair(now, config), now, path, 1, Duration::from_secs_f64(seconds)).goodput
    };
    let first = goodput(2.0);
    goodput(10.0);
    let learnt = peer.recall().expect("a path that is known");
    assert!((30.0..41.0).contains(&learnt.rate.mbit()), "{learnt:?}");
    let next = goodput(2.0);
    assert!(next > 1.1 * first, "{next} after {first} Mbit/s");
}

/// Goodput of the simulator's PCC in Mbit/s, from half of the time on, without headers.
fn simulated(path: &str, seed: u64, time: Duration) -> f64 {
    let flow = pcc_sim::Flow { config: core(seed), ..pcc_sim::Flow::default() };
    let payload = flow.config.max_datagram_size.get() as f64 / flow.packet().get() as f64;
    let scenario = pcc_sim::Scenario::new(path.parse().expect("a path"), vec![flow], seed, time);
    let results = pcc_sim::run(&scenario).expect("a possible path");
    results.flows[0].goodput(time / 2, time).mbit() * payload
}

/// Both tolerate late packets alike.
#[test]
fn the_simulator_is_as_noq_where_packets_are_late() {
    let time = Duration::from_secs(8);
    for (path, _) in REORDERING {
        let ratio = simulated(path, 1, time) / over_noq(path, 1, time).goodput;
        assert!((0.9..=1.1).contains(&ratio), "{path}: {ratio}");
    }
}

/// One stream over noq, with the windows and whatever else `pcc_quic::transport::config` has.
fn over_noq_as_configured(
    path: &str,
    algorithm: &Algorithm,
    time: Duration,
    change: fn(&mut TransportConfig),
) -> Achieved {
    let now = Instant::now();
    let mut transport = transport::config(algorithm, &Windows::default());
    change(&mut transport);
    run(noq_stack::pair_with(now, transport, 1), now, path, 1, time)
}

/// Between 5,200 acknowledgements a second and the 500 that PCC asks for.
#[test]
fn over_noq_a_way_back_of_half_a_percent_carries_the_answers() {
    let time = Duration::from_secs(8);
    for up in ["4Mbit", "2Mbit", "1Mbit", "500kbit"] {
        let path = format!("rate=100Mbit,rtt=30ms,buffer=375KB,up.rate={up},up.buffer=64KB");
        let achieved = over_noq_as_configured(&path, &Algorithm::default(), time, |_| ());
        assert!(achieved.goodput > 90.0, "{up}: {achieved:?}");
    }
}

#[test]
fn over_noq_a_window_that_grows_carries_a_gigabit_over_100_ms() {
    let (path, time) = ("rate=1Gbit,rtt=100ms,buffer=12.5MB", Duration::from_secs(5));
    let goodput = over_noq_as_configured(path, &Algorithm::default(), time, |_| ()).goodput;
    assert!(goodput > 900.0, "{goodput} Mbit/s");
}

#[test]
#[ignore = "prints what ways back of 4 to 0.5 Mbit/s leave of 100 Mbit/s, for a minute"]
#[expect(clippy::print_stdout, reason = "its output is the table")]
fn ways_back() {
    for up in ["4Mbit", "2Mbit", "1Mbit", "500kbit"] {
        let path = format!("rate=100Mbit,rtt=30ms,buffer=375KB,up.rate={up},up.buffer=64KB");
        let often = |transport: &mut TransportConfig| {
            transport.ack_frequency_config(None);
        };
        for (name, algorithm, change) in [
            ("pcc", Algorithm::default(), (|_| ()) as fn(&mut TransportConfig)),
            ("pcc, every second packet acknowledged", Algorithm::default(), often),
            ("cubic", Algorithm::Cubic, |_| ()),
            ("bbr", Algorithm::Bbr, |_| ()),
        ] {
            println!("{up} {name} {:?}", over_noq_as_configured(&path, &algorithm, Duration::from_secs(20), change));
        }
    }
}

#[test]
#[ignore = "measures the table of docs/library.md, for minutes"]
#[expect(clippy::print_stdout, reason = "its output is the table")]
fn table() {
    for (name, path, seconds) in PATHS {
        let time = Duration::from_secs(seconds);
        let quinn = medians(5, |seed| over_quinn(path, seed, time));
        let noq = medians(5, |seed| over_noq(path, seed, time));
        println!("| {name} | {:.1} | {:.1} | {:.2} |  {quinn:.4?} {noq:.4?}", quinn[0], noq[0], quinn[0] / noq[0]);
    }
}
