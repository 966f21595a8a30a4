//! The score: PCC's promises, as far as a simulation can judge them, held against PCC or against any other sender.
//!
//! `pcc-lab sim score` is one program of it, and [`entered`] another one, for a congestion control of one's own:
//!
//! ```no_run
//! use pcc_sim::{Entrant, Flow};
//!
//! fn main() -> std::process::ExitCode {
//!     let paced = Flow { paced: true, ..Flow::of(pcc_sim::Control::Reno) };
//!     pcc_score::entered(Entrant::new("paced-reno", paced))
//! }
//! ```
#![forbid(unsafe_code)]

mod json;
mod table;

pub use json::metric;

use clap::{Args as _, FromArgMatches as _};
use pcc_play::{Shard, each_at_once};
use pcc_sim::score::{self, Form, Judged, Problem, ROWS, Row, Size};
use pcc_sim::{Entrant, Flow};
use serde_json::Value;
use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

/// The other senders that are put into PCC's place; PCC itself only where an entrant is judged.
const PEERS: [&str; 4] = ["pcc", "cubic", "bbr", "reno"];
/// The exit codes, for a command's help.
pub const EXIT_CODES: &str =
    "Exit codes: 0 all promises are kept, 1 one is missed, 2 misused, 3 none is missed but some could not be judged.";

/// The rows that are judged, and how they are printed.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
pub struct Args {
    /// Fewer seeds and shorter runs: two minutes instead of ten
    #[arg(long)]
    pub short: bool,
    /// Only these rows
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    pub row: Vec<String>,
    /// A directory with the recorded traces that row 30 replays, as mahimahi has them
    #[arg(long, value_name = "DIR")]
    pub traces: Option<String>,
    /// Only the I-th of N parts
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Leave out the other algorithms in the same place
    #[arg(long)]
    pub no_peers: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Something was asked for that is not there; the text says what is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misused(String);

impl fmt::Display for Misused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misused {}

impl Args {
    /// The rows that are asked for.
    ///
    /// Errors: a number that no row has.
    fn rows(&self) -> Result<Vec<Row>, Misused> {
        if let Some(unknown) = self.row.iter().find(|wanted| ROWS.iter().all(|row| row.number != wanted.as_str())) {
            let mut known: Vec<&str> = ROWS.iter().map(|row| row.number).collect();
            known.dedup();
            let known = known.join(", ");
            return Err(Misused(format!("no row {unknown} can be judged by a simulation: choose from {known}")));
        }
        let is_wanted = |row: &&Row| self.row.is_empty() || self.row.iter().any(|wanted| wanted == row.number);
        let Shard { number, count } = self.shard.unwrap_or(Shard { number: 1, count: 1 });
        Ok(ROWS.iter().filter(is_wanted).skip(number - 1).step_by(count).copied().collect())
    }
}

/// All rows that were asked for, judged.
#[derive(Clone, Debug)]
pub struct Score {
    /// The name of the sender that was judged.
    pub name: String,
    /// The rows.
    pub rows: Vec<Judged>,
    peers: &'static [&'static str],
}

impl Score {
    /// Simulates the rows, one a processor at a time: the entrant, or PCC if there is none, and its peers. `ours` has the last word
    /// on PCC's own flows.
    ///
    /// Errors: a row or a directory that there is not.
    pub fn of(entrant: Option<&Entrant>, args: &Args, ours: &dyn Fn(&mut Flow)) -> Result<Self, Misused> {
        if let Some(traces) = args.traces.as_deref().filter(|traces| !std::path::Path::new(traces).is_dir()) {
            return Err(Misused(format!("--traces {traces}: there is no such directory")));
        }
        let rows = args.rows()?;
        let peers: &'static [&'static str] = match (args.no_peers, entrant) {
            (true, _) => &[],
            (false, Some(_)) => &PEERS,
            (false, None) => &PEERS[1..],
        };
        let size = if args.short { Size::Short } else { Size::Whole };
        let form = Form { size, entrant, peers, traces: args.traces.as_deref() };
        let figures = each_at_once(&score::plan(&rows, &form, ours), score::Task::run);
        let name = entrant.map_or("pcc", Entrant::name).to_owned();
        Ok(Self { name, rows: score::judge(&rows, &form, &figures), peers })
    }

    /// How many promises are missed.
    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.measured.is_some() && !row.keeps(row.row.must)).count()
    }

    /// How many could not be judged.
    pub fn open(&self) -> usize {
        self.rows.iter().filter(|row| row.measured.is_none()).count()
    }

    /// How many of the promises each keeps in the same place: the one that is judged first.
    pub fn kept(&self) -> Vec<(&str, usize)> {
        let of = |peer: &&'static str| {
            self.rows.iter().filter(|row| row.peer_keeps(peer, row.row.must) == Some(true)).count()
        };
        let peers = self.peers.iter().map(|peer| (*peer, of(peer)));
        [(self.name.as_str(), self.rows.len() - self.missed() - self.open())].into_iter().chain(peers).collect()
    }

    /// The document of `--json`.
    pub fn json(&self) -> Value {
        json::document(self)
    }

    /// Prints it, as a table or as a document.
    ///
    /// Errors: nobody reads it.
    pub fn print(&self, json: bool) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        if json { writeln!(out, "{}", self.json()) } else { write!(out, "{self}") }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&table::table(self))
    }
}

/// A program that holds this sender against the promises: it takes the options of [`Args`] and prints what
/// `pcc-lab sim score` prints, with PCC among the peers.
pub fn entered(entrant: impl Into<Entrant>) -> ExitCode {
    let entrant = entrant.into();
    let name = entrant.name();
    let about = format!("Hold {name} against PCC's promises, in simulations, with PCC, CUBIC, BBR and Reno beside it");
    let mut command = Args::augment_args(clap::Command::new("score").about(about).after_help(EXIT_CODES));
    let args = Args::from_arg_matches(&command.get_matches_mut()).unwrap_or_else(|error| error.exit());
    let refuse = |misused| command.error(clap::error::ErrorKind::ValueValidation, misused).exit();
    let score = Score::of(Some(&entrant), &args, &|_| {}).unwrap_or_else(refuse);
    if let Err(error) = score.print(args.json) {
        // Nobody may hear that either.
        drop(writeln!(std::io::stderr(), "{name}: could not print the score: {error}"));
        return ExitCode::from(1);
    }
    match (score.missed(), score.open()) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(3),
        _ => ExitCode::from(1),
    }
}

/// Why it could not be judged, with the option that helps.
fn problem(row: &Judged) -> Option<String> {
    row.problem.as_ref().map(|problem| match problem {
        Problem::NoTrace(_) => format!("{problem} with --traces"),
        other => other.to_string(),
    })
}

fn verdict(row: &Judged) -> &'static str {
    match (row.measured, row.keeps(row.row.must), row.keeps(row.row.goal)) {
        (None, ..) => "OPEN",
        (_, false, _) => "MISS",
        (_, true, false) => "PASS",
        (_, true, true) => "PASS, goal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::control::Law;
    use pcc_sim::Control;

    fn args(row: &str) -> Args {
        Args { short: true, row: vec![row.to_owned()], ..Args::default() }
    }

    #[test]
    fn an_entrant_has_pcc_beside_it_and_is_counted_first() {
        let reno = Entrant::new("mine", Flow::of(Control::Reno));
        let score = Score::of(Some(&reno), &args("21"), &|_| {}).unwrap();
        let kept = score.kept();
        assert_eq!(kept.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["mine", "pcc", "cubic", "bbr", "reno"]);
        assert_eq!((kept[0].1, score.rows.len() - score.missed()), (kept[4].1, kept[4].1), "it is Reno: {kept:?}");
        let json = score.json();
        let of = |place: usize, peer: &str| json["rows"][place]["peers"][peer].clone();
        assert_eq!(json["rows"][0]["algorithm"], "mine");
        assert!(of(0, "pcc").is_number() && json["rows"][0]["measured"] == of(0, "reno"));
        assert_eq!(
            (&json["promises_kept"]["mine"], &json["promises_kept"]["pcc"]),
            (&kept[0].1.into(), &kept[1].1.into())
        );
        let table = score.to_string();
        let last = table.lines().last().unwrap();
        assert!(last.starts_with(&format!("promises kept, of 2: mine {}, pcc ", kept[0].1)), "{last}");
    }

    #[test]
    fn pcc_by_another_name_has_pcc_s_figures() {
        let law = Entrant::new(
            "again",
            Flow { config: pcc::Config { law: Some(Law::default()), ..Flow::default().config }, ..Flow::default() },
        );
        let judged = |entrant: Option<&Entrant>| {
            let args = Args { no_peers: true, ..args("21") };
            let score = Score::of(entrant, &args, &|_| {}).unwrap();
            score.rows.iter().map(|row| row.seeds.clone()).collect::<Vec<_>>()
        };
        assert_eq!(judged(Some(&law)), judged(None));
    }

    #[test]
    fn every_second_row_is_in_the_second_of_two_parts() {
        let part = |number| Args { shard: Some(Shard { number, count: 2 }), ..Args::default() }.rows().unwrap();
        let cases = |rows: Vec<Row>| rows.iter().map(|row| row.case).collect::<Vec<_>>();
        let [one, other] = [1, 2].map(|number| cases(part(number)));
        let woven: Vec<_> =
            (0..ROWS.len()).map(|row| if row % 2 == 0 { one[row / 2] } else { other[row / 2] }).collect();
        assert_eq!(woven, cases(ROWS.to_vec()));
    }

    #[test]
    fn a_row_or_a_directory_that_is_not_there_is_refused() {
        let nowhere = Args { traces: Some("nowhere".into()), ..Args::default() };
        for (args, expected) in [(args("9999"), "choose from 1, 1k, 2"), (nowhere, "--traces nowhere: there is no")] {
            let problem = Score::of(None, &args, &|_| {}).unwrap_err().to_string();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
