use super::*;
use crate::spec::{Change, Completion, FlowSample, MonitorInterval, PathSpec};

/// Flows over 100 Mbit/s and 30 ms for 100 s. Each is given by its start and its goodput in Mbit/s, second by second.
fn run(flows: &[(u64, &[f64])]) -> (Spec, Outcome) {
    let path = PathSpec { rate: 100_000_000, rtt: 30_000_000, buffer: 375_000, ..PathSpec::default() };
    let duration = 100 * SECOND;
    let spec = |table: u32, start: u64| FlowSpec {
        algorithm: "bbr".into(),
        connections: 1,
        start: start * SECOND,
        stop: duration,
        table,
        ..FlowSpec::default()
    };
    let outcome = |start: u64, rates: &[f64]| {
        let mut sample = FlowSample { at: start * SECOND, ..FlowSample::default() };
        let mut samples = vec![sample];
        for rate in rates {
            sample.at += SECOND;
            sample.delivered += (rate * 1e6 / 8.0) as u64;
            sample.sent = sample.delivered * 5 / 4;
            sample.retransmitted = sample.sent / 10;
            // 1 ms more each time.
            sample.rtt = 30_000 + 1000 * samples.len() as u32;
            samples.push(sample);
        }
        FlowOutcome { samples, busy: 1000, rwnd_limited: 20, sndbuf_limited: 40, ..FlowOutcome::default() }
    };
    let spec = Spec {
        path,
        flows: (0..).zip(flows).map(|(table, (start, _))| spec(table, *start)).collect(),
        duration,
        step: SECOND,
        seed: 1,
        ..Spec::default()
    };
    let flows = flows.iter().map(|(start, rates)| outcome(*start, rates)).collect();
    (spec, Outcome { flows, ..Outcome::default() })
}

#[track_caller]
fn measures(flows: &[(u64, &[f64])], name: &str, expected: f64) {
    let (spec, outcome) = run(flows);
    let measured = name.parse::<Measure>().unwrap().of(&spec, &outcome);
    assert!(measured.is_some_and(|value| (value - expected).abs() < 1e-3), "{name}: {measured:?}, not {expected}");
}

/// The payload that full TCP packets leave of 100 Mbit/s.
const CEILING: f64 = 100.0 * TCP_PAYLOAD as f64 / PACKET as f64;

#[test]
fn names_are_read_as_they_are_written() {
    for (measure, name) in NAMES {
        assert_eq!(name.parse(), Ok(measure));
        assert_eq!(measure.to_string(), name);
        assert!(!measure.label().is_empty());
    }
    assert_eq!("jain@5s".parse(), Ok(Measure::Jain(5)));
    assert_eq!(Measure::Jain(20).to_string(), "jain@20s");
    for wrong in ["speed", "jain@0s", "jain@s", "Share"] {
        assert!(wrong.parse::<Measure>().unwrap_err().contains("choose from"), "{wrong}");
    }
}

#[test]
fn a_flow_alone_is_judged_by_what_its_path_allows() {
    let flow: [f64; 100] = [CEILING / 2.0; 100];
    for (name, expected) in [
        ("goodput", CEILING / 2.0),
        ("share", 0.5),
        ("utilisation", 0.5),
        ("waste", 1.25),
        ("loss", 0.1),
        ("host-limited", 0.06),
        ("rtt", 80.5),
        ("rtt-added", 50.5),
        ("rtt-added-p95", 95.05),
        ("power", CEILING / 2.0 / 0.0805),
    ] {
        measures(&[(0, &flow)], name, expected);
    }
}

#[test]
fn random_loss_and_quic_s_headers_lower_the_ceiling() {
    let (mut spec, outcome) = run(&[(0, &[CEILING / 2.0; 10])]);
    spec.path.loss = 0.5;
    assert!((Measure::Share.of(&spec, &outcome).unwrap() - 1.0).abs() < 1e-6);
    spec.flows[0].algorithm = "quic:pcc".into();
    let expected = CEILING / (100.0 * QUIC_PAYLOAD as f64 / QUIC_PACKET as f64);
    assert!((Measure::Share.of(&spec, &outcome).unwrap() - expected).abs() < 1e-6);
}

#[test]
fn the_start_is_left_out_until_half_of_the_capacity_is_reached() {
    let mut flow = [CEILING; 100];
    flow[..20].fill(10.0);
    measures(&[(0, &flow)], "share-started", 1.0);
    measures(&[(0, &[10.0; 100])], "share-started", 10.0 / CEILING);
}

#[test]
fn two_flows_are_compared_while_both_run() {
    let mut first = [80.0; 100];
    first[50..].fill(60.0);
    measures(&[(0, &first), (50, &[30.0; 50])], "ratio", 0.5);
    measures(&[(0, &first), (50, &[30.0; 50])], "imbalance", 2.0);
    measures(&[(0, &first), (50, &[30.0; 50])], "victim", 30.0);
    measures(&[(0, &first), (50, &[30.0; 50])], "victim-share", 30.0 / CEILING);
    let (spec, outcome) = run(&[(0, &first)]);
    assert_eq!(Measure::Ratio.of(&spec, &outcome), None, "one flow has nothing to be compared with");
    assert_eq!(Measure::Victim.of(&spec, &outcome), None);
}

#[test]
fn jain_s_index_depends_on_how_long_one_looks() {
    let mut first = [0.0; 100];
    let mut second = [0.0; 100];
    for second_of_run in 0..100 {
        let (mine, other) = if second_of_run % 2 == 0 { (90.0, 0.0) } else { (0.0, 90.0) };
        (first[second_of_run], second[second_of_run]) = (mine, other);
    }
    measures(&[(0, &first), (0, &second)], "jain@1s", 0.5);
    measures(&[(0, &first), (0, &second)], "jain@20s", 1.0);
    // (3 + 1)² / (2 · (9 + 1))
    measures(&[(0, &[60.0; 100]), (0, &[20.0; 100])], "jain@5s", 0.8);
    // Windows in which the second is not there, or not all the time, do not count.
    measures(&[(0, &[60.0; 100]), (53, &[20.0; 47])], "jain@5s", 0.8);
}

#[test]
fn a_flow_converged_once_near_its_share_for_five_seconds() {
    let fair = CEILING / 2.0;
    let mut late = [fair; 80];
    late[..3].fill(5.0);
    // Four seconds near the fair rate are not five.
    late[7] = 5.0;
    measures(&[(0, &[fair; 100]), (20, &late)], "convergence", 8.0);
    measures(&[(0, &[fair; 100]), (20, &late)], "deviation", 0.0);
    measures(&[(0, &[90.0; 100]), (20, &[5.0; 80])], "convergence", 80.0);
}

#[test]
fn the_deviation_is_that_of_the_minute_after_convergence() {
    let fair = CEILING / 2.0;
    let mut late = [fair; 80];
    for pair in late[..60].chunks_mut(2) {
        pair.copy_from_slice(&[fair - 3.0, fair + 3.0]);
    }
    late[65..].fill(90.0);
    // Sample standard deviation of 30 times -3 and 30 times 3.
    measures(&[(0, &[fair; 100]), (20, &late)], "deviation", (60.0 * 9.0 / 59.0_f64).sqrt());
}

#[test]
fn flows_of_the_first_table_count_together() {
    let (mut spec, outcome) = run(&[(0, &[20.0; 100]), (0, &[30.0; 100]), (0, &[10.0; 100])]);
    spec.flows[1].table = 0;
    assert!((Measure::Goodput.of(&spec, &outcome).unwrap() - 50.0).abs() < 1e-3);
    assert!((Measure::Victim.of(&spec, &outcome).unwrap() - 10.0).abs() < 1e-3);
    assert!((Measure::Utilisation.of(&spec, &outcome).unwrap() - 60.0 / CEILING).abs() < 1e-3);
}

#[test]
fn the_optimum_of_a_changing_path_is_the_sum_over_its_stretches() {
    let (mut spec, outcome) = run(&[(0, &[10.0; 100])]);
    // 50 s of 100 Mbit/s, 50 s of half of 20: on average 55.
    let change = Change { at: 50 * SECOND, rate: Some(20_000_000), loss: Some(0.5), ..Change::default() };
    spec.path.changes.push(Change { rtt: Some(50_000_000), ..change });
    let expected = 10.0 / (CEILING * 0.55);
    assert!((Measure::Share.of(&spec, &outcome).unwrap() - expected).abs() < 1e-6);
    // The smoothed RTT is 31 ms after the first second and grows by 1 ms a second, the path's by 20 at once.
    assert!((Measure::RttAddedP95.of(&spec, &outcome).unwrap() - 75.05).abs() < 1e-6);
}

#[test]
fn a_shared_queue_s_delay_is_read_from_the_queue_itself() {
    let (mut spec, mut outcome) = run(&[(0, &[10.0; 100]), (50, &[10.0; 50])]);
    spec.flows[1].table = 0;
    // A tenth of the time 20 ms, which a sender that averages over more than that never sees.
    outcome.delays = (0..1000).map(|place| if place % 10 == 0 { 20_000 } else { 1000 }).collect();
    assert_eq!(Measure::RttAdded.of(&spec, &outcome), Some(1.0));
    assert_eq!(Measure::RttAddedP95.of(&spec, &outcome), Some(20.0));
    // Only while a judged flow is there.
    spec.flows[0].table = 1;
    outcome.delays[..500].fill(90_000);
    assert_eq!(Measure::RttAdded.of(&spec, &outcome), Some(1.0));
}

#[test]
fn short_flows_that_are_not_through_count_until_the_end() {
    let (mut spec, mut outcome) = run(&[(0, &[10.0; 100])]);
    let second = |at: u64| at * SECOND;
    spec.flows[0].size = Some(100_000);
    spec.flows[0].arrivals = vec![second(1), second(2), second(90)];
    let done = |start, finish| Completion { start, finish, bytes: 100_000 };
    outcome.flows[0].completions = vec![done(second(2) + 5, second(3) + 5), done(second(1), second(4))];
    assert_eq!(Measure::Fct.of(&spec, &outcome), Some(3000.0), "of 1, 3 and 10 s");
    assert_eq!(Measure::FctP95.of(&spec, &outcome), Some(9300.0));
}

#[test]
fn an_incast_lasts_until_the_last_flow_is_through() {
    let (mut spec, mut outcome) = run(&[(0, &[10.0; 100]), (0, &[10.0; 100])]);
    for (flow, went) in spec.flows.iter_mut().zip(&mut outcome.flows) {
        flow.size = Some((CEILING * 1e6 / 8.0) as u64);
        went.finished = Some(2 * SECOND);
    }
    assert!((Measure::Incast.of(&spec, &outcome).unwrap() - 1.0).abs() < 1e-6);
    outcome.flows[1].finished = Some(8 * SECOND);
    assert!((Measure::Incast.of(&spec, &outcome).unwrap() - 0.25).abs() < 1e-6);
    outcome.flows[1].finished = None;
    let unfinished = Measure::Incast.of(&spec, &outcome).unwrap();
    assert!((unfinished - (1.0 + 1000.0 / CEILING) / 100.0).abs() < 1e-6, "{unfinished}");
}

#[test]
fn a_black_out_ends_at_80_percent_of_the_goodput_before() {
    let mut rates = [50.0; 100];
    rates[20..22].fill(0.0);
    rates[22..24].fill(30.0);
    let (mut spec, mut outcome) = run(&[(0, &rates)]);
    assert_eq!(Measure::Recovered.of(&spec, &outcome), None, "there was no black-out");
    let change = |at: u64, loss| Change { at: at * SECOND, loss: Some(loss), ..Change::default() };
    spec.path.changes = vec![change(20, 1.0), change(22, 0.0)];
    // The third second after it is the first with 80 %.
    assert_eq!(Measure::Recovered.of(&spec, &outcome), Some(3.0 / 0.03));
    // 10 packets of TCP in the last second of it.
    outcome.flows[0].samples[22].sent = outcome.flows[0].samples[21].sent + 10 * TCP_PAYLOAD;
    let rate = Measure::BlackoutRate.of(&spec, &outcome).unwrap();
    assert!((rate - 10.0 * 0.03).abs() < 1e-9, "{rate}");
    // PCC's own rate may be that of the moment after.
    outcome.flows[0].samples[22].rate = 8 * TCP_PAYLOAD * 100;
    assert_eq!(Measure::BlackoutRate.of(&spec, &outcome), Some(rate));
}

#[test]
fn limited_application_is_judged_by_highest_rate_tried_late() {
    let (mut spec, mut outcome) = run(&[(0, &[20.0; 100])]);
    spec.flows[0].rate = Some(20_000_000);
    let tried = |at: u64, target_rate| MonitorInterval { at: at * SECOND, target_rate, ..MonitorInterval::default() };
    assert_eq!(Measure::Headroom.of(&spec, &outcome), None);
    outcome.flows[0].intervals = vec![tried(10, 90e6), tried(60, 30e6), tried(70, 25e6)];
    assert_eq!(Measure::Headroom.of(&spec, &outcome), Some(1.5));
}

#[test]
fn a_run_without_samples_has_no_measures() {
    let (spec, mut outcome) = run(&[(0, &[50.0; 10]), (0, &[50.0; 10])]);
    for flow in &mut outcome.flows {
        flow.samples.clear();
    }
    for flow in &mut outcome.flows {
        flow.busy = 0;
    }
    for (measure, name) in NAMES {
        assert_eq!(measure.of(&spec, &outcome), None, "{name}");
    }
}

#[test]
fn a_flow_in_a_parking_lot_is_held_against_the_highest_of_the_others() {
    // In the last quarter it has 10, and the others 40 and 20.
    let rates = |late: f64| [[50.0; 75].as_slice(), [late; 25].as_slice()].concat();
    let (through, one, other) = (rates(10.0), rates(40.0), rates(20.0));
    measures(&[(0, &through), (0, &one), (0, &other)], "over-highest", 0.25);
    let (spec, outcome) = run(&[(0, &through)]);
    assert_eq!(Measure::OverHighest.of(&spec, &outcome), None, "there are no others");
}

#[test]
fn a_share_is_of_the_narrowest_bottleneck_that_a_flow_crosses() {
    let (mut spec, outcome) = run(&[(0, &[10.0; 100])]);
    spec.then = vec![PathSpec { rate: 20_000_000, rtt: 5_000_000, ..spec.path.clone() }];
    let share = |spec: &Spec| Measure::Share.of(spec, &outcome).unwrap() * CEILING;
    assert!((share(&spec) - 50.0).abs() < 0.1, "{}", share(&spec));
    spec.flows[0].via = Some((0, 0));
    assert!((share(&spec) - 10.0).abs() < 0.1, "{}", share(&spec));
}
