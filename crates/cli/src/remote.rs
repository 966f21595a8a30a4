//! Transfers with a computer that ssh reaches, `user@host:path`: the options of the near side, the start of the far one, and what
//! an error means to whoever wrote the command.

use crate::command_line::quote;
use crate::errand;
use crate::exit::{AlreadyTold, Failure, misuse};
use crate::interrupt::Interrupt;
use crate::log::LogArgs;
use crate::sender::SenderArgs;
use crate::session::{Over, Reach};
use crate::written_url::WrittenUrl;
use anyhow::anyhow;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use core::time::Duration;
use pcc_files::get;
use pcc_files::serve::Transport;
use pcc_net::alias::CopyName;
use pcc_net::ports::Ports;
use pcc_net::url::Url;
use pcc_reach::{Code, CodeError};
use pcc_remote::{
    Begun, Carrier, FarError, NotRemote, Options, Order, ReachError, Reached, Remote, Route, Sent, Ssh, Wish,
};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the other end is `user@host:path`.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Over ssh")]
pub(crate) struct RemoteArgs {
    #[command(flatten)]
    far: FarArgs,

    /// Move the data through ssh's own connection, where a firewall blocks UDP; no faster than ssh
    ///
    /// TCP decides about the rate there, so that PCC does not, unless -C or --utility asks for it.
    #[arg(long)]
    over_ssh: bool,
}

/// How the far side is started.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Over ssh")]
pub(crate) struct FarArgs {
    /// The command that reaches the other computer, with its options, for example 'ssh -p 2222'
    #[arg(short = 'e', long, alias = "rsh", value_name = "COMMAND", default_value = "ssh")]
    pub(crate) ssh: Ssh,

    /// What `pcc` is called on the other computer; a shell there takes it [default: `pcc` in PATH, ~/.local/bin, ~/.cargo/bin or
    /// /usr/local/bin]
    #[arg(long, value_name = "COMMAND", env = "PCC_REMOTE")]
    remote_pcc: Option<String>,

    /// UDP ports of the other computer; the transfer takes a free one, which its firewall must let in
    ///
    /// The default is mosh's range, which is open wherever mosh works.
    #[arg(long, value_name = "PORTS", default_value_t)]
    pub(crate) port_range: Ports,
}

/// How the far side is started: [`serve_once`] is what it does.
const FAR_SIDE: &str = "serve --once-over-ssh";

impl RemoteArgs {
    /// Has ssh start the far side.
    pub(crate) async fn reach(&self, remote: &Remote, wish: Wish, patience: Duration) -> anyhow::Result<Reached> {
        self.far.reach(remote, wish, patience, if self.over_ssh { Over::Ssh } else { Over::Udp }).await
    }

    /// Has ssh start an upload there, to another computer.
    pub(crate) async fn send(&self, from: &Remote, order: Order, patience: Duration) -> anyhow::Result<Sent> {
        let route = self.far.route(patience, Over::Udp);
        pcc_remote::send(&route, from, order).await.map_err(|error| self.far.explained(error, from))
    }

    /// UDP ports of the other computer.
    pub(crate) const fn ports(&self) -> Ports {
        self.far.port_range
    }

    /// The transport to that place.
    pub(crate) fn over(&self, place: &Place) -> Reach {
        let by_ssh = matches!(place, Place::Remote(_));
        Reach { over: if self.over_ssh && by_ssh { Over::Ssh } else { Over::Udp }, by_ssh }
    }
}

impl FarArgs {
    /// Has ssh start the far side.
    pub(crate) async fn reach(
        &self,
        remote: &Remote,
        wish: Wish,
        patience: Duration,
        over: Over,
    ) -> anyhow::Result<Reached> {
        let route = self.route(patience, over);
        pcc_remote::reach(&route, remote, wish).await.map_err(|error| self.explained(error, remote))
    }

    fn route(&self, patience: Duration, over: Over) -> Route {
        Route {
            ssh: self.ssh.clone(),
            program: self.program(),
            arguments: FAR_SIDE.to_owned(),
            ports: self.port_range,
            through_ssh: over == Over::Ssh,
            patience,
        }
    }

    /// The user's name for `pcc` there; an empty variable is none.
    pub(crate) fn program(&self) -> Option<String> {
        self.remote_pcc.clone().filter(|program| !program.trim().is_empty())
    }

    /// With the options that help.
    fn explained(&self, error: ReachError, remote: &Remote) -> anyhow::Error {
        let text = error.to_string();
        let of_port = of_port(remote);
        match error {
            ReachError::NoSsh { source, .. } => anyhow::Error::new(source).context(format!("{text} with --ssh")),
            ReachError::NoProgram { .. } if self.program().is_some() => {
                anyhow!("{text}: --remote-pcc or PCC_REMOTE names it; without them pcc is looked for")
            }
            ReachError::NoProgram { .. } => anyhow!(
                "{text}, neither in PATH nor in ~/.local/bin, ~/.cargo/bin or /usr/local/bin: install it there, for example with\n  \
                 {}\nor name the place where it is with --remote-pcc or PCC_REMOTE",
                self.installation(remote)
            ),
            ReachError::NotExecutable { .. } => anyhow!("{text} with --remote-pcc"),
            ReachError::Ended { .. } => anyhow!("{text} --remote-pcc names another"),
            ReachError::NotReached { .. } => anyhow!("{text}{of_port}").context(Failure::Unreachable),
            ReachError::Refused { is_misuse: true, .. } => misuse!(text),
            ReachError::Refused { .. } => anyhow!("{text}{of_port}"),
            ReachError::System(error) => error.into(),
            other => other.into(),
        }
    }

    /// A command that installs this program for one user over there, on a computer of the same kind.
    fn installation(&self, remote: &Remote) -> String {
        let own = crate::command_line::program().map_or_else(|_| "pcc".to_owned(), |path| path.display().to_string());
        let at = remote.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let to = quote(&format!("{at}{}", remote.host)).replace("'", "");
        let install = "mkdir -p .local/bin && cat > .local/bin/pcc && chmod +x .local/bin/pcc";
        format!("{} {to} '{install}' < {}", self.ssh, quote(&own))
    }
}

/// Other commands take `host:4433` for a server's address.
fn of_port(remote: &Remote) -> String {
    let Ok(port) = remote.path.parse::<u16>() else { return String::new() };
    let place = format!("{}{port}", Remote { user: None, ..remote.clone() }.address());
    format!("; `{place}` is the file {port} on that computer, and a server's URL is https://{place}/")
}

/// Ends the far side, and says what an error of the transfer means here.
pub(crate) async fn end<T>(reached: Reached, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
    let remedy = "name ports that are open with --port-range, or add --over-ssh";
    let outcome = outcome.map_err(|error| blocked(&reached, error, remedy));
    reached.end().await;
    outcome
}

/// The error, as one of a firewall where ssh reaches the host and UDP does not, with a remedy beside opening it.
pub(crate) fn blocked(reached: &Reached, error: anyhow::Error, remedy: &str) -> anyhow::Error {
    match error.downcast_ref().and_then(|error| reached.blocked(error)) {
        Some(blocked) => error.context(format!("{blocked}, {remedy}")),
        None => error,
    }
}

/// The far side: does what the one wants who started it through ssh.
pub(crate) async fn serve_once(sender: &SenderArgs, log: LogArgs) -> anyhow::Result<()> {
    let (paths, algorithm, sender) = (sender.paths(), sender.algorithm(None)?, sender.clone());
    let within_ssh = sender.algorithm_within_ssh()?;
    let transport = move |carrier: &Carrier| -> Transport {
        let (sender, algorithm) = (sender.clone(), algorithm.clone());
        match carrier.clone() {
            Carrier::Udp(known) => Arc::new(move |address, windows| {
                sender.server_transport(&known.resume(&algorithm, address.ip()), windows)
            }),
            Carrier::Ssh => {
                let algorithm = within_ssh.clone();
                Arc::new(move |_, windows| sender.transport_of(&algorithm, windows))
            }
        }
    };
    let options = Options { paths, transport: Box::new(transport), advice };
    let transfer = match Begun::hear(options).await.map_err(told)? {
        Begun::Transfer(transfer) => transfer,
        Begun::Errand(errand) => return errand::run_on_one_thread(errand).await,
    };
    log.start();
    let interrupt = Interrupt::listen(1)?;
    tokio::select! {
        served = transfer.serve() => served.map_err(told),
        how = interrupt.heard() => Err(anyhow!("the transfer was cut off").context(how)),
    }
}

/// The option of the near side that helps.
const fn advice(error: &FarError) -> &'static str {
    if matches!(error, FarError::PortsTaken(_)) { ": name others with --port-range" } else { "" }
}

fn told(error: FarError) -> anyhow::Error {
    match error {
        // The near side says it.
        FarError::Told(error) => anyhow::Error::new(AlreadyTold).context(Failure::from(error.failure())),
        FarError::System(error) => error.into(),
        error => error.into(),
    }
}

/// The other end of a transfer.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A server that runs already.
    Url(Url),
    /// A path on a computer where ssh starts one.
    Remote(Remote),
    /// The files that `pcc send` offers somewhere.
    Code(Code),
}

impl Place {
    /// As it is written, without what only distracts.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Url(url) => url.short(),
            Self::Remote(remote) => format!("{}{}", remote.address(), remote.path),
            Self::Code(code) => format!("{}-…", code.short()),
        }
    }

    /// The user's name for it, unless that may be a pattern.
    pub(crate) fn name(&self) -> Option<String> {
        match self {
            Self::Url(url) => match get::name_of(url).ok()? {
                CopyName::Written(name) | CopyName::Offered(name) => Some(name),
            },
            Self::Remote(remote) if remote.pattern().is_some() => None,
            Self::Remote(remote) => remote.name().map(str::to_owned),
            Self::Code(_) => None,
        }
    }
}

/// Reads a URL, `user@host:path` or a code of the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenPlace;

impl TypedValueParser for WrittenPlace {
    type Value = Place;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Place, clap::Error> {
        let written = value.to_str().unwrap_or_default();
        let refused = |problem: String| clap::Error::raw(ErrorKind::ValueValidation, problem + "\n").with_cmd(command);
        if Code::is_meant(written) {
            return written.parse().map(Place::Code).map_err(|error: CodeError| refused(error.to_string()));
        }
        if written.is_empty() || written.contains("://") {
            return WrittenUrl.parse_ref(command, arg, value).map(Place::Url);
        }
        Remote::parse(written).map(Place::Remote).map_err(|problem| refused(no_place(written, problem)))
    }
}

fn no_place(written: &str, problem: NotRemote) -> String {
    // The text in front of an @ may be a password, by mistake.
    let told = written.rsplit_once('@').map_or(written.to_owned(), |(_, rest)| format!("…@{rest}"));
    format!(
        "`{told}` {problem}; write it like user@host:path, like https://host:4433/path#sha256=… (as `pcc serve` prints it), or \
         like kmfm-eb2v-fbhr-85jy (as `pcc send` does)"
    )
}

/// A word of a command whose last one may be a path of this computer.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    Place(Place),
    /// As scp and rsync take it.
    Local(PathBuf),
}

/// Reads one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenWord;

impl TypedValueParser for WrittenWord {
    type Value = Word;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Word, clap::Error> {
        let is_local = match value.to_str() {
            Some(written) => {
                let is_far = written.contains("://") || Code::is_meant(written);
                !written.is_empty() && !is_far && Remote::parse(written) == Err(NotRemote::Local)
            }
            None => true,
        };
        if is_local {
            Ok(Word::Local(value.into()))
        } else {
            WrittenPlace.parse_ref(command, arg, value).map(Word::Place)
        }
    }
}

/// The sources, and the destination that the last word or `-o` names.
///
/// Errors: there is no source, a path of this computer is among them, or there are two destinations.
pub(crate) fn sources_and_destination<'a>(
    words: &'a [Word],
    output: Option<&'a Path>,
) -> anyhow::Result<(Vec<Place>, Option<&'a Path>)> {
    let (last, first) = match words {
        [first @ .., Word::Local(last)] if !first.is_empty() => (Some(last.as_path()), first),
        all => (None, all),
    };
    let mut sources = Vec::new();
    for word in first {
        match word {
            Word::Place(place) => sources.push(place.clone()),
            Word::Local(path) => {
                let remedy = if words.len() > 1 { "; only the last word may be a path of this computer" } else { "" };
                return Err(misuse!("{}{remedy}", no_place(&path.to_string_lossy(), NotRemote::Local)));
            }
        }
    }
    match (last, output) {
        (Some(last), Some(output)) => {
            Err(misuse!("{} and -o {} are two destinations: leave out one", last.display(), output.display()))
        }
        (last, output) => Ok((sources, last.or(output))),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_password_in_front_of_the_host_is_not_repeated() {
        let cli = <crate::Cli as clap::Parser>::try_parse_from(["pcc", "get", "me:secret@host"]);
        // As scp takes it: the host `me`, and a path.
        assert!(cli.is_ok());
        let cli = <crate::Cli as clap::Parser>::try_parse_from(["pcc", "get", "secret@-h:x"]);
        let Err(error) = cli else { panic!("it is refused") };
        assert!(error.exit_code() == 2 && !error.to_string().contains("secret"), "{error}");
        assert!(error.to_string().contains("`…@-h:x` has a user name or a host that begins with a hyphen"), "{error}");
    }
}
