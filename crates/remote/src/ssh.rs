//! How ssh is run.

use crate::remote::Remote;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// The command that reaches other computers, with options of its own, as rsync's `-e` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    written: String,
    program: String,
    options: Vec<String>,
}

impl core::fmt::Display for Ssh {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.written)
    }
}

/// Why a text is no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoSsh {
    /// A shell would wait for more.
    #[error("`{0}` has a quote without its end")]
    Quote(String),
    /// There is no word in it.
    #[error("an empty command; write it like `ssh -p 2222`")]
    Empty,
}

impl std::str::FromStr for Ssh {
    type Err = NoSsh;

    fn from_str(written: &str) -> Result<Self, NoSsh> {
        let words = shlex::split(written).ok_or_else(|| NoSsh::Quote(written.to_owned()))?;
        let mut words = words.into_iter();
        let program = words.next().ok_or(NoSsh::Empty)?;
        Ok(Self { written: written.to_owned(), program, options: words.collect() })
    }
}

impl Ssh {
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// The same command with further options.
    pub fn with(mut self, options: impl IntoIterator<Item = String>) -> Self {
        self.options.extend(options);
        self
    }

    /// The command as a shell takes it.
    pub fn for_shell(&self) -> Result<String, NoSsh> {
        let words = core::iter::once(&self.program).chain(&self.options).map(String::as_str);
        shlex::try_join(words).map_err(|_| NoSsh::Quote(self.written.clone()))
    }

    /// Runs ssh itself, with these words of a user, over the connection that the shell's command `proxy` is.
    pub fn over(&self, proxy: &str, words: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        // The first one of each counts. A connection that exists already is another one than `proxy`.
        command.args(["-o", "ControlPath=none", "-o", "ProxyUseFdpass=no", "-o", &format!("ProxyCommand={proxy}")]);
        command.args(&self.options).args(words);
        command
    }

    /// Runs that command on the far side. Its orders go through its standard input.
    pub(crate) fn start(&self, remote: &Remote, far: &str) -> Command {
        let mut command = self.to(remote, &[]);
        command.arg(far).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    fn to(&self, remote: &Remote, more: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.options).args(more);
        if let Some(user) = &remote.user {
            command.args(["-l", user]);
        }
        command.arg(&remote.host);
        command
    }

    /// Where ssh goes for this host, whose name may be an alias in ssh's configuration; `None` if it does not say so.
    pub(crate) fn host_name(&self, remote: &Remote) -> Option<String> {
        // Another command may take `-G` for something else.
        let is_openssh = Path::new(&self.program).file_stem().is_some_and(|name| name == "ssh");
        let told = is_openssh.then(|| self.to(remote, &["-G"]).stdin(Stdio::null()).stderr(Stdio::null()).output())?;
        let told = String::from_utf8(told.ok()?.stdout).ok()?;
        let name = told.lines().find_map(|line| line.strip_prefix("hostname "));
        name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(ssh: &str, place: &str) -> Vec<String> {
        let command = ssh.parse::<Ssh>().unwrap().start(&Remote::parse(place).unwrap(), "pcc serve");
        let words = core::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_path_is_on_no_command_line() {
        assert_eq!(words("ssh", "host:secret"), ["ssh", "host", "pcc serve"]);
        assert_eq!(
            words("ssh -i 'my key' -p 22", "me@[::1]:secret"),
            ["ssh", "-i", "my key", "-p", "22", "-l", "me", "::1", "pcc serve"]
        );
    }

    #[test]
    fn a_command_that_is_none_is_refused() {
        for wrong in ["", " ", "ssh 'x"] {
            assert!(wrong.parse::<Ssh>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_ssh_is_asked_for_its_configuration() {
        let other: Ssh = "/no/such/program".parse().unwrap();
        assert_eq!(other.host_name(&Remote::parse("host:x").unwrap()), None);
    }
}
