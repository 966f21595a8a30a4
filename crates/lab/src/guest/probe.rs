//! Measures the empty path with datagrams: what was asked for is not what counts, what is there is.

use super::topology::Hosts;
use crate::spec::{PACKET, PathSpec, Probe, Queue, SFQ_DEPTH, Spec};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::Duration;

/// Payload of a datagram that fills a packet.
const FULL: usize = 1472;
const PINGS: u64 = 30;
/// The wait for a common departure is seldom near zero.
const JITTERED_PINGS: u64 = 600;
/// How far above the capacity the second measurement sends.
const OVERLOAD: f64 = 1.5;
/// Packets of the second measurement behind those that fill the queue; on a path with jitter at least as many as pass in
/// so many of its longest waits.
const STEADY: u64 = 2000;
const STEADY_WAITS: f64 = 40.0;
/// Enough to know a loss of 1 % to within 0.07 points (one standard deviation).
const TO_COUNT_SHARE: u64 = 20_000;
/// Enough to notice that packets vanish which should not.
const TO_COUNT_NONE: u64 = 2000;

/// One way of the path.
struct Way {
    from: UdpSocket,
    to: UdpSocket,
    /// Nobody waits longer than this for a packet.
    patience: Duration,
}

/// A packet that arrived. Times in ns.
struct Arrival {
    sent: u64,
    arrived: u64,
}

impl Way {
    fn open(path: &PathSpec, hosts: &Hosts, back: bool) -> io::Result<Self> {
        let ends = [(&hosts.sender, hosts.sender_address), (&hosts.receiver, hosts.receiver_address)];
        let [from, to] = if back { [ends[1], ends[0]] } else { ends };
        let bind = |(namespace, address): (&super::topology::Namespace, [u8; 4])| {
            namespace.enter()?;
            UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::from(address), 0))
        };
        let way = Self {
            from: bind(from)?,
            to: bind(to)?,
            patience: Duration::from_nanos(2 * path.rtt + queue_delay(path)) + Duration::from_secs(1),
        };
        way.from.connect(way.to.local_addr()?)?;
        super::sockets::enlarge_receive_buffer(&way.to)?;
        way.to.set_read_timeout(Some(way.patience))?;
        Ok(way)
    }

    /// Sends `count` packets of `size` bytes of payload, one every `gap` ns, and waits for what arrives.
    fn stream(&self, count: u64, size: usize, gap: f64) -> io::Result<Vec<Arrival>> {
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let mut arrivals = Vec::new();
                let mut packet = [0; FULL];
                while arrivals.len() < count as usize
                    && let Ok(length) = self.to.recv(&mut packet)
                {
                    if let Some(sent) = super::netlink::u64_at(&packet[..length], 0) {
                        arrivals.push(Arrival { sent, arrived: super::now() });
                    }
                }
                arrivals
            });
            let mut packet = vec![0; size];
            let begin = super::now();
            for number in 0..count {
                super::sleep_until(begin + (number as f64 * gap) as u64);
                packet[..8].copy_from_slice(&super::now().to_ne_bytes());
                self.from.send(&packet)?;
            }
            receiver.join().map_err(|_| io::Error::other("the probe's receiver stopped"))
        })
    }
}

/// How long a full queue of one flow holds a packet. Unit: ns.
pub(crate) fn queue_delay(path: &PathSpec) -> u64 {
    let most = if path.queue == Queue::Sfq { SFQ_DEPTH * PACKET } else { u64::MAX };
    (path.buffer.min(most) as f64 * 8e9 / path.rate as f64) as u64
}

/// Measures everything about each path if no flow follows, by hosts at its ends. Otherwise it measures the round trip of the
/// first flow alone, since a path is measured once and used for many runs.
pub(super) fn probe(spec: &Spec, hosts: &[Hosts]) -> io::Result<Vec<Probe>> {
    if let (Some(flow), Some(hosts)) = (spec.flows.first(), hosts.first()) {
        let rtt = Line::open(&spec.route(flow), hosts)?.rtt()?.saturating_sub(flow.extra_rtt);
        return Ok(vec![Probe { rtt, ..Probe::default() }]);
    }
    spec.paths().zip(hosts).map(|(path, hosts)| Line::open(path, hosts)?.measure()).collect()
}

/// Both ways of a path.
struct Line<'a> {
    path: &'a PathSpec,
    forward: Way,
    back: Way,
}

impl<'a> Line<'a> {
    fn open(path: &'a PathSpec, hosts: &Hosts) -> io::Result<Self> {
        Ok(Self { path, forward: Way::open(path, hosts, false)?, back: Way::open(path, hosts, true)? })
    }

    /// Time on the wire of a full packet. Unit: ns.
    fn packet(&self) -> f64 {
        PACKET as f64 * 8e9 / self.path.rate as f64
    }

    /// The smallest round trip. Unit: ns.
    fn rtt(&self) -> io::Result<u64> {
        let one_way = |way: &Way, jitter: u64| {
            // A lossy path may swallow a ping, and on one with jitter nearly all wait: the patience of the receiver bounds
            // the wait for the last.
            let gap = (2.0 * self.packet()).max(jitter as f64 / 3.0);
            let arrivals = way.stream(if jitter > 0 { JITTERED_PINGS } else { PINGS }, 8, gap)?;
            let mut delays: Vec<_> =
                arrivals.iter().map(|arrival| arrival.arrived.saturating_sub(arrival.sent)).collect();
            delays.sort_unstable();
            // With jitter the shortest counts; without, all are the same but for those that overtake others.
            let typical = if jitter > 0 { 0 } else { delays.len() / 2 };
            delays.get(typical).copied().ok_or_else(|| io::Error::other("no packet of the probe arrived"))
        };
        let [wait, reverse_wait] = self.path.waits();
        Ok(one_way(&self.forward, wait)? + one_way(&self.back, reverse_wait)?)
    }

    fn measure(&self) -> io::Result<Probe> {
        let (path, packet, rtt) = (self.path, self.packet(), self.rtt()?);
        // Packets until so many bytes more were sent than may pass: those of a burst, which arrive as they were sent, then
        // those of the buffer.
        let until = |bytes: u64| (bytes as f64 / PACKET as f64 / (1.0 - 1.0 / OVERLOAD)) as u64;
        let (bursts, fills) = (until(path.burst), until(path.buffer));
        let arrivals = self.forward.stream(bursts + fills + steady_packets(path), FULL, packet / OVERLOAD)?;
        let delays = arrivals.iter().map(|arrival| arrival.arrived.saturating_sub(arrival.sent));
        let (least, most) = (delays.clone().min().unwrap_or(0), delays.max().unwrap_or(0));
        let steady = arrivals.get((arrivals.len() / 2).max(bursts as usize)..).unwrap_or_default();
        let rate = match steady {
            [first, .., last] if last.arrived > first.arrived => {
                // Packets that the line lost behind the bottleneck had passed it.
                let passed = (steady.len() - 1) as f64 / (1.0 - path.loss);
                (passed * PACKET as f64 * 8e9 / (last.arrived - first.arrived) as f64) as u64
            }
            _ => 0,
        };

        let count = |way: &Way, share: f64| way.stream(packets_to_count(share), FULL, 2.0 * packet);
        let there = count(&self.forward, path.loss.max(path.reorder))?;
        let sent = packets_to_count(path.loss.max(path.reorder));
        let reverse_sent = packets_to_count(path.reverse_loss);
        let reverse_lost = reverse_sent - count(&self.back, path.reverse_loss)?.len() as u64;
        // A packet that overtook others is followed by one that was sent before it.
        let early = there.windows(2).filter(|pair| pair[1].sent < pair[0].sent).count() as u64;
        let (queue_delay, lost) = (most - least, sent - there.len() as u64);
        Ok(Probe { rtt, rate, queue_delay, sent, lost, reverse_sent, reverse_lost, early })
    }
}

/// Packets by which the capacity is measured.
fn steady_packets(path: &PathSpec) -> u64 {
    let waits = STEADY_WAITS * path.waits()[0] as f64 / 1e9;
    STEADY.max((waits * path.rate as f64 / (PACKET as f64 * 8.0)) as u64)
}

/// By what part of itself the measured capacity may be off, since packets wait for each other before they arrive: by one
/// wait over the time in which it is measured.
pub(crate) fn noise_of_jitter(path: &PathSpec) -> f64 {
    let measured = steady_packets(path) as f64 / 2.0 * PACKET as f64 * 8e9 / path.rate as f64;
    path.waits()[0] as f64 / measured
}

fn packets_to_count(share: f64) -> u64 {
    if share > 0.0 { TO_COUNT_SHARE } else { TO_COUNT_NONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_longer_waits_is_measured_for_longer() {
        let path =
            |jitter_ms: u64| PathSpec { rate: 100_000_000, jitter: jitter_ms * 1_000_000, ..PathSpec::default() };
        assert_eq!((steady_packets(&path(0)), noise_of_jitter(&path(0))), (STEADY, 0.0));
        // 40 waits of 60 ms, of which one may be missing in the half that counts.
        assert_eq!(steady_packets(&path(60)), 19_815);
        assert!((noise_of_jitter(&path(60)) - 0.05).abs() < 1e-4);
        // The most that a scenario may ask for.
        assert!(steady_packets(&PathSpec { rate: 100_000_000_000, jitter: 60_000_000_000, ..path(0) }) > STEADY);
    }
}
