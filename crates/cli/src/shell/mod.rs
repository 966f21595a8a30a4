//! `pcc shell`: any command behind an emulated path, in real time.
//!
//! ```text
//!   outside                      this program                  inside: a network namespace
//!   198.18.0.1 ── TUN device ── path up, path down ── TUN device ── 198.18.0.2, the command
//! ```
//!
//! Outside is the network that the command would have had. A user without rights there gets another one, within a user namespace,
//! with nothing in it but what `--outside` starts.

mod record;

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::link_args::LinkArgs;
use anyhow::Context;
use clap::ArgGroup;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use pcc_netem::{Cable, Ends, Outside, Place, start_inside};
use record::Record;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread;
use std::time::Duration;

/// Run any command behind an emulated network path, in real time
///
/// The command gets a network of its own, connected to yours by the path. As root, $PCC_SHELL_OUTSIDE reaches every
/// server that listens at all addresses of this computer. Without rights it reaches the command of --outside, and
/// nothing else. A shell in a shell adds its path to the first one's.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                  pcc shell --link lossy --outside 'iperf3 -s' -- sh -c 'sleep 1; iperf3 -c $PCC_SHELL_OUTSIDE'\n  \
                  sudo pcc shell --link satellite -- curl -o /dev/null http://198.18.0.1:8000/big.iso\n  \
                  pcc shell --link rate=20Mbit,rtt=40ms -- pcc shell --link rate=1Gbit,rtt=10ms,loss=1% -- bash\n  \
                  pcc emulate --list                     the presets and the parameters\n\n\
                  Exit codes: that of the command (128 and the signal's number if one ended it); 127 no such command, \
                  126 one that cannot be started, 1 no network to be had, 2 misused. docs/shell.md is the guide.",
          group(ArgGroup::new("what").required(true).args(["link", "path"])))]
pub(crate) struct Args {
    #[command(flatten)]
    link: LinkArgs,
    /// Seed of everything random: equal seeds and equal packets give an equal fate
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = crate::written::seed)]
    seed: u64,
    /// A command for the far end of the path, run by `sh -c`: it starts first, and ends with the command
    #[arg(long, value_name = "COMMAND")]
    outside: Option<String>,
    /// Write one JSON object a line to this file, each second and at the end: what the path carried and dropped, each
    /// way
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The command, and its arguments; without one, the shell that SHELL names
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How often it is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Where the far end is, for the command.
const OUTSIDE: &str = "PCC_SHELL_OUTSIDE";

/// Runs it, and answers as the command did. Blocking, and before there is any other thread.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(path) = args.link.given() else { anyhow::bail!(Failure::Usage) };
    path.links(args.seed).context(Failure::Usage)?;
    let record = args.json.as_deref().map(Record::at).transpose()?;
    let ends = Ends::make()?;
    // Ctrl-C goes to everybody at the terminal: the command decides what it means, and how it ends we tell.
    let interrupt = Interrupt::listen(u32::MAX)?;
    let cable = Cable::connect(ends.outside, ends.inside, path, args.seed)?;
    let (namespace, place) = (ends.namespace, ends.place);
    if ends.alone && args.outside.is_none() {
        say(
            "without rights in this network the path leads into an empty one: start something there with --outside COMMAND",
        );
    }
    // The far end of all paths, for a shell in a shell.
    let farthest = std::env::var(OUTSIDE).ok().filter(|_| !ends.alone);
    let outside = farthest.unwrap_or_else(|| place.outside().to_string());
    let server = args.outside.as_ref().map(|line| Outside::start(line).context("could not start what --outside names"));
    let _server = server.transpose()?;
    let usual = || std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    let (name, rest) = match args.command.split_first() {
        Some((name, rest)) => (name.clone(), rest),
        None => (usual(), &[][..]),
    };
    let mut command = Command::new(&name);
    command.args(rest).env(OUTSIDE, outside).env(Place::VARIABLE, place.to_string());
    let mut child = start_inside(command, namespace).map_err(|error| not_started(error, &name))?;
    attend(&mut child, &cable, record, &interrupt).map(code)
}

/// Waits for the command; passes a request to end on to it, which Ctrl-C at a terminal is not.
fn attend(
    child: &mut Child,
    cable: &Cable,
    mut record: Option<Record>,
    interrupt: &Interrupt,
) -> anyhow::Result<ExitStatus> {
    // A disk that is full is no reason to take the command's network away.
    let mut write = |event: &str, is_due: fn(&Record) -> bool| {
        let told = record.as_mut().filter(|record| is_due(record)).map(|record| record.write(event, &cable.counts()));
        if let Some(Err(error)) = told {
            say(&format!("{error:#}; the command goes on, without --json"));
            record = None;
        }
    };
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait().context("lost sight of the command")? {
            write("end", |_| true);
            return Ok(status);
        }
        if interrupt.is_terminated() && !told {
            told = true;
            let _ = nix::sys::signal::kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
        }
        write("interval", Record::is_due);
        thread::sleep(LOOK);
    }
}

/// Standard output is the command's.
fn say(line: &str) {
    crate::say::say(format_args!("pcc: {line}"));
}

/// With the exit code that shells have for it.
fn not_started(error: io::Error, name: &OsStr) -> anyhow::Error {
    let failure = match error.kind() {
        io::ErrorKind::NotFound => Failure::NoCommand,
        _ => Failure::NotExecutable,
    };
    anyhow::Error::new(error).context(failure).context(format!("could not start {}", name.display()))
}

/// As shells tell it.
fn code(status: ExitStatus) -> ExitCode {
    let number = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(u8::try_from(number.unwrap_or(1)).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_s_end_is_told_as_shells_do() {
        let end = |line: &str| format!("{:?}", code(Command::new("sh").args(["-c", line]).status().unwrap()));
        assert_eq!(end("exit 7"), format!("{:?}", ExitCode::from(7)));
        assert_eq!(end("kill -TERM $$"), format!("{:?}", ExitCode::from(143)));
    }
}
