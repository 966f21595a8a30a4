//! The figures of a run on a drawn path, for the part in PCC's place and for the others.

use crate::results::Results;
use crate::scenario::{Control, Flow, Scenario, Source};
use crate::summary::{jain_of, life};
use core::fmt;
use core::time::Duration;
use pcc_stats::mean;

/// The scale of Jain's index: on the slowest of crowded paths a sender has a packet or two each second.
const WINDOW: Duration = Duration::from_secs(5);

/// The figures of a run. Everything counts from the moment when the first bulk sender in PCC's place comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Goodput of the bulk senders in PCC's place. Unit: Mbit/s.
    pub goodput: f64,
    /// 95th percentile of the bottleneck's queueing delay. Unit: ms.
    pub queue: f64,
    /// Packets that the bulk senders in PCC's place lost, of those that they sent.
    pub loss: f64,
    /// Jain's index of them while all are there; `None` with fewer than two.
    pub jain: Option<f64>,
    /// Mean completion time of the files in PCC's place. Unit: s.
    pub files: Option<f64>,
    /// Goodput of the other bulk senders; `None` without any. Unit: Mbit/s.
    pub others: Option<f64>,
    /// The same of CUBIC, of BBR and of Reno alone.
    pub kinds: [Option<f64>; 3],
    /// The mean of the other bulk senders' 95th percentiles of RTT. Unit: ms.
    pub rtt: Option<f64>,
    /// Mean completion time of the other files. Unit: s.
    pub others_files: Option<f64>,
}

impl Figures {
    /// The columns of its line.
    pub const COLUMNS: &str = "goodput,queue,loss,jain,files,others,cubic,bbr,reno,rtt,others_files";

    /// That run's.
    pub fn of(scenario: &Scenario, results: &Results) -> Self {
        let run = Run { scenario, results };
        let ours = run.places(|flow| flow.is_ours() && flow.source == Source::Greedy);
        let others = |control: Option<Control>| {
            let is_wanted = |flow: &Flow| control.as_ref().is_none_or(|control| flow.control == *control);
            run.places(|flow| !flow.is_ours() && flow.source == Source::Greedy && is_wanted(flow))
        };
        let came = ours.iter().map(|place| results.flows[*place].start).min().unwrap_or_default();
        let (sent, lost) = ours.iter().fold((0, 0), |(sent, lost), place| {
            let of = results.flows[*place].sent;
            (sent + of.packets, lost + of.lost.saturating_sub(of.spurious))
        });
        let rtt_p95 = |place: usize| results.flows[place].rtt(0.95).map(|rtt| rtt.as_micros() as f64 / 1e3);
        let goodput = |places: &[usize]| (!places.is_empty()).then(|| run.goodput(places, came));
        Self {
            goodput: run.goodput(&ours, came),
            queue: results.queueing_delay(0.95, came).as_secs_f64() * 1e3,
            loss: lost as f64 / sent.max(1) as f64,
            jain: jain_of(scenario, results, &ours, WINDOW),
            files: run.completion(&run.places(|flow| flow.is_ours() && flow.source != Source::Greedy)),
            others: goodput(&others(None)),
            kinds: [Control::Cubic, Control::Bbr, Control::Reno].map(|kind| goodput(&others(Some(kind)))),
            rtt: mean(&others(None).iter().filter_map(|place| rtt_p95(*place)).collect::<Vec<_>>()),
            others_files: run.completion(&run.places(|flow| !flow.is_ours() && flow.source != Source::Greedy)),
        }
    }
}

impl fmt::Display for Figures {
    /// As [`Self::COLUMNS`] names them; empty where there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = |value: Option<f64>, digits| value.map_or(String::new(), |value| format!("{value:.digits$}"));
        let Self { goodput, queue, loss, jain, files, others, kinds: [cubic, bbr, reno], rtt, others_files } = self;
        write!(f, "{goodput:.4},{queue:.2},{loss:.5},{},{},", cell(*jain, 3), cell(*files, 3))?;
        write!(f, "{},{},{},{},", cell(*others, 4), cell(*cubic, 4), cell(*bbr, 4), cell(*reno, 4))?;
        write!(f, "{},{}", cell(*rtt, 2), cell(*others_files, 3))
    }
}

/// A run, of whose flows some are asked about.
struct Run<'a> {
    scenario: &'a Scenario,
    results: &'a Results,
}

impl Run<'_> {
    fn places(&self, wanted: impl Fn(&Flow) -> bool) -> Vec<usize> {
        (0..self.scenario.flows.len()).filter(|place| wanted(&self.scenario.flows[*place])).collect()
    }

    /// The goodput of these from that moment to the end. Unit: Mbit/s.
    fn goodput(&self, places: &[usize], from: Duration) -> f64 {
        let of = |place: &usize| self.results.flows[*place].goodput(from, self.results.duration).mbit();
        places.iter().map(of).sum()
    }

    /// The mean of how long these took; one that is not done counts with its age. Unit: s.
    fn completion(&self, places: &[usize]) -> Option<f64> {
        let lives = places.iter().map(|place| life(self.scenario, self.results, *place));
        mean(&lives.map(|(start, end)| (end - start).as_secs_f64()).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::Cast;

    fn figures(flows: &str) -> Figures {
        let Cast(flows) = flows.parse().unwrap();
        let path = "rate=40Mbit,rtt=20ms,buffer=100KB".parse().unwrap();
        let scenario = Scenario::new(path, flows, 1, Duration::from_secs(12));
        Figures::of(&scenario, &crate::run(&scenario).unwrap())
    }

    #[test]
    fn the_part_and_the_others_are_told_apart() {
        let all = figures("pcc*2:start=2s cubic reno:start=1s cubic:start=3s:size=100kB");
        assert_eq!(all.kinds[1], None, "there is no BBR");
        let kinds: f64 = all.kinds.iter().flatten().sum();
        assert!((kinds - all.others.unwrap()).abs() < 1e-9 && all.goodput > 1.0, "{all:?}");
        assert!(all.goodput + kinds > 36.0 && all.goodput + kinds < 40.1, "{all:?}");
        assert!(all.jain.is_some_and(|jain| jain > 0.5) && all.files.is_none(), "{all:?}");
        assert!(all.rtt.is_some_and(|rtt| rtt > 20.0 && rtt < 45.0), "{all:?}");
        assert!(all.others_files.is_some_and(|seconds| seconds < 9.0), "{all:?}");
    }

    #[test]
    fn a_file_that_is_not_done_counts_with_its_age() {
        let all = figures("pcc pcc:size=100MB:start=4s");
        assert_eq!((all.files, all.others, all.rtt, all.jain), (Some(8.0), None, None, None));
    }

    #[test]
    fn a_line_has_as_many_cells_as_columns() {
        for flows in ["pcc", "pcc*2 cubic bbr reno cubic:size=10kB pcc:size=10kB"] {
            let line = figures(flows).to_string();
            assert_eq!(line.split(',').count(), Figures::COLUMNS.split(',').count(), "{line}");
        }
    }
}
