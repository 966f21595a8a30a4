//! A real ssh server, with keys of its own.
#![allow(dead_code, reason = "each test file uses its part")]

use crate::upload::{Bench, Running, wait_until};
use std::path::Path;
use std::process::Command;

/// sshd on the loopback interface with keys of its own, for whoever runs the test.
pub(crate) struct Sshd {
    _process: Running,
    pub(crate) port: u16,
    /// How a client reaches it.
    pub(crate) ssh: String,
}

impl Sshd {
    pub(crate) fn start(bench: &Bench) -> Self {
        let file = |name: &str| bench.path(name).to_str().unwrap().to_owned();
        for key in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &file(key)]).output();
            assert!(made.unwrap().status.success());
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n",
            file("host_key"),
            file("user_key.pub")
        );
        std::fs::write(bench.path("config"), config).unwrap();
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let mut sshd = Command::new(sshd.expect("openssh-server is installed"));
        let process = Running(sshd.args(["-D", "-e", "-f", &file("config")]).spawn().unwrap());
        wait_until("sshd listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        let ssh = format!(
            "ssh -F none -p {port} -i '{}' -o BatchMode=yes -o LogLevel=ERROR -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
            file("user_key")
        );
        Self { _process: process, port, ssh }
    }
}
