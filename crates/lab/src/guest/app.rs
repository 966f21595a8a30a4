//! Flows of a program under test: any command, in the sender's host, with the receiver's address in its environment.

use super::topology::Hosts;
use crate::spec::{App, FlowSample};
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Its commands, and what passed its interfaces.
#[derive(Debug)]
pub(super) struct Programs {
    app: App,
    dir: PathBuf,
    number: usize,
    server: Option<Child>,
    client: Option<Child>,
    /// Bytes that had left the sender and reached the receiver before.
    before: (u64, u64),
    ended: bool,
}

impl Programs {
    /// Starts the server's command, if there is one.
    pub(super) fn prepare(dir: &Path, number: usize, hosts: &Hosts, app: &App) -> io::Result<Self> {
        let (app, dir) = (app.clone(), dir.to_owned());
        let mut programs = Self { app, dir, number, server: None, client: None, before: (0, 0), ended: false };
        if let Some(server) = programs.app.server.clone() {
            hosts.receiver.enter()?;
            programs.server = Some(programs.command(&server, hosts, "server")?.spawn()?);
        }
        Ok(programs)
    }

    fn command(&self, line: &str, hosts: &Hosts, role: &str) -> io::Result<Command> {
        let output = File::create(self.output(role))?;
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", line])
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", &self.dir)
            .env("SENDER", Ipv4Addr::from(hosts.sender_address).to_string())
            .env("RECEIVER", Ipv4Addr::from(hosts.receiver_address).to_string())
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0);
        Ok(command)
    }

    fn output(&self, role: &str) -> PathBuf {
        self.dir.join(format!("app-{}-{role}.txt", self.number))
    }

    /// Starts the sender's command.
    pub(super) fn start(&mut self, hosts: &Hosts) -> io::Result<()> {
        self.before = passed(hosts)?;
        hosts.sender.enter()?;
        self.client = Some(self.command(&self.app.client, hosts, "client")?.spawn()?);
        Ok(())
    }

    /// What passed since the start, with all headers.
    pub(super) fn sample(&mut self, hosts: &Hosts, at: u64) -> io::Result<FlowSample> {
        let fine = |status: &std::process::ExitStatus| status.success();
        for (child, role, may_end) in [(&mut self.server, "server", false), (&mut self.client, "client", true)] {
            let Some(status) = child.as_mut().map(Child::try_wait).transpose()?.flatten() else { continue };
            if !fine(&status) || !may_end {
                let output = self.dir.join(format!("app-{}-{role}.txt", self.number));
                let text = fs::read_to_string(output).unwrap_or_default();
                let end: String = text.trim().chars().rev().take(500).collect::<Vec<_>>().into_iter().rev().collect();
                return Err(io::Error::other(format!("the {role}'s command ended with {status}: {end}")));
            }
            self.ended = true;
        }
        if self.client.is_none() {
            return Ok(FlowSample { at, ..FlowSample::default() });
        }
        let (sent, delivered) = passed(hosts)?;
        let (sent, delivered) = (sent - self.before.0, delivered - self.before.1);
        Ok(FlowSample { at, delivered, sent, ..FlowSample::default() })
    }

    /// Whether the sender's command has come to its end.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Ends the commands and everything they started.
    pub(super) fn stop(&mut self) {
        for mut child in [self.client.take(), self.server.take()].into_iter().flatten() {
            // SAFETY: no pointers; the child leads a process group of its own and has not been waited for unless ended.
            unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
            let _ = child.wait();
        }
    }
}

/// Bytes that have left the sender's interface, and that have reached the receiver's.
fn passed(hosts: &Hosts) -> io::Result<(u64, u64)> {
    hosts.sender.enter()?;
    let (_, sent) = counters(&fs::read_to_string("/proc/thread-self/net/dev")?)?;
    hosts.receiver.enter()?;
    let (arrived, _) = counters(&fs::read_to_string("/proc/thread-self/net/dev")?)?;
    Ok((sent, arrived))
}

/// Bytes received and sent by `eth0`, from the text of `/proc/net/dev`.
fn counters(text: &str) -> io::Result<(u64, u64)> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("eth0:"));
    let fields: Vec<_> = line.unwrap_or_default().split_whitespace().map(str::parse).collect();
    match fields[..] {
        [Ok(received), _, _, _, _, _, _, _, Ok(sent), ..] => Ok((received, sent)),
        _ => Err(io::Error::other("the kernel tells nothing of interface eth0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_an_interface_are_found() {
        let text = "Inter-| Receive | Transmit\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  \
                    eth0:1200 3 0 0 0 0 0 0 3400 5 0 0 0 0 0 0\n";
        assert_eq!(counters(text).unwrap(), (1200, 3400));
        assert!(counters("lo: 1 2 3").is_err());
    }
}
