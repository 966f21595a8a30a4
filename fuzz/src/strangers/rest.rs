//! Frames of HTTP/3, reports of a test of a path, traces, headers of packets.

use crate::frames::Frames;
use crate::ip;
use crate::side::{STREAMS_LISTED, heard};
use crate::train::{self, Train};

pub(crate) const REPORT: &[u8] = br#"{"at_us":9,"received":5,"received_us":[1,2],"mtu":1200,"streams":[[0,1],[4,2]],
"cpu":{"user_us":1},"algorithm":"pcc","pcc":{"state":"Starting","rate_bps":1e6,"loss":0.5,"limited_by":"none"}}"#;

pub(crate) const TRACE: &[u8] = b"\x1e{\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}
\x1e{\"time\":1,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_number\":1},\"raw\":{\"length\":999},
\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":3,\"offset\":5,\"length\":9}]}}
\x1e{\"time\":900,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_number\":1},\"frames\":[{\"frame_type\":\"ack\",
\"acked_ranges\":[[0,1]]}]}}";

/// All time has a limit, and a page shows it.
pub(crate) fn trace_of_a_connection(bytes: &[u8]) -> bool {
    let Ok(explained) = pcc_explain::explain(bytes) else { return false };
    let sum: f64 = explained.seconds.iter().flat_map(|second| second.limits_seconds).sum();
    assert!((sum - explained.took).abs() <= 1e-6 * sum && explained.seconds.len() <= 3600);
    let page = pcc_explain::page::page("trace", &explained);
    assert!(!page.contains("NaN") && !page.contains("inf\""));
    true
}

/// Cut anywhere, it is as far as in one piece.
pub(crate) fn frames_of_http3(bytes: &[u8]) -> bool {
    let Some(([kind, cut], bytes)) = bytes.split_first_chunk() else { return false };
    let begin = || if kind % 2 == 0 { Frames::of_request() } else { Frames::of_one_way() };
    let (mut whole, mut cut_up) = (begin(), begin());
    let parts = bytes.chunks(usize::from(*cut).max(1));
    let last = parts.fold(Ok(0), |before, part| before.and_then(|_| cut_up.pass(part)));
    assert_eq!(whole.pass(bytes), last);
    last.is_ok()
}

/// A terminal may show it.
pub(crate) fn report_of_a_test(bytes: &[u8]) -> bool {
    let Some(side) = heard(bytes) else { return false };
    assert!(side.streams.len() <= STREAMS_LISTED);
    let words = [Some(side.algorithm), side.pcc.map(|pcc| pcc.state)];
    assert!(words.into_iter().flatten().all(|word| word.len() <= 32 && !word.contains(char::is_control)));
    true
}

/// A train that is asked for is one that both ends bear.
pub(crate) fn request_of_a_train(bytes: &[u8]) -> bool {
    let Some((is_down, number, train)) = bytes.first_chunk().and_then(Train::requested) else { return false };
    assert!(train.is_bearable());
    assert_eq!(Train::requested(&train.request(is_down, number)), Some((is_down, number, train)));
    true
}

pub(crate) fn packet_of_a_train(bytes: &[u8]) -> bool {
    train::read(bytes).is_some_and(|(_, _, at)| at >= 0.0)
}

/// However many there are, none is of another train.
pub(crate) fn arrivals_of_a_train(bytes: &[u8]) -> bool {
    let arrived = train::arrivals_read(bytes, 20);
    assert_eq!(arrived.len(), 20);
    arrived.iter().flatten().count() > 0
}

/// A packet that is marked is of the same flow.
pub(crate) fn header_of_ip(bytes: &[u8]) -> bool {
    let before = ip::told(bytes);
    let mut packet = bytes.to_vec();
    ip::mark(&mut packet);
    let after = ip::told(&packet);
    assert!(before.flow == after.flow && before.size == after.size && (after.marked || bytes.len() < 12));
    after.marked
}
