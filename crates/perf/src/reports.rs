//! The server's reports: each a line of JSON in a QUIC datagram of its own. Not on a stream: the test's data fills the
//! send buffer that all streams share, and of reports only the latest counts.

use crate::meter::Meter;
use crate::protocol::REPORT_INTERVAL;
use crate::side::{Side, heard};
use noq::{Connection, ConnectionError, SendDatagramError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A report may cost this part of what the test moved since the last one: a slow path is there to be measured, not to
/// carry reports. (600 bytes every 100 ms are 50 kbit/s.)
const COST: u64 = 50;
/// At least one is sent in this time.
const AT_LEAST: Duration = Duration::from_secs(1);

/// Sends reports until the connection ends.
pub(crate) async fn send(connection: Connection, meter: Arc<Meter>) {
    let mut ticks = tokio::time::interval(REPORT_INTERVAL);
    // A busy server must not follow up with a burst of old news.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last: Option<Side> = None;
    loop {
        ticks.tick().await;
        let side = meter.read(&connection);
        let Ok(report) = report(&side, connection.max_datagram_size().unwrap_or(0)) else { return };
        if last.as_ref().is_none_or(|last| worth(last, &side, report.len() as u64)) {
            match connection.send_datagram(report.into()) {
                // Too large for this path's packets: there may be larger ones yet, MTU discovery goes on.
                Ok(()) | Err(SendDatagramError::TooLarge) => {}
                Err(_) => return,
            }
            last = Some(side);
        }
    }
}

/// The report on `side` in at most `most` bytes, or else without what grows with the number of streams.
fn report(side: &Side, most: usize) -> serde_json::Result<Vec<u8>> {
    let whole = serde_json::to_vec(side)?;
    if whole.len() <= most { Ok(whole) } else { serde_json::to_vec(&Side { streams: Vec::new(), ..side.clone() }) }
}

/// Whether it is time for the next report, of that many bytes.
fn worth(last: &Side, now: &Side, bytes: u64) -> bool {
    let moved = |side: &Side| side.received.saturating_add(side.sent);
    now.streams_done != last.streams_done
        || now.at_us.saturating_sub(last.at_us) >= AT_LEAST.as_micros() as u64
        || moved(now).saturating_sub(moved(last)) >= bytes * COST
}

/// A report as it was heard.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// The server's end.
    pub(crate) side: Side,
    /// What this end had received then: of what the server had sent when it wrote the report, all that arrived.
    pub(crate) received: u64,
}

/// Receives reports until the connection ends; the latest one is shown to whoever watches.
pub(crate) async fn receive(
    connection: Connection,
    meter: Arc<Meter>,
    latest: watch::Sender<Option<Report>>,
) -> ConnectionError {
    loop {
        // One that cannot be read says nothing of the next.
        let datagram = match connection.read_datagram().await {
            Ok(datagram) => datagram,
            Err(error) => return error,
        };
        let Some(side) = heard(&datagram) else { continue };
        let received = meter.received();
        latest.send_if_modified(|known| {
            // Datagrams may overtake one another.
            let newer = known.as_ref().is_none_or(|known| known.side.at_us < side.at_us);
            if newer {
                *known = Some(Report { side, received });
            }
            newer
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Cpu;
    use crate::flow::{End, Flow, Moment, Way};
    use crate::side::{STREAMS_LISTED, trusted};
    use crate::watch::PccState;
    use proptest::prelude::*;
    use std::time::Duration;

    fn sides() -> impl Strategy<Value = Side> {
        let counts = prop::array::uniform10(any::<u64>());
        let words = prop::array::uniform3(any::<String>());
        let streams = prop::collection::vec(any::<(u64, u64)>(), 0..200);
        (counts, words, streams, any::<(u16, u32, Option<(u64, u64)>, bool)>()).prop_map(
            |([at_us, received, sent, tx, packets, lost, bytes, lost_bytes, rtt_us, cwnd], words, streams, rest)| {
                let [algorithm, state, limited_by] = words;
                let (mtu, streams_done, received_us, has_pcc) = rest;
                Side {
                    at_us,
                    received,
                    received_us,
                    sent,
                    udp_tx_bytes: tx,
                    sent_packets: packets,
                    lost_packets: lost,
                    sent_bytes: bytes,
                    lost_bytes,
                    rtt_us,
                    cwnd,
                    mtu,
                    streams_done,
                    streams,
                    cpu: Cpu { user_us: tx, system_us: lost },
                    algorithm,
                    pcc: has_pcc.then(|| PccState { state, limited_by, ..PccState::default() }),
                }
            },
        )
    }

    proptest! {
        #[test]
        fn no_datagram_is_more_than_a_report_that_can_be_shown(datagram in prop::collection::vec(any::<u8>(), 0..1500)) {
            prop_assert!(heard(&datagram).is_none_or(|side| side.streams.len() <= STREAMS_LISTED));
        }

        #[test]
        fn a_report_that_was_changed_on_its_way_is_read_or_left(side in sides(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut datagram = serde_json::to_vec(&side).unwrap();
            let at = at.index(datagram.len());
            datagram[at] = byte;
            if let Some(side) = heard(&datagram) {
                prop_assert!(side.algorithm.len() <= 32 && side.algorithm.is_ascii());
            }
        }

        #[test]
        fn every_report_arrives_as_it_was_made_but_for_what_is_cut_off(side in sides()) {
            let arrived = heard(&serde_json::to_vec(&side).unwrap()).expect("a report");
            prop_assert_eq!(&arrived, &trusted(side.clone()));
            prop_assert_eq!((arrived.received, arrived.received_us), (side.received, side.received_us));
            let words = [Some(arrived.algorithm), arrived.pcc.map(|pcc| pcc.state)];
            prop_assert!(words.into_iter().flatten().all(|word| word.len() <= 32 && !word.chars().any(char::is_control)));
        }

        /// A server may say what it likes.
        #[test]
        fn whatever_a_server_reports_makes_a_finite_result(first in sides(), second in sides(), at in 0..u32::MAX) {
            let moment = |server: &Side| Moment {
                at: Duration::from_micros(at.into()),
                server: Some(server.clone()),
                ..Moment::default()
            };
            let (from, last) = (moment(&first), moment(&second));
            for way in [Way::Up, Way::Down] {
                for delivered in [false, true] {
                    let flow = Flow::whole(way, &from, &from, &End { ended: &last, last: &last, delivered });
                    prop_assert!(flow.waste().is_none_or(|waste| waste >= 1.0 && waste.is_finite()), "{:?}", flow);
                    prop_assert!(flow.seconds.is_finite() && flow.bits_per_second().is_finite(), "{:?}", flow);
                    prop_assert!(flow.loss().is_none_or(|loss| (0.0..=1.0).contains(&loss)), "{:?}", flow);
                }
            }
        }
    }

    #[test]
    fn reports_take_a_small_part_of_a_slow_path() {
        let last = Side { at_us: 5_000_000, received: 10_000, streams_done: 5, ..Side::default() };
        let later = |ms: u64, received| Side { at_us: 5_000_000 + ms * 1000, received, ..last.clone() };
        assert!(!worth(&last, &later(100, 10_700), 600), "56 kbit/s: too little for 600 bytes of report");
        assert!(worth(&last, &later(1000, 17_000), 600), "but once a second");
        assert!(worth(&last, &later(100, 10_000 + 125_000), 600), "10 Mbit/s: every time");
        assert!(worth(&last, &Side { streams_done: 6, ..last.clone() }, 600), "a stream's end is news");
    }

    #[test]
    fn a_report_that_is_too_long_leaves_the_streams_out() {
        let side = Side { received: 7, streams: vec![(400, 7_000_000); 40], ..Side::default() };
        let read = |most| serde_json::from_slice::<Side>(&report(&side, most).unwrap()).unwrap();
        assert_eq!((read(2000).streams.len(), read(500).streams.len()), (40, 0));
        assert_eq!(read(500).received, 7);
    }

    #[test]
    fn a_report_cannot_steer_the_terminal() {
        let report = b"{\"algorithm\":\"\\u001b[2Jcubic\",\"pcc\":{\"state\":\"a\\nb\"}}";
        let side = trusted(serde_json::from_slice(report).unwrap());
        assert_eq!(side.algorithm, "2Jcubic");
        assert_eq!(side.pcc.unwrap().state, "ab");
    }
}
