//! `pcc relay`: where two computers behind NATs find each other.

use crate::interrupt::Interrupt;
use crate::log::LogArgs;
use crate::send::explained;
use core::num::NonZeroU32;
use core::time::Duration;
use pcc::units::Rate;
use pcc_net::listen::Listen;
use pcc_net::scope;
use pcc_net::tls::Identity;
use pcc_reach::{Limits, RelayServer};
use std::io::{self, Write, stdout};
use std::net::{IpAddr, SocketAddr};

const HELP: &str = "\
Examples:
  pcc relay
      on TCP and UDP port 3340; then `pcc send --relay HOST:3340 FILE` elsewhere
  pcc relay -l 443 --max-clients 16 --client-rate 5Mbit
      on TCP port 443 and UDP port 7842; then `pcc send --relay HOST FILE`

Exit codes: 0 ended in order, 1 error, 2 misused";

/// Run a relay for `pcc send --relay`: it brings computers behind NATs together
///
/// It moves packets between two computers as long as they have no direct path. It cannot read them. Everybody who reaches its port can
/// use it, within the limits below. Programs on iroh can use it too.
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Address and port to listen on, or one of them: TCP, and UDP of the same number (7842 for 443) [default: 3340]
    #[arg(short, long, value_name = "ADDRESS:PORT")]
    listen: Option<Listen>,

    /// Computers connected at a time; more are refused
    #[arg(long, value_name = "NUMBER", default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..))]
    max_clients: u32,

    /// The highest rate from each computer
    #[arg(long, value_name = "RATE", default_value = "10Mbit")]
    client_rate: Rate,

    #[command(flatten)]
    log: LogArgs,
}

/// The port without any.
const PORT: u16 = 3340;

/// Time for what is under way once the relay is told to end.
const END: Duration = Duration::from_millis(100);

/// Runs it until it is told to end.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    args.log.start();
    let interrupt = Interrupt::listen(1)?;
    let identity = Identity::persistent()?;
    let rate = args.client_rate.bytes_per_sec().clamp(1.0, f64::from(u32::MAX)) as u32;
    let limits = Limits { clients: args.max_clients, rate: NonZeroU32::new(rate).unwrap_or(NonZeroU32::MIN) };
    let listen = args.listen.unwrap_or(Listen::Everywhere(PORT)).address();
    let mut relay = RelayServer::start(listen, &identity, limits).await.map_err(explained)?;
    announce(relay.tcp, relay.udp)?;
    tokio::select! {
        ended = relay.run() => ended.map_err(explained)?,
        _ = interrupt.heard() => tokio::time::sleep(END).await,
    }
    Ok(())
}

fn announce(tcp: SocketAddr, udp: SocketAddr) -> io::Result<()> {
    let host = scope::reached_at(tcp.ip()).into_iter().next().unwrap_or(tcp.ip());
    let host = match host {
        IpAddr::V6(ip) => format!("[{ip}]"),
        IpAddr::V4(ip) => ip.to_string(),
    };
    let port = if tcp.port() == 443 { String::new() } else { format!(":{}", tcp.port()) };
    let mut out = stdout().lock();
    writeln!(out, "A relay on TCP port {} and UDP port {}. Send through it with", tcp.port(), udp.port())?;
    writeln!(out, "  pcc send --relay {host}{port} FILE")?;
    out.flush()
}
