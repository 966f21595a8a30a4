use super::args::ObjectArgs;
use super::doctor::STATE;
use super::strives::{self, Aim, Strives, UTILITY_TEXT};
use super::{is_of_linux, trial};
use crate::exit::Failure;
use anyhow::{Context, anyhow, bail};
use clap::builder::PossibleValuesParser;
use pcc::units::Rate;
use pcc_bpf::btf::Btf;
use pcc_bpf::libbpf::{Loaded, Part};
use pcc_bpf::object::Object;
use pcc_bpf::registration::{self, Registration};
use pcc_bpf::trial::{in_this_time, remaining};
use pcc_bpf::variant::name;
use pcc_bpf::variant::{KERNEL_TYPES, Variables, Variant};
use pcc_bpf::{bpf, rights, rule, sysctl};
use pcc_kernel_c::{LAWS, law_number};
use socket2::{Domain, Socket, Type};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

/// Load PCC, and make it the default if asked
///
/// New connections can then have it: by name (setsockopt TCP_CONGESTION, iperf3 -C), by `pcc kernel use`, or all of
/// them, with --default. Several variants can be loaded beside each other, each with its name and utility. If a step
/// fails, the steps before it are undone. If the same variant is loaded already, nothing changes.
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
    /// The highest rate of each connection, like 100Mbit [default: as fast as the path allows]
    #[arg(long, value_name = "RATE")]
    limit: Option<Rate>,
    /// Make it the default of this network namespace: for all new connections that do not choose
    #[arg(long)]
    default: bool,
    /// Let applications without rights choose it by name too
    #[arg(long)]
    allow: bool,
    /// Replace the variant of this name: new connections have the new one, running ones keep theirs
    #[arg(long)]
    replace: bool,
    /// Only for this time, like 10m: then the previous default is the default again, and PCC is unloaded
    #[arg(long = "for", visible_alias = "time-limit", value_name = "TIME", value_parser = humantime::parse_duration)]
    trial: Option<Duration>,
    #[command(flatten)]
    source: ObjectArgs,
}

/// Waits at the least for what takes time: to look at the trial at all.
const SHORTEST_TRIAL: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if args.trial.is_some_and(|time| time < SHORTEST_TRIAL) {
        return Err(anyhow!("--for: a trial takes a second at the least").context(Failure::Usage));
    }
    let aim = args.strives.aim(Some(strives::usual(&args.name)))?;
    aim.check(args.limit.is_some())?;
    let object = args.source.source().object()?;
    rights::check()?;
    if is_of_linux(&args.name) {
        return Err(of_linux(&args.name));
    }
    let wanted = Wanted { args, aim, digest: object.digest() };
    match wanted.load(object) {
        // Somebody was faster: what is there now may be what is wanted.
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|error| error.raw_os_error() == Some(libc::EEXIST)) =>
        {
            wanted.load(args.source.source().object()?)
        }
        done => done,
    }
}

/// What is to be loaded.
struct Wanted<'a> {
    args: &'a Args,
    aim: Aim,
    digest: u64,
}

impl Wanted<'_> {
    fn load(&self, object: Object) -> anyhow::Result<()> {
        let name = &self.args.name;
        let mut same: Vec<_> = Variant::all()?.into_iter().filter(|variant| variant.name == *name).collect();
        let old = same.iter().position(|variant| variant.is_registered).map(|place| same.swap_remove(place));
        match &old {
            None if sysctl::available()?.contains(name) => return Err(taken(name)),
            Some(old) if self.is(old)? => return self.tell_of_the_same(),
            Some(old) if !self.args.replace && remaining(old).ok().flatten() != Some(Duration::ZERO) => {
                bail!(
                    "another {name} is loaded already: --replace puts this one in its place, `pcc kernel set {name}` changes \
                     what it strives for, and --name loads one beside it"
                );
            }
            _ => {}
        }
        self.place(object, old.as_ref(), &same)
    }

    /// Whether that is all that is asked for.
    fn is(&self, loaded: &Variant) -> anyhow::Result<bool> {
        let (args, variables) = (self.args, &loaded.variables);
        // Other versions may not have all of them.
        let has = |path: &str, number: u64| variables.number(path).is_ok_and(|there| there == number);
        let program = self.aim.program.bytes();
        let is_same = has("object_digest", self.digest)
            && variables.strives_for(&program)
            && has("limits.most", most(args.limit))
            && has("law", law(&args.law))
            && has("trial.until", 0);
        Ok(is_same
            && args.trial.is_none()
            && (!args.default || sysctl::default()? == args.name)
            && (!args.allow || sysctl::is_allowed(&args.name)?))
    }

    fn tell_of_the_same(&self) -> anyhow::Result<()> {
        let name = &self.args.name;
        Ok(writeln!(
            io::stdout(),
            "{name} is loaded already, as asked; it strives for {}, by {}",
            self.aim.text,
            self.args.law
        )?)
    }

    /// Loads it, in the place of `old` if there is one; `stale` are those of its name that were unloaded, and are in use still.
    fn place(&self, mut object: Object, old: Option<&Variant>, stale: &[Variant]) -> anyhow::Result<()> {
        let (args, name) = (self.args, &self.args.name);
        // Who could choose the one before can choose this one.
        let allow = args.allow || old.is_some() && sysctl::is_allowed(name)?;
        // Linux (6.18 and before) refuses what would be wrong here, but never lets go of it again.
        if args.default && !allow && !sysctl::is_first_network() {
            bail!(
                "in this network namespace, which is not the first one, --default takes --allow too: nothing was loaded"
            );
        }
        object.register_as(name, allow)?;
        // Of types that cannot be read libbpf tells more.
        let kernel = std::fs::read(KERNEL_TYPES).ok().and_then(|types| Btf::read(types).ok());
        if let Some(kernel) = &kernel {
            object.fit(kernel)?;
        }
        let can_link = kernel.is_some_and(|kernel| registration::has_links(&kernel));
        let linked =
            can_link && old.map_or_else(registration::can_pin, |old| old.link.is_some() || registration::can_pin());
        // Sums go on, whatever version adds to them.
        let totals = old.and_then(|old| old.totals.as_ref());
        let loaded = Loaded::load_with(&object, Part::Control { linked }, totals)?;
        let (is_default, before) = before(name, old.into_iter().chain(stale))?;
        let until = args.trial.map(in_this_time).transpose()?.unwrap_or(0);
        self.write(&loaded, &before, until)?;
        let registration = Registration::new(name, &loaded, linked, old)
            .with_context(|| format!("the kernel did not register {name}"))?;
        let finish = || -> anyhow::Result<()> {
            if let Some(got) = given_to(name).filter(|got| got != name) {
                bail!(
                    "a connection that asked for {name} got {got}: this kernel gives a socket no room for what PCC knows of \
                     it, up to {STATE} bytes; `pcc kernel doctor` says whether a setting is why"
                );
            }
            if let Some(time) = args.trial {
                trial::attend(name, registration.map.id, time)?;
            }
            if args.default || is_default { sysctl::set_default(name) } else { Ok(()) }
        };
        if let Err(error) = finish() {
            registration.undo().with_context(|| format!("{error:#}"))?;
            return Err(error.context("nothing was changed"));
        }
        old.into_iter().chain(stale).try_for_each(|variant| variant.retire(name))?;
        rule::Rule::all()?.iter().filter(|rule| rule.name == *name).try_for_each(|rule| rule.ends(until))?;
        self.tell(old.is_some(), is_default, &before)
    }

    fn write(&self, loaded: &Loaded, before: &str, until: u64) -> anyhow::Result<()> {
        let maps = [".data", ".bss"].map(|map| loaded.map_fd(map).and_then(|fd| Ok(bpf::Map::of(fd)?)));
        let variables = Variables::of(maps.into_iter().collect::<anyhow::Result<_>>()?)?;
        variables.write("object_digest", &self.digest.to_ne_bytes())?;
        variables.strive_for(&self.aim.program.bytes())?;
        variables.write_text::<UTILITY_TEXT>("utility_text", &self.aim.text)?;
        variables.write_text::<16>("trial.before", before)?;
        variables.write("trial.until", &until.to_ne_bytes())?;
        set_limit(&variables, self.args.limit)?;
        set_law(&variables, &self.args.law)
    }

    fn tell(&self, replaces: bool, was_default: bool, before: &str) -> anyhow::Result<()> {
        let (args, name, mut out) = (self.args, &self.args.name, io::stdout().lock());
        writeln!(out, "{name} is loaded; it strives for {}, by {}", self.aim.text, args.law)?;
        if replaces {
            writeln!(out, "new connections have it instead of the {name} of before, which running ones keep")?;
        }
        if args.default || was_default {
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
}

/// Whether a congestion control of that name is the default, and what was before, or is.
/// The variants of that name remember, what is loaded first.
fn before<'a>(name: &str, mut variants: impl Iterator<Item = &'a Variant>) -> anyhow::Result<(bool, String)> {
    let default = sysctl::default()?;
    if default != name {
        return Ok((false, default));
    }
    // A default whose congestion control was taken out is still one, by name.
    let remembered = variants.find_map(|variant| {
        // What was replaced gives new connections to its own name.
        variant.variables.text("trial.before").ok().filter(|before| !before.is_empty() && before != name)
    });
    Ok((true, remembered.map_or_else(|| Ok(sysctl::usual(&sysctl::available()?, name)), anyhow::Ok)?))
}

/// Unit: byte/s; 0 for no limit.
fn most(limit: Option<Rate>) -> u64 {
    limit.map_or(0, |rate| (rate.bytes_per_sec() as u64).max(1))
}

fn law(name: &str) -> u64 {
    u64::from(law_number(name).unwrap_or(0))
}

pub(super) fn set_limit(variables: &Variables, limit: Option<Rate>) -> anyhow::Result<()> {
    variables.write("limits.most", &most(limit).to_ne_bytes())
}

/// What a connection of this host with itself has that asks for this and sends something: another one's, where there is no room for
/// its state. `None` where there can be no such connection.
fn given_to(name: &str) -> Option<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.set_tcp_congestion(name.as_bytes()).ok()?;
    socket.connect_timeout(&listener.local_addr().ok()?.into(), Duration::from_secs(1)).ok()?;
    socket.send(&[0]).ok()?;
    let got = socket.tcp_congestion().ok()?;
    Some(String::from_utf8_lossy(&got).trim_end_matches('\0').to_owned())
}

/// Of connections that begin from then on.
pub(super) fn set_law(variables: &Variables, name: &str) -> anyhow::Result<()> {
    variables.write("law", &law(name).to_ne_bytes())
}

fn of_linux(name: &str) -> anyhow::Error {
    // Who asks for it must not get another one, and its module could not be loaded any more.
    anyhow!(
        "{name} is what Linux calls one of its own, which `modprobe tcp_{name}` loads: choose another --name, like pcc_{name}"
    )
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
    fn a_connection_tells_what_it_was_given() {
        // Every Linux has it; where there is no loopback there is nothing to tell.
        if TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok() {
            assert_eq!(given_to("reno").as_deref(), Some("reno"));
        }
        assert_eq!(given_to("no-such"), None);
    }
}
