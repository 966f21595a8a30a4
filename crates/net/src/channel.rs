//! Packets through a stream of bytes, like that of ssh, where UDP is blocked: each with its length in front, in both directions.
//!
//! Between QUIC and the stream stands a UDP socket of this computer. A stream takes no more than TCP brings away. Then packets wait, and
//! are lost when too many do, as at any bottleneck.

use core::sync::atomic::{AtomicU64, Ordering};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

/// The end of the channel on this computer.
#[derive(Clone, Debug)]
pub struct Channel {
    socket: Arc<UdpSocket>,
    /// The last ports that QUIC had on this computer, four in one number; 0 for none. A client has several sockets while it
    /// connects: one for each attempt, and others that ask whether anybody listens. Each gets all answers, and knows its own.
    ports: Arc<AtomicU64>,
}

/// The ports in that number.
fn ports(packed: u64) -> [u16; 4] {
    let [a, b, c, d, e, f, g, h] = packed.to_be_bytes();
    [[a, b], [c, d], [e, f], [g, h]].map(u16::from_be_bytes)
}

/// Bytes of a packet, UDP's limit.
const LARGEST: usize = u16::MAX as usize;

/// Packets that wait for the stream: 10 MB of usual ones, more than two of the windows that QUIC has inside of a stream.
const WAITING: usize = 8192;

/// Bytes that go to the stream at once. ssh makes a message of its own of each write that it finds, up to 32 KiB.
const BATCH: usize = 32 << 10;

impl Channel {
    /// For QUIC at this port of the loopback interface; 0 where that is not known yet.
    pub fn open(port: u16) -> io::Result<Self> {
        let socket = pcc_quic::socket::bind((Ipv4Addr::LOCALHOST, 0).into())?.socket;
        Ok(Self { socket: Arc::new(socket), ports: Arc::new(AtomicU64::new(port.into())) })
    }

    /// Where QUIC finds it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Passes on what QUIC sends. Blocks, until the channel takes no more.
    pub fn send(&self, mut to: impl Write) -> io::Result<()> {
        let (queue, waiting) = sync_channel(WAITING);
        let reader = self.clone();
        let reading = std::thread::Builder::new().spawn(move || reader.queue(&queue))?;
        let mut frames = Vec::with_capacity(BATCH + LARGEST);
        while let Ok(first) = waiting.recv() {
            frames.clear();
            let mut next = Some(first);
            while let Some((length, packet)) = next {
                frames.extend_from_slice(&u16::to_be_bytes(length));
                frames.extend_from_slice(&packet);
                next = if frames.len() < BATCH { waiting.try_recv().ok() } else { None };
            }
            to.write_all(&frames)?;
            to.flush()?;
        }
        reading.join().unwrap_or_else(|_| Err(io::Error::other("a thread died")))
    }

    /// Reads packets off the socket at once, since the system has little room for them: a stream may take none for a while.
    fn queue(&self, queue: &SyncSender<(u16, Vec<u8>)>) -> io::Result<()> {
        let mut packet = vec![0; LARGEST];
        loop {
            let (length, from) = match self.socket.recv_from(&mut packet) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::Interrupted || is_refusal(&error) => continue,
                Err(error) => return Err(error),
            };
            if !from.ip().is_loopback() {
                continue;
            }
            let known = self.ports.load(Ordering::Relaxed);
            if !ports(known).contains(&from.port()) {
                self.ports.store((known << 16) | u64::from(from.port()), Ordering::Relaxed);
            }
            let Ok(told) = u16::try_from(length) else { continue };
            if let Err(TrySendError::Disconnected(_)) = queue.try_send((told, packet[..length].to_vec())) {
                return Ok(());
            }
        }
    }

    /// Passes on to QUIC what comes. Blocks, until the end.
    pub fn receive(&self, mut from: impl Read) -> io::Result<()> {
        let mut packet = vec![0; LARGEST];
        loop {
            let mut length = [0; 2];
            from.read_exact(&mut length)?;
            let packet = &mut packet[..usize::from(u16::from_be_bytes(length))];
            from.read_exact(packet)?;
            for port in ports(self.ports.load(Ordering::Relaxed)).into_iter().filter(|port| *port != 0) {
                // A packet that cannot be passed on is lost, as packets are.
                let _ = self.socket.send_to(packet, (Ipv4Addr::LOCALHOST, port));
            }
        }
    }
}

/// The system tells on the next call that nobody listened to the packet before.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{PipeReader, pipe};
    use std::thread;

    /// Two ends, joined by pipes, for a server at `port`.
    fn joined(port: u16) -> Channel {
        let (near, far) = (Channel::open(0).unwrap(), Channel::open(port).unwrap());
        let ((there_reader, there), (back_reader, back)) = (pipe().unwrap(), pipe().unwrap());
        let receive = |channel: &Channel, from: PipeReader| {
            let channel = channel.clone();
            thread::spawn(move || channel.receive(from));
        };
        receive(&far, there_reader);
        receive(&near, back_reader);
        let sender = near.clone();
        thread::spawn(move || sender.send(there));
        thread::spawn(move || far.send(back));
        near
    }

    #[test]
    fn packets_keep_their_ends_in_both_directions() {
        let (server, client) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let near = joined(server.local_addr().unwrap().port());
        let mut buffer = [0; 2000];
        for length in [1, 1200, 0, 1452] {
            let packet: Vec<u8> = (0..length).map(|n| n as u8).collect();
            client.send_to(&packet, near.address().unwrap()).unwrap();
            let (got, from) = server.recv_from(&mut buffer).unwrap();
            assert_eq!(&buffer[..got], packet);
            server.send_to(&packet, from).unwrap();
            let (got, from) = client.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..got], from), (&packet[..], near.address().unwrap()));
        }
    }

    #[test]
    fn each_socket_of_a_client_hears_the_answers() {
        let (server, near) = {
            let server = UdpSocket::bind("127.0.0.1:0").unwrap();
            let near = joined(server.local_addr().unwrap().port());
            (server, near)
        };
        let clients = [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let mut buffer = [0; 10];
        for client in &clients {
            client.send_to(b"hello", near.address().unwrap()).unwrap();
            server.recv_from(&mut buffer).unwrap();
        }
        clients[0].send_to(b"again", near.address().unwrap()).unwrap();
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(b"answer", from).unwrap();
        for client in &clients {
            assert_eq!(client.recv(&mut buffer).unwrap(), 6);
        }
    }

    #[test]
    fn a_channel_that_is_cut_ends() {
        let channel = Channel::open(1).unwrap();
        for cut in [&b""[..], b"\x00", b"\x00\x05abc"] {
            assert_eq!(channel.receive(cut).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
