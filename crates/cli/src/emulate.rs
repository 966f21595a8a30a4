//! `pcc emulate`: a UDP relay through an emulated network path, on any system, without privileges.

pub(crate) mod text;

use crate::exit::{Failure, misuse};
use crate::interrupt::Interrupt;
use crate::link_args::LinkArgs;
use anyhow::Context;
use clap::ArgGroup;
use core::time::Duration;
use indicatif::{ProgressBar, ProgressStyle};
use pcc_net::scope;
use pcc_netem::{Handle, Options, RelayError, relay};
use std::io::{self, Write};
use std::net::SocketAddr;
use tokio::time::Instant;

const EXAMPLES: &str = "\
Examples:
  pcc emulate --link satellite --listen 127.0.0.1:4433 --to 10.0.0.5:443
  pcc emulate --link rate=20Mbit,rtt=80ms,loss=1% --to localhost:4433
  pcc emulate --link lte,loss=0.5% --to localhost:4433 --time-limit 60s --json
  pcc emulate --list

Clients send to the listening address; each gets a path of its own to the server and back.
Sizes and rates count whole IP packets: payload and 28 bytes of headers (48 for IPv6).

Exit codes: 0 the time is over, or SIGTERM came, 1 error, 2 misused, 130 interrupted";

/// Arguments of `pcc emulate`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, group(ArgGroup::new("what").required(true).args(["link", "path", "list"])))]
pub(crate) struct Args {
    #[command(flatten)]
    link: LinkArgs,
    /// Where clients send to; a port alone is one of 127.0.0.1, and port 0 any free one, which is printed
    #[arg(short, long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// The server that packets are relayed to
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "list")]
    to: Option<String>,
    /// Seed of everything random: equal seeds and equal packets give an equal fate
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = crate::written::seed)]
    seed: u64,
    /// Stop after this time (like 90s or 10min); without it, Ctrl-C ends the relay
    #[arg(long, value_name = "TIME", value_parser = crate::written::duration)]
    time_limit: Option<Duration>,
    /// Clients at one time; packets of further ones are dropped
    #[arg(long, value_name = "NUMBER", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    sessions: u16,
    /// Forget a client that is silent for so long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::written::duration)]
    idle: Duration,
    /// One JSON object a line: where it listens, every second what was relayed, and the sum at the end
    #[arg(long)]
    json: bool,
    /// Show the presets and the parameters
    #[arg(long)]
    list: bool,
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let mut out = io::stdout();
    if args.list {
        return Ok(if args.json { text::list_json(&mut out) } else { text::list(&mut out) }?);
    }
    let (Some(path), Some(to)) = (args.link.given(), &args.to) else { anyhow::bail!(Failure::Usage) };
    let options = Options {
        path: path.clone(),
        seed: args.seed,
        listen: resolve("--listen", &on_this_computer(&args.listen)).await?,
        to: resolve("--to", to).await?,
        sessions: args.sessions.into(),
        idle: args.idle,
    };
    let interrupt = Interrupt::listen(1)?;
    let handle = relay(options.clone()).map_err(explain)?;
    if let Some(warning) = handle.warning() {
        writeln!(io::stderr(), "pcc: {warning}")?;
    }
    if args.json {
        writeln!(out, "{}", text::listening(&handle, &options))?;
    } else {
        writeln!(out, "Relaying {} to {} over {}", handle.addr(), options.to, options.path)?;
    }
    watch(&args, &handle, &interrupt, &mut out).await?;
    let report = handle.stop();
    if args.json {
        writeln!(out, "{}", text::end(&report))?;
    } else {
        text::table(&mut out, &report)?;
    }
    match interrupt.is_heard() {
        Some(how @ Failure::Interrupted) => Err(anyhow::anyhow!(how)),
        // A service manager ends what runs well.
        _ => Ok(()),
    }
}

/// Which argument helps.
fn explain(error: RelayError) -> anyhow::Error {
    match error {
        RelayError::Listen { address, source } => anyhow::Error::new(source)
            .context(format!("cannot listen at {address}: choose another with --listen, port 0 takes a free one")),
        other => other.into(),
    }
}

/// Where a port alone is meant: nobody else on the network should find the relay unasked.
fn on_this_computer(listen: &str) -> String {
    match listen.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => listen.to_owned(),
    }
}

/// Finds an address by name; errors name the argument.
async fn resolve(argument: &str, written: &str) -> anyhow::Result<SocketAddr> {
    let advice = "write HOST:PORT, like 127.0.0.1:4433 or [::1]:4433";
    if let Some(address) = scope::socket(written, 0).filter(|_| written.contains("]:")) {
        return Ok(address);
    }
    let mut found = tokio::net::lookup_host(written)
        .await
        .with_context(|| format!("{argument} {written} is no address that can be found; {advice}"))
        .context(Failure::Usage)?;
    let found = found.next().with_context(|| format!("{argument} {written} has no address; {advice}"))?;
    if argument == "--to" && found.port() == 0 {
        return Err(misuse!("{argument} {written} names no port; {advice}"));
    }
    if scope::lacks_interface(found) {
        let (problem, example) = (scope::Wrong::NoInterface, scope::EXAMPLE);
        anyhow::bail!(misuse!("{argument} {written} {problem}; write it like {example}"));
    }
    Ok(found)
}

/// Shows how it goes until somebody or the time limit ends it.
async fn watch(args: &Args, handle: &Handle, interrupt: &Interrupt, out: &mut impl Write) -> anyhow::Result<()> {
    // Hidden by itself where standard error is no terminal.
    let line = if args.json { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    line.set_style(ProgressStyle::with_template("{wide_msg}").context("the status line")?);
    let far = Duration::from_secs(30 * 365 * 86_400);
    let end = tokio::time::sleep(args.time_limit.unwrap_or(far).min(far));
    tokio::pin!(end);
    let mut every = tokio::time::interval_at(Instant::now() + Duration::from_secs(1), Duration::from_secs(1));
    let mut before = handle.report();
    loop {
        tokio::select! {
            () = &mut end => break,
            _ = interrupt.heard() => break,
            _ = every.tick() => {
                let report = handle.report();
                line.set_message(text::status(&before, &report));
                line.tick();
                if args.json {
                    writeln!(out, "{}", text::interval(&report))?;
                }
                before = report;
            }
        }
    }
    line.finish_and_clear();
    Ok(())
}

#[cfg(test)]
mod tests;
