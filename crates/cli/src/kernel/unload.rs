use super::find;
use pcc_bpf::attendant;
use pcc_bpf::unload::variant;
use pcc_bpf::variant::Variant;
use std::io::{self, Write};

/// Take PCC out of the kernel, also under traffic
///
/// If PCC is the default, the previous default is the default again. Connections with PCC keep it until they end; then
/// it leaves memory.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: pcc kernel unload --all")]
pub(super) struct Args {
    /// The variant; may be left out if there is only one
    #[arg(value_parser = pcc_bpf::variant::name)]
    name: Option<String>,
    /// All variants
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// When its trial is over, and only if it is this one: what a trial starts
    #[arg(long, value_name = "MAP", hide = true, requires = "name")]
    after_trial: Option<u32>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if let (Some(map), Some(name)) = (args.after_trial, &args.name) {
        return Ok(attendant::await_end(name, map)?);
    }
    let (mut out, mut written) = (io::stdout().lock(), Ok(()));
    // An unload that has begun is ended, also if nobody reads of it.
    let mut tell = |line: &str| {
        if written.is_ok() {
            written = writeln!(out, "{line}");
        }
    };
    if !args.all {
        variant(&mut find(args.name.as_deref())?, &mut tell)?;
        return Ok(written?);
    }
    let mut all: Vec<_> = Variant::all()?.into_iter().filter(|variant| variant.is_registered).collect();
    if all.is_empty() {
        tell("PCC is not loaded");
    }
    all.iter_mut().try_for_each(|one| variant(one, &mut tell))?;
    Ok(written?)
}
