//! The common ground of `pcc get` and `pcc put`: their options, how they reach the server, and how they end.

use crate::advice;
use crate::bwlimit::BwLimit;
use crate::display::{Display, Style};
use crate::exit::{AlreadyTold, Failure, failure_of, misuse};
use crate::far_terminal::FarTerminal;
use crate::habits::Habits;
use crate::interrupt::Interrupt;
use crate::keep::KeepArgs;
use crate::log::LogArgs;
use crate::remote::Place;
use crate::sender::SenderArgs;
use crate::via::ViaArgs;
use anyhow::{Context as _, anyhow};
use core::time::Duration;
use pcc::units::Rate;
use pcc_files::{Source, Way, dialer, windows_within};
use pcc_net::paths::Paths;
use pcc_net::tls::Trust;
use pcc_net::url::{Peer, Url};
use pcc_remote::Left;
use serde_json::json;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The transport of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Udp,
    /// ssh's connection.
    Ssh,
}

/// How the server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) over: Over,
    /// Whether ssh started it, so that both sides act for one user.
    pub(crate) by_ssh: bool,
}

/// As good as for ever, and still a time that a clock can show.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Options of every transfer.
#[derive(clap::Args, Debug)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    keep: KeepArgs,

    /// Time without any progress after which to give up, for example 90s, 10m or 1h
    ///
    /// This counts after the server was reached once: a wrong address is reported at once.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = patience)]
    give_up: Duration,

    /// Trust the certificate authorities in this PEM file; a URL that names the certificate needs none
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    #[command(flatten)]
    via: ViaArgs,

    /// Write one JSON object a line to standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    _always: AlwaysOn,

    #[command(flatten)]
    habits: Habits,

    #[command(flatten)]
    sender: SenderArgs,

    /// The same as --limit in rsync's units: a number is KiB a second, 1.5m are MiB a second
    #[arg(long, value_name = "RATE", conflicts_with = "limit", help_heading = "Sending", hide_short_help = true)]
    bwlimit: Option<BwLimit>,

    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// The side that wants it, if that is not this one.
    #[arg(skip)]
    pub(crate) asker: Asker,
}

/// The other side of ssh, where that wants the transfer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asker {
    pub(crate) left: Option<Left>,
    /// Where its user looks on.
    pub(crate) terminal: Option<FarTerminal>,
}

impl Asker {
    /// Resolves when it does not want it any more.
    async fn gone(&self) {
        match &self.left {
            Some(left) => left.heard().await,
            None => core::future::pending().await,
        }
    }
}

/// Options that other tools need for what every transfer does here. Hands type them, so they are no mistake.
#[derive(clap::Args, Debug)]
struct AlwaysOn {
    /// Always on: resume an interrupted transfer
    #[arg(short = 'c', long = "continue", hide_short_help = true)]
    _continue: bool,

    /// Always on: move a directory with everything in it
    #[arg(short = 'r', long = "recursive", hide_short_help = true)]
    _recursive: bool,

    /// Always on: keep what has arrived, and show the progress
    #[arg(short = 'P', hide_short_help = true)]
    _partial_and_progress: bool,

    /// Always on: show the progress
    #[arg(long = "progress", hide_short_help = true)]
    _progress: bool,

    /// Always on: keep what has arrived of an interrupted transfer
    #[arg(long = "partial", hide_short_help = true)]
    _partial: bool,

    /// Always on: compare files by their content
    #[arg(long = "checksum", alias = "ignore-times", short_alias = 'I', hide_short_help = true)]
    _checksum: bool,

    /// Always on: sizes that people can read
    #[arg(long = "human-readable", hide_short_help = true)]
    _human_readable: bool,
}

impl SessionArgs {
    /// Errors: an option was asked for that other tools have.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.via.check()?;
        self.habits.answer().or_else(|| self.keep.answer()).map_or(Ok(()), |answer| Err(misuse!(answer)))
    }

    /// Errors: extended attributes are to be kept, and no ssh is in between; or interfaces are named, and the way there has none.
    pub(crate) fn suits(&self, place: &Place, reach: Reach) -> anyhow::Result<()> {
        if self.keep.needs_ssh() && !reach.by_ssh {
            return Err(misuse!(
                "-X and -A are for user@host:path, where both sides act for one user: leave them out, or send `tar --xattrs --acls` \
                 through a pipe"
            ));
        }
        match (place, reach.over) {
            _ if !self.via.is_given() => Ok(()),
            (Place::Code(_), _) => Err(misuse!(
                "--via is for URLs and user@host:path: a code finds its own ways between the two computers"
            )),
            (_, Over::Ssh) => {
                Err(misuse!("--via is for UDP, and --over-ssh goes by ssh's connection: leave out one of the two"))
            }
            (_, Over::Udp) => Ok(()),
        }
    }

    /// The same, with owners kept if that was asked for by another letter.
    pub(crate) fn keeping_owners(mut self, owner: bool) -> Self {
        self.keep.owner |= owner;
        self
    }

    /// Tells what happens, in the way that was asked for.
    fn display(&self) -> Arc<Display> {
        let display = Display::new(Style { quiet: self.log.quiet, json: self.json });
        Arc::new(match self.asker.terminal {
            Some(terminal) => display.at(terminal),
            None => display,
        })
    }

    /// How long this side goes on trying.
    pub(crate) const fn patience(&self) -> Duration {
        self.give_up
    }

    pub(crate) fn limit(&self) -> Option<Rate> {
        self.bwlimit.map_or(self.sender.limit, |limit| limit.0)
    }

    /// The server of this URL, reached when something is asked of it.
    fn source(&self, url: &Url, reach: Reach, display: &Arc<Display>, paths: &Paths) -> anyhow::Result<Source> {
        let trust = Trust::of(url.pin, self.ca.as_deref());
        let mut sender = self.sender.clone();
        let limit = self.limit();
        sender.limit = self.via.part_of(limit);
        let windows = windows_within(limit);
        let algorithm = match reach.over {
            Over::Udp => sender.algorithm(None)?,
            Over::Ssh => sender.algorithm_within_ssh()?,
        };
        let dialer = self.via.dialer(dialer(trust, sender.transport(algorithm, windows, paths)));
        Ok(Source::new(dialer, url.peer.clone(), self.give_up, display.clone())
            .within(windows)
            .keeping(self.keep.keeps(reach.by_ssh))
            .limited_to(limit))
    }

    /// Does `work` with the server of this URL, unless the user interrupts it.
    pub(crate) async fn carry_out(
        &self,
        url: &Url,
        reach: Reach,
        display: &Arc<Display>,
        work: impl AsyncFnOnce(&Source) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let paths = match reach.over {
            Over::Udp => self.via.paths(&self.sender),
            Over::Ssh => Paths::none(),
        };
        let source = self.source(url, reach, display, &paths)?;
        let work = async |source: &Source| {
            work(source).await?;
            if reach.over == Over::Udp {
                display.tell_path(source).await;
            }
            Ok(())
        };
        let outcome = self.work(source, display, work).await;
        paths.save();
        outcome
    }

    /// The same with a server that is reached by other means than its address.
    pub(crate) async fn carry_out_over(
        &self,
        way: Arc<dyn Way>,
        peer: Peer,
        display: &Arc<Display>,
        work: impl AsyncFnOnce(&Source) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let source = Source::over(way, peer, self.give_up, display.clone())
            .within(windows_within(self.limit()))
            .keeping(self.keep.keeps(false))
            .limited_to(self.limit());
        self.work(source, display, work).await
    }

    /// Does it, unless the user interrupts it, and says goodbye.
    async fn work(
        &self,
        source: Source,
        display: &Arc<Display>,
        work: impl AsyncFnOnce(&Source) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let interrupt = interrupt()?;
        let outcome = tokio::select! {
            outcome = work(&source) => outcome,
            () = display.run(&source) => Ok(()), // never ends
            how = interrupt.heard() => {
                Err(anyhow!("{}", display.advice()).context(how))
            }
            () = self.asker.gone() => Err(anyhow::Error::new(AlreadyTold).context(Failure::Interrupted)),
        };
        source.close().await;
        outcome
    }
}

/// One for all transfers of this program.
static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();

/// Ctrl-C, heard from the first call on. Each listener would keep a thread and descriptors until the program ends.
///
/// Errors: the system refuses it.
pub(crate) fn interrupt() -> anyhow::Result<Interrupt> {
    if INTERRUPT.get().is_none() {
        // Two at once would both listen, and both end the program at the second Ctrl-C.
        let _ = INTERRUPT.set(Interrupt::listen(1)?);
    }
    INTERRUPT.get().cloned().context("nothing listens for Ctrl-C")
}

/// Does each of these, one after the other, also if one fails: the others are of use without it. An interruption ends all.
pub(crate) async fn each<T>(
    all: &[T],
    session: &SessionArgs,
    work: impl AsyncFn(&T, &Arc<Display>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    session.log.start();
    let mut failures = Vec::new();
    for one in all {
        let display = session.display();
        let outcome = match (work(one, &display).await, INTERRUPT.get().and_then(Interrupt::is_heard)) {
            // An ssh that was logging in ends at Ctrl-C in its own way.
            (Err(error), Some(how)) if !ends_all(failure_of(&error)) => {
                Err(anyhow!("run the command again to go on where it stopped").context(how))
            }
            (outcome, _) => outcome,
        };
        tell_end(&outcome, &display);
        match outcome.map_err(|error| (failure_of(&error), error)) {
            Ok(()) => {}
            Err((failure, error)) if all.len() == 1 || ends_all(failure) => return Err(error),
            Err((failure, error)) => {
                if error.downcast_ref::<AlreadyTold>().is_none() {
                    crate::say::say(format_args!("pcc: {}", advice::told(&error)));
                }
                failures.push(failure);
            }
        }
    }
    let Some(first) = failures.first() else { return Ok(()) };
    let is_same = failures.len() == all.len() && failures.iter().all(|failure| failure == first);
    let problem = anyhow!("{} of {} transfers failed", failures.len(), all.len());
    Err(problem.context(if is_same { *first } else { Failure::Partial }))
}

const fn ends_all(failure: Failure) -> bool {
    matches!(failure, Failure::Interrupted | Failure::Terminated | Failure::Unread)
}

/// Tells how it ended.
fn tell_end(outcome: &anyhow::Result<()>, display: &Display) {
    display.clear();
    if let Err(error) = outcome
        && error.downcast_ref::<AlreadyTold>().is_none()
    {
        let code = failure_of(error) as u8;
        // The reason may hold a server's words.
        let reason = pcc_net::escape_for_terminal(&advice::told(error));
        display.line(&json!({"event": "error", "reason": reason, "exit_code": code}));
    }
}

/// How long somebody wants to go on trying.
fn patience(written: &str) -> Result<Duration, String> {
    crate::written::duration(written).map(|time| time.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_ever_waits_as_long_as_the_clock_goes() {
        for written in ["18446744073709551615s", "500000000000years", "101years"] {
            let time = patience(written).unwrap();
            assert!(time == LONGEST && std::time::Instant::now().checked_add(time).is_some(), "{written}");
        }
        assert_eq!(patience("10m").unwrap(), Duration::from_secs(600));
        assert!(patience("18446744073709551616s").is_err());
    }
}
