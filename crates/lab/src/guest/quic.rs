//! Flows of the product itself: `pcc perf` as server and client, two processes in their flow's hosts.

use super::topology::Hosts;
use crate::spec::{Completion, FlowOutcome, FlowSample, FlowSpec, MonitorInterval};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How such a flow's algorithm is written: `quic:pcc`.
pub(crate) const PREFIX: &str = "quic:";
const PORT: &str = "4433";
/// Monitor intervals kept of a flow: as many as a plot of the run can show.
const MOST_INTERVALS: usize = 400;

/// A server and its clients: one that runs as long as the flow, or one for each short flow.
#[derive(Debug)]
pub(super) struct Transfer {
    server: Child,
    fingerprint: String,
    clients: Vec<Client>,
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
        Ok(Self { server, fingerprint, clients: Vec::new(), dir: dir.to_owned(), name })
    }

    fn errors(&self) -> PathBuf {
        self.dir.join(format!("{}-errors.txt", self.name))
    }

    /// Starts a client at the moment `at`. The calling thread ends up in the sender's namespace.
    pub(super) fn start(&mut self, hosts: &Hosts, flow: &FlowSpec, at: u64, step: u64) -> io::Result<()> {
        let seconds = |nanos: u64| (nanos as f64 / 1e9).to_string();
        let address = Ipv4Addr::from(hosts.receiver_address).to_string();
        let algorithm = flow.algorithm.strip_prefix(PREFIX).unwrap_or(&flow.algorithm);
        let output = self.dir.join(format!("{}-output-{}.json", self.name, self.clients.len()));
        hosts.sender.enter()?;
        let mut command = perf(&self.dir, &self.errors())?;
        command
            .args(["-c", &address, "-p", PORT, "--fingerprint", &self.fingerprint, "-C", algorithm])
            .args(["--json-stream", "--at-once"]);
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
    pub(super) fn finish(mut self, flow: &FlowSpec, rtt: u64, deadline: u64) -> io::Result<FlowOutcome> {
        let errors = self.errors();
        let ended = self.clients.iter_mut().map(|client| client.wait(deadline)).collect::<io::Result<Vec<_>>>();
        // The guest ends soon; whatever still runs ends with it.
        let _ = self.server.kill();
        let mut total = FlowOutcome::default();
        total.samples.push(FlowSample { at: flow.start, ..FlowSample::default() });
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
            let told = Told::read(&output, client.start, flow.size.is_some())?;
            if ended.is_some() && !told.ended {
                return Err(io::Error::other("the client of a flow printed no result"));
            }
            if flow.arrivals.is_empty() {
                return Ok(told.outcome(flow, rtt));
            }
            if told.ended {
                let finish = told.last.at.saturating_sub(rtt / 2);
                total.completions.push(Completion { start: client.start, finish, bytes: told.last.delivered });
                total.retire(told.last);
            }
        }
        Ok(total)
    }
}

impl FlowOutcome {
    /// Adds what a short flow moved to the sum of those before it.
    fn retire(&mut self, one: FlowSample) {
        let before = self.samples.last().copied().unwrap_or_default();
        let delivered = before.delivered + one.delivered;
        self.samples.push(FlowSample { delivered, sent: before.sent + one.sent, at: one.at.max(before.at), ..one });
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

/// What a client told with `--json-stream`. Its intervals count what arrived, its end is exact.
#[derive(Debug, Default)]
struct Told {
    samples: Vec<FlowSample>,
    last: FlowSample,
    /// With the length of each in ns.
    intervals: Vec<(f64, MonitorInterval)>,
    ended: bool,
}

impl Told {
    /// Reads the output of a client that was started at `start`, of a flow that ends when the `whole` has arrived or not.
    fn read(output: &str, start: u64, whole: bool) -> io::Result<Self> {
        let mut told = Self::default();
        let mut connect = 0;
        for line in output.lines() {
            let event: Value = serde_json::from_str(line)
                .map_err(|error| io::Error::other(format!("the client of a flow printed `{line}`: {error}")))?;
            match event["event"].as_str() {
                Some("interval") => told.interval(&event["data"], start),
                Some("end") => connect = told.end(&event["data"], start, whole)?,
                Some("error") => {
                    return Err(io::Error::other(format!("the client of a flow reports {}", event["data"])));
                }
                _ => {}
            }
        }
        // Its clock starts behind the handshake.
        for at in told.samples.iter_mut().map(|sample| &mut sample.at).chain([&mut told.last.at]) {
            *at += connect;
        }
        Ok(told)
    }

    fn interval(&mut self, data: &Value, start: u64) {
        let (sum, pcc) = (&data["sum"], &data["pcc"]);
        let datagram = number(&sum["pmtu"]).max(1.0);
        let arrived = number(&sum["bytes"]);
        self.last.at = start + nanos(&sum["end"]);
        self.last.delivered += arrived as u64;
        self.last.sent += (arrived * number(&pcc["waste"])) as u64;
        self.last.retransmitted += (number(&sum["retransmits"]) * datagram) as u64;
        self.last.rtt = number(&sum["rtt"]) as u32;
        self.last.cwnd = (number(&sum["snd_cwnd"]) / datagram) as u32;
        self.last.rate = number(&pcc["rate_bps"]) as u64;
        self.samples.push(self.last);
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

    /// Returns how long the handshake took. `whole`: the flow was over when all of it had arrived.
    fn end(&mut self, data: &Value, start: u64, whole: bool) -> io::Result<u64> {
        let connect = data["pcc"]["connect_ms"].as_f64();
        let connect = connect.ok_or_else(|| io::Error::other("the program under test does not tell `connect_ms`"))?;
        let arrived = number(&data["sum_received"]["bytes"]) as u64;
        self.last.sent = number(&data["pcc"]["wire_bytes"]) as u64;
        self.last.retransmitted = self
            .last
            .retransmitted
            .max((number(&data["sum_sent"]["retransmits"]) * crate::spec::QUIC_DATAGRAM as f64) as u64);
        match self.samples.last_mut() {
            // What arrived after the end of a flow that lasts must not count in its time.
            Some(latest) if !whole => {
                (latest.sent, latest.retransmitted) = (self.last.sent, self.last.retransmitted);
                self.last = *latest;
            }
            _ => {
                self.last.at = start + nanos(&data["sum_received"]["seconds"]);
                self.last.delivered = arrived;
                // Its last interval ended at this moment but for the server's answer.
                self.samples.retain(|sample| sample.at < self.last.at);
                self.samples.push(self.last);
            }
        }
        self.ended = arrived > 0 && self.last.at > start;
        Ok((connect * 1e6) as u64)
    }

    /// Of the only client of a flow.
    fn outcome(self, flow: &FlowSpec, rtt: u64) -> FlowOutcome {
        let share = |reasons: &[&str]| {
            let held = self.intervals.iter().filter(|(_, interval)| reasons.contains(&interval.limited_by.as_str()));
            (held.map(|(length, _)| length).sum::<f64>() / 1e3) as u64
        };
        // A source that is limited, or comes to its end, is no fault of the host's.
        let bulk = flow.size.is_none() && flow.rate.is_none();
        let own = if bulk { &["host", "application"][..] } else { &["host"][..] };
        let (rwnd_limited, sndbuf_limited) = (share(&["receiver window"]), share(own));
        let busy = (self.intervals.iter().map(|(length, _)| length).sum::<f64>() / 1e3) as u64;
        let finished = (self.ended && flow.size.is_some()).then(|| self.last.at.saturating_sub(rtt / 2));
        let every = self.intervals.len().div_ceil(MOST_INTERVALS).max(1);
        let intervals = self.intervals.into_iter().step_by(every).map(|(_, interval)| interval).collect();
        let first = FlowSample { at: flow.start, ..FlowSample::default() };
        let samples = [first].into_iter().chain(self.samples).collect();
        let completions = Vec::new();
        FlowOutcome { samples, rwnd_limited, sndbuf_limited, busy, finished, completions, intervals }
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
        r#""pcc":{"wire_bytes":3300,"connect_ms":30}}}"#
    );

    fn flow() -> FlowSpec {
        FlowSpec { start: 5_000_000_000, ..FlowSpec::default() }
    }

    #[test]
    fn the_last_sample_is_the_exact_end_and_the_handshake_counts() {
        let output = format!("{OUTPUT}{END}");
        let outcome = Told::read(&output, 5_000_000_000, true).unwrap().outcome(&flow(), 20_000_000);
        let [first, interval, end] = outcome.samples[..] else { panic!("{:?}", outcome.samples) };
        assert_eq!((first.at, first.delivered), (5_000_000_000, 0));
        assert_eq!((interval.delivered, interval.sent, interval.retransmitted), (1000, 1500, 2904));
        assert_eq!((interval.rtt, interval.cwnd, interval.rate), (1871, 10, 20_000_000));
        assert_eq!((end.at, end.delivered, end.sent), (7_030_000_000, 3000, 3300));
        assert_eq!(outcome.finished, None, "it was meant to last");
    }

    #[test]
    fn what_arrives_after_the_end_of_a_flow_that_lasts_does_not_count() {
        let outcome = Told::read(&format!("{OUTPUT}{END}"), 0, false).unwrap().outcome(&flow(), 0);
        let last = outcome.samples.last().unwrap();
        assert_eq!((last.at, last.delivered, last.sent), (1_030_000_000, 1000, 3300));
    }

    #[test]
    fn the_last_byte_of_a_flow_of_a_size_arrives_half_a_round_trip_before_its_client_knows() {
        let flow = FlowSpec { size: Some(3000), ..flow() };
        let outcome = Told::read(&format!("{OUTPUT}{END}"), 5_000_000_000, true).unwrap().outcome(&flow, 20_000_000);
        assert_eq!(outcome.finished, Some(7_020_000_000));
    }

    #[test]
    fn monitor_intervals_tell_what_the_host_held_back() {
        let outcome = Told::read(&format!("{OUTPUT}{END}"), 5_000_000_000, true).unwrap().outcome(&flow(), 0);
        assert_eq!((outcome.busy, outcome.sndbuf_limited, outcome.rwnd_limited), (400_000, 300_000, 0));
        let first = &outcome.intervals[0];
        assert_eq!((first.at, first.target_rate, first.rtt), (5_250_000_000, 8e6, 1500));
        assert_eq!((first.state.as_str(), first.utility), ("Starting", None));
    }

    #[test]
    fn a_client_that_was_cut_off_has_not_ended() {
        assert!(!Told::read(OUTPUT, 0, false).unwrap().ended);
        assert!(!Told::read("", 0, false).unwrap().ended);
        assert!(Told::read("no JSON", 0, false).is_err());
        let old = END.replace(r#","connect_ms":30"#, "");
        assert!(Told::read(&old, 0, false).unwrap_err().to_string().contains("connect_ms"));
    }
}
