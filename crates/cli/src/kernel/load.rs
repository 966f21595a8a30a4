use super::args::ObjectArgs;
use super::is_of_linux;
use super::utility_options::{self, UtilityOptions};
use crate::exit::misuse;
use anyhow::{Context, anyhow};
use pcc::units::Rate;
use pcc_bpf::load::{Done, LoadError, Wanted};
use pcc_bpf::variant::name;
use pcc_bpf::{attendant, rights};
use std::io::{self, Write as _};
use std::time::Duration;

/// Load PCC, and make it the default if asked
///
/// New connections can then have it: by name (setsockopt TCP_CONGESTION, iperf3 -C), by `pcc kernel use`, or all of
/// them, with --default. Several variants can be loaded beside each other, each with its name and utility. If a step
/// fails, the steps before it are undone. If the same variant is loaded already, it stays as it is, and --default and
/// --allow give it to more connections.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  pcc kernel load --default --for 10m                   a trial, for all new connections\n  pcc kernel load --name pcc_slow --limit 200Mbit       at most 200 Mbit/s for each connection\n  pcc kernel load --default --replace                   the version of this tool, in place"
)]
pub(super) struct Args {
    #[command(flatten)]
    utility_options: UtilityOptions,
    /// The name of the congestion control: up to 15 letters, digits, - and _
    #[arg(long, default_value = "pcc", value_parser = name)]
    name: String,
    /// The highest rate of each connection, like 100Mbit [default: as fast as the path allows]
    #[arg(long, value_name = "RATE")]
    limit: Option<Rate>,
    /// Make it the default of this network namespace: for all new connections that do not choose
    #[arg(long)]
    default: bool,
    /// Let applications without rights choose it by name too
    #[arg(long)]
    allow: bool,
    /// Replace the variant of this name: new connections have the new one, running ones keep theirs, out of reach of `set`
    #[arg(long)]
    replace: bool,
    /// Only for this time, like 10m: then the previous default is the default again, and PCC is unloaded
    #[arg(long = "for", visible_alias = "time-limit", value_name = "TIME", value_parser = crate::written::duration)]
    trial: Option<Duration>,
    #[command(flatten)]
    source: ObjectArgs,
}

/// Waits at the least for what takes time: to look at the trial at all.
const SHORTEST_TRIAL: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if args.trial.is_some_and(|time| time < SHORTEST_TRIAL) {
        return Err(misuse!("--for: a trial takes a second at the least"));
    }
    let objective = args.utility_options.objective(Some(utility_options::usual(&args.name)))?;
    objective.check(args.limit.is_some())?;
    let source = args.source.source();
    // Before anything else is said, whether it could be loaded at all.
    source.object()?;
    rights::check()?;
    if is_of_linux(&args.name) {
        return Err(of_linux(&args.name));
    }
    let wanted = Wanted {
        name: args.name.clone(),
        utility: objective.text,
        program: objective.program.bytes(),
        limit: most(args.limit),
        default: args.default,
        allow: args.allow,
        replace: args.replace,
        trial: args.trial,
    };
    let attend = |map, time| Ok(attend(&args.name, map, time)?);
    let done = wanted.load(&source, &attend).map_err(explained)?;
    tell(args, &wanted.utility, &done)
}

/// This program tidies up, when the kernel has ended the trial.
fn attend(name: &str, map: u32, time: Duration) -> anyhow::Result<()> {
    let tool = std::env::current_exe().context("cannot tell where this program is")?;
    let arguments = ["kernel", "unload", name, "--after-trial", &map.to_string()];
    attendant::attend(&tool, &arguments, map, time).context("could not start what ends the trial")
}

/// With the options that help.
fn explained(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Taken { .. } => anyhow!("{error}: choose another --name"),
        LoadError::Other { ref name } => anyhow!(
            "{error}: --replace puts this one in its place for new connections, `pcc kernel set {name}` changes what it strives \
             for, and --name loads one beside it"
        ),
        LoadError::MustAllow => {
            anyhow!(
                "in this network namespace, which is not the first one, --default takes --allow too: nothing was loaded"
            )
        }
        other => other.into(),
    }
}

fn tell(args: &Args, utility: &str, done: &Done) -> anyhow::Result<()> {
    let (name, mut out) = (&args.name, io::stdout().lock());
    let (is_default, before) = match done {
        Done::Same => {
            return Ok(writeln!(out, "{name} is loaded already, as asked; it strives for {utility}")?);
        }
        Done::Given { is_default, before } => {
            writeln!(out, "{name} was loaded already; it strives for {utility}")?;
            (is_default, before)
        }
        Done::Loaded { replaces, gap, is_default, before } => {
            writeln!(out, "{name} is loaded; it strives for {utility}")?;
            let replaced = "which running ones keep, out of reach of `set`";
            if *replaces {
                writeln!(out, "new connections have it instead of the {name} of before, {replaced}")?;
            }
            let prevented = "`pcc kernel doctor` says what prevents that";
            if *gap {
                writeln!(out, "connections that began in the moment between both may have reno; {prevented}")?;
            }
            (is_default, before)
        }
    };
    if *is_default {
        writeln!(out, "new connections have it by default, instead of {before}")?;
    } else {
        writeln!(
            out,
            "connections get it by name, or by `pcc kernel use {name} --port ...`; the default is {before} still"
        )?;
    }
    match args.trial {
        Some(time) => writeln!(
            out,
            "in {} new connections have {before} again, and {name} is unloaded; `pcc kernel set {name} --keep` keeps it",
            humantime::format_duration(time)
        )?,
        None => writeln!(out, "back: pcc kernel unload {name}")?,
    }
    Ok(())
}

/// Unit: byte/s; 0 for no limit.
pub(super) fn most(limit: Option<Rate>) -> u64 {
    limit.map_or(0, |rate| (rate.bytes_per_sec() as u64).max(1))
}

fn of_linux(name: &str) -> anyhow::Error {
    // A user who asks for it must not get another one, and its module could not be loaded any more.
    anyhow!(
        "{name} is what Linux calls one of its own, which `modprobe tcp_{name}` loads: choose another --name, like pcc_{name}"
    )
}
