//! The paths of `sweep parts`: those of `ascent.md`, rows of `pcc-lab sim score` that others drew, crowds on a slow link, and radio links.

use crate::ascent::{self, CASES};
use crate::each::each;
use crate::links;
use crate::measure::{Case, Figure, Metric, measure};
use Metric::{JainLate, Lost, Of};
use core::time::Duration;
use pcc_sim::score::Measure::{
    AddedP95, FairPart, FirstShare, Jain, JainLate as Late, LastFair, LastPart, Loss, Others, Share,
};
use pcc_sim::score::{self, Form, ROWS, Row, Size, Statistic};
use pcc_sim::{Control, Flow, Scenario, run};

/// Rows of `pcc-lab sim score --short`: a number, and what their case has in it.
const ASKED: [(&str, &str); 19] = [
    ("18", "beside it"),
    ("22", "CoDel with marks"),
    ("25", "loss"),
    ("28", ""),
    ("28a", ""),
    ("29", ""),
    ("31", "CUBIC"),
    ("31", "BBR, 20"),
    ("32", ""),
    ("33", "10 %"),
    ("33a", ""),
    ("34", ""),
    ("35", ""),
    ("36", "blackhole"),
    // In company.
    ("41", ""),
    ("41a", ""),
    ("43", ""),
    ("43a", "10, 1 BDP"),
    ("44", "10 PCC"),
];

const SLOW: &str = "rate=10Mbit,rtt=50ms,buffer=62KB";

/// Crowds on a slow link.
const CROWDS: [Case; 4] = [
    case(SLOW, "pcc*33", 20, &[("33 on 10 Mbit/s: loss, %", Lost), ("33 on 10 Mbit/s: Jain", JainLate(10))]),
    case(SLOW, "pcc*50", 20, &[("50 on 10 Mbit/s: loss, %", Lost), ("50 on 10 Mbit/s: Jain", JainLate(10))]),
    case(
        SLOW,
        "pcc*33:stagger=50ms",
        20,
        &[("33 on 10 Mbit/s, 50 ms apart: loss, %", Lost), ("33 on 10 Mbit/s, 50 ms apart: Jain", JainLate(10))],
    ),
    case(
        SLOW,
        "pcc*50:stagger=50ms",
        20,
        &[("50 on 10 Mbit/s, 50 ms apart: loss, %", Lost), ("50 on 10 Mbit/s, 50 ms apart: Jain", JainLate(10))],
    ),
];

const fn case(
    path: &'static str,
    flows: &'static str,
    seconds: u64,
    figures: &'static [(&'static str, Metric)],
) -> Case {
    Case { path, flows, seconds, seeds: LESS_SEEDS, figures }
}

/// The number of seeds of the whole law, and of one without a rule.
pub(crate) const SEEDS: u64 = 12;
pub(crate) const LESS_SEEDS: u64 = 2;
/// Crowds are soon what they will be.
const CROWD_TIME: u64 = 12;
const LONGEST: u64 = 30;
/// Radio links of `links.md`, of which each has figures of its own.
const RADIO: u64 = 6;
const RADIO_TIME: Duration = Duration::from_secs(100);

/// The rows, each once: some differ in their limits only.
fn rows(seeds: u64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for row in ROWS.iter().filter(|row| row.is_of(Size::Short)) {
        let is_asked = ASKED.iter().any(|(number, case)| row.number == *number && row.case.contains(case));
        let is_new = !rows.iter().any(|known| {
            (known.path, known.flows, known.measure) == (row.path, row.flows, row.measure) && known.queue == row.queue
        });
        // Other laws are not asked.
        if is_asked && is_new && !row.flows.contains("law=") {
            let seconds = row.seconds[0].min(if row.number == "33a" { CROWD_TIME } else { LONGEST });
            rows.push(Row {
                seconds: [seconds; 2],
                seeds: [seeds; 2],
                statistic: Statistic::Median,
                over: None,
                ..*row
            });
        }
    }
    rows
}

/// The names of all figures, and of what kind they are.
pub(crate) fn names() -> Vec<(String, Metric)> {
    let of_cases = CASES.iter().chain(&CROWDS).flat_map(|case| case.figures);
    let of_cases = of_cases.map(|(name, metric)| ((*name).to_owned(), *metric));
    let of_rows = rows(LESS_SEEDS).into_iter().map(|row| {
        // A case that names no path is on that of a row before.
        let is_there = |first: &&Row| (first.path, first.flows) == (row.path, row.flows) && first.queue == row.queue;
        let first = ROWS.iter().find(|first| first.number == row.number && is_there(first));
        let case = first.map_or(row.case, |first| first.case);
        let (case, _) = case.rsplit_once(", of ").unwrap_or((case, ""));
        (format!("row {}, {case}: {}", row.number, row.measure.name()), Of(row.measure))
    });
    let of_radio = (1..=RADIO).flat_map(|link| {
        [Share, AddedP95].map(|measure| (format!("radio link {link}: {}", measure.name()), Of(measure)))
    });
    of_cases.chain(of_rows).chain(of_radio).collect()
}

/// All figures of this many seeds, in the same order.
pub(crate) fn figures(seeds: u64) -> Result<Vec<Figure>, String> {
    let cases: Vec<_> = CASES.iter().chain(&CROWDS).map(|case| Case { seeds, ..*case }).collect();
    let mut all = measure(&cases, &[ascent::base()?])?.remove(0);
    let (rows, form) = (rows(seeds), Form::of(Size::Short));
    let found = each(&score::plan(&rows, &form, &|_| {}), |task| Ok(task.run()))?;
    all.extend(score::judge(&rows, &form, &found).into_iter().map(|judged| judged.seeds.into_iter().collect()));
    let drives: Vec<_> = (1..=RADIO).flat_map(|link| (1..=seeds).map(move |seed| (link, seed))).collect();
    let driven = each(&drives, |(link, seed)| radio(*link, *seed))?;
    for link in driven.chunks(seeds as usize) {
        all.extend([0, 1].map(|place| link.iter().map(|figures| figures[place]).collect::<Figure>()));
    }
    Ok(all)
}

/// The better direction of a figure.
pub(crate) enum Direction {
    Up,
    Down,
    /// Nearer to this.
    To(f64),
}

impl Metric {
    /// The better direction, and the difference that matters even of small figures.
    pub(crate) const fn scale(self) -> (Direction, f64) {
        match self {
            Of(Share | FirstShare | FairPart | Jain(_) | Late(_) | Others) | JainLate(_) => (Direction::Up, 1.0),
            Of(LastPart) => (Direction::To(0.5), 1.0),
            Of(LastFair) => (Direction::To(1.0), 1.0),
            Of(Loss) => (Direction::Down, 0.05),
            Lost => (Direction::Down, 5.0),
            _ => (Direction::Down, 1.0),
        }
    }
}

fn radio(link: u64, seed: u64) -> Result<[f64; 2], String> {
    let mut flow = Flow::of(Control::Pcc);
    flow.config.seed = seed * 1000;
    let scenario = Scenario::new(links::link(link)?, vec![flow], seed, RADIO_TIME);
    let results = run(&scenario).map_err(|error| error.to_string())?;
    Ok([Share, AddedP95].map(|measure| measure.of(&scenario, &results).unwrap_or(f64::NAN)))
}
