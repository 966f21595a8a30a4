//! PCC behind s2n-quic's congestion controller trait: translation, no decisions.

use crate::in_flight::InFlight;
use crate::pacing::Pacing;
use core::net::IpAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use pcc::Pcc;
use pcc::interval::LimitedBy;
use pcc::units::{Bytes, Timestamp};
use pcc_adapter::{Handle, KEEPING, PathStore, Peer, random_seed, vary};
use s2n_quic::provider::congestion_controller::{
    CongestionController, Endpoint, PathInfo, Publisher, RandomGenerator, RttEstimator, Timestamp as Moment,
};
use s2n_quic::provider::event::events::SocketAddress;
use std::sync::Arc;

/// PCC for s2n-quic connections: give it to `with_congestion_controller` of a server's or a client's builder.
#[derive(Clone, Debug)]
pub struct PccConfig {
    /// Utility, limits and observer of every connection.
    ///
    /// The packet size is s2n-quic's, whatever is set here. Each path varies the seed, since senders that share a path must not
    /// try rates in step. [`PccConfig::default`] draws the seed at random.
    pub core: pcc::Config,
    /// Changes utility and law of these connections while they are open.
    pub handle: Handle,
    /// Keeps what connections learn of the path to each address for later ones, if there is a store. s2n-quic names the address of
    /// each path, so one configuration serves all peers.
    pub paths: Option<Arc<dyn PathStore>>,
}

impl Default for PccConfig {
    fn default() -> Self {
        pcc::Config { seed: random_seed(), ..pcc::Config::default() }.into()
    }
}

impl From<pcc::Config> for PccConfig {
    fn from(core: pcc::Config) -> Self {
        Self { core, handle: Handle::default(), paths: None }
    }
}

impl Endpoint for PccConfig {
    type CongestionController = PccController;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> PccController {
        let peer = self.paths.clone().zip(ip(&path.remote_address)).map(|(store, address)| Peer { address, store });
        PccController::new(self.clone(), peer, path.max_datagram_size)
    }
}

/// `None` for a kind of address that later versions of s2n-quic may have.
fn ip(address: &SocketAddress<'_>) -> Option<IpAddr> {
    match *address {
        SocketAddress::IpV4 { ip, .. } => Some((*ip).into()),
        SocketAddress::IpV6 { ip, .. } => Some((*ip).into()),
        _ => None,
    }
}

/// How far ahead s2n-quic takes a time for now.
const RESOLUTION: Duration = Duration::from_millis(1);

/// One path's sender.
#[derive(Debug)]
pub struct PccController {
    config: PccConfig,
    /// The path's other end, and where the path is kept.
    peer: Option<Peer>,
    /// When the store was told of the path.
    kept: Timestamp,
    /// Up to which change of the handle it is.
    generation: u64,
    pcc: Pcc,
    numbers: InFlight,
    pacing: Pacing,
    /// PCC's time is counted from here: the first packet.
    born: Option<Moment>,
    mtu: u16,
    /// What s2n-quic counts as in flight, with probes of a larger MTU, of which PCC never hears.
    bytes_in_flight: u32,
    /// Reported lost, before the acknowledgement that told it.
    lost: Vec<u64>,
    /// When PCC was told of persistent congestion: s2n-quic repeats it for each packet of a batch.
    persistent: Option<Timestamp>,
    /// The application had nothing more to send.
    is_idle: bool,
    /// Data had to wait for room since a packet left. s2n-quic asks through `&self`.
    was_full: AtomicBool,
}

/// A packet that PCC knows, or one that it never heard of.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo(Option<u64>);

impl PccController {
    fn new(config: PccConfig, peer: Option<Peer>, mtu: u16) -> Self {
        let seed = vary(config.core.seed);
        let mut core = pcc::Config { seed, max_datagram_size: Bytes::new(mtu.into()), ..config.core.clone() };
        core.memory = peer.as_ref().and_then(Peer::recall).or(core.memory);
        Self {
            config,
            peer,
            kept: Timestamp::ZERO,
            generation: 0,
            pcc: Pcc::new(core, Timestamp::ZERO),
            numbers: InFlight::default(),
            pacing: Pacing::default(),
            born: None,
            mtu,
            bytes_in_flight: 0,
            lost: Vec::new(),
            persistent: None,
            is_idle: true,
            was_full: AtomicBool::new(false),
        }
    }

    /// The moment in PCC's time.
    fn at(&mut self, now: Moment) -> Timestamp {
        let born = *self.born.get_or_insert(now);
        Timestamp::ZERO + now.saturating_duration_since(born)
    }

    /// Losses follow the acknowledgement that told them, or, where a timer did, whatever happens next.
    fn tell_losses(&mut self, at: Timestamp) {
        for number in self.lost.drain(..) {
            self.pcc.on_loss(at, number);
        }
    }

    /// Tells the store what is known of the path.
    fn keep_path(&self) {
        if let Some((peer, learnt)) = self.peer.as_ref().zip(self.pcc.learnt()) {
            peer.keep(learnt);
        }
    }

    fn is_full(&self) -> bool {
        self.bytes_in_flight.saturating_add(self.mtu.into()) > self.congestion_window()
    }
}

/// For a path that takes over. What is in flight is accounted for with the old one: it starts afresh.
impl Clone for PccController {
    fn clone(&self) -> Self {
        Self::new(self.config.clone(), self.peer.clone(), self.mtu)
    }
}

impl Drop for PccController {
    fn drop(&mut self) {
        self.keep_path();
    }
}

impl CongestionController for PccController {
    type PacketInfo = PacketInfo;

    fn congestion_window(&self) -> u32 {
        let probe = 2 * u64::from(self.mtu);
        u32::try_from(self.pcc.congestion_window().get().saturating_add(probe)).unwrap_or(u32::MAX)
    }

    fn bytes_in_flight(&self) -> u32 {
        self.bytes_in_flight
    }

    fn is_congestion_limited(&self) -> bool {
        let full = self.is_full();
        if full {
            self.was_full.store(true, Ordering::Relaxed);
        }
        full
    }

    fn requires_fast_retransmission(&self) -> bool {
        false
    }

    fn on_packet_sent<Pub: Publisher>(
        &mut self,
        time_sent: Moment,
        sent_bytes: usize,
        app_limited: Option<bool>,
        _: &RttEstimator,
        _: &mut Pub,
    ) -> PacketInfo {
        // Acknowledgements alone, which nobody acknowledges.
        if sent_bytes == 0 {
            return PacketInfo(None);
        }
        let at = self.at(time_sent);
        self.tell_losses(at);
        self.bytes_in_flight = self.bytes_in_flight.saturating_add(sent_bytes as u32);
        // Larger than the MTU is a probe, of which s2n-quic does not say that it was lost.
        if sent_bytes > self.mtu.into() {
            return PacketInfo(None);
        }
        let had_to_wait = !core::mem::take(&mut self.is_idle) && !core::mem::take(self.was_full.get_mut());
        let bytes = Bytes::new(sent_bytes as u64);
        if let Some(since) = self.pacing.on_sent(at, bytes, self.pcc.rate(), had_to_wait) {
            self.pcc.on_limited(since, LimitedBy::Host);
        }
        let number = self.numbers.on_sent(sent_bytes);
        self.pcc.on_packet_sent(at, number, bytes);
        if app_limited == Some(true) {
            self.is_idle = true;
            // PCC takes off the time for which pacing keeps a sender silent.
            self.pcc.on_limited(at, LimitedBy::Application);
        }
        PacketInfo(Some(number))
    }

    /// PCC takes its own samples, from the newest packet of each acknowledgement.
    fn on_rtt_update<Pub: Publisher>(&mut self, _: Moment, _: Moment, _: &RttEstimator, _: &mut Pub) {}

    fn on_ack<Pub: Publisher>(
        &mut self,
        _: Moment,
        bytes_acknowledged: usize,
        newest_acked_packet_info: PacketInfo,
        _: &RttEstimator,
        _: &mut dyn RandomGenerator,
        ack_receive_time: Moment,
        _: &mut Pub,
    ) {
        let at = self.at(ack_receive_time);
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(bytes_acknowledged as u32);
        if let PacketInfo(Some(newest)) = newest_acked_packet_info {
            let pcc = &mut self.pcc;
            self.numbers.on_acked(newest, bytes_acknowledged, |number| pcc.on_ack(at, number));
        }
        self.pcc.on_end_acks(at);
        self.tell_losses(at);
        if let Some(wanted) = self.config.handle.news(&mut self.generation) {
            self.pcc.steer(at, wanted.utility, wanted.law);
        }
        if self.peer.is_some() && at.since(self.kept) >= KEEPING {
            self.kept = at;
            self.keep_path();
        }
    }

    fn on_packet_lost<Pub: Publisher>(
        &mut self,
        lost_bytes: u32,
        packet_info: PacketInfo,
        persistent_congestion: bool,
        _: bool,
        _: &mut dyn RandomGenerator,
        timestamp: Moment,
        _: &mut Pub,
    ) {
        let at = self.at(timestamp);
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(lost_bytes);
        if let PacketInfo(Some(number)) = packet_info {
            self.numbers.on_answered(number);
            self.lost.push(number);
        }
        if persistent_congestion && self.persistent != Some(at) {
            self.persistent = Some(at);
            self.tell_losses(at);
            self.pcc.on_persistent_congestion(at);
        }
    }

    fn on_explicit_congestion<Pub: Publisher>(&mut self, ce_count: u64, _: Moment, _: &mut Pub) {
        self.pcc.on_congestion_experienced(u32::try_from(ce_count).unwrap_or(u32::MAX));
    }

    fn on_mtu_update<Pub: Publisher>(&mut self, max_data_size: u16, _: &mut Pub) {
        self.mtu = max_data_size;
        self.pcc.set_max_datagram_size(Bytes::new(max_data_size.into()));
    }

    /// Keys were discarded, or a probe was lost. PCC gives up packets that later ones overtook long ago by itself.
    fn on_packet_discarded<Pub: Publisher>(&mut self, bytes_sent: usize, _: &mut Pub) {
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(bytes_sent as u32);
    }

    fn earliest_departure_time(&self) -> Option<Moment> {
        self.born?.checked_add(self.pacing.due().since(Timestamp::ZERO))
    }

    /// s2n-quic lets leave what is due within a millisecond, so that much may as well leave in one system call.
    fn send_quantum(&self) -> Option<usize> {
        let due = (self.pcc.rate() * RESOLUTION).max(self.pcc.send_quantum());
        usize::try_from(due.get().max(self.mtu.into())).ok()
    }
}
