//! The measures, the flows that they are of, and the paths.

use crate::each::each;
use core::time::Duration;
use pcc::control::{Law, ascent};
use pcc::utility::Utility;
use pcc_sim::score::Measure;
use pcc_sim::{Cast, Control, Results, Scenario, run};
use std::sync::Arc;

/// A figure of merit.
#[derive(Clone, Copy)]
pub(crate) enum Metric {
    Of(Measure),
    /// Standard deviation of the second flow's rate once it has its half of 100 Mbit/s. Unit: % of that.
    Deviation,
    /// The mean loss rate of flows. Unit: %.
    Lost,
    /// Jain's index over so many seconds of the second half.
    JainLate(u64),
}

/// One path, who sends over it, and what is measured there.
pub(crate) struct Case {
    pub(crate) path: &'static str,
    /// As `pcc-lab sim --flows` reads it.
    pub(crate) flows: &'static str,
    pub(crate) seconds: u64,
    pub(crate) seeds: u64,
    pub(crate) figures: &'static [(&'static str, Metric)],
}

/// The law in PCC's place in the cases.
#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) law: Law,
    pub(crate) utility: Arc<dyn Utility>,
}

impl Variant {
    /// `written` changes the law, as parameters of it do, or the utility.
    pub(crate) fn of(base: &Self, written: &str) -> Result<Self, String> {
        let name = written.to_owned();
        // It is no parameter of `--law`.
        if let (Law::Ascent(config), Some(gain)) = (&base.law, written.strip_prefix("price_gain=")) {
            let price_gain = gain.parse().map_err(|error| format!("{written}: {error}"))?;
            let law = Law::Ascent(ascent::Config { price_gain, ..config.clone() });
            return Ok(Self { name, law, ..base.clone() });
        }
        let law = format!("{},{written}", base.law.name()).parse().map(|law| Self {
            name: name.clone(),
            law,
            ..base.clone()
        });
        law.or_else(|error| match pcc::utility::by_name(written) {
            Some(utility) => Ok(Self { name, utility, ..base.clone() }),
            None => Err(format!("{written}: {error}")),
        })
    }
}

/// Results of the seeds of one figure, sorted.
#[derive(Clone, Default)]
pub(crate) struct Figure(Vec<f64>);

impl FromIterator<f64> for Figure {
    fn from_iter<T: IntoIterator<Item = f64>>(seeds: T) -> Self {
        let mut seeds: Vec<_> = seeds.into_iter().collect();
        seeds.sort_by(f64::total_cmp);
        Self(seeds)
    }
}

impl Figure {
    pub(crate) fn seeds(&self) -> &[f64] {
        &self.0
    }

    pub(crate) fn median(&self) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get(last / 2).zip(self.0.get(self.0.len() / 2)).map_or(f64::NAN, |(a, b)| f64::midpoint(*a, *b))
    }

    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Standard deviation of the seeds.
    pub(crate) fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.0.len() as f64 - 1.0)).sqrt()
    }

    /// The mean and its standard error.
    pub(crate) fn mean_and_error(&self) -> String {
        let (error, mean) = (self.deviation() / (self.0.len() as f64).sqrt(), self.mean());
        let digits = if mean.abs() >= 100.0 { 0 } else { 3 };
        format!("{mean:.digits$} ± {error:.digits$}")
    }

    pub(crate) fn range(&self) -> (f64, f64) {
        self.0.first().zip(self.0.last()).map_or((f64::NAN, f64::NAN), |(low, high)| (*low, *high))
    }
}

/// A line a figure, of all its seeds: what a copy is asked for.
pub(crate) fn written(figures: &[Figure]) -> String {
    let seeds = |figure: &Figure| figure.0.iter().map(|value| format!("{value:e}")).collect::<Vec<_>>().join(" ");
    figures.iter().map(seeds).collect::<Vec<_>>().join("\n")
}

/// The names of all figures of these cases, in order.
pub(crate) fn names(cases: &[Case]) -> Vec<&'static str> {
    cases.iter().flat_map(|case| case.figures.iter().map(|(name, _)| *name)).collect()
}

/// All figures of all cases, a row a variant; as many simulations at a time as there are processors.
pub(crate) fn measure(cases: &[Case], variants: &[Variant]) -> Result<Vec<Vec<Figure>>, String> {
    let tasks: Vec<_> = (0..variants.len())
        .flat_map(|variant| (0..cases.len()).map(move |case| (variant, case)))
        .flat_map(|(variant, case)| (1..=cases[case].seeds).map(move |seed| (variant, case, seed)))
        .collect();
    let done =
        each(&tasks, |&(variant, case, seed)| Ok((variant, case, once(&cases[case], &variants[variant], seed)?)))?;
    let empty: Vec<Figure> = names(cases).iter().map(|_| Figure::default()).collect();
    let mut rows = vec![empty; variants.len()];
    let first = |case: usize| cases[..case].iter().map(|case| case.figures.len()).sum::<usize>();
    for (variant, case, figures) in done {
        for (place, value) in (first(case)..).zip(figures) {
            rows[variant][place].0.push(value);
        }
    }
    rows.iter_mut().flatten().for_each(|figure| figure.0.sort_by(f64::total_cmp));
    Ok(rows)
}

fn once(case: &Case, variant: &Variant, seed: u64) -> Result<Vec<f64>, String> {
    let problem = |error: &dyn core::fmt::Display| format!("{} over {}: {error}", case.flows, case.path);
    let Cast(mut flows) = case.flows.parse().map_err(|error| problem(&error))?;
    for (number, flow) in (0..).zip(&mut flows) {
        if flow.control == Control::Pcc {
            (flow.config.law, flow.config.utility) = (Some(variant.law.clone()), variant.utility.clone());
        }
        flow.config.seed = seed * 1000 + number;
    }
    let path = case.path.parse().map_err(|error| problem(&error))?;
    let scenario = Scenario::new(path, flows, seed, Duration::from_secs(case.seconds));
    let results = run(&scenario).map_err(|error| problem(&error))?;
    Ok(case.figures.iter().map(|(_, metric)| metric.of(&scenario, &results)).collect())
}

impl Metric {
    fn of(self, scenario: &Scenario, results: &Results) -> f64 {
        match self {
            Self::Of(measure) => measure.of(scenario, results).unwrap_or(f64::NAN),
            Self::Deviation => 2.0 * Measure::Deviation.of(scenario, results).unwrap_or(f64::NAN),
            Self::Lost => {
                100.0 * results.flows.iter().map(pcc_sim::FlowResult::loss).sum::<f64>() / results.flows.len() as f64
            }
            Self::JainLate(seconds) => {
                results.jain(Duration::from_secs(seconds), scenario.duration / 2, scenario.duration)
            }
        }
    }
}
