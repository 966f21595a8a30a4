use crate::sim::{Flow, Results, Scenario, Source, run};
use core::time::Duration;
use pcc::units::Rate;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// One greedy flow over `path` for so many seconds.
fn alone(path: &str, seconds: u64) -> Results {
    flows(path, seconds, vec![Flow::default()])
}

fn flows(path: &str, seconds: u64, mut flows: Vec<Flow>) -> Results {
    for (seed, flow) in (1..).zip(&mut flows) {
        flow.config.seed = seed;
    }
    let path = path.parse().unwrap_or_else(|error| panic!("{error}"));
    run(&Scenario { path, flows, seed: 1, duration: s(seconds) })
}

/// Fails with what happened, second by second.
fn story(results: &Results) -> String {
    let mut text = String::new();
    for (number, flow) in results.flows.iter().enumerate() {
        text += &format!("flow {number}: loss {:.2} %, {:?}\n", flow.loss() * 100.0, flow.sent);
        for second in flow.series.chunks(10) {
            let Some(last) = second.last() else { continue };
            let goodput = flow.goodput(last.at.saturating_sub(s(1)), last.at);
            text +=
                &format!("{:5.1} s {:18} rate {} goodput {goodput}\n", last.at.as_secs_f64(), last.state, last.rate);
        }
    }
    text
}

#[track_caller]
fn at_least(what: &str, value: f64, bound: f64, results: &Results) {
    assert!(value >= bound, "{what} is {value:.3}, below {bound}\n{}", story(results));
}

#[track_caller]
fn at_most(what: &str, value: f64, bound: f64, results: &Results) {
    assert!(value <= bound, "{what} is {value:.3}, above {bound}\n{}", story(results));
}

#[test]
fn a_clean_path_is_filled() {
    let results = alone("clean", 20);
    at_least("share", results.share_after(s(5)), 0.95, &results);
}

#[test]
fn a_satellite_path_is_filled_through_five_packets_of_buffer() {
    let results = alone("satellite", 100);
    at_least("share from the first packet", results.share_after(s(0)), 0.90, &results);
}

#[test]
fn one_percent_of_random_loss_costs_one_percent() {
    let results = alone("lossy", 30);
    at_least("share", results.share_after(s(5)), 0.95, &results);
}

#[test]
fn two_percent_of_random_loss_still_leave_a_full_path() {
    let results = alone("lossy,loss=2%", 30);
    at_least("share", results.share_after(s(5)), 0.85, &results);
}

#[test]
fn ten_percent_of_loss_make_the_safe_utility_back_off() {
    let results = alone("lossy,loss=0%,down.loss=10%", 30);
    at_most("share", results.share_after(s(10)), 0.2, &results);
}

/// One greedy flow with another utility, alone as behind a fair queue.
fn alone_with(utility: &str, path: &str, seconds: u64) -> Results {
    let mut flow = Flow::default();
    flow.config.utility = pcc::utility::by_name(utility).unwrap();
    flows(path, seconds, vec![flow])
}

#[test]
fn half_of_all_packets_lost_leave_a_full_path_to_the_loss_resilient_utility() {
    for loss in ["10%", "50%"] {
        let results = alone_with("loss-resilient", &format!("lossy,loss=0%,down.loss={loss}"), 30);
        at_least("share", results.share_after(s(5)), 0.95, &results);
    }
}

#[test]
fn the_interactive_utility_keeps_a_deep_buffer_empty() {
    let results = alone_with("interactive", "rate=40Mbit,rtt=20ms,buffer=1MB", 30);
    at_least("share", results.share_after(s(5)), 0.90, &results);
    at_most("median of the RTT added, in ms", results.flows[0].added_rtt(0.5).as_secs_f64() * 1e3, 2.0, &results);
}

#[test]
fn six_packets_of_buffer_are_enough() {
    let results = alone("shallow,buffer=9KB", 30);
    at_least("share", results.share_after(s(5)), 0.90, &results);
}

#[test]
fn two_packets_of_buffer_are_enough() {
    let results = alone("shallow,buffer=3KB", 30);
    at_least("share", results.share_after(s(5)), 0.90, &results);
}

#[test]
fn a_single_packet_of_buffer_leaves_most_of_the_path() {
    let results = alone("shallow,buffer=1.5KB", 30);
    at_least("share", results.share_after(s(5)), 0.80, &results);
}

#[test]
fn a_changing_path_is_followed() {
    let results = alone("changing", 200);
    at_least("share", results.share_after(s(0)), 0.80, &results);
    at_most("loss", results.flows[0].loss(), 0.06, &results);
}

#[test]
fn a_black_out_stops_the_sender_and_its_end_brings_it_back() {
    let results = alone("clean,blackout=10s/2s", 20);
    let flow = &results.flows[0];
    let packets_per_rtt = flow.rate_at(ms(11_900)) * ms(30);
    at_most("packets an RTT in the dark", packets_per_rtt.get() as f64 / 1472.0, 2.01, &results);
    let before = flow.goodput(s(5), s(10)).mbit();
    let windows = || (12_000..20_000).step_by(100).map(|t| (t, flow.goodput(ms(t), ms(t + 100)).mbit()));
    let back = windows().find(|(_, mbit)| *mbit >= 0.8 * before).map_or(f64::INFINITY, |(t, _)| f64::from(t as u32));
    at_most("ms from the path's return until 80 % are back", back - 12_000.0, 600.0, &results);
}

#[test]
fn an_application_limited_sender_does_not_raise_its_rate() {
    let twenty = Flow { source: Source::At(Rate::from_mbit(20.0)), ..Flow::default() };
    let results = flows("clean", 60, vec![twenty]);
    let highest = results.flows[0].series.iter().filter(|sample| sample.at > s(10)).map(|sample| sample.rate.mbit());
    at_most("highest rate in Mbit/s", highest.fold(0.0, f64::max), 40.0, &results);
    let wire = 1500.0 / 1472.0;
    at_least("goodput in Mbit/s", results.flows[0].goodput(s(10), s(60)).mbit(), 19.9 * wire, &results);
}

#[test]
fn a_telephone_modem_is_filled() {
    let results = alone("modem", 60);
    at_least("share", results.share_after(s(20)), 0.80, &results);
}

#[test]
fn a_modem_s_short_buffer_is_not_flooded() {
    let results = alone("rate=56kbit,rtt=100ms,buffer=8KB", 60);
    at_least("share", results.share_after(s(20)), 0.80, &results);
    at_most("loss", results.flows[0].loss(), 0.10, &results);
}

#[test]
fn a_queue_of_seconds_does_not_hide_that_starting_is_over() {
    let results = alone("rate=56kbit,rtt=100ms,buffer=16KB", 20);
    at_most("loss", results.flows[0].loss(), 0.25, &results);
    at_least("share", results.share_after(s(0)), 0.85, &results);
}

#[test]
fn starting_on_a_shallow_path_overshoots_by_little_more_than_one_doubling() {
    let results = alone("satellite", 20);
    let lost = results.flows[0].sent.packets as f64 * (results.flows[0].loss() - 0.0074);
    at_most("bandwidth-delay products lost", lost * 1500.0 / 4.2e6, 2.0, &results);
}

#[test]
fn a_short_transfer_loses_little_to_its_start() {
    // 1 MB ends one or two rounds after Starting did; until the queue was watched, a quarter of it was sent twice.
    for path in ["rate=15Mbit,rtt=60ms,buffer=112KB", "rate=1Gbit,rtt=1ms,buffer=100KB"] {
        let results = flows(path, 30, vec![Flow { source: Source::Volume("1MB".parse().unwrap()), ..Flow::default() }]);
        assert!(results.flows[0].finished.is_some());
        at_most("loss", results.flows[0].loss(), 0.05, &results);
    }
}

#[test]
fn a_path_of_two_packets_a_round_trip_works() {
    let results = alone("rate=240kbit,rtt=100ms,buffer=6KB", 60);
    at_least("share", results.share_after(s(20)), 0.75, &results);
}

#[test]
fn a_fast_and_short_path_is_filled() {
    let results = alone("rate=1Gbit,rtt=1ms,buffer=125KB", 5);
    at_least("share", results.share_after(s(2)), 0.95, &results);
}

#[test]
fn reordering_is_not_taken_for_congestion() {
    let results = alone("reordering", 20);
    at_least("share", results.share_after(s(5)), 0.90, &results);
}

#[test]
fn jitter_is_not_taken_for_congestion() {
    let results = alone("clean,jitter=5ms", 20);
    at_least("share", results.share_after(s(5)), 0.90, &results);
}

#[test]
fn two_flows_share_evenly() {
    let second = Flow { start: s(10), ..Flow::default() };
    let results = flows("clean", 120, vec![Flow::default(), second]);
    at_least("Jain's index over 20 s", results.jain(s(20), s(60), s(120)), 0.95, &results);
    at_least("share", results.share(s(60), s(120)), 0.90, &results);
}

#[test]
fn a_newcomer_gets_its_half_within_seconds() {
    let mut rates = Vec::new();
    for seed in 1..=8 {
        let mut flows = [Flow::default(), Flow { start: s(10), ..Flow::default() }];
        for (number, flow) in (0..).zip(&mut flows) {
            flow.config.seed = seed * 10 + number;
        }
        let path = "clean".parse().unwrap();
        let results = run(&Scenario { path, flows: flows.into(), seed, duration: s(25) });
        rates.push(results.flows[1].goodput(s(12), s(17)).mbit());
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!(mean >= 41.0, "in its third to seventh second, of 100 Mbit/s: {rates:.1?}");
}

#[test]
fn four_flows_arriving_one_by_one_share_evenly() {
    let arriving = |number: u64| Flow { start: s(30 * number), ..Flow::default() };
    let results = flows("clean", 300, (0..4).map(arriving).collect());
    // The paper's flows arrive 500 s apart: what counts is where they settle, not how fast.
    at_least("Jain's index over 5 s", results.jain(s(5), s(180), s(300)), 0.95, &results);
    at_least("Jain's index over 20 s", results.jain(s(20), s(180), s(300)), 0.98, &results);
}

#[test]
fn a_transfer_of_known_size_finishes() {
    let file = Flow { source: Source::Volume("10MB".parse().unwrap()), ..Flow::default() };
    let results = flows("lossy", 30, vec![file]);
    let finished = results.flows[0].finished.map_or(f64::INFINITY, |at| at.as_secs_f64());
    at_most("seconds for 10 MB at 100 Mbit/s", finished, 2.0, &results);
}

#[test]
#[ignore = "missed by some seeds at this RTT: 0.486 for instance"]
fn a_short_and_a_long_path_share_a_bottleneck() {
    // As in the paper: the long flow is there first, and the buffer is the short one's bandwidth-delay product.
    for seed in 1..=6 {
        let mut flows = [Flow { extra_rtt: ms(40), ..Flow::default() }, Flow { start: s(5), ..Flow::default() }];
        for (number, flow) in (0..).zip(&mut flows) {
            flow.config.seed = seed * 10 + 1 - number;
        }
        let path = "rate=100Mbit,rtt=10ms,buffer=125KB".parse().unwrap();
        let results = run(&Scenario { path, flows: flows.into(), seed, duration: s(300) });
        let [long, short] = [0, 1].map(|flow: usize| results.flows[flow].goodput(s(5), s(300)).mbit());
        at_least("long by short", long / short, 0.5, &results);
        at_most("long by short", long / short, 2.0, &results);
    }
}

#[test]
fn ten_flows_lose_little_in_a_buffer_of_two_bandwidth_delay_products() {
    let results = flows("clean,buffer=750KB", 60, vec![Flow::default(); 10]);
    let dropped = results.link.dropped().packets as f64 / results.link.sent.packets as f64;
    at_most("loss over the whole run", dropped, 0.055, &results);
    at_least("share", results.share_after(s(10)), 0.95, &results);
}
