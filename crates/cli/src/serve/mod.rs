//! `pcc serve`: a directory over HTTP/3.

mod announce;
mod log_rotation;
mod metrics_address;

use crate::exit::{Failure, misuse};
use crate::interrupt::Interrupt;
use crate::log::LogArgs;
use crate::remote;
use crate::sender::{SenderArgs, observed};
use announce::{Announcer, Source};
use anyhow::{Context, anyhow};
use core::time::Duration;
use pcc_files::serve::{
    Guests, Http, Lines, Log, LogFile, Metrics, Options, Privacy, Server, Token, Transport, Tunnels, Writing, expose,
    start, systemd,
};
use pcc_net::listen::Listen;
use pcc_net::paths::Paths;
use pcc_net::tls::Identity;
use pcc_tunnel::Gate;
use std::io::{IsTerminal, Write, stdout};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Serve a directory, or one file, over HTTP/3
///
/// Prints the `pcc get` line for the other side. Its URL carries the fingerprint of the server's certificate, so no
/// certificate authority is needed. The certificate is made at the first start and kept. Any HTTP/3 client may
/// download: files by byte ranges, with strong entity tags and BLAKE3 digests, directories as listings. Nothing outside
/// DIR is ever served.
///
/// On a terminal each request has a line. Ctrl-C and SIGTERM let transfers under way finish, within --grace; a second one ends at
/// once. `docs/serve.md` has the rest: systemd, logs, metrics.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  pcc serve ~/isos
  pcc serve big.iso
  pcc serve -p 443 --cert fullchain.pem --key privkey.pem /srv/www
  pcc serve --http 8080 ~/isos
  pcc serve --private ~/for-one-friend
  PCC_TOKEN=secret pcc serve --writable --limit 200Mbit inbox
  pcc serve --log /var/log/pcc/access.log --metrics 9443 /srv/www
  pcc serve --tunnel --allow db.example.org:22

Exit codes: 0 ended in order, 1 error, 2 misused, 3 transfers were cut off")]
pub(crate) struct Args {
    /// The directory to serve, or one file and nothing beside it
    ///
    /// With --tunnel and without DIR no file is served.
    #[arg(value_name = "DIR|FILE", default_value = ".", default_value_if("tunnel", "true", None))]
    dir: Option<PathBuf>,

    /// Address and UDP port to listen on, or one of them; port 0 takes any free one [default: port 4433 of all addresses]
    #[arg(short, long, value_name = "ADDRESS:PORT", help_heading = "Listening")]
    listen: Option<Listen>,

    /// UDP port to listen on, on all addresses
    #[arg(short, long, value_name = "PORT", conflicts_with = "listen", help_heading = "Listening")]
    port: Option<u16>,

    /// Serve the same read-only by HTTP over TCP, for browsers and curl: address and TCP port, or one of them
    ///
    /// With --cert the connections have TLS, by HTTP/1.1 and HTTP/2, and tell their clients of HTTP/3. Otherwise they are HTTP/1.1
    /// and not encrypted: everybody on the way can read and change what goes over them.
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Listening")]
    http: Option<Listen>,

    /// Certificate chain in PEM form, instead of one made here
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Listening")]
    cert: Option<PathBuf>,

    /// The certificate's private key in PEM form
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Listening")]
    key: Option<PathBuf>,

    /// Connections at a time; more are refused
    #[arg(long, value_name = "NUMBER", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Listening")]
    max_connections: u32,

    /// Connections at a time from one address (IPv6: from one /56 network)
    #[arg(long, value_name = "NUMBER", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Listening")]
    max_per_address: u32,

    /// Time that transfers under way have to finish once the server is told to end; new connections are refused
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = crate::written::duration, help_heading = "Listening")]
    grace: Duration,

    /// Serve only below an address that nobody can guess; its holders can read
    ///
    /// Without this option everybody who reaches the port can read everything in DIR. The address stays the same as
    /// long as the certificate's key does.
    #[arg(long, help_heading = "Reading")]
    private: bool,

    /// Take uploads from clients with the token; without --token-file or PCC_TOKEN a token is made and printed
    #[arg(short, long, help_heading = "Uploads")]
    writable: bool,

    /// Let clients with the token also delete files and empty directories; for `pcc put --delete`
    #[arg(long, requires = "writable", help_heading = "Uploads")]
    allow_delete: bool,

    /// File whose first line is the token for uploads and tunnels
    #[arg(long, value_name = "FILE", help_heading = "Uploads")]
    token_file: Option<PathBuf>,

    /// Lead TCP connections of clients with the token to the destinations of --allow; for `pcc tunnel`
    #[arg(long, help_heading = "Tunnels")]
    tunnel: bool,

    /// Destination of tunnels, for example db.example.org:22, *.example.org:443, 10.0.0.0/8:*, `[fd00::]/8:22` or *:443; may be
    /// repeated
    ///
    /// An address or a network also covers the names that resolve into it. Loopback and link-local addresses must be named
    /// as such: 127.0.0.1:22 or localhost:22.
    #[arg(long, value_name = "HOST:PORT", requires = "tunnel", help_heading = "Tunnels")]
    allow: Vec<pcc_tunnel::Rule>,

    /// Tunnels at a time from one address (IPv6: from one /56 network)
    #[arg(long, value_name = "NUMBER", requires = "tunnel", default_value_t = 128, help_heading = "Tunnels")]
    max_tunnels: u32,

    /// Time without data in either direction after which a tunnel ends
    #[arg(long, value_name = "DURATION", requires = "tunnel", default_value = "2h", value_parser = crate::written::duration, help_heading = "Tunnels")]
    tunnel_idle: Duration,

    #[command(flatten)]
    sender: SenderArgs,

    /// Print one JSON object a line: where it listens, then each request
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Add a line for each request to this file, in the Combined Log Format; `-` for standard output
    ///
    /// SIGHUP opens the file anew, for who rotates logs. No token, no query and no name of a private directory is in it.
    #[arg(long = "log", value_name = "FILE", help_heading = "Output")]
    access_log: Option<PathBuf>,

    /// Serve figures for Prometheus at this TCP address, or at this port of 127.0.0.1: http://127.0.0.1:PORT/metrics
    ///
    /// Who reaches the address can read them.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = metrics_address::parse, help_heading = "Output")]
    metrics: Option<SocketAddr>,

    #[command(flatten)]
    log: LogArgs,

    /// As `pcc get user@host:path` starts it there: what to serve comes from standard input
    #[arg(long, hide = true)]
    once_over_ssh: bool,
}

/// Runs it until it is told to end.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    if args.once_over_ssh {
        return remote::serve_once(&args.sender, args.log).await;
    }
    args.log.start();
    // Where there is something to serve there need not be a directory for temporary files.
    let empty = args.dir.is_none().then(tempfile::tempdir).transpose()?;
    let dir = args.dir.as_deref().or(empty.as_ref().map(|empty| empty.path())).unwrap_or(Path::new("."));
    let file = served_file(dir, args.writable)?;
    let interrupt = Interrupt::listen(2)?;
    let identity = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => Identity::load(cert, key)?,
        _ => Identity::persistent()?,
    };
    let pinned = identity.self_signed;
    let name = args.private.then(|| identity.private_name());
    let (token, secret) = token(&args)?;
    let (paths, metrics) = (args.sender.paths(), Metrics::default());
    let transport = transport(&args.sender, &paths, args.metrics.map(|_| metrics.clone()))?;
    let logs = Logs::open(&args)?;
    let listen = args.port.map(Listen::Everywhere).or(args.listen).unwrap_or_default();
    let server = start(Options {
        root: dir.to_owned(),
        listen: listen.address(),
        http: args.http.map(|listen| Http { listen: listen.address(), tls: !pinned }),
        identity,
        privacy: name.as_deref().map_or(Privacy::Public, Privacy::below),
        token: token.filter(|_| args.writable),
        may_delete: args.allow_delete,
        same_user: false,
        tunnels: token.filter(|_| args.tunnel).map(|token| Tunnels { token, gate: gate(&args) }),
        transport,
        guests: Guests::new(args.max_connections as usize, args.max_per_address as usize),
        log: logs.log,
        metrics: metrics.clone(),
    })?;
    let exposed = match args.metrics {
        Some(address) => Some(expose(metrics, address).await.with_context(|| {
            format!("could not listen on TCP {address}; choose another with --metrics ADDRESS:PORT")
        })?),
        None => None,
    };
    let announcer = Announcer {
        json: args.json,
        pinned,
        dir: args.dir.as_deref(),
        name,
        file,
        token: token.map(|_| source(secret.as_deref(), args.token_file.as_deref())),
        metrics: exposed,
        writable: args.writable,
        tunnel: args.tunnel,
    };
    announcer.announce(&server)?;
    systemd::ready();
    tokio::select! {
        _ = interrupt.heard() => {}
        failed = log_rotation::follow(logs.file) => failed?,
        () = systemd::alive() => {} // never ends
    }
    let ended = finish(server, &interrupt, args.grace).await;
    paths.save();
    for writing in logs.writing {
        tokio::task::spawn_blocking(|| writing.finish()).await?;
    }
    ended
}

/// How data is sent to each client, as far as the path to it is known; `figures` hear of it.
fn transport(sender: &SenderArgs, paths: &Paths, figures: Option<Metrics>) -> anyhow::Result<Transport> {
    let (sender, paths, algorithm) = (sender.clone(), paths.clone(), sender.algorithm(None)?);
    Ok(Arc::new(move |address, windows| {
        let mut algorithm = paths.resume(&algorithm, address.ip());
        if let Some(figures) = &figures {
            algorithm = observed(&algorithm, figures.observer());
        }
        sender.server_transport(&algorithm, windows)
    }))
}

/// Lets the transfers under way finish, within `grace` and until a second interrupt.
///
/// Errors: some were cut off.
async fn finish(mut server: Server, interrupt: &Interrupt, grace: Duration) -> anyhow::Result<()> {
    let written = humantime::format_duration(grace);
    if server.is_in_use() {
        tracing::warn!("finishing the transfers under way, within {written}; Ctrl-C again ends them");
    }
    systemd::stopping(grace);
    tokio::select! {
        () = server.finish() => Ok(()),
        _ = interrupt.heard_times(2) => Err(anyhow!("transfers under way were cut off").context(Failure::Partial)),
        () = tokio::time::sleep(grace) => {
            Err(anyhow!("transfers under way were cut off after --grace {written}").context(Failure::Partial))
        }
    }
}

/// Where requests are told.
#[derive(Default)]
struct Logs {
    log: Log,
    writing: Vec<Writing>,
    file: Option<LogFile>,
}

impl Logs {
    fn open(args: &Args) -> anyhow::Result<Self> {
        let mut logs = Self::default();
        match args.access_log.as_deref() {
            Some(path) if path == Path::new("-") => logs.add(stdout(), Lines::Combined),
            Some(path) => {
                let file = LogFile::open(path.to_owned())
                    .with_context(|| format!("--log: could not open {}", path.display()))?;
                logs.add(file.clone(), Lines::Combined);
                logs.file = Some(file);
            }
            None => {}
        }
        if let Some(lines) = lines(args) {
            logs.add(stdout(), lines);
        }
        Ok(logs)
    }

    fn add(&mut self, out: impl Write + Send + 'static, lines: Lines) {
        let (log, writing) = Log::to(out, lines);
        self.log = std::mem::take(&mut self.log).and(log);
        self.writing.push(writing);
    }
}

/// The name of the one file that is served. Uploads need a directory.
fn served_file(dir: &Path, writable: bool) -> anyhow::Result<Option<&str>> {
    if !dir.is_file() {
        return Ok(None);
    }
    let misuse = |problem| misuse!("{} is a file: {problem}", dir.display());
    if writable {
        return Err(misuse("--writable takes uploads into a directory; serve the one that the file is in"));
    }
    let name = dir.file_name().and_then(|name| name.to_str());
    name.map(Some).ok_or_else(|| misuse("its name is not UTF-8, and no URL can have it; rename it"))
}

/// What is printed of each request: for people on a terminal, unless it goes to the log anyway.
fn lines(args: &Args) -> Option<Lines> {
    let is_told = args.log.verbose > 0 || args.access_log.as_deref() == Some(Path::new("-"));
    let shown = stdout().is_terminal() && !args.log.quiet && !is_told;
    if args.json { Some(Lines::Json) } else { shown.then_some(Lines::ForPeople) }
}

/// Where tunnels may lead.
fn gate(args: &Args) -> Gate {
    if args.allow.is_empty() {
        tracing::warn!("no tunnel leads anywhere: name destinations with --allow HOST:PORT");
    }
    Gate::new(args.allow.iter().cloned().collect(), args.max_tunnels, args.tunnel_idle)
}

/// Where users find the token.
fn source<'a>(made: Option<&'a str>, file: Option<&'a Path>) -> Source<'a> {
    match (made, file) {
        (Some(made), _) => Source::Made(made),
        (None, Some(file)) => Source::File(file),
        (None, None) => Source::Variable,
    }
}

/// The token for uploads and tunnels if there are any, and its text if it was made here and must be printed.
fn token(args: &Args) -> anyhow::Result<(Option<Token>, Option<String>)> {
    if !args.writable && !args.tunnel {
        let misuse = "--token-file is for uploads and tunnels: add --writable or --tunnel";
        return if args.token_file.is_some() { Err(misuse!(misuse)) } else { Ok((None, None)) };
    }
    let given = crate::token::given(args.token_file.as_deref())?;
    match given {
        Some(text) => Ok((Some(Token::new(&text)), None)),
        None => {
            let (token, text) = Token::generate()?;
            Ok((Some(token), Some(text)))
        }
    }
}
