//! From what the lab's guest is told to what the simulator is told.

use crate::spec::{self, FlowSpec, PACKET, PathSpec, QUIC_DATAGRAM, QUIC_PACKET, QUIC_PAYLOAD, Spec, TCP_PAYLOAD};
use core::time::Duration;
use pcc::units::{Bytes, Rate};
use pcc_link::{Change, Conditions, GilbertElliott, Loss, OneWay, Path, Rule, Schedule};
use pcc_sim::{Control, Flow, Policer, Queue, Scenario, Source};

/// A queue that marks does so above a seventh of the bandwidth-delay product, or above what takes a train: as the lab's.
const MARKING_SHARE: u64 = 7;
const MARKING_PACKETS: u64 = 65;
/// A packet overtakes those of an eighth of a round trip before it: as the lab's.
const OVERTAKEN: u32 = 8;

/// Gives a flow of PCC what was chosen for all of them, like a utility or a law.
pub type Prepare<'a> = &'a (dyn Fn(&mut Flow) + Sync);

/// The sender of a flow, if there is a model of it.
pub fn control(flow: &FlowSpec) -> Option<Control> {
    Some(match flow.algorithm.as_str() {
        "quic:pcc" => Control::Pcc,
        "reno" => Control::Reno,
        "cubic" => Control::Cubic,
        "bbr" => Control::Bbr,
        _ => return None,
    })
}

/// The simulation, and to which of the lab's flows each of its flows belongs; `None` if one of them, or the first bottleneck, has
/// no model.
pub(super) fn scenario(spec: &Spec, prepare: Prepare<'_>) -> Option<(Scenario, Vec<usize>)> {
    let policer = policer(&spec.path)?;
    let (mut flows, mut owners) = (Vec::new(), Vec::new());
    for (place, told) in spec.flows.iter().enumerate() {
        let control = control(told)?;
        let starts = if told.arrivals.is_empty() { vec![told.start] } else { told.arrivals.clone() };
        for start in starts {
            for connection in 0..told.connections.max(1) {
                let number = flows.len() as u64;
                let mut flow = one(told, control.clone(), spec, start, connection);
                flow.config.seed = spec.seed.wrapping_mul(1000).wrapping_add(number);
                if control == Control::Pcc {
                    prepare(&mut flow);
                }
                flows.push(flow);
                owners.push(place);
            }
        }
    }
    let scenario = Scenario {
        beyond: spec.then.iter().map(path).collect(),
        policer,
        step: Duration::from_nanos(spec.step),
        ..Scenario::new(path(&spec.path), flows, spec.seed, Duration::from_nanos(spec.duration))
    };
    Some((scenario, owners))
}

fn one(told: &FlowSpec, control: Control, spec: &Spec, start: u64, connection: u32) -> Flow {
    let (datagram, packet) = sizes(&control);
    let payload = payload(&control);
    let mut flow = Flow::of(control);
    flow.config.max_datagram_size = Bytes::new(datagram);
    flow.headers = packet - datagram;
    flow.start = Duration::from_nanos(start);
    // The last of arriving flows may begin then: each goes on until it is done, or the run.
    flow.stop = told.arrivals.is_empty().then(|| Duration::from_nanos(told.stop));
    flow.extra_rtt = Duration::from_nanos(told.extra_rtt);
    flow.via = spec.way(told);
    flow.paced = told.paced;
    flow.host_delay = Duration::from_nanos(spec.host_delay);
    flow.ecn = spec.crossed(told).any(|path| path.ecn);
    let longest =
        |jitter: fn(&PathSpec) -> u64| Duration::from_nanos(spec.crossed(told).map(jitter).max().unwrap_or_default());
    flow.bursts = longest(|path| path.jitter);
    flow.acks.bursts = longest(|path| path.reverse_jitter);
    flow.pauses =
        told.pauses.iter().map(|(from, to)| (Duration::from_nanos(*from), Duration::from_nanos(*to))).collect();
    let (connections, number) = (u64::from(told.connections.max(1)), u64::from(connection));
    if let Some(size) = told.size {
        let part = size / connections + u64::from(number < size % connections);
        flow.source = Source::Volume(Bytes::new(part * datagram / payload));
    } else if let Some(rate) = told.rate {
        let bits = rate as f64 / connections as f64 * datagram as f64 / payload as f64;
        flow.source = Source::At(Rate::from_bytes_per_sec(bits / 8.0));
    }
    if let Some(utility) = told.utility.as_deref().and_then(|written| pcc::utility::parse(written).ok()) {
        flow.config.utility = utility;
    }
    if let Some(law) = told.law.as_deref().and_then(|law| law.parse().ok()) {
        flow.config.law = Some(law);
    }
    flow
}

/// Bytes of a datagram or segment, and of its packet.
fn sizes(control: &Control) -> (u64, u64) {
    if control.is_tcp() { (TCP_PAYLOAD, PACKET) } else { (QUIC_DATAGRAM, QUIC_PACKET) }
}

/// Bytes of it that are of use.
pub(super) fn payload(control: &Control) -> u64 {
    if control.is_tcp() { TCP_PAYLOAD } else { QUIC_PAYLOAD }
}

/// The model of a bottleneck that lets bursts through; `None` if it holds a queue besides, or becomes another one: the simulator's
/// token bucket has none and stays.
fn policer(path: &PathSpec) -> Option<Option<Policer>> {
    let (rate, burst) = (Rate::from_bytes_per_sec(path.rate as f64 / 8.0), Bytes::new(path.burst));
    let fits = path.buffer < 2 * PACKET && path.changes.iter().all(|change| change.rate.is_none());
    match path.burst {
        0 => Some(None),
        _ => fits.then_some(Some(Policer { rate, burst })),
    }
}

fn queue(path: &PathSpec) -> Queue {
    match path.queue {
        spec::Queue::DropTail if path.ecn => {
            let bdp = (path.rate as f64 / 8.0 * path.rtt as f64 / 1e9) as u64;
            let above = (bdp / MARKING_SHARE).max(MARKING_PACKETS * PACKET).min(path.buffer / 2);
            Queue::Marking(Bytes::new(above))
        }
        spec::Queue::DropTail => Queue::DropTail,
        spec::Queue::Fair => Queue::Fair,
        spec::Queue::Codel => Queue::Codel,
        spec::Queue::FqCodel => Queue::FqCodel,
        spec::Queue::Sfq => Queue::Sfq,
        spec::Queue::Cake => Queue::Cake,
    }
}

fn loss(mean: f64, chain: Option<spec::LossChain>) -> Loss {
    chain.map_or(Loss::Bernoulli(mean), |spec::LossChain { to_bad, to_good, loss_good, loss_bad }| {
        Loss::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good, loss_bad })
    })
}

fn path(told: &PathSpec) -> Path {
    let rate = |bits: u64| Rate::from_bytes_per_sec(bits as f64 / 8.0);
    let way = |nanos: u64| Duration::from_nanos(nanos / 2);
    // As the lab's way back, and its line behind a policer.
    let no_bottleneck =
        Conditions { buffer: Bytes::new(1 << 31), ..Conditions::new(Rate::from_mbit(100_000.0), way(told.rtt)) };
    let mut down = no_bottleneck;
    if told.burst == 0 {
        (down.rate, down.buffer) = (rate(told.rate), Bytes::new(told.buffer));
    }
    down.loss = loss(told.loss, told.loss_chain);
    let late = |conditions, late: spec::Late| Conditions {
        jitter: Duration::from_nanos(late.jitter),
        jitter_reorders: late.reorders,
        wifi: Duration::from_nanos(late.wifi),
        ..conditions
    };
    down = late(down, told.late);
    if told.reorder > 0.0 {
        // A packet that overtakes is told as one that the others are late by.
        (down.reorder, down.reorder_delay) = (told.reorder, Duration::from_nanos(told.rtt) / OVERTAKEN);
    }
    let mut up = late(no_bottleneck, told.reverse_late);
    up.loss = loss(told.reverse_loss, told.reverse_loss_chain);
    let rules = |is_down: bool| {
        let rule = |change: &spec::Change| {
            let loss = if is_down { change.loss } else { change.reverse_loss };
            let rate = change.rate.filter(|_| is_down).map(rate);
            let (delay, loss) = (change.rtt.map(way), loss.map(Loss::Bernoulli));
            Rule::At(Duration::from_nanos(change.at), Change { rate, delay, loss, ..Change::default() })
        };
        Schedule { rules: told.changes.iter().map(rule).collect() }
    };
    Path {
        up: OneWay { conditions: up, schedule: rules(false), queue: Queue::DropTail },
        down: OneWay { conditions: down, schedule: rules(true), queue: queue(told) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supplied_scenario_has_runs_that_can_be_simulated() {
        for name in crate::scenario::names() {
            let scenario = crate::scenario::load(name, &crate::scenario::Options::default()).unwrap();
            let modelled = scenario.runs.iter().filter_map(|run| super::scenario(&run.spec, &|_| ()));
            let mut count = 0;
            for (simulation, _) in modelled {
                assert!(simulation.path.links(1).is_ok(), "{name}: {:?}", simulation.path.links(1).err());
                count += 1;
            }
            assert!(count > 0, "{name}");
        }
    }

    #[test]
    fn bottlenecks_in_a_row_keep_their_queues_and_who_crosses_them() {
        let path = PathSpec { rate: 8_000_000, rtt: 1_000_000, buffer: 9000, ..PathSpec::default() };
        let behind = PathSpec { queue: spec::Queue::Codel, ..path.clone() };
        let flow = |via| FlowSpec { algorithm: "cubic".into(), via, stop: 1, ..FlowSpec::default() };
        let flows = vec![flow(None), flow(Some((1, 1)))];
        let spec = Spec { path, then: vec![behind], flows, duration: 1, step: 1, ..Spec::default() };
        let (simulation, _) = super::scenario(&spec, &|_| ()).unwrap();
        assert_eq!(simulation.flows.iter().map(|flow| flow.via).collect::<Vec<_>>(), [(0, 1), (1, 1)]);
        let queues: Vec<_> = simulation.ways().into_iter().map(|(way, _)| way.queue).collect();
        assert_eq!((queues, simulation.queue), (vec![Queue::DropTail, Queue::Codel], Queue::DropTail));
    }

    #[test]
    fn a_bundle_shares_its_volume() {
        let flow =
            FlowSpec { algorithm: "cubic".into(), connections: 3, size: Some(10), stop: 1, ..FlowSpec::default() };
        let path = PathSpec { rate: 1_000_000, rtt: 1_000_000, buffer: 9000, ..PathSpec::default() };
        let spec = Spec { path, flows: vec![flow], duration: 1, step: 1, ..Spec::default() };
        let (simulation, owners) = super::scenario(&spec, &|_| ()).unwrap();
        let volumes: Vec<_> = simulation.flows.iter().map(|flow| flow.source).collect();
        assert_eq!(volumes, [4, 3, 3].map(|bytes| Source::Volume(Bytes::new(bytes))));
        assert_eq!(owners, [0, 0, 0]);
    }
}
