//! `pcc serve`: a directory over HTTP/3.

mod announce;
mod answer;
mod body;
mod conditions;
mod digest;
mod files;
mod guests;
mod listing;
mod path;
mod root;
mod server;
mod upload;
mod version;

pub(crate) use guests::Guests;
pub(crate) use server::{Options, Server, start};
pub(crate) use upload::Token;

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::log::LogArgs;
use crate::sender::SenderArgs;
use crate::tls::Identity;
use announce::Announcer;
use anyhow::anyhow;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Serve a directory over HTTP/3
///
/// Prints the URL to give to `pcc get`. The URL carries the certificate's fingerprint, so that nobody needs a certificate
/// authority; the certificate is made at the first start and kept. Any HTTP/3 client may download: files by byte
/// ranges, with strong entity tags and BLAKE3 digests, directories as listings. Nothing outside DIR is ever served.
///
/// Ctrl-C lets transfers under way finish; a second Ctrl-C ends at once.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  pcc serve ~/isos
  pcc serve --listen 0.0.0.0:443 --cert fullchain.pem --key privkey.pem /srv/www
  PCC_TOKEN=secret pcc serve --writable --limit 200Mbit inbox")]
pub(crate) struct Args {
    /// The directory to serve
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Address and UDP port to listen on; port 0 takes any free one [default: `[::]:4433`, which includes IPv4]
    #[arg(short, long, value_name = "ADDRESS:PORT", help_heading = "Listening")]
    listen: Option<SocketAddr>,

    /// Certificate chain in PEM form, instead of one made here
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Listening")]
    cert: Option<PathBuf>,

    /// The certificate's private key in PEM form
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Listening")]
    key: Option<PathBuf>,

    /// Connections at a time; more are refused
    #[arg(long, value_name = "NUMBER", default_value_t = 256, help_heading = "Listening")]
    max_connections: usize,

    /// Connections at a time from one address (IPv6: from one /64 network)
    #[arg(long, value_name = "NUMBER", default_value_t = 64, help_heading = "Listening")]
    max_per_address: usize,

    /// Take uploads from whoever has the token; without --token-file or PCC_TOKEN one is made and printed
    #[arg(short, long, help_heading = "Uploads")]
    writable: bool,

    /// File whose first line is the token for uploads
    #[arg(long, value_name = "FILE", requires = "writable", help_heading = "Uploads")]
    token_file: Option<PathBuf>,

    #[command(flatten)]
    sender: SenderArgs,

    /// Print one JSON object a line: where it listens, then each request
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    log: LogArgs,
}

/// The port without `--listen`.
const PORT: u16 = 4433;

/// Runs it until it is told to end.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    args.log.start();
    let interrupt = Interrupt::listen(2)?;
    let identity = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => Identity::load(cert, key)?,
        _ => Identity::persistent()?,
    };
    let pinned = identity.self_signed;
    let (token, secret) = if args.writable { token(args.token_file.as_deref())? } else { (None, None) };
    let sender = args.sender.clone();
    sender.algorithm(None)?; // complain now, not at the first connection
    let transport: server::Transport = Arc::new(move |_, windows| {
        sender.transport(windows, None).unwrap_or_default() // the same call just worked
    });
    let (log, mut served) = mpsc::unbounded_channel();
    let options = |listen, identity| Options {
        root: args.dir.clone(),
        listen,
        identity,
        token,
        transport: transport.clone(),
        guests: Guests::new(args.max_connections, args.max_per_address),
        log: args.json.then(|| log.clone()),
    };
    let mut server = match args.listen {
        Some(listen) => start(options(listen, identity))?,
        None => start_anywhere(identity, options)?,
    };
    let announcer = Announcer { json: args.json, pinned, dir: &args.dir, secret: secret.as_deref() };
    announcer.announce(&server)?;
    loop {
        tokio::select! {
            Some(request) = served.recv() => announcer.request(&request)?,
            _ = interrupt.heard() => break,
        }
    }
    tracing::info!("finishing the transfers under way; Ctrl-C again ends them");
    tokio::select! {
        () = server.finish() => Ok(()),
        _ = interrupt.heard_times(2) => Err(anyhow!("transfers under way were cut off").context(Failure::Partial)),
    }
}

/// Listens on all addresses of both versions of IP, or of IPv4 where the system has no other.
fn start_anywhere(identity: Identity, options: impl Fn(SocketAddr, Identity) -> Options) -> anyhow::Result<Server> {
    let (v6, v4) = (SocketAddr::from(([0; 8], PORT)), SocketAddr::from(([0; 4], PORT)));
    match std::net::UdpSocket::bind("[::]:0") {
        Ok(_) => start(options(v6, identity)),
        Err(_) => start(options(v4, identity)),
    }
}

/// The token for uploads, and its text if it was made here and must be printed.
fn token(file: Option<&Path>) -> anyhow::Result<(Option<Token>, Option<String>)> {
    let given = crate::token::given(file)?;
    match given {
        Some(text) => Ok((Some(Token::new(&text)), None)),
        None => {
            let (token, text) = Token::generate()?;
            Ok((Some(token), Some(text)))
        }
    }
}
