//! The real time of runs: predicted before a campaign begins, and learnt from stored runs.

use crate::spec::{FlowSpec, PathSpec, Spec};
use std::collections::HashMap;

/// Real time for every Mbit/s and virtual second of flows that send with system calls of their own (QUIC). Unit: s.
/// Measured: 2.5 s for a second at 100 Mbit/s.
const USER_SPACE: f64 = 0.025;
/// The same where all packets stay in the guest's kernel. Measured: a fortieth of real time at 100 Mbit/s.
const KERNEL: f64 = 0.000_25;
/// Booting, building the network, writing the answer. Unit: s.
const BOOT: f64 = 1.0;
/// Measuring a path: some ten thousand datagrams. Unit: s.
const MEASURING: f64 = 3.0;
/// Namespaces and links of a flow. Unit: s.
const FLOW: f64 = 0.05;
/// A short flow has a handshake besides its bytes. Unit: s.
const SHORT_FLOW: f64 = 0.002;
/// One over QUIC is a process of its own. Measured: a quarter of a second.
const PROCESS: f64 = 0.25;

/// Runs that cost alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Packets are made by processes of the guest.
    UserSpace,
    /// Packets stay in the guest's kernel.
    Kernel,
}

impl Kind {
    /// The cost of a run.
    pub fn of(spec: &Spec) -> Self {
        if spec.flows.iter().any(in_user_space) { Self::UserSpace } else { Self::Kernel }
    }

    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserSpace => "user-space",
            Self::Kernel => "kernel",
        }
    }
}

/// Real time of a run on a machine that nothing is known of. Unit: s.
pub fn estimate(spec: &Spec) -> f64 {
    if spec.flows.is_empty() {
        return BOOT + MEASURING * (1 + spec.then.len()) as f64;
    }
    let all_paths: f64 = spec.paths().map(|path| mbit(path, 0, spec.duration)).sum();
    let narrowest = |flow: &FlowSpec| {
        let volumes = spec.crossed(flow).map(|path| mbit(path, flow.start, flow.stop));
        volumes.fold(f64::INFINITY, f64::min)
    };
    // A flow of a size moves that, a limited one what it has, and the others share what the paths carry meanwhile.
    let wants = |flow: &FlowSpec| {
        let sized = flow.size.map(|size| size as f64 * 8e-6 * flow.arrivals.len().max(1) as f64);
        let limited = flow.rate.map(|rate| rate as f64 / 1e6 * (flow.stop - flow.start) as f64 / 1e9);
        sized.or(limited).unwrap_or(f64::MAX).min(narrowest(flow))
    };
    let all: f64 = spec.flows.iter().map(wants).sum();
    let scale = if all > all_paths { all_paths / all } else { 1.0 };
    let costs = |flow: &FlowSpec| {
        let short = flow.arrivals.len() as f64;
        let (each, one) = if in_user_space(flow) { (USER_SPACE, PROCESS) } else { (KERNEL, SHORT_FLOW) };
        FLOW + one * short.max(1.0) + each * scale * wants(flow)
    };
    BOOT + spec.flows.iter().map(costs).sum::<f64>()
}

/// A path's volume in a time. Unit: Mbit.
fn mbit(path: &PathSpec, from: u64, to: u64) -> f64 {
    let parts = path.segments(from, to);
    parts.iter().map(|part| part.rate as f64 / 1e6 * (part.to - part.from) as f64 / 1e9).sum()
}

fn in_user_space(flow: &FlowSpec) -> bool {
    flow.app.is_some() || flow.algorithm.starts_with(crate::names::QUIC)
}

/// A run that was carried out: what was estimated and what it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Unit: s.
    pub estimated: f64,
    /// Unit: s.
    pub real: f64,
}

/// The durations of runs on this machine.
#[derive(Clone, Debug, Default)]
pub struct Model {
    by_kind: HashMap<&'static str, Taken>,
}

impl Model {
    /// Learns from a run.
    pub fn learn(&mut self, kind: Kind, taken: Taken) {
        let sum = self.by_kind.entry(kind.name()).or_insert(Taken { estimated: 0.0, real: 0.0 });
        sum.estimated += taken.estimated;
        sum.real += taken.real;
    }

    /// Real time of a run. Unit: s.
    pub fn predict(&self, spec: &Spec) -> f64 {
        let known = self.by_kind.get(Kind::of(spec).name()).filter(|sum| sum.estimated > 0.0);
        estimate(spec) * known.map_or(1.0, |sum| sum.real / sum.estimated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(algorithm: &str, seconds: u64) -> Spec {
        let duration = seconds * 1_000_000_000;
        Spec {
            path: PathSpec { rate: 100_000_000, rtt: 30_000_000, buffer: 375_000, ..PathSpec::default() },
            flows: vec![FlowSpec { algorithm: algorithm.into(), stop: duration, ..FlowSpec::default() }],
            duration,
            step: 1_000_000_000,
            seed: 1,
            ..Spec::default()
        }
    }

    #[test]
    fn packets_of_processes_cost_far_more_than_those_of_the_kernel() {
        let (quic, kernel) = (estimate(&spec("quic:pcc", 60)), estimate(&spec("cubic", 60)));
        assert!(quic > 50.0 * kernel, "{quic} {kernel}");
        assert!((quic - 150.0).abs() < 3.0, "{quic}");
    }

    #[test]
    fn flows_share_what_the_path_carries() {
        let mut two = spec("quic:pcc", 60);
        two.flows.push(two.flows[0].clone());
        assert!(estimate(&two) < 1.01 * estimate(&spec("quic:pcc", 60)));
        two.flows[1].algorithm = "cubic".into();
        assert!(estimate(&two) < 0.6 * estimate(&spec("quic:pcc", 60)), "the kernel carries half of it");
        two.flows[0].size = Some(1_000_000);
        assert!(estimate(&two) < 5.0, "8 Mbit over QUIC are little");
    }

    #[test]
    fn what_runs_took_before_is_expected_of_next_ones_of_their_kind() {
        let mut model = Model::default();
        let before = model.predict(&spec("quic:pcc", 10));
        model.learn(Kind::UserSpace, Taken { estimated: 100.0, real: 10.0 });
        model.learn(Kind::UserSpace, Taken { estimated: 100.0, real: 30.0 });
        assert!((model.predict(&spec("quic:pcc", 10)) - before / 5.0).abs() < 1e-9);
        assert_eq!(model.predict(&spec("cubic", 10)), estimate(&spec("cubic", 10)), "nothing was learnt of the kernel");
    }
}
