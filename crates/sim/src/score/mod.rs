//! PCC's promises, as far as a simulation can judge them: a table of rows, and their results.

mod company;
mod draft;
mod measure;
mod table;
mod wild;

pub use measure::Measure;

/// All rows.
pub const ROWS: &[Row] = &joined();

/// The tables one after the other.
const fn joined() -> [Row; OWN.len() + WILD.len() + DRAFT.len() + COMPANY.len()] {
    let mut all = [OWN[0]; OWN.len() + WILD.len() + DRAFT.len() + COMPANY.len()];
    let (tables, mut table, mut place) = ([OWN, WILD, DRAFT, COMPANY], 0, 0);
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            all[place] = tables[table][row];
            (row, place) = (row + 1, place + 1);
        }
        table += 1;
    }
    all
}

use crate::cast::Cast;
use crate::entrant::Entrant;
use crate::policer::Policer;
use crate::scenario::{Control, Flow, Scenario};
use company::ROWS as COMPANY;
use core::time::Duration;
use draft::ROWS as DRAFT;
use pcc_link::{Path, Queue};
use pcc_stats::quantile_of;
use table::ROWS as OWN;
use wild::ROWS as WILD;

/// A promise: one measure on one path.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number; rows of one number belong together.
    pub number: &'static str,
    /// Its subject.
    pub case: &'static str,
    /// As [`pcc_link::Path`] reads it.
    pub path: &'static str,
    /// As [`Cast`] reads it.
    pub flows: &'static str,
    /// The bottleneck's queue discipline.
    pub queue: Queue,
    /// Whether packets may be marked.
    pub ecn: bool,
    /// Rate and burst of a policer.
    pub policer: Option<(&'static str, &'static str)>,
    /// How long, in the short form and in the whole one. Unit: s.
    pub seconds: [u64; 2],
    /// On how many seeds, in the short form and in the whole one. None: the row is not of that form.
    pub seeds: [u64; 2],
    /// The measure.
    pub measure: Measure,
    /// The statistic over the seeds.
    pub statistic: Statistic,
    /// The recorded trace that the path replays: a file of the directory that [`Form::traces`] names.
    pub trace: Option<&'static str>,
    /// The measure is divided by what this peer reaches in PCC's place.
    pub over: Option<&'static str>,
    /// The peer has this queue instead.
    pub over_behind: Option<Queue>,
    /// The promise.
    pub must: f64,
    /// The goal.
    pub goal: f64,
    /// Both are upper limits.
    pub at_most: bool,
    /// Bound for the short form, so that a costly change is noticed: the figure of the worst seeds, as many as it has,
    /// among its own and 14 more, rounded to two digits. About one harmless change in fifty falls below it. `None`
    /// where `must` is harder. The example `sweep bounds` prints it.
    pub today: Option<f64>,
}

/// The statistic of several seeds' figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The median of them.
    Median,
    /// The worst of them.
    Worst,
    /// The worst of them over their median: 1 if the seed does not matter.
    WorstOverMedian,
}

impl Statistic {
    /// The name of a measure with what counts of its seeds.
    pub fn of(self, measure: &str) -> String {
        match self {
            Self::Median => measure.to_owned(),
            Self::Worst => format!("worst {measure}"),
            Self::WorstOverMedian => format!("worst / median {measure}"),
        }
    }
}

/// How the table is judged.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// The size of the run.
    pub size: Size,
    /// The sender that is judged instead of PCC.
    pub entrant: Option<&'a Entrant>,
    /// The peers that are put into PCC's place; PCC itself may be one beside an entrant.
    pub peers: &'a [&'static str],
    /// Where recorded traces are.
    pub traces: Option<&'a str>,
}

impl Form<'_> {
    /// A size of the table, without peers and recorded traces.
    pub const fn of(size: Size) -> Self {
        Self { size, entrant: None, peers: &[], traces: None }
    }

    /// Under this name a peer takes PCC's place.
    fn sender<'b>(&self, peer: &'b str) -> Sender<'b> {
        if peer == "pcc" && self.entrant.is_none() { Sender::Judged } else { Sender::Peer(peer) }
    }
}

/// The sender in PCC's place in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender<'a> {
    /// The one that the rows are about: PCC, or the entrant.
    Judged,
    /// Another one, by its name.
    Peer(&'a str),
}

/// The part of the table that is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// In minutes, for tests.
    Short,
    /// On more seeds, for longer.
    Whole,
}

/// A simulation that rows stand on.
#[derive(Clone, Debug)]
pub struct Task {
    key: String,
    scenario: Scenario,
    measures: Vec<Measure>,
}

impl Task {
    /// Simulates it: a figure for each measure that is wanted, where there is one.
    pub fn run(&self) -> Figures {
        let results = crate::running::run(&self.scenario);
        let of = |measure: &Measure| results.as_ref().ok().and_then(|results| measure.of(&self.scenario, results));
        let packets = results.as_ref().map_or(0, |all| all.flows.iter().map(|flow| flow.sent.packets).sum());
        let all = self.measures.iter().map(|measure| (*measure, of(measure))).collect();
        Figures { key: self.key.clone(), packets, all }
    }
}

/// The result of a task.
#[derive(Clone, Debug)]
pub struct Figures {
    key: String,
    /// Packets that were simulated.
    pub packets: u64,
    all: Vec<(Measure, Option<f64>)>,
}

/// A row and what it came to.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The promise.
    pub row: Row,
    /// Median or worst of the seeds, divided by the peer's where the row says so; `None` if there was nothing to measure.
    pub measured: Option<f64>,
    /// Each seed's figure, divided by the same; sorted.
    pub seeds: Vec<f64>,
    /// Their divisor, where the row has one.
    pub by: Option<f64>,
    /// The same measure with each peer in PCC's place.
    pub peers: Vec<(&'static str, Option<f64>)>,
    /// The goodput of the senders beside PCC over what they have with their own kind in its place, medians of the seeds;
    /// `None` if PCC is alone, or their kind is not among the peers.
    pub kept: Option<f64>,
    /// Why it could not be judged.
    pub problem: Option<Problem>,
}

/// Why a row cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Nobody says where its recorded trace is: [`Form::traces`] does.
    NoTrace(&'static str),
    /// There is no such simulation.
    Other(String),
}

impl core::fmt::Display for Problem {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoTrace(file) => write!(f, "NOT RUN: needs the recorded trace {file}: name its directory"),
            Self::Other(problem) => f.write_str(problem),
        }
    }
}

impl<Text: Into<String>> From<Text> for Problem {
    fn from(text: Text) -> Self {
        Self::Other(text.into())
    }
}

impl Judged {
    /// Of the seeds.
    pub fn median(&self) -> Option<f64> {
        quantile_of(&self.seeds, 0.5)
    }

    /// Smallest and largest seed.
    pub fn range(&self) -> Option<[f64; 2]> {
        Some([*self.seeds.first()?, *self.seeds.last()?])
    }

    /// Whether that peer would keep a limit in PCC's place; `None` if nothing was measured of it.
    pub fn peer_keeps(&self, peer: &str, limit: f64) -> Option<bool> {
        let (_, value) = self.peers.iter().find(|(name, _)| *name == peer)?;
        Some(self.row.is_kept_by(limit, (*value)? / self.by.unwrap_or(1.0)))
    }

    /// Whether a limit is kept; not if nothing was measured.
    pub fn keeps(&self, limit: f64) -> bool {
        self.measured.is_some_and(|value| self.row.is_kept_by(limit, value))
    }
}

impl Size {
    const fn place(self) -> usize {
        match self {
            Self::Short => 0,
            Self::Whole => 1,
        }
    }
}

impl Row {
    fn key(&self, sender: Sender<'_>, size: Size, seed: u64) -> String {
        let seconds = self.seconds[size.place()];
        let (queue, policer, trace) = (self.queue, self.policer, self.trace.unwrap_or_default());
        format!("{} {trace} {} {queue:?} {} {policer:?} {sender:?} {seconds} {seed}", self.path, self.flows, self.ecn)
    }

    /// Its path as [`pcc_link::Path`] reads it.
    fn path_text(&self, traces: Option<&str>) -> Result<String, Problem> {
        match (self.trace, traces) {
            (None, _) => Ok(self.path.to_owned()),
            (Some(file), Some(traces)) => Ok(format!("{},down.trace={traces}/{file}", self.path)),
            (Some(file), None) => Err(Problem::NoTrace(file)),
        }
    }

    /// The simulation of one seed with `sender` in PCC's place; `ours` has the last word on PCC's flows.
    fn scenario(
        &self,
        sender: Sender<'_>,
        form: &Form<'_>,
        seed: u64,
        ours: &dyn Fn(&mut Flow),
    ) -> Result<Scenario, Problem> {
        let path = self.path_text(form.traces)?;
        let path: Path = path.parse().map_err(|error| format!("{path}: {error}"))?;
        let cast: Result<Cast, _> = self.flows.parse();
        let Cast(mut flows) = cast.map_err(|error| error.to_string())?;
        for (number, flow) in (0..).zip(&mut flows) {
            if flow.control == Control::Pcc {
                match (sender, form.entrant) {
                    (Sender::Judged, Some(entrant)) => *flow = flow.by_one_like(entrant.flow()),
                    (Sender::Judged, None) | (Sender::Peer("pcc"), _) => ours(flow),
                    (Sender::Peer(peer), _) => {
                        *flow = flow.by(Control::by_name(peer).ok_or_else(|| format!("nobody is called {peer}"))?);
                    }
                }
            }
            flow.config.seed = seed * 1000 + number;
            flow.ecn = self.ecn;
            *flow = flow.clone().drawn(path.rtt());
        }
        let policer = self.policer.map(|(rate, burst)| {
            let (rate, burst) = (rate.parse(), burst.parse());
            rate.ok().zip(burst.ok()).map(|(rate, burst)| Policer { rate, burst }).ok_or("no policer")
        });
        let (policer, duration) = (policer.transpose()?, Duration::from_secs(self.seconds[form.size.place()]));
        Ok(Scenario { queue: self.queue, policer, ..Scenario::new(path, flows, seed, duration) })
    }

    /// The senders that take PCC's place, the one that is judged first, and the row as each has it.
    fn senders(&self, form: &Form<'_>) -> Vec<(Sender<'static>, Self)> {
        let peers = form.peers.iter().map(|peer| (form.sender(peer), *self));
        let other = self.over.map(|over| (form.sender(over), self.of_the_other()));
        [(Sender::Judged, *self)].into_iter().chain(peers).chain(other).collect()
    }

    /// The row as the peer has it that the measure is divided by.
    fn of_the_other(&self) -> Self {
        Self { queue: self.over_behind.unwrap_or(self.queue), ..*self }
    }

    /// The kind of the senders beside PCC, if they are of one kind.
    fn company(&self) -> Option<&'static str> {
        let Cast(flows) = self.flows.parse().ok()?;
        let mut kinds = flows.iter().filter(|flow| !flow.is_ours()).map(|flow| &flow.control);
        let kind = kinds.next()?;
        let name = Control::NAMES.into_iter().find(|name| Control::by_name(name).as_ref() == Some(kind));
        name.filter(|_| kinds.all(|other| other == kind))
    }

    /// Whether it is judged in that form.
    pub fn is_of(&self, size: Size) -> bool {
        self.seeds[size.place()] > 0
    }

    /// Whether such a figure keeps this limit.
    pub fn is_kept_by(&self, limit: f64, value: f64) -> bool {
        if self.at_most { value <= limit } else { value >= limit }
    }

    /// The statistic of these seeds, sorted.
    pub fn figure(&self, sorted: &[f64]) -> Option<f64> {
        let median = quantile_of(sorted, 0.5)?;
        let worst = if self.at_most { *sorted.last()? } else { *sorted.first()? };
        match self.statistic {
            Statistic::Median => Some(median),
            Statistic::Worst => Some(worst),
            Statistic::WorstOverMedian => (median > 0.0).then_some(worst / median),
        }
    }
}

/// All simulations that these rows need, each once.
pub fn plan(rows: &[Row], form: &Form<'_>, ours: &dyn Fn(&mut Flow)) -> Vec<Task> {
    let size = form.size;
    let mut tasks: Vec<Task> = Vec::new();
    for row in rows {
        for (sender, row) in row.senders(form) {
            for seed in 1..=row.seeds[size.place()] {
                let key = row.key(sender, size, seed);
                if let Some(task) = tasks.iter_mut().find(|task| task.key == key) {
                    if !task.measures.contains(&row.measure) {
                        task.measures.push(row.measure);
                    }
                } else if let Ok(scenario) = row.scenario(sender, form, seed, ours) {
                    let is_alone = scenario.flows.iter().all(Flow::is_ours);
                    let others = (row.measure != Measure::Others && !is_alone).then_some(Measure::Others);
                    tasks.push(Task { key, scenario, measures: [row.measure].into_iter().chain(others).collect() });
                }
            }
        }
    }
    tasks
}

/// The rows of this form, judged by the figures of their tasks.
pub fn judge(rows: &[Row], form: &Form<'_>, figures: &[Figures]) -> Vec<Judged> {
    let (size, peers) = (form.size, form.peers);
    let one = |row: &Row| {
        let of = |sender: Sender<'_>, row: &Row, wanted: Measure| {
            let seeds = (1..=row.seeds[size.place()]).filter_map(|seed| {
                let key = row.key(sender, size, seed);
                let found = figures.iter().find(|figures| figures.key == key)?;
                found.all.iter().find(|(measure, _)| *measure == wanted)?.1
            });
            let mut values: Vec<f64> = seeds.collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let median = |sender, row: &Row, wanted| quantile_of(&of(sender, row, wanted), 0.5);
        let other = |peer| median(form.sender(peer), &row.of_the_other(), row.measure).filter(|by| *by > 0.0);
        let kept = |kind| {
            let instead = median(form.sender(kind), row, Measure::Others).filter(|goodput| *goodput > 0.0)?;
            Some(median(Sender::Judged, row, Measure::Others)? / instead)
        };
        let by = row.over.map_or(Some(1.0), other);
        let seeds: Vec<f64> =
            by.map_or(Vec::new(), |by| of(Sender::Judged, row, row.measure).iter().map(|value| value / by).collect());
        Judged {
            row: *row,
            measured: row.figure(&seeds),
            seeds,
            by: by.filter(|_| row.over.is_some()),
            peers: peers.iter().map(|peer| (*peer, row.figure(&of(form.sender(peer), row, row.measure)))).collect(),
            kept: row.company().and_then(kept),
            problem: row.scenario(Sender::Judged, form, 1, &|_| {}).err(),
        }
    };
    rows.iter().filter(|row| row.is_of(size)).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_simulated_or_says_what_it_lacks() {
        for row in ROWS {
            match row.scenario(Sender::Judged, &Form::of(Size::Short), 1, &|_| {}) {
                Ok(scenario) => assert!(scenario.path.links(1).is_ok(), "{}", row.case),
                Err(problem) => {
                    let is_told = matches!(problem, Problem::NoTrace(_)) || problem.to_string().contains("no utility");
                    assert!(is_told, "{} {}: {problem}", row.number, row.case);
                }
            }
            let is_easier = if row.at_most { row.goal > row.must } else { row.goal < row.must };
            assert!(!is_easier, "{} {}: the goal is easier than what must be", row.number, row.case);
        }
    }

    #[test]
    fn a_simulation_that_several_rows_need_is_run_once() {
        let rows: Vec<Row> = ROWS.iter().copied().filter(|row| row.number == "21").collect();
        assert_eq!(rows.len(), 2);
        let tasks = plan(&rows, &Form::of(Size::Short), &|_| {});
        assert_eq!(tasks.len() as u64, rows[0].seeds[0]);
        assert!(tasks.iter().all(|task| task.measures.len() == 2));
    }

    #[test]
    fn two_seeds_of_a_deterministic_peer_are_two_samples() {
        let row = ROWS.iter().find(|row| row.case == "no loss").unwrap();
        for peer in ["cubic", "bbr", "reno"] {
            let [one, other] = [1, 2].map(|seed| {
                let scenario = row.scenario(Sender::Peer(peer), &Form::of(Size::Short), seed, &|_| {}).unwrap();
                // At one moment, so that the hosts alone are different.
                let flows = scenario.flows.iter().map(|flow| Flow { start_within: Duration::ZERO, ..flow.clone() });
                let at_once = Scenario { flows: flows.collect(), ..scenario.clone() };
                [scenario, at_once].map(|scenario| {
                    let flow = crate::running::run(&scenario).unwrap().flows.remove(0);
                    (flow.start, flow.sent, flow.rtts)
                })
            });
            assert!(one[0].0 != other[0].0 && one[0].2 != other[0].2, "{peer}");
            assert!(one[1].0 == other[1].0 && one[1].2 != other[1].2, "{peer}");
        }
    }

    #[test]
    fn every_flow_of_a_row_starts_within_an_rtt_or_more() {
        for row in ROWS {
            let Ok(scenario) = row.scenario(Sender::Judged, &Form::of(Size::Short), 1, &|_| {}) else { continue };
            let rtt = scenario.path.rtt();
            let is_drawn =
                |flow: &Flow| flow.start_within >= rtt.min(Duration::from_millis(40)) && !flow.host_delay.is_zero();
            assert!(scenario.flows.iter().all(is_drawn), "{} {}", row.number, row.case);
        }
    }

    #[test]
    fn the_median_and_the_worst_seed_are_told_apart() {
        let row = Row { number: "0", ..ROWS[0] };
        let row = Row { seeds: [3, 3], over: None, at_most: false, statistic: Statistic::Median, ..row };
        let figures = three(&row, Sender::Judged, [0.9, 0.2, 0.7]);
        let measured = |row: Row| judge(&[row], &Form::of(Size::Short), &figures)[0].measured;
        assert_eq!(measured(row), Some(0.7));
        assert_eq!(measured(Row { statistic: Statistic::Worst, ..row }), Some(0.2));
        assert_eq!(measured(Row { statistic: Statistic::WorstOverMedian, ..row }), Some(0.2 / 0.7));
    }

    #[test]
    fn what_is_measured_by_peer_lies_within_range_of_its_seeds() {
        let row = Row { seeds: [3, 3], over: Some("bbr"), at_most: false, statistic: Statistic::Median, ..ROWS[0] };
        let figures =
            [three(&row, Sender::Judged, [0.9, 0.6, 0.75]), three(&row, Sender::Peer("bbr"), [0.5, 0.4, 0.6])].concat();
        let judged = &judge(&[row], &Form::of(Size::Short), &figures)[0];
        assert_eq!((judged.measured, judged.range()), (Some(1.5), Some([1.2, 1.8])));
    }

    #[test]
    fn harm_is_told_where_the_rival_is_a_peer_too() {
        let row = Row { seeds: [3, 3], flows: "pcc cubic", over: None, measure: Measure::Others, ..ROWS[0] };
        let figures =
            [three(&row, Sender::Judged, [6.0, 5.0, 7.0]), three(&row, Sender::Peer("cubic"), [10.0, 12.0, 11.0])]
                .concat();
        let kept = |row, figures: &[Figures]| judge(&[row], &Form::of(Size::Short), figures)[0].kept;
        assert_eq!(kept(row, &figures), Some(6.0 / 11.0));
        assert_eq!(kept(row, &figures[..3]), None, "its kind was not put into PCC's place");
        assert_eq!(Row { flows: "pcc*2", ..row }.company(), None);
        assert_eq!(Row { flows: "bbr pcc cubic", ..row }.company(), None, "of two kinds");
    }

    #[test]
    fn a_row_without_seeds_in_a_form_is_not_judged_there() {
        let row = Row { seeds: [0, 3], ..ROWS[0] };
        assert!(judge(&[row], &Form::of(Size::Short), &[]).is_empty());
        assert_eq!(judge(&[row], &Form::of(Size::Whole), &[]).len(), 1);
    }

    #[test]
    fn a_row_that_needs_a_trace_is_not_run_without_one() {
        let row = Row { trace: Some("lte.trace"), ..ROWS[0] };
        assert!(plan(&[row], &Form::of(Size::Short), &|_| {}).is_empty());
        let judged = &judge(&[row], &Form::of(Size::Short), &[])[0];
        assert!(judged.measured.is_none() && judged.problem == Some(Problem::NoTrace("lte.trace")));
    }

    #[test]
    fn an_entrant_is_judged_as_pcc_is_with_pcc_among_the_peers() {
        let entrant = Entrant::from(Control::Reno);
        let form = Form { entrant: Some(&entrant), peers: &["pcc", "cubic", "reno"], ..Form::of(Size::Short) };
        let row = ROWS.iter().find(|row| row.flows == "pcc" && row.over.is_none() && row.trace.is_none()).unwrap();
        let row = Row { path: "rate=10Mbit,rtt=20ms,buffer=50KB", seconds: [3, 3], seeds: [2, 2], ..*row };
        let figures: Vec<_> = plan(&[row], &form, &|_| {}).iter().map(Task::run).collect();
        assert_eq!(figures.len(), 8, "two seeds of each");
        let judged = &judge(&[row], &form, &figures)[0];
        assert_eq!(judged.peers[2], ("reno", judged.measured), "the entrant is Reno");
        assert!(judged.peers[0].1 != judged.measured && judged.peers[0].1 != judged.peers[1].1);
        assert_eq!(judged.peer_keeps("reno", row.must), Some(judged.keeps(row.must)));
        assert_eq!(judged.peer_keeps("bbr", row.must), None, "it is no peer");
        let usual =
            [plan(&[row], &Form::of(Size::Short), &|_| {}), plan(&[row], &Form { entrant: None, ..form }, &|_| {})];
        assert_eq!(usual.map(|tasks| tasks.len()), [2, 6], "PCC beside PCC is one simulation");
    }

    #[test]
    fn an_entrant_takes_all_flows_of_pcc_and_divides_as_pcc_does() {
        let entrant = Entrant::from(Control::Bbr);
        let form = Form { entrant: Some(&entrant), ..Form::of(Size::Short) };
        let row = Row { flows: "pcc/safe:law=allegro cubic pcc:size=1MB", over: Some("pcc"), ..ROWS[0] };
        let kinds = |sender| {
            let flows = row.scenario(sender, &form, 1, &|_| {}).unwrap().flows;
            flows.iter().map(|flow| (flow.control.to_string(), flow.is_ours())).collect::<Vec<_>>()
        };
        let of = |kind: &str| [(kind.to_owned(), true), ("cubic".to_owned(), false), (kind.to_owned(), true)];
        assert_eq!((kinds(Sender::Judged), kinds(Sender::Peer("pcc"))), (of("bbr").into(), of("pcc").into()));
        let row = Row { seeds: [3, 3], statistic: Statistic::Median, at_most: false, ..row };
        let figures = [three(&row, Sender::Judged, [3.0; 3]), three(&row, Sender::Peer("pcc"), [2.0; 3])].concat();
        assert_eq!(judge(&[row], &form, &figures)[0].measured, Some(1.5));
    }

    fn three(row: &Row, sender: Sender<'_>, values: [f64; 3]) -> Vec<Figures> {
        let one = |(seed, value)| Figures {
            key: row.key(sender, Size::Short, seed),
            packets: 0,
            all: vec![(row.measure, Some(value))],
        };
        (1..).zip(values).map(one).collect()
    }
}
