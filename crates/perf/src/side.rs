//! One end's knowledge of a connection, counted since the connection began: the unit of all measuring here.

use crate::cpu::Cpu;
use crate::watch::PccState;
use serde::{Deserialize, Serialize};

/// One end of a connection at one moment. It travels as a line of JSON in a server's reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Side {
    /// Microseconds since this end's connection began.
    pub at_us: u64,
    /// Bytes of stream data received, requests left out.
    pub received: u64,
    /// When the first and the latest of it arrived, as `at_us`; none if nothing has.
    pub received_us: Option<(u64, u64)>,
    /// Bytes of stream data that the transport took for sending.
    pub sent: u64,
    /// Bytes of UDP payload sent.
    pub udp_tx_bytes: u64,
    /// Packets sent that expect an acknowledgement.
    pub sent_packets: u64,
    /// Packets of it declared lost.
    pub lost_packets: u64,
    /// Bytes of packets sent that expect an acknowledgement.
    pub sent_bytes: u64,
    /// Bytes of it declared lost.
    pub lost_bytes: u64,
    /// Smoothed RTT in microseconds.
    pub rtt_us: u64,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// UDP payload of a full packet.
    pub mtu: u16,
    /// Streams ended.
    pub streams_done: u32,
    /// Identifier of each of the first streams, and its bytes received and sent.
    pub streams: Vec<(u64, u64)>,
    /// CPU time of the process since it began.
    pub cpu: Cpu,
    /// The congestion control algorithm this end sends with.
    pub algorithm: String,
    /// Where PCC stands, if it is PCC.
    pub pcc: Option<PccState>,
}

/// Streams beyond this number are counted together only: twice the 32 that a test may have in one direction, and the
/// few before them.
pub const STREAMS_LISTED: usize = 72;

/// What a datagram reports, if it is a report.
pub(crate) fn heard(datagram: &[u8]) -> Option<Side> {
    serde_json::from_slice(datagram).map(trusted).ok()
}

/// A report comes from the network, and its words go to a terminal.
pub(crate) fn trusted(mut side: Side) -> Side {
    side.streams.truncate(STREAMS_LISTED);
    let words = side.pcc.iter_mut().flat_map(|pcc| [&mut pcc.state, &mut pcc.limited_by]);
    for word in words.chain([&mut side.algorithm]) {
        *word = word.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ').take(32).collect();
    }
    side
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_with_fields_of_tomorrow_is_still_read() {
        let side: Side = serde_json::from_str(r#"{"received":5,"colour":"blue","pcc":null}"#).unwrap();
        assert_eq!(side, Side { received: 5, ..Side::default() });
    }

    #[test]
    fn the_longest_report_without_streams_fits_the_smallest_packet() {
        let full = Side {
            at_us: u64::MAX,
            received: u64::MAX,
            received_us: Some((u64::MAX, u64::MAX)),
            sent: u64::MAX,
            udp_tx_bytes: u64::MAX,
            sent_packets: u64::MAX,
            lost_packets: u64::MAX,
            sent_bytes: u64::MAX,
            lost_bytes: u64::MAX,
            rtt_us: u64::MAX,
            cwnd: u64::MAX,
            mtu: u16::MAX,
            streams_done: u32::MAX,
            streams: Vec::new(),
            cpu: Cpu { user_us: u64::MAX, system_us: u64::MAX },
            algorithm: "newreno".to_owned(),
            pcc: Some(PccState::longest()),
        };
        // A packet of 1200 bytes has room for some 1150.
        assert!(serde_json::to_string(&full).unwrap().len() < 1100);
    }
}
