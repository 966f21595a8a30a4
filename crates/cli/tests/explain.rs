//! `pcc explain` as its users run it. Its rules are tested beside the code, and on noq's traces in `crates/quinn/tests`.

mod bench;

use bench::{Bench, said};
use serde_json::Value;

/// Sends for a second, pauses for two, and sends again: a full packet every 10 ms, answered after 40 ms.
fn trace() -> String {
    let mut text = "{\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n".to_owned();
    for number in (0..100).chain(300..400) {
        let at = number * 10;
        let head = format!("\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number},\"length\":1200}}");
        let stream =
            format!("{{\"frame_type\":\"stream\",\"stream_id\":3,\"offset\":{},\"length\":1100}}", number * 1100);
        let ack = format!("{{\"frame_type\":\"ack\",\"acked_ranges\":[[0,{number}]]}}");
        for (at, name, frame) in [(at, "packet_sent", stream), (at + 40, "packet_received", ack)] {
            text +=
                &format!("{{\"time\":{at},\"name\":\"transport:{name}\",\"data\":{{{head},\"frames\":[{frame}]}}}}\n");
        }
    }
    // In the order of time, which a reader may expect.
    let mut lines: Vec<_> = text.lines().skip(1).collect();
    let at = |line: &str| line["{\"time\":".len()..].split(',').next().unwrap().parse::<u32>().unwrap();
    lines.sort_by_key(|line| at(line));
    format!("{}\n{}\n", text.lines().next().unwrap(), lines.join("\n"))
}

#[test]
fn a_directory_s_largest_sender_is_explained_with_a_page() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("client/traces")).unwrap();
    std::fs::write(bench.path("client/traces/1.sqlog"), trace()).unwrap();
    std::fs::write(bench.path("client/traces/2.sqlog"), "no trace\n").unwrap();
    std::fs::write(bench.path("client/traces/notes"), "").unwrap();
    let explained = bench.run(&["explain", "traces", "-o", "slow.html"]);
    let text = String::from_utf8(explained.stdout.clone()).unwrap();
    assert!(explained.status.success(), "{}", said(&explained));
    for told in ["1.sqlog: 240 kB sent in 4.0 s", "the application", "what helps", "2.sqlog: it has no event of qlog"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let page = std::fs::read_to_string(bench.path("client/slow.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("second 2: the application, 100 %"), "{page}");
}

#[test]
fn programs_read_every_limit_of_every_second() {
    let bench = Bench::new();
    std::fs::write(bench.path("client/a.sqlog"), trace()).unwrap();
    let explained = bench.run(&["explain", "a.sqlog", "--json"]);
    let document: Value = serde_json::from_slice(&explained.stdout).unwrap();
    let numbers =
        ["seconds", "sent_bytes", "delivered_bytes", "received_bytes", "packets", "packets_lost", "goodput_bps"];
    for field in numbers.into_iter().chain(["base_rtt_ms", "interval_seconds", "unread_records"]) {
        assert!(document[field].is_number(), "{field}: {document}");
    }
    assert!(document["policer_bps"].is_null() && document["first_unread"].is_null() && document["side"] == "server");
    let names: Vec<_> =
        document["limits"].as_array().unwrap().iter().map(|limit| limit["limited_by"].as_str().unwrap()).collect();
    let all = "application receiver-window host outage window loss policer queue rate";
    assert_eq!(names.join(" "), all);
    let second = &document["intervals"][2];
    assert_eq!((&second["limited_by"], &second["from_seconds"]), (&"application".into(), &2.0.into()));
    assert_eq!(second["limits_seconds"].as_array().unwrap().len(), names.len());
    for field in ["sent_bps", "delivered_bps", "loss", "rtt_ms", "in_flight_bytes", "window_bytes"] {
        assert!(second.get(field).is_some(), "{field}: {second}");
    }
    let spell = &document["spells"][1];
    assert!(spell["limited_by"] == "application" && spell["from_seconds"] == 1.0, "{document}");
    assert!(spell["to_seconds"] == 3.0, "{document}");
}

#[test]
fn what_cannot_be_explained_is_told_with_its_name() {
    let bench = Bench::new();
    std::fs::write(bench.path("client/notes"), "hello\n").unwrap();
    std::fs::create_dir(bench.path("client/empty")).unwrap();
    for (trace, told, code) in [
        ("notes", "notes: it has no event of qlog", 1),
        ("none", "could not read none", 1),
        ("empty", "no file that ends in .sqlog", 2),
    ] {
        let explained = bench.run(&["explain", trace]);
        assert!(said(&explained).contains(told) && explained.status.code() == Some(code), "{}", said(&explained));
    }
}

#[test]
fn a_server_s_own_trace_is_explained() {
    let bench = Bench::new();
    bench.write("served/file", 3_000_000);
    let server = bench.serve(&["--qlog", "traces"]);
    let got = bench.run(&["get", &server.url("file")]);
    assert!(got.status.success(), "{}", said(&got));
    drop(server);
    let folder = ["client/traces", "served/traces", "traces"].into_iter().map(|name| bench.path(name));
    let folder = folder.into_iter().find(|folder| folder.is_dir()).unwrap();
    let explained = bench.run(&["explain", folder.to_str().unwrap()]);
    let text = String::from_utf8(explained.stdout.clone()).unwrap();
    assert!(text.contains("limited by") && !text.contains("not understood"), "{text} {}", said(&explained));
}
