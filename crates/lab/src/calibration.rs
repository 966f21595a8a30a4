//! Calibration before belief: whether a path is what the scenario asked for.

use crate::guest::probe::{noise_of_jitter, queue_delay};
use crate::spec::{Change, FlowSpec, LossChain, Outcome, PACKET, PathSpec, Probe, Spec, TCP_PAYLOAD};

/// How far a path may be off.
const TOLERANCE: f64 = 0.02;

/// The runs that must have been made, and found good by [`judge`], before these are believed: a measurement of the paths of
/// each, and a lone CUBIC for each capacity and RTT.
pub fn checks<'a>(runs: impl IntoIterator<Item = &'a Spec>) -> Vec<Spec> {
    let mut checks: Vec<Spec> = Vec::new();
    for run in runs {
        for check in std::iter::once(measurement(run)).chain(run.paths().map(lone_cubic)) {
            if !checks.contains(&check) {
                checks.push(check);
            }
        }
    }
    checks
}

/// Everything that is off about a run's path or, if it is one of [`checks`], about the flow on it, with the figures;
/// empty if nothing is.
pub fn judge(spec: &Spec, outcome: &Outcome) -> Vec<String> {
    let (probe, hosts) = (&outcome.probe, spec.host_delay);
    let mut found = match spec.flows.first() {
        Some(flow) => {
            // The route has the wire of its narrowest bottleneck alone.
            let route = spec.route(flow);
            let wires = spec.crossed(flow).map(on_the_wire).sum::<f64>() - on_the_wire(&route);
            deviations(&route, hosts + wires as u64, probe)
        }
        None => deviations(&spec.path, hosts, probe),
    };
    found.extend(changed_wrongly(&spec.path, &outcome.changes));
    for (place, path) in spec.then.iter().enumerate() {
        let wrong: Vec<_> = match outcome.then.get(place) {
            Some(behind) => {
                let measured = if spec.flows.is_empty() { deviations(path, hosts, &behind.probe) } else { Vec::new() };
                measured.into_iter().chain(changed_wrongly(path, &behind.changes)).collect()
            }
            None => vec!["nothing was measured".to_owned()],
        };
        found.extend(wrong.into_iter().map(|wrong| format!("at bottleneck {}: {wrong}", place + 2)));
    }
    if *spec == lone_cubic(&spec.path) {
        found.extend(unfilled(spec, outcome));
    }
    found
}

/// A run that measures a run's paths as they are at first and nothing else.
fn measurement(run: &Spec) -> Spec {
    let first = |path: &PathSpec| PathSpec { changes: Vec::new(), ..path.clone() };
    let (path, then) = (first(&run.path), run.then.iter().map(first).collect());
    Spec { path, then, duration: 1, step: 1, seed: 1, ..Spec::default() }
}

/// Whether the queues were told what the path should become.
fn changed_wrongly(path: &PathSpec, applied: &[Change]) -> Option<String> {
    // The resolution of a queue in bytes a second, and of a loss in 2^-32.
    let near = |wanted: f64, got: f64| (wanted - got).abs() <= wanted * 1e-4 + 1e-6;
    let wanted = path.segments(0, u64::MAX);
    for (wanted, got) in wanted.iter().zip(applied) {
        let told = |value: Option<u64>| value.unwrap_or(0) as f64;
        let fine = near(wanted.rate as f64, told(got.rate))
            && near(wanted.rtt as f64, told(got.rtt))
            && near(wanted.loss, got.loss.unwrap_or(2.0))
            && near(wanted.reverse_loss, got.reverse_loss.unwrap_or(2.0));
        if !fine {
            return Some(format!("the path became {got:?} instead of {wanted:?}"));
        }
    }
    None
}

/// Time that two small packets take on a bottleneck's wire, at the most. Unit: ns.
fn on_the_wire(path: &PathSpec) -> f64 {
    0.15 * PACKET as f64 * 8e9 / path.rate as f64
}

/// Everything about a path that is off, with the figures. `beside` is what hosts and other wires may take for a packet, in ns.
fn deviations(path: &PathSpec, beside: u64, probe: &Probe) -> Vec<String> {
    let mut found = Vec::new();
    let packet = PACKET as f64 * 8e9 / path.rate as f64;
    let mut expect = |what: &str, unit: &str, wanted: f64, got: f64, slack: f64| {
        if (got - wanted).abs() > wanted * TOLERANCE + slack {
            found.push(format!("{what} is {got:.3} {unit} instead of {wanted:.3} {unit}"));
        }
    };
    // The wire, what the luckiest one of many waited, and what the host may have added.
    let [wait, reverse_wait] = path.waits();
    let slack = (on_the_wire(path) + 0.02 * (wait + reverse_wait) as f64 + beside as f64) / 1e6;
    expect("the base RTT", "ms", path.rtt as f64 / 1e6, probe.rtt as f64 / 1e6, slack);
    if probe.sent == 0 {
        return found; // no more was measured: the path is known from another run
    }
    expect("the capacity", "Mbit/s", path.rate as f64 / 1e6, probe.rate as f64 / 1e6, noise_of_rate(path));
    // A queue holds whole packets, and one more is on the wire.
    let (full, most) = (queue_delay(path) as f64 / 1e6, probe.queue_delay as f64 / 1e6);
    if path.queue.is_passive() {
        expect("the delay of the full queue", "ms", full, most, (packet + wait as f64) / 1e6);
    } else {
        // CoDel, in CAKE too, keeps it below that, but tolerates its target of 5 ms.
        expect(
            "the delay of the queue",
            "ms",
            full.midpoint(full.min(5.0)),
            most,
            full / 2.0 + (packet + wait as f64) / 1e6,
        );
    }
    let [chain, reverse_chain] = [path.loss_chain, path.reverse_loss_chain].map(|chain| chain.map_or(1.0, inflation));
    let mut counts = vec![
        ("the loss", path.loss, probe.sent, probe.lost, chain),
        ("the loss on the way back", path.reverse_loss, probe.reverse_sent, probe.reverse_lost, reverse_chain),
    ];
    if !path.late.reorders {
        // If two packets overtake together, only the second is noticed.
        counts.push(("the reordering", path.reorder * (1.0 - path.reorder), probe.sent, probe.early, 1.0));
    }
    for (what, share, sent, counted, inflation) in counts {
        let deviation = (inflation * share * (1.0 - share) / sent.max(1) as f64).sqrt();
        // Four standard deviations: one honest path in 16,000 is refused.
        expect(what, "%", 100.0 * share, 100.0 * counted as f64 / sent.max(1) as f64, 400.0 * deviation);
    }
    found
}

/// By how much the variance of a count of losses is larger where they depend on each other: (1 + r) / (1 - r) at most, by the
/// correlation r of neighbours.
fn inflation(chain: LossChain) -> f64 {
    let moves = (chain.to_bad + chain.to_good).clamp(1e-6, 1.0);
    (2.0 - moves) / moves
}

/// The capacity is counted behind the line: four standard deviations of its loss over 1000 packets, and what its jitter
/// makes uncertain. Mbit/s.
fn noise_of_rate(path: &PathSpec) -> f64 {
    path.rate as f64 / 1e6 * (4.0 * (path.loss / (1.0 - path.loss) / 1000.0).sqrt() + noise_of_jitter(path))
}

/// The run that shows whether nothing but the path limits a flow: a lone CUBIC, one bandwidth-delay product of buffer
/// and no loss.
fn lone_cubic(path: &PathSpec) -> Spec {
    let bdp = (path.rate as f64 / 8.0 * path.rtt as f64 / 1e9) as u64;
    // Slow start's overshoot is repaired within some 50 round trips; the second half is judged.
    let duration = 10_000_000_000 + 100 * path.rtt;
    Spec {
        path: PathSpec { rate: path.rate, rtt: path.rtt, buffer: bdp.max(20 * PACKET), ..PathSpec::default() },
        flows: vec![FlowSpec { algorithm: "cubic".into(), connections: 1, stop: duration, ..FlowSpec::default() }],
        duration,
        step: duration / 2,
        seed: 1,
        ..Spec::default()
    }
}

/// The fault of the outcome of [`lone_cubic`], if any.
fn unfilled(spec: &Spec, outcome: &Outcome) -> Option<String> {
    let flow = outcome.flows.first()?;
    let [.., middle, last] = flow.samples.as_slice() else { return Some("the flow was not sampled".into()) };
    let goodput = (last.delivered - middle.delivered) as f64 * 8e3 / (last.at - middle.at) as f64;
    let ceiling = spec.path.rate as f64 / 1e6 * TCP_PAYLOAD as f64 / PACKET as f64;
    (goodput < ceiling * (1.0 - TOLERANCE)).then(|| {
        format!(
            "a lone CUBIC with one bandwidth-delay product of buffer reaches {goodput:.2} of {ceiling:.2} Mbit/s \
             (held back by the receiver {:.1} %, by its own buffer {:.1} % of the time)",
            100.0 * flow.rwnd_limited as f64 / flow.busy.max(1) as f64,
            100.0 * flow.sndbuf_limited as f64 / flow.busy.max(1) as f64,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Bottleneck;

    fn path() -> PathSpec {
        PathSpec { rate: 100_000_000, rtt: 30_000_000, buffer: 375_000, loss: 0.01, ..PathSpec::default() }
    }
    const GOOD: Probe = Probe {
        rtt: 30_000_640,
        rate: 99_970_000,
        queue_delay: 29_910_784,
        sent: 20_000,
        lost: 198,
        reverse_sent: 2000,
        reverse_lost: 0,
        early: 0,
    };

    #[test]
    fn a_path_as_ordered_has_no_deviations() {
        assert_eq!(deviations(&path(), 0, &GOOD), Vec::<String>::new());
    }

    #[test]
    fn a_host_may_add_its_delay_to_the_base_rtt() {
        let lan = PathSpec { rate: 1_000_000_000, rtt: 100_000, ..PathSpec::default() };
        let probe = Probe { rtt: 109_000, ..Probe::default() };
        assert_eq!(deviations(&lan, 20_000, &probe), Vec::<String>::new());
        assert_eq!(deviations(&lan, 0, &probe), ["the base RTT is 0.109 ms instead of 0.100 ms"]);
    }

    #[test]
    fn each_bottleneck_in_a_row_is_judged_by_what_was_measured_there() {
        let told = |path: &PathSpec| Change {
            rate: Some(path.rate),
            rtt: Some(path.rtt),
            loss: Some(path.loss),
            reverse_loss: Some(0.0),
            ..Change::default()
        };
        let run = Spec { path: path(), then: vec![path()], ..Spec::default() };
        let behind = |probe| Bottleneck { probe, changes: vec![told(&path())], ..Bottleneck::default() };
        let outcome = |then| Outcome { probe: GOOD, changes: vec![told(&path())], then, ..Outcome::default() };
        assert_eq!(checks([&run])[0].then.len(), 1);
        assert_eq!(judge(&run, &outcome(vec![behind(GOOD)])), Vec::<String>::new());
        let slow = judge(&run, &outcome(vec![behind(Probe { rate: 80_000_000, ..GOOD })]));
        assert!(slow.len() == 1 && slow[0].starts_with("at bottleneck 2: the capacity is 80.000"), "{slow:?}");
        assert_eq!(judge(&run, &outcome(Vec::new())), ["at bottleneck 2: nothing was measured"]);
        // A flow's own measurement is of its whole way.
        let flow = FlowSpec { algorithm: "cubic".into(), ..FlowSpec::default() };
        let run = Spec { flows: vec![flow], ..run };
        let probe = Probe { rtt: 60_000_640, ..Probe::default() };
        let outcome = Outcome { probe, ..outcome(vec![behind(Probe::default())]) };
        assert_eq!(judge(&run, &outcome), Vec::<String>::new());
    }

    #[test]
    fn each_wire_of_a_way_may_take_its_time() {
        let slow = PathSpec { rate: 1_000_000, rtt: 1_000_000, buffer: 9000, ..PathSpec::default() };
        let flow = FlowSpec { algorithm: "cubic".into(), ..FlowSpec::default() };
        let run = Spec { path: slow.clone(), then: vec![slow; 7], flows: vec![flow], ..Spec::default() };
        // 50 bytes take 0.4 ms on each of eight wires.
        let base_rtt = |rtt| {
            let outcome = Outcome { probe: Probe { rtt, ..Probe::default() }, ..Outcome::default() };
            judge(&run, &outcome).into_iter().find(|found| found.starts_with("the base RTT"))
        };
        assert_eq!(base_rtt(11_200_000), None);
        assert!(base_rtt(25_000_000).is_some());
    }

    #[test]
    fn each_deviation_is_named_with_its_figures() {
        for (what, probe) in [
            ("base RTT is 31.000 ms instead of 30.000", Probe { rtt: 31_000_000, ..GOOD }),
            ("capacity is 80.000", Probe { rate: 80_000_000, ..GOOD }),
            ("full queue is 28.000", Probe { queue_delay: 28_000_000, ..GOOD }),
            ("loss is 0.250 %", Probe { lost: 50, ..GOOD }),
            ("way back is 0.050 %", Probe { reverse_lost: 1, ..GOOD }),
        ] {
            let found = deviations(&path(), 0, &probe);
            assert!(found.len() == 1 && found[0].contains(what), "{what}: {found:?}");
        }
    }
}
