//! PCC behind quinn's congestion controller trait: translation, no decisions.

use crate::in_flight::InFlight;
use crate::pacing::{Pacing, Question};
use pcc::Pcc;
use pcc::interval::LimitedBy;
use pcc::units::{Bytes, Timestamp};
use pcc_adapter::{Handle, KEEPING, Peer, random_seed, vary};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// PCC for quinn connections: give it to `quinn::TransportConfig::congestion_controller_factory`.
#[derive(Clone, Debug)]
pub struct PccConfig {
    /// Utility, limits and observer of every connection.
    ///
    /// The packet size is quinn's, whatever is set here. Each connection varies the seed, since senders that share a path
    /// must not try rates in step. [`PccConfig::default`] draws the seed at random.
    pub core: pcc::Config,
    /// Changes utility and law of these connections while they are open.
    pub handle: Handle,
    /// Whom these connections go to, if what they learn of the path shall be kept for later ones: one configuration a peer.
    pub peer: Option<Peer>,
}

impl Default for PccConfig {
    fn default() -> Self {
        pcc::Config { seed: random_seed(), ..pcc::Config::default() }.into()
    }
}

impl From<pcc::Config> for PccConfig {
    fn from(core: pcc::Config) -> Self {
        Self { core, handle: Handle::default(), peer: None }
    }
}

impl ControllerFactory for PccConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(PccController::new(self, now, current_mtu))
    }
}

#[derive(Debug)]
struct PccController {
    config: Arc<PccConfig>,
    /// Up to which change of the handle it is.
    generation: u64,
    pcc: Pcc,
    in_flight: InFlight,
    pacing: Pacing,
    /// PCC's time is counted from here.
    born: Instant,
    mtu: u16,
    /// The latest time that quinn named.
    latest: Instant,
    /// When the newest packet was sent that the acknowledgement being read covers.
    answered: Option<Instant>,
    /// Packets sent before this will have no answer: see [`Self::forget_unanswered`].
    settled: Option<Instant>,
    /// Packets that arrived with a mark of congestion (ECN), of which PCC was not told yet.
    marked: u32,
    /// The application had nothing to send, and nothing was sent since.
    is_idle: bool,
    /// When the store was told of the path.
    kept: Timestamp,
}

impl PccController {
    fn new(config: Arc<PccConfig>, now: Instant, mtu: u16) -> Self {
        let seed = vary(config.core.seed);
        let mut core = pcc::Config { seed, max_datagram_size: Bytes::new(mtu.into()), ..config.core.clone() };
        core.memory = config.peer.as_ref().and_then(Peer::recall).or(core.memory);
        let mut generation = 0;
        if let Some(wanted) = config.handle.news(&mut generation) {
            (core.utility, core.law) = (wanted.utility, wanted.law);
        }
        Self {
            config,
            generation,
            pcc: Pcc::new(core, Timestamp::ZERO),
            in_flight: InFlight::default(),
            pacing: Pacing::new(),
            born: now,
            mtu,
            latest: now,
            answered: None,
            settled: None,
            marked: 0,
            is_idle: true,
            kept: Timestamp::ZERO,
        }
    }

    /// Tells the store what is known of the path.
    fn keep_path(&self) {
        if let Some((peer, learnt)) = self.config.peer.as_ref().zip(self.pcc.learnt()) {
            peer.keep(learnt);
        }
    }

    /// The moment in PCC's time.
    fn at(&mut self, now: Instant) -> Timestamp {
        self.latest = now;
        Timestamp::ZERO + now.saturating_duration_since(self.born)
    }

    /// Whether PCC is to hear of packets that leave in one call. quinn asks for the window before data, and does not before
    /// acknowledgements alone, which are small, and probes, which are as large as data.
    fn counts(&self, bytes: u64) -> bool {
        self.pacing.admitted() > 0 || bytes > u64::from(self.mtu / 2)
    }

    /// quinn discards the handshake's packets in silence. A packet that left two RTT before one that arrived has been
    /// reported, or never will be. Called before the next packet leaves, not with the acknowledgement: quinn reports
    /// losses after it.
    fn forget_unanswered(&mut self, at: Timestamp) {
        if let Some(settled) = self.settled.take()
            && let Some(oldest) = self.in_flight.forget_before(settled)
        {
            self.pcc.on_discarded(at, oldest);
        }
    }

    /// The application had nothing to send since the time of what it sent was over; PCC takes off a packet's.
    fn on_idle(&mut self) {
        let packet = Bytes::new(u64::from(self.mtu) * u64::from(self.pcc.train_packets()));
        let since = self.pacing.free_from() - self.pcc.rate().time_for(packet);
        self.pcc.on_limited(since, LimitedBy::Application);
    }

    /// quinn's smoothed RTT once it has this acknowledgement, of which it tells the controller first. The time that the peer
    /// says it waited is unknown here, and missing until the next acknowledgement.
    fn foresee_rtt(&mut self, before: &RttEstimator, sent: Instant) {
        let sample = self.latest.saturating_duration_since(sent);
        let smoothed = match self.pcc.rtt().smoothed() {
            None => sample,
            Some(_) => (before.get() * 7 + sample) / 8,
        };
        self.pacing.set_smoothed(smoothed);
    }
}

impl Drop for PccController {
    fn drop(&mut self) {
        self.keep_path();
    }
}

impl Controller for PccController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        let at = self.at(now);
        self.pacing.on_event();
        self.forget_unanswered(at);
        if !self.counts(bytes) {
            return;
        }
        let packets = self.in_flight.on_sent(now, bytes, self.mtu.into());
        let idle = core::mem::take(&mut self.is_idle);
        let count = packets.end - packets.start;
        if let Some(since) = self.pacing.on_sent(at, Bytes::new(bytes), count, self.pcc.rate(), idle) {
            self.pcc.on_limited(since, LimitedBy::Host);
        }
        let mut left = bytes;
        for packet in packets {
            let size = left.min(self.mtu.into());
            left -= size;
            self.pcc.on_packet_sent(at, packet, Bytes::new(size));
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, _: u64, app_limited: bool, rtt: &RttEstimator) {
        let at = self.at(now);
        self.pacing.on_event();
        if let Some(packet) = self.in_flight.on_ack(sent) {
            self.pcc.on_ack(at, packet);
        }
        if self.answered.is_none_or(|newest| sent > newest) {
            self.answered = Some(sent);
            self.foresee_rtt(rtt, sent);
        }
        if app_limited && !self.is_idle {
            self.is_idle = true;
            self.on_idle();
        }
    }

    fn on_end_acks(&mut self, now: Instant, _: u64, _: bool, _: Option<u64>) {
        let at = self.at(now);
        self.pacing.on_event();
        if self.marked > 0 {
            self.pcc.on_congestion_experienced(core::mem::take(&mut self.marked));
        }
        self.pcc.on_end_acks(at);
        if let Some(wanted) = self.config.handle.news(&mut self.generation) {
            self.pcc.steer(at, wanted.utility, wanted.law);
        }
        if self.config.peer.is_some() && at.since(self.kept) >= KEEPING {
            self.kept = at;
            self.keep_path();
        }
        if let Some(answered) = self.answered.take() {
            self.settled = answered.checked_sub(2 * self.pcc.rtt().smoothed_or_assumed());
        }
    }

    /// A batch of losses, or with no bytes a mark of congestion (ECN). The latter comes after the acknowledgement that told
    /// it, and counts with the next one.
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let at = self.at(now);
        self.pacing.on_event();
        if lost_bytes == 0 {
            self.marked = self.marked.saturating_add(1);
            return;
        }
        let pcc = &mut self.pcc;
        self.in_flight.on_lost(sent, lost_bytes, |packet| pcc.on_loss(at, packet));
        if is_persistent {
            self.pcc.on_persistent_congestion(at);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
        self.pcc.set_max_datagram_size(Bytes::new(new_mtu.into()));
    }

    /// quinn counts probes of a larger MTU as in flight, which PCC never hears of: one at a time, of twice the size at most.
    fn window(&self) -> u64 {
        let room = || self.pcc.congestion_window().get().saturating_add(2 * u64::from(self.mtu));
        let speed = || self.pacing.window(self.pcc.rate(), Bytes::new(self.mtu.into()));
        match self.pacing.on_question() {
            Question::Room => room(),
            // With nothing in flight nobody would wake a connection that is taken to have no room, if quinn asked for that.
            Question::Speed if self.pcc.bytes_in_flight() == Bytes::ZERO => speed().max(3 * u64::from(self.mtu)),
            Question::Speed => speed(),
        }
    }

    /// For a path that takes over. The old controller accounts for the packets in flight; this one starts afresh.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self::new(Arc::clone(&self.config), self.latest, self.mtu))
    }

    fn initial_window(&self) -> u64 {
        self.pcc.congestion_window().get()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
