//! `pcc tunnel`: TCP programs through a server.

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::log::LogArgs;
use crate::say;
use crate::sender::SenderArgs;
use crate::token::TokenArgs;
use crate::via::ViaArgs;
use crate::written_url::WrittenUrl;
use anyhow::{Context, anyhow};
use core::time::Duration;
use pcc_net::escape_for_terminal;
use pcc_net::tls::Trust;
use pcc_net::url::Url;
use pcc_quic::transport::Windows;
use pcc_tunnel::{Event, Forward, Port, Refused, StdioError, Target, Tunnel, Way, carry_stdio, local_port, serve_port};
use serde_json::{Value, json};
use std::io::{ErrorKind, Write, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const EXAMPLES: &str = "\
Examples, with the address and the token that `pcc serve --tunnel` prints:
  PCC_TOKEN=… pcc tunnel -L 2222:db.example.org:22 'https://host:4433/#sha256=…'
      then: ssh -p 2222 localhost
  PCC_TOKEN=… pcc tunnel -D 1080 'https://host:4433/#sha256=…'
      then: curl --socks5-hostname localhost:1080 http://intranet.example.org/
  ssh -o ProxyCommand=\"pcc tunnel --stdio %h:%p 'https://host:4433/#sha256=…'\" db.example.org
      with the token in PCC_TOKEN
  PCC_TOKEN=… pcc tunnel -D 1080 'https://host:4433/#sha256=…' --via wlan0 --via wwan0
      over two networks at once: what goes through it lives on when one fails

Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 error, 2 misused, 5 server unreachable";

/// Lead TCP connections through a server: port forwards and SOCKS5
///
/// The server is `pcc serve --tunnel`. It connects to the destination, and its rules (--allow) say which destinations there
/// are. Between the two PCC sends. Programs use a local port and need no change, and nobody needs to be root.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("port").required(true).multiple(true))]
pub(crate) struct Args {
    /// The server's address, as it printed it
    #[arg(value_parser = WrittenUrl)]
    url: Url,

    /// Lead connections to this local port to HOST:PORT, as the server sees it; may be repeated
    #[arg(short = 'L', long = "local", value_name = "[ADDRESS:]PORT:HOST:PORT", group = "port")]
    local: Vec<Forward>,

    /// Speak SOCKS5 at this local port; the server resolves names; may be repeated
    #[arg(short = 'D', long = "dynamic", value_name = "[ADDRESS:]PORT", value_parser = local_port, group = "port")]
    dynamic: Vec<SocketAddr>,

    /// Lead standard input and output to HOST:PORT, as ssh's ProxyCommand, until HOST closes the connection
    #[arg(long, value_name = "HOST:PORT", group = "port", conflicts_with_all = ["local", "dynamic", "json"])]
    stdio: Option<Target>,

    #[command(flatten)]
    token: TokenArgs,

    /// Time without a connection to the server after which to give up, once it was reached
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = crate::written::duration)]
    give_up: Duration,

    /// Time without data in either direction after which a tunnel ends
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = crate::written::duration)]
    idle: Duration,

    /// Write one JSON object a line to standard output
    #[arg(long)]
    json: bool,

    /// Trust the certificate authorities in this PEM file; a URL that names the certificate needs none
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    #[command(flatten)]
    via: ViaArgs,

    #[command(flatten)]
    sender: SenderArgs,

    #[command(flatten)]
    log: LogArgs,
}

/// Runs it until it is told to end.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    args.via.check()?;
    args.log.start();
    let token =
        args.token.token("no token: set PCC_TOKEN or use --token-file; `pcc serve --tunnel` prints the token")?;
    let interrupt = Interrupt::listen(1)?;
    let listeners = listen(&args).await?;
    let paths = args.via.paths(&args.sender);
    let mut sender = args.sender.clone();
    sender.limit = args.via.part_of(sender.limit);
    let transport = sender.transport(sender.algorithm(None)?, Windows::default(), &paths);
    let dialer = args.via.dialer(pcc_files::dialer(Trust::of(args.url.pin, args.ca.as_deref()), transport));
    let json = args.json;
    let way = Way {
        dialer,
        peer: args.url.peer.clone(),
        token,
        windows: Windows::default(),
        give_up: args.give_up,
        hear: Arc::new(move |event| {
            event.log();
            if json {
                say::object(&object(&event));
            }
        }),
    };
    let connected = tokio::select! {
        connected = Tunnel::connect(way) => connected,
        how = interrupt.heard() => return Err(anyhow!("not connected yet").context(how)),
    };
    let (tunnel, kept) = connected.map_err(told)?;
    announce(&listeners, &args)?;
    let mut ports = JoinSet::new();
    for (listener, port) in listeners {
        ports.spawn(serve_port(listener, port, tunnel.clone(), args.idle));
    }
    let ended = tokio::select! {
        refused = kept => Err(told(refused)),
        carried = carry(&tunnel, args.stdio.as_ref()) => carried,
        _ = interrupt.heard() => Ok(()),
    };
    tunnel.close().await;
    paths.save();
    ended
}

/// Carries standard input and output, if that was asked for.
async fn carry(tunnel: &Tunnel, to: Option<&Target>) -> anyhow::Result<()> {
    match to {
        Some(to) => stdio_end(carry_stdio(tunnel, to).await, told),
        None => core::future::pending().await,
    }
}

/// How a command ends whose standard input and output were carried.
pub(crate) fn stdio_end(
    carried: Result<(), StdioError>,
    told: impl FnOnce(Refused) -> anyhow::Error,
) -> anyhow::Result<()> {
    match carried {
        Err(StdioError::Refused(refused)) => Err(told(refused)),
        // The program at this end has ended.
        Err(StdioError::Broken(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        carried => carried.context("the session broke off"),
    }
}

fn told(refused: Refused) -> anyhow::Error {
    let failure = if refused.is_unreachable() { Failure::Unreachable } else { Failure::Error };
    anyhow::Error::new(refused).context(failure)
}

async fn listen(args: &Args) -> anyhow::Result<Vec<(TcpListener, Port)>> {
    let forwards = args.local.iter().map(|forward| (forward.listen, Port::Forward(forward.target.clone())));
    let mut listeners = Vec::new();
    for (address, port) in forwards.chain(args.dynamic.iter().map(|address| (*address, Port::Socks))) {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("could not listen on TCP {address}; choose another port"))?;
        if matches!(port, Port::Socks) && !address.ip().is_loopback() {
            tracing::warn!("everybody who reaches TCP {address} can use the tunnel: SOCKS asks for no password here");
        }
        listeners.push((listener, port));
    }
    Ok(listeners)
}

/// An event, for programs.
fn object(event: &Event<'_>) -> Value {
    match event {
        Event::Opened { from, target } => {
            json!({"event": "opened", "from": from.to_string(), "target": target.to_string()})
        }
        Event::Closed { from, target, bytes } => {
            json!({"event": "closed", "from": from.to_string(), "target": target.to_string(), "bytes": bytes})
        }
        Event::Broken { from, bytes, reason } => {
            json!({"event": "broken", "from": from.to_string(), "bytes": bytes, "reason": escape_for_terminal(reason)})
        }
        Event::Lost { reason } => json!({"event": "lost", "reason": escape_for_terminal(reason)}),
        Event::Again => json!({"event": "connected"}),
        _ => json!({"event": "other"}),
    }
}

fn announce(listeners: &[(TcpListener, Port)], args: &Args) -> anyhow::Result<()> {
    if args.json {
        for (listener, port) in listeners {
            let target = if let Port::Forward(target) = port { Some(target.to_string()) } else { None };
            say::object(
                &json!({"event": "listening", "address": listener.local_addr()?.to_string(), "target": target}),
            );
        }
        return Ok(());
    }
    let mut out = stdout().lock();
    for (listener, port) in listeners.iter().filter(|_| !args.log.quiet) {
        let address = listener.local_addr()?;
        match port {
            Port::Forward(target) => writeln!(out, "{address} leads to {target}")?,
            Port::Socks => writeln!(out, "{address} speaks SOCKS5")?,
        }
    }
    Ok(out.flush()?)
}
