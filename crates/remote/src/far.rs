//! The far side: a server for one transfer, or an upload to another computer, in a program that ssh starts.

use crate::far_error::FarError;
use crate::greeting::{self, Answer, FORM, Listening, Order, Outcome, Refusal, Request, Sending, Wish};
use crate::greeting_error::GreetingError;
use crate::ground::Ground;
use core::hash::{BuildHasher, Hasher};
use core::time::Duration;
use pcc_files::bear_silence;
use pcc_files::serve::{self, Guests, Privacy, Server, Token, Transport, Tunnels, start};
use pcc_net::alias::{Alias, CopyName};
use pcc_net::channel::Channel;
use pcc_net::listen::Listen;
use pcc_net::paths::Paths;
use pcc_net::ports::Ports;
use pcc_net::tls::Identity;
use pcc_net::url::Url;
use pcc_tunnel::Gate;
use std::hash::RandomState;
use std::io::{self, stdin, stdout};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::Instant;

/// Connections at a time: the one of the transfer, and those that it lost and that have not timed out.
const GUESTS: usize = 8;

/// The longest time without a connection, whatever the near side asks for. ssh tells when the near side goes in good order; this
/// is for the times when it does not.
const LONGEST_PATIENCE: Duration = Duration::from_secs(3600);

/// The longest time without data in a way to the ssh server. A shell may be silent for days, and ssh tells when it ends.
const LONGEST_SESSION: Duration = Duration::from_secs(365 * 24 * 3600);

/// The time that the near side may need beyond its patience: an attempt to connect that is under way at the end.
const GRACE: Duration = Duration::from_secs(20);

/// How often to look whether anybody is connected.
const LOOK: Duration = Duration::from_secs(1);

/// How often a port is looked for: another program may take it between the look and the use.
const ATTEMPTS: u32 = 5;

/// The carrier of the packets of a transfer.
#[derive(Clone, Debug)]
pub enum Carrier {
    /// The network, with what is known of its paths.
    Udp(Paths),
    /// ssh's connection. TCP decides about the rate there, and no path is learnt.
    Ssh,
}

impl Carrier {
    fn paths(&self) -> Paths {
        match self {
            Self::Udp(paths) => paths.clone(),
            Self::Ssh => Paths::none(),
        }
    }
}

/// The options that the far side gets from the program in which it runs.
pub struct Options {
    /// Earlier transfers' knowledge of their paths.
    pub paths: Paths,
    /// How to send.
    pub transport: Box<dyn Fn(&Carrier) -> Transport + Send + Sync>,
    /// The words of a refusal behind the error, for the person on the near side.
    pub advice: fn(&FarError) -> &'static str,
}

/// The near side's wish, begun.
pub enum Begun {
    /// To serve one transfer.
    Transfer(Transfer),
    /// To upload to another server.
    Errand(Errand),
}

/// A server for one transfer.
pub struct Transfer {
    server: Server,
    paths: Paths,
    patience: Duration,
    /// Whether it leads to the ssh server.
    is_session: bool,
    /// The port of the server, if packets come through ssh.
    through: Option<u16>,
    /// In the place of a directory that only a real upload would make.
    _empty: Option<TempDir>,
}

impl Begun {
    /// Reads from standard input what the near side wants, and says on standard output that it begins: where a server is, or that
    /// there is something to upload.
    ///
    /// Errors: of most the near side has heard, which are [`FarError::Told`].
    pub async fn hear(options: Options) -> Result<Self, FarError> {
        let asked = tokio::task::spawn_blocking(|| greeting::request(stdin().lock())).await.map_err(io::Error::from)?;
        let begun = asked.and_then(|request| match request.wish {
            Wish::Send(order) => Ok((Outcome::Sending(Sending {}), Self::Errand(Errand::new(*order)?))),
            _ => {
                let (transfer, listening) = Transfer::begin(&request, &options)?;
                Ok((Outcome::Listening(listening), Self::Transfer(transfer)))
            }
        });
        match begun {
            Ok((outcome, begun)) => say(outcome).map(|()| begun).map_err(FarError::from),
            Err(error) => {
                say(Outcome::Refused(Refusal::of(&error, (options.advice)(&error))))?;
                Err(FarError::Told(Box::new(error)))
            }
        }
    }
}

impl Transfer {
    fn begin(request: &Request, options: &Options) -> Result<(Self, Listening), FarError> {
        let Started { server, paths, listening, empty } = Started::new(request, options)?;
        let patience = request.patience().min(LONGEST_PATIENCE) + GRACE;
        let through = request.through_ssh.then_some(server.address.port());
        let transfer = Self { server, paths, patience, is_session: request.wish == Wish::Ssh, through, _empty: empty };
        Ok((transfer, listening))
    }

    /// Serves until ssh's connection ends, or nobody has been connected for as long as the near side tries to come back.
    ///
    /// Errors: packets cannot come through ssh.
    pub async fn serve(mut self) -> Result<(), FarError> {
        let left = pass_input_on(self.through)?;
        let abandoned = is_abandoned(&self.server, self.patience);
        tokio::select! {
            () = left.heard() => {}
            () = abandoned => {}
        }
        // A transfer that is under way may outlive ssh's connection, and a session does not.
        if !self.is_session {
            self.server.finish().await;
        }
        self.paths.save();
        Ok(())
    }
}

/// An upload to another server.
pub struct Errand {
    /// Files and directories; at least one.
    pub sources: Vec<PathBuf>,
    /// Options of `pcc put`, as the near side's user wrote them.
    pub options: Vec<String>,
    /// The destination.
    pub url: Url,
    /// Whether ssh started the server there, so that both ends act for one user.
    pub same_user: bool,
    /// For uploads there.
    pub token: String,
    /// Columns of the terminal that shows this program's standard error, if one does.
    pub columns: Option<u16>,
}

impl Errand {
    fn new(order: Order) -> Result<Self, FarError> {
        let Order { from, options, url, written, token, columns } = order;
        let (sources, same_user) = (Ground::to_send(&from)?, written.is_some());
        let url: Url = url.parse().map_err(|_| FarError::NoUrl)?;
        let path = url.encoded_path().to_owned();
        let alias = written.map(|written| Alias { path, written, name: CopyName::Written(String::new()) });
        Ok(Self { sources, options, url: Url { alias: alias.map(Arc::new), ..url }, same_user, token, columns })
    }

    /// The other side, from now on.
    ///
    /// Errors: the system refuses it.
    pub fn left() -> Result<Left, FarError> {
        pass_input_on(None)
    }
}

/// Resolves when nobody has been connected for so long.
async fn is_abandoned(server: &Server, patience: Duration) {
    let mut last = Instant::now();
    while last.elapsed() < patience {
        tokio::time::sleep(LOOK).await;
        if server.is_in_use() {
            last = Instant::now();
        }
    }
}

fn say(outcome: Outcome) -> Result<(), GreetingError> {
    greeting::say(&Answer { form: FORM, version: env!("CARGO_PKG_VERSION").to_owned(), outcome }, stdout().lock())
}

/// Whether the near side is there.
#[derive(Clone, Debug)]
pub struct Left(watch::Receiver<()>);

impl Left {
    /// Resolves when ssh's connection ends.
    pub async fn heard(&self) {
        // Nothing is ever sent.
        let _ = self.0.clone().changed().await;
    }
}

/// Listens to ssh on threads of its own, which end with the program. With the port of a server, packets come and go through ssh.
fn pass_input_on(server: Option<u16>) -> Result<Left, FarError> {
    let (leave, left) = watch::channel(());
    let channel = server.map(Channel::open).transpose().map_err(FarError::Channel)?;
    if let Some(channel) = channel.clone() {
        std::thread::spawn(move || channel.send(stdout()));
    }
    std::thread::spawn(move || {
        // Whatever ends it, ssh's connection is of no more use.
        let _ = match channel {
            Some(channel) => channel.receive(stdin().lock()),
            None => io::copy(&mut stdin().lock(), &mut io::sink()).map(drop),
        };
        drop(leave);
    });
    Ok(Left(left))
}

/// A server that runs, before the near side knows of it.
struct Started {
    server: Server,
    paths: Paths,
    listening: Listening,
    empty: Option<TempDir>,
}

impl Started {
    fn new(request: &Request, options: &Options) -> Result<Self, FarError> {
        for _ in 1..ATTEMPTS {
            match Self::attempt(request, options) {
                Err(error) if error.is_port_taken() => {}
                begun => return begun,
            }
        }
        Self::attempt(request, options)
    }

    fn attempt(request: &Request, options: &Options) -> Result<Self, FarError> {
        let ssh_server = ssh_server(std::env::var("SSH_CONNECTION").ok().as_deref());
        let (ground, empty, led_to) = match &request.wish {
            Wish::Get(path) => (Ground::to_read(path)?, None, None),
            Wish::Put(path) => (Ground::to_write(path)?, None, None),
            Wish::Look(path) => Ground::to_compare(path).map(|(ground, empty)| (ground, empty, None))?,
            Wish::Ssh => {
                let (ground, empty) = Ground::nothing()?;
                (ground, Some(empty), Some(ssh_server.ok_or(FarError::NoSshServer)?))
            }
            // No server has a part in it.
            Wish::Send(_) => return Err(io::Error::from(io::ErrorKind::Unsupported).into()),
        };
        let listen =
            if request.through_ssh { SocketAddr::from((Ipv4Addr::LOCALHOST, 0)) } else { free(request.ports)? };
        let (token, token_text) = Token::generate()?;
        let (_, secret) = Token::generate()?;
        let is_upload = matches!(request.wish, Wish::Put(_));
        let carrier = if request.through_ssh { Carrier::Ssh } else { Carrier::Udp(options.paths.clone()) };
        let transport = (options.transport)(&carrier);
        let server = start(serve::Options {
            privacy: Privacy::below(&secret),
            token: is_upload.then_some(token),
            may_delete: true,
            same_user: true,
            transport: if led_to.is_some() { patient(transport, request.patience()) } else { transport },
            tunnels: led_to.map(|to| tunnels(token, to)).transpose()?,
            guests: Guests::new(GUESTS, GUESTS),
            ..serve::Options::new(ground.root, listen, Identity::generate()?)
        })?;
        let listening = Listening {
            port: server.address.port(),
            address: ssh_server.map(|server| server.ip().to_string()),
            fingerprint: server.fingerprint.to_string(),
            secret,
            token: (is_upload || led_to.is_some()).then_some(token_text),
            ssh_server: led_to,
            file: ground.file,
            name: ground.name,
            matches: ground.matches,
        };
        Ok(Self { server, paths: carrier.paths(), listening, empty })
    }
}

/// A free port of those that are wanted, on all addresses.
fn free(ports: Ports) -> Result<SocketAddr, FarError> {
    let everywhere = Listen::Everywhere(0).address();
    // No secret: the random keys of the standard library's maps will do.
    let [high, low, ..] = RandomState::new().build_hasher().finish().to_be_bytes();
    let port = ports.free(everywhere, u16::from_be_bytes([high, low])).ok_or(FarError::PortsTaken(ports))?;
    Ok(SocketAddr::new(everywhere.ip(), port))
}

/// Where the ssh server listens, by `SSH_CONNECTION`: the client's address and port, and then the server's.
fn ssh_server(connection: Option<&str>) -> Option<SocketAddr> {
    let mut words = connection?.split(' ').skip(2);
    let address: IpAddr = words.next()?.parse().ok()?;
    let port = words.next()?.parse().ok().filter(|port| *port != 0)?;
    Some((address.to_canonical(), port).into())
}

/// Ways to the ssh server for those who have the token, and to nothing else.
fn tunnels(token: Token, to: SocketAddr) -> Result<Tunnels, FarError> {
    let rule = to.to_string().parse().map_err(|_| FarError::NoSshServer)?;
    Ok(Tunnels { token, gate: Gate::new([rule].into_iter().collect(), GUESTS as u32, LONGEST_SESSION) })
}

/// The same transport, which bears silence for so long: ssh cannot go on over another connection.
fn patient(transport: Transport, silence: Duration) -> Transport {
    Arc::new(move |address, windows| {
        let mut config = transport(address, windows);
        bear_silence(&mut config, silence.min(LONGEST_PATIENCE));
        config
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_that_another_program_took_is_tried_again() {
        let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let listen = taken.local_addr().unwrap();
        let options = serve::Options::new(".", listen, Identity::generate().unwrap());
        let error = FarError::from(start(options).unwrap_err());
        assert!(error.is_port_taken() && !FarError::PortsTaken(Ports::default()).is_port_taken(), "{error:?}");
    }

    #[test]
    fn the_ssh_server_is_the_one_that_ssh_came_to() {
        let told = |connection| ssh_server(connection).map(|server| server.to_string());
        assert_eq!(told(Some("10.0.0.1 50000 10.0.0.2 22")).as_deref(), Some("10.0.0.2:22"));
        assert_eq!(told(Some("::1 1 fe80::1 2222")).as_deref(), Some("[fe80::1]:2222"));
        assert_eq!(told(Some("::1 1 ::ffff:10.0.0.2 22")).as_deref(), Some("10.0.0.2:22"));
        for none in [None, Some(""), Some("UNKNOWN 65535 UNKNOWN 65535"), Some("::1 1 ::1"), Some("::1 1 ::1 0")] {
            assert_eq!(told(none), None, "{none:?}");
        }
    }
}
