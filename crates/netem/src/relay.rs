//! The relay itself: a thread that reads packets, asks the link when each comes out, and sends it on at that time.

use crate::departures::Departures;
use crate::lateness::Lateness;
use crate::report::{Direction, Report, add, take};
use crate::socket::{Clock, LARGEST, Socket};
use crate::wait::{be_exact, wait};
use crate::waiting::{Offered, Told, Waiting};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use pcc::units::{Bytes, Timestamp};
use pcc_link::{Bottleneck, Passed, Path};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The two ends of a relay, and its path.
#[derive(Clone, Debug)]
pub struct Options {
    /// The path between each client and the server.
    pub path: Path,
    /// The first client's path replays from this seed, the next one's from the number after it, and so on.
    pub seed: u64,
    /// Where clients send to; port 0 for any free one.
    pub listen: SocketAddr,
    /// The server.
    pub to: SocketAddr,
    /// Clients at one time; packets of further ones are dropped.
    pub sessions: usize,
    /// A client that is silent in both directions for so long is forgotten.
    pub idle: Duration,
}

impl Options {
    /// A relay of `path` to `to`, at a free port of this host alone.
    pub fn new(path: Path, to: SocketAddr) -> Self {
        let listen = if to.is_ipv4() { ([127, 0, 0, 1], 0).into() } else { (std::net::Ipv6Addr::LOCALHOST, 0).into() };
        Self { path, seed: 1, listen, to, sessions: 64, idle: Duration::from_secs(60) }
    }
}

/// Why a relay does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// No such path can be.
    #[error(transparent)]
    Path(#[from] pcc_link::Impossible),
    /// Another program has the address, or this computer does not.
    #[error("cannot listen at {address}")]
    Listen {
        /// Where clients were to send to.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The system does not say which port it gave.
    #[error("the socket has no address")]
    NoAddress(#[source] io::Error),
    /// The system has no thread left.
    #[error("cannot start the relay's thread")]
    Thread(#[source] io::Error),
}

/// Packets read from one socket before the others, and the departures, have their turn.
const BATCH: usize = 16;
/// How old a [`Handle::report`] may be, and how long [`Handle::stop`] may take.
const TICK: Duration = Duration::from_millis(50);

/// A relay at work; it stops when this is dropped.
#[derive(Debug)]
pub struct Handle {
    addr: SocketAddr,
    warning: Option<String>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    report: Mutex<Report>,
}

/// Starts a relay on a thread of its own.
pub fn relay(options: Options) -> Result<Handle, RelayError> {
    // Refuses an impossible path now and not when the first client comes.
    options.path.links(options.seed)?;
    let address = options.listen;
    let (front, warning) = Socket::bind(address).map_err(|source| RelayError::Listen { address, source })?;
    let addr = front.inner().local_addr().map_err(RelayError::NoAddress)?;
    let shared = Arc::new(Shared::default());
    let engine = Engine::new(options, front, Arc::clone(&shared));
    let thread = std::thread::Builder::new().name("pcc-emulate".into()).spawn(move || engine.run());
    Ok(Handle { addr, warning, shared, thread: Some(thread.map_err(RelayError::Thread)?) })
}

impl Handle {
    /// Where clients send to.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A warning about this host for the user, if any.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The relay's counts so far, up to 50 ms old.
    pub fn report(&self) -> Report {
        self.shared.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the relay. Packets still under way are reported as such.
    pub fn stop(mut self) -> Report {
        self.end();
        self.report()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the relay's thread failed");
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// A client and its own path to the server.
struct Session {
    client: SocketAddr,
    /// Time zero of its links: its first packet.
    began: Instant,
    last: Instant,
    server: Socket,
    up: Side,
    down: Side,
}

struct Side {
    path: Waiting,
    counts: Direction,
}

impl Session {
    fn side(&mut self, way: Way) -> &mut Side {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }
}

impl Side {
    fn new(bottleneck: Bottleneck) -> Self {
        Self { path: Waiting::new(bottleneck), counts: Direction::default() }
    }

    /// Packets that wait in a queue are under way too.
    fn counts(&self) -> Direction {
        let (mut in_transit, waiting) = (self.counts.in_transit, self.path.count());
        in_transit.packets += waiting.packets;
        in_transit.bytes += waiting.bytes;
        Direction { link: self.path.counters(), in_transit, ..self.counts }
    }
}

impl Side {
    /// Lets the packets out of the queue that have left it by now.
    fn serve(&mut self, now: Timestamp, began: Instant, parcel: Parcel, departures: &mut Departures<Parcel>) {
        while let Some((passed, data)) = self.path.serve(now) {
            self.depart(&passed, began, parcel, &data, departures);
        }
    }

    fn depart(
        &mut self,
        passed: &Passed,
        began: Instant,
        parcel: Parcel,
        data: &[u8],
        departures: &mut Departures<Parcel>,
    ) {
        for at in [Some(passed.at), passed.duplicate].into_iter().flatten() {
            let fits = departures.push(began + at.since(Timestamp::ZERO), parcel, data);
            let count = if fits { &mut self.counts.in_transit } else { &mut self.counts.dropped_host };
            add(count, passed.packet.size);
        }
    }
}

/// Whose packet it is.
#[derive(Clone, Copy)]
struct Parcel {
    session: u64,
    way: Way,
}

struct Engine {
    options: Options,
    front: Socket,
    shared: Arc<Shared>,
    began: Instant,
    /// By serial number, so that a late packet never finds another client's session.
    sessions: Vec<(u64, Session)>,
    numbers: HashMap<SocketAddr, u64>,
    departures: Departures<Parcel>,
    /// Of sessions that are over.
    closed: (Direction, Direction),
    closed_missed: u64,
    sessions_ever: u64,
    turned_away: u64,
    nobody_there: u64,
    lateness: Lateness,
    /// Bytes of UDP and IP headers on the wire.
    headers: usize,
    next_tick: Instant,
}

impl Engine {
    fn new(options: Options, front: Socket, shared: Arc<Shared>) -> Self {
        let now = Instant::now();
        Self {
            headers: if options.to.is_ipv4() { 28 } else { 48 },
            options,
            front,
            shared,
            began: now,
            sessions: Vec::new(),
            numbers: HashMap::new(),
            departures: Departures::default(),
            closed: (Direction::default(), Direction::default()),
            closed_missed: 0,
            sessions_ever: 0,
            turned_away: 0,
            nobody_there: 0,
            lateness: Lateness::default(),
            next_tick: now,
        }
    }

    fn run(mut self) {
        be_exact();
        let mut buffer = vec![0; LARGEST];
        let mut ready = Vec::new();
        while !self.shared.stop.load(Relaxed) {
            let now = Instant::now();
            self.serve(now);
            self.send_due(now);
            if now >= self.next_tick {
                self.tick(now);
            }
            let next = self.next();
            let sockets = core::iter::once(&self.front).chain(self.sessions.iter().map(|(_, one)| &one.server));
            let time = next.saturating_duration_since(Instant::now());
            wait(sockets.map(Socket::inner), time, &mut ready);
            self.read(&ready, &mut buffer);
        }
        self.tick(Instant::now());
    }

    /// Publishes the report and forgets idle clients.
    fn tick(&mut self, now: Instant) {
        self.next_tick = now + TICK;
        let idle = self.options.idle;
        let over = |session: &Session| {
            let under_way = session.up.counts().in_transit.packets + session.down.counts().in_transit.packets;
            under_way == 0 && now.saturating_duration_since(session.last) > idle
        };
        for (_, session) in self.sessions.extract_if(.., |(_, session)| over(session)) {
            self.numbers.remove(&session.client);
            self.closed.0.merge(&session.up.counts());
            self.closed.1.merge(&session.down.counts());
            self.closed_missed += session.server.missed();
        }
        let report = self.report(now);
        *self.shared.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    fn report(&self, now: Instant) -> Report {
        let (mut up, mut down) = self.closed;
        let mut missed = self.closed_missed + self.front.missed();
        for (_, session) in &self.sessions {
            up.merge(&session.up.counts());
            down.merge(&session.down.counts());
            missed += session.server.missed();
        }
        Report {
            up,
            down,
            sessions: self.sessions.len(),
            sessions_ever: self.sessions_ever,
            turned_away: self.turned_away,
            missed,
            nobody_there: self.nobody_there,
            lateness: self.lateness.clone(),
            elapsed: now.saturating_duration_since(self.began),
        }
    }

    /// Reads from the sockets that have something: the clients' first, then one of each session.
    fn read(&mut self, ready: &[bool], buffer: &mut [u8]) {
        let clock = Clock::read();
        // Sessions that begin now come behind those that were waited for.
        for (place, _) in ready.iter().enumerate().filter(|(_, ready)| **ready) {
            for _ in 0..BATCH {
                let socket = match place.checked_sub(1) {
                    None => &self.front,
                    Some(place) => match self.sessions.get(place) {
                        Some((_, session)) => &session.server,
                        None => break,
                    },
                };
                match socket.receive(buffer, &clock) {
                    Ok(packet) => {
                        let data = buffer.get(..packet.len).unwrap_or_default();
                        let (number, way) = match place.checked_sub(1) {
                            None => (self.session(packet.from, packet.at), Way::Up),
                            Some(place) => (self.sessions.get(place).map(|(number, _)| *number), Way::Down),
                        };
                        match number {
                            Some(number) => self.take_in(number, way, packet.at, data),
                            None => self.turned_away += 1,
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => self.complaint(&error),
                }
            }
        }
    }

    /// The system passes on what others said of packets sent earlier; nothing is wrong with this socket.
    fn complaint(&mut self, error: &io::Error) {
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => self.nobody_there += 1,
            _ => tracing::debug!(%error, "while relaying"),
        }
    }

    /// The number of the client's session, which begins if there is room for it.
    fn session(&mut self, client: SocketAddr, at: Instant) -> Option<u64> {
        if let Some(number) = self.numbers.get(&client) {
            return Some(*number);
        }
        if self.sessions.len() >= self.options.sessions {
            return None;
        }
        let number = self.sessions_ever;
        let (up, down) = self.options.path.bottlenecks(self.options.seed.wrapping_add(number)).ok()?;
        let server = match Socket::connect(self.options.to) {
            Ok(server) => server,
            Err(error) => {
                tracing::warn!(%error, to = %self.options.to, "no socket for another client");
                return None;
            }
        };
        let (up, down) = (Side::new(up), Side::new(down));
        self.sessions_ever += 1;
        self.numbers.insert(client, number);
        self.sessions.push((number, Session { client, began: at, last: at, server, up, down }));
        Some(number)
    }

    /// Finds a session; they are few, and in the order of their numbers.
    fn by_number(sessions: &mut [(u64, Session)], number: u64) -> Option<&mut Session> {
        let place = sessions.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        sessions.get_mut(place).map(|(_, session)| session)
    }

    /// A packet came in: the link says what becomes of it.
    fn take_in(&mut self, number: u64, way: Way, at: Instant, data: &[u8]) {
        let Some(session) = Self::by_number(&mut self.sessions, number) else { return };
        session.last = session.last.max(at);
        let began = session.began;
        let size = wire(data.len() + self.headers);
        let now = Timestamp::ZERO + at.saturating_duration_since(began);
        let side = session.side(way);
        let parcel = Parcel { session: number, way };
        side.serve(now, began, parcel, &mut self.departures);
        match side.path.offer(now, Told::plain(size), data) {
            Offered::Passes(passed) => side.depart(&passed, began, parcel, data, &mut self.departures),
            Offered::Kept => {}
            Offered::NoRoom => add(&mut side.counts.dropped_host, size),
        }
    }

    /// When something is due: a tick, a packet that comes out of a path, or one that leaves a queue.
    fn next(&self) -> Instant {
        let served = self.sessions.iter().flat_map(|(_, session)| {
            let next = |side: &Side| side.path.next().map(|at| session.began + at.since(Timestamp::ZERO));
            [next(&session.up), next(&session.down)]
        });
        let due = served.flatten().chain(self.departures.next()).min();
        due.map_or(self.next_tick, |at| at.min(self.next_tick))
    }

    /// Lets the packets out of all queues that have left them by now.
    fn serve(&mut self, now: Instant) {
        for (number, session) in &mut self.sessions {
            let began = session.began;
            let now = Timestamp::ZERO + now.saturating_duration_since(began);
            for way in [Way::Up, Way::Down] {
                session.side(way).serve(now, began, Parcel { session: *number, way }, &mut self.departures);
            }
        }
    }

    /// Sends on what is due, each at its moment or as soon after it as this thread runs.
    fn send_due(&mut self, mut now: Instant) {
        for _ in 0..BATCH * 4 {
            let Some((at, parcel, data)) = self.departures.due(now) else { return };
            self.send(parcel, &data);
            self.lateness.add(now.saturating_duration_since(at));
            self.departures.reuse(data);
            now = Instant::now();
        }
    }

    fn send(&mut self, parcel: Parcel, data: &[u8]) {
        let size = wire(data.len() + self.headers);
        let Some(session) = Self::by_number(&mut self.sessions, parcel.session) else { return };
        let once = |session: &Session| match parcel.way {
            Way::Up => session.server.inner().send(data),
            Way::Down => self.front.inner().send_to(data, session.client),
        };
        // An error may belong to an earlier packet that nobody took; then this one has not been tried yet.
        let result = once(session).or_else(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => once(session),
            _ => Err(error),
        });
        let counts = &mut session.side(parcel.way).counts;
        take(&mut counts.in_transit, size);
        add(if result.is_ok() { &mut counts.forwarded } else { &mut counts.dropped_host }, size);
        if let Err(error) = result {
            self.complaint(&error);
        }
    }
}

/// A size on the wire.
const fn wire(bytes: usize) -> Bytes {
    Bytes::new(bytes as u64)
}
