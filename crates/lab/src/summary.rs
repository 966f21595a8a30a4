//! From outcomes to the figures of a plot: one mean over the seeds for each point and algorithm.

use crate::scenario::Scenario;
use crate::spec::{Outcome, PACKET, QUIC_PACKET, QUIC_PAYLOAD, Spec, TCP_PAYLOAD};
use serde::Serialize;

/// A mean and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean over the seeds.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; absent with a single seed.
    pub margin: Option<f64>,
}

/// Everything about one algorithm at one point of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The value of the scenario's parameter.
    pub point: String,
    /// Whose flow it is.
    pub algorithm: String,
    /// How many runs it stands on.
    pub seeds: usize,
    /// Payload the receiver got, over the flow's whole life. Unit: Mbit/s.
    pub goodput_mbit: Mean,
    /// Goodput as a share of what the path allows: capacity, less random loss, less headers.
    pub share: Mean,
    /// Mean smoothed round trip. Unit: ms.
    pub rtt_ms: Mean,
    /// Bytes sent for each byte delivered: TCP's payload, QUIC's datagrams with their headers.
    pub waste: Mean,
    /// Share of the flow's time in which its own hosts held it back, not the path: above a few percent the run tells
    /// nothing of the algorithm.
    pub host_limited: Mean,
}

/// The rows of a scenario, in its order.
pub fn rows(scenario: &Scenario, outcomes: &[Outcome]) -> Vec<Row> {
    let mut rows: Vec<(Row, Vec<[f64; 5]>)> = Vec::new();
    for (run, outcome) in scenario.runs.iter().zip(outcomes) {
        let figures = judge(&run.spec, outcome);
        match rows.iter_mut().find(|(row, _)| row.point == run.point && row.algorithm == run.algorithm) {
            Some((_, known)) => known.push(figures),
            None => {
                let nothing = Mean { mean: 0.0, margin: None };
                let row = Row {
                    point: run.point.clone(),
                    algorithm: run.algorithm.clone(),
                    seeds: 0,
                    goodput_mbit: nothing,
                    share: nothing,
                    rtt_ms: nothing,
                    waste: nothing,
                    host_limited: nothing,
                };
                rows.push((row, vec![figures]));
            }
        }
    }
    let finish = |(row, figures): (Row, Vec<[f64; 5]>)| {
        let column = |number: usize| mean(&figures.iter().map(|figures| figures[number]).collect::<Vec<_>>());
        Row {
            seeds: figures.len(),
            goodput_mbit: column(0),
            share: column(1),
            rtt_ms: column(2),
            waste: column(3),
            host_limited: column(4),
            ..row
        }
    };
    rows.into_iter().map(finish).collect()
}

/// Goodput, share, RTT, waste and host-limited share of the first flow.
fn judge(spec: &Spec, outcome: &Outcome) -> [f64; 5] {
    let (Some(flow), Some(wanted)) = (outcome.flows.first(), spec.flows.first()) else { return [0.0; 5] };
    let Some(last) = flow.samples.last() else { return [0.0; 5] };
    let goodput = last.delivered as f64 * 8e3 / last.at.saturating_sub(wanted.start).max(1) as f64;
    let payload = if wanted.algorithm.starts_with(crate::guest::quic::PREFIX) {
        QUIC_PAYLOAD as f64 / QUIC_PACKET as f64
    } else {
        TCP_PAYLOAD as f64 / PACKET as f64
    };
    let ceiling = spec.path.rate as f64 / 1e6 * (1.0 - spec.path.loss) * payload;
    let rtts: Vec<_> =
        flow.samples.iter().filter(|sample| sample.rtt > 0).map(|sample| f64::from(sample.rtt)).collect();
    let rtt = rtts.iter().sum::<f64>() / rtts.len().max(1) as f64 / 1e3;
    let waste = last.sent as f64 / last.delivered.max(1) as f64;
    let held_back = (flow.rwnd_limited + flow.sndbuf_limited) as f64 / flow.busy.max(1) as f64;
    [goodput, goodput / ceiling, rtt, waste, held_back]
}

/// Student's t for 95 % on both sides, for 1 to 10 degrees of freedom; 2.0 is near enough beyond.
const STUDENT: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];

fn mean(values: &[f64]) -> Mean {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let margin = (values.len() > 1).then(|| {
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        STUDENT.get(values.len() - 2).copied().unwrap_or(2.0) * (variance / count).sqrt()
    });
    Mean { mean, margin }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{FlowOutcome, FlowSample, FlowSpec, PathSpec};

    #[test]
    fn the_confidence_interval_of_three_seeds_is_student_s() {
        let mean = mean(&[1.0, 2.0, 3.0]);
        assert_eq!(mean.mean, 2.0);
        assert!((mean.margin.unwrap() - 4.30 / 3_f64.sqrt()).abs() < 1e-9);
        assert_eq!(super::mean(&[5.0]), Mean { mean: 5.0, margin: None });
    }

    #[test]
    fn a_flow_that_delivers_what_the_path_allows_has_a_share_of_one() {
        let path = PathSpec { rate: 100_000_000, rtt: 30_000_000, buffer: 9000, loss: 0.5, ..PathSpec::default() };
        let flow = FlowSpec { algorithm: "bbr".into(), connections: 1, stop: 10_000_000_000, ..FlowSpec::default() };
        let spec = Spec {
            path,
            flows: vec![flow],
            duration: 10_000_000_000,
            step: 1_000_000_000,
            seed: 1,
            program: None,
            module: None,
        };
        let delivered = 50_000_000 / 8 * 10 * TCP_PAYLOAD / PACKET;
        let sample =
            FlowSample { at: 10_000_000_000, delivered, sent: 2 * delivered, rtt: 30_000, ..FlowSample::default() };
        let flow = FlowOutcome {
            samples: vec![sample],
            busy: 100,
            rwnd_limited: 5,
            sndbuf_limited: 1,
            ..FlowOutcome::default()
        };
        let outcome = Outcome { flows: vec![flow], ..Outcome::default() };
        let [goodput, share, rtt, waste, held_back] = judge(&spec, &outcome);
        assert!((goodput - 47.82).abs() < 0.01 && (share - 1.0).abs() < 1e-6, "{goodput} {share}");
        assert_eq!((rtt, waste, held_back), (30.0, 2.0, 0.06));
    }
}
