//! `pcc perf` as its users run it: the program, over loopback.

mod interop;
mod schema;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

const ALGORITHMS: [&str; 4] = ["pcc", "cubic", "bbr", "newreno"];

/// A server on a free port; killed when dropped.
struct Server {
    child: Child,
    port: String,
    fingerprint: String,
    state: TempDir,
}

impl Server {
    fn start(extra: &[&str]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut child = pcc(&["perf", "-s", "-p", "0", "-B", "127.0.0.1", "--json-stream"])
            .args(extra)
            .env("XDG_STATE_HOME", state.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).unwrap();
        schema::assert_fits(&schema::load("perf"), "event", &listening);
        let port = listening["data"]["port"].to_string();
        let fingerprint = listening["data"]["fingerprint"].as_str().unwrap().to_owned();
        Self { child, port, fingerprint, state }
    }

    fn client(&self, arguments: &[&str]) -> Command {
        let mut command = pcc(&["perf", "-c", "127.0.0.1", "-p", &self.port, "--fingerprint", &self.fingerprint]);
        command.args(arguments);
        command
    }

    /// Runs a client to its end, which must be a good one.
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same with `-J`; the document fits its schema.
    fn measure(&self, arguments: &[&str]) -> Value {
        let document = serde_json::from_str(&self.run(&[arguments, &["-J"]].concat())).unwrap();
        schema::assert_fits(&schema::load("perf"), "document", &document);
        document
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pcc(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a command that must fail, and answers its exit code and what it said on standard error.
fn fails(mut command: Command) -> (i32, String) {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{}", told(&output));
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn every_algorithm_uploads_every_byte() {
    let server = Server::start(&[]);
    for algorithm in ALGORITHMS {
        let end = &server.measure(&["-n", "5MB", "-C", algorithm])["end"];
        assert_eq!(end["sum_received"]["bytes"], 5_000_000, "{algorithm}");
        assert!(end["sum_received"]["bits_per_second"].as_f64().unwrap() > 0.0);
        assert_eq!(end["sender_congestion"], algorithm);
        assert_eq!(end["pcc"]["counted_by"], "receiver");
        assert_eq!(end["pcc"]["state"].is_string(), algorithm == "pcc", "only PCC has a state");
        let waste = end["pcc"]["waste"].as_f64().unwrap();
        assert!(waste > 1.0 && waste < 2.0, "{algorithm} put {waste} bytes on the wire for each useful one");
    }
}

#[test]
fn every_algorithm_downloads_every_byte_and_server_tells_how() {
    let server = Server::start(&["-C", "newreno"]);
    for algorithm in ALGORITHMS {
        let end = &server.measure(&["-R", "-n", "5MB", "-C", algorithm])["end"];
        assert_eq!(end["sum_received"]["bytes"], 5_000_000, "{algorithm}");
        assert_eq!(end["sender_congestion"], algorithm, "the server takes the algorithm the client names");
        assert!(end["pcc"]["loss"].is_number() && end["pcc"]["wire_bytes"].as_u64() > Some(5_000_000), "{end:#}");
    }
    let own = server.measure(&["-R", "-n", "1MB"]);
    assert_eq!(own["end"]["sender_congestion"], "newreno", "and its own if the client names none");
}

#[test]
fn a_server_sends_no_faster_than_it_is_told_with_any_algorithm() {
    let server = Server::start(&["-b", "4M"]);
    for algorithm in ["pcc", "cubic"] {
        let end = &server.measure(&["-R", "-n", "2500KB", "-C", algorithm])["end"];
        let mbit = end["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6;
        // A busy computer may gather the first of five seconds, and deliver it late.
        assert!(mbit < 5.0, "{algorithm}: {mbit} of 4 Mbit/s");
    }
}

#[test]
fn both_directions_are_counted_apart() {
    let server = Server::start(&[]);
    let end = &server.measure(&["--bidir", "-n", "2MB", "-C", "cubic"])["end"];
    assert_eq!(end["sum_received"]["bytes"], 2_000_000);
    assert_eq!(end["sum_received_bidir_reverse"]["bytes"], 2_000_000);
    assert_eq!(end["sum_received"]["sender"], true);
    assert_eq!(end["sum_received_bidir_reverse"]["sender"], false);
}

#[test]
fn parallel_streams_share_the_volume() {
    let server = Server::start(&[]);
    let end = &server.measure(&["-P", "4", "-n", "4000003"])["end"];
    assert_eq!(end["sum_received"]["bytes"], 4_000_003);
    let streams = end["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 4);
    for side in ["sender", "receiver"] {
        let total: u64 = streams.iter().map(|stream| stream[side]["bytes"].as_u64().unwrap()).sum();
        assert_eq!(total, 4_000_003, "{side}");
    }
}

#[test]
fn a_timed_test_streams_its_intervals_as_they_pass() {
    let server = Server::start(&[]);
    let lines = server.run(&["-t", "1", "-O", "0.4", "-i", "0.2", "-b", "20Mbit", "-C", "cubic", "--json-stream"]);
    let schema = schema::load("perf");
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        schema::assert_fits(&schema, "event", event);
        schema::assert_fits(&schema, event["event"].as_str().unwrap(), &event["data"]);
    }
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!((names.first(), names.last()), (Some(&"start"), Some(&"end")));
    let intervals: Vec<&Value> = events.iter().filter(|it| it["event"] == "interval").map(|it| &it["data"]).collect();
    assert!(intervals.len() >= 3, "{names:?}");
    assert_eq!(intervals[0]["sum"]["omitted"], true);
    assert_eq!(intervals.last().unwrap()["sum"]["omitted"], false);
    let received = &events.last().unwrap()["data"]["sum_received"];
    let mbit = received["bits_per_second"].as_f64().unwrap() / 1e6;
    assert!(mbit < 24.0, "offered were 20 Mbit/s and {mbit} received");
    assert!((0.9..10.0).contains(&received["seconds"].as_f64().unwrap()), "the omitted time is left out: {received}");
}

#[test]
fn datagrams_of_both_ends_stay_below_largest_that_was_asked_for() {
    let server = Server::start(&[]);
    let document = server.measure(&["--bidir", "-n", "5MB", "-i", "0.05", "-M", "1300", "--get-server-output"]);
    assert_eq!(document["start"]["pcc"]["max_udp_payload_size"], 1300);
    let sizes = |sum: &str| {
        let of = |interval: &Value| interval[sum]["pmtu"].as_u64().unwrap();
        document["intervals"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    for sum in ["sum", "sum_bidir_reverse"] {
        assert!(sizes(sum).iter().all(|size| (1200..=1300).contains(size)), "{sum}: {:?}", sizes(sum));
    }
    assert!(document["server_output_json"][0]["side"]["mtu"].as_u64().unwrap() <= 1300, "{document:#}");

    for wrong in ["1199", "65528", "1gbit"] {
        let (code, error) = fails(server.client(&["-M", wrong]));
        assert!(code == 2 && error.contains(wrong), "{code}: {error}");
    }
}

#[test]
fn the_server_tells_what_it_counted() {
    let server = Server::start(&[]);
    let document = server.measure(&["-n", "1MB", "-C", "cubic,pcc", "--rounds", "1", "--get-server-output"]);
    let outputs = document["server_output_json"].as_array().unwrap();
    assert_eq!(outputs.len(), 2, "one a run");
    for (output, algorithm) in outputs.iter().zip(["cubic", "pcc"]) {
        assert_eq!((&output["algorithm"], &output["side"]["received"]), (&algorithm.into(), &1_000_000.into()));
        assert!(output["side"]["sent_packets"].as_u64().unwrap() > 0, "its own acknowledgements and reports: {output}");
    }
    let text = server.run(&["-n", "1MB", "-R", "-C", "bbr", "--get-server-output"]);
    assert!(text.contains("server: received 0 B, sent 1.00 MB (bbr, loss"), "{text}");
    assert!(!server.run(&["-n", "1MB"]).contains("server:"), "only if it is asked for");
}

#[test]
fn algorithms_take_turns_and_are_compared_with_the_first() {
    let server = Server::start(&[]);
    let document = server.measure(&["-C", "pcc,cubic,bbr", "--rounds", "2", "-n", "1MB"]);
    let comparison = document["comparison"].as_array().unwrap();
    let algorithms: Vec<&Value> = comparison.iter().map(|row| &row["algorithm"]).collect();
    assert_eq!(algorithms, ["pcc", "cubic", "bbr"]);
    assert_eq!(comparison[0]["ratio_to_first"], 1.0);
    for row in comparison {
        assert_eq!(row["rounds"].as_array().unwrap().len(), 2, "{row:#}");
        let ratio = |name: &str| row[name].as_f64().unwrap();
        assert!(ratio("ratio_to_first_min") <= ratio("ratio_to_first") && ratio("ratio_to_first_min") > 0.0);
    }
    assert_eq!(document["start"]["connected"].as_array().unwrap().len(), 6);
    assert_eq!(document["end"]["sum_received"]["bytes"], 2_000_000, "the first algorithm's runs together");

    let table = server.run(&["-C", "cubic,pcc", "--rounds", "1", "-n", "1MB", "-i", "0"]);
    assert!(table.contains("ratio to cubic") && table.contains("1.000 (1.000 to 1.000)"), "{table}");
}

#[test]
fn one_off_server_ends_with_its_client_and_says_what_it_served() {
    let mut server = Server::start(&["-1"]);
    server.run(&["-n", "1MB"]);
    assert!(server.child.wait().unwrap().success());
    let mut rest = String::new();
    server.child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    let served: Value = serde_json::from_str(rest.trim()).unwrap();
    let schema = schema::load("perf");
    schema::assert_fits(&schema, "event", &served);
    schema::assert_fits(&schema, "served", &served["data"]);
    assert_eq!((&served["event"], &served["data"]["side"]["received"]), (&"served".into(), &1_000_000.into()));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_test_and_keeps_what_was_measured() {
    let server = Server::start(&[]);
    let mut client = server
        .client(&["-t", "600", "-i", "0.1", "-b", "10Mbit", "-C", "cubic"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("-0.1")).expect("an interval").unwrap();
    // SAFETY: kill only takes numbers, and the process is our own child, not yet waited for.
    assert_eq!(unsafe { libc::kill(client.id() as i32, libc::SIGINT) }, 0);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let output = client.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", told(&output));
    let rest = rest.join("\n");
    assert!(rest.contains("received in") && rest.contains("cut short: interrupted"), "{rest}");
}

#[test]
fn a_log_file_takes_the_output_and_grows() {
    let server = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("perf.log");
    for runs in 1..=2 {
        assert_eq!(server.run(&["-n", "100KB", "--logfile", log.to_str().unwrap()]), "");
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.matches("100 kB received").count(), runs, "{text}");
    }
}

#[test]
fn an_unknown_algorithm_is_refused_with_the_known_ones() {
    let (code, error) = fails(pcc(&["perf", "-c", "127.0.0.1", "-C", "pcc,vegas"]));
    assert_eq!(code, 2);
    assert!(error.contains("`vegas`") && ALGORITHMS.iter().all(|name| error.contains(name)), "{error}");
    let (code, error) = fails(pcc(&["perf", "-c", "127.0.0.1", "-C", "pcc,pcc"]));
    assert!(code == 2 && error.contains("--rounds"), "{code}: {error}");
}

#[test]
fn a_rate_without_a_unit_is_refused_with_an_example() {
    let (code, error) = fails(pcc(&["perf", "-c", "127.0.0.1", "-b", "100"]));
    assert_eq!(code, 2);
    assert!(error.contains("`100` has no unit") && error.contains("100Mbit"), "{error}");
}

#[test]
fn a_test_of_no_time_is_refused() {
    let (code, error) = fails(pcc(&["perf", "-c", "127.0.0.1", "-t", "0"]));
    assert!(code == 2 && error.contains("-t 86400"), "{code}: {error}");
}

#[test]
fn a_host_that_cannot_be_reached_is_exit_code_5() {
    let (code, error) = fails(pcc(&["perf", "-c", "no-such-host.invalid"]));
    assert!(code == 5 && error.contains("no-such-host.invalid"), "{code}: {error}");
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let (code, error) = fails(pcc(&["perf", "-c", "127.0.0.1", "-p", &free]));
    assert!(code == 5 && error.contains("pcc perf -s") && error.contains(&free), "{code}: {error}");
    let output = pcc(&["perf", "-c", "127.0.0.1", "-p", &free, "-J"]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    schema::assert_fits(&schema::load("perf"), "document", &document);
    assert!(document["error"].as_str().unwrap().contains(&free), "JSON tells it too: {document:#}");
}

#[test]
fn an_unknown_certificate_is_refused_with_its_fingerprint() {
    let server = Server::start(&[]);
    let (code, error) = fails(pcc(&["perf", "-c", "127.0.0.1", "-p", &server.port]));
    assert_eq!(code, 1, "{error}");
    assert!(error.contains(&format!("--fingerprint {}", server.fingerprint)), "{error}");
    assert!(error.contains("--insecure") && !error.contains("ERROR"), "{error}");

    let to = ["perf", "-c", "127.0.0.1", "-p", &server.port, "-n", "100KB"];
    let other = format!("sha256={}", "0".repeat(64));
    let (code, error) = fails(pcc(&[&to[..], &["--fingerprint", &other]].concat()));
    assert!(code == 1 && error.contains("than --fingerprint names") && error.contains(&server.fingerprint), "{error}");
    assert!(!error.contains("URL"), "nobody wrote one: {error}");

    let done = pcc(&[&to[..], &["--insecure"]].concat()).output().unwrap();
    assert!(done.status.success(), "{}", told(&done));
}

#[test]
fn an_unwritable_log_file_is_named_before_anything_runs() {
    let (code, error) = fails(pcc(&["perf", "-c", "no-such-host.invalid", "--logfile", "/no/such/directory/log"]));
    assert!(code == 1 && error.contains("/no/such/directory/log"), "{code}: {error}");
}

#[test]
fn aioquic_gets_every_byte_that_it_asks_us_for() {
    let server = Server::start(&[]);
    let certificate = server.state.path().join("pcc/identity.pem");
    // Down and up: a download, an upload, both on one stream, and neither.
    let volumes = ["2000003", "0", "0", "1000000", "5", "300000", "0", "0"];
    let output = interop::script("perf_client.py")
        .args(["127.0.0.1", &server.port, certificate.to_str().unwrap()])
        .args(volumes)
        .output()
        .expect("python3 runs");
    assert!(output.status.success(), "{}", told(&output));
    let measured: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(measured, json!({ "alpn": "perf", "received": [2_000_003, 0, 5, 0] }));
}

#[test]
fn we_measure_a_server_on_aioquic_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let (certificate, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let server = interop::Server::start(interop::script("perf_server.py").args([&certificate, &key]));
    let end = |arguments: &[&str]| {
        let to = ["perf", "-c", "127.0.0.1", "-p", &server.port, "--ca", certificate.to_str().unwrap(), "-J"];
        let output = pcc(&to).args(["--get-server-output"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", told(&output));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        schema::assert_fits(&schema::load("perf"), "document", &document);
        assert_eq!(document["server_output_json"][0]["side"], Value::Null, "it knows no reports");
        document["end"]["sum_received"]["bytes"].clone()
    };
    assert_eq!(end(&["-n", "1000001", "-P", "2"]), 1_000_001);
    assert_eq!(end(&["-n", "1000001", "-P", "2", "-R"]), 1_000_001);
    let streams: Vec<Value> = server.end().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let total = |what: &str| streams.iter().map(|stream| stream[what].as_u64().unwrap()).sum::<u64>();
    assert_eq!(total("received"), 1_000_001, "the server counted the same");
    let echoes = streams.iter().filter(|stream| stream["asked"] == 1).count() as u64;
    assert_eq!(total("asked") - echoes, 1_000_001);
}

#[test]
fn what_one_client_moves_stays_within_servers_limit_of_bytes() {
    const MOST: u64 = 3_000_000;
    for arguments in
        [&["-t", "5", "-P", "4"][..], &["-R", "-n", "50MB", "-P", "4"], &["-n", "50MB"], &["--bidir", "-t", "5"]]
    {
        let mut server = Server::start(&["-1", "--max-bytes", "3MB"]);
        let (code, error) = fails(server.client(&[arguments, &["-C", "cubic"]].concat()));
        assert!(
            code == 1 && error.contains("limit of bytes") && error.contains("--max-bytes"),
            "{arguments:?}: {code}: {error}"
        );
        assert!(server.child.wait().unwrap().success());
        let mut rest = String::new();
        server.child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
        let served: Value = serde_json::from_str(rest.trim()).unwrap();
        let count = |name: &str| served["data"]["side"][name].as_u64().unwrap();
        let moved = count("sent") + count("received");
        assert!((MOST / 2..=MOST).contains(&moved), "{arguments:?}: {moved} bytes");
    }
    let server = Server::start(&["--max-bytes", "3MB"]);
    server.measure(&["-n", "2MB"]);
}

#[test]
fn a_full_server_is_there_and_says_so() {
    let server = Server::start(&["--max-clients", "1", "--max-time", "3"]);
    let mut first = server.client(&["-t", "600", "-i", "0.1", "-b", "1M", "-C", "cubic"]);
    let mut first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("-0.1")).expect("an interval").unwrap();
    let (code, error) = fails(server.client(&["-n", "1MB"]));
    assert!(code == 1 && error.contains("full") && error.contains("--max-clients"), "{code}: {error}");
    lines.for_each(drop);
    let output = first.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && error.contains("--max-time"), "{}", told(&output));
}

#[test]
fn iperf3_python_reads_every_kind_of_result() {
    let server = Server::start(&[]);
    let script = "import iperf3,sys\nr=iperf3.TestResult(sys.stdin.read())\n\
                  print(r.error is None and r.sent_Mbps>0 and r.received_Mbps>0 and r.retransmits is not None)";
    for words in ["-n 200KB", "-n 200KB -R", "-n 200KB --bidir", "-n 200KB -P 3", "-n 200KB --rounds 1 -C cubic,reno"] {
        let document = server.measure(&words.split(' ').collect::<Vec<_>>()).to_string();
        let mut python =
            Command::new("python3").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut python.stdin.take().unwrap(), document.as_bytes()).unwrap();
        let output = python.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "True", "{words}: {}", told(&output));
    }
}
