//! How this side has ssh start the far one, and what it means when that fails.

use super::command::Ssh;
use super::greeting::{self, Answer, FORM, Heard, Listening, Outcome, Request, Wish};
use super::place::Remote;
use crate::command_line::quote;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use core::time::Duration;
use pcc_net::channel::Channel;
use pcc_net::dial::DialError;
use pcc_net::percent::encode_segment;
use pcc_net::ports::Ports;
use pcc_net::shown;
use pcc_net::url::{Alias, Peer, Url};
use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::Arc;
use std::time::Instant;

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

/// A far side that waits for the transfer.
pub(crate) struct Reached {
    /// What the path is there.
    pub(crate) url: Url,
    /// For uploads.
    pub(crate) token: Option<String>,
    host: String,
    ports: Ports,
    over_ssh: bool,
    far: Far,
}

/// How long the far side may take to end.
const GOODBYE: Duration = Duration::from_secs(2);

/// Has ssh start the far side.
///
/// Errors: each with what to do about it. What ssh itself says stands on standard error.
pub(crate) async fn reach(
    args: &RemoteArgs,
    remote: &Remote,
    wish: Wish,
    patience: Duration,
) -> anyhow::Result<Reached> {
    let (ports, through_ssh) = (args.port_range, args.over_ssh);
    let request = Request { form: FORM, wish, ports, patience_s: patience.as_secs(), through_ssh };
    let (asked, to) = (args.clone(), remote.clone());
    let greeted = tokio::task::spawn_blocking(move || Far::start(&asked, &to, &request)).await?;
    let (far, listening) = greeted?;
    let peer = match &far.channel {
        Some(channel) => {
            let address = channel.address()?;
            Peer { host: address.ip().to_string(), port: address.port() }
        }
        None => Peer { host: host_of(args, remote, &listening).await?, port: listening.port },
    };
    let url = url(peer, remote, &listening)?;
    Ok(Reached { url, token: listening.token, host: remote.host.clone(), ports, over_ssh: through_ssh, far })
}

/// The host that ssh went to, as this computer can reach it. A name that only a jump host knows is replaced by the address at
/// which ssh arrived.
async fn host_of(args: &RemoteArgs, remote: &Remote, listening: &Listening) -> anyhow::Result<String> {
    let (ssh, to) = (args.ssh.clone(), remote.clone());
    let named = tokio::task::spawn_blocking(move || ssh.host_name(&to)).await?;
    let named = named.unwrap_or_else(|| remote.host.clone());
    let is_known = tokio::net::lookup_host((named.as_str(), listening.port)).await.is_ok();
    Ok(if is_known { named } else { listening.address.clone().unwrap_or(named) })
}

fn url(peer: Peer, remote: &Remote, listening: &Listening) -> anyhow::Result<Url> {
    let path = format!("/{}/{}", encode_segment(&listening.secret), encode_segment(&listening.file));
    let is_directory = listening.file.is_empty();
    let end = if is_directory && !remote.path.is_empty() && !remote.path.ends_with('/') { "/" } else { "" };
    let written = format!("{}{}{end}", remote.address(), remote.path);
    let alias = Alias { path: path.clone(), written, name: listening.name.clone() };
    let pin = Some(listening.fingerprint.parse().context("the other side named no fingerprint")?);
    Ok(Url { peer, path: path.parse().context("the other side named no path")?, pin, alias: Some(Arc::new(alias)) })
}

impl Reached {
    /// Ends the far side, and says what an error of the transfer means here.
    pub(crate) async fn end<T>(self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        let Self { host, ports, over_ssh, far, .. } = self;
        // A thread that failed has nothing to tell.
        let _ = tokio::task::spawn_blocking(move || far.end()).await;
        outcome.map_err(|error| {
            let is_silent = matches!(
                error.downcast_ref(),
                Some(DialError::NoAnswer { .. } | DialError::Refused { .. } | DialError::NoRoute { .. })
            );
            if over_ssh || !is_silent {
                return error;
            }
            let (host, firewall) = (shown(&host), ports.for_firewall());
            error.context(format!(
                "ssh reaches {host}, and UDP does not, so a firewall seems to block it: let UDP {ports} in there (`sudo ufw \
                 allow {firewall}/udp`), name ports that are open with --port-range, or add --over-ssh"
            ))
        })
    }
}

/// ssh, and what it runs on the other computer.
struct Far {
    ssh: Child,
    /// While this is open the far side goes on; with a channel, the thread that sends packets has it.
    input: Option<ChildStdin>,
    channel: Option<Channel>,
}

impl Far {
    /// Starts it and exchanges the greetings. Blocks.
    fn start(args: &RemoteArgs, remote: &Remote, request: &Request) -> anyhow::Result<(Self, Listening)> {
        let mut command = args.ssh.start(remote, &args.remote_pcc);
        let mut ssh = command.spawn().with_context(|| {
            format!("could not run `{}`: install it, or name another command with --ssh", args.ssh.program())
        })?;
        let (input, output) = (ssh.stdin.take(), ssh.stdout.take());
        let (mut input, output) = input.zip(output).context("ssh has no pipes")?;
        let mut output = BufReader::new(output);
        // An ssh that cannot reach the host takes nothing; how it ends says more.
        let said = greeting::say(request, &mut input);
        let heard = greeting::answer(&mut output)?;
        let answer = match heard {
            Heard::Answer(answer) => answer,
            Heard::OtherForm(version) => return Err(other_form(remote, &version)),
            Heard::Nothing(last) => {
                drop(input);
                let status = ssh.wait().context("could not wait for ssh")?;
                return Err(without_greeting(args, remote, status, last.as_deref()));
            }
        };
        said?;
        let listening = listening(answer, remote)?;
        let (input, channel) =
            if request.through_ssh { (None, Some(through(input, output)?)) } else { (Some(input), None) };
        Ok((Self { ssh, input, channel }, listening))
    }

    /// Closes its input, and ends ssh if that does not. Blocks.
    fn end(mut self) {
        drop(self.input.take());
        let begun = Instant::now();
        while self.channel.is_none() && begun.elapsed() < GOODBYE {
            match self.ssh.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        let _ = self.ssh.kill();
        let _ = self.ssh.wait();
    }
}

/// Has packets go through ssh, on threads that end with it.
fn through(input: ChildStdin, output: BufReader<ChildStdout>) -> anyhow::Result<Channel> {
    let channel = Channel::open(0).context("could not open a UDP socket on the loopback interface")?;
    let (sender, receiver) = (channel.clone(), channel.clone());
    std::thread::spawn(move || sender.send(input));
    std::thread::spawn(move || receiver.receive(output));
    Ok(channel)
}

fn listening(answer: Answer, remote: &Remote) -> anyhow::Result<Listening> {
    match answer.outcome {
        Outcome::Listening(listening) => Ok(listening),
        Outcome::Refused(refusal) => {
            let error = anyhow!("{} {}", remote.address(), shown(&refusal.reason));
            Err(if refusal.is_misuse { error.context(Failure::Usage) } else { error })
        }
    }
}

fn other_form(remote: &Remote, version: &str) -> anyhow::Error {
    let (host, here) = (shown(&remote.host), env!("CARGO_PKG_VERSION"));
    let there = shown(version);
    anyhow!(
        "pcc on {host} is version {there}, this one is {here}, and they do not understand each other: install one version on both"
    )
}

/// The exit codes of shells for a command that cannot be run, and that there is not.
const NOT_EXECUTABLE: i32 = 126;
const NO_COMMAND: i32 = 127;

/// The exit code of ssh's own failures.
const SSH_FAILED: i32 = 255;

/// The exit code of a `pcc` that does not know the option.
const MISUSED: i32 = 2;

/// Why the far side said nothing.
fn without_greeting(args: &RemoteArgs, remote: &Remote, status: ExitStatus, last: Option<&str>) -> anyhow::Error {
    let (host, pcc) = (shown(&remote.host), shown(&args.remote_pcc));
    match status.code() {
        Some(NO_COMMAND) => anyhow!(
            "there is no `{pcc}` on {host}: install it there, for example with\n  {}\nand add --remote-pcc .local/bin/pcc, or \
             name the place where it is",
            installation(args, remote)
        ),
        Some(NOT_EXECUTABLE) => anyhow!("`{pcc}` on {host} cannot be run: name another with --remote-pcc"),
        Some(SSH_FAILED) => anyhow!("ssh did not reach {host}, and says above why").context(Failure::Unreachable),
        Some(MISUSED) => {
            anyhow!("`{pcc}` on {host} is too old for transfers over ssh: install this version there, too")
        }
        code => {
            let how = code.map_or("without an exit code".to_owned(), |code| format!("with exit code {code}"));
            let said = last.map(|last| format!(" and said `{}`", shown(last.trim()))).unwrap_or_default();
            anyhow!("`{pcc}` on {host} ended {how}{said}: is it this pcc? --remote-pcc names another")
        }
    }
}

/// A command that installs this program for one user over there, on a computer of the same kind.
fn installation(args: &RemoteArgs, remote: &Remote) -> String {
    let own = crate::program::path().map_or_else(|_| "pcc".to_owned(), |path| path.display().to_string());
    let at = remote.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
    let to = quote(&format!("{at}{}", remote.host)).replace("'", "");
    let install = "mkdir -p .local/bin && cat > .local/bin/pcc && chmod +x .local/bin/pcc";
    format!("{} {to} '{install}' < {}", args.ssh, quote(&own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_net::tls::Fingerprint;

    fn listening_at(file: &str, name: &str) -> Listening {
        Listening {
            port: 60001,
            address: None,
            fingerprint: Fingerprint::of(b"a").to_string(),
            secret: "5ec2e7".into(),
            token: None,
            file: file.into(),
            name: name.into(),
        }
    }

    #[test]
    fn messages_have_what_was_written_and_not_the_secret() {
        let peer = Peer { host: "10.0.0.2".into(), port: 60001 };
        for (written, file, path, short) in [
            ("me@host:a b.iso", "a b.iso", "/5ec2e7/a%20b.iso", "me@host:a b.iso"),
            ("host:photos", "", "/5ec2e7/", "host:photos/"),
            ("host:photos/", "", "/5ec2e7/", "host:photos/"),
            ("host:", "", "/5ec2e7/", "host:"),
            ("[::1]:/x", "x", "/5ec2e7/x", "[::1]:/x"),
        ] {
            let remote = Remote::parse(written).unwrap();
            let url = url(peer.clone(), &remote, &listening_at(file, "n")).unwrap();
            assert_eq!((url.path.as_str(), url.short().as_str()), (path, short), "{written}");
            let debug = format!("{:?}", url.alias);
            assert!(!debug.contains("5ec2e7"), "{debug}");
        }
    }
}
