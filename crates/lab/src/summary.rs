//! From outcomes to the figures of a plot: one mean over the seeds for each point and algorithm.

use crate::measure::Measure;
use crate::scenario::{Run, Scenario};
use crate::spec::Outcome;
use pcc_stats::Mean;
use serde::Serialize;

/// Everything about one algorithm at one point of the figure.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The value of the scenario's parameter.
    pub point: &'a str,
    /// Whose flow is judged.
    pub algorithm: &'a str,
    /// The number of planned runs.
    pub wanted: usize,
    /// The runs that count, by seed.
    pub runs: Vec<(&'a Run, &'a Outcome)>,
    /// Seeds of runs that its own hosts held back: they tell nothing of the algorithm, and no mean has them in it.
    pub rejected: Vec<u64>,
}

impl Cell<'_> {
    /// A measure over the seeds; none if no run has it.
    pub fn mean(&self, measure: Measure) -> Option<Mean> {
        let values = self.values(measure);
        Mean::of(&values)
    }

    /// How many of the runs are not bit for bit those of another seed.
    pub(crate) fn distinct(&self) -> usize {
        let flows = |place: usize| &self.runs[place].1.flows;
        (0..self.runs.len()).filter(|&place| (0..place).all(|before| flows(before) != flows(place))).count()
    }

    /// The measure of each run that has it.
    pub(crate) fn values(&self, measure: Measure) -> Vec<f64> {
        self.runs.iter().filter_map(|(run, outcome)| measure.of(&run.spec, outcome)).collect()
    }
}

/// One for each point and algorithm of a scenario, in its order, also where nothing was run. `outcomes` are those of
/// the scenario's runs.
pub fn cells<'a>(scenario: &'a Scenario, outcomes: &'a [Option<Outcome>]) -> Vec<Cell<'a>> {
    let mut cells: Vec<Cell<'a>> = Vec::new();
    for (run, outcome) in scenario.runs.iter().zip(outcomes) {
        let is_its = |cell: &Cell<'_>| cell.point == run.point && cell.algorithm == run.algorithm;
        let place = cells.iter().position(is_its).unwrap_or_else(|| {
            let (point, algorithm) = (run.point.as_str(), run.algorithm.as_str());
            cells.push(Cell { point, algorithm, wanted: 0, runs: Vec::new(), rejected: Vec::new() });
            cells.len() - 1
        });
        let cell = &mut cells[place];
        cell.wanted += 1;
        let Some(outcome) = outcome else { continue };
        match outcome.rejected {
            Some(_) => cell.rejected.push(run.spec.seed),
            None => cell.runs.push((run, outcome)),
        }
    }
    cells
}

/// A line of what `pcc-lab run` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The value of the scenario's parameter.
    pub point: String,
    /// Whose flow it is.
    pub algorithm: String,
    /// The number of runs behind it.
    pub seeds: usize,
    /// Seeds of runs that were held back by their own hosts and are not counted.
    pub rejected: Vec<u64>,
    /// The measures asked for that could be taken, by name.
    #[serde(flatten)]
    pub figures: serde_json::Map<String, serde_json::Value>,
}

/// The rows of a scenario, in its order, with these measures.
pub fn rows(cells: &[Cell<'_>], measures: &[Measure]) -> Vec<Row> {
    let row = |cell: &Cell<'_>| Row {
        point: cell.point.to_owned(),
        algorithm: cell.algorithm.to_owned(),
        seeds: cell.runs.len(),
        rejected: cell.rejected.clone(),
        figures: measures
            .iter()
            .filter_map(|measure| Some((measure.to_string(), serde_json::to_value(cell.mean(*measure)?).ok()?)))
            .collect(),
    };
    cells.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Options, Size};
    use crate::spec::{FlowOutcome, FlowSample};

    /// The satellite scenario's runs, all with 10 Mbit/s times their seed, the third of each held back by its hosts.
    fn outcomes(scenario: &Scenario) -> Vec<Option<Outcome>> {
        let outcome = |run: &Run| {
            let at = run.spec.duration;
            let delivered = run.spec.seed * (at - run.spec.flows[0].start) / 800;
            let sample = FlowSample { at, delivered, ..FlowSample::default() };
            let flow = FlowOutcome { samples: vec![sample], ..FlowOutcome::default() };
            let rejected = (run.spec.seed == 3).then(|| "held back".to_owned());
            Some(Outcome { flows: vec![flow], rejected, ..Outcome::default() })
        };
        scenario.runs.iter().map(outcome).collect()
    }

    #[test]
    fn runs_that_their_hosts_held_back_are_named_and_not_averaged() {
        let full = Options { size: Size::Full, ..Options::default() };
        let scenario = crate::scenario::load("satellite", &full).unwrap();
        let outcomes = outcomes(&scenario);
        let cells = cells(&scenario, &outcomes);
        let points: Vec<_> = cells.iter().map(|cell| cell.point).collect();
        assert!(points.contains(&"7.5kB") && points.contains(&"1MB"));
        for cell in &cells {
            assert_eq!((cell.wanted, cell.runs.len(), cell.rejected.as_slice()), (3, 2, &[3][..]));
            let goodput = cell.mean(Measure::Goodput).unwrap();
            assert!((goodput.mean - 15.0).abs() < 1e-6, "{goodput:?}");
        }
        let row = serde_json::to_value(&rows(&cells, &[Measure::Goodput, Measure::Ratio])[0]).unwrap();
        assert!((row["goodput"]["mean"].as_f64().unwrap() - 15.0).abs() < 1e-6, "{row}");
        assert!(row.get("ratio").is_none() && row["rejected"] == serde_json::json!([3]), "{row}");
    }

    #[test]
    fn what_a_scenario_is_about_is_among_its_measures_once() {
        let about = [("short-flows", Measure::Fct), ("black-out", Measure::Recovered), ("random-loss", Measure::Share)];
        for (name, own) in about {
            let measures = crate::scenario::load(name, &Options::default()).unwrap().measures();
            for measure in [own, Measure::Rtt, Measure::HostLimited] {
                assert_eq!(measures.iter().filter(|other| **other == measure).count(), 1, "{measure} of {name}");
            }
        }
    }

    #[test]
    fn what_was_not_run_has_a_cell_without_figures() {
        let scenario = crate::scenario::load("satellite", &Default::default()).unwrap();
        let outcomes: Vec<_> = scenario.runs.iter().map(|_| None).collect();
        let cells = cells(&scenario, &outcomes);
        assert!(!cells.is_empty());
        assert!(cells.iter().all(|cell| cell.runs.is_empty() && cell.mean(Measure::Share).is_none()));
    }
}
