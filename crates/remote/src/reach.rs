//! How this side has ssh start the far one, and what it means when that fails.

use crate::greeting::{self, Answer, FORM, Heard, LONGEST_LINE, Listening, Order, Outcome, Request, Wish};
use crate::greeting_error::GreetingError;
use crate::remote::Remote;
use crate::ssh::Ssh;
use core::time::Duration;
use pcc_net::alias::{Alias, CopyName};
use pcc_net::channel::Channel;
use pcc_net::dial::DialError;
use pcc_net::percent::encode_segment;
use pcc_net::ports::Ports;
use pcc_net::shown;
use pcc_net::tls::ParseFingerprintError;
use pcc_net::url::{Peer, Url};
use pcc_tunnel::{Host, Target};
use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// How this side reaches the other computer.
#[derive(Clone, Debug)]
pub struct Route {
    /// The command that reaches it.
    pub ssh: Ssh,
    /// The program of the far side, which a shell there takes; `None` for the `pcc` that is found there.
    pub program: Option<String>,
    /// The arguments of that program, so that it calls [`Begun::hear`](crate::Begun::hear).
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
    /// The URL of the path there.
    pub url: Url,
    /// The pattern that names of that directory match, where nothing had the path's last name.
    pub pattern: Option<String>,
    /// For uploads, and for the way to the ssh server.
    pub token: Option<String>,
    /// The ssh server as the far side reaches it, if that was wished.
    pub ssh_server: Option<Target>,
    host: String,
    ports: Ports,
    through_ssh: bool,
    far: Far,
}

/// An upload under way from one other computer to another one. Dropping it ends it at once.
pub struct Sent {
    far: Far,
    output: Option<BufReader<ChildStdout>>,
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
        /// The system's reason.
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
    #[error("`{program}` on {host} is too old for this transfer: install this version there, too")]
    TooOld {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
    },
    /// The program there ended without a greeting.
    #[error("`{program}` on {host} ended {how}{}: is it this pcc?{}", told_last(said), of_the_shell(said))]
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
    /// Nothing came of ssh.
    #[error("ssh to {host} brought nothing within {} s: see whether `ssh {host} true` ends", waited.as_secs())]
    Silent {
        /// The other computer.
        host: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Something came, and no greeting.
    #[error("`{program}` on {host} gave no answer within {} s{}", ANSWER.as_secs(), instead(said))]
    NoAnswer {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
        /// The last line that came, if there is any.
        said: String,
    },
    /// The far side says that the path is what it cannot be.
    #[error("{address} offers what was not asked for: install one version of pcc on both")]
    NotAsked {
        /// The other computer.
        address: String,
    },
    /// The far side reads no more than that.
    #[error("the options and the path have more than {} KiB together: leave some out", LONGEST_ORDER >> 10)]
    TooLong,
    /// The far side serves nothing, and says why.
    #[error("{address} {reason}")]
    Refused {
        /// The other computer.
        address: String,
        /// The far side's reason.
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

/// The same where it may take days.
const SELDOM: Duration = Duration::from_secs(1);

/// How long the far side may take from the first word that ssh brings to its greeting.
const ANSWER: Duration = Duration::from_secs(12);

/// How long to wait for the first word at least: as long as sshd waits for a login (`LoginGraceTime`), since somebody may be typing
/// a password.
const LOGIN: Duration = Duration::from_secs(120);

/// Bytes of an order: some less than what the far side takes for a line.
const LONGEST_ORDER: u64 = LONGEST_LINE - 1024;

/// Where `pcc` is looked for besides the shell's own places: a shell that ssh starts does not read all of its user's settings.
/// `.local/bin` is where the advice installs it, `.cargo/bin` where cargo does.
const PLACES: &str = "$HOME/.local/bin:$HOME/.cargo/bin:/usr/local/bin";

/// The name of the program where the user gives none.
const PROGRAM: &str = "pcc";

impl Route {
    /// The command for a shell of the far side. It says an empty line first, which ends whatever was said before, and tells that the
    /// login is done.
    fn command(&self) -> String {
        match &self.program {
            Some(program) => format!("{program} {}", self.arguments),
            None => format!(
                "exec sh -c 'echo; PATH=\"$PATH:{PLACES}\"; command -v {PROGRAM} > /dev/null || exit {NO_COMMAND}; \
                 exec {PROGRAM} {}'",
                self.arguments
            ),
        }
    }

    /// For messages.
    fn program(&self) -> String {
        shown(self.program.as_deref().unwrap_or(PROGRAM))
    }
}

/// Has ssh start the far side.
///
/// Errors: what ssh itself says stands on standard error.
pub async fn reach(route: &Route, remote: &Remote, wish: Wish) -> Result<Reached, ReachError> {
    let (is_put, is_ssh) = (matches!(wish, Wish::Put(_) | Wish::Look(_)), wish == Wish::Ssh);
    let (far, outcome) = Far::start(route, remote, wish).await?;
    let not_asked = || ReachError::NotAsked { address: shown(&remote.address()) };
    let Outcome::Listening(listening) = outcome else { return Err(not_asked()) };
    if !is_possible(remote, &listening, is_put) || is_ssh != listening.ssh_server.is_some() {
        return Err(not_asked());
    }
    let pattern = remote.pattern().filter(|_| listening.matches).map(str::to_owned);
    let peer = match &far.channel {
        Some(channel) => {
            let address = channel.address()?;
            Peer { host: address.ip().to_string(), port: address.port() }
        }
        None => Peer { host: host_of(&route.ssh, remote, &listening).await?, port: listening.port },
    };
    let url = url(peer, remote, &listening)?;
    let (host, ports, through_ssh) = (remote.host.clone(), route.ports, route.through_ssh);
    let ssh_server =
        listening.ssh_server.map(|server| Target { host: Host::Address(server.ip()), port: server.port() });
    Ok(Reached { url, pattern, token: listening.token, ssh_server, host, ports, through_ssh, far })
}

/// Has ssh start an upload on that computer, to another one.
///
/// Errors: as of [`reach`]; the order is too long.
pub async fn send(route: &Route, from: &Remote, order: Order) -> Result<Sent, ReachError> {
    if serde_json::to_string(&order).is_ok_and(|text| text.len() as u64 > LONGEST_ORDER) {
        return Err(ReachError::TooLong);
    }
    let host = shown(&from.host);
    let (mut far, outcome) = match Far::start(route, from, Wish::Send(Box::new(order))).await {
        // An earlier version's answer to a wish that it does not know.
        Err(ReachError::Refused { reason, .. }) if reason.contains("unknown variant `send`") => {
            return Err(ReachError::TooOld { program: route.program(), host });
        }
        started => started?,
    };
    let output = far.output.take().filter(|_| matches!(outcome, Outcome::Sending(_)));
    let output = output.ok_or_else(|| ReachError::NotAsked { address: shown(&from.address()) })?;
    Ok(Sent { far, output: Some(output) })
}

/// Whether the path can be that. A path that ends with a slash is no file, and an upload to a name becomes what has that name. Only a
/// pattern has matches.
fn is_possible(remote: &Remote, listening: &Listening, is_put: bool) -> bool {
    let (is_file, is_directory) = (!listening.file.is_empty(), remote.is_directory());
    let is_kind = if is_put { is_file != is_directory } else { !(is_file && is_directory) };
    is_kind && (!listening.matches || (!is_put && !is_file && remote.pattern().is_some()))
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
    let place = match remote.pattern().filter(|_| listening.matches) {
        Some(pattern) => remote.path.strip_suffix(pattern).unwrap_or(&remote.path),
        None => &remote.path,
    };
    let is_directory = listening.file.is_empty();
    let end = if is_directory && !place.is_empty() && !place.ends_with('/') { "/" } else { "" };
    let written = format!("{}{place}{end}", remote.address());
    let name = match remote.name() {
        Some(name) => CopyName::Written(name.to_owned()),
        None => CopyName::Offered(listening.name.clone()),
    };
    let alias = Alias { path: path.clone(), written, name };
    let pin = Some(listening.fingerprint.parse().map_err(ReachError::NoFingerprint)?);
    Ok(Url { peer, path: path.parse().map_err(ReachError::NoPath)?, pin, alias: Some(Arc::new(alias)) })
}

impl Reached {
    /// The meaning of a missing connection, if it is news: ssh had one.
    pub fn blocked(&self, error: &DialError) -> Option<Blocked> {
        let is_silent =
            matches!(error, DialError::NoAnswer { .. } | DialError::Refused { .. } | DialError::NoRoute { .. });
        (is_silent && !self.through_ssh).then(|| Blocked { host: shown(&self.host), ports: self.ports })
    }

    /// Resolves when ssh has ended, and the far side with it.
    pub async fn ended(&mut self) {
        while matches!(self.far.ssh.try_wait(), Ok(None)) {
            tokio::time::sleep(SELDOM).await;
        }
    }

    /// Ends the far side in good order.
    pub async fn end(self) {
        self.far.end().await;
    }
}

impl Sent {
    /// Resolves when the upload has ended, with its exit code, if it has one. Its words come to standard output meanwhile.
    ///
    /// Errors: nobody knows how it ended.
    pub async fn ended(&mut self) -> Result<Option<i32>, ReachError> {
        if let Some(mut output) = self.output.take() {
            let (done, copied) = oneshot::channel();
            std::thread::Builder::new().spawn(move || {
                // A reader who wants no more of it does not end the upload.
                let _ = io::copy(&mut output, &mut io::stdout());
                let _ = done.send(());
            })?;
            let _ = copied.await;
        }
        Ok(ended(&mut self.far.ssh).await?.code())
    }

    /// Ends the upload, if it has not ended, in good order.
    pub async fn end(self) {
        self.far.end().await;
    }
}

/// ssh, and what it runs on the other computer. Dropping it ends ssh.
struct Far {
    ssh: Child,
    /// While this is open the far side goes on; with a channel, the thread that sends packets has it.
    input: Option<ChildStdin>,
    /// The output behind the greeting; with a channel, the thread that receives packets has it.
    output: Option<BufReader<ChildStdout>>,
    channel: Option<Channel>,
}

/// The two ends of the pipes to ssh.
type Pipes = (ChildStdin, BufReader<ChildStdout>);

impl Far {
    /// Starts it and exchanges the greetings.
    async fn start(route: &Route, remote: &Remote, wish: Wish) -> Result<(Self, Outcome), ReachError> {
        let (ports, through_ssh, patience_s) = (route.ports, route.through_ssh, route.patience.as_secs());
        let request = Request { form: FORM, wish, ports, patience_s, through_ssh };
        let program = || route.ssh.program().to_owned();
        let ssh = route.ssh.start(remote, &route.command()).spawn();
        let mut ssh = Greeted(Some(ssh.map_err(|source| ReachError::NoSsh { program: program(), source })?));
        let pipes = ssh.pipes().ok_or(ReachError::NoPipes)?;
        let (tell, told) = watch::channel(None);
        let greeting = greet(request, pipes, tell);
        let (said, heard, (input, output)) = tokio::select! {
            greeted = greeting => greeted?,
            () = too_late(told.clone(), route.patience) => return Err(no_answer(route, remote, &told)),
        };
        let heard = heard?;
        let answer = match heard {
            Heard::Answer(answer) => answer,
            Heard::OtherForm(there) => {
                return Err(ReachError::OtherVersion { host: shown(&remote.host), there: shown(&there) });
            }
            Heard::Nothing => {
                drop(input);
                let ended = ssh.0.as_mut().map(ended).ok_or(ReachError::NoPipes)?;
                let status = timeout(ANSWER, ended).await.map_err(|_| no_answer(route, remote, &told))??;
                return Err(without_greeting(route, remote, status, &told));
            }
        };
        said?;
        // From now on it ends in good order.
        let ssh = ssh.0.take().ok_or(ReachError::NoPipes)?;
        let outcome = not_refused(answer, remote)?;
        let mut far = Self { ssh, input: None, output: None, channel: None };
        if through_ssh {
            far.channel = Some(through(input, output)?);
        } else {
            (far.input, far.output) = (Some(input), Some(output));
        }
        Ok((far, outcome))
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

/// Says what is wanted, and listens to the answer, on a thread of its own: ssh may be silent for ever. `tell` hears the last line of
/// what is no answer, once anything came; when nobody wants to know any more, the thread ends with the next line. An ssh that cannot
/// reach the host takes nothing; how it ends says more.
async fn greet(
    request: Request,
    (mut input, mut output): Pipes,
    tell: watch::Sender<Option<String>>,
) -> io::Result<Greeting> {
    let (done, greeted) = oneshot::channel();
    std::thread::Builder::new().spawn(move || {
        let said = greeting::say(&request, &mut input);
        let _ = output.fill_buf();
        tell.send_replace(Some(String::new()));
        let heard = greeting::answer(&mut output, |line| {
            if !line.trim().is_empty() {
                tell.send_replace(Some(line.trim().to_owned()));
            }
            !tell.is_closed()
        });
        let _ = done.send((said, heard, (input, output)));
    })?;
    greeted.await.map_err(io::Error::other)
}

/// Resolves when nothing was heard for too long, or no greeting after the first word.
async fn too_late(mut told: watch::Receiver<Option<String>>, patience: Duration) {
    if timeout(patience.max(LOGIN), told.wait_for(Option::is_some)).await.is_ok() {
        tokio::time::sleep(ANSWER).await;
    }
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

fn not_refused(answer: Answer, remote: &Remote) -> Result<Outcome, ReachError> {
    match answer.outcome {
        Outcome::Refused(refusal) => {
            let (reason, is_misuse) = (shown(&refusal.reason), refusal.is_misuse);
            Err(ReachError::Refused { address: remote.address(), reason, is_misuse })
        }
        outcome => Ok(outcome),
    }
}

/// The exit codes of shells for a command that cannot be run, and that there is not.
const NOT_EXECUTABLE: i32 = 126;
const NO_COMMAND: i32 = 127;

/// The exit code of ssh's own failures.
const SSH_FAILED: i32 = 255;

/// The exit code of a `pcc` that does not know the option.
const MISUSED: i32 = 2;

/// Why there is no greeting, though ssh goes on.
fn no_answer(route: &Route, remote: &Remote, told: &watch::Receiver<Option<String>>) -> ReachError {
    let host = shown(&remote.host);
    if told.borrow().is_none() {
        return ReachError::Silent { host, waited: route.patience.max(LOGIN) };
    }
    ReachError::NoAnswer { program: route.program(), host, said: said(told) }
}

/// The last line that came, as it may be shown.
fn said(told: &watch::Receiver<Option<String>>) -> String {
    let line = told.borrow().clone().unwrap_or_default();
    let short: String = line.chars().take(SHOWN).collect();
    shown(&short) + if short.len() < line.len() { "…" } else { "" }
}

/// Characters of a line that are shown.
const SHOWN: usize = 200;

fn told_last(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" and said `{said}`") }
}

const fn of_the_shell(said: &str) -> &'static str {
    if said.is_empty() { "" } else { " Or the shell there prints that before pcc: see its .bashrc." }
}

fn instead(said: &str) -> String {
    if said.is_empty() {
        return "; see whether it says its version there, with --version".to_owned();
    }
    format!("; the shell there prints `{said}` before pcc: see its .bashrc")
}

/// Why the far side said nothing.
fn without_greeting(
    route: &Route,
    remote: &Remote,
    status: ExitStatus,
    told: &watch::Receiver<Option<String>>,
) -> ReachError {
    let (host, program) = (shown(&remote.host), route.program());
    match status.code() {
        Some(NO_COMMAND) => ReachError::NoProgram { program, host },
        Some(NOT_EXECUTABLE) => ReachError::NotExecutable { program, host },
        Some(SSH_FAILED) => ReachError::NotReached { host },
        Some(MISUSED) => ReachError::TooOld { program, host },
        code => {
            let how = code.map_or("without an exit code".to_owned(), |code| format!("with exit code {code}"));
            ReachError::Ended { program, host, how, said: said(told) }
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
            ssh_server: None,
            file: file.into(),
            name: name.into(),
            matches: false,
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

    fn route() -> Route {
        Route {
            ssh: "ssh".parse().unwrap(),
            program: None,
            arguments: "serve".into(),
            ports: Ports::default(),
            through_ssh: false,
            patience: Duration::ZERO,
        }
    }

    #[test]
    fn a_copy_has_the_name_that_the_user_wrote() {
        let peer = Peer { host: "10.0.0.2".into(), port: 60001 };
        let offered = || CopyName::Offered(".bashrc".into());
        let written = |name: &str| CopyName::Written(name.into());
        for (path, name) in [
            ("big.iso", written("big.iso")),
            ("/a/100%", written("100%")),
            ("photos/", written("photos")),
            ("", offered()),
            ("~", offered()),
            ("dir/..", offered()),
            (".", offered()),
        ] {
            let remote = Remote::parse(&format!("host:{path}")).unwrap();
            let url = url(peer.clone(), &remote, &listening_at("", ".bashrc")).unwrap();
            assert_eq!(url.alias.unwrap().name, name, "{path}");
        }
    }

    #[test]
    fn only_what_was_asked_for_is_taken() {
        let of = |path: &str, file: &str, matches, is_put| {
            let listening = Listening { matches, ..listening_at(file, "n") };
            is_possible(&Remote::parse(&format!("host:{path}")).unwrap(), &listening, is_put)
        };
        assert!(of("a", "a", false, false) && of("a", "", false, false) && of("", "", false, false));
        assert!(!of("a/", "a", false, false) && !of("", "a", false, false) && !of("..", "a", false, false));
        assert!(of("*.gz", "", true, false) && !of("a", "", true, false) && !of("*.gz", "a", true, false));
        assert!(of("a", "a", false, true) && of("a/", "", false, true));
        assert!(!of("a", "", false, true) && !of("a/", "a", false, true) && !of("*", "", true, true));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_waited_for_without_an_end() {
        for (told, least, words) in [
            (None, LOGIN, "brought nothing within 120 s"),
            (Some(String::new()), ANSWER, "`pcc` on host gave no answer within 12 s; see whether"),
            (Some("y".to_owned()), ANSWER, "the shell there prints `y` before pcc: see its .bashrc"),
        ] {
            let (_tell, told) = watch::channel(told);
            let begun = tokio::time::Instant::now();
            too_late(told.clone(), Duration::ZERO).await;
            assert_eq!(begun.elapsed().as_secs(), least.as_secs());
            let error = no_answer(&route(), &Remote::parse("host:x").unwrap(), &told).to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_shell_looks_for_pcc_unless_it_is_named() {
        let command = route().command();
        assert!(
            command.starts_with("exec sh -c 'echo; PATH=\"$PATH:$HOME/.local/bin:$HOME/.cargo/bin:/usr/local/bin\";")
        );
        assert!(command.ends_with("exec pcc serve'"), "{command}");
        let named = Route { program: Some("sudo pcc".into()), ..route() };
        assert_eq!(named.command(), "sudo pcc serve");
    }

    /// A program in ssh's place that takes what it is told and answers nothing.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn ssh_ends_when_nobody_waits_for_the_greeting() {
        let dir = tempfile::tempdir().unwrap();
        let (script, number) = (dir.path().join("ssh.sh"), dir.path().join("pid"));
        std::fs::write(&script, format!("echo $$ > '{}'\nexec sleep 1000\n", number.display())).unwrap();
        let route = Route { ssh: format!("sh '{}'", script.display()).parse().unwrap(), ..route() };
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
