//! Flows of kernel TCP.

use super::sockets::{self, Info};
use super::topology::Hosts;
use crate::spec::{FlowSample, FlowSpec};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};

/// The data that a connection has to send.
#[derive(Clone, Copy, Debug)]
enum Supply {
    Endless,
    /// Unit: bytes.
    Volume(u64),
    /// Unit: bytes a second.
    Rate(f64),
}

/// Both ends of one connection, as soon as they are there.
#[derive(Debug, Default)]
struct Connection {
    sender: OnceLock<TcpStream>,
    receiver: OnceLock<TcpStream>,
    problem: OnceLock<String>,
    /// When its last byte arrived, by the guest's clock.
    finished: OnceLock<u64>,
}

impl Connection {
    /// Starts the threads that keep it busy. The calling thread ends up in some namespace of the flow.
    fn start(self: &Arc<Self>, hosts: &Arc<Vec<Hosts>>, number: usize, flow: &FlowSpec) -> io::Result<()> {
        let ends = &hosts[number];
        let supply = match (flow.size, flow.rate) {
            (Some(bytes), _) => Supply::Volume(bytes / u64::from(flow.connections)),
            (None, Some(rate)) => Supply::Rate(rate as f64 / 8.0 / f64::from(flow.connections)),
            (None, None) => Supply::Endless,
        };
        ends.receiver.enter()?;
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::from(ends.receiver_address), 0))?;
        // DCTCP is a matter of both ends.
        sockets::set_congestion_control(&listener, flow.congestion_control())?;
        let SocketAddr::V4(address) = listener.local_addr()? else {
            return Err(io::Error::other("an IPv4 listener has another kind of address"));
        };
        let receiver = Arc::clone(self);
        super::spawn(move || match sockets::accept(&listener) {
            Ok(stream) => {
                let received = sockets::discard(receiver.receiver.get_or_init(|| stream));
                if matches!(supply, Supply::Volume(wanted) if received >= wanted) {
                    receiver.finished.get_or_init(super::now);
                }
            }
            Err(error) => drop(receiver.problem.set(format!("could not accept: {error}"))),
        })?;
        let (sender, hosts, flow) = (Arc::clone(self), Arc::clone(hosts), flow.clone());
        super::spawn(move || {
            let connect = || {
                hosts[number].sender.enter()?;
                sockets::connect(address, flow.congestion_control(), flow.paced)
            };
            match connect() {
                // It ends early when somebody shuts it down: the run is over.
                Ok(stream) => drop(send(sender.sender.get_or_init(|| stream), supply)),
                Err(error) => drop(sender.problem.set(format!("could not connect: {error}"))),
            }
        })
    }
}

/// Time between two pieces of a limited application. Unit: ns.
const PIECE: u64 = 10_000_000;

fn send(mut stream: &TcpStream, supply: Supply) -> io::Result<()> {
    let chunk = vec![0; 1 << 20];
    match supply {
        Supply::Endless => loop {
            stream.write_all(&chunk)?;
        },
        Supply::Volume(mut bytes) => {
            while bytes > 0 {
                let part = bytes.min(chunk.len() as u64);
                stream.write_all(&chunk[..part as usize])?;
                bytes -= part;
            }
            stream.shutdown(Shutdown::Write)
        }
        Supply::Rate(rate) => {
            let begin = super::now();
            let mut offered = 0;
            for piece in 1.. {
                let due = (rate * (piece * PIECE) as f64 / 1e9) as u64;
                // A slow network is not made up for with a burst of more than the chunk.
                let part = (due - offered).min(chunk.len() as u64);
                stream.write_all(&chunk[..part as usize])?;
                offered = due;
                super::sleep_until(begin + piece * PIECE);
            }
            Ok(())
        }
    }
}

/// Totals of a flow's connections.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    delivered: u64,
    sent: u64,
    retransmitted: u64,
    busy: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
}

/// A flow's connections: all at once, or one after the other.
#[derive(Debug)]
pub(super) struct Connections {
    hosts: Arc<Vec<Hosts>>,
    number: usize,
    /// With the moment each was begun.
    open: Vec<(u64, Arc<Connection>)>,
    /// The sums of those that ended.
    past: Totals,
    ended: Vec<(u64, u64)>,
}

/// The result of [`Connections::sample`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampled {
    pub(super) sample: FlowSample,
    pub(super) busy: u64,
    pub(super) rwnd_limited: u64,
    pub(super) sndbuf_limited: u64,
}

impl Connections {
    pub(super) fn new(hosts: &Arc<Vec<Hosts>>, number: usize) -> Self {
        let hosts = Arc::clone(hosts);
        Self { hosts, number, open: Vec::new(), past: Totals::default(), ended: Vec::new() }
    }

    /// Begins one more.
    pub(super) fn add(&mut self, flow: &FlowSpec, at: u64) -> io::Result<()> {
        let connection = Arc::new(Connection::default());
        connection.start(&self.hosts, self.number, flow)?;
        self.open.push((at, connection));
        Ok(())
    }

    /// Where they stand. Those that ended are counted once more and let go.
    pub(super) fn sample(&mut self, at: u64) -> io::Result<Sampled> {
        let (mut totals, mut rtt, mut cwnd, mut state, mut senders) = (self.past, 0, 0, None, 0);
        let mut open = Vec::new();
        for (begun, connection) in std::mem::take(&mut self.open) {
            if let Some(problem) = connection.problem.get() {
                return Err(io::Error::other(problem.clone()));
            }
            let mut its = Totals::default();
            if let Some(receiver) = connection.receiver.get() {
                its.delivered = Info::of(receiver)?.received;
            }
            if let Some(sender) = connection.sender.get() {
                let info = Info::of(sender)?;
                (its.sent, its.retransmitted, its.busy) = (info.sent, info.retransmitted, info.busy);
                (its.rwnd_limited, its.sndbuf_limited) = (info.rwnd_limited, info.sndbuf_limited);
                rtt += info.rtt;
                cwnd += info.cwnd;
                state = state.or(Some(info.state));
                senders += 1;
            }
            totals = totals.plus(its);
            match connection.finished.get() {
                Some(&finished) => {
                    self.past = self.past.plus(its);
                    self.ended.push((begun, finished));
                }
                None => open.push((begun, connection)),
            }
        }
        self.open = open;
        let Totals { delivered, sent, retransmitted, busy, rwnd_limited, sndbuf_limited } = totals;
        let (rtt, state) = (rtt.checked_div(senders).unwrap_or(0), state.unwrap_or(0));
        let sample = FlowSample { at, delivered, sent, retransmitted, rtt, cwnd, state, rate: 0 };
        Ok(Sampled { sample, busy, rwnd_limited, sndbuf_limited })
    }

    pub(super) fn stop(&self) {
        for (_, connection) in &self.open {
            // It may have ended by itself: then there is nothing to stop.
            let _ = connection.sender.get().map(|stream| stream.shutdown(Shutdown::Both));
        }
    }

    /// Whether every connection so far has delivered all it had.
    pub(super) fn all_finished(&self) -> bool {
        self.open.is_empty()
    }

    /// When each that ended was begun, and when its last byte arrived by the guest's clock.
    pub(super) fn ended(&self) -> &[(u64, u64)] {
        &self.ended
    }
}

impl Totals {
    fn plus(self, other: Self) -> Self {
        Self {
            delivered: self.delivered + other.delivered,
            sent: self.sent + other.sent,
            retransmitted: self.retransmitted + other.retransmitted,
            busy: self.busy + other.busy,
            rwnd_limited: self.rwnd_limited + other.rwnd_limited,
            sndbuf_limited: self.sndbuf_limited + other.sndbuf_limited,
        }
    }
}
