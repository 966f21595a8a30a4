//! The server that files come from: connected to when needed, and again when the connection is lost.

use super::dialer::{dialer, keep_alive};
use super::trouble::{GaveUp, Trouble};
use super::watch::Watch;
use super::way::{NoWay, Way};
use crate::attributes::Attributes;
use crate::failure::Failure;
use crate::keeps::Keeps;
use anyhow::anyhow;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use h3::error::StreamError;
use noq::{Connection, Endpoint};
use pcc::units::Rate;
use pcc_net::backoff::{Backoff, random};
use pcc_net::dial::{self, DialError, Dialed, Dialer};
use pcc_net::throttle::Throttle;
use pcc_net::tls::Trust;
use pcc_net::url::{Peer, Url};
use pcc_net::why_lost;
use pcc_quic::http3::{self, Requests};
use pcc_quic::transport::{self, SendWindow, Windows};
use pcc_quic::{Algorithm, Sight};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// How long a server that was reached is tried again without progress, unless something else is asked for.
const GIVE_UP: Duration = Duration::from_secs(600);

/// How long the goodbye may take.
const GOODBYE: Duration = Duration::from_millis(500);

/// Files that are read or written at a time. Each takes a thread and two descriptors, and many systems allow a process 256.
const FILES: usize = 64;

/// Files of which an older version is used at a time. Each has its chunks in memory, some 70 MB at most, and makes two requests of the
/// sixteen that a server answers side by side.
const DELTAS: usize = 4;

/// HTTP/3's code for "all went well" (RFC 9114 §8.1).
const NO_ERROR: noq::VarInt = noq::VarInt::from_u32(0x100);

/// A server, reached over one connection at a time.
pub struct Source {
    reach: Reach,
    peer: Peer,
    give_up: Duration,
    throttle: Option<Throttle>,
    windows: Windows,
    keeps: Keeps,
    watch: Arc<dyn Watch>,
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
    files: Semaphore,
    /// Files of which an older version is used.
    deltas: Arc<Semaphore>,
    state: Mutex<State>,
    /// Abilities that the server tells of, once it was asked.
    features: tokio::sync::OnceCell<String>,
}

/// How a connection to it is made.
enum Reach {
    Dialer(Box<Dialer>),
    Way(Arc<dyn Way>),
}

/// A connection as it was made.
struct Reached {
    connection: Connection,
    /// Its own, if it has one.
    endpoint: Option<Endpoint>,
    /// A warning about this host for the user.
    warning: Option<String>,
}

impl Reach {
    async fn connect(&self, peer: &Peer) -> Result<Reached, Trouble> {
        let (error, is_unreachable, may_pass) = match self {
            Self::Dialer(dialer) => match dialer.dial(peer).await {
                Ok(Dialed { connection, endpoint, warning }) => {
                    return Ok(Reached { connection, endpoint: Some(endpoint), warning });
                }
                Err(error) => {
                    let (is_unreachable, may_pass) = (error.is_unreachable(), error.may_pass());
                    (anyhow::Error::new(error), is_unreachable, may_pass)
                }
            },
            Self::Way(way) => match way.connect().await {
                Ok(connection) => return Ok(Reached { connection, endpoint: None, warning: None }),
                Err(NoWay { error, may_pass }) => (anyhow::Error::from_boxed(error), may_pass, may_pass),
            },
        };
        let error = if is_unreachable { error.context(Failure::Unreachable) } else { error };
        Err(if may_pass { Trouble::Passing(error) } else { Trouble::Final(error) })
    }

    /// How long the beginning of HTTP/3 may take.
    fn timeout(&self) -> Duration {
        match self {
            Self::Dialer(dialer) => dialer.timeout,
            Self::Way(_) => dial::TIMEOUT,
        }
    }
}

/// How things go.
#[derive(Debug)]
struct State {
    backoff: Backoff,
    /// When something arrived last, or the first attempt was made.
    progressed: Instant,
    /// Whether the server was ever reached.
    reached: bool,
    flow_blocked: u64,
}

/// One HTTP/3 connection.
pub(crate) struct Session {
    connection: Connection,
    endpoint: Option<Endpoint>,
    requests: Requests,
    send_window: SendWindow,
    retired: AtomicBool,
    opened: Instant,
    /// The things to ask for besides contents.
    keeps: Keeps,
    /// How many requests were made of it.
    asked: AtomicU64,
}

impl Session {
    async fn open(source: &Source) -> Result<Self, Trouble> {
        let Source { reach, peer, windows, keeps, .. } = source;
        let Reached { connection, endpoint, warning } = reach.connect(peer).await?;
        let send_window = SendWindow::new(connection.weak_handle(), *windows);
        tokio::spawn(send_window.clone().keep_fitting());
        let opened = tokio::time::timeout(reach.timeout(), http3::client(connection.clone())).await;
        let (driver, requests) = opened
            .map_err(|_| Trouble::Passing(anyhow!("{peer} did not begin to speak HTTP/3")))?
            .map_err(|error| {
                let why = why_lost(&connection, &error);
                Trouble::Passing(anyhow!("lost the connection to {peer}: {why}"))
            })?;
        tokio::spawn(driver);
        let (retired, asked) = (AtomicBool::new(false), AtomicU64::new(0));
        if let Some(warning) = warning.filter(|_| !source.state().reached) {
            source.watch.note(&warning);
        }
        let (keeps, opened) = (keeps.clone(), Instant::now());
        Ok(Self { connection, endpoint, requests, send_window, retired, opened, keeps, asked })
    }

    /// Of what was written at most so much is not acknowledged.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.send_window.bytes().get()
    }

    /// Acknowledgements that have come: while there are no more, nothing more has arrived.
    pub(crate) fn acknowledgements(&self) -> u64 {
        let heard = self.connection.stats().frame_rx;
        heard.acks.saturating_add(heard.path_acks)
    }

    /// Bytes that have left for the network, in packets.
    pub(crate) fn left(&self) -> u64 {
        self.connection.stats().udp_tx.bytes
    }

    /// The findings of this side about the path.
    pub(super) const fn sight(&self) -> &Sight {
        self.send_window.sight()
    }

    /// Bytes that were sent and received in packets, and how long that took.
    pub(super) fn crossed(&self) -> (u64, u64, Duration) {
        let stats = self.connection.stats();
        (stats.udp_tx.bytes, stats.udp_rx.bytes, self.opened.elapsed())
    }

    fn packets(&self) -> u64 {
        self.connection.stats().udp_rx.datagrams
    }

    /// A handle for one request.
    pub(crate) fn requests(&self) -> Requests {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.requests.clone()
    }

    /// The things to ask for besides contents.
    pub(crate) const fn keeps(&self) -> &Keeps {
        &self.keeps
    }

    pub(crate) fn alive(&self) -> bool {
        !self.retired.load(Ordering::Relaxed) && self.connection.close_reason().is_none()
    }

    /// No more requests on it: the server is leaving, or is gone.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    /// Whether this side ended the connection, because of what the server sent.
    pub(crate) fn ended_it(&self) -> bool {
        matches!(self.connection.close_reason(), Some(noq::ConnectionError::LocallyClosed))
    }

    /// Why the connection is gone, as well as is known.
    pub(crate) fn explain(&self, error: &StreamError) -> anyhow::Error {
        anyhow!("lost the connection: {}", why_lost(&self.connection, error))
    }

    /// How often one side said that the other's flow control holds it back.
    fn flow_blocked(&self) -> u64 {
        let stats = self.connection.stats();
        [stats.frame_rx, stats.frame_tx].iter().fold(0u64, |sum, frames| {
            sum.saturating_add(frames.data_blocked).saturating_add(frames.stream_data_blocked)
        })
    }

    pub(crate) fn rtt(&self) -> Duration {
        transport::rtt(&self.connection).unwrap_or_default()
    }

    async fn close(&self) {
        self.connection.close(NO_ERROR, b"");
        // A server that does not hear it finds out by itself.
        if let Some(endpoint) = &self.endpoint {
            let _ = tokio::time::timeout(GOODBYE, endpoint.wait_idle()).await;
        }
    }
}

impl Source {
    /// The server of this URL, to which PCC sends. It is trusted if it shows the certificate that the URL names; if the URL names
    /// none, if an authority vouches for it that this computer trusts.
    pub fn of(url: &Url, watch: Arc<dyn Watch>) -> Self {
        let trust = url.pin.map_or(Trust::System, Trust::Pinned);
        let mut transport = transport::config(&Algorithm::default(), &Windows::default());
        keep_alive(&mut transport);
        Self::new(dialer(trust, Arc::new(transport)), url.peer.clone(), GIVE_UP, watch)
    }

    /// The same, which is tried again for so long without progress, once it was reached.
    pub fn giving_up_after(self, give_up: Duration) -> Self {
        Self { give_up, ..self }
    }

    /// Reached by that dialer. Once it was reached, losing it is tried to be mended for as long as `give_up` without progress.
    pub fn new(dialer: Dialer, peer: Peer, give_up: Duration, watch: Arc<dyn Watch>) -> Self {
        Self::by(Reach::Dialer(Box::new(dialer)), peer, give_up, watch)
    }

    /// Reached by another way than its address; `peer` is what requests and messages call it.
    pub fn over(way: Arc<dyn Way>, peer: Peer, give_up: Duration, watch: Arc<dyn Watch>) -> Self {
        Self::by(Reach::Way(way), peer, give_up, watch)
    }

    fn by(reach: Reach, peer: Peer, give_up: Duration, watch: Arc<dyn Watch>) -> Self {
        let state = State { backoff: Backoff::default(), progressed: Instant::now(), reached: false, flow_blocked: 0 };
        let session = tokio::sync::Mutex::new(None);
        let (windows, files) = (Windows::default(), Semaphore::new(FILES));
        let deltas = Arc::new(Semaphore::new(DELTAS));
        Self {
            reach,
            peer,
            give_up,
            throttle: None,
            windows,
            keeps: Keeps::default(),
            watch,
            session,
            files,
            deltas,
            state: Mutex::new(state),
            features: tokio::sync::OnceCell::new(),
        }
    }

    /// The same, with no more written ahead than these windows hold.
    pub fn within(self, windows: Windows) -> Self {
        Self { windows, ..self }
    }

    /// The same, from which nothing is taken faster than this.
    pub fn limited_to(self, limit: Option<Rate>) -> Self {
        Self { throttle: limit.map(Throttle::new), ..self }
    }

    /// The same, with these things of files and directories kept, in both directions.
    pub fn keeping(self, keeps: Keeps) -> Self {
        Self { keeps, ..self }
    }

    /// The things that are kept.
    pub(crate) const fn keeps(&self) -> &Keeps {
        &self.keeps
    }

    /// The attributes of these that a new file here gets: the time in any case.
    pub(crate) fn kept(&self, attributes: Attributes) -> Attributes {
        let modified = attributes.modified;
        Attributes { modified, ..self.keeps.of(attributes, false).givable() }
    }

    pub(crate) const fn features(&self) -> &tokio::sync::OnceCell<String> {
        &self.features
    }

    /// The user's limits.
    pub fn limit(&self) -> Option<Rate> {
        self.throttle.as_ref().map(Throttle::rate)
    }

    /// How much to take at a time, in bytes, and no more than `most`.
    pub(crate) fn part(&self, most: usize) -> usize {
        self.throttle.as_ref().map_or(most, |throttle| throttle.chunk(most))
    }

    /// Waits until `bytes` more may be taken.
    pub(crate) async fn may_take(&self, bytes: usize) {
        if let Some(throttle) = &self.throttle {
            throttle.wait(bytes).await;
        }
    }

    /// Where it is.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn watch(&self) -> &dyn Watch {
        &*self.watch
    }

    /// How long to go on trying without any progress.
    pub(crate) fn give_up(&self) -> Duration {
        self.give_up
    }

    /// Whether nothing that was asked of the server made progress for as long as the user wants to wait.
    pub(crate) fn is_overdue(&self) -> bool {
        self.state().progressed.elapsed() >= self.give_up
    }

    /// A connection that is up.
    ///
    /// Errors: the server was never reached; or not for too long; or it is not the right one.
    pub(crate) async fn session(&self) -> anyhow::Result<Arc<Session>> {
        let mut slot = self.session.lock().await;
        if let Some(session) = slot.as_ref().filter(|session| session.alive()) {
            return Ok(session.clone());
        }
        *slot = None;
        loop {
            match Session::open(self).await {
                Ok(session) => {
                    self.state().reached = true;
                    let session = Arc::new(session);
                    *slot = Some(session.clone());
                    return Ok(session);
                }
                // A user who mistyped the address should not wait ten minutes to hear it.
                Err(Trouble::Passing(error) | Trouble::Final(error)) if !self.state().reached => return Err(error),
                Err(trouble) => self.pause(trouble).await?,
            }
        }
    }

    /// Waits before the next attempt.
    ///
    /// Errors: none is worth making, because of `trouble` or of how long it has lasted.
    pub(crate) async fn pause(&self, trouble: Trouble) -> anyhow::Result<()> {
        let reason = match trouble {
            Trouble::Passing(reason) => reason,
            Trouble::Final(error) => return Err(error),
        };
        let (wait, attempt) = {
            let mut state = self.state();
            let left = self.give_up.saturating_sub(state.progressed.elapsed());
            if left.is_zero() {
                // A server that refuses is there.
                let is_there = matches!(reason.downcast_ref(), Some(DialError::Full { .. }));
                let reason = reason.context(GaveUp(self.give_up));
                return Err(if is_there { reason } else { reason.context(Failure::Unreachable) });
            }
            (state.backoff.next(random()).min(left), state.backoff.failures())
        };
        self.watch.retry(attempt, wait, &reason);
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Waits until one more file may be read or written, until what is returned is dropped.
    pub(crate) async fn file(&self) -> Option<SemaphorePermit<'_>> {
        self.files.acquire().await.ok() // it is never closed
    }

    /// Turns for those of which an older version is used.
    pub(crate) fn deltas(&self) -> Arc<Semaphore> {
        self.deltas.clone()
    }

    /// Something arrived.
    pub(crate) fn progressed(&self) {
        self.progressed_at(Instant::now());
    }

    pub(crate) fn progressed_at(&self, now: Instant) {
        let mut state = self.state();
        state.progressed = now.max(state.progressed);
        state.backoff.reset();
    }

    /// Whether something arrived after `then`.
    pub(crate) fn progressed_after(&self, then: Instant) -> bool {
        self.state().progressed > then
    }

    /// So long nothing could be expected of the server: it does not count as time without progress.
    pub(crate) fn waited(&self, time: Duration) {
        let mut state = self.state();
        state.progressed = (state.progressed + time).min(Instant::now());
    }

    /// Whether flow control held the transfer back since the last call.
    pub fn was_flow_blocked(&self) -> bool {
        let Ok(slot) = self.session.try_lock() else { return false };
        let blocked = slot.as_ref().map_or(0, |session| session.flow_blocked());
        let before = core::mem::replace(&mut self.state().flow_blocked, blocked);
        blocked > before
    }

    /// Packets that came over the present connection; `None` without one.
    pub fn packets(&self) -> Option<u64> {
        let slot = self.session.try_lock().ok()?;
        slot.as_ref().filter(|session| session.alive()).map(|session| session.packets())
    }

    /// How many requests were made over the present connection, and its round-trip time.
    pub fn requests(&self) -> (u64, Duration) {
        let Ok(slot) = self.session.try_lock() else { return Default::default() };
        let asked = |session: &Arc<Session>| (session.asked.load(Ordering::Relaxed), session.rtt());
        slot.as_ref().map(asked).unwrap_or_default()
    }

    /// The present connection, if it is up.
    pub(super) async fn session_that_is_up(&self) -> Option<Arc<Session>> {
        self.session.lock().await.clone().filter(|session| session.alive())
    }

    /// The server's own address, for requests about no file.
    pub(super) fn uri(&self) -> String {
        let peer = Peer { host: self.peer.name().to_owned(), port: self.peer.port };
        format!("https://{peer}/")
    }

    /// Says goodbye.
    pub async fn close(&self) {
        if let Some(session) = self.session.lock().await.take() {
            session.close().await;
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the error ends everything, not only one file.
pub(crate) fn is_lost(error: &anyhow::Error) -> bool {
    crate::failure::failure_of(error) == Failure::Unreachable || error.downcast_ref::<DialError>().is_some()
}
