//! Other computers, as a command in ssh's place runs them on this one.
#![allow(dead_code, reason = "each test file uses its part")]

use crate::upload::{Bench, lines, said, wait_until};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// In ssh's place: knows an alias of a host. It runs its command in the directory of the host's name, or else in `served`, as sshd does at
/// home. It keeps its arguments, what the far side said, and that it ended.
const SSH: &str = r#"#!/bin/sh
here=$(dirname "$0")
[ "$1 $2" != '-G alias' ] || echo 'hostname localhost'
[ "$1" != -G ] || exit 0
echo "$*" >> "$here/arguments"
for command; do host=$last last=$command; done
home=$here/served
[ ! -d "$here/$host" ] || home=$here/$host
export HOME="$home" SSH_CONNECTION='192.0.2.1 50000 127.0.0.1 22' XDG_CACHE_HOME="$here/cache"
cd "$HOME" || exit 255
{ sh -c "$command"; echo "$?" >> "$here/ended"; } | tee -a "$here/said"
exit "$(tail -n 1 "$here/ended")"
"#;

/// Computers that ssh reaches.
pub(crate) struct Far(pub(crate) Bench);

impl Far {
    pub(crate) fn new() -> Self {
        let far = Self(Bench::new());
        far.script("ssh", SSH);
        far
    }

    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.0.path(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn pcc(&self, arguments: &[&str]) -> Command {
        let ssh = self.0.path("ssh");
        let mut command = self.0.pcc(arguments);
        command.args(["--ssh", ssh.to_str().unwrap(), "--remote-pcc", env!("CARGO_BIN_EXE_pcc")]);
        command.args(["--port-range", "20000-29999"]).env_remove("PCC_TOKEN");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.pcc(arguments).output().unwrap()
    }

    /// With a script in ssh's place.
    pub(crate) fn run_with(&self, script: &str, arguments: &[&str]) -> Output {
        let ssh = self.script("other", script);
        self.0.pcc(arguments).args(["--ssh", &ssh]).output().unwrap()
    }

    pub(crate) fn here(&self, name: &str) -> PathBuf {
        self.0.path("client").join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path(name)).unwrap_or_default()
    }

    /// No message and no command line has the secrets by which the first far side is reached.
    pub(crate) fn keeps_its_secrets(&self, told: &Output) {
        let greeting: Value = serde_json::from_str(self.text("said").lines().next().unwrap()).unwrap();
        for secret in ["secret", "token"] {
            let secret = greeting["listening"][secret].as_str().unwrap();
            assert!(secret.len() >= 32 && !said(told).contains(secret), "{}", said(told));
            assert!(!self.text("arguments").contains(secret));
        }
    }

    pub(crate) fn wait_for_the_end(&self) {
        wait_until("the far side ends", || !self.text("ended").is_empty());
    }
}

/// The last line of a command that ended well.
pub(crate) fn done(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    lines(output).pop().unwrap()
}

pub(crate) fn same(one: &Path, other: &Path) -> bool {
    std::fs::read(one).unwrap() == std::fs::read(other).unwrap()
}
