//! The measures: each is one figure of merit, computed from what a run was told and what came of it.

use crate::names::QUIC;
use crate::spec::{
    FlowOutcome, FlowSpec, Outcome, PACKET, PathSpec, QUIC_PACKET, QUIC_PAYLOAD, Segment, Spec, TCP_PAYLOAD,
};
use pcc_stats::{converged, imbalance, jain_over, mean, recovered, unsteadiness};
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

const SECOND: u64 = 1_000_000_000;

/// A figure of merit. Where a measure is about "the flow" and the first `[[flow]]` table stands for several, they count
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Measure {
    /// Payload the receiver got over the flow's life. Unit: Mbit/s.
    Goodput,
    /// Goodput over what the narrowest bottleneck of its way allowed in that time: capacity, less random loss, less headers.
    Share,
    /// The same from the first second on in which the flow reached half of what the path allowed.
    ShareStarted,
    /// Share of all flows together.
    Utilisation,
    /// Median of the time that packets wait at all bottlenecks, over the flow's life. Behind queues of their own: of the
    /// smoothed RTT beyond that of the empty path, the only one that every sender tells. Unit: ms.
    RttAdded,
    /// Its 95th percentile. Unit: ms.
    RttAddedP95,
    /// Mean smoothed RTT. Unit: ms.
    Rtt,
    /// Bytes sent again over bytes sent, all flows together.
    Loss,
    /// Bytes sent for each byte delivered: TCP's payload, QUIC's datagrams with their headers.
    Waste,
    /// The last flow's goodput over the first one's, while both run.
    Ratio,
    /// The same turned round where it is below 1, so that 1 is fair and everything else is above.
    Imbalance,
    /// Jain's fairness index of the goodputs in windows of so many seconds, averaged over the windows during which the
    /// same two or more flows ran.
    Jain(u32),
    /// How long the last flow needs until its goodput stays within 25 % of the fair rate for five seconds (NSDI 2015,
    /// section 4.2.2). Unit: s. The rest of the run if it never does.
    Convergence,
    /// Standard deviation of that flow's goodput per second in the minute after that. Unit: Mbit/s.
    Deviation,
    /// Median time to complete of short flows; one that did not counts until the run's end. Unit: ms.
    Fct,
    /// Its 95th percentile. Unit: ms.
    FctP95,
    /// Goodput over mean RTT. Unit: Mbit/s per second.
    Power,
    /// Goodput of the last flow, which is not the one under comparison. Unit: Mbit/s.
    Victim,
    /// The goodput as a share of the path's allowance.
    VictimShare,
    /// Bytes of all flows of a given size over what the path could have carried until the last of them was done.
    Incast,
    /// Time from the end of a black-out until the flow is back at 80 % of its goodput before it. Unit: RTT.
    Recovered,
    /// Packets sent in the last sampled step of a black-out: a rate that PCC tells may be of the moment after. Unit:
    /// packets an RTT.
    BlackoutRate,
    /// Goodput of the first table's flows over the highest of the others', in the last quarter of the run.
    OverHighest,
    /// The highest rate that PCC tried in the second half of the run, over the rate of an application that has no more
    /// to send.
    Headroom,
    /// Share of the flow's time in which its own hosts held it back, not the path, by the sender's account; CUBIC and BBR
    /// over QUIC give none.
    HostLimited,
}

/// Names, in the order in which they are listed.
const NAMES: [(Measure, &str); 24] = [
    (Measure::Goodput, "goodput"),
    (Measure::Share, "share"),
    (Measure::ShareStarted, "share-started"),
    (Measure::Utilisation, "utilisation"),
    (Measure::RttAdded, "rtt-added"),
    (Measure::RttAddedP95, "rtt-added-p95"),
    (Measure::Rtt, "rtt"),
    (Measure::Loss, "loss"),
    (Measure::Waste, "waste"),
    (Measure::Ratio, "ratio"),
    (Measure::Imbalance, "imbalance"),
    (Measure::Convergence, "convergence"),
    (Measure::Deviation, "deviation"),
    (Measure::Fct, "fct"),
    (Measure::FctP95, "fct-p95"),
    (Measure::Power, "power"),
    (Measure::Victim, "victim"),
    (Measure::VictimShare, "victim-share"),
    (Measure::Incast, "incast"),
    (Measure::Recovered, "recovered"),
    (Measure::BlackoutRate, "blackout-rate"),
    (Measure::OverHighest, "over-highest"),
    (Measure::Headroom, "headroom"),
    (Measure::HostLimited, "host-limited"),
];

impl FromStr for Measure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let window = text.strip_prefix("jain@").and_then(|rest| rest.strip_suffix('s'));
        if let Some(seconds) = window.and_then(|seconds| seconds.parse().ok()).filter(|seconds| *seconds > 0) {
            return Ok(Self::Jain(seconds));
        }
        let known = NAMES.iter().find(|(_, name)| *name == text).map(|(measure, _)| *measure);
        known.ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(_, name)| *name).collect();
            format!("there is no measure `{text}`: choose from {}, jain@5s", names.join(", "))
        })
    }
}

impl TryFrom<String> for Measure {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jain(seconds) => write!(f, "jain@{seconds}s"),
            named => f.write_str(NAMES.iter().find(|(measure, _)| measure == named).map_or("", |(_, name)| name)),
        }
    }
}

impl Measure {
    /// The label of an axis, with the unit.
    pub fn label(self) -> String {
        let text = match self {
            Self::Goodput => "goodput, Mbit/s",
            Self::Share => "share of what the path allows",
            Self::ShareStarted => "share once started",
            Self::Utilisation => "share, all flows together",
            Self::RttAdded => "median RTT added, ms",
            Self::RttAddedP95 => "95th percentile of RTT added, ms",
            Self::Rtt => "mean RTT, ms",
            Self::Loss => "loss: bytes sent again / bytes sent",
            Self::Waste => "bytes sent / bytes delivered",
            Self::Ratio => "goodput of the second flow / of the first",
            Self::Imbalance => "goodput of the faster flow / of the slower",
            Self::Jain(seconds) => return format!("Jain's index over {seconds} s"),
            Self::Convergence => "convergence time, s",
            Self::Deviation => "standard deviation of goodput, Mbit/s",
            Self::Fct => "median time to complete, ms",
            Self::FctP95 => "95th percentile of time to complete, ms",
            Self::Power => "power: Mbit/s per second of RTT",
            Self::Victim => "goodput of the ordinary flow, Mbit/s",
            Self::VictimShare => "share of the ordinary flow",
            Self::Incast => "share of the link until the last is done",
            Self::Recovered => "RTTs until 80 % is back",
            Self::BlackoutRate => "packets an RTT at the end of the black-out",
            Self::OverHighest => "goodput over the highest of the others",
            Self::Headroom => "highest rate tried / rate of the application",
            Self::HostLimited => "time held back by its own hosts",
        };
        text.to_owned()
    }

    /// The measure of one run; none if the run has nothing to measure it by.
    pub fn of(self, spec: &Spec, outcome: &Outcome) -> Option<f64> {
        let view = View { spec, outcome };
        match self {
            Self::Goodput => view.goodput(&view.judged()),
            Self::Share => view.share(&view.judged()),
            Self::ShareStarted => view.share_started(),
            Self::Utilisation => view.share(&view.all()),
            Self::RttAdded => view.rtt_added(0.5),
            Self::RttAddedP95 => view.rtt_added(0.95),
            Self::Rtt => view.rtt(),
            Self::Loss => view.loss(),
            Self::Waste => view.waste(),
            Self::Ratio => view.ratio(),
            Self::Imbalance => view.ratio().map(|ratio| imbalance(ratio, 1.0)),
            Self::Jain(seconds) => view.jain(u64::from(seconds) * SECOND),
            Self::Convergence => view.convergence(),
            Self::Deviation => view.deviation(),
            Self::Fct => pcc_stats::quantile(view.completion_times(), 0.5),
            Self::FctP95 => pcc_stats::quantile(view.completion_times(), 0.95),
            Self::Power => Some(view.goodput(&view.judged())? / (view.rtt()? / 1e3)),
            Self::Victim => view.goodput(&[view.last()?]),
            Self::VictimShare => view.share(&[view.last()?]),
            Self::Incast => view.incast(),
            Self::Recovered => view.recovered(),
            Self::BlackoutRate => view.blackout_rate(),
            Self::OverHighest => view.over_highest(),
            Self::Headroom => view.headroom(),
            Self::HostLimited => view.host_limited(),
        }
    }
}

/// A flow as it was told and as it went.
type Pair<'a> = (&'a FlowSpec, &'a FlowOutcome);

/// A run, looked at from several sides.
struct View<'a> {
    spec: &'a Spec,
    outcome: &'a Outcome,
}

impl<'a> View<'a> {
    fn all(&self) -> Vec<Pair<'a>> {
        self.spec.flows.iter().zip(&self.outcome.flows).collect()
    }

    /// The flows under comparison: those of the first table.
    fn judged(&self) -> Vec<Pair<'a>> {
        self.all().into_iter().filter(|(spec, _)| spec.table == 0).collect()
    }

    /// The flow that came last in the file, if there are several.
    fn last(&self) -> Option<Pair<'a>> {
        self.all().into_iter().skip(1).last()
    }

    fn goodput(&self, flows: &[Pair<'_>]) -> Option<f64> {
        let each = flows.iter().map(|flow| {
            let (from, to) = life(flow)?;
            Some(delivered(flow.1, from, to) * 8e3 / (to - from) as f64)
        });
        // `sum` has -0 of no flows.
        each.into_iter().try_fold(0.0, |sum, one| Some(sum + one?))
    }

    fn share(&self, flows: &[Pair<'_>]) -> Option<f64> {
        let from = flows.iter().filter_map(life).map(|(from, _)| from).min()?;
        let to = flows.iter().filter_map(life).map(|(_, to)| to).max()?;
        let moved: f64 = flows.iter().map(|flow| delivered(flow.1, from, to)).sum();
        Some(moved / self.allowed(flows, from, to))
    }

    fn share_started(&self) -> Option<f64> {
        let judged = self.judged();
        let (from, to) = life(judged.first()?)?;
        let is_running = |at: u64| {
            let moved: f64 = judged.iter().map(|flow| delivered(flow.1, at, at + SECOND)).sum();
            moved >= 0.5 * self.allowed(&judged, at, at + SECOND)
        };
        let started = (from..to.saturating_sub(SECOND)).step_by(SECOND as usize).find(|at| is_running(*at));
        let from = started.unwrap_or(from);
        let moved: f64 = judged.iter().map(|flow| delivered(flow.1, from, to)).sum();
        Some(moved / self.allowed(&judged, from, to))
    }

    /// Bytes of payload that a perfect sender with packets like these flows' would have brought over between two
    /// moments, through the narrowest bottleneck that one of them crosses.
    fn allowed(&self, flows: &[Pair<'_>], from: u64, to: u64) -> f64 {
        let is_quic = flows.first().is_some_and(|(spec, _)| spec.algorithm.starts_with(QUIC));
        let payload =
            if is_quic { QUIC_PAYLOAD as f64 / QUIC_PACKET as f64 } else { TCP_PAYLOAD as f64 / PACKET as f64 };
        let bytes = |part: &Segment| part.rate as f64 / 8e9 * (1.0 - part.loss) * (part.to - part.from) as f64;
        let carried = |path: &PathSpec| path.segments(from, to).iter().map(bytes).sum::<f64>();
        let is_crossed = |place: usize| {
            let mut ways = flows.iter().map(|(flow, _)| self.spec.way(flow));
            ways.any(|(first, last)| (first..=last).contains(&place))
        };
        let crossed = self.spec.paths().enumerate().filter(|(place, _)| is_crossed(*place));
        payload * crossed.map(|(_, path)| carried(path)).fold(f64::INFINITY, f64::min)
    }

    /// The RTT of a flow's empty way just before a moment. Unit: ns.
    fn base_rtt(&self, flow: &FlowSpec, at: u64) -> u64 {
        let of = |path: &PathSpec| path.segments(at.saturating_sub(1), at).first().map_or(path.rtt, |part| part.rtt);
        self.spec.crossed(flow).map(of).sum::<u64>() + flow.extra_rtt
    }

    /// The queue's part of the judged flows' RTT. Unit: ms.
    fn rtt_added(&self, quantile: f64) -> Option<f64> {
        let delays = &self.outcome.delays;
        if !delays.is_empty() {
            let lives: Vec<_> = self.judged().iter().filter_map(life).collect();
            let at = |place: usize| place as u64 * self.spec.duration / delays.len() as u64;
            let is_within = |place: usize| lives.iter().any(|(from, to)| (*from..*to).contains(&at(place)));
            let waits = delays.iter().enumerate().filter(|(place, _)| is_within(*place));
            return pcc_stats::quantile(waits.map(|(_, wait)| f64::from(*wait) / 1e3).collect(), quantile);
        }
        let mut added = Vec::new();
        for (spec, flow) in self.judged() {
            for sample in flow.samples.iter().filter(|sample| sample.rtt > 0) {
                // A packet acknowledged at this moment left before it, at a change over the old path.
                let base = self.base_rtt(spec, sample.at);
                added.push(f64::from(sample.rtt) / 1e3 - base as f64 / 1e6);
            }
        }
        pcc_stats::quantile(added, quantile)
    }

    fn rtt(&self) -> Option<f64> {
        let judged = self.judged();
        let samples = judged.iter().flat_map(|(_, flow)| &flow.samples).filter(|sample| sample.rtt > 0);
        mean(&samples.map(|sample| f64::from(sample.rtt) / 1e3).collect::<Vec<_>>())
    }

    fn loss(&self) -> Option<f64> {
        let last = || self.outcome.flows.iter().filter_map(|flow| flow.samples.last());
        let sent: u64 = last().map(|sample| sample.sent).sum();
        let again: u64 = last().map(|sample| sample.retransmitted).sum();
        (sent > 0).then(|| again as f64 / sent as f64)
    }

    fn waste(&self) -> Option<f64> {
        let judged = self.judged();
        let last = || judged.iter().filter_map(|(_, flow)| flow.samples.last());
        let delivered: u64 = last().map(|sample| sample.delivered).sum();
        (delivered > 0).then(|| last().map(|sample| sample.sent).sum::<u64>() as f64 / delivered as f64)
    }

    fn ratio(&self) -> Option<f64> {
        let (first, second) = (*self.judged().first()?, self.last()?);
        let ((a, b), (c, d)) = (life(&first)?, life(&second)?);
        let (from, to) = (a.max(c), b.min(d));
        let moved = delivered(first.1, from, to);
        (to > from && moved > 0.0).then(|| delivered(second.1, from, to) / moved)
    }

    fn jain(&self, window: u64) -> Option<f64> {
        let flows: Vec<_> = self.all().into_iter().filter_map(|flow| Some((flow.1, life(&flow)?))).collect();
        let mut changes: Vec<u64> = flows.iter().flat_map(|(_, life)| [life.0, life.1]).collect();
        changes.sort_unstable();
        let mut rates = Vec::new();
        for pair in changes.windows(2) {
            let &[from, to] = pair else { continue };
            let there: Vec<_> = flows.iter().filter(|(_, life)| life.0 <= from && life.1 >= to).collect();
            // The last sample may come a moment early.
            let windows = (to - from + SECOND / 10) / window;
            for at in (0..windows).map(|number| from + number * window).filter(|_| there.len() >= 2) {
                rates.push(there.iter().map(|(flow, _)| delivered(flow, at, at + window)).collect());
            }
        }
        jain_over(rates)
    }

    /// The last flow's goodput in each second of its life, and its fair part. Unit: Mbit/s.
    fn last_rates(&self) -> Option<(Vec<f64>, f64)> {
        let flow = self.last()?;
        let (from, to) = life(&flow)?;
        let all = self.all();
        let sharing = all.iter().filter_map(life).filter(|(start, end)| *start <= from && *end >= to).count();
        let mbit = |bytes: f64| bytes * 8e-6;
        let seconds = (0..(to - from) / SECOND).map(|number| from + number * SECOND);
        let rates = seconds.map(|at| mbit(delivered(flow.1, at, at + SECOND))).collect();
        Some((rates, mbit(self.allowed(&[flow], from, from + SECOND)) / sharing.max(1) as f64))
    }

    /// Time until the last flow has converged, or its life if it never does. Unit: s.
    fn convergence(&self) -> Option<f64> {
        let (rates, fair) = self.last_rates()?;
        let (from, to) = life(&self.last()?)?;
        Some(converged(&rates, fair).map_or((to - from) as f64 / 1e9, |second| second as f64))
    }

    fn deviation(&self) -> Option<f64> {
        let (rates, fair) = self.last_rates()?;
        unsteadiness(&rates, fair)
    }

    /// Completion times of the judged flows of a given size; unfinished ones count until the end. Unit: ms.
    fn completion_times(&self) -> Vec<f64> {
        let mut times = Vec::new();
        for (spec, flow) in self.judged().into_iter().filter(|(spec, _)| spec.size.is_some()) {
            if spec.arrivals.is_empty() {
                times.push(flow.finished.unwrap_or(self.spec.duration).saturating_sub(spec.start));
                continue;
            }
            let mut waiting = spec.arrivals.clone();
            for done in &flow.completions {
                times.push(done.finish.saturating_sub(done.start));
                // It began a moment after it was due.
                if let Some(place) = waiting.iter().rposition(|arrival| *arrival <= done.start) {
                    waiting.remove(place);
                }
            }
            times.extend(waiting.iter().map(|arrival| self.spec.duration.saturating_sub(*arrival)));
        }
        times.into_iter().map(|time| time as f64 / 1e6).collect()
    }

    fn incast(&self) -> Option<f64> {
        let flows: Vec<_> = self.all().into_iter().filter(|(spec, _)| spec.size.is_some()).collect();
        let start = flows.iter().map(|(spec, _)| spec.start).min()?;
        let ends = flows.iter().map(|(_, flow)| flow.finished.unwrap_or(self.spec.duration));
        let end = ends.max().filter(|end| *end > start)?;
        let arrived = |(spec, flow): &Pair<'_>| match (flow.finished, spec.size) {
            (Some(_), Some(size)) => size as f64,
            _ => delivered(flow, start, end),
        };
        Some(flows.iter().map(arrived).sum::<f64>() / self.allowed(&flows, start, end))
    }

    /// The first stretch in which nothing gets through.
    fn blackout(&self) -> Option<Segment> {
        self.spec.path.segments(0, self.spec.duration).into_iter().find(|part| part.loss >= 1.0)
    }

    fn recovered(&self) -> Option<f64> {
        let (blackout, flow) = (self.blackout()?, *self.judged().first()?);
        let (from, to) = life(&flow)?;
        // Five seconds before it, less where the flow is younger.
        let before = blackout.from.saturating_sub(5 * SECOND).max(from);
        let usual = delivered(flow.1, before, blackout.from) / blackout.from.checked_sub(before)? as f64;
        let rtt = self.base_rtt(flow.0, blackout.to);
        let window = self.spec.step.max(rtt);
        let last = to.checked_sub(window).filter(|last| *last > blackout.to)?;
        let steps = (blackout.to..=last).step_by(self.spec.step as usize);
        let rates = steps.map(|at| delivered(flow.1, at, at + window) / window as f64);
        let back = recovered(rates, usual).map(|step| step as u64 * self.spec.step + window);
        Some(back.unwrap_or(to - blackout.to) as f64 / rtt.max(1) as f64)
    }

    fn blackout_rate(&self) -> Option<f64> {
        let (blackout, (spec, flow)) = (self.blackout()?, *self.judged().first()?);
        let within = |at: u64| (blackout.from..=blackout.to).contains(&at);
        let samples: Vec<_> = flow.samples.iter().filter(|sample| within(sample.at)).collect();
        let [.., before, last] = samples.as_slice() else { return None };
        let packet = if spec.algorithm.starts_with(QUIC) { QUIC_PACKET - 42 } else { TCP_PAYLOAD };
        let rtt = self.base_rtt(spec, blackout.to).max(1) as f64;
        let rtts = (last.at - before.at) as f64 / rtt;
        Some(last.sent.saturating_sub(before.sent) as f64 / packet as f64 / rtts)
    }

    fn over_highest(&self) -> Option<f64> {
        let (from, to) = (self.spec.duration / 4 * 3, self.spec.duration);
        let (mut judged, mut highest) = (0.0, 0.0_f64);
        for (spec, flow) in self.all() {
            let moved = delivered(flow, from, to);
            if spec.table == 0 { judged += moved } else { highest = highest.max(moved) }
        }
        (highest > 0.0).then(|| judged / highest)
    }

    fn headroom(&self) -> Option<f64> {
        let (spec, flow) = *self.judged().first()?;
        let limit = spec.rate.filter(|rate| *rate > 0)? as f64;
        let late = flow.intervals.iter().filter(|interval| interval.at >= self.spec.duration / 2);
        late.map(|interval| interval.target_rate / limit).reduce(f64::max)
    }

    fn host_limited(&self) -> Option<f64> {
        let judged = self.judged();
        let busy: u64 = judged.iter().map(|(_, flow)| flow.busy).sum();
        let held: u64 = judged.iter().map(|(_, flow)| flow.rwnd_limited + flow.sndbuf_limited).sum();
        (busy > 0).then(|| held as f64 / busy as f64)
    }
}

/// From the flow's start to its end, or to its last sample; none if nothing was sampled. Unit: ns since the run began.
fn life((spec, flow): &Pair<'_>) -> Option<(u64, u64)> {
    let last = flow.samples.last()?.at;
    let end = flow.finished.map_or(last, |finished| finished.min(last));
    (end > spec.start).then_some((spec.start, end))
}

/// Bytes that arrived between two moments; evenly between two samples.
pub(crate) fn delivered(flow: &FlowOutcome, from: u64, to: u64) -> f64 {
    (delivered_until(flow, to) - delivered_until(flow, from)).max(0.0)
}

fn delivered_until(flow: &FlowOutcome, at: u64) -> f64 {
    let next = flow.samples.partition_point(|sample| sample.at < at);
    let Some(after) = flow.samples.get(next) else {
        return flow.samples.last().map_or(0.0, |sample| sample.delivered as f64);
    };
    if after.at == at {
        return after.delivered as f64;
    }
    let Some(before) = next.checked_sub(1).and_then(|place| flow.samples.get(place)) else { return 0.0 };
    let part = (at - before.at) as f64 / (after.at - before.at).max(1) as f64;
    before.delivered as f64 + part * after.delivered.saturating_sub(before.delivered) as f64
}

#[cfg(test)]
mod tests;
