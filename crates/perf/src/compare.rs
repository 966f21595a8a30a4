//! Algorithms side by side: they took turns on one path, round after round, so that what the path did to one it did to
//! all; ratios are within a round.

use crate::run::Run;
use pcc_stats::Spread;

/// All algorithms of a test.
pub struct Comparison {
    /// In the order they were named.
    pub rows: Vec<Row>,
}

/// One algorithm.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub algorithm: &'static str,
    /// Useful bits per second, over the rounds; none if no round was completed.
    pub bits_per_second: Option<Spread>,
    /// To the first algorithm in the same round.
    pub ratio_to_first: Option<Spread>,
    /// Medians over the rounds.
    pub loss: Option<f64>,
    /// Bytes sent beyond the useful ones, of those; the median.
    pub waste: Option<f64>,
    /// The RTT that the load added; the median. Unit: ms.
    pub rtt_added_ms: Option<f64>,
    /// CPU time of this end, of a core; the median. Unit: %.
    pub cpu_percent: Option<f64>,
}

impl Comparison {
    /// The comparison of runs in the order in which they were made. A run that was cut short counts as not made.
    pub fn of(runs: &[Run]) -> Self {
        let runs: Vec<&Run> = runs.iter().filter(|run| run.outcome.cut_short.is_none()).collect();
        let mut algorithms: Vec<&'static str> = Vec::new();
        for run in &runs {
            if !algorithms.contains(&run.turn.algorithm) {
                algorithms.push(run.turn.algorithm);
            }
        }
        let first: Vec<&Run> =
            runs.iter().filter(|run| Some(&run.turn.algorithm) == algorithms.first()).copied().collect();
        let row = |&algorithm: &&'static str| {
            let own: Vec<&Run> = runs.iter().filter(|run| run.turn.algorithm == algorithm).copied().collect();
            Row::of(algorithm, &own, &first)
        };
        Self { rows: algorithms.iter().map(row).collect() }
    }
}

impl Row {
    fn of(algorithm: &'static str, own: &[&Run], first: &[&Run]) -> Self {
        let ratio = |run: &&Run| {
            let first = first.iter().find(|first| first.turn.round == run.turn.round)?;
            Some(run.bits_per_second() / first.bits_per_second())
        };
        let median = |value: fn(&Run) -> Option<f64>| {
            Spread::of(own.iter().filter_map(|run| value(run))).map(|spread| spread.median)
        };
        Self {
            algorithm,
            bits_per_second: Spread::of(own.iter().map(|run| run.bits_per_second())),
            ratio_to_first: Spread::of(own.iter().filter_map(ratio)),
            loss: median(|run| run.flow()?.loss()),
            waste: median(|run| run.flow()?.waste()),
            rtt_added_ms: median(|run| run.outcome.rtt_added_ms()),
            cpu_percent: median(|run| Some(run.outcome.cpu_percent())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::run;
    use crate::test_error::TestError;

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The path halves its rate with each round; CUBIC always gets half of what PCC gets.
        let runs = [
            run("pcc", 1, 100.0),
            run("cubic", 1, 50.0),
            run("pcc", 2, 50.0),
            run("cubic", 2, 25.0),
            run("pcc", 3, 25.0),
            run("cubic", 3, 10.0),
        ];
        let rows = Comparison::of(&runs).rows;
        assert_eq!(rows.iter().map(|row| row.algorithm).collect::<Vec<_>>(), ["pcc", "cubic"]);
        let ratio = rows[1].ratio_to_first.unwrap();
        assert_eq!((ratio.min, ratio.median, ratio.max), (0.4, 0.5, 0.5));
        assert_eq!(rows[0].ratio_to_first.unwrap().max, 1.0);
        assert!((rows[0].bits_per_second.unwrap().median - 50e6).abs() < 1.0);
    }

    #[test]
    fn a_run_that_was_cut_short_does_not_count() {
        let mut cut = run("cubic", 1, 1.0);
        cut.outcome.cut_short = Some(TestError::Stopped("interrupted".to_owned()));
        let rows = Comparison::of(&[run("pcc", 1, 100.0), cut]).rows;
        assert_eq!(rows.len(), 1);
    }
}
