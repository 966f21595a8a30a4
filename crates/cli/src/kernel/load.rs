use super::btf::Btf;
use super::doctor::STATE;
use super::libbpf::{Loaded, Part};
use super::object::Source;
use super::strives::{self, Strives};
use super::variant::{KERNEL_TYPES, Variables, Variant};
use super::{rights, sysctl, trial};
use crate::exit::Failure;
use crate::utility::heeds_something;
use anyhow::{Context, anyhow, bail};
use clap::builder::PossibleValuesParser;
use pcc::units::Rate;
use pcc_kernel::{LAWS, law_number};
use socket2::{Domain, Socket, Type};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

/// Load PCC, and make it the default if asked
///
/// Connections that begin from then on can have it: by name (setsockopt TCP_CONGESTION, iperf3 -C), by `pcc kernel use`, or
/// all of them, with --default. Several variants can be loaded beside each other, each under its name and with its utility.
/// Either all of it is done, or nothing.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    strives: Strives,
    /// The control law: ascent, which foresees queues, or vivace, the paper's (NSDI 2018)
    #[arg(long, value_name = "LAW", default_value = LAWS[0], value_parser = PossibleValuesParser::new(LAWS))]
    law: String,
    /// The name of the congestion control: up to 15 letters, digits, - and _
    #[arg(long, default_value = "pcc", value_parser = name)]
    name: String,
    /// No connection is to send faster than this, like 100Mbit [default: as fast as the path allows]
    #[arg(long, value_name = "RATE")]
    limit: Option<Rate>,
    /// Make it the default of this network namespace: for all new connections that do not choose
    #[arg(long)]
    default: bool,
    /// Let applications without rights choose it by name too
    #[arg(long)]
    allow: bool,
    /// Only for so long, like 10m: then the default of before is the default again, and PCC is unloaded
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    trial: Option<Duration>,
    #[command(flatten)]
    source: Source,
}

/// As long as the kernel allows, and nothing that a list of names in /proc would be torn by.
pub(super) fn name(written: &str) -> Result<String, String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match written.len() {
        1..16 if written.chars().all(allowed) => Ok(written.to_owned()),
        _ => Err("a name has 1 to 15 letters (without accents), digits, - and _, like pcc_scav".to_owned()),
    }
}

/// Waits at the least for what takes time: to look at the trial at all.
const SHORTEST_TRIAL: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if args.trial.is_some_and(|time| time < SHORTEST_TRIAL) {
        return Err(anyhow!("--for: a trial takes a second at the least").context(Failure::Usage));
    }
    let name = &args.name;
    let aim = args.strives.aim(Some(strives::usual(name)))?;
    heeds_something(&aim.text, aim.panic_loss, args.limit.is_some())?;
    let mut object = args.source.object()?;
    rights::check()?;
    clash(name)?;
    // Linux (6.18 and before) refuses what would be wrong here, but never lets go of it again.
    if args.default && !args.allow && !sysctl::is_first_network() {
        bail!("in this network namespace, which is not the first one, --default takes --allow too: nothing was loaded");
    }
    object.register_as(name, args.allow)?;
    // Of types that cannot be read libbpf tells more.
    if let Some(kernel) = std::fs::read(KERNEL_TYPES).ok().and_then(|types| Btf::read(types).ok()) {
        object.fit(&kernel)?;
    }
    let loaded = Loaded::load(&object, Part::Control)?;
    let mut before = sysctl::default()?;
    if before == *name {
        // A default whose congestion control was taken out is still one, by name.
        before = sysctl::usual(&sysctl::available()?, name);
    }
    let maps = [".data", ".bss"].map(|map| loaded.map_fd(map).and_then(|fd| Ok(super::bpf::Map::of(fd)?)));
    let variables = Variables::of(maps.into_iter().collect::<anyhow::Result<_>>()?)?;
    variables.write("utility", &aim.program.bytes())?;
    variables.write_text::<256>("utility_text", &aim.text)?;
    variables.write_text::<16>("trial.before", &before)?;
    set_limit(&variables, args.limit)?;
    set_law(&variables, &args.law)?;
    let until = args.trial.map(trial::in_this_time).transpose()?;
    variables.write("trial.until", &until.unwrap_or(0).to_ne_bytes())?;
    let map = super::bpf::Map::of(loaded.map_fd("pcc")?)?;
    loaded.register().map_err(|error| match error.raw_os_error() {
        Some(libc::EEXIST) => taken(name),
        _ => anyhow!("the kernel did not register {name}: {error}"),
    })?;
    let finish = || -> anyhow::Result<()> {
        if let Some(got) = given_to(name).filter(|got| got != name) {
            bail!(
                "a connection that asked for {name} got {got}: this kernel gives a socket no room for what PCC knows of it, up to \
                 {STATE} bytes; `pcc kernel doctor` says whether a setting is why"
            );
        }
        if until.is_some() {
            trial::attend(name, map.id, args.trial.unwrap_or_default())?;
        }
        if args.default { sysctl::set_default(name) } else { Ok(()) }
    };
    if let Err(error) = finish() {
        map.clear().with_context(|| format!("{error:#}; and {name} could not be unloaded again"))?;
        return Err(error.context("nothing was changed"));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{name} is loaded; it strives for {}, by {}", aim.text, args.law)?;
    if args.default {
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

pub(super) fn set_limit(variables: &Variables, limit: Option<Rate>) -> anyhow::Result<()> {
    let most = limit.map_or(0, |rate| (rate.bytes_per_sec() as u64).max(1));
    variables.write("limits.most", &most.to_ne_bytes())
}

/// What a connection of this host with itself has that asks for this: another one's, where there is no room for its state. `None`
/// where there can be no such connection.
fn given_to(name: &str) -> Option<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.set_tcp_congestion(name.as_bytes()).ok()?;
    socket.connect_timeout(&listener.local_addr().ok()?.into(), Duration::from_secs(1)).ok()?;
    let got = socket.tcp_congestion().ok()?;
    Some(String::from_utf8_lossy(&got).trim_end_matches('\0').to_owned())
}

/// Of connections that begin from then on.
pub(super) fn set_law(variables: &Variables, law: &str) -> anyhow::Result<()> {
    variables.write("law", &u64::from(law_number(law).unwrap_or(0)).to_ne_bytes())
}

/// Errors: a congestion control of that name is there already.
fn clash(name: &str) -> anyhow::Result<()> {
    if sysctl::is_of_linux(name) {
        // Who asks for it must not get another one, and its module could not be loaded any more.
        bail!(
            "{name} is what Linux calls one of its own, which `modprobe tcp_{name}` loads: choose another --name, like pcc_{name}"
        );
    }
    if !sysctl::available()?.iter().any(|one| one == name) {
        return Ok(());
    }
    if Variant::all()?.iter().any(|variant| variant.is_registered && variant.name == name) {
        bail!(
            "{name} is loaded already: `pcc kernel set {name}` changes what it strives for, `pcc kernel unload {name}` takes \
             it out, and --name loads another one beside it"
        );
    }
    Err(taken(name))
}

fn taken(name: &str) -> anyhow::Error {
    anyhow!(
        "the kernel has a congestion control called {name} already, which is not PCC's BPF object: choose another --name"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_one_of_linux_s_own_is_refused_though_it_is_not_loaded() {
        for name in ["bbr", "cubic", "yeah"] {
            let error = clash(name).unwrap_err().to_string();
            assert!(error.contains(&format!("`modprobe tcp_{name}`")) && error.contains("--name"), "{error}");
        }
    }

    #[test]
    fn a_connection_tells_what_it_was_given() {
        // Every Linux has it; where there is no loopback there is nothing to tell.
        if TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok() {
            assert_eq!(given_to("reno").as_deref(), Some("reno"));
        }
        assert_eq!(given_to("no-such"), None);
    }

    #[test]
    fn names_are_those_that_the_kernel_takes() {
        for good in ["pcc", "pcc_scav", "a-b", "123456789012345"] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for bad in ["", "1234567890123456", "a b", "pcc\n", "ü", "a/b"] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
    }
}
