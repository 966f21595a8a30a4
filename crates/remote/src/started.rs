//! ssh while the far side answers, and what runs then.

use crate::greeting::{self, Answer, FORM, Heard, Outcome, Request, Wish};
use crate::greeting_error::GreetingError;
use crate::reach::{NO_COMMAND, Route};
use crate::reach_error::ReachError;
use crate::remote::Remote;
use core::time::Duration;
use pcc_net::channel::Channel;
use pcc_net::escape_for_terminal;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::time::Instant;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// How long the far side may take to end.
const GOODBYE: Duration = Duration::from_secs(2);

/// How often to look whether ssh has ended.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// How long the far side may take from the first word that ssh brings to its greeting.
pub(crate) const ANSWER: Duration = Duration::from_secs(12);

/// How long to wait for the first word at least: as long as sshd waits for a login (`LoginGraceTime`), since somebody may be typing
/// a password.
const LOGIN: Duration = Duration::from_secs(120);

/// The exit code of shells for a command that cannot be run.
const NOT_EXECUTABLE: i32 = 126;

/// The exit code of ssh's own failures.
const SSH_FAILED: i32 = 255;

/// The exit code of a `pcc` that does not know the option.
const MISUSED: i32 = 2;

/// Characters of a line that are shown.
const SHOWN: usize = 200;

/// ssh, and what it runs on the other computer. Dropping it ends ssh.
pub(crate) struct Started {
    pub(crate) ssh: Child,
    /// While this is open the far side goes on; with a channel, the thread that sends packets has it.
    input: Option<ChildStdin>,
    /// The output behind the greeting; with a channel, the thread that receives packets has it.
    pub(crate) output: Option<BufReader<ChildStdout>>,
    pub(crate) channel: Option<Channel>,
}

/// The two ends of the pipes to ssh.
type Pipes = (ChildStdin, BufReader<ChildStdout>);

impl Started {
    /// Starts it and exchanges the greetings.
    pub(crate) async fn start(route: &Route, remote: &Remote, wish: Wish) -> Result<(Self, Outcome), ReachError> {
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
                return Err(ReachError::OtherVersion {
                    host: escape_for_terminal(&remote.host),
                    there: escape_for_terminal(&there),
                });
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
    pub(crate) async fn end(mut self) {
        drop(self.input.take());
        let begun = Instant::now();
        while self.channel.is_none() && begun.elapsed() < GOODBYE && matches!(self.ssh.try_wait(), Ok(None)) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Started {
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

pub(crate) async fn ended(ssh: &mut Child) -> Result<ExitStatus, ReachError> {
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
            let (reason, is_misuse) = (escape_for_terminal(&refusal.reason), refusal.is_misuse);
            Err(ReachError::Refused { address: remote.address(), reason, is_misuse })
        }
        outcome => Ok(outcome),
    }
}

/// Why there is no greeting, though ssh goes on.
fn no_answer(route: &Route, remote: &Remote, told: &watch::Receiver<Option<String>>) -> ReachError {
    let host = escape_for_terminal(&remote.host);
    if told.borrow().is_none() {
        return ReachError::Silent { host, waited: route.patience.max(LOGIN) };
    }
    ReachError::NoAnswer { program: route.program(), host, said: said(told) }
}

/// The last line that came, as it may be shown.
fn said(told: &watch::Receiver<Option<String>>) -> String {
    let line = told.borrow().clone().unwrap_or_default();
    let short: String = line.chars().take(SHOWN).collect();
    escape_for_terminal(&short) + if short.len() < line.len() { "…" } else { "" }
}

/// Why the far side said nothing.
fn without_greeting(
    route: &Route,
    remote: &Remote,
    status: ExitStatus,
    told: &watch::Receiver<Option<String>>,
) -> ReachError {
    let (host, program) = (escape_for_terminal(&remote.host), route.program());
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
    use crate::reach::tests::route;

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
}
