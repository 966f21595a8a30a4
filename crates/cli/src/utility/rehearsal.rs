//! What a utility does in a simulation of real senders: alone, with its like, and beside CUBIC.

use super::objective::Aim;
use pcc::units::Rate;
use pcc_link::Path;
use pcc_sim::{Control, Flow, Results, Scenario};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

/// Who sends, and what came of it.
pub(super) struct Rehearsal {
    seed: u64,
    time: Duration,
    casts: Vec<Cast>,
}

struct Cast {
    name: &'static str,
    flows: Vec<Line>,
}

/// A flow.
struct Line {
    name: &'static str,
    /// Of the second half of the time.
    goodput: Rate,
    /// The same, of what the path carries.
    share: f64,
    /// Of all the time.
    loss: f64,
    /// RTT beyond the empty path's, at the median of all the time.
    added: Duration,
}

const OURS: &str = "it";

impl Rehearsal {
    /// Simulates all of it, each on a thread of its own.
    pub(super) fn of(aim: &Aim, path: &Path, seed: u64, time: Duration) -> anyhow::Result<Self> {
        let ours = || {
            let mut flow = Flow::default();
            aim.apply(&mut flow.config);
            (OURS, flow)
        };
        let casts = [
            ("alone", vec![ours()]),
            ("two of it", vec![ours(), ours()]),
            ("beside CUBIC", vec![ours(), ("CUBIC", Flow::of(Control::Cubic))]),
        ];
        let casts = thread::scope(|scope| {
            let running = casts.map(|(name, flows)| scope.spawn(move || cast(name, flows, path, seed, time)));
            running.map(|one| one.join().map_err(|_| anyhow::anyhow!("a simulation failed"))?)
        });
        Ok(Self { seed, time, casts: casts.into_iter().collect::<anyhow::Result<_>>()? })
    }

    pub(super) fn text(&self) -> String {
        let head = format!("simulated, {} s, seed {}", self.time.as_secs_f64(), self.seed);
        let mut text = format!(
            "\n{head:24} {:>8} {:>9} {:>7} {:>8} {:>13}\n",
            "flow", "Mbit/s", "share", "loss, %", "RTT added, ms"
        );
        for cast in &self.casts {
            for (place, line) in cast.flows.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "  {:22} {:>8} {:>9.2} {:>7.3} {:>8.2} {:>13.2}",
                    if place == 0 { cast.name } else { "" },
                    line.name,
                    line.goodput.mbit(),
                    line.share,
                    line.loss * 100.0,
                    line.added.as_secs_f64() * 1e3,
                );
            }
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let casts = self.casts.iter().map(|cast| {
            let flows = cast.flows.iter().map(|line| {
                json!({
                    "flow": line.name,
                    "goodput_mbit": line.goodput.mbit(),
                    "share": line.share,
                    "loss": line.loss,
                    "rtt_added_p50_s": line.added.as_secs_f64(),
                })
            });
            json!({ "name": cast.name, "flows": flows.collect::<Vec<_>>() })
        });
        json!({ "seed": self.seed, "seconds": self.time.as_secs_f64(), "casts": casts.collect::<Vec<_>>() })
    }
}

fn cast(
    name: &'static str,
    flows: Vec<(&'static str, Flow)>,
    path: &Path,
    seed: u64,
    time: Duration,
) -> anyhow::Result<Cast> {
    let (names, mut flows): (Vec<_>, Vec<_>) = flows.into_iter().unzip();
    for (number, flow) in (0..).zip(&mut flows) {
        flow.config.seed = seed.wrapping_mul(1000).wrapping_add(number);
    }
    let results = pcc_sim::run(&Scenario::new(path.clone(), flows, seed, time)).map_err(super::course::misuse)?;
    Ok(Cast {
        name,
        flows: names.into_iter().enumerate().map(|(place, name)| line(name, &results, place, time)).collect(),
    })
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
    use crate::utility::objective::Objective;

    #[test]
    fn same_seed_tells_same_and_scavenger_leaves_more_to_cubic() {
        let beside = |written: &str| {
            let objective = Objective { utility: Some(written.parse().unwrap()), ..Objective::default() };
            let path = "rate=20Mbit,rtt=30ms".parse().unwrap();
            let told = Rehearsal::of(&objective.aim().unwrap(), &path, 3, Duration::from_secs(20)).unwrap();
            (told.casts[2].flows[1].share, told.json())
        };
        let ((cubic, told), (again, same)) = (beside("safe"), beside("safe"));
        assert_eq!((cubic, &told), (again, &same));
        assert_eq!(told["casts"][2]["flows"][1]["flow"], "CUBIC");
        let (beside_scavenger, _) = beside("scavenger");
        assert!(beside_scavenger > cubic, "{beside_scavenger} is not above {cubic}");
    }
}
