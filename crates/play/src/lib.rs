//! A simulation over a path as people write it: by the options of `pcc-lab sim`, by the arguments of Python's `simulate`, and in
//! the playground.
//!
//! | file | what it answers |
//! |---|---|
//! | `lib` | how options become senders over a path |
//! | `told` | the table and the JSON of a run |
//! | `page` | a run over time, as pictures and as a page |
//! | `rehearsal`, `rehearsed` | what a utility does in a simulation of real senders |
//! | `findings` | what a computation finds out about a utility, as text and as JSON |
//! | `drawing` | a utility as a picture |
//! | `jobs`, `shard` | many runs on all processors, or on several machines |

pub mod drawing;
pub mod findings;
mod jobs;
pub mod page;
pub mod rehearsal;
mod rehearsed;
mod shard;
mod told;

pub use jobs::each_at_once;
pub use pcc_link::on_disk;
pub use shard::{ParseShardError, Shard};
pub use told::Told;

use core::time::Duration;
use pcc::utility::Utility;
use pcc_link::{Files, Path};
use pcc_sim::{Cast, Control, Flow, Queue, ReadUtility, Scenario};
use pcc_utility::{Choice, Objective};
use std::fmt;
use std::sync::Arc;

/// The virtual time of a simulation where nobody says for how long.
pub const USUAL_TIME: Duration = Duration::from_secs(30);
/// A day: longer runs need more memory than a figure is worth.
pub const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Senders over a path. Each field is an option, under the name that [`Refused`] has for it.
#[derive(Clone, Copy)]
pub struct Play<'a> {
    /// A preset or parameters, as [`Path`] reads them.
    pub path: &'a str,
    /// The files that paths name; [`on_disk`] has those of this computer.
    pub files: Files<'a>,
    /// The paths behind it.
    pub then: &'a [String],
    /// The senders, as [`Cast`] reads it.
    pub flows: &'a str,
    /// Reads a utility behind `pcc/`; [`read`] knows names, formulas and files.
    pub read: ReadUtility<'a>,
    /// The aim of a flow of PCC that says none of its own.
    pub objective: Option<&'a Objective>,
    /// The name of a queue discipline.
    pub queue: Option<&'a str>,
    /// The queue may mark packets of all senders, and they answer marks. Otherwise those of flows that say so themselves.
    pub ecn: bool,
    /// A rate and a burst before the first bottleneck.
    pub policer: Option<&'a str>,
    /// Virtual time.
    pub time: Duration,
}

/// Why a simulation cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The field of [`Play`] that is wrong.
    pub option: &'static str,
    /// The reason, and what would do.
    pub problem: String,
}

impl Refused {
    /// This option, for this reason.
    pub fn new(option: &'static str, problem: impl ToString) -> Self {
        Self { option, problem: problem.to_string() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.option, self.problem)
    }
}

impl std::error::Error for Refused {}

/// A simulation that can be run, once for each seed.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The name of each flow, as it was written.
    pub names: Vec<String>,
    scenario: Scenario,
}

impl Staged {
    /// With this seed for the path. Senders that share a path must not try rates in step, so each has one of its own.
    pub fn seeded(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario { seed, ..self.scenario.clone() };
        for (number, flow) in (0..).zip(&mut scenario.flows) {
            flow.config.seed = seed.wrapping_mul(1000).wrapping_add(number);
        }
        scenario
    }
}

/// The utility that was written: a name, a formula or a file.
///
/// Errors: it is none, or the file cannot be read.
pub fn read(utility: &str) -> Result<Arc<dyn Utility>, String> {
    utility.parse::<Choice>().map(|choice| choice.utility).map_err(|error| error.to_string())
}

/// Gives an aim to a flow of a simulation that has none of its own. A law that was named also steers flows with a utility of
/// their own.
pub fn suggest(objective: &Objective, flow: &mut Flow) {
    let is_usual = flow.config.utility.name() == Flow::default().config.utility.name();
    if is_usual {
        flow.config.utility = Arc::clone(&objective.utility);
    }
    if flow.config.law.is_none() && (is_usual || objective.law_written.is_some()) {
        flow.config.law.clone_from(&objective.law);
    }
}

impl Play<'_> {
    /// Puts it together.
    ///
    /// Errors: an option that cannot be read, or that does not fit the others.
    pub fn stage(&self) -> Result<Staged, Refused> {
        let path = Path::read(self.path, self.files).map_err(|error| Refused::new("path", error))?;
        let then = |text: &String| {
            Path::read(text, self.files).map_err(|error| Refused::new("then", format!("{text}: {error}")))
        };
        let beyond = self.then.iter().map(then).collect::<Result<Vec<_>, _>>()?;
        let queue = self.queue.map_or(Ok(Queue::default()), |name| {
            Queue::by_name(name).ok_or_else(|| {
                let known = Queue::NAMES.map(|(name, _)| name).join(", ");
                Refused::new("queue", format!("there is no queue {name}: choose from {known}"))
            })
        })?;
        let policer = |text: &str| text.parse().map_err(|error| Refused::new("policer", format!("{text}: {error}")));
        let policer = self.policer.map(policer).transpose()?;
        if self.time.is_zero() || self.time > LONGEST {
            let problem = format!("{:?} cannot be simulated: choose more than 0 and at most 24 h", self.time);
            return Err(Refused::new("time", problem));
        }
        let (names, flows) = self.flows(beyond.len() + 1)?;
        let scenario = Scenario { beyond, queue, policer, ..Scenario::new(path, flows, 0, self.time) };
        Ok(Staged { names, scenario })
    }

    /// The senders and their names, before so many bottlenecks.
    fn flows(&self, bottlenecks: usize) -> Result<(Vec<String>, Vec<Flow>), Refused> {
        let Cast(mut flows) = Cast::parse(self.flows, self.read).map_err(|error| Refused::new("flows", error))?;
        let names = Cast::names(self.flows, self.read);
        if self.objective.is_some() && flows.iter().all(|flow| flow.control != Control::Pcc) {
            let problem = "a utility or a law steers PCC, and none of these is PCC: leave out one of the two";
            return Err(Refused::new("flows", problem));
        }
        for (flow, name) in flows.iter_mut().zip(&names) {
            if flow.via.1 != usize::MAX && flow.via.1 >= bottlenecks {
                let (first, last) = (flow.via.0 + 1, flow.via.1 + 1);
                let problem = format!(
                    "via={first}..{last}, and there are {bottlenecks} bottlenecks: each path of `then` adds one"
                );
                return Err(Refused::new("flows", problem));
            }
            if flow.latest_start() >= self.time {
                let problem = format!(
                    "{name} {} at {:?}, when the simulation is over after {:?}: simulate longer, or have it start earlier",
                    if flow.start_within.is_zero() { "begins" } else { "may begin" },
                    flow.latest_start(),
                    self.time
                );
                return Err(Refused::new("flows", problem));
            }
            flow.ecn |= self.ecn;
            if let Some(objective) = self.objective {
                suggest(objective, flow);
            }
        }
        Ok((names, flows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_utility::{LawChoice, Setting};

    const CLEAN: Play<'static> = Play {
        path: "clean",
        files: &on_disk,
        then: &[],
        flows: "pcc",
        read: &read,
        objective: None,
        queue: None,
        ecn: false,
        policer: None,
        time: USUAL_TIME,
    };

    #[test]
    fn flows_may_have_utilities_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my.utility");
        std::fs::write(&file, "vivace,b=2").unwrap();
        let flows = format!("pcc/{}*2 cubic", file.display());
        let staged = Play { flows: &flows, ..CLEAN }.stage().unwrap();
        let scenario = staged.seeded(1);
        assert_eq!((scenario.flows.len(), scenario.flows[1].config.utility.name()), (3, "vivace"));
        assert!(staged.names[0].ends_with("my.utility 1"), "{:?}", staged.names);
        let gone = Play { flows: "pcc/gone.utility", ..CLEAN }.stage().unwrap_err();
        assert!(gone.problem.contains("cannot read the utility in gone.utility"), "{gone}");
    }

    #[test]
    fn an_aim_is_for_flows_that_say_none_of_their_own() {
        let (law, set): (LawChoice, Setting) = ("ascent".parse().unwrap(), "epsilon=0.03".parse().unwrap());
        let objective = Objective::new("x - 11*x*L", "x - 11*x*L", Some(&law), &[set]).unwrap();
        let staged =
            Play { flows: "pcc pcc/vivace cubic", objective: Some(&objective), ecn: true, ..CLEAN }.stage().unwrap();
        let flows = staged.seeded(7).flows;
        assert_eq!(flows[0].config.utility.name(), objective.utility.name());
        assert_eq!(flows[1].config.utility.name(), "vivace");
        assert!(flows[..2].iter().all(|flow| flow.config.law.is_some() && flow.ecn));
        assert_eq!(flows.iter().map(|flow| flow.config.seed).collect::<Vec<_>>(), [7000, 7001, 7002]);
    }

    #[test]
    fn what_cannot_be_is_refused_under_its_option() {
        let objective = Objective::new("safe", "safe", None, &[]).unwrap();
        let nowhere = ["nowhere".to_owned()];
        for (play, option, expected) in [
            (Play { path: "nowhere", ..CLEAN }, "path", "neither KEY=VALUE"),
            (Play { then: &nowhere, ..CLEAN }, "then", "nowhere: `nowhere`"),
            (Play { flows: "quick", ..CLEAN }, "flows", "choose from pcc"),
            (Play { flows: "pcc:via=2..3", ..CLEAN }, "flows", "there are 1 bottlenecks"),
            (Play { flows: "pcc cubic:start=30s", ..CLEAN }, "flows", "cubic begins at 30s"),
            (Play { flows: "cubic", objective: Some(&objective), ..CLEAN }, "flows", "none of these is PCC"),
            (Play { queue: Some("quick"), ..CLEAN }, "queue", "choose from droptail"),
            (Play { policer: Some("10Mbit"), ..CLEAN }, "policer", "10Mbit: "),
            (Play { time: Duration::ZERO, ..CLEAN }, "time", "more than 0"),
            (Play { time: LONGEST * 2, ..CLEAN }, "time", "at most 24 h"),
        ] {
            let refused = play.stage().unwrap_err();
            assert_eq!(refused.option, option, "{refused}");
            assert!(refused.problem.contains(expected), "{refused}");
        }
    }
}
