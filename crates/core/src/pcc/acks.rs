//! How often a sender needs to hear of its packets.

/// Acknowledgements in a base RTT. An interval has a round trip or half of one, so eight tell its slope; each of them tells of all its
/// packets. On a way back of a hundredth of the forward rate more would fill its queue.
const ACKS_PER_RTT: f64 = 16.0;

/// Packets of an acknowledgement by default (RFC 9000 §13.2.2). Start-up needs them: it reads the bottleneck's rate off neighbours.
pub(super) const OFTEN: u32 = 2;

/// No more packets wait for one: a receiver takes as many from its socket at a time.
const SELDOM: u32 = 64;

/// Packets that an acknowledgement should tell of, where it was `before`. Asking costs a frame, so it follows what the path carries
/// in steps of two.
pub(super) fn packets_per_ack(before: u32, packets_per_rtt: f64) -> u32 {
    let wanted = ((packets_per_rtt / ACKS_PER_RTT) as u32).clamp(OFTEN, SELDOM);
    if wanted >= 2 * before || 2 * wanted <= before { wanted } else { before }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rtt_has_sixteen_acknowledgements_or_one_for_two_packets() {
        for (packets, per_ack) in [(0.0, 2), (10.0, 2), (63.0, 2), (64.0, 4), (312.0, 19), (1e9, 64), (f64::NAN, 2)] {
            assert_eq!(packets_per_ack(OFTEN, packets), per_ack, "{packets}");
        }
    }

    #[test]
    fn probes_change_nothing_of_it() {
        assert_eq!([200.0, 300.0, 350.0, 650.0].map(|packets| packets_per_ack(19, packets)), [19, 19, 19, 40]);
        assert_eq!(packets_per_ack(64, 100.0), 6);
    }
}
