//! What one direction of a test achieved between two moments, worked out from what both ends counted.

use super::side::Side;
use super::watch::PccState;
use std::time::Duration;

/// Which way the data of a test goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From client to server.
    Up,
    /// From server to client.
    Down,
}

/// What the client knows at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Moment {
    /// Since the load began, by the client's clock.
    pub(super) at: Duration,
    /// The client's end.
    pub(super) client: Side,
    /// The server's latest report; none from servers that do not report.
    pub(super) server: Option<Side>,
}

/// Whose count the bytes of a flow are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// The receiver's: exact.
    Receiver,
    /// What the sender sent and did not declare lost: the server does not report and has not confirmed yet.
    Sender,
}

impl Counted {
    /// The word in JSON.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Sender => "sender",
        }
    }
}

/// What one direction achieved between two moments. `None` is what only a server knows that does not report.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// How long, by the clock of the end that counted.
    pub(super) seconds: f64,
    /// Useful bytes.
    pub(super) bytes: u64,
    /// Whose count.
    pub(super) counted: Counted,
    /// What the sender's transport took from the application.
    pub(super) offered: Option<u64>,
    /// Packets sent.
    pub(super) packets: Option<u64>,
    /// Packets declared lost.
    pub(super) lost: Option<u64>,
    /// UDP payload the sender put on the wire, acknowledgements and retransmissions included.
    pub(super) wire_bytes: Option<u64>,
    /// The sender's smoothed RTT at the end; the client's where the sender does not report.
    pub(super) rtt: Duration,
    /// The sender's congestion window at the end.
    pub(super) cwnd: Option<u64>,
    /// The sender's full packet.
    pub(super) mtu: Option<u16>,
    /// What the sender sends with.
    pub(super) algorithm: Option<String>,
    /// Where the sender's PCC stands at the end.
    pub(super) pcc: Option<PccState>,
}

impl Flow {
    /// What went `way` between two moments.
    pub(super) fn between(way: Way, from: &Moment, to: &Moment) -> Self {
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
            rtt: Duration::from_micros(sender_to.unwrap_or(&to.client).rtt_us),
            cwnd: sender_to.map(|side| side.cwnd),
            mtu: sender_to.map(|side| side.mtu),
            algorithm: sender_to.map(|side| side.algorithm.clone()),
            pcc: sender_to.and_then(|side| side.pcc.clone()),
        }
    }

    /// Useful bits per second.
    pub(super) fn bits_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 * 8.0 / self.seconds } else { 0.0 }
    }

    /// Packets lost by packets sent.
    pub(super) fn loss(&self) -> Option<f64> {
        let (lost, packets) = (self.lost? as f64, self.packets? as f64);
        Some(if packets > 0.0 { (lost / packets).min(1.0) } else { 0.0 })
    }

    /// Bytes on the wire by useful bytes; `None` also if nothing useful arrived.
    pub(super) fn waste(&self) -> Option<f64> {
        (self.bytes > 0).then_some(self.wire_bytes? as f64 / self.bytes as f64)
    }
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
            let arrived = |side: &Side| side.sent_bytes.saturating_sub(side.lost_bytes).min(side.sent);
            (here, arrived(&to.client).saturating_sub(arrived(&from.client)), Counted::Sender)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
