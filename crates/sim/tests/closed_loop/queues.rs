//! Queue disciplines keep their promises with senders that answer them, and traffic goes the other way too.

use crate::behaviour::{at_least, at_most, s};
use pcc_sim::{Cast, Queue, Results, Scenario, run};

/// These senders behind this queue, for so many seconds.
fn behind(queue: Queue, path: &str, flows: &str, ecn: bool, seconds: u64) -> Results {
    drawn(1, queue, path, flows, ecn, seconds)
}

/// [`behind`], with all that is drawn from this seed.
fn drawn(seed: u64, queue: Queue, path: &str, flows: &str, ecn: bool, seconds: u64) -> Results {
    let Cast(mut flows) = flows.parse().unwrap();
    for (number, flow) in (0..).zip(&mut flows) {
        flow.config.seed = 1000 * seed + number;
        flow.ecn |= ecn;
    }
    run(&Scenario { queue, ..Scenario::new(path.parse().unwrap(), flows, seed, s(seconds)) }).unwrap()
}

fn mbit(results: &Results, flow: usize) -> f64 {
    let end = results.duration;
    results.flows[flow].goodput(end / 4, end).mbit()
}

/// Quantile of the queueing delay without the first quarter. Unit: ms.
fn waits(results: &Results, quantile: f64) -> f64 {
    results.queueing_delay(quantile, results.duration / 4).as_secs_f64() * 1e3
}

/// Median of the RTT that a queue added to this flow's. Unit: ms.
fn added(results: &Results, flow: usize) -> f64 {
    results.flows[flow].added_rtt(0.5).as_secs_f64() * 1e3
}

const PATH: &str = "rate=50Mbit,rtt=40ms,buffer=1MB";

#[test]
fn pie_holds_cubic_at_15_ms() {
    for (flows, least) in [("cubic", 11.0), ("cubic*4", 13.5), ("cubic*16", 13.5)] {
        for ecn in [false, true] {
            let results = behind(Queue::Pie, PATH, flows, ecn, 60);
            at_least(&format!("median of the queue, {flows}"), waits(&results, 0.5), least, &results);
            at_most("median of the queue", waits(&results, 0.5), 16.5, &results);
            at_most("95th percentile of it", waits(&results, 0.95), 24.0, &results);
            at_least("share", results.share_after(s(15)), 0.99, &results);
            // Without marks the same would be lost: one packet in two thousand for four of them.
            assert_eq!((results.marked > 0, results.loss_after(s(15)) > 0.0), (ecn, !ecn), "{flows}");
        }
    }
    let unmanaged = waits(&behind(Queue::DropTail, PATH, "cubic*4", false, 60), 0.5);
    assert!(unmanaged > 120.0, "{unmanaged}");
}

#[test]
fn fair_queues_leave_cubic_its_half_beside_a_flood() {
    for (queue, flow_queue) in [(Queue::FqPie, 24.0), (Queue::Sfq, 80.0), (Queue::Cake, 12.0)] {
        let results = behind(queue, PATH, "60Mbit cubic", false, 40);
        at_least(&format!("CUBIC's Mbit/s, {queue:?}"), mbit(&results, 1), 23.5, &results);
        at_most("CUBIC's own queue", added(&results, 1), flow_queue, &results);
        at_most("Mbit/s of the flood", mbit(&results, 0), 26.5, &results);
    }
    let crushed = mbit(&behind(Queue::Pie, PATH, "60Mbit cubic", false, 40), 1);
    assert!(crushed < 5.0, "{crushed}");
}

#[test]
fn dualpi2_keeps_scalable_senders_below_two_milliseconds() {
    for rtt in [5, 20, 80] {
        let path = format!("rate=50Mbit,rtt={rtt}ms,buffer=1MB");
        for flows in ["prague", "prague*4", "prague cubic", "prague*4 cubic*4"] {
            let results = behind(Queue::DualPi2, &path, flows, false, 40);
            let late = results.flows[0].added_rtt(0.95).as_secs_f64() * 1e3;
            at_most(&format!("95th percentile of Prague's RTT, {flows}, {rtt} ms"), late, 2.4, &results);
            at_least("share", results.share_after(s(10)), 0.95, &results);
            if flows.contains("cubic") {
                let classic = added(&results, results.flows.len() - 1);
                at_least("median of CUBIC's", classic, 8.0, &results);
                at_most("median of CUBIC's", classic, 17.0, &results);
            }
        }
    }
}

#[test]
fn dualpi2_couples_scalable_and_classic_senders() {
    // At equal windows the rates are as the RTTs: those of CUBIC hold 15 ms of queue.
    for (flows, pairs) in [("cubic prague", 1), ("cubic*4 prague*4", 4)] {
        for rtt in [10.0, 40.0, 80.0] {
            let path = format!("rate=50Mbit,rtt={rtt}ms,buffer=1MB");
            let results = behind(Queue::DualPi2, &path, flows, false, 60);
            let sum = |from: usize| (from..from + pairs).map(|flow| mbit(&results, flow)).sum::<f64>();
            let windows = (sum(pairs) * (rtt + 1.0)) / (sum(0) * (rtt + 15.0));
            at_least(&format!("ratio of windows, {flows}, {rtt} ms"), windows, 0.6, &results);
            at_most("ratio of windows", windows, 1.6, &results);
        }
    }
    // One queue for both: the scalable sender takes a mark for less than CUBIC does, and nearly all of the path.
    let shared = behind(Queue::Red, PATH, "cubic:ect0 prague:ect0", false, 60);
    assert!(mbit(&shared, 1) > 4.0 * mbit(&shared, 0), "{} {}", mbit(&shared, 0), mbit(&shared, 1));
}

const ASYMMETRIC: &str = "down.rate=100Mbit,up.rate=4Mbit,rtt=30ms,down.buffer=375KB,up.buffer=64KB";

#[test]
fn flows_that_go_back_fill_the_way_up() {
    for flows in ["pcc:back", "cubic:back", "bbr:back"] {
        let results = behind(Queue::DropTail, ASYMMETRIC, flows, false, 30);
        at_least(flows, mbit(&results, 0), 3.8, &results);
        at_most(flows, mbit(&results, 0), 4.0, &results);
        assert!((3.99..4.01).contains(&results.capacity_for(0, s(10), s(30)).mbit()));
        assert_eq!(
            (results.share_after(s(0)), results.queueing_delay(1.0, s(5)).as_millis()),
            (0.0, 0),
            "nothing goes down"
        );
    }
    // Two bottlenecks: the second one is the first on the way up, and the narrow one.
    let Cast(flows) = "6Mbit:back 3Mbit:back:via=2".parse().unwrap();
    let beyond = vec!["rate=8Mbit,rtt=20ms,buffer=20KB".parse().unwrap()];
    let path = "rate=50Mbit,rtt=10ms,buffer=20KB".parse().unwrap();
    let results = run(&Scenario { beyond, ..Scenario::new(path, flows, 1, s(10)) }).unwrap();
    assert_eq!([0, 1].map(|flow| results.flows[flow].base_rtt.as_millis()), [30, 20]);
    let all = mbit(&results, 0) + mbit(&results, 1);
    assert!((7.9..8.01).contains(&all) && results.flows[0].loss() > 0.05, "{all}");
}

#[test]
fn an_upload_delays_acknowledgements_as_its_queue_is_long() {
    let both = |download: &str, upload: &str| {
        behind(Queue::DropTail, ASYMMETRIC, &format!("{download} {upload}:back:start=10s"), false, 60)
    };
    // Acknowledgements of 100 Mbit/s, one for two packets, are 2.9 Mbit/s. CUBIC as upload fills 64 kB, which are 128 ms.
    let results = both("cubic", "cubic");
    at_least("ms that the upload adds to CUBIC's download", added(&results, 0), 80.0, &results);
    at_least("Mbit/s of CUBIC's download", mbit(&results, 0), 75.0, &results);
    at_least("of the upload", mbit(&results, 1), 1.2, &results);
    // Acknowledgements say when they left, and their queue is none of the data's.
    for (download, least, upload) in [("pcc", 90.0, 1.0), ("pcc:ackevery=16", 90.0, 3.4)] {
        let results = both(download, "cubic");
        at_least("Mbit/s of PCC's download", mbit(&results, 0), least, &results);
        at_least("of the upload", mbit(&results, 1), upload, &results);
    }
    let results = both("pcc:ackevery=16", "pcc");
    at_most("ms that PCC's upload adds to the download", added(&results, 0), 10.0, &results);
    at_least("Mbit/s of the upload", mbit(&results, 1), 3.2, &results);
}

#[test]
fn a_download_that_is_not_told_has_about_a_tenth() {
    // It takes the queue on the way up for a rival's on the way down, and leaves nine tenths of that.
    let mut downloads = Vec::new();
    for seed in 1..=10 {
        let results = drawn(seed, Queue::DropTail, ASYMMETRIC, "pcc:untimed cubic:back:start=10s", false, 60);
        at_least("Mbit/s of the upload", mbit(&results, 1), 3.2, &results);
        downloads.push(mbit(&results, 0));
    }
    downloads.sort_by(f64::total_cmp);
    assert!(downloads[0] > 4.0 && downloads[5] > 8.0 && downloads[9] < 50.0, "{downloads:?} Mbit/s");
}

#[test]
fn a_fair_queue_on_the_way_up_spares_acknowledgements() {
    let both = |queue: &str| {
        let path = format!("{ASYMMETRIC}{queue}");
        mbit(&behind(Queue::DropTail, &path, "pcc:ackevery=16:untimed cubic:back", false, 40), 0)
    };
    let (droptail, fair) = (both(""), both(",up.queue=fq_codel"));
    assert!(fair > 95.0 && droptail < 70.0, "{fair} {droptail}");
}

#[test]
fn a_queue_of_the_path_is_that_of_the_scenario() {
    let named = behind(Queue::Pie, PATH, "cubic*2 pcc", true, 10);
    let written = behind(Queue::DropTail, &format!("{PATH},down.queue=pie"), "cubic*2 pcc", true, 10);
    let counts = |results: &Results| {
        (results.events, results.marked, results.flows.iter().map(|flow| flow.sent.packets).collect::<Vec<_>>())
    };
    assert_eq!(counts(&named), counts(&written));
    assert!(named.marked > 0);
}
