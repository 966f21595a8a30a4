//! Packets that every QUIC server answers, whoever it trusts: of a version that does not exist, to which it names the versions
//! that it knows (RFC 9000 §6.1). They tell the round trip, which sizes pass, and whether packets with an ECN mark pass.

use core::time::Duration;
use noq::udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState, is_msg_size_err};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// A version that no server knows (RFC 9000 §15).
const NO_VERSION: u32 = 0x1a2a_3a4a;

/// The smallest UDP payload that QUIC needs of a path (RFC 9000 §14).
const SMALLEST: usize = 1200;

/// Sizes of packets of IP at which paths often end: QUIC's own need and IPv6's, tunnels, PPPoE, Ethernet, jumbo frames.
const SIZES: [usize; 8] = [1280, 1380, 1400, 1420, 1450, 1480, 1500, 9000];

/// Packets for the round trip: half of them are marked.
const ROUNDS: usize = 20;

/// Time between two of them.
const PACE: Duration = Duration::from_millis(25);

/// How often a size is tried.
const TRIES: usize = 3;

/// How long an answer is waited for: a satellite's round trip, and half of it.
const PATIENCE: Duration = Duration::from_millis(1200);

/// One packet, and when its answer came.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// Bytes of UDP payload.
    size: usize,
    marked: bool,
    sent: Instant,
    answered: Option<Instant>,
}

/// The content of the answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// Round trips of packets that QUIC could use, sorted.
    pub round_trips: Vec<Duration>,
    /// Unmarked packets that were sent, and answered.
    pub plain: (usize, usize),
    /// The same of packets marked ECT(0).
    pub marked: (usize, usize),
    /// The largest packet of IP that was answered. Unit: bytes.
    pub mtu: Option<usize>,
    /// The largest that this computer let out. Unit: bytes.
    pub largest_sent: usize,
    /// The host says that nobody listens.
    pub refused: bool,
    /// Datagrams that this computer can send and receive by one call.
    pub offload: (usize, usize),
}

/// Asks the server at this address.
///
/// Errors: this computer cannot send at all.
pub(super) async fn ask(socket: std::net::UdpSocket, to: SocketAddr) -> io::Result<Answers> {
    let system = UdpSocketState::new(UdpSockRef::from(&socket))?;
    let socket = UdpSocket::from_std(socket)?;
    socket.connect(to).await?;
    let mut probe = Probe { socket, system, to, asked: Vec::new(), refused: false };
    for number in 0..ROUNDS {
        probe.send(SMALLEST, number % 2 == 1).await?;
        probe.listen(PACE).await;
    }
    let overhead = if to.is_ipv4() { 28 } else { 48 };
    for size in SIZES.iter().flat_map(|size| [size - overhead; TRIES]) {
        probe.send(size, false).await?;
        probe.listen(PACE / 5).await;
    }
    probe.listen(PATIENCE).await;
    Ok(probe.told(overhead))
}

/// Where to send from.
pub(super) fn local(to: SocketAddr) -> SocketAddr {
    if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() }
}

struct Probe {
    socket: UdpSocket,
    system: UdpSocketState,
    to: SocketAddr,
    asked: Vec<Asked>,
    refused: bool,
}

impl Probe {
    /// Sends a packet of this size, unless it is too large for this computer.
    async fn send(&mut self, size: usize, marked: bool) -> io::Result<()> {
        let packet = packet(size, self.asked.len() as u32);
        let transmit = Transmit {
            destination: self.to,
            ecn: marked.then_some(EcnCodepoint::Ect0),
            contents: &packet,
            segment_size: None,
            src_ip: None,
        };
        self.socket.writable().await?;
        let send = || self.system.try_send(UdpSockRef::from(&self.socket), &transmit);
        // Read before it leaves: a process that is stopped in between measures too long a round trip, and never one that the path
        // does not have.
        let sent = Instant::now();
        match self.socket.try_io(Interest::WRITABLE, send) {
            Ok(()) => self.asked.push(Asked { size, marked, sent, answered: None }),
            Err(error) if is_msg_size_err(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => self.refused = true,
            // No room, or no way for a moment: like a packet that is lost.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Takes the answers that come within this time, or until all have come.
    async fn listen(&mut self, time: Duration) {
        let until = tokio::time::Instant::now() + time;
        let is_last = time == PATIENCE;
        while !(is_last && self.asked.iter().all(|asked| asked.answered.is_some())) {
            let Ok(Ok(())) = tokio::time::timeout_at(until, self.socket.readable()).await else { return };
            self.receive();
        }
    }

    fn receive(&mut self) {
        let (mut buffer, mut meta) = ([0; 1 << 16], [RecvMeta::default()]);
        let receive = || {
            self.system.recv(UdpSockRef::from(&self.socket), &mut [IoSliceMut::new(&mut buffer)], &mut meta).map(drop)
        };
        match self.socket.try_io(Interest::READABLE, receive) {
            Ok(()) => {
                let now = Instant::now();
                let [meta] = meta;
                let answers = buffer[..meta.len.min(buffer.len())].chunks(meta.stride.max(1));
                for number in answers.filter_map(answered) {
                    if let Some(asked) = self.asked.get_mut(number as usize) {
                        asked.answered.get_or_insert(now);
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => self.refused = true,
            Err(_) => {}
        }
    }

    fn told(self, overhead: usize) -> Answers {
        let offload = (self.system.max_gso_segments().get(), self.system.gro_segments().get());
        Answers { refused: self.refused, offload, ..Answers::of(&self.asked, overhead) }
    }
}

impl Answers {
    fn of(asked: &[Asked], overhead: usize) -> Self {
        let rounds = || asked.iter().filter(|asked| asked.size == SMALLEST);
        let count = |marked: bool| {
            let all = || rounds().filter(move |asked| asked.marked == marked);
            (all().count(), all().filter(|asked| asked.answered.is_some()).count())
        };
        let mut round_trips: Vec<_> =
            rounds().filter_map(|asked| Some(asked.answered?.duration_since(asked.sent))).collect();
        round_trips.sort();
        let answered = asked.iter().filter(|asked| asked.answered.is_some());
        Self {
            round_trips,
            plain: count(false),
            marked: count(true),
            mtu: answered.map(|asked| asked.size + overhead).max(),
            largest_sent: asked.iter().map(|asked| asked.size + overhead).max().unwrap_or(0),
            ..Self::default()
        }
    }
}

/// A packet with a number of ours in the place of its connection's name, which comes back.
fn packet(size: usize, number: u32) -> Vec<u8> {
    let mut packet = vec![0xc0];
    packet.extend(NO_VERSION.to_be_bytes());
    for _ in 0..2 {
        packet.push(8);
        packet.extend(NAME);
        packet.extend(number.to_be_bytes());
    }
    packet.resize(size, 0);
    packet
}

/// In front of the number: what other traffic hardly has there.
const NAME: [u8; 4] = *b"pcc?";

/// The number of the packet that this one answers: version 0, and our name as its destination (RFC 8999 §6).
fn answered(packet: &[u8]) -> Option<u32> {
    let rest = packet.strip_prefix(&[packet.first().copied().filter(|first| first & 0x80 != 0)?, 0, 0, 0, 0, 8])?;
    let number = rest.strip_prefix(&NAME)?.first_chunk()?;
    Some(u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_the_packet_that_was_sent() {
        let sent = packet(1200, 7);
        assert_eq!((sent.len(), answered(&sent)), (1200, None), "our own packet is no answer");
        let mut answer = vec![0xff, 0, 0, 0, 0];
        answer.extend(&sent[5..23]);
        answer.extend(1u32.to_be_bytes());
        assert_eq!(answered(&answer), Some(7));
        // All of the header, and the name in front of the number.
        for length in 0..14 {
            assert_eq!(answered(&answer[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn answers_are_counted_by_size_and_mark() {
        let begun = Instant::now();
        let asked = |size, marked, after: Option<u64>| Asked {
            size,
            marked,
            sent: begun,
            answered: after.map(|ms| begun + Duration::from_millis(ms)),
        };
        let all = [
            asked(1200, false, Some(30)),
            asked(1200, false, Some(20)),
            asked(1200, true, None),
            asked(1372, false, Some(90)),
            asked(1472, false, None),
        ];
        let told = Answers::of(&all, 28);
        assert_eq!(told.round_trips, [20, 30].map(Duration::from_millis));
        assert_eq!((told.plain, told.marked, told.mtu, told.largest_sent), ((2, 2), (1, 0), Some(1400), 1500));
    }
}
