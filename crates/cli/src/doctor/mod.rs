//! `pcc doctor`: what the path to a server, and this computer, allow QUIC to do.
//!
//! | file | what it answers |
//! |---|---|
//! | `probe` | what a server answers that need not know us: reach, round trip, sizes, marks |
//! | `marks` | which ECN marks a connection has |
//! | `connect` | whether the server speaks HTTP/3 |
//! | `judge` | what that means, and what to do |
//! | `finding` | how it is told |

mod connect;
mod finding;
mod judge;
mod marks;
mod probe;

use crate::exit::Failure;
use crate::log::LogArgs;
use anyhow::{Context, anyhow};
use core::time::Duration;
use finding::{Finding, Grade};
use pcc_net::tls::Trust;
use pcc_net::url::{Peer, Url};
use pcc_quic::socket;
use probe::Answers;
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;
use tokio::net::TcpStream;

const HELP: &str = "\
Examples:
  pcc doctor host
      port 4433, where `pcc serve` and `pcc perf -s` listen
  pcc doctor www.example.org:443
      any HTTP/3 server
  pcc doctor 'https://host:4433/#sha256=…'
      checks the certificate, too

Exit codes: 0 nothing is missing, 1 the server answers and no connection comes about,
2 misused, 5 server unreachable";

/// Say what a path to a server, and this computer, allow: UDP, packet size, ECN, buffers, timers
///
/// It sends some fifty packets that every QUIC server answers, and makes one connection. Nothing is downloaded. `pcc perf -c HOST`
/// measures how fast the path is, and `pcc kernel doctor` looks at PCC for the kernel's TCP.
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The server: a host, with its port unless that is 4433, or a URL
    #[arg(value_name = "HOST[:PORT]|URL", value_parser = server)]
    server: Url,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// Trust the certificate authorities in this PEM file; a URL that names the certificate needs none
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    #[command(flatten)]
    log: LogArgs,
}

/// Where `pcc serve` and `pcc perf -s` listen.
const PORT: u16 = 4433;

/// Addresses of a host that are asked.
const MOST_ADDRESSES: usize = 4;

/// How long a host has to say something by TCP.
const TCP_PATIENCE: Duration = Duration::from_secs(2);

/// Sleeps by which the clock is judged, and how long each is.
const SLEEPS: usize = 50;
const SLEEP: Duration = Duration::from_micros(500);

/// Reads a host, a host and a port, or a URL.
fn server(written: &str) -> Result<Url, String> {
    let url = if written.contains("://") {
        written.to_owned()
    } else {
        let (authority, rest) = written.split_at(written.find(['/', '#']).unwrap_or(written.len()));
        let is_port =
            |(host, port): (&str, &str)| port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'));
        let port = if authority.rsplit_once(':').is_some_and(is_port) { "" } else { ":4433" };
        let is_bare_ipv6 = authority.parse::<std::net::Ipv6Addr>().is_ok();
        let authority = if is_bare_ipv6 { format!("[{authority}]") } else { authority.to_owned() };
        format!("https://{authority}{port}{rest}")
    };
    debug_assert_eq!(PORT, 4433, "it is written above");
    url.parse::<Url>().map_err(|error| format!("{error:#}"))
}

/// All that was measured.
#[derive(Debug)]
pub(super) struct Examined {
    peer: Peer,
    address: SocketAddr,
    answers: Answers,
    /// Only of hosts that answer nothing: whether they answer by TCP.
    tcp: Option<bool>,
    connected: Option<connect::Outcome>,
    /// A warning about the UDP buffers of this computer.
    buffers: Option<String>,
    /// How late this computer wakes up, at the median.
    late: Duration,
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    args.log.start();
    let examined = examine(&args).await?;
    let findings = judge::findings(&examined);
    let text = if args.json { format!("{}\n", document(&examined, &findings)) } else { finding::page(&findings) };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    let peer = &examined.peer;
    if examined.answers.round_trips.is_empty() {
        return Err(anyhow!("{peer} does not answer by UDP").context(Failure::Unreachable));
    }
    match findings.iter().find(|finding| finding.grade == Grade::Missing) {
        Some(missing) => Err(anyhow!("{peer}: {}: {}", missing.what, missing.found)),
        None => Ok(()),
    }
}

async fn examine(args: &Args) -> anyhow::Result<Examined> {
    let peer = args.server.peer.clone();
    let unknown = || format!("unknown host `{}`: check the spelling, or write its address instead", peer.host);
    let found = tokio::net::lookup_host((peer.host.as_str(), peer.port)).await.with_context(unknown);
    let addresses: Vec<_> = found.map_err(|error| error.context(Failure::Unreachable))?.take(MOST_ADDRESSES).collect();
    let mut told = None;
    for address in addresses {
        let bound = socket::bind(probe::local(address)).context("could not open a UDP socket")?;
        match probe::ask(bound.socket, address).await {
            Ok(answers) => {
                let is_answered = !answers.round_trips.is_empty();
                told = Some((address, answers, bound.warning));
                if is_answered {
                    break;
                }
            }
            // No way there by this version of IP, say.
            Err(error) => tracing::info!("{address}: {error}"),
        }
    }
    let (address, answers, buffers) = told
        .with_context(|| format!("no route to {peer}; check this computer's network"))
        .map_err(|error| error.context(Failure::Unreachable))?;
    let is_answered = !answers.round_trips.is_empty();
    let tcp = if is_answered { None } else { Some(answers_tcp(address).await) };
    let connected = if is_answered { Some(connect::connect(&peer, address, &trust(args)).await) } else { None };
    let late = tokio::task::spawn_blocking(lateness).await?;
    Ok(Examined { peer, address, answers, tcp, connected, buffers, late })
}

fn trust(args: &Args) -> Trust {
    match (&args.server.pin, &args.ca) {
        (Some(pin), _) => Trust::Pinned(*pin),
        (None, Some(file)) => Trust::Authorities(file.clone()),
        (None, None) => Trust::System,
    }
}

/// Whether the host says anything by TCP: that nobody listens is an answer, too.
async fn answers_tcp(address: SocketAddr) -> bool {
    match tokio::time::timeout(TCP_PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Err(_) => false,
    }
}

/// How late this computer wakes up a thread that sleeps, at the median. Blocks.
fn lateness() -> Duration {
    let mut late: Vec<_> = (0..SLEEPS)
        .map(|_| {
            let begun = Instant::now();
            std::thread::sleep(SLEEP);
            begun.elapsed().saturating_sub(SLEEP)
        })
        .collect();
    late.sort();
    late[SLEEPS / 2]
}

fn document(examined: &Examined, findings: &[Finding]) -> serde_json::Value {
    let Answers { round_trips, plain, marked, mtu, .. } = &examined.answers;
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    let rtt = round_trips.first().zip(round_trips.last()).map(
        |(least, most)| json!({"min": ms(least), "median": ms(&round_trips[round_trips.len() / 2]), "max": ms(most)}),
    );
    json!({
        "host": examined.peer.to_string(),
        "address": examined.address.to_string(),
        "reachable": !round_trips.is_empty(),
        "rtt_ms": rtt,
        "sent": plain.0 + marked.0,
        "answered": plain.1 + marked.1,
        "mtu": mtu,
        "findings": findings.iter().map(Finding::object).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_needs_neither_port_nor_scheme() {
        for (written, host, port) in [
            ("host", "host", 4433),
            ("host:443", "host", 443),
            ("192.0.2.1", "192.0.2.1", 4433),
            ("[2001:db8::1]:443", "2001:db8::1", 443),
            ("2001:db8::1", "2001:db8::1", 4433),
            ("host/dir/", "host", 4433),
            ("https://host/", "host", 443),
        ] {
            let peer = server(written).unwrap().peer;
            assert_eq!((peer.host.as_str(), peer.port), (host, port), "{written}");
        }
        assert!(server("").is_err() && server("a b").is_err());
    }
}
