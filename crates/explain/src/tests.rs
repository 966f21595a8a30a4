//! Traces written by hand, in the forms of several stacks.

use super::*;
use core::fmt::Write as _;

/// How a stack writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Schema {
    /// draft-ietf-quic-qlog-main-schema-13, as a JSON text sequence.
    New,
    /// qlog 0.3, an object a line.
    Old,
    /// One document, with arrays, and numbers in quotes.
    Oldest,
    /// New names, and no frames.
    Frameless,
}

/// An event, at a time in ms.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// A full packet of this number.
    Sent(u32),
    /// One of 300 bytes.
    Short(u32),
    Acked(u32),
    Lost(u32),
    /// Bytes in flight, window.
    Metrics(u32, u32),
    Blocked(u32),
}

const FULL: u32 = 1200;

/// A trace of a server.
#[derive(Clone, Debug, Default)]
struct Hand(Vec<(f64, Line)>);

impl Hand {
    fn line(&mut self, at: f64, line: Line) {
        self.0.push((at, line));
    }

    /// A full packet every 10 ms, with an answer 40 ms later, as full as a window of five allows.
    fn steady(&mut self, from: u32, to: u32) {
        for number in from / 10..to / 10 {
            self.line(f64::from(number * 10), Line::Sent(number));
            self.line(f64::from(number * 10 + 40), Line::Acked(number));
        }
    }

    fn text(&self, schema: Schema) -> String {
        let mut lines = self.0.clone();
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        let events: Vec<_> = lines.iter().filter_map(|(at, line)| event(schema, *at, *line)).collect();
        let trace = r#""vantage_point":{"type":"server"},"common_fields":{"group_id":"0"}"#;
        match schema {
            Schema::New | Schema::Frameless => {
                let head =
                    format!("{{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"trace\":{{{trace}}}}}");
                [head].iter().chain(&events).fold(String::new(), |text, record| text + "\x1e" + record + "\n")
            }
            Schema::Old => {
                let head = format!("{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{{{trace}}}}}");
                [head].iter().chain(&events).fold(String::new(), |text, record| text + record + "\n")
            }
            Schema::Oldest => format!(
                "{{\"qlog_version\":\"draft-01\",\"traces\":[{{{trace},\"events\":[{}]}}]}}",
                events.join(",\n")
            ),
        }
    }

    fn explained(&self, schema: Schema) -> Explained {
        explain(self.text(schema).as_bytes()).unwrap()
    }
}

fn event(schema: Schema, at: f64, line: Line) -> Option<String> {
    let (space, name, number, size, frame) = match line {
        Line::Sent(number) => ("transport", "packet_sent", number, FULL, stream(number, FULL)),
        Line::Short(number) => ("transport", "packet_sent", number, 300, stream(number, 300)),
        Line::Acked(number) => {
            let frame = format!("{{\"frame_type\":\"ack\",\"acked_ranges\":[[{number}]]}}");
            ("transport", "packet_received", number, 40, frame)
        }
        Line::Blocked(number) => {
            ("transport", "packet_sent", number, 40, "{\"frame_type\":\"data_blocked\",\"limit\":9}".to_owned())
        }
        Line::Lost(number) => ("recovery", "packet_lost", number, FULL, String::new()),
        Line::Metrics(in_flight, window) => {
            let data =
                format!("{{\"bytes_in_flight\":{in_flight},\"congestion_window\":{window},\"latest_rtt\":40.0}}");
            return Some(match schema {
                Schema::New | Schema::Frameless => record(at, "quic:recovery_metrics_updated", &data),
                Schema::Old => record(at, "recovery:metrics_updated", &data),
                Schema::Oldest => format!("[\"{at}\",\"recovery\",\"metrics_updated\",{data}]"),
            });
        }
    };
    let frames = if schema == Schema::Frameless { String::new() } else { format!(",\"frames\":[{frame}]") };
    Some(match schema {
        Schema::New | Schema::Frameless => {
            let header = format!("{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}}");
            let data = format!("{{\"header\":{header},\"raw\":{{\"length\":{size}}}{frames}}}");
            record(at, &format!("quic:{name}"), &data)
        }
        Schema::Old => {
            let header = format!("{{\"packet_type\":\"1RTT\",\"packet_number\":{number},\"length\":{size}}}");
            record(at, &format!("{space}:{name}"), &format!("{{\"header\":{header}{frames}}}"))
        }
        Schema::Oldest => {
            let header = format!("{{\"packet_number\":\"{number}\",\"packet_size\":{size}}}");
            format!("[\"{at}\",\"{space}\",\"{name}\",{{\"packet_type\":\"1RTT\",\"header\":{header}{frames}}}]")
        }
    })
}

fn record(at: f64, name: &str, data: &str) -> String {
    format!("{{\"time\":{at},\"name\":\"{name}\",\"data\":{data}}}")
}

fn stream(number: u32, bytes: u32) -> String {
    let offset = number * FULL;
    format!("{{\"frame_type\":\"stream\",\"stream_id\":3,\"offset\":{offset},\"length\":{bytes}}}")
}

fn time(explained: &Explained, cause: Cause) -> f64 {
    explained.limits[cause as usize]
}

#[test]
fn the_schemas_have_the_same_answer() {
    let mut hand = Hand::default();
    hand.line(0.0, Line::Metrics(0, 6000));
    hand.steady(0, 3000);
    hand.steady(5000, 8000);
    let of = |schema| hand.explained(schema);
    let new = of(Schema::New);
    assert_eq!(
        (new.side, new.packets, new.base_rtt.map(|rtt| (rtt * 1e3).round())),
        (Some(Side::Server), 600, Some(40.0))
    );
    assert_eq!((of(Schema::Old), of(Schema::Oldest)), (new.clone(), new.clone()));
    assert!((time(&new, Cause::Application) - 1.97).abs() < 0.1, "{new:?}");
    assert_eq!(new.seconds[4].limited_by, Some(Cause::Application));
    assert_eq!(new.unread, Unread::default());
}

#[test]
fn a_trace_without_frames_is_explained_by_its_metrics() {
    let mut hand = Hand::default();
    hand.steady(0, 3000);
    for ms in (1..6050).step_by(10) {
        hand.line(f64::from(ms), Line::Metrics(if (3000..5000).contains(&ms) || ms > 6000 { 0 } else { 4800 }, 6000));
    }
    hand.steady(5000, 6000);
    let explained = hand.explained(Schema::Frameless);
    assert!((time(&explained, Cause::Application) - 2.0).abs() < 0.1, "{explained:?}");
    assert_eq!(explained.delivered, explained.sent, "{explained:?}");
}

#[test]
fn a_sender_that_did_not_run_is_told_from_an_outage() {
    let mut stopped = Hand::default();
    stopped.line(0.0, Line::Metrics(0, 5000));
    stopped.steady(0, 2000);
    let mut dark = stopped.clone();
    for number in 200..206 {
        // It asks again, ever more seldom.
        dark.line(2000.0 + 70.0 * (f64::from(1 << (number - 200)) - 1.0), Line::Sent(number));
        stopped.line(2000.0, Line::Sent(number));
    }
    for hand in [&mut stopped, &mut dark] {
        hand.line(4500.0, Line::Acked(205));
        hand.steady(4600, 6000);
    }
    let (stopped, dark) = (stopped.explained(Schema::New), dark.explained(Schema::New));
    assert!(time(&stopped, Cause::Host) > 1.8 && time(&stopped, Cause::Outage) < 0.1, "{stopped:?}");
    assert!(time(&dark, Cause::Outage) > 1.8 && time(&dark, Cause::Host) == 0.0, "{dark:?}");
}

#[test]
fn a_sender_that_says_blocked_waits_for_its_receiver() {
    let mut hand = Hand::default();
    hand.line(0.0, Line::Metrics(0, 60_000));
    hand.steady(0, 1000);
    hand.line(1001.0, Line::Blocked(100));
    hand.line(1041.0, Line::Acked(100));
    hand.line(3000.0, Line::Sent(101));
    hand.line(3040.0, Line::Acked(101));
    let explained = hand.explained(Schema::Old);
    assert!(time(&explained, Cause::ReceiverWindow) > 1.9, "{explained:?}");
}

#[test]
fn packets_that_are_not_full_are_of_a_slow_application() {
    let mut hand = Hand::default();
    hand.line(0.0, Line::Metrics(0, 12_000));
    hand.line(0.0, Line::Sent(0));
    for number in 1..300 {
        hand.line(f64::from(number) * 10.0, Line::Short(number));
        hand.line(f64::from(number) * 10.0 + 45.0, Line::Acked(number));
    }
    let explained = hand.explained(Schema::New);
    assert!(time(&explained, Cause::Application) > 0.95 * explained.took, "{explained:?}");
}

#[test]
fn losses_without_a_queue_are_told_until_there_is_one() {
    let mut hand = Hand::default();
    hand.line(0.0, Line::Metrics(0, 6000));
    hand.steady(0, 10_000);
    for number in (200..400).step_by(40) {
        hand.0.retain(|(_, line)| !matches!(line, Line::Acked(acked) if *acked == number));
        hand.line(f64::from(number * 10 + 80), Line::Lost(number));
    }
    let explained = hand.explained(Schema::New);
    assert_eq!((explained.lost, explained.seconds[3].limited_by), (5, Some(Cause::Loss)));
    assert!(explained.seconds[9].limited_by == Some(Cause::Loss), "its window grows back: {explained:?}");
}

#[test]
fn what_is_no_event_is_counted_with_its_number() {
    let mut hand = Hand::default();
    hand.steady(0, 500);
    let mut lines: Vec<_> = hand.text(Schema::Old).lines().map(str::to_owned).collect();
    lines.insert(3, "no json".to_owned());
    lines.insert(7, "{\"time\":1}".to_owned());
    lines.push("{\"time\":9,\"na".to_owned());
    let explained = explain(lines.join("\n").as_bytes()).unwrap();
    assert_eq!((explained.packets, explained.unread), (50, Unread { records: 3, first: Some(4) }));
    assert!(words::answer("a", &explained).contains("3 records, the first is number 4"));
}

#[test]
fn a_file_without_an_event_is_refused() {
    for (text, told) in [("", "no event"), ("hello\nworld\n", "2 of its records"), ("{\"trace\":{}}", "no event")] {
        let refused = explain(text.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(told), "{text}: {refused}");
    }
}

#[test]
fn a_receiver_s_trace_points_to_the_other_end() {
    let mut text = String::new();
    for number in 0..10 {
        let data = format!("{{\"header\":{{\"packet_number\":{number}}},\"frames\":[{}]}}", stream(number, 1200));
        let _ = writeln!(text, "{}", record(f64::from(number), "quic:packet_received", &data));
    }
    let explained = explain(text.as_bytes()).unwrap();
    let told = words::answer("a", &explained);
    assert!(explained.received == 12e3 && told.contains("the trace of the other end"), "{told}");
}

#[test]
fn times_without_bounds_cost_neither_time_nor_memory() {
    let mut hand = Hand::default();
    hand.steady(0, 500);
    for at in [1e300, 5.0, 9e10, -4.0, 1e11] {
        hand.line(at, Line::Sent(7000));
    }
    let explained = hand.explained(Schema::New);
    assert!(explained.seconds.len() <= 3600 && explained.took <= 1e8 + 1.0, "{}", explained.took);
}

#[test]
fn the_page_stands_alone_and_names_are_no_markup() {
    let mut hand = Hand::default();
    hand.line(0.0, Line::Metrics(0, 6000));
    hand.steady(0, 3000);
    let page = page::page("a<b", &hand.explained(Schema::New));
    assert!(page.contains("a&lt;b") && !page.contains("a<b") && !page.contains("http") && !page.contains("NaN"));
    assert_eq!(page.matches("<div class=\"wide\"><svg").count(), 4);
    assert!(
        page.contains("<title>second 1: the sender&#39;s own window, 100 %</title>") || page.contains("second 1: ")
    );
}
