//! How this side has ssh start the far one.

use crate::greeting::{Listening, Outcome, Wish};
use crate::reach_error::ReachError;
use crate::remote::Remote;
use crate::ssh::Ssh;
use crate::started::Started;
use core::time::Duration;
use pcc_net::alias::{Alias, CopyName};
use pcc_net::dial::DialError;
use pcc_net::escape_for_terminal;
use pcc_net::percent::encode_segment;
use pcc_net::ports::Ports;
use pcc_net::url::{Peer, Url};
use pcc_tunnel::{Host, Target};
use std::io;
use std::sync::Arc;

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
    far: Started,
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

/// How often to look whether ssh has ended, where that may take days.
const SELDOM: Duration = Duration::from_secs(1);

/// The exit code of shells for a command that there is not.
pub(crate) const NO_COMMAND: i32 = 127;

/// Where `pcc` is looked for besides the shell's own places: a shell that ssh starts does not read all of its user's settings.
/// `.local/bin` is where the advice installs it, `.cargo/bin` where cargo does.
const PLACES: &str = "$HOME/.local/bin:$HOME/.cargo/bin:/usr/local/bin";

/// The name of the program where the user gives none.
const PROGRAM: &str = "pcc";

impl Route {
    /// The command for a shell of the far side. It says an empty line first, which ends whatever was said before, and tells that the
    /// login is done.
    pub(crate) fn command(&self) -> String {
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
    pub(crate) fn program(&self) -> String {
        escape_for_terminal(self.program.as_deref().unwrap_or(PROGRAM))
    }
}

/// Has ssh start the far side.
///
/// Errors: what ssh itself says stands on standard error.
pub async fn reach(route: &Route, remote: &Remote, wish: Wish) -> Result<Reached, ReachError> {
    let (is_put, is_ssh) = (matches!(wish, Wish::Put(_) | Wish::Look(_)), wish == Wish::Ssh);
    let (far, outcome) = Started::start(route, remote, wish).await?;
    let not_asked = || ReachError::NotAsked { address: escape_for_terminal(&remote.address()) };
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
        (is_silent && !self.through_ssh).then(|| Blocked { host: escape_for_terminal(&self.host), ports: self.ports })
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use crate::started::LOOK;
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

    pub(crate) fn route() -> Route {
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
