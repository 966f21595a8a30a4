//! PCC behind noq's congestion controller trait: translation, no decisions.

use crate::numbers::{Numbered, Numbers};
use crate::pace::{self, ForeignPacer, LostTo, Pace, SendGate, Silence};
use crate::peer_window::PeerWindow;
#[cfg(feature = "patched-noq-proto")]
use core::time::Duration;
use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
use noq_proto::RttEstimator;
use pcc::Pcc;
use pcc::interval::LimitedBy;
use pcc::units::{Bytes, Rate, Timestamp};
use pcc_adapter::{Handle, KEEPING, Peer, random_seed, vary};
use std::any::Any;
#[cfg(feature = "patched-noq-proto")]
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// PCC for a noq connection: give it to [`noq::TransportConfig::congestion_controller_factory`].
#[derive(Clone, Debug)]
pub struct PccConfig {
    /// Utility, limits and observer of every connection.
    ///
    /// The packet size is noq's, whatever is set here. Each connection and each path gets its own variation of the
    /// seed, since senders that share a path must not try rates in step. A process that makes the same connections in
    /// the same order repeats their seeds. [`PccConfig::default`] draws the seed at random.
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

    /// A further path may lead to another address than [`Self::peer`]'s: what was learnt of that one is used there.
    #[cfg(feature = "patched-noq-proto")]
    fn build_for(self: Arc<Self>, remote: SocketAddr, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let remote = remote.ip().to_canonical();
        let config = match &self.peer {
            Some(peer) if peer.address.to_canonical() != remote => {
                let peer = Some(Peer { address: remote, store: peer.store.clone() });
                Arc::new(Self { peer, ..(*self).clone() })
            }
            _ => self,
        };
        config.build(now, current_mtu)
    }
}

/// A longer batch of losses is not remembered, so that packets which a path drops at once cost no memory for good.
/// Unit: packets; these are 4 ms of 10 Gbit/s.
const LONGEST_REMEMBERED: usize = 4096;

/// Packets that may leave faster than an assumed rate, and the rate at which they do. The handshake's flight of three
/// (RFC 9000 §8.1) must not wait 10 ms for each, and 1 ms apart it does not overflow a buffer.
const OPENING_PACKETS: u64 = 4;
const OPENING_MBIT: f64 = 10.0;

#[derive(Debug)]
struct PccController {
    config: Arc<PccConfig>,
    /// Up to which change of the handle it is.
    generation: u64,
    pcc: Pcc,
    gate: SendGate,
    /// Where the gate stays open, under another runtime than ours.
    foreign_pacer: ForeignPacer,
    silence: Silence,
    numbers: Numbers,
    /// PCC's time is counted from here.
    born: Timestamp,
    mtu: u16,
    /// The latest time that noq named: it names the same one for each packet of an acknowledgement.
    latest: (Instant, Timestamp),
    /// Reported lost, the time of sending not yet known.
    lost: Vec<u64>,
    /// Our ids of the latest losses that PCC was told of together, of which noq may find that they arrived.
    batch: Vec<u64>,
    /// noq has found that, and it is to be told with the next time that noq names.
    spurious: bool,
    /// Packets that arrived with a mark of congestion (ECN), of which PCC was not told yet.
    marked: u32,
    /// PCC was told that the application is the limit, and nothing was sent since.
    limited: bool,
    /// When a packet of the latest acknowledgement was sent.
    answered: Instant,
    landmark: Option<Landmark>,
    untold: Untold,
    peer_window: PeerWindow,
    /// When the store was told of the path.
    kept: Timestamp,
}

/// Bytes that noq counts as in flight and PCC does not know: probes of a larger MTU, and packets of an earlier number
/// space. In a window of a few packets they would take the room of others, and PCC would take that for a slow host.
/// Unit: byte.
#[derive(Clone, Copy, Debug)]
struct Untold {
    bytes: u64,
    /// When the latest of them left.
    latest: Instant,
}

impl Untold {
    const fn on_sent(&mut self, now: Instant, bytes: u64) {
        (self.bytes, self.latest) = (self.bytes.saturating_add(bytes), now);
    }

    /// A packet sent at that time was acknowledged: what left before has arrived, or is lost.
    fn on_ack(&mut self, sent: Instant) {
        if sent > self.latest {
            self.bytes = 0;
        }
    }
}

/// A packet sent some time ago. Once a packet sent two RTT later is acknowledged, noq has reported on everything up to
/// the landmark, or never will. It drops the Handshake packets in silence when it discards their keys; where the data's
/// numbers go on above theirs, nothing else shows it.
#[derive(Clone, Copy, Debug)]
struct Landmark {
    id: u64,
    sent: Instant,
    passed: bool,
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
            generation,
            pcc: Pcc::new(core, Timestamp::ZERO),
            gate: SendGate::default(),
            foreign_pacer: ForeignPacer::default(),
            silence: Silence::default(),
            numbers: Numbers::default(),
            born: pace::at(now),
            latest: (now, Timestamp::ZERO),
            mtu,
            lost: Vec::new(),
            batch: Vec::new(),
            spurious: false,
            marked: 0,
            limited: false,
            answered: now,
            landmark: None,
            untold: Untold { bytes: 0, latest: now },
            peer_window: PeerWindow::default(),
            kept: Timestamp::ZERO,
            config,
        }
    }

    /// The moment in PCC's time.
    fn since_birth(&self, moment: Timestamp) -> Timestamp {
        Timestamp::ZERO + moment.since(self.born)
    }

    fn at(&mut self, now: Instant) -> Timestamp {
        if self.latest.0 != now {
            self.latest = (now, self.since_birth(pace::at(now)));
        }
        self.latest.1
    }

    /// How packets should leave after one with this id.
    fn pace(&self, id: u64) -> Pace {
        let mut rate = self.pcc.rate();
        if id < OPENING_PACKETS && self.pcc.rtt().smoothed().is_none() {
            let opening = Rate::from_mbit(OPENING_MBIT);
            rate = rate.max(self.config.core.max_rate.map_or(opening, |limit| limit.min(opening)));
        }
        Pace { rate, quantum: self.pcc.send_quantum(), packet: Bytes::new(self.mtu.into()) }
    }

    /// Tells the store what is known of the path.
    fn keep_path(&self) {
        if let Some((peer, learnt)) = self.config.peer.as_ref().zip(self.pcc.learnt()) {
            peer.keep(learnt);
        }
    }

    fn acknowledged(&mut self, now: Instant, sent: Instant, number: u64, app_limited: bool) {
        self.forget_losses();
        let at = self.at(now);
        self.take_back(at);
        if app_limited && !self.limited && self.peer_window.on_stop(self.pcc.bytes_in_flight()) {
            self.tell_of_peer_window();
        }
        if let Some(id) = self.numbers.id(number, sent) {
            self.pcc.on_ack(at, id);
        }
        self.answered = sent;
        self.untold.on_ack(sent);
        if app_limited && !self.limited {
            self.limited = true;
            // Since it had no more: noq says so with the first acknowledgement after that.
            let rate = self.pcc.rate();
            let since = if pace::is_ours() { self.gate.free_from(rate) } else { self.foreign_pacer.free_from(rate) };
            self.on_silent_since(since);
        }
    }

    fn tell_of_peer_window(&self) {
        let rtt = self.pcc.rtt().smoothed_or_assumed();
        tracing::warn!(
            ?rtt,
            "the peer lets some 1.25 MB of a stream be under way, noq's default, which limits this connection to {:.1} Mbit/s. Give the \
             receiver the windows of `pcc_quic::transport::config`, or a larger `stream_receive_window`",
            self.pcc.bytes_in_flight().get() as f64 * 8e-6 / rtt.as_secs_f64(),
        );
    }

    /// The application had nothing to send from that moment on. PCC wants to know when the last packet left, and takes off
    /// the time for which pacing keeps a sender silent.
    fn on_silent_since(&mut self, moment: Timestamp) {
        let packet = Bytes::new(u64::from(self.mtu) * u64::from(self.pcc.train_packets()));
        let since = moment - self.pcc.rate().time_for(packet);
        self.pcc.on_limited(self.since_birth(since), LimitedBy::Application);
    }

    /// Packets that were taken for lost have arrived.
    fn take_back(&mut self, at: Timestamp) {
        if core::mem::take(&mut self.spurious) {
            for id in self.batch.drain(..) {
                self.pcc.on_ack(at, id);
            }
        }
    }

    /// Reported losses turned out to be none of PCC's business: acknowledgements only, or another path's.
    fn forget_losses(&mut self) {
        self.lost.clear();
    }
}

impl Drop for PccController {
    fn drop(&mut self) {
        self.keep_path();
    }
}

impl Controller for PccController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        self.forget_losses();
        let volume = Bytes::new(bytes.into());
        // noq asks for the time once for up to twenty packets; ours passes with each train that leaves.
        let moment = pace::now_or(now);
        let at = self.since_birth(moment);
        self.take_back(at);
        let leaving = self.gate.leaving(moment);
        let Numbered { id, starts_space } = self.numbers.on_sent(number, now);
        if starts_space {
            self.untold.on_sent(now, self.pcc.bytes_in_flight().get());
            self.pcc.on_discarded(at, id);
        }
        // Here, not with the acknowledgement: noq reports losses after it.
        if let Some(landmark) = self.landmark.take_if(|landmark| landmark.passed) {
            self.pcc.on_discarded(at, landmark.id + 1);
        }
        self.landmark.get_or_insert(Landmark { id, sent: now, passed: false });
        // Larger than the MTU is a probe for a larger MTU: noq never says that it was lost.
        if bytes <= self.mtu {
            let silent = self.silence.ends();
            let limited = match leaving {
                Some(leaving) => self.gate.limited(leaving, self.pcc.rate()),
                None => self.foreign_pacer.on_sent(moment, volume, self.pace(id), self.limited),
            };
            match limited {
                Some((since, LostTo::Host)) => self.pcc.on_limited(self.since_birth(since), LimitedBy::Host),
                Some((since, LostTo::Application)) if silent => self.on_silent_since(since),
                _ => {}
            }
            self.pcc.on_packet_sent(at, id, volume);
            self.limited = false;
        } else {
            self.untold.on_sent(now, bytes.into());
        }
        if let Some(leaving) = leaving {
            self.gate.on_sent(leaving, volume, self.pace(id));
        }
    }

    fn on_cwnd_limited(&mut self) {
        self.gate.on_window_full();
        self.foreign_pacer.on_window_full();
        self.silence.on_blocked();
    }

    fn on_sent(&mut self, _: Instant, _: u64, _: u64) {
        self.silence.on_datagram();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, _: u64, number: u64, app_limited: bool, _: &RttEstimator) {
        self.acknowledged(now, sent, number, app_limited);
    }

    /// noq-proto as released asks for one threshold only.
    #[cfg(feature = "patched-noq-proto")]
    fn ack_eliciting_threshold(&self) -> Option<u32> {
        Some(self.pcc.packets_per_ack() - 1)
    }

    /// noq-proto as released does not say how many: see [`Self::on_congestion_event`].
    #[cfg(feature = "patched-noq-proto")]
    fn on_ce_marks(&mut self, _: Instant, packets: u64) {
        self.marked = self.marked.saturating_add(u32::try_from(packets).unwrap_or(u32::MAX));
    }

    #[cfg(feature = "patched-noq-proto")]
    fn on_ack_left(&mut self, now: Instant, left: Duration) {
        let at = self.at(now);
        self.pcc.on_ack_left(at, Timestamp::ZERO + left);
    }

    fn on_end_acks(&mut self, now: Instant, _: u64, _: bool, _: Option<u64>) {
        let at = self.at(now);
        self.take_back(at);
        if self.marked > 0 {
            self.pcc.on_congestion_experienced(core::mem::take(&mut self.marked));
        }
        self.pcc.on_end_acks(at);
        if self.config.peer.is_some() && at.since(self.kept) >= KEEPING {
            self.kept = at;
            self.keep_path();
        }
        if let Some(wanted) = self.config.handle.news(&mut self.generation) {
            self.pcc.steer(at, wanted.utility, wanted.law);
        }
        if let Some(landmark) = self.landmark.as_mut().filter(|landmark| !landmark.passed) {
            let later = self.answered.saturating_duration_since(landmark.sent);
            landmark.passed = later > 2 * self.pcc.rtt().smoothed_or_assumed();
        }
    }

    fn on_packet_lost(&mut self, bytes: u16, number: u64, _: Instant) {
        // Packets that are not in flight have no size here, and PCC never heard of them.
        if bytes > 0 {
            self.lost.push(number);
        }
    }

    /// The end of a batch of losses, all of one packet number space; `sent` is the time of its last packet. A batch
    /// that noq does not end this way was not in flight on this path. noq-proto as released never mentions single packets
    /// again that are acknowledged after they were declared lost: see [`Self::on_spurious_congestion_event`].
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, ecn: bool, _: u64, _: u64) {
        if ecn {
            // After the acknowledgement that told: who knows no number counts one, with the next acknowledgement.
            if cfg!(not(feature = "patched-noq-proto")) {
                self.marked = self.marked.saturating_add(1);
            }
            return;
        }
        let at = self.at(now);
        self.take_back(at);
        self.batch.clear();
        for number in self.lost.drain(..) {
            if let Some(id) = self.numbers.id(number, sent) {
                self.pcc.on_loss(at, id);
                if cfg!(not(feature = "patched-noq-proto")) {
                    self.batch.push(id);
                }
            }
        }
        if self.batch.len() > LONGEST_REMEMBERED {
            self.batch = Vec::new();
        }
        if persistent {
            self.pcc.on_persistent_congestion(at);
        }
    }

    /// A packet that noq took for lost was acknowledged.
    #[cfg(feature = "patched-noq-proto")]
    fn on_spurious_loss(&mut self, now: Instant, sent: Instant, number: u64) {
        let at = self.at(now);
        if let Some(id) = self.numbers.id(number, sent) {
            self.pcc.on_ack(at, id);
        }
    }

    /// The last packet that noq took for lost and still waited for was acknowledged. The patched noq-proto has named each
    /// such packet, see [`Self::on_spurious_loss`]. The rest is for the released one. noq waits for two probe time-outs
    /// after a packet was sent, and gives up older packets before it adds a batch. So all of the latest batch has
    /// arrived, except packets that became that old since; those are more than an RTT beyond their time, and PCC has
    /// mostly judged them already. Earlier batches stay lost, since nothing is known of them.
    fn on_spurious_congestion_event(&mut self) {
        self.spurious = cfg!(not(feature = "patched-noq-proto"));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
        self.pcc.set_max_datagram_size(Bytes::new(new_mtu.into()));
    }

    /// noq asks before each datagram of data, and also for statistics: only the former meets the gate. One byte is as
    /// good as none, which noq does not take.
    fn window(&self) -> u64 {
        self.foreign_pacer.on_window();
        self.silence.on_window();
        if self.gate.admits() { self.pcc.congestion_window().get().saturating_add(self.untold.bytes) } else { 1 }
    }

    fn metrics(&self) -> ControllerMetrics {
        self.silence.on_metrics();
        let pace = || (self.pcc.rate() * self.foreign_pacer.haste(), self.pcc.send_quantum());
        pace::metrics(self.pcc.congestion_window().get(), pace)
    }

    /// For a path that takes over, with the same address and another port as far as noq knows (RFC 9000 §9.4). The old
    /// controller accounts for the packets in flight. This one could not finish their intervals, so it starts afresh.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self::new(Arc::clone(&self.config), Instant::now(), self.mtu))
    }

    fn initial_window(&self) -> u64 {
        self.pcc.congestion_window().get()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests;
