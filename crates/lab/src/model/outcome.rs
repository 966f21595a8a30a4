//! From what a simulation counted to what the lab's guest would have measured, so that one set of measures judges both.

use super::translate::{self, Prepare, payload};
use crate::spec::{
    Completion, FlowOutcome, FlowSample, FlowSpec, MonitorInterval, Outcome, QUIC_DATAGRAM, Spec, TCP_PAYLOAD,
};
use core::time::Duration;
use pcc::observe::{Event, Observer};
use pcc_link::Impossible;
use pcc_sim::{Control, FlowResult, Results};
use std::sync::{Arc, Mutex};

/// The word in place of a kernel's release.
pub const KERNEL: &str = "simulated";

/// Simulates a run; `None` if one of its flows has no model.
///
/// Errors: the path cannot be.
pub fn run(spec: &Spec, prepare: Prepare<'_>) -> Result<Option<Outcome>, Impossible> {
    let Some((mut scenario, owners)) = translate::scenario(spec, prepare) else { return Ok(None) };
    let logs: Vec<Arc<Log>> = scenario.flows.iter().map(|_| Arc::new(Log::default())).collect();
    // Only the rates tried by a sender whose application is the limit are a figure of merit.
    for ((flow, owner), log) in scenario.flows.iter_mut().zip(&owners).zip(&logs) {
        let is_limited = spec.flows.get(*owner).is_some_and(|told| told.rate.is_some());
        if is_limited && flow.control == Control::Pcc {
            flow.config.observer = Some(Arc::clone(log) as Arc<dyn Observer>);
        }
    }
    let results = pcc_sim::run(&scenario)?;
    let flows = spec.flows.iter().enumerate().map(|(place, told)| {
        let control = translate::control(told).unwrap_or_default();
        let own = owners.iter().zip(results.flows.iter().zip(&logs)).filter(|(owner, _)| **owner == place);
        let (mut flow, mut unfinished) = (FlowOutcome::default(), false);
        let (mut packets, mut measured) = (0, Vec::new());
        let half = Duration::from_nanos(spec.crossed(told).map(|path| path.rtt / 2).sum());
        for (_, (result, log)) in own {
            add(&mut flow, &mut measured, result, &control, told);
            flow.intervals.extend(log.0.lock().map(|mut log| core::mem::take(&mut *log)).unwrap_or_default());
            unfinished |= result.finished.is_none();
            packets += result.sent.packets;
            // The last byte arrived half a round trip before its acknowledgement.
            let arrived = result.finished.map(|at| nanos(at.saturating_sub(half)));
            flow.finished = flow.finished.max(arrived);
            if let (false, Some(finish)) = (told.arrivals.is_empty(), arrived) {
                let bytes = told.size.unwrap_or_default();
                flow.completions.push(Completion { start: nanos(result.start), finish, bytes });
            }
        }
        if unfinished || !told.arrivals.is_empty() {
            flow.finished = None;
        }
        flow.busy = told.stop.saturating_sub(told.start) / 1000 * u64::from(packets > 0);
        flow.completions.sort_by_key(|done| done.start);
        average_rtts(&mut flow, &measured);
        flow
    });
    let flows = flows.collect();
    Ok(Some(Outcome { kernel: KERNEL.into(), flows, delays: delays(spec, &results), ..Outcome::default() }))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The wait is one only where all packets stand in one line.
fn delays(spec: &Spec, results: &Results) -> Vec<u32> {
    if spec.paths().all(|path| path.queue.is_shared()) { results.waits.clone() } else { Vec::new() }
}

/// Adds a connection to its flow; `measured` counts, for each sample, the connections that an RTT is known of. As in the guest, a
/// flow that stops has no samples later.
fn add(flow: &mut FlowOutcome, measured: &mut Vec<u32>, result: &FlowResult, control: &Control, told: &FlowSpec) {
    let useful = payload(control) as f64 / result.packet.get() as f64;
    let segment = if *control == Control::Pcc { QUIC_DATAGRAM } else { TCP_PAYLOAD };
    if flow.samples.is_empty() {
        let end = if told.arrivals.is_empty() { told.stop } else { u64::MAX };
        flow.samples.push(FlowSample { at: told.start, ..FlowSample::default() });
        let later =
            result.series.iter().map(|sample| nanos(sample.at)).filter(|at| (told.start + 1..=end).contains(at));
        flow.samples.extend(later.map(|at| FlowSample { at, ..FlowSample::default() }));
    }
    measured.resize(flow.samples.len(), 0);
    let running = |at: Duration| result.finished.is_none_or(|finished| at <= finished);
    let mut delivered = 0.0;
    let mut series = result.series.iter().peekable();
    for (sample, measured) in flow.samples.iter_mut().zip(measured) {
        let mut now = None;
        while let Some(one) = series.next_if(|one| nanos(one.at) <= sample.at) {
            delivered += one.delivered.get() as f64 * useful;
            now = Some(one);
        }
        sample.delivered += delivered as u64;
        let Some(now) = now else { continue };
        sample.sent += now.sent.packets * segment;
        sample.retransmitted += now.sent.lost * segment;
        if let Some(rtt) = now.rtt.filter(|_| running(now.at)) {
            sample.rtt = sample.rtt.saturating_add(u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX));
            *measured += 1;
        }
        sample.cwnd += (now.in_flight / segment) as u32;
        if *control == Control::Pcc {
            sample.rate += now.rate.bits_per_sec() as u64;
        }
    }
}

/// RTTs were added up over so many connections each.
fn average_rtts(flow: &mut FlowOutcome, measured: &[u32]) {
    flow.samples.iter_mut().zip(measured).for_each(|(sample, measured)| sample.rtt /= (*measured).max(1));
}

/// The rates that PCC tried.
#[derive(Debug, Default)]
struct Log(Mutex<Vec<MonitorInterval>>);

impl Observer for Log {
    fn on_event(&self, event: &Event<'_>) {
        let (Event::Interval { at, report, utility }, Ok(mut log)) = (event, self.0.lock()) else { return };
        log.push(MonitorInterval {
            at: at.as_nanos(),
            target_rate: report.target.bits_per_sec(),
            delivered_rate: report.throughput().bits_per_sec(),
            loss: report.loss(),
            rtt: report.rtt.map_or(0, |rtt| u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX)),
            utility: *utility,
            state: String::new(),
            limited_by: if report.app_limited { "application" } else { "nothing" }.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Measure;
    use crate::scenario::{self, Options};

    const SECOND: u64 = 1_000_000_000;

    fn simulate(name: &str, algorithm: &str, measure: Measure) -> f64 {
        let scenario = scenario::load(name, &Options::default()).unwrap();
        let one = scenario.runs.iter().find(|run| run.algorithm == algorithm).unwrap();
        let outcome = run(&one.spec, &|_| ()).unwrap().unwrap();
        measure.of(&one.spec, &outcome).unwrap()
    }

    #[test]
    fn the_lab_s_measures_judge_a_simulated_run() {
        // The lab: 94.4 Mbit/s, and 92.2 to 92.5.
        assert!((93.0..96.0).contains(&simulate("random-loss", "cubic", Measure::Goodput)));
        assert!((90.0..95.0).contains(&simulate("random-loss", "bbr", Measure::Goodput)));
        assert!((1.0..2.0).contains(&simulate("application-limited", "quic:pcc", Measure::Headroom)));
    }

    #[test]
    fn a_flow_that_stops_counts_until_then() {
        let scenario = scenario::load("convergence", &Options::default()).unwrap();
        let mut spec = scenario.runs.iter().find(|run| run.algorithm == "cubic").unwrap().spec.clone();
        spec.duration = 12 * SECOND;
        spec.flows.truncate(2);
        for (flow, life) in spec.flows.iter_mut().zip([[0, 6], [4, 12]]) {
            [flow.start, flow.stop] = life.map(|second| second * SECOND);
        }
        let outcome = run(&spec, &|_| ()).unwrap().unwrap();
        let ends = outcome.flows.iter().map(|flow| flow.samples.last().unwrap().at / SECOND);
        assert_eq!(ends.collect::<Vec<_>>(), [6, 12]);
    }

    #[test]
    fn short_flows_complete() {
        let scenario = scenario::load("short-flows", &Options::default()).unwrap();
        let one = scenario.runs.iter().find(|run| run.algorithm == "cubic").unwrap();
        let outcome = run(&one.spec, &|_| ()).unwrap().unwrap();
        assert_eq!(outcome.flows[0].completions.len(), one.spec.flows[0].arrivals.len());
        let fct = Measure::Fct.of(&one.spec, &outcome).unwrap();
        // Handshake and three doublings of ten packets: at least four round trips of 60 ms.
        assert!((240.0..450.0).contains(&fct), "{fct} ms");
        // Many at a time, and none waits longer than the queue's 60 ms, after 60 of the path's.
        let crowded = scenario.runs.iter().rfind(|run| run.algorithm == "cubic").unwrap();
        let outcome = run(&crowded.spec, &|_| ()).unwrap().unwrap();
        assert_eq!(outcome.flows[0].completions.len(), crowded.spec.flows[0].arrivals.len());
        let rtts = outcome.flows[0].samples.iter().map(|sample| sample.rtt).filter(|rtt| *rtt > 0);
        assert!(rtts.clone().count() > 15, "{} samples", rtts.count());
        assert!(rtts.clone().all(|rtt| (60_000..125_000).contains(&rtt)), "{:?}", rtts.max());
    }
}
