//! `pcc put host:a host:b`: one other computer uploads to another one. This side starts both by ssh, and tells what the first one tells;
//! the data goes from the one to the other.

use crate::command_line::quote;
use crate::display::Display;
use crate::exit::{AlreadyTold, Failure, misuse};
use crate::far_terminal::{self, FarTerminal};
use crate::put::{self, Args, Server};
use crate::remote::Place;
use crate::session::{self, Asker, Over, Reach};
use crate::{Cli, Command};
use anyhow::{Context as _, anyhow};
use clap::FromArgMatches as _;
use indicatif::TermLike as _;
use pcc_files::Watch as _;
use pcc_net::escape_for_terminal;
use pcc_net::url::Url;
use pcc_remote::{Errand, Order, Remote};
use std::path::Path;

/// Has `from` upload to the destination.
///
/// Errors: an option is about this computer; either of the two is not reached; the upload failed.
pub(crate) async fn send(args: &Args, from: &Remote, display: &Display) -> anyhow::Result<()> {
    let options = args.passed.words(&written(from))?;
    if Path::new(&written(from)).exists() {
        display
            .note(&format!("{0} is on another computer; ./{0} is the file here", escape_for_terminal(&written(from))));
    }
    let order = |url: &Url, written, token| Order {
        from: from.path.clone(),
        options,
        url: Url { alias: None, ..url.clone() }.to_string(),
        written,
        token,
        columns: far_terminal::columns(),
    };
    match &args.to {
        Place::Url(url) => deliver(args, from, order(url, None, args.token()?)).await,
        Place::Code(_) => Err(put::no_code()),
        Place::Remote(place) => {
            let mut reached = args.reach(place).await?;
            let token = reached.token.take().unwrap_or_default();
            let outcome = deliver(args, from, order(&reached.url, Some(reached.url.short()), token)).await;
            reached.end().await;
            outcome
        }
    }
}

/// Starts the upload, and waits for its end.
async fn deliver(args: &Args, from: &Remote, order: Order) -> anyhow::Result<()> {
    let mut sent = args.remote.send(from, order, args.session.patience()).await?;
    let interrupt = session::interrupt()?;
    let outcome = tokio::select! {
        code = sent.ended() => code.map_err(anyhow::Error::from).and_then(|code| result(args, from, code)),
        how = interrupt.heard() => Err(anyhow!("run the command again to go on where it stopped").context(how)),
    };
    sent.end().await;
    // An ssh that ended with Ctrl-C left the bar as it was.
    if outcome.is_err()
        && let Some(columns) = far_terminal::columns()
    {
        let _ = FarTerminal { columns }.clear_line();
    }
    outcome
}

/// The meaning of the exit code of an upload that told of itself.
fn result(args: &Args, from: &Remote, code: Option<i32>) -> anyhow::Result<()> {
    let host = escape_for_terminal(&from.host);
    match code {
        Some(0) => Ok(()),
        Some(code) => match Failure::of_code(code) {
            Some(Failure::Unreachable) => {
                crate::say::say(format_args!("pcc: {}", unreached(args, from)));
                Err(anyhow::Error::new(AlreadyTold).context(Failure::Unreachable))
            }
            Some(failure) => Err(anyhow::Error::new(AlreadyTold).context(failure)),
            None => Err(anyhow!(
                "`pcc` on {host}, or ssh to it, ended with exit code {code}: run the command again to go on"
            )
            .context(Failure::Unreachable)),
        },
        None => Err(anyhow!("ssh to {host} was ended: run the command again to go on").context(Failure::Unreachable)),
    }
}

/// Advice where the two do not see each other.
fn unreached(args: &Args, from: &Remote) -> String {
    let (source, there) = (escape_for_terminal(&from.host), args.to.written());
    let (fetch, to) = (quote(&written(from)), quote(&there));
    let named = match &args.to {
        Place::Remote(to) => {
            format!("let UDP {} from {source} in at {}", args.remote.ports(), escape_for_terminal(&to.host))
        }
        _ => format!("let UDP from {source} in there"),
    };
    format!(
        "{source} did not reach {}, or lost it, as it says above. If it knows no such host, write an address. If UDP is blocked, {named}. \
         The way over this computer is `pcc get {fetch}`, and then `pcc put` it to {to}, or a pipe by `pcc ssh`",
        escape_for_terminal(&there)
    )
}

fn written(place: &Remote) -> String {
    Place::Remote(place.clone()).written()
}

/// Uploads, as another computer asked for it. A client's connection and the application share one thread.
pub(crate) async fn run_on_one_thread(errand: Errand) -> anyhow::Result<()> {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.context("could not start the I/O threads")?.block_on(run(errand))
    };
    tokio::task::spawn_blocking(run).await?
}

async fn run(errand: Errand) -> anyhow::Result<()> {
    let mut args = args_of(&errand.options)?;
    let terminal = errand.columns.map(|columns| FarTerminal { columns });
    args.session.asker = Asker { left: Some(Errand::left()?), terminal };
    let reach = Reach { over: Over::Udp, by_ssh: errand.same_user };
    let server = Server { url: errand.url, token: errand.token, reach };
    put::run_for_another(args, &errand.sources, &server).await
}

/// Reads the options, which are those of another version if this one does not know them.
fn args_of(options: &[String]) -> anyhow::Result<Args> {
    let words = ["pcc", "put"].into_iter().chain(options.iter().map(String::as_str));
    let words = words.chain(["--", "source", "https://destination/"]);
    let parsed = crate::command().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed.map(|cli| cli.command) {
        Ok(Command::Put(args)) => Ok(*args),
        Ok(_) => Err(misuse!("these are no options of `pcc put`")),
        Err(error) => Err(misuse!("install one version of pcc on all three computers: {}", error.render())),
    }
}
