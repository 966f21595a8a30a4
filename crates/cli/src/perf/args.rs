//! What can be asked of `pcc perf`. The letters are iperf3's.

use super::habits::Habits;
use crate::utility::UtilityOptions;
use clap::ArgGroup;
use pcc::units::{Bytes, Rate};
use pcc_net::dial::Family;
use pcc_net::scope;
use pcc_net::tls::Fingerprint;
use pcc_perf::datagram::LargestDatagram;
use pcc_quic::Algorithm;
use pcc_quic::qlog::Qlog;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Measure a path
///
/// Measures how fast a path carries data, and how it feels meanwhile. Start a server at one end, and a client at the other
/// with the command that the server prints. The client sends; with -R it receives. The sender's congestion control decides,
/// so compare algorithms with -C pcc,cubic,bbr: they take turns on the same path, several rounds, and each is shown relative
/// to the first.
///
/// Rates are bits: 100Mbit, or 100M as for iperf3; or bytes: 12.5MB. Sizes are bytes: 5MB, 64KiB.
#[derive(clap::Args, Clone, Debug)]
#[command(
    group(ArgGroup::new("role").required(true).args(["server", "client", "host"])),
    disable_version_flag = true,
    after_help = "\
Examples:
  pcc perf -s                                        serve tests on UDP port 4433
  pcc perf -c example.org --fingerprint sha256=...   upload for 10 seconds
  pcc perf -c example.org -R -t 30 -P 4              download for 30 seconds in 4 streams
  pcc perf -c example.org -C pcc,cubic,bbr           compare, and print the ratios
  pcc perf -c example.org -n 100MB -J                upload 100 MB, print JSON
  pcc perf -c example.org -M 1252                    in datagrams of at most 1252 bytes

The server of any implementation of draft-banks-quic-performance will do (msquic, picoquic, quic-go,
s2n-quic); ours reports more. docs/perf.md is the guide, docs/json.md describes the JSON.

Exit codes: 0 done, 1 error, or a server's limit was met, 2 misused, 5 server unreachable, or silent at the end"
)]
pub(crate) struct Args {
    /// Serve tests
    #[arg(short = 's', long, help_heading = "Role")]
    pub(super) server: bool,

    /// Measure the path to this server (a name or an address)
    #[arg(short = 'c', long, value_name = "HOST", help_heading = "Role")]
    pub(super) client: Option<String>,

    /// The server, without -c
    #[arg(value_name = "HOST", help_heading = "Role")]
    pub(super) host: Option<String>,

    /// UDP port; 0 lets a server take any free one
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 4433, help_heading = "Role")]
    pub(super) port: u16,

    /// Local address to use
    #[arg(short = 'B', long, value_name = "ADDRESS", value_parser = scope::local, help_heading = "Role")]
    pub(super) bind: Option<SocketAddr>,

    /// Use IPv4 only
    #[arg(short = '4', long = "version4", conflicts_with = "ipv6", help_heading = "Role")]
    pub(super) ipv4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long = "version6", help_heading = "Role")]
    pub(super) ipv6: bool,

    /// The fingerprint of the server's certificate, as the server prints it; without it, an authority must vouch for
    /// the server
    #[arg(long, value_name = "sha256=HEX", conflicts_with = "server", help_heading = "Role")]
    pub(super) fingerprint: Option<Fingerprint>,

    /// Certificate authorities to trust, in PEM form
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "fingerprint"], help_heading = "Role")]
    pub(super) ca: Option<PathBuf>,

    /// Accept any certificate: a test holds no secrets, but its results may be anybody's
    #[arg(long, conflicts_with_all = ["server", "fingerprint", "ca"], help_heading = "Role")]
    pub(super) insecure: bool,

    /// Seconds to send, without the omitted ones [default: 10]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = some_seconds, conflicts_with_all = ["server", "bytes"], help_heading = "Test")]
    pub(super) time: Option<Duration>,

    /// Bytes to send instead, over all streams
    #[arg(short = 'n', long, value_name = "SIZE", value_parser = some_bytes, conflicts_with = "server", help_heading = "Test")]
    pub(super) bytes: Option<Bytes>,

    /// Parallel streams, of one connection
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = streams, conflicts_with = "server", help_heading = "Test")]
    pub(super) parallel: u32,

    /// Download: the server sends. A server of ours takes the -C given here, others use their own
    #[arg(short = 'R', long, conflicts_with_all = ["server", "bidir"], help_heading = "Test")]
    pub(super) reverse: bool,

    /// Upload and download at the same time
    #[arg(long, conflicts_with = "server", help_heading = "Test")]
    pub(super) bidir: bool,

    /// The highest rate of this end, all streams together (iperf3 counts each stream), for example 100M (bits); of a
    /// server, to each client; 0 for no limit. With -R and --bidir only the server takes it
    #[arg(short = 'b', long, value_name = "RATE", value_parser = bitrate, help_heading = "Test")]
    pub(super) bitrate: Option<Bitrate>,

    /// An application-limited source: the application has no more to send than this, all streams together; PCC may
    /// choose any rate
    #[arg(long, value_name = "RATE", conflicts_with_all = ["server", "reverse", "bidir"], help_heading = "Test")]
    pub(super) source: Option<Rate>,

    /// Send right after the handshake, as a short transfer would, without measuring the idle path
    #[arg(long, conflicts_with = "server", help_heading = "Test")]
    pub(super) at_once: bool,

    /// Seconds at the beginning to leave out of the result
    #[arg(short = 'O', long, value_name = "SECONDS", value_parser = seconds, default_value = "0", conflicts_with_all = ["server", "bytes"], help_heading = "Test")]
    pub(super) omit: Duration,

    /// Flow-control window and largest send buffer [default: enough for 1 Gbit/s and 200 ms]
    #[arg(short = 'w', long, value_name = "SIZE", value_parser = window, help_heading = "Test")]
    pub(super) window: Option<Bytes>,

    /// Largest UDP payload in bytes, from 1200 to 65527, for example 1252, or 8952 for jumbo frames with -M at both ends:
    /// path MTU discovery stops there, and the other end is told not to send larger ones
    #[arg(short = 'M', long, value_name = "SIZE", help_heading = "Test")]
    pub(super) set_mss: Option<LargestDatagram>,

    /// The sender's congestion control: pcc, cubic, bbr or newreno (reno); several (a,b,c) take turns [default: pcc]
    #[arg(short = 'C', long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "Congestion control")]
    pub(super) congestion: Vec<Algorithm>,

    #[command(flatten, next_help_heading = "Congestion control")]
    pub(super) utility_options: UtilityOptions,

    /// Turns of each algorithm, if there are several
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "server", help_heading = "Congestion control")]
    pub(super) rounds: u32,

    /// Seconds between two lines of results; 0 for none
    #[arg(short = 'i', long, value_name = "SECONDS", value_parser = seconds, default_value = "1", help_heading = "Output")]
    pub(super) interval: Duration,

    /// Print one JSON document, in iperf3's shape, at the end
    #[arg(short = 'J', long, help_heading = "Output")]
    pub(super) json: bool,

    /// Print JSON as it comes, one object a line
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(super) json_stream: bool,

    /// Append the output to this file instead
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) logfile: Option<PathBuf>,

    /// Write a qlog file of each connection into this directory, with PCC's intervals and decisions: docs/qlog.md
    #[arg(long, value_name = "DIR", value_parser = crate::sender::qlog, help_heading = "Output")]
    pub(super) qlog: Option<Qlog>,

    /// Print more: each stream, both ends' CPU, how PCC decides
    #[arg(short = 'V', long, help_heading = "Output")]
    pub(super) verbose: bool,

    /// Print the server's own counts at the end, if it is one of ours
    #[arg(long, conflicts_with = "server", help_heading = "Output")]
    pub(super) get_server_output: bool,

    /// End after one client
    #[arg(short = '1', long, conflicts_with_all = ["client", "host"], help_heading = "Server")]
    pub(super) one_off: bool,

    #[command(flatten)]
    pub(super) habits: Habits,

    /// Clients at a time
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with_all = ["client", "host"], help_heading = "Server")]
    pub(super) max_clients: u32,

    /// Bytes to send and receive in one connection
    #[arg(long, value_name = "SIZE", default_value = "1TB", value_parser = parse::<Bytes>, conflicts_with_all = ["client", "host"], help_heading = "Server")]
    pub(super) max_bytes: Bytes,

    /// Seconds that one connection may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "3600", conflicts_with_all = ["client", "host"], help_heading = "Server")]
    pub(super) max_time: Duration,
}

/// The most that may be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bitrate(Option<Rate>);

impl Args {
    /// The most that may be sent; none without a limit.
    pub(super) fn max_rate(&self) -> Option<Rate> {
        self.bitrate.and_then(|Bitrate(rate)| rate)
    }

    /// Whether this is the side that runs the test.
    pub(crate) const fn is_client(&self) -> bool {
        !self.server
    }

    /// The server of a client.
    pub(super) fn host(&self) -> Option<&str> {
        self.client.as_deref().or(self.host.as_deref())
    }

    /// Which versions of IP may be used.
    pub(super) const fn family(&self) -> Family {
        match (self.bind, self.ipv4, self.ipv6) {
            (Some(local), ..) => Family::Local(local),
            (_, true, _) => Family::V4,
            (_, _, true) => Family::V6,
            _ => Family::Any,
        }
    }
}

/// A number of seconds, with a fraction if wished; `10s` and `2m` are understood too.
fn seconds(written: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(30 * 86_400);
    let time = match written.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => humantime::parse_duration(written).ok(),
    };
    time.filter(|time| *time <= MOST).ok_or_else(|| "write seconds, like 10 or 0.5 (at most 30 days)".to_owned())
}

/// As `seconds`, but some: iperf3 takes 0 for no end, which here would be a test of nothing.
fn some_seconds(written: &str) -> Result<Duration, String> {
    seconds(written).and_then(|time| {
        if time.is_zero() { Err("a test takes some time; -t 86400 is a day".to_owned()) } else { Ok(time) }
    })
}

/// Some bytes: iperf3 takes 0 for no end.
fn some_bytes(written: &str) -> Result<Bytes, String> {
    let bytes: Bytes = parse(written)?;
    if bytes.get() == 0 { Err("a test moves some bytes; -t is for a test by time".to_owned()) } else { Ok(bytes) }
}

/// A rate; 0 is no limit, as for iperf3.
fn bitrate(written: &str) -> Result<Bitrate, String> {
    if written == "0" { Ok(Bitrate(None)) } else { parse(written).map(Some).map(Bitrate) }
}

/// The number of streams that one connection has here.
fn streams(written: &str) -> Result<u32, String> {
    let count = written.parse().ok().filter(|count| (1..=32).contains(count));
    count.ok_or_else(|| "choose 1 to 32: a test has at most 32 streams".to_owned())
}

/// A window that a transport can work with.
fn window(written: &str) -> Result<Bytes, String> {
    let bytes: Bytes = parse(written)?;
    if (1 << 14..=1 << 32).contains(&bytes.get()) { Ok(bytes) } else { Err("choose from 16KiB to 4GiB".to_owned()) }
}

fn parse<T: std::str::FromStr>(written: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    written.parse().map_err(|error: T::Err| error.to_string())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Alone {
        #[command(flatten)]
        args: Args,
    }

    /// The arguments of `pcc perf` for these words.
    pub(in crate::perf) fn asked(words: &str) -> Result<Args, clap::Error> {
        Alone::try_parse_from(core::iter::once("perf").chain(words.split_whitespace())).map(|alone| alone.args)
    }

    #[test]
    fn what_only_the_other_role_heeds_is_refused() {
        let fingerprint = format!("--fingerprint sha256={}", "0".repeat(64));
        let of_a_client = [
            "-t 1",
            "-n 1MB",
            "-P 1",
            "-R",
            "--bidir",
            "--source 1Mbit",
            "--at-once",
            "-O 0",
            "--rounds 3",
            &fingerprint,
            "--ca file",
            "--insecure",
            "--get-server-output",
        ];
        let of_a_server = ["-1", "--max-clients 100", "--max-bytes 1TB", "--max-time 3600"];
        let of_both = ["-b 1Mbit", "-w 1MiB", "-M 1300", "-C cubic", "-p 5", "-B ::1", "-4", "-6", "-J", "-V", "-i 1"];
        for (options, client, server) in
            [(&of_a_client[..], true, false), (&of_a_server, false, true), (&of_both, true, true)]
        {
            for option in options {
                let roles = ["-c host", "host", "-s"].map(|role| asked(&format!("{role} {option}")));
                assert_eq!(roles.each_ref().map(Result::is_ok), [client, client, server], "{option}");
                for refused in roles.into_iter().filter_map(Result::err) {
                    let said = refused.to_string();
                    assert!(said.contains("cannot be used with") && refused.exit_code() == 2, "{option}: {said}");
                }
            }
        }
    }
}
