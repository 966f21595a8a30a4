//! The traffic at the interfaces of a flow's two hosts: counted alike for every sender, and exact at the moment of asking.

use super::topology::{Hosts, Namespace};
use std::fs;
use std::io;
use std::ops::Sub;

/// Packets and their bytes with all headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) bytes: u64,
    pub(super) packets: u64,
}

/// Counters of a flow at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wire {
    /// Unit: ns since the run began.
    pub(super) at: u64,
    /// The traffic that has left the sender.
    pub(super) sent: Count,
    /// The traffic that has reached the receiver.
    pub(super) arrived: Count,
}

impl Count {
    /// Without so many bytes of headers of each packet.
    pub(super) const fn payload(self, headers: u64) -> u64 {
        self.bytes.saturating_sub(headers * self.packets)
    }
}

impl Sub for Count {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self { bytes: self.bytes.saturating_sub(before.bytes), packets: self.packets.saturating_sub(before.packets) }
    }
}

impl Wire {
    /// Reads them. The calling thread ends up in the receiver's namespace.
    pub(super) fn read(hosts: &Hosts, at: u64) -> io::Result<Self> {
        let (_, sent) = counters(&hosts.sender)?;
        let (arrived, _) = counters(&hosts.receiver)?;
        Ok(Self { at, sent, arrived })
    }

    /// The traffic since `before`.
    pub(super) fn since(self, before: Self) -> Self {
        Self { at: self.at, sent: self.sent - before.sent, arrived: self.arrived - before.arrived }
    }
}

/// The traffic that a host's interface has received and sent.
fn counters(host: &Namespace) -> io::Result<(Count, Count)> {
    host.enter()?;
    parse(&fs::read_to_string("/proc/thread-self/net/dev")?)
}

/// The traffic that `eth0` has received and sent, from the text of `/proc/net/dev`.
fn parse(text: &str) -> io::Result<(Count, Count)> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("eth0:"));
    let fields: Vec<_> = line.unwrap_or_default().split_whitespace().map(str::parse).collect();
    match fields[..] {
        [Ok(received), Ok(packets_received), _, _, _, _, _, _, Ok(sent), Ok(packets_sent), ..] => {
            Ok((Count { bytes: received, packets: packets_received }, Count { bytes: sent, packets: packets_sent }))
        }
        _ => Err(io::Error::other("the kernel tells nothing of interface eth0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_an_interface_are_found() {
        let text = "Inter-| Receive | Transmit\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  \
                    eth0:1200 3 0 0 0 0 0 0 3400 5 0 0 0 0 0 0\n";
        let (received, sent) = parse(text).unwrap();
        assert_eq!(received, Count { bytes: 1200, packets: 3 });
        assert_eq!(sent, Count { bytes: 3400, packets: 5 });
        assert_eq!(sent.payload(100), 2900);
        assert!(parse("lo: 1 2 3").is_err());
    }
}
