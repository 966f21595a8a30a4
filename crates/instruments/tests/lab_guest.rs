//! The emulation of the lab's guest, as flows show it. All of it boots the guest kernel and is run by
//! `cargo test -p pcc-instruments --test lab_guest -- --ignored` after `pcc-lab build`.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs;
use std::process::Command;

/// A scenario of one seed over a path of 20 Mbit/s and 30 ms with these lines, as stored: specification and outcome of
/// every run with flows, calibration left out.
fn runs(lines: &str, options: &[&str]) -> Vec<(Value, Value)> {
    let dir = tempfile::tempdir().unwrap();
    let head = "title = 't'\nsource = 's'\nseeds = [1]\nexact = true\n";
    let path = "path = { rate = '20Mbit', rtt = '30ms', buffer = '1bdp' }\n";
    let path = if lines.contains("path =") { "" } else { path };
    fs::write(dir.path().join("small.toml"), format!("{head}{path}{lines}")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc-lab"));
    command.args(["run", "small.toml", "--results", "results"]).args(options).current_dir(dir.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all = Vec::new();
    for entry in fs::read_dir(dir.path().join("results")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let mut record: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        // A lone CUBIC of the calibration lasts 10 s and 100 round trips.
        let spec = record["spec"].take();
        let flows = spec["flows"].as_array().map_or(0, Vec::len);
        let calibrating = 10_000_000_000 + 100 * spec["path"]["rtt"].as_u64().unwrap();
        if flows > 0 && spec["duration"] != calibrating {
            all.push((spec, record["outcome"].take()));
        }
    }
    all.sort_by_key(|(spec, _)| spec.to_string());
    all
}

/// Mbit/s of the first flow from one second to another.
fn goodput(outcome: &Value, from: u64, to: u64) -> f64 {
    goodput_at(0, outcome, from, to)
}

/// The same of the flow at that place.
fn goodput_at(flow: usize, outcome: &Value, from: u64, to: u64) -> f64 {
    let samples = outcome["flows"][flow]["samples"].as_array().unwrap();
    let delivered = |second: u64| {
        let at = |sample: &&Value| sample["at"].as_u64().unwrap() >= second * 1_000_000_000;
        samples.iter().find(at).map_or(0, |sample| sample["delivered"].as_u64().unwrap())
    };
    (delivered(to) - delivered(from)) as f64 * 8e-6 / (to - from) as f64
}

/// The first flow's smoothed RTT in ms, at its highest from that second on.
fn highest_rtt(outcome: &Value, from: u64) -> f64 {
    let samples = outcome["flows"][0]["samples"].as_array().unwrap().iter();
    let late = samples.filter(|sample| sample["at"].as_u64().unwrap() >= from * 1_000_000_000);
    late.map(|sample| sample["rtt"].as_f64().unwrap() / 1e3).fold(0.0, f64::max)
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn a_lone_cubic_fills_the_path_also_after_it_changed() {
    let change = "change = [{ at = '6s', rate = '5Mbit', rtt = '10ms' }, { at = '12s', rate = '40Mbit' }]";
    let runs = runs(&format!("duration = '18s'\nalgorithms = ['cubic']\n{change}"), &[]);
    let (_, outcome) = &runs[0];
    for (from, to, rate) in [(2, 6, 20.0), (8, 12, 5.0), (14, 18, 40.0)] {
        let share = goodput(outcome, from, to) / (rate * 1448.0 / 1514.0);
        assert!((0.95..1.01).contains(&share), "{share} from {from} s to {to} s");
    }
    // 75 kB hold 120 ms of 5 Mbit/s.
    assert!(highest_rtt(outcome, 7) > 100.0, "what waited was kept when the rate fell");
    let retransmitted = |second: u64| {
        let samples = outcome["flows"][0]["samples"].as_array().unwrap();
        let at = samples.iter().find(|sample| sample["at"] == second * 1_000_000_000).unwrap();
        at["retransmitted"].as_u64().unwrap()
    };
    // The window of 20 Mbit/s does not fit 5 Mbit/s: half of it is lost at the most, and no more for a shorter line.
    assert!(retransmitted(12) - retransmitted(6) < 150_000, "packets did not overtake each other");
    assert_eq!(outcome["changes"].as_array().unwrap().len(), 3);
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn codel_keeps_the_delay_small_that_a_fifo_does_not() {
    let path = "path = { rate = '20Mbit', rtt = '30ms', buffer = '500kB' }\n";
    let sweep = "sweep = { parameter = 'queue', values = ['droptail', 'codel', 'fq', 'fq_codel', 'sfq', 'cake'] }\n";
    let flows = "flow = [{}, { algorithm = 'cubic*4' }]";
    let lines = format!("duration = '10s'\nalgorithms = ['cubic']\n{path}{sweep}{flows}");
    let runs = runs(&lines, &[]);
    assert_eq!(runs.len(), 6);
    for (spec, outcome) in &runs {
        let (rtt, share) = (highest_rtt(outcome, 5), goodput(outcome, 5, 10) / 20.0);
        match spec["path"]["queue"].as_str() {
            Some("codel" | "fq_codel" | "cake") => assert!(rtt < 60.0, "{spec}: {rtt} ms"),
            // A queue for each flow is served at a fifth of the rate.
            Some("fq") => assert!(rtt > 300.0 && (0.15..0.22).contains(&share), "{rtt} ms, {share}"),
            _ => assert!(rtt > 100.0, "{spec}: {rtt} ms"),
        }
        if ["fq_codel", "sfq", "cake"].contains(&spec["path"]["queue"].as_str().unwrap_or_default()) {
            assert!((0.15..0.22).contains(&share), "a fifth each: {share}");
        }
    }
}

/// Goodput in Mbit/s of that command's only row.
fn goodput_of(command: &str, dir: &std::path::Path) -> f64 {
    let mut pcc_lab = Command::new(env!("CARGO_BIN_EXE_pcc-lab"));
    let output = pcc_lab.args([command, "small.toml", "--json"]).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    told["rows"][0]["goodput"]["mean"].as_f64().unwrap()
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn the_words_of_a_simulation_are_the_same_network_here() {
    // Every path is measured first: base RTT, capacity, and the mean of the losses both ways.
    for (path, then, algorithm) in [
        ("rate=50Mbit,rtt=40ms,buffer=500KB,wifi=7ms", &[][..], "bbr"),
        ("rate=20Mbit,rtt=40ms,buffer=1bdp,loss=2%,burst=8", &[], "bbr"),
        ("rate=20Mbit,rtt=40ms,buffer=2bdp,jitter=10ms", &[], "cubic"),
        ("rate=50Mbit,rtt=40ms,buffer=1bdp,blackout=5s/1s,at=10s:rate=20Mbit:rtt=80ms", &[], "cubic"),
        ("rate=50Mbit,rtt=40ms,buffer=500KB,queue=cake,vary=3s:rate=10Mbit..80Mbit", &[], "cubic"),
        ("rate=50Mbit,rtt=20ms,buffer=500KB", &["rate=20Mbit,rtt=20ms,buffer=200KB,at=10s:rate=40Mbit"], "bbr"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let head = "title = 't'\nsource = 's'\nseeds = [1, 2, 3, 4]\nduration = '20s'";
        let lines = format!("{head}\nalgorithms = ['{algorithm}']\npath = '{path}'\nthen = {then:?}\n");
        fs::write(dir.path().join("small.toml"), lines).unwrap();
        let [lab, sim] = ["run", "sim"].map(|command| goodput_of(command, dir.path()));
        assert!(
            (0.75..1.33).contains(&(lab / sim)),
            "{path} {then:?}: {lab} Mbit/s in the lab, {sim} in the simulator"
        );
    }
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn flows_meet_at_the_bottlenecks_that_they_cross() {
    let row = "then = ['rate=10Mbit,rtt=20ms,buffer=50KB']";
    let flows = "flow = [{}, { algorithm = 'cubic', via = '1' }, { algorithm = 'cubic', via = '2' }]";
    let lines = format!("duration = '8s'\nalgorithms = ['cubic', 'quic:pcc']\n{row}\n{flows}");
    let all = runs(&lines, &[]);
    assert_eq!(all.len(), 2);
    for (spec, outcome) in &all {
        let name = &spec["flows"][0]["algorithm"];
        let rtt = outcome["probe"]["rtt"].as_u64().unwrap();
        assert!((50_000_000..51_000_000).contains(&rtt), "{name}: 30 ms and 20 ms, not {rtt} ns");
        let [through, first, second] = [0, 1, 2].map(|flow| goodput_at(flow, outcome, 2, 8));
        // 0.957 of the first rate is payload, and 0.965 of the second, which counts IP packets.
        assert!((18.0..19.5).contains(&(through + first)), "{name}: {through} and {first} of 20 Mbit/s");
        assert!((9.0..9.9).contains(&(through + second)), "{name}: {through} and {second} of 10 Mbit/s");
        assert!(through > 1.0, "{name}: {through} Mbit/s through both");
        let passed = outcome["then"][0]["queue"].as_array().unwrap().last().unwrap()["bytes"].as_f64().unwrap();
        assert!((9.0..10.3).contains(&(passed * 8e-6 / 8.0)), "{name}: {passed} bytes in 8 s");
    }
    assert!(all == runs(&lines, &[]), "the same seeds give the same again");
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn flows_of_a_size_end_and_a_limited_one_stays_below_its_rate() {
    let flows = "flow = [{ size = '500kB' }, { algorithm = 'cubic', rate = '2Mbit' }]";
    let runs = runs(&format!("duration = '3s'\nalgorithms = ['cubic', 'quic:pcc']\n{flows}"), &[]);
    assert_eq!(runs.len(), 2);
    for (spec, outcome) in &runs {
        let finished = outcome["flows"][0]["finished"].as_u64().unwrap_or_else(|| panic!("{spec}: {outcome}"));
        // 500 kB take 0.2 s at the whole rate, and the handshake a round trip.
        assert!((230_000_000..2_000_000_000).contains(&finished), "{finished}");
        let delivered = outcome["flows"][1]["samples"].as_array().unwrap().last().unwrap()["delivered"].as_f64();
        let mbit = delivered.unwrap() * 8e-6 / 3.0;
        assert!((1.7..2.05).contains(&mbit), "{mbit} Mbit/s of a source of 2");
    }
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn short_flows_are_timed_from_the_handshake_s_first_packet() {
    let flow = "flow = [{ size = '20kB', load = 0.1, stop = '3s' }]";
    let runs = runs(&format!("duration = '5s'\nalgorithms = ['cubic', 'quic:cubic']\n{flow}"), &[]);
    for (spec, outcome) in &runs {
        let arrivals = spec["flows"][0]["arrivals"].as_array().unwrap().len();
        let completions = outcome["flows"][0]["completions"].as_array().unwrap();
        assert_eq!(completions.len(), arrivals, "{spec}");
        for one in completions {
            let took = one["finish"].as_u64().unwrap() - one["start"].as_u64().unwrap();
            // The handshake's round trip, half of one for the data, another for what the first window leaves.
            assert!((45_000_000..250_000_000).contains(&took), "{spec}: {took} ns");
        }
    }
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn spaced_packets_and_bundles_do_what_they_are_for() {
    let path = "path = { rate = '100Mbit', rtt = '30ms', buffer = '4.6kB' }\n";
    let algorithms = "algorithms = ['reno', 'reno+paced', 'reno*10']";
    let runs = runs(&format!("duration = '10s'\n{algorithms}\n{path}"), &[]);
    let of = |paced: bool, connections: u64| {
        let found = runs.iter().find(|(spec, _)| {
            let flow = &spec["flows"][0];
            flow["paced"].as_bool().unwrap_or(false) == paced && flow["connections"] == connections
        });
        goodput(&found.unwrap().1, 1, 10)
    };
    let (plain, paced, bundle) = (of(false, 1), of(true, 1), of(false, 10));
    assert!(paced > 1.3 * plain, "pacing helps in a shallow buffer: {paced} and {plain}");
    assert!(bundle > 1.3 * plain, "so do ten connections: {bundle} and {plain}");
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn black_outs_end_and_jitter_and_reordering_are_as_asked() {
    let change =
        "change = [{ at = '3s', loss = 1.0, reverse_loss = 1.0 }, { at = '4s', loss = 0.0, reverse_loss = 0.0 }]";
    let blackout = runs(&format!("duration = '7s'\nalgorithms = ['cubic']\n{change}"), &[]);
    let (_, outcome) = &blackout[0];
    assert!(goodput(outcome, 3, 4) < 1.0 && goodput(outcome, 6, 7) > 15.0, "{outcome}");
    // Each path is calibrated: a run has a result only if jitter and reordering were right.
    for property in ["jitter = '5ms'", "reorder = 0.01"] {
        let path = format!("path = {{ rate = '20Mbit', rtt = '30ms', buffer = '1bdp', {property} }}\n");
        let runs = runs(&format!("duration = '5s'\nalgorithms = ['cubic']\n{path}"), &[]);
        let share = goodput(&runs[0].1, 1, 5) / 20.0;
        assert!(share > 0.8, "{property}: {share}");
    }
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn hundreds_of_packets_that_leave_a_line_at_once_all_arrive() {
    // Up to 500 packets, where a socket has room for 92 by default.
    let path = "path = { rate = '100Mbit', rtt = '100ms', buffer = '1bdp', jitter = '60ms' }\n";
    let all = runs(&format!("duration = '5s'\nalgorithms = ['bbr', 'quic:cubic']\n{path}"), &[]);
    assert_eq!(all.len(), 2, "the path was calibrated");
    for (spec, outcome) in &all {
        let share = goodput(outcome, 2, 5) / 100.0;
        assert!(share > 0.5, "{spec}: {share}");
    }
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn the_bytes_of_a_program_under_test_are_counted() {
    // 1000 bytes of payload with 42 of headers, some 100 times a second.
    let flood = "while :; do printf %1000s x > /dev/udp/$RECEIVER/9; sleep 0.01; done";
    let options = ["--algorithm", "app", "--app", &format!("exec bash -c '{flood}'")];
    let runs = runs("duration = '3s'\nalgorithms = ['cubic']", &options);
    let mbit = goodput(&runs[0].1, 0, 3);
    assert!((0.6..0.84).contains(&mbit), "{mbit} Mbit/s");
}

/// A number of the first flow's, or of the bottleneck's queue, at a moment. Unit of the moment: ms.
fn at(list: &Value, what: &str, ms: u64) -> f64 {
    let samples = list.as_array().unwrap();
    let found = samples.iter().find(|sample| sample["at"].as_u64().unwrap() >= ms * 1_000_000);
    found.unwrap_or_else(|| panic!("nothing at {ms} ms"))[what].as_f64().unwrap()
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn what_arrives_of_a_quic_flow_is_counted_when_it_arrives() {
    let path = "path = { rate = '10Mbit', rtt = '400ms', buffer = '1bdp' }\n";
    let runs = runs(&format!("duration = '6s'\nstep = '50ms'\nalgorithms = ['quic:pcc', 'quic:cubic']\n{path}"), &[]);
    assert_eq!(runs.len(), 2);
    for (spec, outcome) in &runs {
        // A packet that left the bottleneck arrives half a round trip later.
        let left = |ms| at(&outcome["queue"], "bytes", ms);
        let arrived = |ms: u64| at(&outcome["flows"][0]["samples"], "delivered", ms + 200);
        // A full packet has 1494 bytes for 1416; CUBIC's hold some 40 less in the mean, from the first second to the last.
        let data = (arrived(5000) - arrived(3000)) / (left(5000) - left(3000));
        assert!((1370.0..1420.0).contains(&(data * 1494.0)), "{spec}: {data}");
        for ms in [2000, 3000, 5000] {
            let (arrived, left) = (arrived(ms), left(ms) * data);
            assert!((arrived / left - 1.0).abs() < 0.03, "{spec}: {arrived} of {left} at {ms} ms");
        }
        assert_eq!(outcome["delays"].as_array().unwrap().len(), 600, "every 10 ms of 6 s");
    }
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn a_busy_host_makes_its_sender_stand_still_and_each_time_alike() {
    let flow = "flow = [{ host = { busy = 0.5, pause = '200ms' } }]";
    let lines = format!("duration = '4s'\nstep = '10ms'\nalgorithms = ['quic:cubic']\n{flow}");
    let (first, second) = (runs(&lines, &[]), runs(&lines, &[]));
    assert!(first == second, "the same seed gives the same run");
    let (spec, outcome) = &first[0];
    let samples = &outcome["flows"][0]["samples"];
    let pauses = spec["flows"][0]["pauses"].as_array().unwrap();
    let moments = pauses.iter().map(|pause| [0, 1].map(|end| pause[end].as_u64().unwrap() / 1_000_000));
    let long: Vec<_> = moments.filter(|[from, to]| to - from > 60).collect();
    assert!(long.len() > 3, "{spec}");
    for [from, to] in long {
        let sent = [from + 20, to - 10].map(|ms| at(samples, "sent", ms));
        assert_eq!(sent[0], sent[1], "nothing leaves from {from} ms to {to} ms");
    }
    assert!(at(samples, "sent", 3990) > 1e6, "between them it sends");
}
