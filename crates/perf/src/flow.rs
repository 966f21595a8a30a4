//! The results of one direction of a test between two moments, from both ends' counts.

use crate::side::Side;
use crate::watch::PccState;
use std::time::Duration;

/// Which way the data of a test goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From client to server.
    Up,
    /// From server to client.
    Down,
}

/// The client's knowledge at one moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Since the load began, by the client's clock.
    pub at: Duration,
    /// The client's end.
    pub client: Side,
    /// The server's latest report; none from servers that do not report.
    pub server: Option<Side>,
    /// Bytes that the client had received when that report came: all that arrived of those that the server had sent
    /// when it wrote the report.
    pub received_when_reported: u64,
}

/// Whose count the bytes of a flow are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The receiver's: exact.
    Receiver,
    /// What the sender sent and did not declare lost: the server does not report and has not confirmed yet.
    Sender,
}

impl Counted {
    /// The word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Sender => "sender",
        }
    }
}

/// The results of one direction between two moments. `None` is a number that only a server knows that does not report.
#[derive(Clone, Debug)]
pub struct Flow {
    /// How long, by the clock of the end that counted.
    pub seconds: f64,
    /// Useful bytes.
    pub bytes: u64,
    /// Whose count.
    pub counted: Counted,
    /// Bytes that the sender's transport took from the application.
    pub offered: Option<u64>,
    /// Packets sent.
    pub packets: Option<u64>,
    /// Packets declared lost.
    pub lost: Option<u64>,
    /// UDP payload the sender put on the wire, acknowledgements and retransmissions included.
    pub wire_bytes: Option<u64>,
    /// Useful bytes among those on the wire; that may be other ones than [`Flow::bytes`], of which some left before.
    pub useful_sent: Option<u64>,
    /// The sender's smoothed RTT at the end; the client's where the sender does not report.
    pub rtt: Duration,
    /// The sender's congestion window at the end.
    pub cwnd: Option<u64>,
    /// The sender's full packet.
    pub mtu: Option<u16>,
    /// The sender's algorithm.
    pub algorithm: Option<String>,
    /// Where the sender's PCC stands at the end.
    pub pcc: Option<PccState>,
}

/// How a test came to its end.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// When the load ended.
    pub ended: &'a Moment,
    /// All that was heard of it, later.
    pub last: &'a Moment,
    /// Whether everything that was sent has arrived.
    pub delivered: bool,
}

impl Flow {
    /// The results of one direction in all, from a moment on, in a test that began at `start`.
    pub fn whole(way: Way, start: &Moment, from: &Moment, end: &End<'_>) -> Self {
        let until = if end.delivered { end.last } else { end.ended };
        // What is sent after the end of a download that was cut by time arrives for nothing, and is not counted as
        // sent; what is received after the end of an upload was sent before.
        let known = if way == Way::Up && end.last.server.is_some() { end.last } else { until };
        let mut flow = Self::between(way, from, known);
        flow.seconds = until.at.saturating_sub(from.at).as_secs_f64();
        match way {
            Way::Up if end.delivered => {
                flow.bytes = until.client.sent.saturating_sub(from.client.sent);
                flow.counted = Counted::Receiver;
            }
            // What it received it received in its own time, not in ours: from a report that is older than `from`, until
            // the queues were empty. A path that carried nothing at the end counts that time all the same.
            Way::Up => flow.seconds = flow.seconds.max(arriving(from, known)),
            Way::Down => flow.bytes = until.client.received.saturating_sub(from.client.received),
        }
        flow.useful_sent = useful_sent(way, start, from, known).or(flow.useful_sent);
        flow
    }

    /// The results of `way` in a shown interval: the bytes that were heard of in it, in the time that is shown with it.
    /// By the clock of the counting end it would be another time, and a row would contradict itself.
    pub fn during(way: Way, from: &Moment, to: &Moment) -> Self {
        Self { seconds: to.at.saturating_sub(from.at).as_secs_f64(), ..Self::between(way, from, to) }
    }

    /// The results of `way` between two moments.
    pub fn between(way: Way, from: &Moment, to: &Moment) -> Self {
        let (sender_from, sender_to) = match way {
            Way::Up => (Some(&from.client), Some(&to.client)),
            Way::Down => (from.server.as_ref(), to.server.as_ref()),
        };
        let sent = sender_from.zip(sender_to);
        let since = |count: fn(&Side) -> u64| sent.map(|(from, to)| count(to).saturating_sub(count(from)));
        let (seconds, bytes, counted) = received(way, from, to);
        Self {
            seconds,
            bytes,
            counted,
            offered: since(|side| side.sent),
            packets: since(|side| side.sent_packets),
            lost: since(|side| side.lost_packets),
            wire_bytes: since(|side| side.udp_tx_bytes),
            useful_sent: since(not_lost).map(|not_lost| not_lost.min(bytes)),
            rtt: Duration::from_micros(sender_to.unwrap_or(&to.client).rtt_us),
            cwnd: sender_to.map(|side| side.cwnd),
            mtu: sender_to.map(|side| side.mtu),
            algorithm: sender_to.map(|side| side.algorithm.clone()),
            pcc: sender_to.and_then(|side| side.pcc.clone()),
        }
    }

    /// Useful bits per second.
    pub fn bits_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 * 8.0 / self.seconds } else { 0.0 }
    }

    /// Packets lost by packets sent.
    pub fn loss(&self) -> Option<f64> {
        let (lost, packets) = (self.lost? as f64, self.packets? as f64);
        Some(if packets > 0.0 { (lost / packets).min(1.0) } else { 0.0 })
    }

    /// Bytes on the wire by the useful ones among them, so never less than one; `None` also if none was useful.
    pub fn waste(&self) -> Option<f64> {
        let (wire, useful) = (self.wire_bytes?, self.useful_sent?.min(self.wire_bytes?));
        (useful > 0).then_some(wire as f64 / useful as f64)
    }
}

/// Bytes of packets that have arrived, or may yet.
fn not_lost(sender: &Side) -> u64 {
    sender.sent_bytes.saturating_sub(sender.lost_bytes)
}

/// What the sender sent between two moments and is useful. What arrived between them will not do: of that some left before
/// the first, as in the seconds that `--omit` leaves out, and of what left before the second some arrives after it. But the
/// share of useful bytes in packets that arrive is known of the whole test.
fn useful_sent(way: Way, start: &Moment, from: &Moment, to: &Moment) -> Option<u64> {
    // What was sent and not lost until a moment, and what of that arrived.
    let known = |moment: &Moment| {
        let server = moment.server.as_ref()?;
        Some(match way {
            Way::Up => (not_lost(&moment.client), server.received),
            Way::Down => (not_lost(server), moment.received_when_reported),
        })
    };
    let ((at_start, arrived_before), (before, _), (end, arrived)) = (known(start)?, known(from)?, known(to)?);
    let (whole, part) = (end.saturating_sub(at_start), end.saturating_sub(before));
    let useful = arrived.saturating_sub(arrived_before);
    (whole > 0).then(|| (part as f64 * (useful as f64 / whole as f64).min(1.0)) as u64)
}

/// Seconds, useful bytes, and who counted them.
fn received(way: Way, from: &Moment, to: &Moment) -> (f64, u64, Counted) {
    let seconds = |from_us: u64, to_us: u64| to_us.saturating_sub(from_us) as f64 * 1e-6;
    let here = seconds(from.client.at_us, to.client.at_us);
    match (way, &from.server, &to.server) {
        (Way::Down, ..) => (here, to.client.received.saturating_sub(from.client.received), Counted::Receiver),
        (Way::Up, Some(from), Some(to)) => {
            // The server's clock: its reports arrive unevenly, and a rate needs time and bytes from one moment.
            let there = seconds(from.at_us, to.at_us);
            (if there > 0.0 { there } else { here }, to.received.saturating_sub(from.received), Counted::Receiver)
        }
        (Way::Up, ..) => {
            let arrived = |side: &Side| not_lost(side).min(side.sent);
            (here, arrived(&to.client).saturating_sub(arrived(&from.client)), Counted::Sender)
        }
    }
}

/// Seconds in which the server received what its second report has beyond its first one, by its own clock.
fn arriving(from: &Moment, to: &Moment) -> f64 {
    let (Some(from), Some(to)) = (&from.server, &to.server) else { return 0.0 };
    let Some((first, latest)) = to.received_us else { return 0.0 };
    let began = if from.received == 0 { first } else { from.at_us };
    latest.saturating_sub(began) as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::units::{Bytes, Rate, Timestamp};
    use pcc_link::{Outcome, Path};

    /// An upload of 1000-byte packets at twice what a path of 20 Mbit/s carries, in virtual time: what the server had
    /// received when.
    fn arrivals(path: &str, sending: Duration) -> Vec<Duration> {
        let (mut up, _) = path.parse::<Path>().unwrap().links(1).unwrap();
        let packet = Bytes::new(1000);
        let gap = Rate::from_mbit(40.0).time_for(packet);
        let sent = (0..).map(|packet| gap * packet).take_while(|at| *at < sending);
        let delivered = sent.filter_map(|at| match up.send(Timestamp::ZERO + at, packet) {
            Outcome::Delivered { at, .. } => Some(at.since(Timestamp::ZERO)),
            _ => None,
        });
        delivered.collect()
    }

    /// What the client knows at a moment: reports leave every 100 ms, and are 15 ms under way.
    fn moment(arrivals: &[Duration], now: Duration) -> Moment {
        let millis = u64::try_from(now.saturating_sub(Duration::from_millis(15)).as_millis()).unwrap();
        let reported = Duration::from_millis(millis / 100 * 100);
        let arrived = arrivals.iter().take_while(|at| **at <= reported).count();
        let micros = |at: &Duration| u64::try_from(at.as_micros()).unwrap();
        let server = Side {
            at_us: micros(&reported),
            received: 1000 * arrived as u64,
            received_us: arrived.checked_sub(1).map(|last| (micros(&arrivals[0]), micros(&arrivals[last]))),
            ..Side::default()
        };
        Moment { at: now, client: client(micros(&now), 0), server: Some(server), ..Moment::default() }
    }

    #[test]
    fn an_upload_with_omitted_seconds_is_no_faster_than_its_path() {
        let end = Duration::from_secs(3);
        for path in ["rate=20Mbit,rtt=30ms,buffer=75KB", "rate=20Mbit,rtt=30ms,buffer=2MB"] {
            let arrivals = arrivals(path, end);
            let last = Moment { at: end, ..moment(&arrivals, Duration::from_secs(9)) };
            for omitted in [0, 470, 1000, 1014, 2900] {
                let from = moment(&arrivals, Duration::from_millis(omitted));
                let end = End { ended: &moment(&arrivals, end), last: &last, delivered: false };
                let flow = Flow::whole(Way::Up, &from, &from, &end);
                let carried = (20e6 / 8.0 * flow.seconds, flow.bytes as f64);
                let told = format!("{carried:?} bytes over {path}, without {omitted} ms");
                // One packet more, since some were under way when the first report was made.
                assert!(carried.1 <= carried.0 + 1000.0 && carried.1 > 0.95 * carried.0, "{told}");
            }
        }
    }

    #[test]
    fn a_path_that_carries_nothing_at_the_end_counts_that_time() {
        let (sending, end) = (Duration::from_secs(1), Duration::from_secs(2));
        let arrivals = arrivals("rate=20Mbit,rtt=30ms,buffer=75KB", sending);
        let last = Moment { at: end, ..moment(&arrivals, Duration::from_secs(9)) };
        let end = End { ended: &moment(&arrivals, end), last: &last, delivered: false };
        let start = moment(&arrivals, Duration::ZERO);
        let mbit = Flow::whole(Way::Up, &start, &start, &end).bits_per_second() * 1e-6;
        assert!((9.5..10.5).contains(&mbit), "{mbit}");
    }

    fn client(at_us: u64, sent: u64) -> Side {
        Side {
            at_us,
            sent,
            sent_bytes: sent + 500,
            udp_tx_bytes: sent + 600,
            sent_packets: sent / 100,
            ..Side::default()
        }
    }

    #[test]
    fn an_upload_is_what_the_server_received_by_its_own_clock() {
        let server = |at_us, received| Some(Side { at_us, received, ..Side::default() });
        let from = Moment { client: client(0, 0), server: server(900_000, 0), ..Moment::default() };
        let to = Moment { client: client(1_000_000, 9_000), server: server(1_400_000, 4_000), ..Moment::default() };
        let flow = Flow::between(Way::Up, &from, &to);
        assert_eq!((flow.bytes, flow.counted), (4_000, Counted::Receiver));
        assert!((flow.bits_per_second() - 64_000.0).abs() < 1e-6, "{flow:?}");
        assert_eq!(flow.waste(), Some(2.25), "9000 bytes on the wire for 4000 that arrived");
    }

    #[test]
    fn an_interval_moves_its_bytes_in_its_own_time() {
        let server = |at_us, received| Some(Side { at_us, received, ..Side::default() });
        let at = Duration::from_millis;
        let from = Moment { at: at(1010), server: server(900_000, 0), ..Moment::default() };
        let to = Moment { at: at(2020), server: server(1_997_000, 2_660_000), ..Moment::default() };
        let flow = Flow::during(Way::Up, &from, &to);
        assert!((flow.bits_per_second() - 8.0 * 2.66e6 / 1.01).abs() < 1.0, "{flow:?}");
    }

    #[test]
    fn without_reports_an_upload_is_what_was_sent_and_not_lost() {
        let from = Moment { client: client(0, 0), ..Moment::default() };
        let to = Moment {
            client: Side { lost_bytes: 3_500, lost_packets: 9, ..client(1_000_000, 9_000) },
            ..Moment::default()
        };
        let flow = Flow::between(Way::Up, &from, &to);
        assert_eq!((flow.bytes, flow.counted), (6_000, Counted::Sender));
        assert_eq!(flow.loss(), Some(0.1));
    }

    #[test]
    fn without_reports_nobody_knows_how_a_download_was_sent() {
        let to =
            Moment { client: Side { at_us: 1_000_000, received: 125_000, ..Side::default() }, ..Moment::default() };
        let flow = Flow::between(Way::Down, &Moment::default(), &to);
        assert_eq!((flow.bits_per_second(), flow.loss(), flow.waste()), (1e6, None, None));
    }

    #[test]
    fn an_empty_interval_has_no_rate_and_no_waste() {
        let flow = Flow::between(Way::Up, &Moment::default(), &Moment::default());
        assert_eq!((flow.bits_per_second(), flow.loss(), flow.waste()), (0.0, Some(0.0), None));
    }

    /// A sender whose packets are useful to 97 %; acknowledgements come on top.
    fn sender(not_lost: u64, lost: u64) -> Side {
        let sent_bytes = not_lost + lost;
        Side { at_us: 1, sent_bytes, lost_bytes: lost, udp_tx_bytes: sent_bytes + 10_000, ..Side::default() }
    }

    #[test]
    fn download_is_compared_with_what_had_left_when_server_said_so() {
        let last = Moment {
            client: Side { received: 1_200_000, ..Side::default() },
            server: Some(sender(1_000_000, 30_000)),
            received_when_reported: 970_000,
            ..Moment::default()
        };
        let start = Moment { server: Some(Side::default()), ..Moment::default() };
        let end = End { ended: &last, last: &last, delivered: false };
        let flow = Flow::whole(Way::Down, &start, &start, &end);
        assert_eq!((flow.bytes, flow.waste()), (1_200_000, Some(1_040_000.0 / 970_000.0)));
    }

    #[test]
    fn packets_of_the_omitted_time_do_not_count_later() {
        let received = |received| Some(Side { received, ..Side::default() });
        let start = Moment { server: received(0), ..Moment::default() };
        // 200 kB are under way.
        let from = Moment { client: sender(500_000, 0), server: received(291_000), ..Moment::default() };
        let last = Moment { client: sender(1_000_000, 20_000), server: received(970_000), ..Moment::default() };
        let end = End { ended: &last, last: &last, delivered: false };
        let flow = Flow::whole(Way::Up, &start, &from, &end);
        assert_eq!((flow.bytes, flow.waste()), (679_000, Some(520_000.0 / 485_000.0)));
    }

    #[test]
    fn no_interval_sends_less_than_is_useful_of_it() {
        let received = |received| Some(Side { received, ..Side::default() });
        let from = Moment { client: sender(500_000, 0), server: received(100_000), ..Moment::default() };
        let to = Moment { client: sender(600_000, 0), server: received(500_000), ..Moment::default() };
        assert_eq!(Flow::between(Way::Up, &from, &to).waste(), Some(1.0));
    }
}
