use super::load::most;
use super::utility_options::UtilityOptions;
use super::{find, status};
use crate::exit::{Failure, misuse};
use anyhow::Context;
use pcc::units::Rate;
use pcc_bpf::load::{UTILITY_TEXT, set_limit};
use pcc_bpf::rule;
use pcc_bpf::variant::name;
use std::io::{self, Write as _};

/// Change what PCC strives for, of running connections too
///
/// Running connections take the new utility with their next interval, within about two round trips.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  pcc kernel set --keep                        a trial goes on until a reboot\n  pcc kernel set pcc_bulk --limit 50Mbit       at most 50 Mbit/s for each connection\n  pcc kernel set --utility 'T - 10*x*L'"
)]
pub(super) struct Args {
    /// The variant; may be left out if there is only one
    #[arg(value_parser = name)]
    name: Option<String>,
    #[command(flatten)]
    utility_options: UtilityOptions,
    /// The highest rate of each connection, like 100Mbit; `none` for as fast as the path allows
    #[arg(long, value_name = "RATE")]
    limit: Option<String>,
    /// End a trial, and keep it
    #[arg(long)]
    keep: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if !args.utility_options.is_given() && args.limit.is_none() && !args.keep {
        return Err(misuse!("nothing to set: give --utility, --set, --limit or --keep"));
    }
    let limit = args.limit.as_deref().filter(|limit| *limit != "none").map(str::parse::<Rate>);
    let limit = limit.transpose().context("--limit").context(Failure::Usage)?;
    // A fault of a utility is told whether or not anything is loaded.
    if args.utility_options.is_given() && !args.utility_options.is_alone() {
        args.utility_options.objective(None)?;
    }
    let variant = find(args.name.as_deref())?;
    let (name, variables) = (&variant.name, &variant.variables);
    let mut out = io::stdout().lock();
    let limited = if args.limit.is_some() { limit.is_some() } else { status::limit(&variant)?.is_some() };
    let objective = args.utility_options.objective(Some(&variables.text("utility_text")?));
    // A text that another version of the tool cut off can be no utility's.
    if let (Ok(objective), true) = (&objective, args.utility_options.is_given() || args.limit.is_some()) {
        objective.check(limited)?;
    }
    if args.utility_options.is_given() {
        let objective = objective?;
        variables.strive_for(&objective.program.bytes())?;
        variables.write_text::<UTILITY_TEXT>("utility_text", &objective.text)?;
        writeln!(out, "{name} strives for {}", objective.text)?;
    }
    if args.limit.is_some() {
        set_limit(variables, most(limit))?;
        match limit {
            Some(rate) => writeln!(out, "no connection of {name} sends faster than {rate}")?,
            None => writeln!(out, "connections of {name} send as fast as the path allows")?,
        }
    }
    if args.keep {
        variables.write("trial.until", &0_u64.to_ne_bytes())?;
        rule::Rule::all()?.iter().filter(|rule| rule.name == *name).try_for_each(|rule| rule.ends(0))?;
        writeln!(out, "{name} stays until `pcc kernel unload {name}`, or a reboot")?;
    }
    Ok(())
}
