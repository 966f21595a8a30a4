//! Transfers with a computer that ssh reaches, `user@host:path`: the options of the near side, the start of the far one, and what
//! an error means to whoever wrote the command.

use crate::command_line::quote;
use crate::exit::{Failure, misuse};
use crate::interrupt::Interrupt;
use crate::sender::SenderArgs;
use crate::written_url::WrittenUrl;
use anyhow::anyhow;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use core::time::Duration;
use pcc_files::serve::Transport;
use pcc_net::paths::Paths;
use pcc_net::ports::Ports;
use pcc_net::url::Url;
use pcc_remote::{FarError, Options, ReachError, Reached, Remote, Route, Ssh, Transfer, Wish};
use std::ffi::OsStr;
use std::sync::Arc;

/// Where the other end is `user@host:path`.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Over ssh")]
pub(crate) struct RemoteArgs {
    /// The command that reaches the other computer, with its options, for example 'ssh -p 2222'
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    ssh: Ssh,

    /// What `pcc` is called on the other computer; a shell there takes it
    #[arg(long, value_name = "COMMAND", default_value = "pcc")]
    remote_pcc: String,

    /// UDP ports of the other computer; the transfer takes a free one, which its firewall must let in
    ///
    /// The default is mosh's range, which is open wherever mosh works.
    #[arg(long, value_name = "PORTS", default_value_t)]
    port_range: Ports,

    /// Move the data through ssh's own connection, where a firewall blocks UDP; no faster than ssh
    #[arg(long)]
    over_ssh: bool,
}

/// How the far side is started: [`serve_once`] is what it does.
const FAR_SIDE: &str = "serve --once-over-ssh";

impl RemoteArgs {
    /// Has ssh start the far side.
    pub(crate) async fn reach(&self, remote: &Remote, wish: Wish, patience: Duration) -> anyhow::Result<Reached> {
        let route = Route {
            ssh: self.ssh.clone(),
            program: self.remote_pcc.clone(),
            arguments: FAR_SIDE.to_owned(),
            ports: self.port_range,
            through_ssh: self.over_ssh,
            patience,
        };
        pcc_remote::reach(&route, remote, wish).await.map_err(|error| self.explained(error, remote))
    }

    /// With the options that help.
    fn explained(&self, error: ReachError, remote: &Remote) -> anyhow::Error {
        let text = error.to_string();
        match error {
            ReachError::NoSsh { source, .. } => anyhow::Error::new(source).context(format!("{text} with --ssh")),
            ReachError::NoProgram { .. } => anyhow!(
                "{text}: install it there, for example with\n  {}\nand add --remote-pcc .local/bin/pcc, or name the place where \
                 it is",
                self.installation(remote)
            ),
            ReachError::NotExecutable { .. } => anyhow!("{text} with --remote-pcc"),
            ReachError::Ended { .. } => anyhow!("{text} --remote-pcc names another"),
            ReachError::NotReached { .. } => anyhow!(text).context(Failure::Unreachable),
            ReachError::Refused { is_misuse: true, .. } => misuse!(text),
            ReachError::System(error) => error.into(),
            other => other.into(),
        }
    }

    /// A command that installs this program for one user over there, on a computer of the same kind.
    fn installation(&self, remote: &Remote) -> String {
        let own = crate::program::path().map_or_else(|_| "pcc".to_owned(), |path| path.display().to_string());
        let at = remote.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let to = quote(&format!("{at}{}", remote.host)).replace("'", "");
        let install = "mkdir -p .local/bin && cat > .local/bin/pcc && chmod +x .local/bin/pcc";
        format!("{} {to} '{install}' < {}", self.ssh, quote(&own))
    }
}

/// Ends the far side, and says what an error of the transfer means here.
pub(crate) async fn end<T>(reached: Reached, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
    let outcome = outcome.map_err(|error| match error.downcast_ref().and_then(|error| reached.blocked(error)) {
        Some(blocked) => {
            error.context(format!("{blocked}, name ports that are open with --port-range, or add --over-ssh"))
        }
        None => error,
    });
    reached.end().await;
    outcome
}

/// The far side: serves one transfer to whoever started it through ssh.
pub(crate) async fn serve_once(sender: &SenderArgs) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen(1)?;
    let (paths, algorithm, sender) = (sender.paths(), sender.algorithm(None)?, sender.clone());
    let transport = move |known: &Paths| -> Transport {
        let (sender, algorithm, known) = (sender.clone(), algorithm.clone(), known.clone());
        Arc::new(move |address, windows| sender.transport_of(&known.resume(&algorithm, address.ip()), windows))
    };
    let options = Options { paths, transport: Box::new(transport), advice };
    let transfer = Transfer::begin(options).await.map_err(told)?;
    tokio::select! {
        () = transfer.serve() => Ok(()),
        how = interrupt.heard() => Err(anyhow!("the transfer was cut off").context(how)),
    }
}

/// The option of the near side that helps.
const fn advice(error: &FarError) -> &'static str {
    if matches!(error, FarError::PortsTaken(_)) { ": name others with --port-range" } else { "" }
}

fn told(error: FarError) -> anyhow::Error {
    match error {
        FarError::Start(error) => error.into(),
        FarError::System(error) => error.into(),
        FarError::PortsTaken(_) => anyhow!("{error}{}", advice(&error)),
        error if error.failure() == pcc_files::Failure::Usage => anyhow::Error::new(error).context(Failure::Usage),
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
}

/// Reads a URL or `user@host:path` of the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenPlace;

impl TypedValueParser for WrittenPlace {
    type Value = Place;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Place, clap::Error> {
        let written = value.to_str().unwrap_or_default();
        if written.is_empty() || written.contains("://") {
            return WrittenUrl.parse_ref(command, arg, value).map(Place::Url);
        }
        Remote::parse(written).map(Place::Remote).map_err(|problem| {
            // What is in front of an @ may be a password, by mistake.
            let told = written.rsplit_once('@').map_or(written.to_owned(), |(_, rest)| format!("…@{rest}"));
            let problem = format!(
                "`{told}` {problem}; write it like user@host:path, or like https://host:4433/path#sha256=… (as `pcc \
                 serve` prints it)\n"
            );
            clap::Error::raw(ErrorKind::ValueValidation, problem).with_cmd(command)
        })
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
