//! The facade a transport holds: packet events in, rate and window out.

mod acks;
mod clock;
mod delivery;
mod held;
mod judging;
mod silence;
mod window;

use crate::control::{Driver, Law, Path, RateControl};
use crate::interval::IntervalPlan;
use crate::interval::{LimitedBy, Previous, TRAIN};
use crate::monitor::{self, Monitor, floor_rate};
use crate::observe::{Event, Observer};
use crate::path_memory::PathMemory;
use crate::rng::Rng;
use crate::rtt::RttEstimator;
use crate::trains::Trains;
use crate::units::{Bytes, Rate, Timestamp};
use crate::utility::{Fair, Utility};
use acks::Acks;
use clock::Clock;
use core::time::Duration;
use delivery::{Delivered, DeliveryRate};
use held::HeldQueue;
use silence::Stall;
use std::sync::Arc;
use window::{STARTING_LEAD, Start, initial_window};

/// No path is faster: keeps every product of rates and times finite.
const FASTEST_MBIT: f64 = 1e6;
crate::shared::shared_with_c!("PCC_" [judging, silence, window]
    FASTEST = Rate::from_mbit(FASTEST_MBIT).bytes_per_sec()
);

/// Everything a sender can be told in advance.
///
/// Versions may add fields: end the list of yours with `..Config::default()`.
#[derive(Clone, Debug)]
pub struct Config {
    /// The utility function that ranks intervals.
    pub utility: Arc<dyn Utility>,
    /// The control law that acts on it, if not the one that suits it.
    pub law: Option<Law>,
    /// Lengths of monitor intervals.
    pub monitor: monitor::Config,
    /// Seed of the trial order and the interval lengths; equal seeds and equal events give equal decisions.
    pub seed: u64,
    /// Size of a full packet (the UDP payload for QUIC), until the transport says otherwise.
    pub max_datagram_size: Bytes,
    /// The rate never exceeds this.
    pub max_rate: Option<Rate>,
    /// An earlier connection's knowledge of this path ([`Pcc::learnt`]). Start-up begins at half of its rate if the
    /// first RTT sample agrees with its RTT.
    pub memory: Option<PathMemory>,
    /// The observer of intervals and decisions.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            utility: Arc::new(Fair::default()),
            law: None,
            monitor: monitor::Config::default(),
            seed: 1,
            max_datagram_size: Bytes::new(1200),
            max_rate: None,
            memory: None,
            observer: None,
        }
    }
}

impl Config {
    /// The law that steers.
    fn law(&self) -> Law {
        self.law.clone().unwrap_or_else(|| Law::suited_to(&*self.utility))
    }
}

/// A PCC sender.
///
/// Report every acknowledgement, every loss, and every packet whose delivery will be acknowledged. A packet has a
/// number that is never used again; a retransmission is a new packet. Send at [`Pcc::rate`] while
/// [`Pcc::bytes_in_flight`] is below [`Pcc::congestion_window`]. Time is an argument; nothing here reads a clock.
#[derive(Debug)]
pub struct Pcc {
    config: Config,
    packet: Bytes,
    monitor: Monitor,
    rtt: RttEstimator,
    law: Driver,
    /// The plan of the open interval, or of the next one.
    plan: IntervalPlan,
    /// What leaves back to back at its rate: transports ask for every packet.
    quantum: Bytes,
    /// Draws what the law decides by chance.
    chance: Rng,
    /// Draws the lengths of intervals.
    rng: Rng,
    limited: Option<(Timestamp, LimitedBy)>,
    limited_by: LimitedBy,
    last_sent: Option<Timestamp>,
    /// When it was last seen what the path carried, by as many packets on end as an interval has: a ping now and then tells
    /// nothing of it.
    filled: Option<Timestamp>,
    /// Packets of intervals that followed each other since then.
    on_end: u32,
    delivery: DeliveryRate,
    delivered: Delivered,
    acks: Acks,
    held: HeldQueue,
    /// The latest interval whose fate is known.
    previous: Option<Previous>,
    stall: Stall,
    start: Start,
    trains: Trains,
    /// Nothing is due before this; spares the arithmetic of deadlines at each packet.
    due: Timestamp,
    /// [`Pcc::congestion_window`], made anew when RTT or rate change.
    window: Bytes,
    clock: Clock,
}

impl Pcc {
    /// A sender that knows nothing of its path yet.
    pub fn new(config: Config, now: Timestamp) -> Self {
        let packet = datagram(config.max_datagram_size);
        let assumed = crate::rtt::ASSUMED_RTT;
        let initial = limit(Rate::from_volume(initial_window(packet), assumed), config.max_rate);
        Self {
            packet,
            monitor: Monitor::new(config.monitor),
            rtt: RttEstimator::default(),
            law: Driver::new(config.law(), initial),
            plan: IntervalPlan::filler(initial),
            quantum: initial * TRAIN,
            chance: Rng::new(config.seed),
            rng: Rng::new(config.seed ^ 0x6d6f_6e69_746f_7200),
            limited: None,
            limited_by: LimitedBy::Network,
            last_sent: None,
            filled: None,
            on_end: 0,
            delivery: DeliveryRate::default(),
            delivered: Delivered::default(),
            acks: Acks::new(),
            held: HeldQueue::default(),
            previous: None,
            stall: Stall { progress: now, halvings: 0, before: initial, noticed: now, starting: true, ended: None },
            start: Start { settled: Bytes::ZERO, volume: initial_window(packet) },
            trains: Trains::none(),
            due: now,
            window: Bytes::ZERO,
            clock: Clock::new(now),
            config,
        }
        .ready()
    }

    fn ready(mut self) -> Self {
        self.monitor.leave_out_bursts(self.config.law().burst_ratio());
        self.window = self.safe_window();
        self
    }

    /// A packet that will be acknowledged or declared lost leaves now. Numbers must increase; gaps are fine.
    pub fn on_packet_sent(&mut self, now: Timestamp, packet: u64, bytes: Bytes) {
        let now = self.clock.read(now);
        self.end_idle(now);
        self.tick(now);
        let limited = self.limited.take();
        if let Some((since, by)) = limited {
            // Part of the pause belongs to pacing: a packet was not due yet.
            self.monitor.on_limited(now.since(since).saturating_sub(self.gap()), by);
        }
        if self.monitor.open_interval().is_none() {
            if limited.is_none_or(|(_, by)| by == LimitedBy::Host) {
                self.monitor.last_until(now);
            }
            let rtt = self.rtt.smoothed_or_assumed();
            self.monitor.open(now, self.plan, self.packet, rtt, &mut self.rng);
            self.due = now;
        }
        if self.monitor.bytes_in_flight() == Bytes::ZERO {
            // A silence lasts until the path answers, also where the transport takes all that it sent for lost meanwhile.
            if self.stall.halvings == 0 {
                self.stall.progress = now;
            }
            self.due = now;
        }
        let window_limited = self.monitor.bytes_in_flight() + self.packet + self.packet > self.window;
        self.monitor.on_packet_sent(now, packet, bytes, window_limited);
        self.trains.on_packet_sent(now, packet, bytes);
        self.last_sent = Some(now);
    }

    /// A packet was acknowledged. [`Pcc::on_end_acks`] follows after the last one of an acknowledgement.
    pub fn on_ack(&mut self, now: Timestamp, packet: u64) {
        let now = self.clock.read(now);
        if let Some(acked) = self.monitor.on_ack(now, packet) {
            self.trains.on_ack(packet, acked.bytes);
            if !self.law.is_starting() {
                self.delivered.on_ack(now, acked.bytes, self.rtt.smoothed_or_assumed(), self.rtt.waited());
            }
            self.end_stall(now, acked.sent_at);
        }
    }

    /// All packets of one acknowledgement were reported: samples are taken and decisions made.
    pub fn on_end_acks(&mut self, now: Timestamp) {
        let now = self.clock.read(now);
        self.end_acks(now);
    }

    fn end_acks(&mut self, now: Timestamp) {
        if let Some(sample) = self.monitor.on_end_acks(now) {
            let (first, rtt) = (self.rtt.smoothed().is_none(), sample.rtt);
            // The handshake's sample contains what both hosts computed. On a short path that is most of it, and the
            // rounds that follow would be as long.
            let shorter = self.law.is_starting()
                && self.rtt.min().is_some_and(|min| self.initial_rate(rtt) > self.initial_rate(min) * 2.0);
            if shorter {
                self.rtt = RttEstimator::default();
            }
            self.rtt.update(now, sample);
            self.acks.on_ack(sample.waited);
            if first || shorter {
                let start = limit(self.initial_rate(rtt), self.config.max_rate);
                self.start(if first { start } else { start.max(self.law.rate()) });
                self.resume(rtt);
                self.replan(now, if first { "first RTT sample" } else { "shorter RTT" });
            }
            self.window = self.safe_window();
        }
        self.trains.on_end_acks(now, self.rtt.min().unwrap_or_default(), self.rtt.spread());
        self.tick(now);
        self.take_reports(now);
    }

    /// The acknowledgement left the peer at this time by the peer's clock, whose zero may be any moment. Without it a queue on
    /// the way back is taken for one of the data's. Call it between [`Pcc::on_ack`] and [`Pcc::on_end_acks`].
    ///
    /// A peer that lies is sent as much as one that acknowledges what it has not received yet.
    pub fn on_ack_left(&mut self, now: Timestamp, left: Timestamp) {
        let now = self.clock.read(now);
        // A sender that doubles goes by the whole RTT: it must not outrun what it hears.
        if !self.law.is_starting() {
            self.monitor.on_ack_left(now, left);
            self.acks.on_left();
        }
    }

    /// A number of packets of the reported acknowledgement arrived marked: a queue on the path is long (RFC 3168). Call
    /// it between [`Pcc::on_ack`] and [`Pcc::on_end_acks`].
    pub fn on_congestion_experienced(&mut self, packets: u32) {
        self.monitor.on_marked(packets);
    }

    /// A packet was declared lost. Call it after the packets that an acknowledgement covers, before
    /// [`Pcc::on_end_acks`] or after it.
    pub fn on_loss(&mut self, now: Timestamp, packet: u64) {
        let now = self.clock.read(now);
        // An acknowledgement tells its RTT and its marks before the losses that follow from it.
        if self.monitor.reads_an_acknowledgement() {
            self.end_acks(now);
        }
        self.monitor.on_loss(now, packet);
        self.trains.on_loss(packet);
        self.take_reports(now);
    }

    /// The fate of all packets numbered below `packet` will never be reported: keys or path were discarded.
    pub fn on_discarded(&mut self, now: Timestamp, packet: u64) {
        let now = self.clock.read(now);
        self.monitor.discard_below(packet);
        self.trains.discard_below(packet);
        self.take_reports(now);
    }

    /// Everything sent over several probe time-outs was lost (RFC 9002 §7.6).
    pub fn on_persistent_congestion(&mut self, now: Timestamp) {
        let now = self.clock.read(now);
        // A transport learns of it by the acknowledgement that ends the silence; the silence was answered already.
        let answered = self.stall.ended.is_some_and(|ended| now.since(ended) <= self.rtt.smoothed_or_assumed());
        if answered {
            return;
        }
        self.back_off(now, self.law.rate() * 0.5, "persistent congestion");
    }

    /// The transport may send but does not, for this reason; the next packet sent ends it.
    pub fn on_limited(&mut self, now: Timestamp, by: LimitedBy) {
        let now = self.clock.read(now);
        self.limited.get_or_insert((now, by));
    }

    /// From now on it strives for something else, by this law or the one that suits the utility.
    ///
    /// The rate stays what it is, and is probed from there; what was compared before is forgotten. Where the law and its
    /// parameters stay the same, what it knows of the path stays too. A sender that still looks for the path's rate goes on
    /// doing so.
    pub fn steer(&mut self, now: Timestamp, utility: Arc<dyn Utility>, law: Option<Law>) {
        let now = self.clock.read(now);
        let before = self.config.law();
        (self.config.utility, self.config.law) = (utility, law);
        let law = self.config.law();
        if law == before {
            self.law.restart();
        } else {
            let (rate, starting) = (self.law.rate(), self.law.is_starting());
            self.trains = Trains::none();
            self.monitor.leave_out_bursts(law.burst_ratio());
            self.law = Driver::new(law, rate);
            if !starting {
                // Not Starting, which would double a rate that was found already.
                self.law.back_off(rate);
            } else if self.rtt.smoothed().is_some() {
                self.law.start(rate);
            }
        }
        self.replan(now, "new objective");
    }

    /// The size of a full packet changed.
    pub fn set_max_datagram_size(&mut self, size: Bytes) {
        self.packet = datagram(size);
        self.window = self.safe_window();
    }

    /// Does what is due by now: closes intervals, gives up on packets, notices a stall. Every event does it too.
    pub fn on_timer(&mut self, now: Timestamp) {
        let now = self.clock.read(now);
        self.due = now;
        self.tick(now);
    }

    /// [`Pcc::on_timer`] at each event: cheap while nothing is due.
    fn tick(&mut self, now: Timestamp) {
        self.detect_stall(now);
        if now >= self.due {
            // A resolved interval makes room, and the open one may have waited for that.
            self.take_reports(now);
            if self.monitor.close_if_due(now, &self.rtt, self.limited.map(|(_, by)| by)) {
                let state = self.law.state();
                self.plan_next();
                if self.law.state() != state {
                    self.tell_decision(now, "interval over");
                }
            }
            self.due = self.next_due().unwrap_or(now);
            self.take_reports(now);
        }
    }

    /// When [`Pcc::on_timer`] should be called at the latest. A transport with no timer to spare may leave it to the
    /// next event.
    pub fn next_timer(&self) -> Option<Timestamp> {
        self.next_due().map(|due| self.clock.told_at(due))
    }

    fn next_due(&self) -> Option<Timestamp> {
        let stall = (self.monitor.bytes_in_flight() > Bytes::ZERO).then(|| self.stall.next(&self.rtt));
        [stall, self.monitor.next_deadline(&self.rtt)].into_iter().flatten().min()
    }

    /// The rate at which packets should leave now: above zero and finite.
    pub const fn rate(&self) -> Rate {
        self.plan.rate
    }

    /// Looks for the path's rate by doubling, from this one on.
    fn start(&mut self, rate: Rate) {
        self.open_start_window(rate * (self.rtt.smoothed_or_assumed() / 2));
        let rtt = self.rtt.smoothed().filter(|_| self.config.law().measures_by_trains());
        self.trains = rtt.map_or(Trains::none(), |rtt| Trains::new(rtt, self.monitor.bytes_in_flight()));
        self.law.start(rate);
    }

    /// Begins where an earlier connection over this path was, if this sample of the RTT agrees.
    fn resume(&mut self, sample: Duration) {
        let Some(memory) = self.config.memory.filter(|memory| memory.agrees_with(sample)) else { return };
        let rate = limit(memory.first_rate(), self.config.max_rate);
        if rate > self.law.rate() {
            // Half of the saved window at most is under way before the path answers (RFC 9959 §3.3), also where this sample
            // is longer than the base RTT.
            let most = memory.unproven().get() as f64 / STARTING_LEAD;
            let volume = rate * (self.rtt.smoothed_or_assumed() / 2);
            self.open_start_window(volume.min(Bytes::new(most as u64)));
            self.law.resume(rate);
        }
    }

    /// Bytes that may leave back to back: 100 µs of the rate, up to 1 ms if the path's queue is known to hold eight such trains,
    /// at least one packet, and a train of [`Pcc::train_packets`].
    pub fn send_quantum(&self) -> Bytes {
        self.quantum.max(self.train())
    }

    /// Packets that should leave back to back, even if pacing could send one by one. A sender in start-up measures the
    /// bottleneck by their distance on arrival. Otherwise 1.
    pub fn train_packets(&self) -> u32 {
        self.trains.packets()
    }

    /// A packet, or a train that measures.
    fn train(&self) -> Bytes {
        Bytes::new(self.packet.get() * u64::from(self.train_packets()))
    }

    /// The time for which pacing keeps a sender silent: that of what left last.
    fn gap(&self) -> Duration {
        self.plan.rate.time_for(self.train().max(self.monitor.latest_train()))
    }

    /// Packets that an acknowledgement should tell of, where the transport can ask for that (QUIC's acknowledgement frequency
    /// extension). 2 in start-up; later an interval has 8 to 32 acknowledgements. It has few where they queue on their way back, or do
    /// not say when they leave ([`Pcc::on_ack_left`]).
    pub const fn packets_per_ack(&self) -> u32 {
        self.acks.packets()
    }

    /// Bytes sent and not yet acknowledged, lost or discarded.
    pub const fn bytes_in_flight(&self) -> Bytes {
        self.monitor.bytes_in_flight()
    }

    /// RTT statistics.
    pub const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The name of the control law's state, as the paper calls it.
    pub fn state(&self) -> &'static str {
        self.law.state()
    }

    /// Knowledge of the path for the next connection over it; `None` before start-up has been over for an RTT, and while the
    /// sender never had enough to send.
    pub fn learnt(&self) -> Option<PathMemory> {
        let base_rtt = self.law.known().base_rtt.or(self.rtt.min())?;
        let rate = self.delivered.rate(self.rtt.smoothed_or_assumed()).filter(|_| !self.law.is_starting())?;
        Some(PathMemory { rate, base_rtt })
    }

    /// The limit of the latest resolved interval.
    pub const fn limited_by(&self) -> LimitedBy {
        self.limited_by
    }

    fn path(&self) -> Path {
        let rtt = self.rtt.smoothed_or_assumed();
        let ceiling = limit(Rate::from_mbit(FASTEST_MBIT), self.config.max_rate);
        let floor = floor_rate(self.packet, rtt.max(Duration::from_micros(1))).min(ceiling);
        let initial = self.initial_rate(rtt).min(ceiling);
        Path {
            rtt,
            queue: self.rtt.queue(),
            packet: self.packet,
            monitor: self.config.monitor,
            floor,
            initial,
            ceiling,
            delivery: self.delivery.best(),
            capacity: self.trains.told(),
            trains: self.trains.latest(),
        }
    }

    /// Drops the running intervals and goes on with the law's new plan at once.
    fn replan(&mut self, now: Timestamp, reason: &'static str) {
        self.monitor.realign();
        self.plan_next();
        self.tell_decision(now, reason);
    }

    fn plan_next(&mut self) {
        let path = self.path();
        // Before the first RTT sample and while the path is silent no trial can be judged.
        let measurable = self.rtt.smoothed().is_some() && self.stall.halvings == 0;
        let plan =
            if measurable { self.law.next(&path, &mut self.chance) } else { IntervalPlan::filler(self.law.rate()) };
        self.plan = IntervalPlan { rate: path.clamp(plan.rate), ..plan };
        self.quantum = self.plan.rate * self.held.train(self.rtt.smoothed_or_assumed());
        if !self.law.is_starting() {
            self.trains = Trains::none();
        }
        self.ask_for_acks();
        self.window = self.safe_window();
    }

    fn ask_for_acks(&mut self) {
        let Some(base) = self.rtt.min().filter(|_| !self.law.is_starting()) else { return };
        let rtts = self.rtt.smoothed_or_assumed().as_secs_f64() * self.plan.rtts.0 / base.as_secs_f64();
        let packets = (self.plan.rate * base).get() as f64 / self.packet.get() as f64;
        let train = self.quantum.get() / self.packet.get();
        self.acks.begin_interval(rtts, packets, train, base);
    }

    fn back_off(&mut self, now: Timestamp, rate: Rate, reason: &'static str) {
        self.law.back_off(self.path().clamp(rate));
        self.replan(now, reason);
    }

    fn tell_decision(&self, now: Timestamp, reason: &'static str) {
        self.tell(&Event::Decision { at: now, state: self.law.state(), rate: self.law.rate(), reason });
    }

    fn tell(&self, event: &Event<'_>) {
        if let Some(observer) = &self.config.observer {
            observer.on_event(event);
        }
    }
}

/// `size` as far as a datagram can be so large: UDP's length field has 16 bits.
fn datagram(size: Bytes) -> Bytes {
    size.max(Bytes::new(1)).min(Bytes::new(u16::MAX.into()))
}

/// `rate` within what the user allows, and never zero.
fn limit(rate: Rate, max: Option<Rate>) -> Rate {
    rate.min(max.unwrap_or(Rate::from_mbit(FASTEST_MBIT))).max(Rate::from_bytes_per_sec(1.0))
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "an observer is shared")]
mod tests;
