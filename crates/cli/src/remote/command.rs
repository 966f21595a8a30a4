//! How ssh is run.

use super::place::Remote;
use std::path::Path;
use std::process::{Command, Stdio};

/// The command that reaches other computers, with options of its own, as rsync's `-e` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ssh {
    written: String,
    program: String,
    options: Vec<String>,
}

impl core::fmt::Display for Ssh {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.written)
    }
}

impl std::str::FromStr for Ssh {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let words = shlex::split(written).ok_or_else(|| format!("`{written}` has a quote without its end"))?;
        let mut words = words.into_iter();
        let program = words.next().ok_or("an empty command; write it like `ssh -p 2222`")?;
        Ok(Self { written: written.to_owned(), program, options: words.collect() })
    }
}

impl Ssh {
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Starts `pcc` of that name on the far side. What it is to do goes through its standard input.
    pub(super) fn start(&self, remote: &Remote, pcc: &str) -> Command {
        let mut command = self.to(remote, &[]);
        command.arg(format!("{pcc} serve --once-over-ssh")).stdin(Stdio::piped()).stdout(Stdio::piped());
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
    pub(super) fn host_name(&self, remote: &Remote) -> Option<String> {
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
        let command = ssh.parse::<Ssh>().unwrap().start(&Remote::parse(place).unwrap(), "pcc");
        let words = core::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_path_is_on_no_command_line() {
        assert_eq!(words("ssh", "host:secret"), ["ssh", "host", "pcc serve --once-over-ssh"]);
        assert_eq!(
            words("ssh -i 'my key' -p 22", "me@[::1]:secret"),
            ["ssh", "-i", "my key", "-p", "22", "-l", "me", "::1", "pcc serve --once-over-ssh"]
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
