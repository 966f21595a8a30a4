use super::variant::Variant;
use super::{rule, sysctl, trial};
use anyhow::{Context, bail};
use std::io::{self, Write};

/// Take PCC out of the kernel, also under traffic
///
/// If it is the default, the default of before is it again. Connections that have it keep it until they end; after that it
/// is gone from memory.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Which; can be left out if there is only one
    #[arg(value_parser = super::load::name)]
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
        return trial::await_end(name, map);
    }
    let mut out = io::stdout().lock();
    if !args.all {
        return variant(&Variant::find(args.name.as_deref())?, &mut out);
    }
    let all: Vec<_> = Variant::all()?.into_iter().filter(|variant| variant.is_registered).collect();
    if all.is_empty() {
        writeln!(out, "PCC is not loaded")?;
    }
    all.iter().try_for_each(|one| variant(one, &mut out))
}

/// Takes one out, and tells of it.
pub(super) fn variant(variant: &Variant, out: &mut impl Write) -> anyhow::Result<()> {
    let name = &variant.name;
    if sysctl::default()? == *name {
        let available = sysctl::available()?;
        // One that plain bpftool loaded remembers nothing.
        let before = variant.variables.text::<16>("trial.before").unwrap_or_default();
        let is_there = before != *name && available.contains(&before);
        let before = if is_there { before } else { sysctl::usual(&available, name) };
        sysctl::set_default(&before)?;
        writeln!(out, "new connections have {before} by default again")?;
    }
    for rule in rule::Rule::all()?.iter().filter(|rule| rule.name == *name) {
        rule.remove()?;
        writeln!(out, "rule {} is removed: {rule}", rule.id)?;
    }
    match variant.map.clear() {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            bail!(
                "{name} was registered through a BPF link by another program: it goes when that ends, or when its link in \
                 /sys/fs/bpf is removed"
            );
        }
        Err(error) => return Err(error).with_context(|| format!("could not unload {name}")),
    }
    writeln!(out, "{name} is unloaded; connections that have it keep it until they end")?;
    Ok(())
}
