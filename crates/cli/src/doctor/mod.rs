//! `pcc doctor`: what the path to a server, and this computer, allow QUIC to do. `judge` says what that means, and what to do.

mod judge;

use crate::exit::Failure;
use crate::log::LogArgs;
use anyhow::anyhow;
use core::time::Duration;
use pcc_net::examine::{Answers, ExamineError, Examined, examine};
use pcc_net::tls::Trust;
use pcc_net::url::Url;
use pcc_report::finding::{Finding, Grade, page};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

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

/// Reads a host, a host and a port, or a URL.
fn server(written: &str) -> Result<Url, String> {
    let url = if written.contains("://") {
        written.to_owned()
    } else {
        let (authority, rest) = written.split_at(written.find(['/', '#']).unwrap_or(written.len()));
        let is_port =
            |(host, port): (&str, &str)| port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'));
        let port = if authority.rsplit_once(':').is_some_and(is_port) { String::new() } else { format!(":{PORT}") };
        let is_bare_ipv6 = authority.parse::<std::net::Ipv6Addr>().is_ok();
        let authority = if is_bare_ipv6 { format!("[{authority}]") } else { authority.to_owned() };
        format!("https://{authority}{port}{rest}")
    };
    url.parse::<Url>().map_err(|error| format!("{error:#}"))
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    args.log.start();
    let examined =
        examine(&args.server.peer, &Trust::of(args.server.pin, args.ca.as_deref())).await.map_err(explained)?;
    let findings = judge::findings(&examined);
    let text = if args.json { format!("{}\n", document(&examined, &findings)) } else { page(&findings) };
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

/// With how the command ends.
fn explained(error: ExamineError) -> anyhow::Error {
    let is_local = matches!(error, ExamineError::NoSocket(_));
    let error = anyhow::Error::new(error);
    if is_local { error } else { error.context(Failure::Unreachable) }
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
        "findings": findings,
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
