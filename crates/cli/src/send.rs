//! `pcc send`: files for one other computer, by a code that is used once.

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::log::LogArgs;
use crate::say::say;
use anyhow::anyhow;
use core::time::Duration;
use pcc::units::Rate;
use pcc_net::escape_for_terminal;
use pcc_quic::Algorithm;
use pcc_reach::{Code, Event, Offer, Options, ReachError, Relay, Route};
use serde_json::{Value, json};
use std::io::{self, Write, stdout};
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  pcc send big.iso
      for a computer in the same network, or one that reaches this computer's UDP port
  pcc send --relay relay.example.org big.iso photos
      for a computer anywhere; `pcc relay` runs there
  pcc send --within 10m --limit 20Mbit big.iso

Without --relay no server is contacted. docs/reach.md says what each side learns of the other, and what a relay does.

Exit codes: 0 all was fetched, 1 error, 2 misused, 5 relay unreachable, 130 interrupted";

/// Send files to one other computer, which may be behind a NAT: prints a code for `pcc get`
///
/// The code is good for one download. It is a secret: whoever knows it can fetch the files. Everything between the two computers
/// is encrypted with keys that follow from it.
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Files and directories to send, 64 at most
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,

    /// The relay where the other computer finds this one, for example relay.example.org or 192.0.2.9:3340
    ///
    /// It brings the two together, and moves their packets while there is no direct path. It cannot read them. Its name becomes part
    /// of the code.
    #[arg(long, value_name = "RELAY", env = "PCC_RELAY")]
    relay: Option<Relay>,

    /// How long the code is good, for example 10m or 1h. A download that has begun goes on
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = crate::written::duration)]
    within: Duration,

    /// The highest rate, for example 100Mbit (or 100M) or 12.5MB
    #[arg(long, value_name = "RATE")]
    limit: Option<Rate>,

    /// Print one JSON object a line: the code, then what happens
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    log: LogArgs,
}

/// Runs it until everything was fetched.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    args.log.start();
    let interrupt = Interrupt::listen(1)?;
    let options = Options { paths: args.paths.clone(), relay: args.relay.clone(), algorithm: algorithm(args.limit) };
    let (offer, happenings) = Offer::open(options).await.map_err(explained)?;
    args.announce(offer.code(), offer.code_with_addresses().filter(|_| args.relay.is_none()).as_ref())?;
    tokio::select! {
        done = offer.serve(happenings, args.within, |event| args.tell(event)) => done.map_err(explained)?,
        how = interrupt.heard() => return Err(anyhow!("nobody can use the code any more").context(how)),
    }
    if args.json {
        print(&json!({"event": "fetched"}));
    } else if !args.log.quiet {
        say(format_args!("pcc: everything was fetched; the code is used"));
    }
    Ok(())
}

/// PCC, up to this rate.
pub(crate) fn algorithm(limit: Option<Rate>) -> Algorithm {
    Algorithm::Pcc(pcc::Config { max_rate: limit, ..pcc::Config::default() }.into())
}

/// With the exit code that it has.
pub(crate) fn explained(error: ReachError) -> anyhow::Error {
    let is_unreachable = matches!(error, ReachError::NoAnswer { .. } | ReachError::NoRelay { .. });
    let error = anyhow::Error::new(error);
    if is_unreachable { error.context(Failure::Unreachable) } else { error }
}

impl Args {
    fn announce(&self, code: &Code, by_address: Option<&Code>) -> io::Result<()> {
        let mut out = stdout().lock();
        let written = humantime::format_duration(self.within);
        if self.json {
            let by_address = by_address.map(Code::to_string);
            let line = json!({"event": "code", "code": code.to_string(), "by_address": by_address});
            writeln!(out, "{line}")?;
            return out.flush();
        }
        let names: Vec<_> = self.paths.iter().map(|path| escape_for_terminal(&path.to_string_lossy())).collect();
        writeln!(out, "Sending {}. On the other computer:\n  pcc get {code}", names.join(", "))?;
        if let Some(by_address) = by_address {
            writeln!(out, "in this network, or where multicast does not get through\n  pcc get {by_address}")?;
        }
        writeln!(out, "The code is good for one download, within {written}.")?;
        out.flush()
    }

    fn tell(&self, event: &Event) {
        if self.json {
            print(&object(event));
        } else if !self.log.quiet {
            say(format_args!("pcc: {}", words(event)));
        }
    }
}

fn words(event: &Event) -> String {
    match event {
        Event::Connected { name } => format!("{} is being fetched", escape_for_terminal(name)),
        Event::Route(route) => route.to_string(),
        Event::Lost { reason } => format!("lost the other computer ({reason}); it may come again"),
        Event::Stranger { left } => {
            format!("somebody connected without knowing the code; it is void after {} more", left + 1)
        }
    }
}

fn object(event: &Event) -> Value {
    match event {
        Event::Connected { name } => json!({"event": "connected", "name": name}),
        Event::Route(Route::Direct(address)) => json!({"event": "route", "direct": address}),
        Event::Route(Route::Relay(relay)) => json!({"event": "route", "relay": relay}),
        Event::Lost { reason } => json!({"event": "lost", "reason": reason}),
        Event::Stranger { left } => json!({"event": "stranger", "left": left}),
    }
}

/// A reader that has gone does not end the transfer.
fn print(line: &Value) {
    let _ = writeln!(stdout(), "{line}");
}
