//! One record of a trace: its header, or an event that says something of the sender.
//!
//! Names and fields are those of draft-ietf-quic-qlog-quic-events-12 (`quic:packet_sent`, `quic:recovery_metrics_updated`), of qlog 0.3
//! (`transport:packet_sent`, `recovery:metrics_updated`), and of the arrays that came before (`[time, "transport", "packet_sent", data]`).
//! Numbers may stand in quotes.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It asked for the connection.
    Client,
    /// It was asked.
    Server,
}

/// The common part of all events.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) side: Option<Side>,
    /// Each time counts from the event before.
    pub(crate) is_relative_to_previous: bool,
    /// Seconds in a unit of time.
    pub(crate) unit: f64,
}

impl Default for Header {
    /// Milliseconds, as all but the first drafts have them.
    fn default() -> Self {
        Self { side: None, is_relative_to_previous: false, unit: 1e-3 }
    }
}

impl Header {
    /// Reads the record that begins a trace; `None` if it is another one.
    pub(crate) fn read(record: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(record).ok()?;
        let trace = value.get("trace").or_else(|| value.pointer("/traces/0"))?;
        let word = |path: &str| trace.pointer(path).and_then(Value::as_str);
        let place = [word("/vantage_point/type"), word("/vantage_point/flow")];
        let is = |side: &str| place.contains(&Some(side));
        let format = word("/common_fields/time_format").unwrap_or_default();
        Some(Self {
            side: is("client").then_some(Side::Client).or(is("server").then_some(Side::Server)),
            is_relative_to_previous: matches!(format, "relative_to_previous_event" | "delta"),
            unit: if word("/configuration/time_units") == Some("us") { 1e-6 } else { 1e-3 },
        })
    }
}

/// An event, at a time in the trace's unit.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) time: f64,
    pub(crate) told: Told,
}

/// The content of an event.
#[derive(Debug)]
pub(crate) enum Told {
    Sent(Packet),
    Received(Packet),
    Lost(Packet),
    Metrics(Metrics),
    /// The peer's first windows.
    Allowance(Allowance),
    /// An interval of PCC's.
    Interval(Interval),
    /// Nothing that counts here.
    Other,
}

/// A packet of QUIC.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Packet {
    header: Head,
    raw: Loose<Raw>,
    packet_type: Word,
    #[serde(rename = "packet_size")]
    size: Number,
    pub(crate) frames: Option<Vec<Frame>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    packet_type: Word,
    packet_number: Number,
    length: Number,
    packet_size: Number,
    path_id: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Raw {
    length: Number,
    payload_length: Number,
}

/// A frame of a packet.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Frame {
    frame_type: Word,
    stream_id: Number,
    offset: Number,
    length: Number,
    raw: Loose<Raw>,
    #[serde(deserialize_with = "truth")]
    fin: bool,
    maximum: Number,
    path_id: Number,
    acked_ranges: Vec<Vec<Number>>,
}

/// The meaning of a frame to a sender.
#[derive(Debug, PartialEq)]
pub(crate) enum Means {
    /// Bytes of a stream up to this offset.
    Stream {
        id: u64,
        until: f64,
        bytes: f64,
        is_end: bool,
    },
    Datagram,
    Ack,
    /// The peer takes so many bytes.
    MaxData(f64),
    MaxStreamData(u64, f64),
    /// The peer takes no more.
    Blocked,
    /// No acknowledgement is due for it.
    Silent,
    Other,
}

impl Frame {
    pub(crate) fn means(&self) -> Means {
        let number = |number: Number| number.0.unwrap_or(0.0);
        match self.frame_type.0.as_str() {
            "stream" => {
                let bytes =
                    [self.length, self.raw.0.payload_length, self.raw.0.length].into_iter().find_map(|one| one.0);
                let bytes = bytes.unwrap_or(0.0);
                let (id, until) = (self.stream_id.whole().unwrap_or(0), number(self.offset) + bytes);
                Means::Stream { id, until, bytes, is_end: self.fin }
            }
            "datagram" => Means::Datagram,
            "ack" | "path_ack" => Means::Ack,
            "max_data" => Means::MaxData(number(self.maximum)),
            "max_stream_data" => Means::MaxStreamData(self.stream_id.whole().unwrap_or(0), number(self.maximum)),
            "data_blocked" | "stream_data_blocked" => Means::Blocked,
            // An unknown one is an extension's, as timestamps, which ask for nothing.
            "padding" | "connection_close" | "application_close" | "unknown" => Means::Silent,
            _ => Means::Other,
        }
    }

    /// The path of the packets that it acknowledges.
    pub(crate) fn path(&self) -> u64 {
        self.path_id.whole().unwrap_or(0)
    }

    /// Packets that it acknowledges, the first and the last of each run.
    pub(crate) fn acknowledged(&self) -> impl Iterator<Item = (u64, u64)> {
        self.acked_ranges.iter().filter_map(|run| Some((run.first()?.whole()?, run.last()?.whole()?)))
    }
}

impl Packet {
    /// The number, behind that of the path; `None` of a packet of the handshake.
    pub(crate) fn key(&self) -> Option<(u64, u64)> {
        let kind = [&self.header.packet_type, &self.packet_type].into_iter().find(|kind| !kind.0.is_empty());
        let is_of_handshake =
            kind.is_some_and(|kind| !matches!(kind.0.as_str(), "1RTT" | "0RTT" | "onertt" | "zerortt"));
        let number = self.header.packet_number.whole().filter(|_| !is_of_handshake)?;
        Some((self.header.path_id.whole().unwrap_or(0), number))
    }

    /// Unit: bytes.
    pub(crate) fn bytes(&self) -> f64 {
        let sizes = [self.raw.0.length, self.header.packet_size, self.size, self.header.length];
        sizes.into_iter().find_map(|size| size.0).unwrap_or(0.0)
    }
}

/// A sender's knowledge of its path. Times are in the trace's unit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Metrics {
    pub(crate) latest_rtt: Number,
    pub(crate) bytes_in_flight: Number,
    #[serde(alias = "cwnd")]
    pub(crate) congestion_window: Number,
}

/// How much a peer takes before it has read anything.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Allowance {
    #[serde(alias = "owner")]
    initiator: Word,
    pub(crate) initial_max_data: Number,
    pub(crate) initial_max_stream_data_bidi_local: Number,
    pub(crate) initial_max_stream_data_bidi_remote: Number,
    pub(crate) initial_max_stream_data_uni: Number,
}

/// No interval of PCC's is longer. Unit: ms.
const LONGEST_INTERVAL: f64 = 1e6;

/// A monitor interval of PCC's: docs/qlog.md.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Interval {
    /// Unit: ms.
    duration: Number,
    target_rate: Number,
    achieved_rate: Number,
    limited_by: Word,
}

/// The limit of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Network,
    Application,
    ReceiverWindow,
    Host,
}

impl Interval {
    /// How long the interval was, and for how much of it its limit was one: by as much the rate that was achieved is below the target.
    /// Unit: s.
    pub(crate) fn times(&self) -> (f64, f64) {
        let duration = self.duration.0.unwrap_or(0.0).min(LONGEST_INTERVAL) * 1e-3;
        let reached = self.achieved_rate.0.zip(self.target_rate.0).map_or(0.0, |(achieved, target)| achieved / target);
        (duration, duration * (1.0 - reached.min(1.0)).max(0.0))
    }

    pub(crate) fn limit(&self) -> Option<Limit> {
        match self.limited_by.0.as_str() {
            "network" => Some(Limit::Network),
            "application" => Some(Limit::Application),
            "receiver window" => Some(Limit::ReceiverWindow),
            "host" => Some(Limit::Host),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    time: Number,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl Event {
    /// `None` if the record is no event, or one whose fields are not as qlog has them.
    pub(crate) fn read(record: &[u8]) -> Option<Self> {
        let (time, space, name, data);
        let envelope: Envelope<'_>;
        let array: (Number, Cow<'_, str>, Cow<'_, str>, &RawValue);
        if record.first() == Some(&b'[') {
            array = serde_json::from_slice(record).ok()?;
            (time, space, name, data) = (array.0, &*array.1, &*array.2, Some(array.3));
        } else {
            envelope = serde_json::from_slice(record).ok()?;
            let (before, behind) = envelope.name.split_once(':')?;
            (time, space, name, data) = (envelope.time, before, behind, envelope.data);
        }
        let data = data.map_or("{}", RawValue::get);
        let told = match (space, name) {
            ("quic" | "transport", "packet_sent") => Told::Sent(read(data)?),
            ("quic" | "transport", "packet_received") => Told::Received(read(data)?),
            ("quic" | "recovery", "packet_lost") => Told::Lost(read(data)?),
            ("quic", "recovery_metrics_updated") | ("recovery", "metrics_updated") => Told::Metrics(read(data)?),
            ("quic" | "transport", "parameters_set") => {
                let allowance: Allowance = read(data)?;
                if allowance.initiator.0 == "remote" { Told::Allowance(allowance) } else { Told::Other }
            }
            ("pcc", "interval_done") => Told::Interval(read(data)?),
            _ => Told::Other,
        };
        Some(Self { time: time.0?, told })
    }
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Option<T> {
    serde_json::from_str(data).ok()
}

/// A number of 0 or more, in quotes or not; anything else is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Number(pub(crate) Option<f64>);

impl Number {
    /// As a whole number. No identifier is larger than a variable-length integer of QUIC (RFC 9000 §16).
    fn whole(self) -> Option<u64> {
        self.0.filter(|number| *number < (1_u64 << 62) as f64).map(|number| number as u64)
    }
}

/// A word; anything else is none.
#[derive(Debug, Default)]
struct Word(String);

/// A value that some stacks write in another form, which counts as none.
#[derive(Debug, Default)]
struct Loose<T>(T);

/// Takes a value of any kind.
enum Any {
    Number(f64),
    Text(String),
    Truth(bool),
    Other,
}

impl<'de> Visitor<'de> for Any {
    type Value = Self;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self, E> {
        Ok(Self::Truth(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self, E> {
        Ok(Self::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self, E> {
        Ok(Self::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self, E> {
        Ok(Self::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self, E> {
        Ok(Self::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(Self::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::Other)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = match deserializer.deserialize_any(Any::Other)? {
            Any::Number(number) => Some(number),
            Any::Text(text) => text.parse().ok(),
            _ => None,
        };
        Ok(Self(number.filter(|number| number.is_finite() && *number >= 0.0)))
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = deserializer.deserialize_any(Any::Other)?;
        Ok(Self(if let Any::Text(text) = text { text } else { String::new() }))
    }
}

fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(matches!(deserializer.deserialize_any(Any::Other)?, Any::Truth(true)))
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either<T> {
            Known(T),
            Other(IgnoredAny),
        }
        Ok(Self(match Either::deserialize(deserializer)? {
            Either::Known(known) => known,
            Either::Other(_) => T::default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(record: &str) -> Told {
        Event::read(record.as_bytes()).unwrap_or_else(|| panic!("{record}")).told
    }

    #[test]
    fn each_schema_tells_of_the_same_packet() {
        for record in [
            r#"{"time":7.5,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":9},
                "raw":{"length":1200},"frames":[{"frame_type":"stream","stream_id":4,"offset":100,"fin":true,
                "raw":{"payload_length":50}}]}}"#,
            r#"{"time":"7.5","name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":9,
                "length":1200},"raw":"00ff","frames":[{"frame_type":"stream","stream_id":4,"offset":100,"length":50,
                "fin":true}]}}"#,
            r#"["7.5","transport","packet_sent",{"packet_type":"1RTT","header":{"packet_number":"9","packet_size":1200},
                "frames":[{"frame_type":"stream","stream_id":"4","offset":"100","length":"50","fin":true}]}]"#,
        ] {
            let event = Event::read(record.as_bytes()).unwrap();
            let Told::Sent(packet) = event.told else { panic!("{record}") };
            assert_eq!((event.time, packet.key(), packet.bytes()), (7.5, Some((0, 9)), 1200.0), "{record}");
            let stream = Means::Stream { id: 4, until: 150.0, bytes: 50.0, is_end: true };
            assert_eq!(packet.frames.unwrap()[0].means(), stream, "{record}");
        }
    }

    #[test]
    fn acknowledgements_are_runs_of_one_or_two_numbers() {
        let record = r#"{"time":1,"name":"transport:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":3},
            "frames":[{"frame_type":"ack","acked_ranges":[[7],["1","5"],[],["x"]]}]}}"#;
        let Told::Received(packet) = told(record) else { panic!() };
        assert_eq!(packet.frames.unwrap()[0].acknowledged().collect::<Vec<_>>(), [(7, 7), (1, 5)]);
    }

    #[test]
    fn metrics_have_one_meaning_under_both_names() {
        for name in ["quic:recovery_metrics_updated", "recovery:metrics_updated"] {
            let record =
                format!(r#"{{"time":1,"name":"{name}","data":{{"congestion_window":12000,"latest_rtt":4.5}}}}"#);
            let Told::Metrics(metrics) = told(&record) else { panic!("{record}") };
            assert_eq!((metrics.congestion_window.0, metrics.latest_rtt.0), (Some(12e3), Some(4.5)));
            assert_eq!(metrics.bytes_in_flight.0, None);
        }
    }

    #[test]
    fn headers_of_all_schemas_tell_whose_trace_it_is() {
        let header = |text: &str| Header::read(text.as_bytes());
        let new = header(r#"{"file_schema":"urn:x","trace":{"vantage_point":{"type":"server"},"common_fields":{}}}"#)
            .unwrap();
        assert_eq!(new, Header { side: Some(Side::Server), ..Header::default() });
        let old = r#"{"qlog_version":"0.3","traces":[{"vantage_point":{"type":"network","flow":"client"},
            "common_fields":{"time_format":"delta"},"configuration":{"time_units":"us"},"events":[]}]}"#;
        let old = header(old).unwrap();
        assert_eq!(old, Header { side: Some(Side::Client), is_relative_to_previous: true, unit: 1e-6 });
        assert_eq!(header(r#"{"time":1,"name":"quic:packet_sent"}"#), None);
    }

    #[test]
    fn packets_of_the_handshake_have_no_key() {
        for (kind, key) in [("initial", None), ("handshake", None), ("0RTT", Some((0, 3)))] {
            let record = format!(
                r#"{{"time":1,"name":"quic:packet_lost","data":{{"header":{{"packet_type":"{kind}","packet_number":3}}}}}}"#
            );
            let Told::Lost(packet) = told(&record) else { panic!("{record}") };
            assert_eq!(packet.key(), key, "{kind}");
        }
    }

    #[test]
    fn values_of_other_kinds_are_none_and_cost_no_event() {
        let record =
            r#"{"time":1,"name":"quic:recovery_metrics_updated","data":{"latest_rtt":[1],"bytes_in_flight":-5}}"#;
        let Told::Metrics(metrics) = told(record) else { panic!() };
        assert_eq!((metrics.latest_rtt.0, metrics.bytes_in_flight.0), (None, None));
        for record in ["{}", "[1]", r#"{"time":{},"name":"quic:x"}"#, r#"{"time":1,"name":"x"}"#, "\u{ff}"] {
            assert!(Event::read(record.as_bytes()).is_none(), "{record}");
        }
    }
}
