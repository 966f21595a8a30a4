//! Allegro and Vivace, each with the utility of its paper: the tables of `docs/sweeps/allegro.md` and `vivace.md`.

use crate::measure::{Case, Metric, Variant, measure, names};
use crate::page::number;
use Metric::{Deviation, JainLate, Lost, Of};
use pcc::control::Law;
use pcc::utility;
use pcc_sim::score::Measure::{Added, AddedP95, Convergence, Share};

/// Several flows differ more from seed to seed.
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

/// The variants of a law when nothing else is asked for.
const ALLEGRO: [&str; 17] = [
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

/// The same of Vivace: halves, doubles, and what Proteus has.
const VIVACE: [&str; 20] = [
    "proteus",
    "epsilon=0.025",
    "epsilon=0.1",
    "conversion=0.5",
    "conversion=2",
    "boundary=0.025",
    "boundary=0.1",
    "boundary_step=0.05",
    "boundary_step=0.2",
    "step_min=0.005",
    "latency_filter=0",
    "latency_filter=0.05",
    "tolerance=1",
    "pairs=2",
    "pairs=3",
    "least_change=0.5",
    "moves=255",
    "burst_ratio=50",
    "interval_rtts=0.5",
    "interval_rtts=2",
];

/// The page of `allegro`: a row a variant, a column a figure, means of the seeds.
pub(crate) fn allegro(asked: &[String]) -> Result<String, String> {
    table("allegro", "safe", &ALLEGRO, asked)
}

/// The same of `vivace`.
pub(crate) fn vivace(asked: &[String]) -> Result<String, String> {
    table("vivace", "vivace", &VIVACE, asked)
}

fn table(law: &str, utility: &str, usual: &[&str], asked: &[String]) -> Result<String, String> {
    let law: Law = law.parse().map_err(|error| format!("{error}"))?;
    let utility = utility::parse(utility).map_err(|error| error.to_string())?;
    let base = Variant { name: "defaults".into(), law, utility };
    let mut variants = vec![base.clone()];
    let usual: Vec<_> = usual.iter().map(ToString::to_string).collect();
    for written in if asked.is_empty() { &usual } else { asked } {
        variants.push(Variant::of(&base, written)?);
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
