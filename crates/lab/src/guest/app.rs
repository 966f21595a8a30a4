//! Flows of a program under test: any command, in the sender's host, with the receiver's address in its environment.

use super::topology::Hosts;
use super::wire::Wire;
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
    /// The bytes and packets that had passed its interfaces before.
    before: Wire,
    ended: bool,
}

impl Programs {
    /// Starts the server's command, if there is one.
    pub(super) fn prepare(dir: &Path, number: usize, hosts: &Hosts, app: &App) -> io::Result<Self> {
        let (app, dir) = (app.clone(), dir.to_owned());
        let mut programs = Self { app, dir, number, server: None, client: None, before: Wire::default(), ended: false };
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
        self.before = Wire::read(hosts, 0)?;
        hosts.sender.enter()?;
        self.client = Some(self.command(&self.app.client, hosts, "client")?.spawn()?);
        Ok(())
    }

    /// The bytes that passed since the start, with all headers.
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
        let passed = Wire::read(hosts, at)?.since(self.before);
        let (sent, delivered) = (passed.sent.bytes, passed.arrived.bytes);
        Ok(FlowSample { at, delivered, sent, ..FlowSample::default() })
    }

    /// Stops the sender's command in the middle of whatever it does, or lets it go on.
    pub(super) fn pause(&self, is_paused: bool) {
        self.client.iter().for_each(|client| super::pause(client, is_paused));
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
