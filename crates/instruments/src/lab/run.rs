//! `pcc-lab run`: carries out what is not stored yet and prints the figures.

use super::bench::{self, Wanted};
use super::progress::{Meter, about};
use crate::exit::{Failure as Exit, misuse};
use crate::interrupt::Interrupt;
use crate::say::say;
use anyhow::Context as _;
use pcc_lab::campaign::{self, Campaign, Failure, Plan, Shard, Whole};
use pcc_lab::kernel;
use pcc_lab::machine::{Machine, memory_for};
use pcc_lab::measure::Measure;
use pcc_lab::program;
use pcc_lab::scenario::{Run, Scenario, Selection};
use pcc_lab::sight::{self, Hidden, Seen};
use pcc_lab::store::Store;
use pcc_lab::summary::{self, Cell};
use pcc_report::columns::{Column, aligned};
use pcc_stats::Mean;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Run scenarios and print their figures
///
/// Stored runs are not run again: stop it with Ctrl-C and start it again to continue.
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit codes: 0 all runs have a result, 2 misused, 3 some failed or it was stopped.\n\
                        Examples:\n  \
                        pcc-lab run shallow-buffer --algorithm cubic,bbr --seeds 1\n  \
                        pcc-lab run parking-lot --algorithm cubic --json     flows through one of three bottlenecks, and through all")]
pub(crate) struct Args {
    /// Supplied scenarios by name, `all` of them, or .toml files
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Only these algorithms, of the scenario or not
    #[arg(long, value_name = "NAME", value_parser = crate::lab::algorithms)]
    algorithm: Vec<Vec<String>>,
    /// Only these values of the sweep
    #[arg(long, value_name = "VALUE", value_delimiter = ',')]
    point: Vec<String>,
    /// Only these seeds
    #[arg(long, value_name = "SEED", value_delimiter = ',', value_parser = crate::written::seed)]
    seed: Vec<u64>,
    /// Only this number of seeds of each point
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    seeds: Option<u16>,
    /// Only the I-th of N parts, for N machines; `pcc-lab merge` puts their results together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Say how many runs there are and how long they take, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Guests at the same time [default: one a processor]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Real time after which a single run is given up; five times what it should take if that is more
    #[arg(long, value_name = "TIME", default_value = "10m")]
    timeout: humantime::Duration,
    /// The pcc that QUIC flows run, so that a finished build can be measured while the lab changes [default: the one beside
    /// this program]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
    /// The commit from which the program was built, for the report [default: the program's own answer]
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Directory of results, kept by content: stored runs are not run again [default: ~/.cache/pcc/lab/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Print JSON, one object a scenario
    #[arg(long)]
    json: bool,
}

impl Args {
    /// One for each guest that runs at the same time.
    fn processors(&self) -> Vec<usize> {
        let all = campaign::processors();
        let count = self.jobs.map_or(all.len(), usize::from);
        all.into_iter().cycle().take(count).collect()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    // A mistake in the last name must not be found after an hour of runs.
    let algorithms = args.algorithm.concat();
    let mut scenarios = bench::load(&args.names, &args.wanted, &algorithms)?;
    let selection =
        Selection { algorithms: &algorithms, points: &args.point, seeds: &args.seed, first_seeds: args.seeds };
    selection.apply(&mut scenarios).context(Exit::Usage)?;
    if let Some(file) = args.results.as_ref().filter(|results| results.is_file()) {
        let problem = format!("--results {}: it is a file, and results take a directory", file.display());
        return Err(misuse!(problem));
    }
    if let Some(shard) = args.shard {
        campaign::shard(&mut scenarios, shard, Whole::Run);
    }
    let init = crate::program::path()?;
    let program = match &args.program {
        Some(path) => {
            Some(path.canonicalize().with_context(|| format!("could not find the program {}", path.display()))?)
        }
        None => crate::program::tool(),
    };
    if args.dry_run {
        return foretell(args, &mut scenarios, program.as_deref());
    }
    let machine = machine(args, &scenarios, init, program)?;
    sight::check(&machine).map_err(elsewhere)?;
    let program = machine.program()?;
    let module = args.wanted.module_identity(&scenarios)?;
    scenarios.iter_mut().for_each(|one| one.belongs_to(&program, module.as_deref()));
    let store = Store::at(&bench::results(args.results.as_deref()), &machine.kernel.identity);
    let commit = commit(&machine.program, args.commit.as_deref())?;
    if commit.is_none() {
        say("no commit is recorded of this program: --commit COMMIT notes it for the report");
    }
    store
        .keep_origin(&program, commit.as_deref())
        .context("could not store which commit the program is of: choose a place that can be written with --results")?;
    let (failures, is_stopped) = carry_out(args, &scenarios, &machine, &store)?;
    if !is_stopped {
        print_all(args, &scenarios, &store, &machine.kernel.release)?;
    }
    conclude(&failures, is_stopped, args)
}

/// The computer that the runs are carried out on.
fn machine(args: &Args, scenarios: &[Scenario], init: PathBuf, program: Option<PathBuf>) -> anyhow::Result<Machine> {
    let kernel = kernel::find(&kernel::cache_dir())?;
    // Where no flow is over QUIC nothing runs it.
    let is_needed = scenarios.iter().flat_map(|scenario| &scenario.runs).any(|run| run.spec.has_quic_flows());
    let program = program.or_else(|| (!is_needed).then(|| init.clone())).ok_or_else(|| {
        anyhow::anyhow!("flows over QUIC run `pcc`, which is not beside {}: name one with --program", init.display())
    })?;
    Ok(Machine {
        module: args.wanted.module(scenarios, &kernel)?,
        kernel,
        init,
        program,
        init_arguments: vec![super::GUEST.into()],
        timeout: args.timeout.into(),
        memory: memory_for(args.processors().len())?,
    })
}

/// The commit of the program, as it tells itself or as the user `named` it.
///
/// Errors: the two are different ones.
fn commit(program: &Path, named: Option<&str>) -> anyhow::Result<Option<String>> {
    let carried = program::commit_in(program).context("could not read the program under test")?;
    if let (Some(carried), Some(named)) = (&carried, named)
        && !carried.starts_with(named)
        && !named.starts_with(carried.as_str())
    {
        let problem = format!("--commit {named}: the program says itself that it is of {carried}");
        return Err(misuse!(problem));
    }
    Ok(carried.or_else(|| named.map(str::to_owned)))
}

/// With how the other place is told.
fn elsewhere(hidden: Hidden) -> anyhow::Error {
    let remedy = match hidden.what {
        Seen::This => "run it from there",
        Seen::Program => "name it with --program",
        Seen::Module => "name it with --module",
        Seen::Temporary => "name that with TMPDIR",
    };
    misuse!("{hidden}, and {remedy}")
}

/// Says what there is to do, also where no kernel was built yet.
fn foretell(args: &Args, scenarios: &mut [Scenario], program: Option<&Path>) -> anyhow::Result<()> {
    let program = bench::known(program)?;
    let module = args.wanted.module_identity(scenarios)?;
    scenarios.iter_mut().for_each(|one| one.belongs_to(&program, module.as_deref()));
    let dir = bench::results(args.results.as_deref());
    let kernel = kernel::find(&kernel::cache_dir()).ok().map(|kernel| kernel.identity);
    let kernel = kernel.or_else(|| Store::usual_kernel(&dir)).unwrap_or_default();
    announce(&campaign::plan(scenarios, &Store::at(&dir, &kernel)), args.processors().len());
    Ok(())
}

fn announce(plan: &Plan<'_>, processors: usize) {
    say(match plan.missing() {
        0 => format!("all {} runs are stored", plan.stored),
        missing => format!(
            "{missing} runs to do ({} stored), about {} with {} at a time",
            plan.stored,
            about(plan.time(processors)),
            processors
        ),
    });
}

/// Runs what is missing; answers what failed, and whether it was stopped.
fn carry_out(
    args: &Args,
    scenarios: &[Scenario],
    machine: &Machine,
    store: &Store,
) -> anyhow::Result<(Vec<Failure>, bool)> {
    let processors = args.processors();
    let plan = campaign::plan(scenarios, store);
    announce(&plan, processors.len());
    if plan.missing() == 0 {
        return Ok((Vec::new(), false));
    }
    let stop = stop_on_signals()?;
    let meter = Meter::new(plan.missing());
    let campaign = Campaign { machine, store, processors: &processors, stop: &stop };
    let done = campaign.run(plan, &|progress| meter.tell(progress));
    meter.end();
    Ok((done.failures, done.is_stopped))
}

/// Becomes true with Ctrl-C, or when a batch system wants the process to end. However often they ask: the virtual
/// machines must be ended first.
fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let (interrupt, stopped) = (Interrupt::listen(u32::MAX)?, Arc::clone(&stop));
    tokio::spawn(async move {
        interrupt.heard().await;
        stopped.store(true, Ordering::Relaxed);
    });
    Ok(stop)
}

fn print_all(args: &Args, scenarios: &[Scenario], store: &Store, release: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for scenario in scenarios.iter().filter(|scenario| !scenario.runs.is_empty()) {
        let outcomes = store.outcomes(scenario);
        let mut cells = summary::cells(scenario, &outcomes);
        cells.retain(|cell| !cell.runs.is_empty() || !cell.rejected.is_empty());
        if args.json {
            let object = serde_json::json!({
                "scenario": scenario.name,
                "kernel": release,
                "parameter": scenario.parameter,
                "rows": summary::rows(&cells, &scenario.measures()),
            });
            writeln!(out, "{object}")?;
        } else {
            print(&mut out, scenario, &cells)?;
        }
    }
    Ok(())
}

pub(crate) fn print(out: &mut impl Write, scenario: &Scenario, cells: &[Cell<'_>]) -> std::io::Result<()> {
    writeln!(out, "{}: {} ({})", scenario.name, scenario.title, scenario.source)?;
    for statement in &scenario.published {
        writeln!(out, "published: {statement}")?;
    }
    let with_margin = |value: Option<Mean>, digits: usize| match value {
        Some(Mean { mean, margin: Some(margin) }) => format!("{mean:.digits$} ± {margin:.digits$}"),
        Some(Mean { mean, margin: None }) => format!("{mean:.digits$}"),
        None => "-".into(),
    };
    let heads = [&scenario.parameter, "algorithm", "Mbit/s", "share", "RTT ms", "waste", "host-limited"];
    let mut rows = vec![heads.map(String::from).to_vec()];
    rows.extend(cells.iter().map(|cell| {
        let mean = |measure| cell.mean(measure);
        let plain = |measure, digits: usize, factor: f64| {
            mean(measure).map_or("-".into(), |value| format!("{:.digits$}", factor * value.mean))
        };
        let seeds: Vec<_> = cell.rejected.iter().map(u64::to_string).collect();
        let rejected = format!("not counted, held back by its hosts: seed {}", seeds.join(", "));
        vec![
            cell.point.to_owned(),
            cell.algorithm.to_owned(),
            with_margin(mean(Measure::Goodput), 2),
            with_margin(mean(Measure::Share), 3),
            plain(Measure::Rtt, 1, 1.0),
            plain(Measure::Waste, 2, 1.0),
            format!("{} %", plain(Measure::HostLimited, 1, 100.0)),
            if seeds.is_empty() { String::new() } else { rejected },
        ]
    }));
    write!(out, "{}", aligned(&COLUMNS, &rows))
}

const COLUMNS: [Column; 8] = {
    use Column::{Left, Right};
    [Right(16), Left(12), Left(16), Left(15), Right(6), Right(6), Right(8), Left(0)]
};

fn conclude(failures: &[Failure], is_stopped: bool, args: &Args) -> anyhow::Result<()> {
    if !failures.is_empty() {
        say(format!("\n{} failed; to repeat:", failures.len()));
    }
    for failure in failures {
        let longer = if failure.error.is_timeout() { " with --timeout" } else { "" };
        say(format!("{}: {}{longer}", repeat(failure, args), failure.error));
    }
    if is_stopped {
        return Err(anyhow::anyhow!("stopped: the same command continues where it was").context(Exit::Partial));
    }
    if !failures.is_empty() {
        return Err(anyhow::anyhow!(format!("{} runs have no result", failures.len())).context(Exit::Partial));
    }
    Ok(())
}

/// The command that repeats a run, or all runs over a path that could not be calibrated.
fn repeat(failure: &Failure, args: &Args) -> String {
    let name = args.names.iter().find(|name| name.ends_with(&format!("{}.toml", failure.scenario)));
    let mut command = format!("pcc-lab run {}", name.unwrap_or(&failure.scenario));
    if let Some(Run { algorithm, point, spec }) = &failure.run {
        command += &format!(" --algorithm '{algorithm}' --point '{point}' --seed {}", spec.seed);
    }
    for (option, value) in [("program", &args.program), ("results", &args.results)] {
        if let Some(value) = value {
            command += &format!(" --{option} '{}'", value.display());
        }
    }
    command
}
