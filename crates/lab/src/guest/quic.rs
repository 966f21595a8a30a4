//! Flows of the product itself: `pcc perf` as server and client, two processes in their flow's hosts.
//!
//! A client's knowledge of its server is old by half a round trip and up to the time between two reports. So sent and
//! arrived packets are counted at the interfaces, when the other flows are looked at too; only what a sender knows of
//! itself is the client's word.

use super::topology::Hosts;
use super::wire::Wire;
use crate::names::QUIC;
use crate::spec::{
    Completion, FlowOutcome, FlowSample, FlowSpec, MonitorInterval, QUIC_DATAGRAM, QUIC_PACKET, QUIC_PAYLOAD,
};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PORT: &str = "4433";
/// Monitor intervals kept of a flow: as many as a plot of the run can show.
const MOST_INTERVALS: usize = 400;
/// Bytes of a packet on the link beside its datagram, and beside its payload.
const LINK_HEADERS: u64 = QUIC_PACKET - QUIC_DATAGRAM;
const ALL_HEADERS: u64 = QUIC_PACKET - QUIC_PAYLOAD;

/// A server and its clients: one that runs as long as the flow, or one for each short flow.
#[derive(Debug)]
pub(super) struct Transfer {
    server: Child,
    fingerprint: String,
    clients: Vec<Client>,
    /// The traffic at the hosts' interfaces, from the flow's start on.
    passed: Vec<Wire>,
    dir: PathBuf,
    name: String,
}

/// A client and what it printed.
#[derive(Debug)]
struct Client {
    process: Child,
    output: PathBuf,
    /// When it was started. Unit: ns since the run began.
    start: u64,
}

impl Transfer {
    /// Starts the server. The calling thread ends up in its namespace.
    pub(super) fn prepare(dir: &Path, number: usize, hosts: &Hosts) -> io::Result<Self> {
        let name = format!("flow-{number}");
        let errors = dir.join(format!("{name}-errors.txt"));
        let address = Ipv4Addr::from(hosts.receiver_address).to_string();
        hosts.receiver.enter()?;
        let mut server = perf(dir, &errors)?
            .args(["-s", "--max-clients", "10000", "--json-stream", "-B", &address, "-p", PORT])
            .stdout(Stdio::piped())
            .spawn()?;
        let silent = || io::Error::other(format!("the server of a flow did not start: {}", text_of(&errors)));
        let mut line = String::new();
        let mut lines = BufReader::new(server.stdout.take().ok_or_else(silent)?);
        lines.read_line(&mut line)?;
        // It says a line of each client that goes, and must not be stopped by a pipe that nobody reads.
        super::spawn(move || drop(io::copy(&mut lines, &mut io::sink())))?;
        let listening: Value = serde_json::from_str(&line).map_err(|_| silent())?;
        let fingerprint = listening["data"]["fingerprint"].as_str().ok_or_else(silent)?.to_owned();
        Ok(Self { server, fingerprint, clients: Vec::new(), passed: Vec::new(), dir: dir.to_owned(), name })
    }

    fn errors(&self) -> PathBuf {
        self.dir.join(format!("{}-errors.txt", self.name))
    }

    /// Counts what has passed. The calling thread ends up in the receiver's namespace.
    pub(super) fn sample(&mut self, hosts: &Hosts, at: u64) -> io::Result<()> {
        self.passed.push(Wire::read(hosts, at)?);
        Ok(())
    }

    /// Stops its senders in the middle of whatever they do, or lets them go on.
    pub(super) fn pause(&self, is_paused: bool) {
        self.clients.iter().for_each(|client| super::pause(&client.process, is_paused));
    }

    /// Starts a client at the moment `at`. The calling thread ends up in the sender's namespace.
    pub(super) fn start(&mut self, hosts: &Hosts, flow: &FlowSpec, at: u64, step: u64) -> io::Result<()> {
        let seconds = |nanos: u64| (nanos as f64 / 1e9).to_string();
        let address = Ipv4Addr::from(hosts.receiver_address).to_string();
        let algorithm = flow.algorithm.strip_prefix(QUIC).unwrap_or(&flow.algorithm);
        let output = self.dir.join(format!("{}-output-{}.json", self.name, self.clients.len()));
        hosts.sender.enter()?;
        let mut command = perf(&self.dir, &self.errors())?;
        command.args(["-c", &address, "-p", PORT, "--fingerprint", &self.fingerprint, "-C", algorithm]).args([
            "--json-stream",
            "--at-once",
            "--get-server-output",
        ]);
        match flow.size {
            Some(bytes) => command.args(["-n", &format!("{bytes}B")]),
            None => command.args(["-t", &seconds(flow.stop - flow.start)]),
        };
        if flow.arrivals.is_empty() {
            command.args(["-V", "-i", &seconds(step)]);
        } else {
            command.args(["-i", "0"]);
        }
        if let Some(utility) = &flow.utility {
            command.args(["--utility", utility]);
        }
        if let Some(law) = &flow.law {
            command.args(["--law", law]);
        }
        if let Some(rate) = flow.rate {
            command.args(["--source", &format!("{rate}bit")]);
        }
        let process = command.stdout(File::create(&output)?).spawn()?;
        self.clients.push(Client { process, output, start: at });
        Ok(())
    }

    /// Waits for the clients' last words until `deadline` at most, ends all and reads what was measured. The last byte
    /// of a flow that ends by itself arrived half of `rtt` before its client knew.
    pub(super) fn finish(mut self, hosts: &Hosts, flow: &FlowSpec, rtt: u64, deadline: u64) -> io::Result<FlowOutcome> {
        let errors = self.errors();
        let ended = self.clients.iter_mut().map(|client| client.wait(deadline)).collect::<io::Result<Vec<_>>>();
        // The guest ends soon; whatever still runs ends with it.
        let _ = self.server.kill();
        let mut account = Account::default();
        for (client, ended) in self.clients.iter().zip(ended?) {
            let output = text_of(&client.output);
            match ended {
                // A flow that should have ended and did not is a result too.
                None if flow.size.is_some() => {}
                None => return Err(io::Error::other("the client of a flow did not end in time")),
                Some(status) if !status.success() => {
                    let (errors, last) = (text_of(&errors), output.lines().last().unwrap_or_default());
                    return Err(io::Error::other(format!("the client of a flow ended with {status}: {errors} {last}")));
                }
                Some(_) => {}
            }
            let told = Told::read(&output, client.start)?;
            if ended.is_some() && told.end.is_none() {
                return Err(io::Error::other("the client of a flow printed no result"));
            }
            account.add(client.start, told);
        }
        let all = Wire::read(hosts, deadline)?;
        Ok(account.outcome(flow, rtt, &self.passed, all))
    }
}

impl Client {
    fn wait(&mut self, deadline: u64) -> io::Result<Option<std::process::ExitStatus>> {
        loop {
            let status = self.process.try_wait()?;
            if status.is_some() || super::now() >= deadline {
                let _ = self.process.kill();
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The program under test, with nothing around it that could differ between two runs.
fn perf(dir: &Path, errors: &Path) -> io::Result<Command> {
    let mut command = Command::new(dir.join(super::PROGRAM));
    // The server's certificate is made below the home directory: from this run's randomness, for this run.
    let errors = File::options().create(true).append(true).open(errors)?;
    command.env_clear().env("HOME", dir).arg("perf").stdin(Stdio::null()).stderr(errors);
    Ok(command)
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// A sender at one moment, by its own account.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sender {
    /// Unit: ns since the run began.
    at: u64,
    /// Bytes of datagrams declared lost since the flow's start.
    retransmitted: u64,
    /// Smoothed. Unit: µs.
    rtt: u32,
    /// Unit: datagrams.
    cwnd: u32,
    /// The base rate of PCC. Unit: bit/s.
    rate: u64,
}

/// A client's words, by `--json-stream`.
#[derive(Debug, Default)]
struct Told {
    senders: Vec<Sender>,
    /// With the length of each in ns.
    intervals: Vec<(f64, MonitorInterval)>,
    /// When it knew that all was over, if it came to that. Unit: ns since the run began.
    end: Option<u64>,
    /// Bytes of payload that the server counted until it was all over.
    received: u64,
}

impl Told {
    /// Reads the output of a client that was started at `start`.
    fn read(output: &str, start: u64) -> io::Result<Self> {
        let mut told = Self::default();
        let mut connect = 0;
        for line in output.lines() {
            let event: Value = serde_json::from_str(line)
                .map_err(|error| io::Error::other(format!("the client of a flow printed `{line}`: {error}")))?;
            match event["event"].as_str() {
                Some("interval") => told.interval(&event["data"], start),
                Some("end") => connect = told.end(&event["data"], start)?,
                Some("server_output_json") => told.received = number(&event["data"][0]["side"]["received"]) as u64,
                Some("error") => {
                    return Err(io::Error::other(format!("the client of a flow reports {}", event["data"])));
                }
                _ => {}
            }
        }
        // Its clock starts behind the handshake.
        for at in told.senders.iter_mut().map(|sender| &mut sender.at).chain(&mut told.end) {
            *at += connect;
        }
        Ok(told)
    }

    fn interval(&mut self, data: &Value, start: u64) {
        let (sum, pcc) = (&data["sum"], &data["pcc"]);
        let datagram = number(&sum["pmtu"]).max(1.0);
        let before = self.senders.last().map_or(0, |sender| sender.retransmitted);
        self.senders.push(Sender {
            at: start + nanos(&sum["end"]),
            retransmitted: before + (number(&sum["retransmits"]) * datagram) as u64,
            rtt: number(&sum["rtt"]) as u32,
            cwnd: (number(&sum["snd_cwnd"]) / datagram) as u32,
            rate: number(&pcc["rate_bps"]) as u64,
        });
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for one in pcc["monitor_intervals"].as_array().into_iter().flatten() {
            let interval = MonitorInterval {
                at: start + nanos(&one["at"]),
                target_rate: number(&one["target_bps"]).round(),
                delivered_rate: number(&one["delivered_bps"]).round(),
                loss: rounded(number(&one["loss"])),
                rtt: (number(&one["rtt_ms"]) * 1e3) as u32,
                utility: one["utility_value"].as_f64().map(rounded),
                state: text(&one["state"]),
                limited_by: text(&one["limited_by"]),
            };
            self.intervals.push((number(&one["seconds"]) * 1e9, interval));
        }
    }

    /// Returns how long the handshake took.
    fn end(&mut self, data: &Value, start: u64) -> io::Result<u64> {
        let connect = data["pcc"]["connect_ms"].as_f64();
        let connect = connect.ok_or_else(|| io::Error::other("the program under test does not tell `connect_ms`"))?;
        if let Some(last) = self.senders.last_mut() {
            let all = (number(&data["sum_sent"]["retransmits"]) * QUIC_DATAGRAM as f64) as u64;
            last.retransmitted = last.retransmitted.max(all);
        }
        let seconds = &data["sum_received"]["seconds"];
        self.end = (number(&data["sum_received"]["bytes"]) > 0.0).then(|| start + nanos(seconds));
        Ok((connect * 1e6) as u64)
    }
}

/// The words of all clients of a flow.
#[derive(Debug, Default)]
struct Account {
    senders: Vec<Sender>,
    intervals: Vec<(f64, MonitorInterval)>,
    /// When each client that came to its end was started, when it knew of its end, and what had arrived.
    ended: Vec<(u64, u64, u64)>,
    received: u64,
    /// Whether a client did not come to its end.
    is_cut: bool,
}

impl Account {
    fn add(&mut self, start: u64, told: Told) {
        if self.senders.is_empty() {
            // It began with nothing.
            self.senders.push(Sender { at: start, ..Sender::default() });
        }
        let lost_before = self.senders.last().map_or(0, |sender| sender.retransmitted);
        let after = |sender: Sender| Sender { retransmitted: sender.retransmitted + lost_before, ..sender };
        self.senders.extend(told.senders.into_iter().map(after));
        self.intervals.extend(told.intervals);
        self.received += told.received;
        match told.end {
            Some(end) => self.ended.push((start, end, told.received)),
            None => self.is_cut = true,
        }
    }

    /// With what `passed` the interfaces when the flow was looked at, and `all` that passed in the end.
    fn outcome(self, flow: &FlowSpec, rtt: u64, passed: &[Wire], all: Wire) -> FlowOutcome {
        let first = passed.first().copied().unwrap_or_default();
        let counted = all.since(first).arrived.payload(ALL_HEADERS);
        // Data that arrived twice, and packets without data, passed too: the server knows how much of it all was payload.
        let is_known = !self.is_cut && self.received > 0 && counted > 0;
        let useful = if is_known { self.received as f64 / counted as f64 } else { 1.0 };
        let sample = |wire: &Wire| {
            let since = wire.since(first);
            let sender = self.sender_at(wire.at);
            FlowSample {
                at: wire.at,
                delivered: (since.arrived.payload(ALL_HEADERS) as f64 * useful) as u64,
                sent: since.sent.payload(LINK_HEADERS),
                retransmitted: sender.retransmitted,
                rtt: sender.rtt,
                cwnd: sender.cwnd,
                state: 0,
                rate: sender.rate,
            }
        };
        let samples = passed.iter().map(sample).collect();
        let arrival =
            |&(start, end, bytes): &(u64, u64, u64)| Completion { start, finish: end.saturating_sub(rtt / 2), bytes };
        let arrivals: Vec<_> = self.ended.iter().map(arrival).collect();
        let finished = arrivals.first().map(|one| one.finish);
        let finished = finished.filter(|_| flow.size.is_some() && flow.arrivals.is_empty());
        let completions = if flow.arrivals.is_empty() { Vec::new() } else { arrivals };
        let every = self.intervals.len().div_ceil(MOST_INTERVALS).max(1);
        let share = |reasons: &[&str]| {
            let held = self.intervals.iter().filter(|(_, interval)| reasons.contains(&interval.limited_by.as_str()));
            (held.map(|(length, _)| length).sum::<f64>() / 1e3) as u64
        };
        // A source that is limited, or comes to its end, is no fault of the host's.
        let bulk = flow.size.is_none() && flow.rate.is_none();
        let own = if bulk { &["host", "application"][..] } else { &["host"][..] };
        let (rwnd_limited, sndbuf_limited) = (share(&["receiver window"]), share(own));
        let busy = (self.intervals.iter().map(|(length, _)| length).sum::<f64>() / 1e3) as u64;
        let intervals = self.intervals.into_iter().step_by(every).map(|(_, interval)| interval).collect();
        FlowOutcome { samples, rwnd_limited, sndbuf_limited, busy, finished, completions, intervals }
    }

    /// A sender at a moment: its counter between what it said before and after, its state as said nearest to it.
    fn sender_at(&self, at: u64) -> Sender {
        let next = self.senders.partition_point(|sender| sender.at < at);
        let before = next.checked_sub(1).and_then(|place| self.senders.get(place)).copied();
        match (before, self.senders.get(next).copied()) {
            (None, first) => first.filter(|first| first.at <= at).unwrap_or_default(),
            (Some(last), None) => last,
            (Some(before), Some(after)) => {
                let part = (at - before.at) as f64 / (after.at - before.at).max(1) as f64;
                let lost = after.retransmitted.saturating_sub(before.retransmitted) as f64;
                let nearest = if part < 0.5 { before } else { after };
                Sender { at, retransmitted: before.retransmitted + (part * lost) as u64, ..nearest }
            }
        }
    }
}

/// As many digits as a plot can show.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// A number of seconds in ns.
fn nanos(value: &Value) -> u64 {
    (number(value) * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::super::wire::Count;
    use super::*;

    const OUTPUT: &str = concat!(
        r#"{"event":"start","data":{}}"#,
        "\n",
        r#"{"event":"interval","data":{"sum":{"end":1.0,"bytes":1000,"retransmits":2,"snd_cwnd":14520,"rtt":1871,"#,
        r#""pmtu":1452},"pcc":{"waste":1.5,"rate_bps":2e7,"monitor_intervals":[{"at":0.25,"seconds":0.1,"target_bps":8e6,"loss":0.1,"#,
        r#""rtt_ms":1.5,"utility_value":null,"state":"Starting","limited_by":"network"},"#,
        r#"{"at":0.5,"seconds":0.3,"limited_by":"host"}]}}}"#,
        "\n",
    );
    const END: &str = concat!(
        r#"{"event":"end","data":{"sum_received":{"seconds":2.0,"bytes":3000},"#,
        r#""sum_sent":{"retransmits":4},"pcc":{"wire_bytes":3300,"connect_ms":30}}}"#,
        "\n",
        r#"{"event":"server_output_json","data":[{"side":{"received":14160}}]}"#,
    );
    const SECOND: u64 = 1_000_000_000;

    fn flow() -> FlowSpec {
        FlowSpec { start: 5 * SECOND, ..FlowSpec::default() }
    }

    /// The traffic after `sent` full packets had left, and `arrived` of them had arrived.
    fn passed(at: u64, sent: u64, arrived: u64) -> Wire {
        let count = |packets: u64| Count { bytes: 90 + packets * QUIC_PACKET, packets: 1 + packets };
        Wire { at, sent: count(sent), arrived: count(arrived) }
    }

    fn outcome(output: &str, flow: &FlowSpec, rtt: u64) -> FlowOutcome {
        let wires = [passed(5 * SECOND, 0, 0), passed(6 * SECOND, 6, 4), passed(7 * SECOND, 12, 10)];
        let mut account = Account::default();
        account.add(5 * SECOND, Told::read(output, 5 * SECOND).unwrap());
        account.outcome(flow, rtt, &wires, passed(9 * SECOND, 14, 12))
    }

    #[test]
    fn bytes_count_when_they_arrive_not_when_the_client_hears() {
        // The client has heard of 1000 bytes when 4 packets have arrived.
        let cut = outcome(OUTPUT, &flow(), 20_000_000);
        let delivered: Vec<_> = cut.samples.iter().map(|sample| (sample.at / SECOND, sample.delivered)).collect();
        assert_eq!(delivered, [(5, 0), (6, 4 * QUIC_PAYLOAD), (7, 10 * QUIC_PAYLOAD)]);
        assert_eq!(cut.samples[2].sent, 12 * QUIC_DATAGRAM);
        // The server took 10 of 12 packets for data: the others came twice.
        let whole = outcome(&format!("{OUTPUT}{END}"), &flow(), 20_000_000);
        let delivered: Vec<_> = whole.samples.iter().map(|sample| sample.delivered).collect();
        assert_eq!(delivered, [0, 4 * 1180, 10 * 1180]);
        assert_eq!(whole.finished, None, "it was meant to last");
    }

    #[test]
    fn what_a_sender_says_of_itself_belongs_to_the_moment_nearest() {
        let whole = outcome(&format!("{OUTPUT}{END}"), &flow(), 0);
        let [start, middle, end] = whole.samples[..] else { panic!("{:?}", whole.samples) };
        assert_eq!((start.rtt, start.cwnd, start.rate, start.retransmitted), (0, 0, 0, 0));
        // It said so 1.03 s after its start: its handshake takes 30 ms.
        let lost = (4.0 * QUIC_DATAGRAM as f64 / 1.03) as u64;
        assert_eq!((middle.rtt, middle.retransmitted), (1871, lost));
        assert_eq!((end.rtt, end.cwnd, end.rate, end.retransmitted), (1871, 10, 20_000_000, 4 * QUIC_DATAGRAM));
        let said = |at: u64, rtt: u32, retransmitted: u64| Sender { at, rtt, retransmitted, ..Sender::default() };
        let account = Account { senders: vec![said(100, 10, 0), said(200, 20, 40)], ..Account::default() };
        let told = [100, 140, 175, 200, 300].map(|at| account.sender_at(at)).map(|one| (one.rtt, one.retransmitted));
        assert_eq!(told, [(10, 0), (10, 16), (20, 30), (20, 40), (20, 40)]);
    }

    #[test]
    fn the_last_byte_arrives_half_an_rtt_before_the_client_knows() {
        let flow = FlowSpec { size: Some(3000), ..flow() };
        let outcome = outcome(&format!("{OUTPUT}{END}"), &flow, 20_000_000);
        assert_eq!(outcome.finished, Some(7_020_000_000));
    }

    #[test]
    fn short_flows_are_timed_one_by_one() {
        let flow = FlowSpec { size: Some(3000), arrivals: vec![5 * SECOND], ..flow() };
        let outcome = outcome(&format!("{OUTPUT}{END}"), &flow, 20_000_000);
        let [one] = outcome.completions[..] else { panic!("{:?}", outcome.completions) };
        assert_eq!((one.start, one.finish, outcome.finished), (5 * SECOND, 7_020_000_000, None));
    }

    #[test]
    fn monitor_intervals_tell_what_the_host_held_back() {
        let outcome = outcome(&format!("{OUTPUT}{END}"), &flow(), 0);
        assert_eq!((outcome.busy, outcome.sndbuf_limited, outcome.rwnd_limited), (400_000, 300_000, 0));
        let first = &outcome.intervals[0];
        assert_eq!((first.at, first.target_rate, first.rtt), (5_250_000_000, 8e6, 1500));
        assert_eq!((first.state.as_str(), first.utility), ("Starting", None));
    }

    #[test]
    fn a_client_that_was_cut_off_has_not_ended() {
        assert!(Told::read(OUTPUT, 0).unwrap().end.is_none());
        assert!(Told::read("", 0).unwrap().end.is_none());
        assert!(Told::read("no JSON", 0).is_err());
        let old = END.replace(r#","connect_ms":30"#, "");
        assert!(Told::read(&old, 0).unwrap_err().to_string().contains("connect_ms"));
    }
}
