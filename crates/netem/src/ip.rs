//! The header of an IPv4 packet, as far as queues look at it: whose it is, and what it says of marks.

use crate::waiting::Told;
use pcc::units::Bytes;
use pcc_link::Ecn;

/// Queues that tell flows apart have this many for them, as `fq_codel` has.
const FLOWS: u32 = 1024;
/// The lower bits of the second byte (RFC 3168 §5).
const MARKED: u8 = 0b11;

/// The part of an IPv4 packet that a queue is told of.
pub(crate) fn told(packet: &[u8]) -> Told {
    let ecn = packet.get(1).map_or(0, |byte| byte & MARKED);
    Told {
        flow: flow(packet),
        size: Bytes::new(packet.len() as u64),
        ecn: match ecn {
            0b00 => Ecn::NotCapable,
            0b01 => Ecn::Scalable,
            _ => Ecn::Classic,
        },
        marked: ecn == MARKED,
    }
}

/// A number for protocol, addresses and ports, by FNV-1a.
fn flow(packet: &[u8]) -> u32 {
    // One that says to be shorter than the least is none, and its marks are not its ports.
    let header = packet.first().map_or(0, |byte| usize::from(byte & 15).max(5) * 4);
    let parts = [9..10, 12..20, header..header + 4];
    let bytes = parts.into_iter().filter_map(|part| packet.get(part)).flatten();
    bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)) % FLOWS
}

/// Marks it, and has its checksum agree (RFC 1624).
pub(crate) fn mark(packet: &mut [u8]) {
    let [first, second, _, _, _, _, _, _, _, _, high, low, ..] = packet else { return };
    let before = u32::from(u16::from_be_bytes([*first, *second]));
    *second |= MARKED;
    let after = u32::from(u16::from_be_bytes([*first, *second]));
    // The complement of the sum of the complements; carries come back at the lower end.
    let sum = u32::from(!u16::from_be_bytes([*high, *low])) + (!before & 0xffff) + after;
    let sum = (sum & 0xffff) + (sum >> 16);
    let [upper, lower] = (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes();
    (*high, *low) = (upper, lower);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of TCP over IPv4 with this second byte and these ports, and its checksum.
    fn packet(second: u8, ports: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45, second, 0, 40, 1, 2, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend(ports);
        packet
    }

    /// RFC 1071, word by word.
    fn checksum(header: &[u8]) -> u16 {
        let words = header[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn a_mark_changes_no_flow_however_long_a_header_claims_to_be() {
        for length in 0..16 {
            let mut packet = packet(0b10, [1, 2, 3, 4]);
            packet[0] = 0x40 | length;
            let before = told(&packet).flow;
            mark(&mut packet);
            assert_eq!(told(&packet).flow, before, "{length}");
        }
    }

    #[test]
    fn a_header_says_what_may_be_marked() {
        let of = |second| {
            let told = told(&packet(second, [1, 2, 3, 4]));
            (told.ecn, told.marked)
        };
        assert_eq!([0xb8, 0xb9].map(of), [(Ecn::NotCapable, false), (Ecn::Scalable, false)]);
        assert_eq!([0xba, 0xbb].map(of), [(Ecn::Classic, false), (Ecn::Classic, true)]);
        assert_eq!(told(&[0x45]).ecn, Ecn::NotCapable);
    }

    #[test]
    fn a_mark_leaves_the_checksum_right() {
        for second in 0..=255 {
            let mut packet = packet(second, [0; 4]);
            mark(&mut packet);
            assert_eq!((packet[1], checksum(&packet)), (second | 3, 0), "{second}");
        }
    }

    #[test]
    fn flows_differ_by_ports_and_not_by_what_else_is_said() {
        let flow = |second, ports| told(&packet(second, ports)).flow;
        assert_eq!(flow(0, [1, 2, 3, 4]), flow(2, [1, 2, 3, 4]));
        let mut flows: Vec<_> = (0..100).map(|port| flow(0, [1, port, 3, 4])).collect();
        flows.sort_unstable();
        flows.dedup();
        assert!(flows.len() > 85, "{}", flows.len());
    }
}
