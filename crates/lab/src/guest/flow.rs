//! The course of a run: flows start and stop, the path changes, everything is sampled.

use super::app::Programs;
use super::hop::Hop;
use super::netlink::QueueCounts;
use super::quic::Transfer;
use super::tcp::Connections;
use super::topology::{Hosts, Network};
use crate::spec::{
    Bottleneck, Change, Completion, FlowOutcome, FlowSample, FlowSpec, Outcome, PathSpec, QueueSample, Spec,
};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// How long a QUIC flow may take to start and to end, besides its round trips. Unit: ns.
const GRACE: u64 = 10_000_000_000;
/// How often the bottleneck's queue is looked at for the delays it causes, and how often at the most in a run. Unit: ns.
const LOOK: u64 = 10_000_000;
const MOST_LOOKS: u64 = 10_000;
/// How long a server under test has to open its port. Unit: ns.
const TO_LISTEN: u64 = 500_000_000;
/// Share of a flow's time in which its own hosts may hold it back.
const MOST_HELD_BACK: f64 = 0.05;

/// The maker of a flow's packets.
enum Traffic {
    Tcp(Connections),
    Quic(Transfer),
    App(Box<Programs>),
}

/// A flow that runs, ran or will run.
struct Running<'a> {
    spec: &'a FlowSpec,
    number: usize,
    traffic: Traffic,
    started: bool,
    stopped: bool,
    outcome: FlowOutcome,
}

/// The events of a moment, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The path of that place changes, by this number.
    Change(usize, usize),
    Sample,
    /// How long does a packet wait now?
    Look,
    /// The processes of this flow's sender go on, or stand still.
    Resume(usize),
    Pause(usize),
    Start(usize),
    /// A short flow of this flow arrives.
    Arrival(usize),
    Stop(usize),
}

impl<'a> Running<'a> {
    fn prepare(spec: &'a FlowSpec, number: usize, dir: &Path, hosts: &Arc<Vec<Hosts>>) -> io::Result<Self> {
        let traffic = match &spec.app {
            Some(app) => Traffic::App(Box::new(Programs::prepare(dir, number, &hosts[number], app)?)),
            None if spec.algorithm.starts_with(crate::names::QUIC) => {
                Traffic::Quic(Transfer::prepare(dir, number, &hosts[number])?)
            }
            None => Traffic::Tcp(Connections::new(hosts, number)),
        };
        Ok(Self { spec, number, traffic, started: false, stopped: false, outcome: FlowOutcome::default() })
    }

    fn start(&mut self, hosts: &Hosts, at: u64, step: u64) -> io::Result<()> {
        self.started = true;
        self.outcome.samples.push(FlowSample { at, ..FlowSample::default() });
        if !self.spec.arrivals.is_empty() {
            // Its short flows start one by one.
            return if let Traffic::Quic(transfer) = &mut self.traffic { transfer.sample(hosts, at) } else { Ok(()) };
        }
        match &mut self.traffic {
            Traffic::Tcp(connections) => (0..self.spec.connections).try_for_each(|_| connections.add(self.spec, at)),
            Traffic::Quic(transfer) => {
                transfer.sample(hosts, at)?;
                transfer.start(hosts, self.spec, at, step)
            }
            Traffic::App(programs) => programs.start(hosts),
        }
    }

    fn arrive(&mut self, hosts: &Hosts, at: u64, step: u64) -> io::Result<()> {
        match &mut self.traffic {
            Traffic::Tcp(connections) => connections.add(self.spec, at),
            Traffic::Quic(transfer) => transfer.start(hosts, self.spec, at, step),
            Traffic::App(_) => Ok(()),
        }
    }

    fn sample(&mut self, hosts: &Hosts, at: u64) -> io::Result<()> {
        match &mut self.traffic {
            Traffic::Tcp(connections) => {
                let sampled = connections.sample(at)?;
                self.outcome.samples.push(sampled.sample);
                self.outcome.busy = sampled.busy;
                self.outcome.rwnd_limited = sampled.rwnd_limited;
                self.outcome.sndbuf_limited = sampled.sndbuf_limited;
            }
            Traffic::App(programs) => {
                self.outcome.samples.push(programs.sample(hosts, at)?);
                if programs.has_ended() {
                    self.outcome.finished.get_or_insert(at);
                }
            }
            // Its clients tell the rest at their end.
            Traffic::Quic(transfer) => transfer.sample(hosts, at)?,
        }
        Ok(())
    }

    fn pause(&self, is_paused: bool) {
        match &self.traffic {
            Traffic::Quic(transfer) => transfer.pause(is_paused),
            Traffic::App(programs) => programs.pause(is_paused),
            // The kernel's senders are no processes.
            Traffic::Tcp(_) => {}
        }
    }

    fn stop(&mut self) {
        // Short flows that arrived in time have the rest of the run to come to their end.
        self.stopped = self.spec.arrivals.is_empty();
        if !self.stopped {
            return;
        }
        match &mut self.traffic {
            Traffic::Tcp(connections) => connections.stop(),
            Traffic::App(programs) => programs.stop(),
            Traffic::Quic(_) => {}
        }
    }

    /// Its outcome. `begin` is the guest's clock when the run began.
    fn finish(mut self, hosts: &Hosts, begin: u64, rtt: u64, deadline: u64) -> io::Result<FlowOutcome> {
        match self.traffic {
            Traffic::Quic(transfer) => transfer.finish(hosts, self.spec, rtt, deadline),
            Traffic::App(_) => Ok(self.outcome),
            Traffic::Tcp(connections) => {
                if let (Some(size), true) = (self.spec.size, self.started) {
                    let ended = connections.ended().iter();
                    let completion = |&(start, finish): &(u64, u64)| Completion {
                        start,
                        finish: finish.saturating_sub(begin),
                        bytes: size,
                    };
                    let completions: Vec<_> = ended.map(completion).collect();
                    if !self.spec.arrivals.is_empty() {
                        self.outcome.completions = completions;
                    } else if connections.all_finished() {
                        self.outcome.finished = completions.iter().map(|completion| completion.finish).max();
                    }
                }
                Ok(self.outcome)
            }
        }
    }
}

/// Everything that happens, in order. Flows and queue are sampled at each step and when a flow starts or stops; the queue
/// that all share is looked at far more often.
fn agenda(spec: &Spec) -> Vec<(u64, Event)> {
    let mut agenda: Vec<(u64, Event)> = Vec::new();
    for (place, path) in spec.paths().enumerate() {
        let change = |(number, change): (usize, &Change)| (change.at, Event::Change(place, number));
        agenda.extend(path.changes.iter().enumerate().map(change));
    }
    agenda.extend((0..=spec.duration / spec.step).map(|number| (number * spec.step, Event::Sample)));
    agenda.push((spec.duration, Event::Sample));
    if spec.paths().all(|path| path.queue.is_shared()) {
        let every = LOOK.max(spec.duration / MOST_LOOKS);
        agenda.extend((0..spec.duration / every).map(|number| (number * every, Event::Look)));
    }
    for (number, flow) in spec.flows.iter().enumerate() {
        agenda.extend([flow.start, flow.stop].map(|at| (at, Event::Sample)));
        agenda.push((flow.start, Event::Start(number)));
        agenda.extend(flow.arrivals.iter().map(|&at| (at, Event::Arrival(number))));
        agenda.extend(
            flow.pauses.iter().flat_map(|&(from, to)| [(from, Event::Pause(number)), (to, Event::Resume(number))]),
        );
        agenda.push((flow.stop, Event::Stop(number)));
    }
    agenda.retain(|&(at, _)| at <= spec.duration);
    agenda.sort_unstable();
    agenda.dedup();
    agenda
}

/// Runs the flows and tells what happened; the probe and the kernel's name are the caller's.
pub(super) fn run(spec: &Spec, dir: &Path, mut network: Network) -> io::Result<Outcome> {
    let mut watch = Watch::begin(&mut network)?;
    if spec.flows.is_empty() {
        return Ok(watch.outcome());
    }
    let hosts = Arc::new(std::mem::take(&mut network.hosts));
    let prepare = |(number, flow)| Running::prepare(flow, number, dir, &hosts);
    let mut flows = spec.flows.iter().enumerate().map(prepare).collect::<io::Result<Vec<_>>>()?;
    watch.count_from_here(&mut network)?;
    let mut delays = Vec::new();

    let servers = spec.flows.iter().any(|flow| flow.app.is_some());
    let begin = super::now() + if servers { TO_LISTEN } else { 1_000_000 };
    for (at, event) in agenda(spec) {
        super::sleep_until(begin + at);
        let of = |flow: &Running<'_>, error: io::Error| {
            io::Error::other(format!("flow {} ({}): {error}", flow.number + 1, flow.spec.algorithm))
        };
        match event {
            Event::Change(place, number) => watch.change(&mut network, spec, place, number)?,
            Event::Sample => {
                watch.sample(&mut network, at)?;
                for flow in flows.iter_mut().filter(|flow| flow.started && !flow.stopped) {
                    flow.sample(&hosts[flow.number], at).map_err(|error| of(flow, error))?;
                }
            }
            Event::Look => {
                let each = network.hops.iter_mut().map(Hop::queue_delay);
                delays.push(each.sum::<io::Result<u32>>()?);
            }
            Event::Start(number) => {
                let flow = &mut flows[number];
                flow.start(&hosts[number], at, spec.step).map_err(|error| of(flow, error))?;
            }
            Event::Arrival(number) => {
                let flow = &mut flows[number];
                flow.arrive(&hosts[number], at, spec.step).map_err(|error| of(flow, error))?;
            }
            Event::Pause(number) => flows[number].pause(true),
            Event::Resume(number) => flows[number].pause(false),
            Event::Stop(number) => flows[number].stop(),
        }
    }
    // Clients of flows that last stop by themselves, after the last word of the server; the others had their time.
    let end = begin + spec.duration;
    let longest =
        |path: &PathSpec| path.segments(0, spec.duration).iter().map(|segment| segment.rtt).max().unwrap_or(path.rtt);
    let finish = |flow: Running<'_>| {
        let own = spec.crossed(flow.spec).map(longest).sum::<u64>() + flow.spec.extra_rtt;
        let grace = if flow.spec.size.is_none() { GRACE + 20 * own } else { 0 };
        let name = format!("flow {} ({})", flow.number + 1, flow.spec.algorithm);
        let hosts = &hosts[flow.number];
        let told = flow.finish(hosts, begin, own, end + grace);
        told.map_err(|error| io::Error::other(format!("{name}: {error}")))
    };
    let flows = flows.into_iter().map(finish).collect::<io::Result<Vec<_>>>()?;
    let rejected = held_back(spec, &flows);
    Ok(Outcome { flows, delays, rejected, ..watch.outcome() })
}

/// The bottlenecks as they are seen during the run, in their order.
struct Watch {
    seen: Vec<Bottleneck>,
    before: Vec<QueueCounts>,
}

impl Watch {
    fn begin(network: &mut Network) -> io::Result<Self> {
        let seen = |hop: &mut Hop| Ok(Bottleneck { changes: vec![hop.told()?], ..Bottleneck::default() });
        let seen = network.hops.iter_mut().map(seen).collect::<io::Result<_>>()?;
        Ok(Self { seen, before: Vec::new() })
    }

    fn count_from_here(&mut self, network: &mut Network) -> io::Result<()> {
        self.before = network.hops.iter_mut().map(Hop::queue_counts).collect::<io::Result<_>>()?;
        Ok(())
    }

    fn change(&mut self, network: &mut Network, spec: &Spec, place: usize, number: usize) -> io::Result<()> {
        let change = spec.paths().nth(place).and_then(|path| path.changes.get(number));
        if let (Some(change), Some(hop)) = (change, network.hops.get_mut(place)) {
            self.seen[place].changes.push(hop.change(change)?);
        }
        Ok(())
    }

    fn sample(&mut self, network: &mut Network, at: u64) -> io::Result<()> {
        for ((hop, seen), before) in network.hops.iter_mut().zip(&mut self.seen).zip(&self.before) {
            let counts = hop.queue_counts()?;
            let (bytes, drops) = (counts.bytes - before.bytes, counts.drops.wrapping_sub(before.drops));
            seen.queue.push(QueueSample { at, bytes, drops, backlog: counts.backlog });
        }
        Ok(())
    }

    /// Its part of a run's outcome.
    fn outcome(self) -> Outcome {
        let mut seen = self.seen.into_iter();
        let Bottleneck { queue, changes, .. } = seen.next().unwrap_or_default();
        Outcome { queue, changes, then: seen.collect(), ..Outcome::default() }
    }
}

/// Which flows tell nothing of their algorithm because their own hosts held them back, with the figures. By the kernel's
/// account of each of its connections, whatever their algorithm; no sender over QUIC is judged by its own account, which
/// only some of them give.
fn held_back(spec: &Spec, flows: &[FlowOutcome]) -> Option<String> {
    let percent = |part: u64, flow: &FlowOutcome| 100.0 * part as f64 / flow.busy.max(1) as f64;
    // A flow that ends or is limited by itself is never held back by the path alone.
    let bulk = |(_, (spec, _)): &(usize, (&FlowSpec, &FlowOutcome))| {
        spec.size.is_none() && spec.rate.is_none() && !spec.algorithm.starts_with(crate::names::QUIC)
    };
    let judged = spec.flows.iter().zip(flows).enumerate().filter(bulk);
    let found = judged.filter_map(|(number, (spec, flow))| {
        let (receiver, sender) = (percent(flow.rwnd_limited, flow), percent(flow.sndbuf_limited, flow));
        (receiver + sender > 100.0 * MOST_HELD_BACK).then(|| {
            format!(
                "flow {} ({}) was held back by its receiver's window {receiver:.1} % of its time and by its own host \
                 {sender:.1} %",
                number + 1,
                spec.algorithm
            )
        })
    });
    let found: Vec<_> = found.collect();
    (!found.is_empty()).then(|| found.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn spec() -> Spec {
        let change = Change { at: SECOND, loss: Some(1.0), ..Change::default() };
        let flow =
            FlowSpec { start: SECOND, stop: 3 * SECOND, arrivals: vec![SECOND, 2 * SECOND], ..Default::default() };
        let path = PathSpec { changes: vec![change], ..PathSpec::default() };
        Spec { path, flows: vec![flow], duration: 3 * SECOND, step: 2 * SECOND, ..Spec::default() }
    }

    #[test]
    fn the_path_changes_before_a_flow_starts_at_the_same_moment() {
        use Event::*;
        let second = |at, event| (at * SECOND, event);
        let expected = [
            second(0, Sample),
            second(1, Change(0, 0)),
            second(1, Sample),
            second(1, Start(0)),
            second(1, Arrival(0)),
            second(2, Sample),
            second(2, Arrival(0)),
            second(3, Sample),
            second(3, Stop(0)),
        ];
        let all = agenda(&spec());
        assert_eq!(all.iter().filter(|(_, event)| *event == Look).count(), 300, "every 10 ms");
        let rest: Vec<_> = all.into_iter().filter(|(_, event)| *event != Look).collect();
        assert_eq!(rest, expected);
    }

    #[test]
    fn a_flow_that_its_hosts_held_back_is_named_with_the_figures() {
        let fine = FlowOutcome { busy: 1000, rwnd_limited: 30, sndbuf_limited: 10, ..FlowOutcome::default() };
        assert_eq!(held_back(&spec(), std::slice::from_ref(&fine)), None);
        let held = FlowOutcome { sndbuf_limited: 300, ..fine };
        let text = held_back(&spec(), &[held]).unwrap();
        assert!(text.contains("flow 1") && text.contains("window 3.0 %") && text.contains("host 30.0 %"), "{text}");
    }

    #[test]
    fn no_sender_over_quic_is_left_out_by_its_own_account() {
        // Only PCC has an account of what held it back; CUBIC and BBR of the same stack have none.
        let held = FlowOutcome { busy: 1000, sndbuf_limited: 300, ..FlowOutcome::default() };
        for algorithm in ["quic:pcc", "quic:cubic", "quic:bbr"] {
            let mut spec = spec();
            spec.flows[0].algorithm = algorithm.into();
            assert_eq!(held_back(&spec, std::slice::from_ref(&held)), None, "{algorithm}");
        }
    }
}
