//! How this side has ssh start the far one, and what it means when that fails.

use crate::greeting::{self, Answer, FORM, Heard, Listening, Outcome, Request, Wish};
use crate::greeting_error::GreetingError;
use crate::remote::Remote;
use crate::ssh::Ssh;
use core::time::Duration;
use pcc_net::channel::Channel;
use pcc_net::dial::DialError;
use pcc_net::percent::encode_segment;
use pcc_net::ports::Ports;
use pcc_net::shown;
use pcc_net::tls::ParseFingerprintError;
use pcc_net::url::{Alias, Peer, Url};
use std::io::{self, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::Arc;
use std::time::Instant;

/// How this side reaches the other computer.
#[derive(Clone, Debug)]
pub struct Route {
    /// The command that reaches it.
    pub ssh: Ssh,
    /// The program of the far side; a shell there takes it.
    pub program: String,
    /// What that program is told, so that it calls [`Transfer::begin`](crate::Transfer::begin).
    pub arguments: String,
    /// UDP ports of the other computer, of which the transfer takes a free one.
    pub ports: Ports,
    /// Whether packets go through ssh.
    pub through_ssh: bool,
    /// How long this side tries to come back, when its connection is lost.
    pub patience: Duration,
}

/// A far side that waits for the transfer. Dropping it ends the far side at once.
pub struct Reached {
    /// What the path is there.
    pub url: Url,
    /// For uploads.
    pub token: Option<String>,
    host: String,
    ports: Ports,
    through_ssh: bool,
    far: Far,
}

/// Why the far side was not reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// There is no such command here.
    #[error("could not run `{program}`: install it, or name another command")]
    NoSsh {
        /// The command.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system gave the command no pipes.
    #[error("ssh has no pipes")]
    NoPipes,
    /// The other side went.
    #[error(transparent)]
    Greeting(#[from] GreetingError),
    /// Nobody knows how ssh ended.
    #[error("could not wait for ssh")]
    Wait(#[source] io::Error),
    /// Packets cannot go through ssh.
    #[error("could not open a UDP socket on the loopback interface")]
    Channel(#[source] io::Error),
    /// The far side has another form of the greeting.
    #[error(
        "pcc on {host} is version {there}, this one is {}, and they do not understand each other: install one version on both",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// The other computer.
        host: String,
        /// Its version.
        there: String,
    },
    /// The shell there knows no such program.
    #[error("there is no `{program}` on {host}")]
    NoProgram {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
    },
    /// The shell there cannot run the program.
    #[error("`{program}` on {host} cannot be run: name another")]
    NotExecutable {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
    },
    /// ssh itself failed.
    #[error("ssh did not reach {host}, and says above why")]
    NotReached {
        /// The other computer.
        host: String,
    },
    /// The program there does not know what it was told.
    #[error("`{program}` on {host} is too old for transfers over ssh: install this version there, too")]
    TooOld {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
    },
    /// The program there ended without a greeting.
    #[error("`{program}` on {host} ended {how}{said}: is it this pcc?")]
    Ended {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
        /// With which exit code.
        how: String,
        /// The last line that it said, if it said any.
        said: String,
    },
    /// The far side serves nothing, and says why.
    #[error("{address} {reason}")]
    Refused {
        /// The other computer.
        address: String,
        /// What the far side says.
        reason: String,
        /// Whether another request could be served.
        is_misuse: bool,
    },
    /// The far side's certificate has no name.
    #[error("the other side named no fingerprint")]
    NoFingerprint(#[source] ParseFingerprintError),
    /// The far side's path is none.
    #[error("the other side named no path")]
    NoPath(#[source] http::uri::InvalidUri),
    /// The system refuses something else.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// ssh reaches a host that UDP does not reach.
#[derive(Debug, thiserror::Error)]
#[error(
    "ssh reaches {host}, and UDP does not, so a firewall seems to block it: let UDP {ports} in there (`sudo ufw allow {}/udp`)",
    ports.for_firewall()
)]
pub struct Blocked {
    host: String,
    ports: Ports,
}

/// How long the far side may take to end.
const GOODBYE: Duration = Duration::from_secs(2);

/// How often to look whether ssh has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Has ssh start the far side.
///
/// Errors: what ssh itself says stands on standard error.
pub async fn reach(route: &Route, remote: &Remote, wish: Wish) -> Result<Reached, ReachError> {
    let (far, listening) = Far::start(route, remote, wish).await?;
    let peer = match &far.channel {
        Some(channel) => {
            let address = channel.address()?;
            Peer { host: address.ip().to_string(), port: address.port() }
        }
        None => Peer { host: host_of(&route.ssh, remote, &listening).await?, port: listening.port },
    };
    let url = url(peer, remote, &listening)?;
    let (host, ports, through_ssh) = (remote.host.clone(), route.ports, route.through_ssh);
    Ok(Reached { url, token: listening.token, host, ports, through_ssh, far })
}

/// The host that ssh went to, as this computer can reach it. A name that only a jump host knows is replaced by the address at
/// which ssh arrived.
async fn host_of(ssh: &Ssh, remote: &Remote, listening: &Listening) -> io::Result<String> {
    let (ssh, to) = (ssh.clone(), remote.clone());
    let named = tokio::task::spawn_blocking(move || ssh.host_name(&to)).await?;
    let named = named.unwrap_or_else(|| remote.host.clone());
    let is_known = pcc_net::look_up(&named, listening.port, ()).await.is_ok();
    Ok(if is_known { named } else { listening.address.clone().unwrap_or(named) })
}

fn url(peer: Peer, remote: &Remote, listening: &Listening) -> Result<Url, ReachError> {
    let path = format!("/{}/{}", encode_segment(&listening.secret), encode_segment(&listening.file));
    let is_directory = listening.file.is_empty();
    let end = if is_directory && !remote.path.is_empty() && !remote.path.ends_with('/') { "/" } else { "" };
    let written = format!("{}{}{end}", remote.address(), remote.path);
    let alias = Alias { path: path.clone(), written, name: listening.name.clone() };
    let pin = Some(listening.fingerprint.parse().map_err(ReachError::NoFingerprint)?);
    Ok(Url { peer, path: path.parse().map_err(ReachError::NoPath)?, pin, alias: Some(Arc::new(alias)) })
}

impl Reached {
    /// What it means that there was no connection, if that is news: ssh had one.
    pub fn blocked(&self, error: &DialError) -> Option<Blocked> {
        let is_silent =
            matches!(error, DialError::NoAnswer { .. } | DialError::Refused { .. } | DialError::NoRoute { .. });
        (is_silent && !self.through_ssh).then(|| Blocked { host: shown(&self.host), ports: self.ports })
    }

    /// Ends the far side in good order.
    pub async fn end(self) {
        self.far.end().await;
    }
}

/// ssh, and what it runs on the other computer. Dropping it ends ssh.
struct Far {
    ssh: Child,
    /// While this is open the far side goes on; with a channel, the thread that sends packets has it.
    input: Option<ChildStdin>,
    channel: Option<Channel>,
}

/// The two ends of the pipes to ssh.
type Pipes = (ChildStdin, BufReader<ChildStdout>);

impl Far {
    /// Starts it and exchanges the greetings.
    async fn start(route: &Route, remote: &Remote, wish: Wish) -> Result<(Self, Listening), ReachError> {
        let (ports, through_ssh, patience_s) = (route.ports, route.through_ssh, route.patience.as_secs());
        let request = Request { form: FORM, wish, ports, patience_s, through_ssh };
        let program = || route.ssh.program().to_owned();
        let command = format!("{} {}", route.program, route.arguments);
        let ssh = route.ssh.start(remote, &command).spawn();
        let mut ssh = Greeted(Some(ssh.map_err(|source| ReachError::NoSsh { program: program(), source })?));
        let pipes = ssh.pipes().ok_or(ReachError::NoPipes)?;
        let (said, heard, (input, output)) =
            tokio::task::spawn_blocking(move || greet(&request, pipes)).await.map_err(io::Error::from)?;
        let heard = heard?;
        // It ends by itself now, and what it says until then is for people.
        let mut ssh = ssh.0.take().ok_or(ReachError::NoPipes)?;
        let answer = match heard {
            Heard::Answer(answer) => answer,
            Heard::OtherForm(there) => {
                return Err(ReachError::OtherVersion { host: shown(&remote.host), there: shown(&there) });
            }
            Heard::Nothing(last) => {
                drop(input);
                return Err(without_greeting(route, remote, ended(&mut ssh).await?, last.as_deref()));
            }
        };
        said?;
        let listening = listening(answer, remote)?;
        let (input, channel) = if through_ssh { (None, Some(through(input, output)?)) } else { (Some(input), None) };
        Ok((Self { ssh, input, channel }, listening))
    }

    /// Closes its input, and ends ssh if that does not.
    async fn end(mut self) {
        drop(self.input.take());
        let begun = Instant::now();
        while self.channel.is_none() && begun.elapsed() < GOODBYE && matches!(self.ssh.try_wait(), Ok(None)) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        kill(&mut self.ssh);
    }
}

/// ssh before the far side has answered: whoever stops waiting for that ends it, and with it the thread that listens.
struct Greeted(Option<Child>);

impl Greeted {
    fn pipes(&mut self) -> Option<Pipes> {
        let ssh = self.0.as_mut()?;
        let (input, output) = ssh.stdin.take().zip(ssh.stdout.take())?;
        Some((input, BufReader::new(output)))
    }
}

impl Drop for Greeted {
    fn drop(&mut self) {
        if let Some(ssh) = &mut self.0 {
            kill(ssh);
        }
    }
}

/// One that has ended already is not there to be killed.
fn kill(ssh: &mut Child) {
    let _ = ssh.kill();
    let _ = ssh.wait();
}

type Greeting = (Result<(), GreetingError>, Result<Heard, GreetingError>, Pipes);

/// Says what is wanted, and listens to the answer. Blocks. An ssh that cannot reach the host takes nothing; how it ends says
/// more.
fn greet(request: &Request, (mut input, mut output): Pipes) -> Greeting {
    let said = greeting::say(request, &mut input);
    let heard = greeting::answer(&mut output);
    (said, heard, (input, output))
}

async fn ended(ssh: &mut Child) -> Result<ExitStatus, ReachError> {
    loop {
        if let Some(status) = ssh.try_wait().map_err(ReachError::Wait)? {
            return Ok(status);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Has packets go through ssh, on threads that end with it.
fn through(input: ChildStdin, output: BufReader<ChildStdout>) -> Result<Channel, ReachError> {
    let channel = Channel::open(0).map_err(ReachError::Channel)?;
    let (sender, receiver) = (channel.clone(), channel.clone());
    std::thread::spawn(move || sender.send(input));
    std::thread::spawn(move || receiver.receive(output));
    Ok(channel)
}

fn listening(answer: Answer, remote: &Remote) -> Result<Listening, ReachError> {
    match answer.outcome {
        Outcome::Listening(listening) => Ok(listening),
        Outcome::Refused(refusal) => {
            let (reason, is_misuse) = (shown(&refusal.reason), refusal.is_misuse);
            Err(ReachError::Refused { address: remote.address(), reason, is_misuse })
        }
    }
}

/// The exit codes of shells for a command that cannot be run, and that there is not.
const NOT_EXECUTABLE: i32 = 126;
const NO_COMMAND: i32 = 127;

/// The exit code of ssh's own failures.
const SSH_FAILED: i32 = 255;

/// The exit code of a `pcc` that does not know the option.
const MISUSED: i32 = 2;

/// Why the far side said nothing.
fn without_greeting(route: &Route, remote: &Remote, status: ExitStatus, last: Option<&str>) -> ReachError {
    let (host, program) = (shown(&remote.host), shown(&route.program));
    match status.code() {
        Some(NO_COMMAND) => ReachError::NoProgram { program, host },
        Some(NOT_EXECUTABLE) => ReachError::NotExecutable { program, host },
        Some(SSH_FAILED) => ReachError::NotReached { host },
        Some(MISUSED) => ReachError::TooOld { program, host },
        code => {
            let how = code.map_or("without an exit code".to_owned(), |code| format!("with exit code {code}"));
            let said = last.map(|last| format!(" and said `{}`", shown(last.trim()))).unwrap_or_default();
            ReachError::Ended { program, host, how, said }
        }
    }
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

    /// A program in ssh's place that takes what it is told and answers nothing.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn ssh_ends_when_nobody_waits_for_the_greeting() {
        let dir = tempfile::tempdir().unwrap();
        let (script, number) = (dir.path().join("ssh.sh"), dir.path().join("pid"));
        std::fs::write(&script, format!("echo $$ > '{}'\nexec sleep 1000\n", number.display())).unwrap();
        let route = Route {
            ssh: format!("sh '{}'", script.display()).parse().unwrap(),
            program: "pcc".into(),
            arguments: String::new(),
            ports: Ports::default(),
            through_ssh: false,
            patience: Duration::ZERO,
        };
        let remote = Remote::parse("host:x").unwrap();
        let mut reaching = Box::pin(reach(&route, &remote, Wish::Get("x".into())));
        let started = || std::fs::read_to_string(&number).ok()?.trim().parse::<u32>().ok();
        let id = loop {
            tokio::select! {
                _ = &mut reaching => panic!("nobody answered"),
                () = tokio::time::sleep(LOOK) => {}
            }
            if let Some(id) = started() {
                break id;
            }
        };
        drop(reaching);
        // The kernel has no process of that number to tell of, or it is another's.
        let command = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        assert!(!command.contains("sleep"), "{command}");
    }
}
