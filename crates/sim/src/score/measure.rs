//! Figures of merit of a simulation.

use crate::results::{FlowResult, Results};
use crate::scenario::{Scenario, Source};
use crate::summary::goodput_of_others;
use core::time::Duration;
use pcc_stats::{converged, imbalance, recovered, unsteadiness};

/// Bytes of a QUIC packet's datagram for each of its payload, as the lab counts waste: 1452 to 1416.
const QUIC_OVERHEAD: f64 = 1452.0 / 1416.0;

/// The measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// All flows' goodput over what the path, or its policer, allows, from the start of the first on.
    Share,
    /// The first flow's, times the number of flows: 1 is its fair part.
    FairPart,
    /// The first flow's goodput over what the path allows, while all flows are there.
    FirstShare,
    /// Median time until a finite flow is done, from its start. Unit: ms.
    Completion,
    /// Its 95th percentile. Unit: ms.
    CompletionP95,
    /// Time until the first flow is done, from its start; the rest of the run if it is not. Unit: ms.
    FirstDone,
    /// Mean delay of the first flow's frames that are awaited after so many milliseconds. Unit: ms.
    FrameMean(u32),
    /// The largest of them. Unit: ms.
    FrameMost(u32),
    /// Packets dropped by the bottleneck and on the wire over packets sent.
    Loss,
    /// Bytes sent for each useful one, as a QUIC sender has them.
    Waste,
    /// Median RTT added of the first flow. Unit: ms.
    Added,
    /// Its 95th percentile. Unit: ms.
    AddedP95,
    /// Jain's index over so many seconds, averaged from the moment when all flows are there.
    Jain(u32),
    /// The faster flow's goodput over the slower one's while both are there.
    Imbalance,
    /// How long the last flow needs until its goodput stays within 25 % of its fair part for five seconds (NSDI 2015,
    /// section 4.2.2), in whole seconds; the rest of the run if it never does. Unit: s.
    Convergence,
    /// Standard deviation of its goodput per second in the minute after that, or in all of its life if it never does.
    /// Unit: Mbit/s.
    Deviation,
    /// All flows' goodput over the mean of their smoothed RTTs. Unit: Mbit/s per second.
    Power,
    /// The last flow's part of what all deliver while it is there.
    LastPart,
    /// Packets an RTT at the end of the black-out.
    DarkRate,
    /// RTTs from the end of the black-out until 80 % of the goodput before it is back.
    Recovered,
    /// The highest rate in the second half over that of the application.
    Headroom,
    /// 95th percentile of the queueing delay in the second half. Unit: ms.
    QueueP95,
    /// Jain's index over so many seconds of the second half.
    JainLate(u32),
    /// The last flow's goodput while all flows are there, of its fair part.
    LastFair,
    /// Mean goodput of the flows beside PCC while it is there. Unit: Mbit/s.
    Others,
    /// Bytes of finite flows over what the path could carry until the last was done.
    Incast,
}

impl Measure {
    /// Its name and unit, for tables.
    pub fn name(self) -> String {
        match self {
            Self::Share => "share".into(),
            Self::FairPart => "share of its fair part".into(),
            Self::FirstShare => "share of the first flow".into(),
            Self::Completion => "done after, ms".into(),
            Self::CompletionP95 => "done after, p95, ms".into(),
            Self::FirstDone => "first flow done after, ms".into(),
            Self::FrameMean(_) => "mean frame delay, ms".into(),
            Self::FrameMost(_) => "largest frame delay, ms".into(),
            Self::Loss => "loss".into(),
            Self::Waste => "waste".into(),
            Self::Added => "RTT added p50, ms".into(),
            Self::AddedP95 => "RTT added p95, ms".into(),
            Self::Jain(seconds) => format!("Jain over {seconds} s"),
            Self::Imbalance => "faster flow / slower".into(),
            Self::Convergence => "converged after, s".into(),
            Self::Deviation => "deviation then, Mbit/s".into(),
            Self::Power => "Mbit/s / mean RTT".into(),
            Self::LastPart => "part of the last flow".into(),
            Self::DarkRate => "packets an RTT in the dark".into(),
            Self::Recovered => "RTTs until 80 % is back".into(),
            Self::Headroom => "highest rate / application's".into(),
            Self::QueueP95 => "queueing delay p95, ms".into(),
            Self::JainLate(seconds) => format!("Jain over {seconds} s, late"),
            Self::LastFair => "last flow, of its fair part".into(),
            Self::Others => "others' goodput, Mbit/s".into(),
            Self::Incast => "share until all are done".into(),
        }
    }

    /// Its name for programs: the lab's, where the lab has it.
    pub fn metric(self) -> String {
        let name = match self {
            Self::Share => "share",
            Self::FairPart => "fair-part",
            Self::FirstShare => "first-share",
            Self::Completion => "fct",
            Self::CompletionP95 => "fct-p95",
            Self::FirstDone => "first-fct",
            Self::FrameMean(_) => "frame-mean",
            Self::FrameMost(_) => "frame-most",
            Self::Loss => "loss",
            Self::Waste => "waste",
            Self::Added => "rtt-added",
            Self::AddedP95 => "rtt-added-p95",
            Self::Jain(seconds) => return format!("jain@{seconds}s"),
            Self::Imbalance => "imbalance",
            Self::Convergence => "convergence",
            Self::Deviation => "deviation",
            Self::Power => "power",
            Self::LastPart => "last-part",
            Self::DarkRate => "blackout-rate",
            Self::Recovered => "recovered",
            Self::Headroom => "headroom",
            Self::QueueP95 => "queue-p95",
            Self::JainLate(seconds) => return format!("late-jain@{seconds}s"),
            Self::LastFair => "last-fair-part",
            Self::Others => "others-goodput",
            Self::Incast => "incast",
        };
        name.to_owned()
    }

    /// The figure of a run; `None` if there is nothing to measure.
    pub fn of(self, scenario: &Scenario, results: &Results) -> Option<f64> {
        let (end, first) = (scenario.duration, results.flows.first()?);
        let arrived = results.flows.iter().map(|flow| flow.start).max()?;
        let began = results.flows.iter().map(|flow| flow.start).min();
        let goodput = |place: usize, from| results.flows.get(place).map(|flow| flow.goodput(from, end).mbit());
        let last = results.flows.len() - 1;
        Some(match self {
            Self::Share => {
                let began = began?;
                let allowed = results.capacity(began, end).mbit();
                let allowed = scenario.policer.map_or(allowed, |policer| allowed.min(policer.rate.mbit()));
                results.flows.iter().map(|flow| flow.goodput(began, end).mbit()).sum::<f64>() / allowed
            }
            Self::FairPart => {
                let fair = results.capacity(arrived, end).mbit() / results.flows.len() as f64;
                goodput(0, arrived)? / fair
            }
            Self::FirstShare => goodput(0, arrived)? / results.capacity(arrived, end).mbit(),
            Self::Completion => completion(results, 0.5)?,
            Self::CompletionP95 => completion(results, 0.95)?,
            Self::FirstDone => first.finished.unwrap_or(end).saturating_sub(first.start).as_secs_f64() * 1e3,
            Self::FrameMean(after) => first.frame_delay(Duration::from_millis(after.into()))?.0.as_secs_f64() * 1e3,
            Self::FrameMost(after) => first.frame_delay(Duration::from_millis(after.into()))?.1.as_secs_f64() * 1e3,
            Self::Loss => {
                let sent: u64 = results.flows.iter().map(|flow| flow.sent.packets).sum();
                results.drops() as f64 / sent.max(1) as f64
            }
            Self::Waste => first.waste()? * QUIC_OVERHEAD,
            Self::Added => first.added_rtt(0.5).as_secs_f64() * 1e3,
            Self::AddedP95 => first.added_rtt(0.95).as_secs_f64() * 1e3,
            Self::Jain(seconds) => {
                let scale = Duration::from_secs(u64::from(seconds));
                (results.flows.len() > 1 && arrived + scale <= end).then(|| results.jain(scale, arrived, end))?
            }
            Self::Imbalance => {
                let (one, other) = (goodput(0, arrived)?, goodput(last, arrived)?);
                imbalance(one, other)
            }
            Self::Convergence => {
                let (rates, fair) = last_rates(scenario, results)?;
                converged(&rates, fair).unwrap_or(rates.len()) as f64
            }
            Self::Deviation => {
                let (rates, fair) = last_rates(scenario, results)?;
                unsteadiness(&rates, fair)?
            }
            Self::Power => {
                let series = results.flows.iter().flat_map(|flow| &flow.series);
                let rtts: Vec<f64> = series.filter_map(|sample| Some(sample.rtt?.as_secs_f64())).collect();
                let all: f64 = results.flows.iter().map(|flow| flow.goodput(Duration::ZERO, end).mbit()).sum();
                (!rtts.is_empty()).then(|| all / (rtts.iter().sum::<f64>() / rtts.len() as f64))?
            }
            Self::LastPart => {
                let all: f64 = (0..=last).filter_map(|place| goodput(place, arrived)).sum();
                goodput(last, arrived)? / all
            }
            Self::DarkRate => {
                let (dark, length) = blackout(scenario)?;
                let rate = first.rate_at((dark + length).checked_sub(Duration::from_millis(100))?);
                (rate * scenario.path.rtt()).get() as f64 / first.packet.get() as f64
            }
            Self::Recovered => recovery(scenario, results)?,
            Self::Headroom => {
                let Source::At(rate) = scenario.flows.first()?.source else { return None };
                let late = first.series.iter().filter(|sample| sample.at >= end / 2);
                late.map(|sample| sample.rate.mbit()).reduce(f64::max)? / rate.mbit()
            }
            Self::QueueP95 => results.queueing_delay(0.95, end / 2).as_secs_f64() * 1e3,
            Self::JainLate(seconds) => {
                let (scale, from) = (Duration::from_secs(u64::from(seconds)), arrived.max(end / 2));
                (results.flows.len() > 1 && from + scale <= end).then(|| results.jain(scale, from, end))?
            }
            Self::LastFair => {
                let fair = results.capacity(arrived, end).mbit() / results.flows.len() as f64;
                goodput(last, arrived)? / fair
            }
            Self::Others => goodput_of_others(scenario, results, |_| true)?,
            Self::Incast => {
                let ends: Option<Vec<Duration>> = results.flows.iter().map(|flow| flow.finished).collect();
                let (done, began) = (ends.and_then(|ends| ends.into_iter().max()).unwrap_or(end), began?);
                let done = done.saturating_sub(began).max(Duration::from_nanos(1));
                let bytes: u64 = results.flows.iter().map(|flow| flow.delivered.bytes.get()).sum();
                let allowed = scenario.path.down.conditions.rate.bytes_per_sec() * done.as_secs_f64();
                bytes as f64 / allowed
            }
        })
    }
}

/// The time after which so many of the flows were done, each from its own start; none, if fewer were. Unit: ms.
fn completion(results: &Results, share: f64) -> Option<f64> {
    let took = |flow: &FlowResult| flow.finished.map(|end| end.saturating_sub(flow.start).as_secs_f64() * 1e3);
    let mut took: Vec<f64> = results.flows.iter().filter_map(took).collect();
    took.sort_by(f64::total_cmp);
    took.get(((results.flows.len() - 1) as f64 * share).ceil() as usize).copied()
}

/// The last flow's goodput in each whole second of its life, and its fair part. Unit: Mbit/s.
fn last_rates(scenario: &Scenario, results: &Results) -> Option<(Vec<f64>, f64)> {
    let (flow, end) = (results.flows.last()?, scenario.duration);
    let fair = results.capacity(flow.start, end).mbit() / results.flows.len() as f64;
    let second = |number| flow.start + Duration::from_secs(number);
    let whole = (0..).take_while(|number| second(number + 1) <= end);
    Some((whole.map(|number| flow.goodput(second(number), second(number + 1)).mbit()).collect(), fair))
}

/// When the first black-out begins, and how long it is.
fn blackout(scenario: &Scenario) -> Option<(Duration, Duration)> {
    scenario.path.down.schedule.rules.iter().find_map(|rule| match rule {
        pcc_link::Rule::Blackout { start, length, .. } => Some((*start, *length)),
        _ => None,
    })
}

/// Time from the first black-out's end until the first sender is back. Unit: RTT.
fn recovery(scenario: &Scenario, results: &Results) -> Option<f64> {
    let (dark, length) = blackout(scenario)?;
    let (flow, step, light) = (results.flows.first()?, scenario.step, dark + length);
    let before = flow.goodput(dark.saturating_sub(Duration::from_secs(5)), dark).mbit();
    let steps = (scenario.duration.checked_sub(light)?.as_nanos() / step.as_nanos()) as u32;
    let rates = (0..steps).map(|number| flow.goodput(light + step * number, light + step * (number + 1)).mbit());
    let back = recovered(rates, before);
    let time = back.map_or(scenario.duration - light, |number| step * (number as u32 + 1));
    Some(time.as_secs_f64() / scenario.path.rtt().as_secs_f64().max(1e-9))
}
