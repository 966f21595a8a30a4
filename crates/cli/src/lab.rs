//! `pcc lab`: experiments on a real Linux stack in virtual time.

use anyhow::Context as _;
use clap::Subcommand;
use pcc_lab::campaign::{self, Progress};
use pcc_lab::machine::Machine;
use pcc_lab::scenario::{self, Scenario};
use pcc_lab::store::Store;
use pcc_lab::summary::{self, Mean, Row};
use pcc_lab::{guest, kernel};
use std::io::Write as _;
use std::path::PathBuf;

/// Arguments of `pcc lab`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Build the guest kernel (user-mode Linux 6.12); once, about 3 minutes on 2 cores
    Build(Build),
    /// List the scenarios
    List,
    /// Run scenarios and print their figures
    #[command(after_help = "Example: pcc lab run shallow-buffer --algorithm cubic,bbr --seeds 1")]
    Run(Run),
    /// The guest's first process
    #[command(hide = true)]
    GuestInit {
        dir: PathBuf,
        /// User-mode Linux adds words of its own for its first process
        #[arg(hide = true)]
        of_the_kernel: Vec<String>,
    },
}

#[derive(clap::Args, Debug)]
struct Build {
    /// Source of Linux 6.12: a directory or a tarball [default: Debian's package linux-source-6.12]
    #[arg(long, value_name = "DIR|TARBALL")]
    source: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
struct Run {
    /// Supplied scenarios by name, or .toml files
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Only these algorithms of the scenario
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    algorithm: Vec<String>,
    /// Only so many seeds of each point
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    seeds: Option<u16>,
    /// Guests at the same time [default: one a processor]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Real time after which a single run is given up
    #[arg(long, value_name = "TIME", default_value = "10m")]
    timeout: humantime::Duration,
    /// The pcc that QUIC flows run, so that a finished build can be measured while the lab changes [default: this one]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Where results are kept, by content: what is there is not run again [default: ~/.cache/pcc/lab/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Print JSON, one object a scenario
    #[arg(long)]
    json: bool,
}

/// Runs it. Blocking: the lab is a work queue of processes and needs no async runtime.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Build(build) => {
            kernel::build(&kernel::cache_dir(), build.source.as_deref(), &mut say)?;
            Ok(())
        }
        Command::List => list(),
        Command::Run(run) => run_scenarios(&run),
        Command::GuestInit { dir, .. } => guest::run_as_init(&dir),
    }
}

fn list() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for name in scenario::names() {
        let scenario = scenario::load(name)?;
        writeln!(out, "{name:16} {} ({}), {} runs", scenario.title, scenario.source, scenario.runs.len())?;
    }
    Ok(())
}

fn run_scenarios(args: &Run) -> anyhow::Result<()> {
    // A mistake in the last name must not be found after an hour of runs.
    let scenarios = args.names.iter().map(|name| selected(name, args)).collect::<anyhow::Result<Vec<_>>>()?;
    let cache = kernel::cache_dir();
    let init = std::env::current_exe().context("could not find this program's own file")?;
    let program = match &args.program {
        Some(path) => path.canonicalize().with_context(|| format!("could not find the program {}", path.display()))?,
        None => init.clone(),
    };
    let machine = Machine {
        kernel: kernel::find(&cache)?,
        init,
        program,
        init_arguments: vec!["lab".into(), "guest-init".into()],
        timeout: args.timeout.into(),
    };
    let store = Store::at(&args.results.clone().unwrap_or_else(|| cache.join("results")));
    let program = machine.program()?;
    let mut processors = campaign::processors();
    if let Some(jobs) = args.jobs {
        processors = processors.into_iter().cycle().take(jobs.into()).collect();
    }
    for mut scenario in scenarios {
        for run in scenario.runs.iter_mut().filter(|run| run.spec.has_quic_flows()) {
            run.spec.program = Some(program.clone());
        }
        say(&format!("{}: {} ({})", scenario.name, scenario.title, scenario.source));
        let outcomes = campaign::run(&scenario, &machine, &store, &processors, &tell)?;
        let rows = summary::rows(&scenario, &outcomes);
        let mut out = std::io::stdout().lock();
        if args.json {
            let object = serde_json::json!({
                "scenario": scenario.name,
                "kernel": machine.kernel.release,
                "parameter": scenario.parameter,
                "rows": rows,
            });
            writeln!(out, "{object}")?;
        } else {
            print(&mut out, &scenario, &rows)?;
        }
    }
    Ok(())
}

/// The scenario, less what the options leave out.
fn selected(name: &str, args: &Run) -> anyhow::Result<Scenario> {
    let mut scenario = scenario::load(name)?;
    let mut has: Vec<_> = scenario.runs.iter().map(|run| run.algorithm.as_str()).collect();
    has.sort_unstable();
    has.dedup();
    if let Some(unknown) = args.algorithm.iter().find(|name| !has.contains(&name.as_str())) {
        anyhow::bail!("scenario {} has no algorithm `{unknown}`: it has {}", scenario.name, has.join(", "));
    }
    if !args.algorithm.is_empty() {
        scenario.runs.retain(|run| args.algorithm.contains(&run.algorithm));
    }
    if let Some(count) = args.seeds {
        let mut seeds: Vec<_> = scenario.runs.iter().map(|run| run.spec.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds.truncate(count.into());
        scenario.runs.retain(|run| seeds.contains(&run.spec.seed));
    }
    Ok(scenario)
}

fn print(out: &mut impl std::io::Write, scenario: &Scenario, rows: &[Row]) -> std::io::Result<()> {
    for statement in &scenario.published {
        writeln!(out, "published: {statement}")?;
    }
    let parameter = &scenario.parameter;
    writeln!(out, "{parameter:>16}  algorithm     Mbit/s            share            RTT ms   waste  host-limited")?;
    let with_margin = |value: Mean, digits: usize| match value.margin {
        Some(margin) => format!("{:.digits$} ± {margin:.digits$}", value.mean),
        None => format!("{:.digits$}", value.mean),
    };
    for row in rows {
        writeln!(
            out,
            "{:>16}  {:12}  {:16}  {:15}  {:6.1}  {:6.2}  {:6.1} %",
            row.point,
            row.algorithm,
            with_margin(row.goodput_mbit, 2),
            with_margin(row.share, 3),
            row.rtt_ms.mean,
            row.waste.mean,
            100.0 * row.host_limited.mean,
        )?;
    }
    Ok(())
}

fn tell(progress: Progress) {
    let rest = progress.remaining.map_or(0, |rest| rest.as_secs());
    let rest = humantime::format_duration(std::time::Duration::from_secs(rest));
    say(&format!(
        "  {} of {} runs done ({} stored before), {rest} left",
        progress.done, progress.total, progress.stored
    ));
}

#[expect(clippy::print_stderr, reason = "progress of a command is for the user")]
fn say(line: &str) {
    eprintln!("{line}");
}
