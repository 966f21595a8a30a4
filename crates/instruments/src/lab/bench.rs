//! The common ground of the lab's subcommands: scenarios, the program under test, and where results are kept.

use crate::command_line::quote;
use crate::exit::Failure;
use crate::say::say;
use anyhow::{Context as _, anyhow, bail};
use pcc_lab::kernel::{self, Kernel, Module};
use pcc_lab::program::{HASH, Program};
use pcc_lab::scenario::{self, Options, Problem, Scenario, ScenarioError, Size};
use pcc_lab::spec::App;
use pcc_lab::store::Store;
use std::path::{Path, PathBuf};

/// The name that stands for all supplied scenarios.
const ALL: &str = "all";

/// Options about what a scenario stands for.
#[derive(clap::Args, Debug, Default)]
pub(super) struct Wanted {
    /// The paper's size of each experiment instead of the standard one
    #[arg(long)]
    full: bool,
    /// A program under test, as one more algorithm `app`: a shell command for the sender's host, with the receiver's
    /// address in $RECEIVER
    #[arg(long, value_name = "CMD")]
    app: Option<String>,
    /// Its server: a shell command for the receiver's host, started before
    #[arg(long, value_name = "CMD", requires = "app")]
    app_server: Option<String>,
    /// A module of the guest's kernel that provides the congestion control `pcc` [default: PCC's own, of this program]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
}

impl Wanted {
    fn options(&self, algorithms: &[String]) -> Options {
        let app = self.app.clone().map(|client| App { client, server: self.app_server.clone() });
        Options { size: if self.full { Size::Full } else { Size::Standard }, app, algorithms: algorithms.to_vec() }
    }

    /// Identity of the kernel module that these scenarios need; none if they need none.
    ///
    /// Errors: the file that was named is none that can be read, or none was named and this program carries no source.
    pub(super) fn module_identity(&self, scenarios: &[Scenario]) -> anyhow::Result<Option<String>> {
        if !scenarios.iter().any(Scenario::needs_module) {
            return Ok(None);
        }
        let Some(path) = &self.module else { return Ok(Some(Module::identity()?)) };
        let module =
            Program::read(path).with_context(|| format!("could not read the kernel module {}", path.display()))?;
        Ok(Some(module.hash))
    }

    /// The file of that module for this kernel; PCC's own is built if it is not there.
    pub(super) fn module(&self, scenarios: &[Scenario], kernel: &Kernel) -> anyhow::Result<Option<PathBuf>> {
        if !scenarios.iter().any(Scenario::needs_module) {
            return Ok(None);
        }
        let Some(path) = &self.module else {
            return Ok(Some(Module::build(&kernel::cache_dir(), kernel, &mut |line| say(line))?.path));
        };
        let found = path.canonicalize();
        Ok(Some(found.with_context(|| format!("could not find the kernel module {}", path.display()))?))
    }
}

/// Options about results that are there.
#[derive(clap::Args, Debug)]
pub(super) struct Stored {
    /// Where the results are [default: ~/.cache/pcc/lab/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// The pcc whose results are meant: the program, or its hash [default: the one beside this program]
    #[arg(long, value_name = "PATH|HASH")]
    program: Option<String>,
    #[command(flatten)]
    wanted: Wanted,
}

impl Stored {
    /// The command that measures a scenario's runs.
    pub(super) fn command(&self, scenario: &Scenario) -> String {
        let mut command = format!("pcc-lab run {}", quote(&scenario.written));
        command += if self.wanted.full { " --full" } else { "" };
        let module = self.wanted.module.as_ref().map(|path| path.to_string_lossy().into_owned());
        let named = [("app", &self.wanted.app), ("app-server", &self.wanted.app_server), ("module", &module)];
        for (option, value) in named.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?))) {
            command += &format!(" --{option} {}", quote(value));
        }
        command
    }

    /// The scenarios, the store, and the program that the QUIC flows ran.
    pub(super) fn open(&self, names: &[String]) -> anyhow::Result<(Vec<Scenario>, Store, Program)> {
        let mut scenarios = load(names, &self.wanted, &[])?;
        let dir = results(self.results.as_deref());
        // One that was named is meant to be there; the usual one is made by the first run.
        if self.results.is_some() && !dir.is_dir() {
            bail!("--results {}: there is no such directory", dir.display());
        }
        // The notes on programs are the same for every kernel.
        let program = self.program(&Store::at(&dir, ""))?;
        let module = self.wanted.module_identity(&scenarios)?;
        scenarios.iter_mut().for_each(|one| one.belongs_to(&program, module.as_deref()));
        // Results of other machines can be looked at where no kernel was built.
        let kernel = kernel::find(&kernel::cache_dir()).map(|kernel| kernel.identity);
        let kernel = kernel.ok().or_else(|| Store::usual_kernel(&dir));
        let kernel =
            kernel.with_context(|| format!("there are no results in {}: `pcc-lab run` first", dir.display()))?;
        Ok((scenarios, Store::at(&dir, &kernel), program))
    }

    fn program(&self, store: &Store) -> anyhow::Result<Program> {
        let Some(path) = self.program.as_ref().map(PathBuf::from) else {
            return known(crate::program::tool().as_deref());
        };
        let hash =
            self.program.as_ref().filter(|text| text.len() == HASH && text.chars().all(|c| c.is_ascii_hexdigit()));
        match hash {
            Some(hash) if !path.exists() => Ok(store.program(hash).0),
            _ => Program::read(&path).with_context(|| format!("could not open the program {}", path.display())),
        }
    }
}

/// The scenarios of these names, all supplied ones if there are none, with these algorithms besides their own.
pub(super) fn load(names: &[String], wanted: &Wanted, algorithms: &[String]) -> anyhow::Result<Vec<Scenario>> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let all = names.is_empty() || names.iter().any(|name| name == ALL);
    let supplied = scenario::names().filter(|_| all).map(str::to_owned);
    for name in supplied.chain(names.iter().filter(|name| *name != ALL).cloned()) {
        let scenario = scenario::load(&name, &wanted.options(algorithms)).map_err(explained)?;
        if scenarios.iter().all(|known| known.name != scenario.name) {
            scenarios.push(scenario);
        }
    }
    Ok(scenarios)
}

/// With the option that helps.
fn explained(error: ScenarioError) -> anyhow::Error {
    let is_no_app = matches!(error, ScenarioError::Impossible { problem: Problem::NoApp, .. });
    let error = if is_no_app { anyhow!("{error} with --app") } else { error.into() };
    error.context(Failure::Usage)
}

/// The program, of which no run is stored if there is none.
pub(super) fn known(program: Option<&Path>) -> anyhow::Result<Program> {
    program.map_or_else(
        || Ok(Program::unknown("none")),
        |path| Program::read(path).with_context(|| format!("could not open the program {}", path.display())),
    )
}

pub(super) fn results(dir: Option<&Path>) -> PathBuf {
    dir.map_or_else(|| kernel::cache_dir().join("results"), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stands_for_every_supplied_scenario_once() {
        let all = load(&["all".into(), "satellite".into()], &Wanted::default(), &[]).unwrap();
        assert_eq!(all.len(), scenario::names().count());
        assert_eq!(load(&["satellite".into()], &Wanted::default(), &[]).unwrap().len(), 1);
    }

    #[test]
    fn an_algorithm_that_a_scenario_does_not_name_is_one_more() {
        let load = |name: &str| load(&["random-loss".into()], &Wanted::default(), &[name.to_owned()]);
        let algorithms = |name| scenario::distinct(load(name).unwrap()[0].runs.iter().map(|run| run.algorithm.clone()));
        let own = algorithms("cubic");
        assert_eq!(algorithms("vegas"), [&own[..], &["vegas".to_owned()]].concat());
        assert!(format!("{:#}", load("swift").unwrap_err()).contains("unknown algorithm `swift`"));
    }

    #[test]
    fn only_runs_with_the_kernels_pcc_belong_to_its_source() {
        let wanted = Wanted::default();
        let mut scenarios = load(&["busy-host".into()], &wanted, &[]).unwrap();
        assert_eq!(wanted.module_identity(&scenarios).unwrap(), None);
        scenarios.extend(load(&["satellite".into()], &wanted, &["pcc".into()]).unwrap());
        let module = wanted.module_identity(&scenarios).unwrap();
        assert_eq!(module, Some(Module::identity().unwrap()));
        scenarios.iter_mut().for_each(|one| one.belongs_to(&Program::unknown("0"), module.as_deref()));
        for run in scenarios.iter().flat_map(|scenario| &scenario.runs) {
            assert_eq!(run.spec.module.is_some(), run.algorithm == "pcc", "{}", run.algorithm);
        }
        let nowhere = Wanted { module: Some("/nowhere.ko".into()), ..Wanted::default() };
        assert!(nowhere.module_identity(&scenarios).unwrap_err().to_string().contains("/nowhere.ko"));
    }
}
