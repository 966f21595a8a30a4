//! `pcc record`: what a real path is, as a text that every emulator here reads.
//!
//! | file | what it answers |
//! |---|---|
//! | `link` | the path as text, and its traces |
//! | `text` | how it is told |

mod link;
mod text;

use crate::exit::{Failure, misuse};
use crate::interrupt::Interrupt;
use crate::log::LogArgs;
use crate::perf;
use crate::say::say;
use anyhow::{Context, anyhow};
use core::time::Duration;
use pcc_net::dial::Family;
use pcc_net::tls::{Fingerprint, Trust};
use pcc_net::url::Peer;
use pcc_perf::TestError;
use pcc_perf::record::client::{Recorder, Step};
use pcc_perf::record::course::Purpose;
use std::io::Write;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  pcc record host --fingerprint sha256=... -o home.path
      measure the path to host, where `pcc perf -s` runs
  pcc shell @home.path -- ...
      replay it under any program
  pcc-lab sim @home.path --flows 'pcc cubic'
      simulate on it
  pcc record host --insecure -t 60 --json

The file holds parameters of a path as `pcc emulate --list` shows them, and @FILE stands for it wherever
a path is asked for. docs/record.md says how each figure is found, and how far off it may be.

Exit codes: 0 done, 1 error, or a limit of the server was met, 2 misused, 5 server unreachable,
130 interrupted; a recording that was cut short is written if there is any";

/// Measure a path, and write it down for emulator and simulator
///
/// Sends trains of packets both ways: slow ones, which find base RTT, jitter, reordering and random loss; and some that are
/// faster than the path, which find its rate and its buffer. For nearly half of the time the path is full, and others on it will notice.
/// The other end is `pcc perf -s`.
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The server (a name or an address)
    #[arg(value_name = "HOST")]
    host: String,

    /// The server's UDP port
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 4433, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,

    /// Write the path into this file, and its traces beside it
    #[arg(short, long, value_name = "FILE", value_parser = output)]
    output: Option<PathBuf>,

    /// Seconds for which both directions together are measured, from 4 to 200; the search for the rate, and waiting for what is
    /// on its way, add some 8 to 30
    #[arg(short = 't', long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    time: Duration,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// Use IPv4 only
    #[arg(short = '4', long = "version4", conflicts_with = "ipv6")]
    ipv4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long = "version6")]
    ipv6: bool,

    /// The fingerprint of the server's certificate, as `pcc perf -s` prints it; without it, an authority must vouch for it
    #[arg(long, value_name = "sha256=HEX")]
    fingerprint: Option<Fingerprint>,

    /// Certificate authorities to trust, in PEM form
    #[arg(long, value_name = "FILE", conflicts_with = "fingerprint")]
    ca: Option<PathBuf>,

    /// Accept any certificate: the figures may then be anybody's
    #[arg(long, conflicts_with_all = ["fingerprint", "ca"])]
    insecure: bool,

    #[command(flatten)]
    log: LogArgs,
}

/// A file's name that a path as text can hold.
fn output(written: &str) -> Result<PathBuf, String> {
    if written.contains([',', '#', '\n']) {
        return Err("a path as text ends at a comma, a `#` or a line's end; choose another name".to_owned());
    }
    let file = PathBuf::from(written);
    if file.file_stem().is_none() || written.ends_with('/') { Err("is no name of a file".to_owned()) } else { Ok(file) }
}

fn seconds(written: &str) -> Result<Duration, String> {
    let seconds = written.parse::<f64>().ok().filter(|seconds| (4.0..=200.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "write seconds, from 4 to 200".to_owned())
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    args.log.start();
    let peer = Peer::parse(&args.host, args.port).context(Failure::Usage)?;
    if let Some(folder) =
        args.output.as_deref().and_then(|file| file.parent()).filter(|folder| !folder.as_os_str().is_empty())
        && !folder.is_dir()
    {
        return Err(misuse!("-o: there is no directory {}; create it first", folder.display()));
    }
    let interrupt = Interrupt::listen(1)?;
    let recorder = Recorder {
        peer: peer.clone(),
        trust: match (args.fingerprint, &args.ca) {
            (Some(fingerprint), _) => Trust::Pinned(fingerprint),
            (_, Some(file)) => Trust::Authorities(file.clone()),
            _ if args.insecure => Trust::Anyone,
            _ => Trust::System,
        },
        family: match (args.ipv4, args.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        },
        time: args.time,
    };
    let is_quiet = args.log.quiet || args.json;
    let is_verbose = args.log.verbose > 0;
    let mut tell = |step: Step| {
        if !is_quiet && (is_verbose || step.purpose != Purpose::Search) {
            say(text::step(step));
        }
    };
    let stop = async { interrupt.heard().await.to_string() };
    let recorded = recorder.run(stop, &mut tell).await.map_err(|error| match (error, interrupt.is_heard()) {
        (TestError::Stopped(_), Some(how)) => anyhow!(how),
        (error, _) => perf::explained(error),
    })?;
    let found = link::Found::of(&recorded, args.output.as_deref());
    if let Some(file) = &args.output {
        found.write(file, &text::heading(&peer.to_string(), args.time, &recorded))?;
    }
    let told = if args.json {
        format!("{}\n", text::document(&peer.to_string(), &recorded, &found, args.output.as_deref()))
    } else {
        text::page(&recorded, &found, args.output.as_deref())
    };
    std::io::stdout().lock().write_all(told.as_bytes())?;
    match (&recorded.cut_short, interrupt.is_heard()) {
        (None, _) => Ok(()),
        (Some(_), Some(how)) => Err(anyhow!("the recording was cut short").context(how)),
        (Some(reason), None) => Err(anyhow!("the recording was cut short: {reason}")),
    }
}
