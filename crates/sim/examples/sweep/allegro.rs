//! Allegro with the utility of its paper: the table of `docs/sweeps/allegro.md`.

use crate::measure::{Case, Metric, Variant, measure, names};
use crate::page::number;
use Metric::{Deviation, JainLate, Lost, Of};
use pcc::control::Law;
use pcc::utility::Safe;
use pcc_sim::score::Measure::{Added, AddedP95, Convergence, Share};
use std::sync::Arc;

/// What several flows do with each other differs more from seed to seed.
const ALONE: u64 = 4;
const TOGETHER: u64 = 8;

const CASES: [Case; 9] = [
    Case {
        path: "clean",
        flows: "pcc",
        seconds: 60,
        seeds: ALONE,
        figures: &[
            ("loss when alone, %", Lost),
            ("RTT added then, ms", Of(Added)),
            ("its 95th percentile, ms", Of(AddedP95)),
            ("share alone", Of(Share)),
        ],
    },
    Case { path: "lossy", flows: "pcc", seconds: 60, seeds: ALONE, figures: &[("share at 1 % loss", Of(Share))] },
    Case {
        path: "lossy,loss=4%",
        flows: "pcc",
        seconds: 60,
        seeds: ALONE,
        figures: &[("share at 4 % loss", Of(Share))],
    },
    Case {
        path: "lossy,loss=8%",
        flows: "pcc",
        seconds: 60,
        seeds: ALONE,
        figures: &[("share at 8 % loss", Of(Share))],
    },
    Case { path: "satellite", flows: "pcc", seconds: 100, seeds: ALONE, figures: &[("share on satellite", Of(Share))] },
    Case {
        path: "changing",
        flows: "pcc",
        seconds: 500,
        seeds: ALONE,
        figures: &[("share on a changing path", Of(Share)), ("loss there, %", Lost)],
    },
    Case {
        path: "clean",
        flows: "pcc*4:stagger=20s",
        seconds: 240,
        seeds: TOGETHER,
        figures: &[("Jain of 4 flows at 5 s", JainLate(5))],
    },
    Case {
        path: "clean",
        flows: "pcc*2:stagger=10s",
        seconds: 70,
        seeds: TOGETHER,
        figures: &[
            ("a second flow converges in, s", Of(Convergence)),
            ("deviation then, %", Deviation),
            ("loss of 2 flows, %", Lost),
        ],
    },
    Case { path: "clean", flows: "pcc*10", seconds: 70, seeds: TOGETHER, figures: &[("loss of 10 flows, %", Lost)] },
];

/// What is varied when nothing else is asked for.
const VARIANTS: [&str; 17] = [
    "paper",
    "epsilon_min=0.005",
    "epsilon_min=0.02",
    "epsilon_min=0.03",
    "step_min=0.01",
    "step_min=0.03",
    "step_max=0.05",
    "step_max=0.3",
    "interval_rtts=1",
    "interval_rtts=1.7..2.2",
    "loss_significance=0",
    "loss_significance=1",
    "loss_significance=3",
    "least_gain=0",
    "least_gain=0.1",
    "least_gain=0.4",
    "least_gain=0.6",
];

/// A row a variant, a column a figure: means of the seeds.
pub(crate) fn table(asked: &[String]) -> Result<String, String> {
    let law: Law = "allegro".parse().map_err(|error| format!("{error}"))?;
    let base = Variant { name: "defaults".into(), law, utility: Arc::new(Safe::default()) };
    let mut variants = vec![base.clone()];
    match asked {
        [] => variants
            .extend(VARIANTS.map(|written| Variant::of(&base, written)).into_iter().collect::<Result<Vec<_>, _>>()?),
        asked => {
            variants.extend(asked.iter().map(|written| Variant::of(&base, written)).collect::<Result<Vec<_>, _>>()?)
        }
    }
    let names = names(&CASES);
    let mut lines =
        vec![format!("| parameter | {} |", names.join(" | ")), format!("|---|{}", "--:|".repeat(names.len()))];
    for (variant, figures) in variants.iter().zip(measure(&CASES, &variants)?) {
        let figures: Vec<_> = figures.iter().map(|figure| number(figure.mean())).collect();
        lines.push(format!("| {} | {} |", variant.name, figures.join(" | ")));
    }
    Ok(lines.join("\n"))
}
