//! Leaves out of scenarios what was not asked for.

use super::Scenario;

/// The wanted parts of scenarios. Empty lists leave out nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// Only these algorithms.
    pub algorithms: &'a [String],
    /// Only these values of the sweep.
    pub points: &'a [String],
    /// Only these seeds.
    pub seeds: &'a [u64],
    /// Only so many seeds of each point.
    pub first_seeds: Option<u16>,
}

/// A scenario does not have what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("scenario {scenario} has no {wanted}: it has {known}")]
pub struct NotThere {
    /// The scenario's name.
    pub scenario: String,
    /// The words of the wish, like "seed 99".
    pub wanted: String,
    /// The choice that there is.
    pub known: String,
}

impl Selection<'_> {
    /// Leaves the rest out.
    ///
    /// Errors: a scenario does not have one of the algorithms, points or seeds.
    pub fn apply(&self, scenarios: &mut [Scenario]) -> Result<(), NotThere> {
        for scenario in scenarios {
            let missing = |wanted: String, known: String| NotThere { scenario: scenario.name.clone(), wanted, known };
            let known = distinct(scenario.runs.iter().map(|run| run.algorithm.as_str()));
            if let Some(unknown) = self.algorithms.iter().find(|name| !known.contains(&name.as_str())) {
                return Err(missing(format!("algorithm `{unknown}`"), known.join(", ")));
            }
            let points = distinct(scenario.runs.iter().map(|run| run.point.as_str()));
            if let Some(unknown) = self.points.iter().find(|point| !points.contains(&point.as_str())) {
                return Err(missing(format!("point `{unknown}`"), points.join(", ")));
            }
            let seeds = distinct(scenario.runs.iter().map(|run| run.spec.seed));
            if let Some(unknown) = self.seeds.iter().find(|seed| !seeds.contains(seed)) {
                let known = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
                return Err(missing(format!("seed {unknown}"), known));
            }
            let first = seeds[..seeds.len().min(self.first_seeds.map_or(usize::MAX, usize::from))].to_vec();
            scenario.runs.retain(|run| {
                (self.algorithms.is_empty() || self.algorithms.contains(&run.algorithm))
                    && (self.points.is_empty() || self.points.contains(&run.point))
                    && (self.seeds.is_empty() || self.seeds.contains(&run.spec.seed))
                    && first.contains(&run.spec.seed)
            });
        }
        Ok(())
    }
}

/// Each once, in the order of their first appearance.
pub fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    for one in all {
        if !known.contains(&one) {
            known.push(one);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Options, load};

    #[test]
    fn a_selection_names_what_is_not_there() {
        let select = |algorithms: &[&str], points: &[&str], seeds: &[u64]| {
            let mut scenarios = [load("random-loss", &Options::default()).unwrap()];
            let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
            let (algorithms, points) = (owned(algorithms), owned(points));
            let selection = Selection { algorithms: &algorithms, points: &points, seeds, first_seeds: None };
            selection.apply(&mut scenarios).map(|()| scenarios[0].runs.len()).map_err(|error| error.to_string())
        };
        assert_eq!(select(&["illinois"], &["0.01"], &[2]), Ok(1));
        assert!(select(&["vegas"], &[], &[]).unwrap_err().contains("it has quic:pcc"));
        assert!(select(&[], &["0.5"], &[]).unwrap_err().contains("0.02"));
        assert!(select(&[], &[], &[99]).unwrap_err().contains("it has 1, 2"));
    }
}
