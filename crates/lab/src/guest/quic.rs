//! Flows of the product itself: `pcc perf` as server and client, two processes in their flow's hosts.

use super::topology::Hosts;
use crate::spec::{FlowOutcome, FlowSample, FlowSpec};
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

/// A server and its client, which runs as long as the flow.
#[derive(Debug)]
pub(super) struct Transfer {
    server: Child,
    client: Child,
    /// What the client printed.
    output: PathBuf,
    errors: PathBuf,
    start: u64,
}

impl Transfer {
    /// Starts both. The calling thread ends up in the sender's namespace.
    pub(super) fn start(dir: &Path, number: usize, hosts: &Hosts, flow: &FlowSpec, step: u64) -> io::Result<Self> {
        let file = |name: &str| dir.join(format!("flow-{number}-{name}"));
        let (output, errors) = (file("output.json"), file("errors.txt"));
        let perf = |errors: &Path| {
            let mut command = Command::new(dir.join(super::PROGRAM));
            // The server's certificate is made below the home directory: from this run's randomness, for this run.
            let files = File::options().create(true).append(true).open(errors)?;
            command.env_clear().env("HOME", dir).arg("perf").stdin(Stdio::null()).stderr(files);
            Ok::<_, io::Error>(command)
        };
        let address = Ipv4Addr::from(hosts.receiver_address).to_string();
        hosts.receiver.enter()?;
        let mut server = perf(&errors)?
            .args(["-s", "-1", "--json-stream", "-B", &address, "-p", PORT])
            .stdout(Stdio::piped())
            .spawn()?;
        let silent = || io::Error::other(format!("the server of a flow did not start: {}", text_of(&errors)));
        let mut line = String::new();
        BufReader::new(server.stdout.take().ok_or_else(silent)?).read_line(&mut line)?;
        let listening: Value = serde_json::from_str(&line).map_err(|_| silent())?;
        let fingerprint = listening["data"]["fingerprint"].as_str().ok_or_else(silent)?;

        let seconds = |nanos: u64| (nanos as f64 / 1e9).to_string();
        let algorithm = flow.algorithm.strip_prefix(PREFIX).unwrap_or(&flow.algorithm);
        hosts.sender.enter()?;
        let client = perf(&errors)?
            .args(["-c", &address, "-p", PORT, "--fingerprint", fingerprint, "-C", algorithm, "--json-stream"])
            .args(["-t", &seconds(flow.stop - flow.start), "-i", &seconds(step)])
            .stdout(File::create(&output)?)
            .spawn()?;
        Ok(Self { server, client, output, errors, start: flow.start })
    }

    /// Waits for the client's last word until `deadline` at most, ends both and reads what was measured.
    pub(super) fn finish(mut self, deadline: u64) -> io::Result<FlowOutcome> {
        let mut status = None;
        while status.is_none() && super::now() < deadline {
            status = self.client.try_wait()?;
            std::thread::sleep(Duration::from_millis(10));
        }
        // The guest ends soon; whatever still runs ends with it.
        let _ = self.client.kill();
        let _ = self.server.kill();
        let output = text_of(&self.output);
        match status {
            None => Err(io::Error::other("the client of a flow did not end in time")),
            Some(status) if !status.success() => Err(io::Error::other(format!(
                "the client of a flow ended with {status}: {} {}",
                text_of(&self.errors),
                output.lines().last().unwrap_or_default()
            ))),
            Some(_) => read(&output, self.start),
        }
    }
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The samples in a client's `--json-stream`. Its intervals count what arrived, its end is exact.
fn read(output: &str, start: u64) -> io::Result<FlowOutcome> {
    let mut outcome = FlowOutcome::default();
    outcome.samples.push(FlowSample { at: start, ..FlowSample::default() });
    let mut latest = FlowSample::default();
    let mut ended = false;
    for line in output.lines() {
        let event: Value = serde_json::from_str(line)
            .map_err(|error| io::Error::other(format!("the client of a flow printed `{line}`: {error}")))?;
        let (data, sum) = (&event["data"], &event["data"]["sum"]);
        let number = |value: &Value| value.as_f64().unwrap_or(0.0);
        let at = |seconds: &Value| start + (number(seconds) * 1e9) as u64;
        match event["event"].as_str() {
            Some("interval") => {
                let datagram = number(&sum["pmtu"]).max(1.0);
                let arrived = number(&sum["bytes"]);
                latest.at = at(&sum["end"]);
                latest.delivered += arrived as u64;
                latest.sent += (arrived * number(&data["pcc"]["waste"])) as u64;
                latest.retransmitted += (number(&sum["retransmits"]) * datagram) as u64;
                latest.rtt = number(&sum["rtt"]) as u32;
                latest.cwnd = (number(&sum["snd_cwnd"]) / datagram) as u32;
                outcome.samples.push(latest);
            }
            Some("end") => {
                latest.at = at(&data["sum_received"]["seconds"]);
                latest.delivered = number(&data["sum_received"]["bytes"]) as u64;
                latest.sent = number(&data["pcc"]["wire_bytes"]) as u64;
                outcome.samples.push(latest);
                ended = latest.delivered > 0 && latest.at > start;
            }
            Some("error") => return Err(io::Error::other(format!("the client of a flow reports {data}"))),
            _ => {}
        }
    }
    if ended { Ok(outcome) } else { Err(io::Error::other("the client of a flow printed no result")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = concat!(
        r#"{"event":"start","data":{}}"#,
        "\n",
        r#"{"event":"interval","data":{"sum":{"end":1.0,"bytes":1000,"retransmits":2,"snd_cwnd":14520,"rtt":1871,"#,
        r#""pmtu":1452},"pcc":{"waste":1.5}}}"#,
        "\n",
    );
    const END: &str =
        r#"{"event":"end","data":{"sum_received":{"seconds":2.0,"bytes":3000},"pcc":{"wire_bytes":3300}}}"#;

    #[test]
    fn the_last_sample_is_the_exact_end() {
        let outcome = read(&format!("{OUTPUT}{END}"), 5_000_000_000).unwrap();
        let [first, interval, end] = outcome.samples[..] else { panic!("{:?}", outcome.samples) };
        assert_eq!((first.at, first.delivered), (5_000_000_000, 0));
        assert_eq!((interval.delivered, interval.sent, interval.retransmitted), (1000, 1500, 2904));
        assert_eq!((interval.rtt, interval.cwnd), (1871, 10));
        assert_eq!((end.at, end.delivered, end.sent), (7_000_000_000, 3000, 3300));
    }

    #[test]
    fn a_client_without_a_result_is_an_error_and_not_a_flow_of_zero() {
        assert!(read(OUTPUT, 0).is_err(), "it was cut off");
        assert!(read("", 0).is_err());
        assert!(read("no JSON", 0).is_err());
    }
}
