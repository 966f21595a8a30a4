//! The stored results as a page, as pictures and as tables: each from the same cells.

mod csv;
mod figures;
mod overview;
mod page;
mod timeline;

use crate::check::{self, Checked, NotJudged};
use crate::figure::Figure;
use crate::scenario::Scenario;
use crate::spec::Outcome;
use crate::store::Store;
use crate::summary::{self, Cell};
use pcc_chart::plot::Plot;
use pcc_report::provenance::Provenance;

/// A scenario and what there is of it.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The measured cells.
    pub cells: Vec<Cell<'a>>,
    /// The promises.
    pub checked: Vec<Result<Checked, NotJudged>>,
    /// Real time that its runs took, as far as it is known. Unit: s.
    pub real_seconds: f64,
    /// The command that measures it again.
    pub command: String,
    plots: Vec<Plot>,
}

impl<'a> Section<'a> {
    /// Looks at the outcomes of a scenario's runs.
    pub fn of(scenario: &'a Scenario, outcomes: &'a [Option<Outcome>], store: &Store, command: String) -> Self {
        let cells = summary::cells(scenario, outcomes);
        let times = store.times();
        let known = scenario.runs.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_some());
        let real_seconds = known.filter_map(|(run, _)| times.get(&store.key(&run.spec).ok()?)).sum();
        let default = [Figure::default()];
        let figures = if scenario.figures.is_empty() { &default[..] } else { &scenario.figures };
        let plots = figures.iter().flat_map(|figure| figures::plots(scenario, figure, &cells)).collect();
        let checked = check::check(scenario, &cells);
        Self { scenario, cells, checked, real_seconds, command, plots }
    }

    /// The number of its stored runs, rejected ones included, and of all its runs.
    pub fn runs(&self) -> (usize, usize) {
        let done = self.cells.iter().map(|cell| cell.runs.len() + cell.rejected.len()).sum();
        (done, self.cells.iter().map(|cell| cell.wanted).sum())
    }

    /// A line for every run, with a heading.
    pub fn csv(&self, provenance: &Provenance) -> String {
        csv::runs(self, provenance)
    }

    /// Its figures as SVG on white cards, with the names of their files.
    pub fn pictures(&self, provenance: &Provenance) -> Vec<(String, String)> {
        let name = |place: usize| match place {
            0 => format!("{}.svg", self.scenario.name),
            place => format!("{}-{}.svg", self.scenario.name, place + 1),
        };
        let footer = provenance.line(&self.command);
        let draw = |(place, plot)| (name(place), pcc_chart::svg::card(plot, &self.scenario.source, &footer));
        self.plots.iter().enumerate().map(draw).collect()
    }
}

/// Everything as one page that needs nothing else, neither a network nor scripts.
pub fn page(sections: &[Section<'_>], provenance: &Provenance) -> String {
    page::render(sections, provenance)
}

#[cfg(test)]
mod tests;
