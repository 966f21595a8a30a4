//! Results as JSON, in iperf3's shape where iperf3 has one, the rest in `pcc` objects. docs/json.md documents it.

use crate::client::{Interval, Outcome};
use crate::compare::Comparison;
use crate::cpu::Cpu;
use crate::datagram::LargestDatagram;
use crate::flow::{Flow, Way};
use crate::load::Until;
use crate::run::{Run, Test, Turn};
use crate::test_error::TestError;
use crate::watch::SCHEMA_VERSION;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `start`: what is measured, between whom.
pub fn start(test: &Test, connected: &[(SocketAddr, SocketAddr)]) -> Value {
    let now = SystemTime::now();
    let load = &test.plan.load;
    let (duration, bytes) = match load.until {
        Until::Time(time) => (time.as_secs_f64(), 0),
        Until::Volume(bytes) => (0.0, bytes),
    };
    let rate = test.max_rate.map_or(0.0, |rate| rate.bits_per_sec());
    let connected = connected.iter().enumerate().map(|(socket, (local, remote))| {
        json!({
            "socket": socket,
            "local_host": local.ip().to_canonical().to_string(), "local_port": local.port(),
            "remote_host": remote.ip().to_canonical().to_string(), "remote_port": remote.port(),
        })
    });
    json!({
        "connected": connected.collect::<Vec<_>>(),
        "version": concat!("pcc ", env!("CARGO_PKG_VERSION")),
        "system_info": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "timestamp": {
            "time": humantime::format_rfc3339_seconds(now).to_string(),
            "timesecs": now.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        },
        "connecting_to": { "host": test.peer.host, "port": test.peer.port },
        "cookie": "", "tcp_mss_default": 0, "sock_bufsize": 0, "sndbuf_actual": 0, "rcvbuf_actual": 0,
        "target_bitrate": rate,
        "test_start": {
            // What iperf3 calls a reliable stream: its readers know TCP and UDP alone, and look for these figures under TCP.
            "protocol": "TCP",
            "blksize": 0, "blocks": 0, "tos": 0,
            "target_bitrate": rate,
            "num_streams": load.streams,
            "omit": test.plan.omit.as_secs_f64(),
            "duration": duration,
            "bytes": bytes,
            "reverse": u8::from(load.ways == [Way::Down]),
            "bidir": u8::from(load.ways.len() == 2),
            "interval": test.plan.interval.as_secs_f64(),
        },
        "pcc": {
            "schema_version": SCHEMA_VERSION,
            "transport": "QUIC",
            "algorithms": test.names(),
            "rounds": test.rounds,
            "utility": test.objective.utility,
            "law": test.objective.law,
            "set": test.objective.set,
            "max_udp_payload_size": test.largest_datagram.map(LargestDatagram::bytes),
        },
    })
}

/// One element of `intervals`.
pub fn interval(test: &Test, turn: Turn, interval: &Interval) -> Value {
    let streams = interval.streams.iter().map(|(stream, bytes)| {
        let mut one = sum(interval.start, interval.end - interval.start, *bytes, stream.way);
        one["socket"] = stream.id.into();
        one["omitted"] = interval.omitted.into();
        one
    });
    let mut value = json!({ "streams": streams.collect::<Vec<_>>() });
    for (index, (way, flow)) in interval.flows.iter().enumerate() {
        let mut sum = sum(interval.start, flow.seconds, flow.bytes, *way);
        sum["end"] = interval.end.into();
        sum["omitted"] = interval.omitted.into();
        sum["retransmits"] = flow.lost.into();
        sum["snd_cwnd"] = flow.cwnd.into();
        sum["rtt"] = json!(flow.rtt.as_micros() as u64); // microseconds, as in iperf3
        sum["pmtu"] = flow.mtu.into();
        value[format!("sum{}", suffix(index))] = sum;
        let mut pcc = pcc_object(test, turn.round, flow);
        if let (Way::Up, Some(monitor_intervals)) = (way, &interval.monitor_intervals) {
            pcc["monitor_intervals"] = json!(monitor_intervals);
        }
        value[format!("pcc{}", suffix(index))] = pcc;
    }
    value
}

/// `end`: what came of one run, or of several runs of one algorithm added up. Ratios and states are the last one's.
pub fn end(test: &Test, runs: &[&Run]) -> Value {
    let Some(run) = runs.last() else { return json!({}) };
    let congestion = run.outcome.flows.first().and_then(|(_, flow)| flow.algorithm.clone());
    let mut value = json!({
        "streams": runs.iter().flat_map(|run| streams(&run.outcome)).collect::<Vec<_>>(),
        "cpu_utilization_percent": cpu_percent(&run.outcome),
        "sender_congestion": congestion,
        "sender_tcp_congestion": congestion, "receiver_tcp_congestion": congestion,
        "cut_short": run.outcome.cut_short.as_ref().map(TestError::told),
    });
    for (index, &way) in test.plan.load.ways.iter().enumerate() {
        let flows: Vec<&Flow> = runs.iter().filter_map(|run| Some(&run.outcome.flows.get(index)?.1)).collect();
        let Some(&last) = flows.last() else { continue };
        let seconds = flows.iter().map(|flow| flow.seconds).sum();
        let received = flows.iter().map(|flow| flow.bytes).sum();
        let offered = flows.iter().map(|flow| flow.offered.unwrap_or(flow.bytes)).sum();
        let mut sent = sum(0.0, seconds, offered, way);
        sent["retransmits"] = flows.iter().map(|flow| flow.lost).sum::<Option<u64>>().into();
        value[format!("sum_sent{}", suffix(index))] = sent;
        value[format!("sum_received{}", suffix(index))] = sum(0.0, seconds, received, way);
        value[format!("pcc{}", suffix(index))] = summary(test, run, last);
    }
    value
}

/// `comparison`: one object an algorithm.
pub fn comparison(test: &Test, runs: &[Run]) -> Value {
    let rows = Comparison::of(runs).rows.into_iter().map(|row| {
        let own = runs.iter().filter(|run| run.turn.algorithm == row.algorithm);
        let rounds = own.map(|run| {
            let mut value = end(test, &[run]);
            value["round"] = run.turn.round.into();
            value
        });
        let ratio = row.ratio_to_first;
        json!({
            "algorithm": row.algorithm,
            "bits_per_second": row.bits_per_second.map(|spread| spread.median),
            "bits_per_second_min": row.bits_per_second.map(|spread| spread.min),
            "bits_per_second_max": row.bits_per_second.map(|spread| spread.max),
            "ratio_to_first": ratio.map(|spread| spread.median),
            "ratio_to_first_min": ratio.map(|spread| spread.min),
            "ratio_to_first_max": ratio.map(|spread| spread.max),
            "loss": row.loss,
            "waste": row.waste,
            "rtt_added_ms": row.rtt_added_ms,
            "cpu_percent": row.cpu_percent,
            "rounds": rounds.collect::<Vec<_>>(),
        })
    });
    rows.collect()
}

/// What is told when all runs have ended, by its name in the document and among events; `end` comes last. `error` says why the last
/// run did not come to its end.
pub fn ending(test: &Test, runs: &[Run], server_output: bool, error: Option<String>) -> Vec<(&'static str, Value)> {
    let first = runs.first().map(|run| run.turn.algorithm);
    let own: Vec<&Run> = runs.iter().filter(|run| Some(run.turn.algorithm) == first).collect();
    let comparison = (test.algorithms.len() > 1).then(|| ("comparison", comparison(test, runs)));
    let server_output = server_output.then(|| ("server_output_json", self::server_output(runs)));
    let error = error.map(|error| ("error", error.into()));
    [comparison, server_output, error, Some(("end", end(test, &own)))].into_iter().flatten().collect()
}

/// The whole document: iperf3's `start`, `intervals` and `end`, and behind them the rest of [`ending`].
pub fn document(
    test: &Test,
    ends: &[(SocketAddr, SocketAddr)],
    intervals: Vec<Value>,
    mut ending: Vec<(&'static str, Value)>,
) -> Value {
    let end = ending.pop().map_or(Value::Null, |(_, end)| end);
    let mut document = json!({ "start": start(test, ends), "intervals": intervals, "end": end });
    for (name, value) in ending {
        document[name] = value;
    }
    document
}

/// `server_output_json`: what the server counted, one object a run; null where it does not report.
pub fn server_output(runs: &[Run]) -> Value {
    let one =
        |run: &Run| json!({ "algorithm": run.turn.algorithm, "round": run.turn.round, "side": run.outcome.there });
    runs.iter().map(one).collect()
}

/// iperf3 names the second direction of `--bidir` so.
const fn suffix(index: usize) -> &'static str {
    if index == 0 { "" } else { "_bidir_reverse" }
}

/// What iperf3 says of a stream or a sum. `sender`: whether this end sends.
fn sum(start: f64, seconds: f64, bytes: u64, way: Way) -> Value {
    let bits_per_second = if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
    json!({
        "start": start, "end": start + seconds, "seconds": seconds,
        "bytes": bytes, "bits_per_second": bits_per_second, "sender": way == Way::Up,
    })
}

fn streams(outcome: &Outcome) -> impl Iterator<Item = Value> {
    outcome.streams.iter().map(|(stream, here, there)| {
        let seconds = outcome.flows.iter().find(|(way, _)| *way == stream.way).map_or(0.0, |(_, flow)| flow.seconds);
        let (sent, received) = match stream.way {
            Way::Up => (Some(*here), *there),
            Way::Down => (*there, Some(*here)),
        };
        let side = |bytes: Option<u64>| {
            let mut side = sum(0.0, seconds, bytes?, stream.way);
            side["socket"] = stream.id.into();
            Some(side)
        };
        json!({ "sender": side(sent), "receiver": side(received) })
    })
}

/// Percent of one core, as iperf3 has it. `remote_*` is null for servers that do not report.
fn cpu_percent(outcome: &Outcome) -> Value {
    let percent = |micros: u64, time: Duration| 100.0 * micros as f64 / (time.as_micros().max(1) as f64);
    let of = |(cpu, time): (Cpu, Duration)| {
        [percent(cpu.total_us(), time), percent(cpu.user_us, time), percent(cpu.system_us, time)]
    };
    let here = of(outcome.cpu_here);
    let there = outcome.cpu_there.map(of);
    json!({
        "host_total": here[0], "host_user": here[1], "host_system": here[2],
        "remote_total": there.map(|it| it[0]), "remote_user": there.map(|it| it[1]), "remote_system": there.map(|it| it[2]),
    })
}

/// The `pcc` object of `end`.
fn summary(test: &Test, run: &Run, flow: &Flow) -> Value {
    let outcome = &run.outcome;
    let mut pcc = pcc_object(test, run.turn.round, flow);
    pcc["wire_bytes"] = flow.wire_bytes.into();
    pcc["connect_ms"] = (outcome.connect.as_secs_f64() * 1e3).into();
    pcc["rtt_idle_ms"] = (outcome.idle_rtt.as_secs_f64() * 1e3).into();
    pcc["rtt_loaded_ms"] = json!(outcome.loaded_rtt);
    pcc["rtt_added_ms"] = outcome.rtt_added_ms().into();
    pcc
}

/// The `pcc` object of an interval, and part of the one of `end`. What only a sender knows is null where a server sends
/// that does not report; what only PCC knows is null where another algorithm sends.
fn pcc_object(test: &Test, round: u32, flow: &Flow) -> Value {
    let state = flow.pcc.as_ref();
    json!({
        "schema_version": SCHEMA_VERSION,
        "algo": flow.algorithm,
        "round": round,
        "utility": state.map(|_| &test.objective.utility),
        "mi_id": state.map(|state| state.mi_id),
        "state": state.map(|state| &state.state),
        "rate_bps": state.map(|state| state.rate_bps),
        "utility_value": state.and_then(|state| state.utility_value),
        "limited_by": state.map(|state| &state.limited_by),
        "rtt_ms": flow.rtt.as_secs_f64() * 1e3,
        "loss": flow.loss(),
        "waste": flow.waste(),
        "counted_by": flow.counted.as_str(),
    })
}
