//! `pcc explain`: why a sender was slow, by its trace.
//!
//! | file | what it answers |
//! |---|---|
//! | `traces` | which files there are |
//! | `document` | the answer for programs |

mod document;
mod traces;

use crate::exit::misuse;
use crate::whole_file::replace;
use pcc_explain::{Explained, NoTrace};
use pcc_net::escape_for_terminal;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

const HELP: &str = "\
Examples:
  pcc explain traces/
      explain the trace of a directory that sent most, and list the others
  pcc explain slow.sqlog -o slow.html
  pcc explain slow.qlog --json

`--qlog DIR` of get, put, serve, tunnel and perf writes traces. Those of other QUIC stacks are read too.
docs/explain.md states the rule of each limit.

Exit codes: 0 done, 1 no trace could be read, 2 misused";

/// Tell why a sender was slow, second by second, from its qlog trace
///
/// Reads what a QUIC stack wrote of a connection, and says for how long each limit lasted. A limit is the application, the receiver's
/// window, the sender's computer, its congestion control, or the path: an outage, losses, a policer, a queue or a rate. The trace of the
/// end that sent the data tells most.
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// A trace in qlog, or a directory with traces that end in .sqlog or .qlog
    #[arg(value_name = "FILE|DIR")]
    trace: PathBuf,

    /// Write a page with pictures into this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print one JSON document for each trace
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let files = traces::of(&args.trace)?;
    let mut told = std::io::stdout().lock();
    let mut most: Option<(PathBuf, Explained)> = None;
    let mut others = Vec::new();
    for file in files {
        let explained = match read(&file) {
            Ok(explained) => explained,
            Err(error) => {
                others.push((file, error.to_string()));
                continue;
            }
        };
        if args.json {
            writeln!(told, "{}", document::document(&file, &explained))?;
        }
        let loses = match &most {
            Some((_, before)) if before.sent >= explained.sent => Some((file, explained)),
            _ => most.replace((file, explained)),
        };
        others.extend(loses.map(|(file, explained)| (file, pcc_explain::words::summary(&explained))));
    }
    let Some((file, explained)) = most else {
        let (file, error) = others.first().map_or((&args.trace, "is empty"), |(file, error)| (file, error));
        return Err(anyhow::anyhow!("{}: {error}", escape_for_terminal(&file.display().to_string())));
    };
    if let Some(page) = &args.output {
        replace(page, &pcc_explain::page::page(&name(&file), &explained))?;
    }
    if !args.json {
        write!(told, "{}", pcc_explain::words::answer(&name(&file), &explained))?;
        for (file, summary) in others {
            writeln!(told, "\n{}: {summary}", name(&file))?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<Explained, NoTrace> {
    let opened = File::open(file).map_err(NoTrace::Read)?;
    pcc_explain::explain(BufReader::with_capacity(1 << 17, opened))
}

/// As a terminal may show it.
fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    escape_for_terminal(&name.to_string_lossy())
}
