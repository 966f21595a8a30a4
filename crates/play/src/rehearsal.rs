//! A utility in a simulation of real senders: alone, with its like, and beside CUBIC.

use pcc::units::Rate;
use pcc_link::{Impossible, Path};
use pcc_sim::{Control, Flow, Results, Scenario};
use pcc_utility::Objective;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

/// The simulations of a utility, and their results.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsal {
    /// Everything random follows from it.
    pub seed: u64,
    /// Virtual time of each simulation.
    pub time: Duration,
    /// Alone, two of it, beside CUBIC.
    pub casts: Vec<Company>,
}

/// Senders that send together.
#[derive(Clone, Debug, PartialEq)]
pub struct Company {
    /// In a few words.
    pub name: &'static str,
    /// The result of each flow.
    pub flows: Vec<Line>,
}

/// The result of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The sender's name.
    pub name: &'static str,
    /// Goodput in the second half of the time.
    pub goodput: Rate,
    /// The same as a part of the path's capacity.
    pub share: f64,
    /// Share of the packets that were lost, in all the time.
    pub loss: f64,
    /// RTT beyond the empty path's, at the median of all the time.
    pub added: Duration,
}

const OURS: &str = "it";

impl Rehearsal {
    /// Simulates all of it, each company on a thread of its own.
    ///
    /// Errors: the path cannot be.
    pub fn of(objective: &Objective, path: &Path, seed: u64, time: Duration) -> Result<Self, Impossible> {
        let ours = || {
            let mut flow = Flow::default();
            objective.apply(&mut flow.config);
            (OURS, flow)
        };
        let casts = [
            ("alone", vec![ours()]),
            ("two of it", vec![ours(), ours()]),
            ("beside CUBIC", vec![ours(), ("CUBIC", Flow::of(Control::Cubic))]),
        ];
        let casts = thread::scope(|scope| {
            let running = casts.map(|(name, flows)| scope.spawn(move || company(name, flows, path, seed, time)));
            running.map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        Ok(Self { seed, time, casts: casts.into_iter().collect::<Result<_, _>>()? })
    }
}

fn company(
    name: &'static str,
    flows: Vec<(&'static str, Flow)>,
    path: &Path,
    seed: u64,
    time: Duration,
) -> Result<Company, Impossible> {
    let (names, mut flows): (Vec<_>, Vec<_>) = flows.into_iter().unzip();
    for (number, flow) in (0..).zip(&mut flows) {
        flow.config.seed = seed.wrapping_mul(1000).wrapping_add(number);
    }
    let results = pcc_sim::run(&Scenario::new(path.clone(), flows, seed, time))?;
    let flows = names.into_iter().enumerate().map(|(place, name)| line(name, &results, place, time));
    Ok(Company { name, flows: flows.collect() })
}

fn line(name: &'static str, results: &Results, place: usize, end: Duration) -> Line {
    let (flow, half) = (&results.flows[place], end / 2);
    let (goodput, capacity) = (flow.goodput(half, end), results.capacity(half, end));
    Line {
        name,
        goodput,
        share: goodput.bytes_per_sec() / capacity.bytes_per_sec().max(1.0),
        loss: flow.loss(),
        added: flow.added_rtt(0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_tells_same_and_scavenger_leaves_more_to_cubic() {
        let beside = |written: &str| {
            let objective = Objective::new(written, written, None, &[]).unwrap();
            Rehearsal::of(&objective, &"rate=20Mbit,rtt=30ms".parse().unwrap(), 3, Duration::from_secs(20)).unwrap()
        };
        let (told, again) = (beside("safe"), beside("safe"));
        assert_eq!(told, again);
        let cubic = |told: &Rehearsal| (told.casts[2].flows[1].name, told.casts[2].flows[1].share);
        let ((name, safe), (_, scavenger)) = (cubic(&told), cubic(&beside("scavenger")));
        assert_eq!(name, "CUBIC");
        assert!(scavenger > safe, "{scavenger} is not above {safe}");
    }
}
