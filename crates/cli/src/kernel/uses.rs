use super::args::ObjectArgs;
use super::is_of_linux;
use crate::exit::misuse;
use anyhow::{Context, anyhow, bail};
use pcc_bpf::rule::{self, AddError, Network, Rule, Whom};
use pcc_bpf::variant::name;
use pcc_bpf::{rights, sysctl};
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Choose which connections get it: by control group, port or destination
///
/// A rule counts when a connection begins, in all network namespaces. The application needs no change. A connection
/// must match everything that the rule says. If several rules match, the one of the outermost control group decides
/// (without --cgroup that is the root), and of those of one group the latest. A rule lasts until it, its control group
/// or its congestion control is removed. A control group takes 64 rules.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  pcc kernel use --cgroup /sys/fs/cgroup/system.slice/nginx.service\n  pcc kernel use pcc_scav --port 873\n  pcc kernel use --dest 198.51.100.0/24 --port 443\n  pcc kernel use --remove 3"
)]
pub(super) struct Args {
    /// Any congestion control that the kernel has
    #[arg(default_value = "pcc", value_parser = name)]
    name: String,
    /// Applications in this control group (version 2) and those below it, for example
    /// /sys/fs/cgroup/system.slice/nginx.service for a service of systemd [default: all]
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,
    /// Connections with this port at either end
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Connections to or from addresses in this network: 192.0.2.0/24, 2001:db8::/32
    #[arg(long, value_name = "NETWORK")]
    dest: Option<Network>,
    /// Remove the rule with this number instead; `pcc kernel status` has the numbers
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["cgroup", "port", "dest"])]
    remove: Option<u32>,
    #[command(flatten)]
    source: ObjectArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if let Some(number) = args.remove {
        rights::check()?;
        let rule = Rule::all()?.into_iter().find(|rule| rule.id == number);
        let rule = rule.with_context(|| format!("there is no rule {number}: `pcc kernel status` lists them"))?;
        if !rule.remove()? {
            bail!(
                "the control group of rule {number} was removed, and the rule with it: it is listed until the last connection \
                 that began in there ends"
            );
        }
        writeln!(out, "rule {number} is removed: {rule}")?;
        return Ok(());
    }
    if args.cgroup.is_none() && args.port.is_none() && args.dest.is_none() {
        return Err(misuse!(
            "whose connections? give --cgroup, --port or --dest; `pcc kernel load --default` is for all of them"
        ));
    }
    rights::check()?;
    let available = sysctl::available()?;
    if !available.contains(&args.name) {
        // A rule's program cannot bring the kernel's own either: they are loaded first.
        let load = if is_of_linux(&args.name) { "modprobe tcp_" } else { "pcc kernel load --name " };
        bail!(
            "the kernel has no congestion control called {}: there are {}; `{load}{0}` loads one",
            args.name,
            available.join(", ")
        );
    }
    let whom = Whom { port: args.port, dest: args.dest };
    let rule = rule::add(&args.name, args.cgroup.as_deref(), &whom, &args.source.source()).map_err(explained)?;
    writeln!(out, "rule {rule}: new connections of this kind have {}", args.name)?;
    writeln!(out, "back: pcc kernel use --remove {rule}")?;
    Ok(())
}

/// With the options that help.
fn explained(error: AddError) -> anyhow::Error {
    match error {
        AddError::Full => anyhow!(
            "{error}: `pcc kernel use --remove NUMBER` removes one that is not needed, a --dest with a shorter prefix can \
             stand for several, and --cgroup puts one on another group"
        ),
        other => other.into(),
    }
}
