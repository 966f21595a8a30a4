//! The far side: `pcc serve --once-over-ssh`, which ssh starts for one transfer.

use super::greeting::{self, Answer, FORM, Listening, Outcome, Refusal, Request, Wish};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::sender::SenderArgs;
use crate::serve::Listen;
use anyhow::{Context, anyhow};
use core::hash::{BuildHasher, Hasher};
use core::time::Duration;
use pcc_files::serve::{Guests, Log, Metrics, Options, Privacy, Server, Token, start};
use pcc_net::channel::Channel;
use pcc_net::paths::Paths;
use pcc_net::tls::Identity;
use std::hash::RandomState;
use std::io::{self, stdin, stdout};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Connections at a time: the one of the transfer, and those that it lost and that have not timed out.
const GUESTS: usize = 8;

/// The longest time without a connection, whatever the near side asks for. ssh tells when the near side goes in good order; this
/// is for the times when it does not.
const LONGEST_PATIENCE: Duration = Duration::from_secs(3600);

/// What the near side may need beyond its patience: an attempt to connect that is under way at the end.
const GRACE: Duration = Duration::from_secs(20);

/// How often to look whether anybody is connected.
const LOOK: Duration = Duration::from_secs(1);

/// Runs it, until ssh's connection ends, or nobody has been connected for as long as the near side tries to come back.
pub(crate) async fn run(sender: &SenderArgs) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen(1)?;
    let asked = tokio::task::spawn_blocking(|| greeting::request(stdin().lock())).await?;
    let begun = asked.and_then(|request| Ok((Transfer::begin(&request, sender)?, request)));
    let (mut transfer, request) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            say(Outcome::Refused(Refusal::of(&error)))?;
            return Err(error);
        }
    };
    say(Outcome::Listening(transfer.listening.clone()))?;
    let left = pass_input_on(request.through_ssh.then_some(transfer.server.address.port()))?;
    tokio::select! {
        _ = left => {}
        () = transfer.is_abandoned(request.patience().min(LONGEST_PATIENCE) + GRACE) => {}
        how = interrupt.heard() => return Err(anyhow!("the transfer was cut off").context(how)),
    }
    // What is under way may outlive ssh's connection.
    tokio::select! {
        () = transfer.server.finish() => {}
        how = interrupt.heard() => return Err(anyhow!("the transfer was cut off").context(how)),
    }
    transfer.paths.save();
    Ok(())
}

fn say(outcome: Outcome) -> anyhow::Result<()> {
    greeting::say(&Answer { form: FORM, version: env!("CARGO_PKG_VERSION").to_owned(), outcome }, stdout().lock())
}

/// Listens to ssh on threads of its own, which end with the program. Resolves when ssh's connection ends. With the port of a
/// server, packets come and go through ssh.
fn pass_input_on(server: Option<u16>) -> anyhow::Result<oneshot::Receiver<()>> {
    let (leave, left) = oneshot::channel();
    let channel =
        server.map(Channel::open).transpose().context("could not open a UDP socket on the loopback interface")?;
    if let Some(channel) = channel.clone() {
        std::thread::spawn(move || channel.send(stdout()));
    }
    std::thread::spawn(move || {
        // Whatever ends it, ssh's connection is of no more use.
        let _ = match channel {
            Some(channel) => channel.receive(stdin().lock()),
            None => std::io::copy(&mut stdin().lock(), &mut std::io::sink()).map(drop),
        };
        drop(leave);
    });
    Ok(left)
}

/// A server for one transfer.
struct Transfer {
    server: Server,
    paths: Paths,
    listening: Listening,
    /// In the place of a directory that only a real upload would make.
    _empty: Option<TempDir>,
}

/// How often a port is looked for: another program may take it between the look and the use.
const ATTEMPTS: u32 = 5;

fn is_taken(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    kinds.map(io::Error::kind).any(|kind| kind == io::ErrorKind::AddrInUse)
}

impl Transfer {
    fn begin(request: &Request, sender: &SenderArgs) -> anyhow::Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::try_to_begin(request, sender) {
                Err(error) if is_taken(&error) => {}
                begun => return begun,
            }
        }
        Self::try_to_begin(request, sender)
    }

    fn try_to_begin(request: &Request, sender: &SenderArgs) -> anyhow::Result<Self> {
        let (ground, empty) = match &request.wish {
            Wish::Get(path) => (Ground::to_read(&at_home(path))?, None),
            Wish::Put(path) => (Ground::to_write(&at_home(path))?, None),
            Wish::Look(path) => Ground::to_compare(&at_home(path))?,
        };
        let listen = if request.through_ssh { SocketAddr::from((Ipv4Addr::LOCALHOST, 0)) } else { free(request)? };
        let (token, token_text) = Token::generate()?;
        let (_, secret) = Token::generate()?;
        let is_upload = matches!(request.wish, Wish::Put(_));
        let paths = if request.through_ssh { Paths::none() } else { sender.paths() };
        let (sender, algorithm, known) = (sender.clone(), sender.algorithm(None)?, paths.clone());
        let server = start(Options {
            root: ground.root,
            listen,
            identity: Identity::generate()?,
            privacy: Privacy::below(&secret),
            token: is_upload.then_some(token),
            tunnels: None,
            transport: Arc::new(move |address, windows| {
                sender.transport_of(&known.resume(&algorithm, address.ip()), windows)
            }),
            guests: Guests::new(GUESTS, GUESTS),
            log: Log::default(),
            metrics: Metrics::default(),
            http: None,
        })?;
        let listening = Listening {
            port: server.address.port(),
            address: address_of_ssh(std::env::var("SSH_CONNECTION").ok().as_deref()),
            fingerprint: server.fingerprint.to_string(),
            secret,
            token: is_upload.then_some(token_text),
            file: ground.file,
            name: ground.name,
        };
        Ok(Self { server, paths, listening, _empty: empty })
    }

    /// Resolves when nobody has been connected for so long.
    async fn is_abandoned(&self, patience: Duration) {
        let mut last = Instant::now();
        while last.elapsed() < patience {
            tokio::time::sleep(LOOK).await;
            if self.server.is_in_use() {
                last = Instant::now();
            }
        }
    }
}

/// A free port of those that are wanted, on all addresses.
fn free(request: &Request) -> anyhow::Result<SocketAddr> {
    let everywhere = Listen::Everywhere(0).address();
    // No secret: the random keys of the standard library's maps will do.
    let [high, low, ..] = RandomState::new().build_hasher().finish().to_be_bytes();
    let port = request
        .ports
        .free(everywhere, u16::from_be_bytes([high, low]))
        .ok_or_else(|| anyhow!("none of the UDP ports {} is free: name others with --port-range", request.ports))?;
    Ok(SocketAddr::new(everywhere.ip(), port))
}

/// This computer's address in `SSH_CONNECTION`: the client's address and port, and then the server's.
fn address_of_ssh(connection: Option<&str>) -> Option<String> {
    let address = connection?.split(' ').nth(2)?;
    address.parse::<std::net::IpAddr>().is_ok().then(|| address.to_owned())
}

/// What is served, and where in it the near side's path is.
#[derive(Debug, PartialEq, Eq)]
struct Ground {
    root: PathBuf,
    /// Below the root; empty for all of it.
    file: String,
    /// What to call a copy.
    name: String,
}

impl Ground {
    /// The file or the directory, and nothing beside it.
    fn to_read(path: &Path) -> anyhow::Result<Self> {
        let real = path.canonicalize().with_context(|| format!("could not read {}", path.display()))?;
        if real.is_dir() {
            return Self::all_of(real);
        }
        if !real.is_file() {
            let problem = format!("{} is neither a file nor a directory", path.display());
            return Err(anyhow!(problem).context(Failure::Usage));
        }
        let file = name_of(&real)?;
        // Who asks for a link gets its target under the name of the link.
        let name = name_of(path).unwrap_or_else(|_| file.clone());
        Ok(Self { root: real, file, name })
    }

    /// The directory that uploads go into, or the one around a file that they make or replace. A path that ends in a slash is
    /// a directory, which is made if need be.
    fn to_write(path: &Path) -> anyhow::Result<Self> {
        let display = path.display();
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") && !path.exists() {
            std::fs::create_dir(path).with_context(|| format!("could not make the directory {display}"))?;
        }
        if path.is_dir() {
            return Self::all_of(path.canonicalize().with_context(|| format!("could not open {display}"))?);
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root =
            above.canonicalize().with_context(|| format!("there is no directory for {display}: make it first"))?;
        let name = name_of(path)?;
        Ok(Self { root, file: name.clone(), name })
    }

    /// The same; nothing is made there.
    fn to_compare(path: &Path) -> anyhow::Result<(Self, Option<TempDir>)> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") && !path.exists() {
            let empty = tempfile::tempdir().context("could not make a temporary directory")?;
            let ground = Self::all_of(empty.path().canonicalize()?)?;
            return Ok((Self { name: name_of(path)?, ..ground }, Some(empty)));
        }
        Ok((Self::to_write(path)?, None))
    }

    fn all_of(root: PathBuf) -> anyhow::Result<Self> {
        let name = name_of(&root).unwrap_or_else(|_| "root".to_owned());
        Ok(Self { root, file: String::new(), name })
    }
}

/// As a shell there takes it: relative to the home directory, where ssh starts programs.
fn at_home(path: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    match path.strip_prefix('~') {
        Some("") => home().unwrap_or_else(|| ".".into()),
        Some(rest) if rest.starts_with('/') => {
            home().map_or(path.into(), |home| home.join(rest.trim_start_matches('/')))
        }
        _ if path.is_empty() => ".".into(),
        _ => path.into(),
    }
}

fn name_of(path: &Path) -> anyhow::Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).with_context(|| format!("{} has no name, or one that is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_another_program_took_is_no_failure_for_good() {
        let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let error =
            pcc_quic::socket::bind(taken.local_addr().unwrap()).map(drop).context("could not listen").unwrap_err();
        assert!(is_taken(&error) && !is_taken(&anyhow!("none is free")), "{error:?}");
    }

    #[test]
    fn a_path_is_read_and_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("photos")).unwrap();
        std::fs::write(top.join("photos/a"), "a").unwrap();
        let of = |path: &str| Ground::to_read(&top.join(path)).unwrap();
        let photos = top.join("photos");
        let all = Ground { root: photos.clone(), file: String::new(), name: "photos".into() };
        assert_eq!((of("photos"), of("photos/"), of("photos/.")), (all, of("photos"), of("photos")));
        assert_eq!(of("photos/a"), Ground { root: photos.join("a"), file: "a".into(), name: "a".into() });
        assert!(format!("{:#}", Ground::to_read(&top.join("none")).unwrap_err()).contains("none"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_gives_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("there")).unwrap();
        std::fs::write(top.join("there/file"), "a").unwrap();
        std::os::unix::fs::symlink("there/file", top.join("link")).unwrap();
        let ground = Ground::to_read(&top.join("link")).unwrap();
        assert_eq!(ground, Ground { root: top.join("there/file"), file: "file".into(), name: "link".into() });
    }

    #[test]
    fn uploads_go_into_a_directory_or_beside_their_place() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("in")).unwrap();
        let of = |path: &str| Ground::to_write(&top.join(path));
        assert_eq!((of("in").unwrap().root, of("in").unwrap().file.as_str()), (top.join("in"), ""));
        assert_eq!(of("new").unwrap(), Ground { root: top.clone(), file: "new".into(), name: "new".into() });
        assert_eq!(of("made/").unwrap().root, top.join("made"));
        assert!(format!("{:#}", of("no/such/dir").unwrap_err()).contains("make it first"));
    }

    #[test]
    fn the_address_is_the_one_that_ssh_came_to() {
        assert_eq!(address_of_ssh(Some("10.0.0.1 50000 10.0.0.2 22")).as_deref(), Some("10.0.0.2"));
        assert_eq!(address_of_ssh(Some("::1 1 fe80::1 22")).as_deref(), Some("fe80::1"));
        for none in [None, Some(""), Some("UNKNOWN 65535 UNKNOWN 65535")] {
            assert_eq!(address_of_ssh(none), None);
        }
    }
}
