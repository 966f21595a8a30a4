//! `pcc ssh`: the system's ssh, over a connection on which PCC sends.
//!
//! The tool becomes ssh, which starts the tool again as its `ProxyCommand` (`--stdio`). That one has a second ssh start a far side, as
//! `pcc get user@host:path` does, and leads the first one's bytes to the ssh server there.

use crate::command_line::{program, quote};
use crate::exit::Failure;
use crate::remote::{FarArgs, blocked};
use crate::session::Over;
use crate::tunnel::stdio_end;
use anyhow::{Context, anyhow};
use core::time::Duration;
use pcc_files::{bear_silence, dialer};
use pcc_net::dial::Transport;
use pcc_net::escape_for_terminal;
use pcc_net::paths::Paths;
use pcc_net::tls::Trust;
use pcc_net::url::Url;
use pcc_quic::Algorithm;
use pcc_quic::transport::{self, Windows};
use pcc_remote::{NotRemote, Remote, Wish};
use pcc_tunnel::{Refused, Target, Tunnel, Way, carry_stdio};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

const HELP: &str = "\
Examples:
  pcc ssh me@host
      a shell there; all that ssh takes may stand here
  pcc ssh -i key -p 2222 me@host 'tar c photos' > photos.tar
  rsync -a -e 'pcc ssh' photos me@host:
  GIT_SSH_COMMAND='pcc ssh' git clone me@host:project

In ~/.ssh/config, so that ssh, git, rsync and scp go this way to `host` by themselves:
  Host host
      ProxyCommand pcc ssh --stdio %r@%n:%p

Exit codes: those of ssh, which has the command's: 255 ssh failed; 1 no such ssh, 2 misused";

/// Log in, or run git and rsync, over a connection on which PCC sends: the system's ssh does all else
///
/// ssh logs in twice. The first login starts `pcc` on the other computer, which must have it, and takes a UDP port there. The
/// second one goes through that port to the same ssh server, and checks its host key as always.
#[derive(clap::Args, Debug)]
#[command(after_help = HELP, mut_arg("ssh", |arg| arg.short(None)), override_usage = "pcc ssh [OPTIONS] [SSH'S OPTIONS] [USER@]HOST [COMMAND]")]
pub(crate) struct Args {
    #[command(flatten)]
    far: FarArgs,

    /// Be ssh's ProxyCommand: carry a connection to the ssh server of this host over standard input and output
    #[arg(long, value_name = "USER@HOST:PORT", value_parser = place, conflicts_with = "words")]
    stdio: Option<Place>,

    /// As ssh has it: options, a host, and a command to run there in place of a shell
    #[arg(value_name = "HOST", required_unless_present = "stdio", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Where a login goes.
#[derive(Clone, Debug)]
struct Place {
    remote: Remote,
    port: u16,
}

/// As ssh's `%r@%n:%p` has it: an IPv6 address has no brackets, a user's name may have an `@`.
fn place(written: &str) -> Result<Place, String> {
    let wrong = || "write it like me@host:22; in ssh's configuration as %r@%n:%p".to_owned();
    let (address, port) = written.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?;
    let remote = Remote::at(address, "").map_err(|problem: NotRemote| format!("it {problem}"))?;
    Ok(Place { remote, port })
}

/// Silence that a session outlives. TCP's own limit is about as long.
const PATIENCE: Duration = Duration::from_secs(600);

/// Options of the first login, behind the user's, of which the first one counts. This login must not use the connection that it makes
/// possible, share one, or do the second login's work. It notices a network that is gone after [`PATIENCE`].
const FIRST: [&str; 11] = [
    "ProxyCommand=none",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "LogLevel=ERROR",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "ServerAliveInterval=60",
    "ServerAliveCountMax=10",
];

/// ssh's options that have a value (OpenSSH 10).
const WITH_VALUE: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Those that say how the host is reached and who logs in. They are for both logins, but for user and port, of which ssh tells its
/// ProxyCommand.
const FOR_BOTH: &str = "BbcFIiJmo";

/// ssh's options among its words that are for both logins: those in front of the host.
fn for_both(words: &[OsString]) -> Vec<String> {
    let (mut kept, mut words) = (Vec::new(), words.iter().map(|word| word.to_string_lossy()));
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty() && *letters != "-") else {
            break;
        };
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            if WITH_VALUE.contains(letter) {
                let value =
                    if rest.is_empty() { words.next().unwrap_or_default().into_owned() } else { rest.to_owned() };
                if FOR_BOTH.contains(letter) {
                    kept.extend([format!("-{letter}"), value]);
                }
                break;
            }
            if matches!(letter, '4' | '6') {
                kept.push(format!("-{letter}"));
            }
        }
    }
    kept
}

impl Args {
    /// The shell's command for ssh's connection.
    fn proxy(&self) -> anyhow::Result<String> {
        let ssh = self.far.ssh.clone().with(for_both(&self.words)).for_shell()?;
        let own = program()?.to_string_lossy().into_owned();
        let mut words = vec![own, "ssh".into(), "--ssh".into(), ssh];
        words.extend(["--port-range".into(), self.far.port_range.to_string()]);
        words.extend(self.far.program().into_iter().flat_map(|program| ["--remote-pcc".into(), program]));
        let quoted: Vec<_> = words.iter().map(|word| quote(word).replace('%', "%%")).collect();
        Ok(format!("{} --stdio %r@%n:%p", quoted.join(" ")))
    }

    /// Becomes ssh, and returns only if there is none.
    fn become_ssh(&self) -> anyhow::Result<()> {
        let ssh = &self.far.ssh;
        let error = ssh.over(&self.proxy()?, &self.words).exec();
        Err(error).with_context(|| format!("could not run `{ssh}`: install it, or name another command with --ssh"))
    }
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let Some(Place { remote, port }) = args.stdio else { return args.become_ssh() };
    let options = FIRST.into_iter().flat_map(|option| ["-o".to_owned(), option.to_owned()]);
    let mut far = args.far;
    far.ssh = far.ssh.with(["-p".to_owned(), port.to_string()].into_iter().chain(options));
    let mut reached = far.reach(&remote, Wish::Ssh, PATIENCE, Over::Udp).await?;
    let (url, token, server) = (reached.url.clone(), reached.token.take(), reached.ssh_server.take());
    let to = token.zip(server).context("the other side named no ssh server")?;
    let paths = Paths::load();
    let carried = tokio::select! {
        carried = carry(&url, to, &paths) => carried,
        () = reached.ended() => Err(anyhow!("the ssh that started pcc on {} ended", escape_for_terminal(&remote.host))),
        () = hung_up() => Ok(()),
    };
    paths.save();
    carried.map_err(|error| blocked(&reached, error, "name ports that are open with --port-range"))
}

/// Connects to the far side, and carries ssh's bytes until the session ends.
async fn carry(url: &Url, (token, server): (String, Target), paths: &Paths) -> anyhow::Result<()> {
    let (windows, algorithm, known) = (Windows::default(), Algorithm::default(), paths.clone());
    let transport = Transport::by_address(move |address| {
        let mut transport = transport::config(&known.resume(&algorithm, address), &windows);
        bear_silence(&mut transport, PATIENCE);
        transport
    });
    let (tunnel, kept) = Tunnel::connect(Way {
        dialer: dialer(Trust::of(url.pin, None), transport),
        peer: url.peer.clone(),
        token,
        windows,
        // ssh cannot go on over another connection.
        give_up: Duration::ZERO,
        hear: Arc::new(|_| {}),
    })
    .await
    .map_err(told)?;
    tokio::select! {
        carried = carry_stdio(&tunnel, &server) => stdio_end(carried, told),
        refused = kept => Err(told(refused)),
    }
}

/// With its exit code, and as what else looks for.
fn told(refused: Refused) -> anyhow::Error {
    let failure = if refused.is_unreachable() { Failure::Unreachable } else { Failure::Error };
    let error = match refused {
        Refused::Dial(error) => anyhow::Error::new(*error),
        refused => refused.into(),
    };
    error.context(failure)
}

/// Resolves when ssh has no more use for its connection, as it tells by SIGHUP.
async fn hung_up() {
    match signal(SignalKind::hangup()) {
        Ok(mut signal) => drop(signal.recv().await),
        // Then the signal ends this program.
        Err(_) => core::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn args(line: &str) -> Result<Args, clap::Error> {
        let crate::Command::Ssh(args) = crate::Cli::try_parse_from(line.split(' '))?.command else { panic!("{line}") };
        Ok(*args)
    }

    #[test]
    fn ssh_s_options_stay_ssh_s_and_some_are_for_both_logins() {
        for (line, both) in [
            ("pcc ssh host", ""),
            ("pcc ssh -p 2222 -l me -i key -4 host uname -i x", "-i key -4"),
            ("pcc ssh -tt6oFoo=bar -Fconfig -e none -v me@host", "-6 -o Foo=bar -F config"),
            ("pcc ssh -L 1:host:2 -NJjump -- host -i key", "-J jump"),
            ("pcc ssh --port-range 5000-5009 -q -o", "-o "),
        ] {
            let args = args(line).unwrap();
            assert_eq!(for_both(&args.words).join(" "), both, "{line}");
            let proxy = args.proxy().unwrap();
            assert!(proxy.ends_with(" --stdio %r@%n:%p") && !proxy[..proxy.len() - 8].contains("%r"), "{proxy}");
        }
        let quoted = args("pcc ssh --remote-pcc ~/100% --ssh my'ssh' -i a%b host").unwrap().proxy().unwrap();
        let words = r" --ssh 'myssh -i '\''a%%b'\''' --port-range 60000-61000 --remote-pcc '~/100%%' --stdio";
        assert!(quoted.contains(words), "{quoted}");
    }

    #[test]
    fn a_place_is_read_as_ssh_writes_it() {
        for (written, user, host, port) in [
            ("me@host:22", Some("me"), "host", 22),
            ("me@corp@host:2222", Some("me@corp"), "host", 2222),
            ("me@2001:db8::1:22", Some("me"), "2001:db8::1", 22),
            ("host:22", None, "host", 22),
        ] {
            let Place { remote, port: found } = place(written).unwrap();
            assert_eq!((remote.user.as_deref(), remote.host.as_str(), found), (user, host, port), "{written}");
        }
        for wrong in
            ["", "host", "host:", "host:0", "host:65536", "me@:22", "-oProxyCommand=x:22", "-x@host:22", "a b:22"]
        {
            assert!(place(wrong).is_err(), "{wrong}");
        }
        assert!(args("pcc ssh").is_err() && args("pcc ssh --stdio me@host:22 host").is_err());
    }
}
