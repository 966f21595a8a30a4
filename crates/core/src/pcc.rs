//! The facade a transport holds: packet events in, rate and window out.

use crate::control::{Law, Path, RateControl, Slot, Verdict};
use crate::interval::{LimitedBy, Previous, Report, TRAIN};
use crate::monitor::{self, Monitor, floor_rate, stall_period};
use crate::observe::{Event, Observer};
use crate::rng::Rng;
use crate::rtt::RttEstimator;
use crate::units::{Bytes, Rate, Timestamp};
use crate::utility::{Fair, Utility};
use core::time::Duration;
use std::sync::Arc;

/// Packets sent at once on a new path (RFC 9002 §7.2). PCC spreads them over half an RTT, as Linux does in slow start
/// (`tcp_pacing_ss_ratio`); over a whole one a short transfer would take a round trip longer than with TCP.
const INITIAL_WINDOW: u64 = 10;
/// How far the bytes in flight may run ahead of what the path has answered for while Starting. Doubling each RTT needs
/// exactly 1; the rest lets it go on through reordering, jitter and delayed acknowledgements.
const STARTING_LEAD: f64 = 1.5;
/// So many packets must be lost for a panic: fewer may be a neighbour's burst.
const PANIC_PACKETS: u32 = 20;
/// An idle time after which the old rate says nothing about the path any more.
const LONG_IDLE: Duration = Duration::from_secs(10);
/// For so long a busy host may stop a sender or its peer, and what is delivered meanwhile says nothing of the path: two
/// or three turns of Linux' scheduler.
const HOST_PAUSE: Duration = Duration::from_millis(10);
/// No path is faster: keeps every product of rates and times finite.
const FASTEST_MBIT: f64 = 1e6;

/// Everything a sender can be told in advance.
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
    /// Who is told of intervals and decisions.
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
            observer: None,
        }
    }
}

/// A PCC sender.
///
/// Report every packet whose delivery will be acknowledged, under a number that is never used again (a
/// retransmission is a new packet), every acknowledgement and every loss; send at [`Pcc::rate`] while
/// [`Pcc::bytes_in_flight`] is below [`Pcc::congestion_window`]. Time is an argument; nothing here reads a clock.
#[derive(Debug)]
pub struct Pcc {
    config: Config,
    packet: Bytes,
    monitor: Monitor,
    rtt: RttEstimator,
    law: Box<dyn RateControl>,
    /// What the open interval, or the next one, is for.
    slot: Slot,
    rng: Rng,
    limited: Option<(Timestamp, LimitedBy)>,
    limited_by: LimitedBy,
    last_sent: Option<Timestamp>,
    delivery: DeliveryRate,
    /// The latest interval whose fate is known.
    previous: Option<Previous>,
    stall: Stall,
    start: Start,
    /// Nothing is due before this; spares the arithmetic of deadlines at each packet.
    due: Timestamp,
    /// [`Pcc::congestion_window`], made anew when RTT or rate change.
    window: Bytes,
}

impl Pcc {
    /// A sender that knows nothing of its path yet.
    pub fn new(config: Config, now: Timestamp) -> Self {
        let packet = datagram(config.max_datagram_size);
        let assumed = crate::rtt::ASSUMED_RTT;
        let initial = limit(Rate::from_volume(initial_window(packet), assumed), config.max_rate);
        let law = config.law.clone().unwrap_or_else(|| Law::suited_to(&*config.utility)).build(initial, config.seed);
        Self {
            packet,
            monitor: Monitor::new(config.monitor),
            rtt: RttEstimator::default(),
            law,
            slot: Slot::filler(initial),
            rng: Rng::new(config.seed ^ 0x6d6f_6e69_746f_7200),
            limited: None,
            limited_by: LimitedBy::Network,
            last_sent: None,
            delivery: DeliveryRate::default(),
            previous: None,
            stall: Stall { progress: now, halvings: 0, before: initial, noticed: now, ended: None },
            start: Start { settled: Bytes::ZERO, volume: initial_window(packet) },
            due: now,
            window: Bytes::ZERO,
            config,
        }
        .with_window()
    }

    fn with_window(mut self) -> Self {
        self.window = self.safe_window();
        self
    }

    /// A packet that will be acknowledged or declared lost leaves now. Numbers must increase; gaps are fine.
    pub fn on_packet_sent(&mut self, now: Timestamp, packet: u64, bytes: Bytes) {
        self.end_idle(now);
        self.tick(now);
        if let Some((since, by)) = self.limited.take() {
            // Part of the pause belongs to pacing: a packet was not due yet.
            self.monitor.on_limited(now.since(since).saturating_sub(self.slot.rate.time_for(self.packet)), by);
        }
        if self.monitor.open_interval().is_none() {
            let rtt = self.rtt.smoothed_or_assumed();
            self.monitor.open(now, self.slot, self.packet, rtt, &mut self.rng);
            self.due = now;
        }
        if self.monitor.bytes_in_flight() == Bytes::ZERO {
            self.stall.progress = now;
            self.due = now;
        }
        let window_limited = self.monitor.bytes_in_flight() + self.packet + self.packet > self.window;
        self.monitor.on_packet_sent(now, packet, bytes, window_limited);
        self.last_sent = Some(now);
    }

    /// That packet was acknowledged. [`Pcc::on_end_acks`] follows after the last one of an acknowledgement.
    pub fn on_ack(&mut self, now: Timestamp, packet: u64) {
        if let Some(acked) = self.monitor.on_ack(now, packet) {
            self.end_stall(now, acked.sent_at);
        }
    }

    /// All packets of one acknowledgement were reported: samples are taken and decisions made.
    pub fn on_end_acks(&mut self, now: Timestamp) {
        if let Some(sample) = self.monitor.on_end_acks(now) {
            let first = self.rtt.smoothed().is_none();
            // The handshake's sample contains what both hosts computed. On a short path that is most of it, and the
            // rounds that follow would be as long.
            let shorter = self.law.is_starting()
                && self.rtt.min().is_some_and(|min| self.initial_rate(sample) > self.initial_rate(min) * 2.0);
            if shorter {
                self.rtt = RttEstimator::default();
            }
            self.rtt.update(now, sample);
            if first || shorter {
                let start = limit(self.initial_rate(sample), self.config.max_rate);
                self.start(if first { start } else { start.max(self.law.rate()) });
                self.replan(now, if first { "first RTT sample" } else { "shorter RTT" });
            }
            self.window = self.safe_window();
        }
        self.tick(now);
        self.take_reports(now);
    }

    /// So many packets of the acknowledgement being reported arrived marked: a queue on the path is long (RFC 3168).
    /// Between [`Pcc::on_ack`] and [`Pcc::on_end_acks`].
    pub fn on_congestion_experienced(&mut self, packets: u32) {
        self.monitor.on_marked(packets);
    }

    /// That packet was declared lost.
    pub fn on_loss(&mut self, now: Timestamp, packet: u64) {
        self.monitor.on_loss(now, packet);
        self.take_reports(now);
    }

    /// The fate of all packets numbered below `packet` will never be reported: keys or path were discarded.
    pub fn on_discarded(&mut self, now: Timestamp, packet: u64) {
        self.monitor.discard_below(packet);
        self.take_reports(now);
    }

    /// Everything sent over several probe time-outs was lost (RFC 9002 §7.6).
    pub fn on_persistent_congestion(&mut self, now: Timestamp) {
        // A transport learns of it by the acknowledgement that ends the silence; the silence was answered already.
        let answered = self.stall.ended.is_some_and(|ended| now.since(ended) <= self.rtt.smoothed_or_assumed());
        if answered {
            return;
        }
        self.back_off(now, self.law.rate() * 0.5, "persistent congestion");
    }

    /// The transport may send but does not, for this reason; the next packet sent ends it.
    pub fn on_limited(&mut self, now: Timestamp, by: LimitedBy) {
        self.limited.get_or_insert((now, by));
    }

    /// The size of a full packet changed.
    pub fn set_max_datagram_size(&mut self, size: Bytes) {
        self.packet = datagram(size);
        self.window = self.safe_window();
    }

    /// Does what is due by now: closes intervals, gives up on packets, notices a stall. Every event does it too.
    pub fn on_timer(&mut self, now: Timestamp) {
        self.due = now;
        self.tick(now);
    }

    /// [`Pcc::on_timer`] at each event: cheap while nothing is due.
    fn tick(&mut self, now: Timestamp) {
        self.detect_stall(now);
        if now >= self.due {
            // What is resolved makes room, and the open interval may have waited for that.
            self.take_reports(now);
            if self.monitor.close_if_due(now, &self.rtt, self.limited.map(|(_, by)| by)) {
                let state = self.law.state();
                self.plan_next();
                if self.law.state() != state {
                    self.tell_decision(now, "interval over");
                }
            }
            self.due = self.next_timer().unwrap_or(now);
            self.take_reports(now);
        }
    }

    /// When [`Pcc::on_timer`] should be called at the latest. A transport with no timer to spare may leave it to the
    /// next event.
    pub fn next_timer(&self) -> Option<Timestamp> {
        let stall = (self.monitor.bytes_in_flight() > Bytes::ZERO).then(|| self.stall.next(&self.rtt));
        [stall, self.monitor.next_deadline(&self.rtt)].into_iter().flatten().min()
    }

    /// The rate at which packets should leave now: above zero and finite.
    pub const fn rate(&self) -> Rate {
        self.slot.rate
    }

    /// Upper bound of the bytes in flight. It bounds what a silent path is sent; otherwise the rate rules.
    pub fn congestion_window(&self) -> Bytes {
        if self.is_knocking() {
            self.window.max(self.bytes_in_flight() + self.packet + self.packet)
        } else {
            self.window
        }
    }

    /// A silent path is sent so much until the silence is long, in spite of what is in flight: a transport's own probes
    /// are seconds apart by then, and so would be the news of its return. Two packets each time a transport would ask
    /// for the first time (RFC 9002 §6.2.4).
    fn knocking_rate(&self) -> Rate {
        Rate::from_volume(self.packet + self.packet, self.rtt.pto())
    }

    fn is_knocking(&self) -> bool {
        self.stall.halvings > 0
            && self.slot.rate <= self.knocking_rate() * 1.01
            && self.last_sent.is_some_and(|sent| sent.since(self.stall.progress) < LONG_IDLE)
    }

    fn safe_window(&self) -> Bytes {
        // 2.5 bandwidth-delay products of the path without its queue: with the queue in it, the bound would grow with what
        // it is to bound.
        let base = self
            .law
            .base_rtt()
            .or(self.rtt.min())
            .unwrap_or(self.rtt.smoothed_or_assumed())
            .max(Duration::from_millis(1));
        let time = base * 5 / 2;
        let window = self.law.rate().max(self.slot.rate) * time + initial_window(self.packet);
        if !self.law.is_starting() {
            return window;
        }
        // Its rate comes from the RTT of a path that may be empty no more: on a slow one the first packets fill a queue
        // for seconds, and until the path answers for them there is no reason to send four times as fast.
        let settled = self.monitor.bytes_settled().saturating_sub(self.start.settled).get() as f64;
        let paced = Bytes::new(((self.start.volume.get() as f64 + settled) * STARTING_LEAD) as u64);
        window.min(paced.max(initial_window(self.packet)))
    }

    /// Looks for the path's rate by doubling, from this one on.
    fn start(&mut self, rate: Rate) {
        self.open_start_window(rate * (self.rtt.smoothed_or_assumed() / 2));
        self.law.start(rate);
    }

    /// From here on what is in flight grows from this by what the path answers for.
    fn open_start_window(&mut self, volume: Bytes) {
        let volume = volume.max(initial_window(self.packet));
        self.start = Start { settled: self.monitor.bytes_settled(), volume };
    }

    /// How much may leave back to back: about 100 µs of the rate, at least one packet.
    pub fn send_quantum(&self) -> Bytes {
        (self.rate() * TRAIN).max(self.packet)
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

    /// What limited the latest resolved interval.
    pub const fn limited_by(&self) -> LimitedBy {
        self.limited_by
    }

    /// The initial window in half an RTT; in less than a millisecond that would be a burst.
    fn initial_rate(&self, rtt: Duration) -> Rate {
        Rate::from_volume(initial_window(self.packet), (rtt / 2).max(Duration::from_millis(1)))
    }

    fn path(&self) -> Path {
        let rtt = self.rtt.smoothed_or_assumed();
        let ceiling = limit(Rate::from_mbit(FASTEST_MBIT), self.config.max_rate);
        let floor = floor_rate(self.packet, rtt.max(Duration::from_micros(1))).min(ceiling);
        let queue = rtt.saturating_sub(self.rtt.min().unwrap_or(rtt));
        let initial = self.initial_rate(rtt).min(ceiling);
        Path {
            rtt,
            queue,
            packet: self.packet,
            monitor: self.config.monitor,
            floor,
            initial,
            ceiling,
            delivery: self.delivery.best(),
        }
    }

    fn take_reports(&mut self, now: Timestamp) {
        while let Some((slot, report)) = self.monitor.pop(now) {
            match report {
                Some(report) => {
                    let report = Report { rtt_base: self.rtt.min(), previous: self.previous, ..report };
                    self.take_report(now, slot, &report);
                }
                None if slot.trial.is_some() => {
                    self.law.restart();
                    self.replan(now, "trial void");
                }
                None => {}
            }
        }
        self.judge_early(now);
    }

    fn take_report(&mut self, now: Timestamp, slot: Slot, report: &Report) {
        self.limited_by = report.limited_by;
        self.delivery.update(now, report.throughput(), self.rtt.smoothed_or_assumed());
        let utility = slot.trial.and_then(|_| defined(self.config.utility.evaluate(report)));
        self.tell(&Event::Interval { at: now, report, utility });
        self.judge(now, slot, report);
    }

    /// Starting overshoots by what it sends until a result is known, so a result is used as soon as the packets still
    /// outstanding cannot change it: if the interval is worth less than nothing even when all of those arrive, or if
    /// its own queue grows while its first packets are answered for.
    fn judge_early(&mut self, now: Timestamp) {
        let Some((slot, report)) = self.monitor.so_far().filter(|_| self.law.is_starting()) else { return };
        let report = Report { rtt_base: self.rtt.min(), previous: self.previous, ..report };
        let utility = |report: &Report| finite(self.config.utility.evaluate(report));
        if !report.app_limited && self.law.ends_early(&report, &utility, &self.path()) {
            let utility = defined(self.config.utility.evaluate(&report));
            self.tell(&Event::Interval { at: now, report: &report, utility });
            self.monitor.forget_oldest();
            self.judge(now, slot, &report);
        }
    }

    fn judge(&mut self, now: Timestamp, slot: Slot, report: &Report) {
        self.previous = Some(report.summary());
        if !(self.law.is_starting() && slot.trial.is_some()) {
            // Not for an interval that only drains the queue or fills time: Starting's own overshoot is lost in it.
            let judged = slot.trial.is_some() && report.packets_lost >= PANIC_PACKETS;
            if judged && report.loss() > self.config.utility.panic_loss() {
                // What still arrived is what there is; but one interval may be wrong, so at most three halvings at once.
                let rate = self.law.rate();
                return self.back_off(now, report.throughput().min(rate).max(rate * 0.125), "panic loss");
            }
        }
        let path = self.path();
        if slot.trial.is_some() {
            if defined(self.config.utility.evaluate(report)).is_none() {
                self.law.restart();
                return self.replan(now, "utility undefined");
            }
            let utility = |report: &Report| finite(self.config.utility.evaluate(report));
            let (rate, started) = (self.law.rate(), self.law.is_starting());
            match self.law.on_report(slot, report, &utility, &path) {
                Verdict::Realign(reason) => {
                    if self.law.is_starting() && !started {
                        self.open_start_window(self.bytes_in_flight());
                    }
                    self.replan(now, reason);
                }
                Verdict::Wait if self.law.rate() != rate => self.tell_decision(now, "rate confirmed"),
                Verdict::Wait => {}
            }
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
        let slot = if measurable { self.law.next(&path) } else { Slot::filler(self.law.rate()) };
        self.slot = Slot { rate: path.clamp(slot.rate), ..slot };
        self.window = self.safe_window();
    }

    fn back_off(&mut self, now: Timestamp, rate: Rate, reason: &'static str) {
        self.law.back_off(self.path().clamp(rate));
        self.replan(now, reason);
    }

    /// Halves the rate for each stall period without any acknowledgement. Source: `NSDI 2018`, 4-RTT time-out.
    fn detect_stall(&mut self, now: Timestamp) {
        if now < self.due || self.monitor.bytes_in_flight() == Bytes::ZERO {
            return;
        }
        while now >= self.stall.next(&self.rtt) {
            if self.stall.halvings >= 64 {
                return self.stall.look_again_after(now, &self.rtt); // long at the floor
            }
            if self.stall.halvings == 0 {
                (self.stall.before, self.stall.noticed) = (self.law.rate(), now);
            }
            self.stall.halvings += 1;
            let (rate, knocking) = (self.law.rate(), self.knocking_rate());
            if rate > knocking {
                self.back_off(now, (rate * 0.5).max(knocking), "no acknowledgement");
            }
        }
    }

    /// The path answers with a packet sent at `sent_at`.
    fn end_stall(&mut self, now: Timestamp, sent_at: Timestamp) {
        self.detect_stall(now);
        let silence = now.since(self.stall.progress);
        self.stall.progress = now;
        let halvings = core::mem::take(&mut self.stall.halvings);
        if halvings == 0 {
            return;
        }
        self.stall.ended = Some(now);
        if sent_at < self.stall.noticed {
            // What was sent before the silence was noticed arrived: the path became longer, nothing else.
            self.law.back_off(self.path().clamp(self.stall.before));
            return self.replan(now, "late answer");
        }
        // Little is known of the path now: look for its rate by doubling again, from a quarter of the old one if the
        // silence was short.
        let (rate, reason) = if silence < LONG_IDLE {
            (self.stall.before * 0.25, "path returned")
        } else {
            (Rate::ZERO, "path returned after long")
        };
        self.start(self.path().clamp(rate.max(self.law.rate())));
        self.replan(now, reason);
    }

    /// A pause of more than an RTT with nothing in flight, one that a busy host does not explain: what was being
    /// measured is void.
    fn end_idle(&mut self, now: Timestamp) {
        let Some(last) = self.last_sent else { return };
        if self.monitor.bytes_in_flight() > Bytes::ZERO {
            return;
        }
        let idle = now.since(last);
        let pause = self.rtt.smoothed_or_assumed().max(2 * self.slot.rate.time_for(self.packet)).max(HOST_PAUSE);
        if idle <= pause {
            return;
        }
        self.limited = None;
        if idle > LONG_IDLE && self.rtt.smoothed().is_some() {
            let fresh = self.initial_rate(self.rtt.smoothed_or_assumed()) * 4.0;
            self.start(self.law.rate().min(fresh));
            self.replan(now, "long idle");
        } else {
            self.monitor.realign();
            self.law.restart();
            self.plan_next();
        }
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

const fn initial_window(packet: Bytes) -> Bytes {
    Bytes::new(packet.get().saturating_mul(INITIAL_WINDOW))
}

/// `rate` within what the user allows, and never zero.
fn limit(rate: Rate, max: Option<Rate>) -> Rate {
    rate.min(max.unwrap_or(Rate::from_mbit(FASTEST_MBIT))).max(Rate::from_bytes_per_sec(1.0))
}

/// What a utility function made of an interval; `None` where it is not defined there.
fn defined(utility: f64) -> Option<f64> {
    utility.is_finite().then_some(utility)
}

/// A law compares finite numbers: where the utility is not defined for a variant that the law made, it is the worst.
fn finite(utility: f64) -> f64 {
    defined(utility).unwrap_or(f64::MIN / 4.0)
}

/// Where Starting began: the bytes whose fate was known, and how many more may be in flight at once.
#[derive(Clone, Copy, Debug)]
struct Start {
    settled: Bytes,
    volume: Bytes,
}

/// When the path last answered, how often the rate was halved since, what it was before; when the last silence was
/// noticed and when it ended.
#[derive(Clone, Copy, Debug)]
struct Stall {
    progress: Timestamp,
    halvings: u64,
    before: Rate,
    noticed: Timestamp,
    ended: Option<Timestamp>,
}

impl Stall {
    /// When the next halving is due: after 4 RTT (`NSDI 2018`), then at the pace at which a transport asks again.
    fn next(&self, rtt: &RttEstimator) -> Timestamp {
        let asking = rtt.pto().as_nanos().saturating_mul(self.halvings.into());
        self.progress + stall_period(rtt) + Duration::from_nanos(u64::try_from(asking).unwrap_or(u64::MAX))
    }

    /// Counts the halvings that would have been due by `now`.
    fn look_again_after(&mut self, now: Timestamp, rtt: &RttEstimator) {
        let asked = now.since(self.progress + stall_period(rtt)).as_nanos() / rtt.pto().as_nanos().max(1);
        self.halvings = u64::try_from(asked).unwrap_or(u64::MAX).saturating_add(1);
    }
}

/// The best delivery rate of the last five to ten RTT, or of 50 to 100 ms if those are shorter: two halves of a window, the older one dropped at each turn.
#[derive(Clone, Copy, Debug, Default)]
struct DeliveryRate {
    best: [Rate; 2],
    half_started: Timestamp,
}

impl DeliveryRate {
    fn update(&mut self, now: Timestamp, rate: Rate, rtt: Duration) {
        if now.since(self.half_started) > 5 * rtt.max(HOST_PAUSE) {
            self.best = [Rate::ZERO, self.best[0]];
            self.half_started = now;
        }
        self.best[0] = self.best[0].max(rate);
    }

    fn best(&self) -> Rate {
        self.best[0].max(self.best[1])
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "an observer is shared")]
mod tests {
    mod guards;

    use super::*;
    use std::sync::Mutex;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const PACKET: Bytes = Bytes::new(1200);
    const RTT: Duration = Duration::from_millis(30);

    #[derive(Debug, Default)]
    struct Story(Mutex<Vec<String>>);

    impl Observer for Story {
        fn on_event(&self, event: &Event<'_>) {
            if let Event::Decision { at, state, rate, reason } = event {
                self.0.lock().unwrap().push(format!("{:.3} s: {reason}, {state} at {rate}", at.as_secs_f64()));
            }
        }
    }

    /// A sender on a path of 30 ms without bounds that acknowledges each packet, unless told otherwise. Like QUIC it
    /// asks again each 100 ms when its window is full, and learns of losses by the next acknowledgement.
    struct Flow {
        pcc: Pcc,
        now: Timestamp,
        next: u64,
        awaited: std::collections::VecDeque<(Timestamp, u64)>,
        unanswered: Vec<u64>,
        due: Timestamp,
        probed: Timestamp,
        answers: bool,
        story: Arc<Story>,
    }

    impl Flow {
        fn new() -> Self {
            let story = Arc::new(Story::default());
            let now = Timestamp::from_nanos(1);
            let pcc = Pcc::new(Config { observer: Some(story.clone()), ..Config::default() }, now);
            Self {
                pcc,
                now,
                next: 0,
                awaited: std::collections::VecDeque::new(),
                unanswered: Vec::new(),
                due: now,
                probed: now,
                answers: true,
                story,
            }
        }

        /// Sends at the sender's rate, within its window, for this long.
        fn sends_for(&mut self, time: Duration) -> &mut Self {
            let end = self.now + time;
            while self.now < end {
                while let Some(&(due, packet)) = self.awaited.front()
                    && due <= self.now
                {
                    self.awaited.pop_front();
                    if self.answers {
                        self.pcc.on_ack(self.now, packet);
                        self.pcc.on_end_acks(self.now);
                        for lost in self.unanswered.drain(..) {
                            self.pcc.on_loss(self.now, lost);
                        }
                    } else {
                        self.unanswered.push(packet);
                    }
                }
                let probe = self.now.since(self.probed) > ms(100);
                let open = self.pcc.bytes_in_flight() + PACKET <= self.pcc.congestion_window();
                if probe || (open && self.due <= self.now) {
                    self.probed = self.now;
                    self.pcc.on_packet_sent(self.now, self.next, PACKET);
                    self.awaited.push_back((self.now + RTT, self.next));
                    self.next += 1;
                    self.due = self.now + self.pcc.rate().time_for(PACKET);
                } else {
                    self.pcc.on_timer(self.now);
                }
                self.now = (self.now + ms(1)).min(self.due.max(self.now + Duration::from_micros(1)));
            }
            self
        }

        fn tells(&self, wanted: &str) -> &Self {
            let story = self.story.0.lock().unwrap();
            assert!(story.iter().any(|line| line.contains(wanted)), "no `{wanted}` in:\n{}", story.join("\n"));
            self
        }
    }

    #[test]
    fn the_first_rtt_sample_sets_the_rate_to_ten_packets_in_half_a_round() {
        let mut flow = Flow::new();
        assert!((flow.pcc.rate().mbit() - 0.96).abs() < 1e-9, "ten packets in the assumed 100 ms");
        flow.sends_for(ms(31)).tells("first RTT sample, Starting at 6.40 Mbit/s");
    }

    #[test]
    fn a_handshake_that_took_long_does_not_slow_the_start_on_a_short_path() {
        let mut flow = Flow::new();
        let mut exchange = |sent: Timestamp, took: Duration| {
            let packet = flow.next;
            flow.next += 1;
            flow.pcc.on_packet_sent(sent, packet, PACKET);
            flow.pcc.on_ack(sent + took, packet);
            flow.pcc.on_end_acks(sent + took);
            flow.pcc.rate().mbit()
        };
        let first = exchange(flow.now, ms(50));
        assert!((first - 3.84).abs() < 0.01, "ten packets in 25 ms, not {first}");
        let second = exchange(flow.now + ms(60), ms(4));
        assert!((second - 48.0).abs() < 0.1, "ten packets in 2 ms, not {second}");
        assert_eq!(flow.pcc.rtt().smoothed(), Some(ms(4)));
        flow.tells("shorter RTT, Starting");
    }

    #[test]
    fn on_a_path_shorter_than_the_time_between_trains_the_rate_doubles_all_the_same() {
        let mut pcc = Pcc::new(Config::default(), Timestamp::ZERO);
        let (mut now, mut packet) = (Timestamp::ZERO, 0);
        // Each train is acknowledged before the next one leaves; at times the host stops for a few milliseconds, and
        // at times it is quicker than ever.
        for train in 0_u64..200 {
            let volume = pcc.send_quantum().get() / PACKET.get();
            for _ in 0..volume {
                pcc.on_packet_sent(now, packet, PACKET);
                packet += 1;
            }
            let acked = now + Duration::from_micros(if train % 50 == 49 { 20 } else { 60 });
            (packet - volume..packet).for_each(|packet| pcc.on_ack(acked, packet));
            pcc.on_end_acks(acked);
            let gap = pcc.rate().time_for(Bytes::new(volume * PACKET.get()));
            now = now + if train % 40 == 39 { ms(4) } else { gap };
        }
        assert!(pcc.rate().mbit() > 10_000.0, "{} after {} ms", pcc.rate(), now.as_secs_f64() * 1e3);
    }

    #[test]
    fn the_rate_doubles_once_a_round() {
        let mut flow = Flow::new();
        flow.sends_for(ms(31 + 6 * 31));
        let doublings = (flow.pcc.rate().mbit() / 6.4).log2();
        assert!((4.0..=6.0).contains(&doublings), "{doublings} doublings in 6 RTT");
    }

    #[test]
    fn a_silent_path_is_sent_two_packets_a_round_within_two_seconds_and_then_probed_anew() {
        let mut flow = Flow::new();
        flow.sends_for(ms(200));
        let before = flow.pcc.rate();
        flow.answers = false;
        flow.sends_for(ms(2000)).tells("no acknowledgement");
        let floor = flow.pcc.knocking_rate();
        assert!(before > floor * 40.0 && flow.pcc.rate() <= floor * 1.01, "{} after {before}", flow.pcc.rate());
        flow.answers = true;
        flow.sends_for(20 * RTT).tells("path returned, Starting");
        let story = flow.story.0.lock().unwrap().join("\n");
        assert!(flow.pcc.rate() > before * 0.8, "{} of {before} after 20 RTT\n{story}", flow.pcc.rate());
    }

    #[test]
    fn a_silent_path_is_never_sent_more_than_the_window() {
        let mut flow = Flow::new();
        flow.sends_for(ms(200));
        let window = flow.pcc.congestion_window();
        flow.answers = false;
        flow.sends_for(ms(500));
        let probes = Bytes::new(6 * PACKET.get());
        assert!(flow.pcc.bytes_in_flight() <= window + probes, "{} in flight of {window}", flow.pcc.bytes_in_flight());
        let bdp = flow.pcc.rtt().smoothed_or_assumed().as_secs_f64() * Rate::from_mbit(100.0).bytes_per_sec();
        assert!(window.get() as f64 > bdp, "the window must not rule");
    }

    #[test]
    fn a_short_pause_keeps_the_rate_and_a_long_one_starts_again() {
        let mut flow = Flow::new();
        flow.sends_for(ms(300));
        let rate = flow.pcc.law.rate();
        for pause in [ms(9_000), ms(11_000)] {
            for (_, packet) in std::mem::take(&mut flow.awaited) {
                flow.pcc.on_ack(flow.now + RTT, packet);
            }
            flow.pcc.on_end_acks(flow.now + RTT);
            flow.now = flow.now + RTT + pause;
            flow.sends_for(ms(1));
            if pause < LONG_IDLE {
                assert!(flow.pcc.law.rate() > rate * 0.9, "{rate} became {} in {pause:?}", flow.pcc.law.rate());
            }
        }
        flow.tells("long idle, Starting");
        assert!(flow.pcc.rate() < rate);
    }

    #[test]
    fn an_application_that_pauses_in_each_interval_does_not_make_the_rate_grow() {
        let mut flow = Flow::new();
        flow.sends_for(ms(200));
        for _ in 0..200 {
            flow.sends_for(ms(2));
            flow.pcc.on_limited(flow.now, LimitedBy::Application);
            flow.now = flow.now + ms(18);
        }
        let peak = flow.pcc.rate();
        assert_eq!(flow.pcc.limited_by(), LimitedBy::Application);
        for _ in 0..200 {
            flow.sends_for(ms(2));
            flow.pcc.on_limited(flow.now, LimitedBy::Application);
            flow.now = flow.now + ms(18);
        }
        assert!(flow.pcc.rate() <= peak * 1.06, "{peak} grew to {}", flow.pcc.rate());
    }

    #[test]
    fn where_the_utility_is_not_defined_nothing_is_decided_and_the_trace_says_so() {
        // Not defined from 20 Mbit/s on: the rate stays near it, and the law never hears of NaN.
        let utility = "let panic_loss = 1; if(x < 20Mbit, x, x/(0*x))".parse::<crate::utility::Expression>();
        let mut flow = Flow::new();
        let observer: Arc<dyn Observer> = flow.story.clone();
        flow.pcc = Pcc::new(
            Config { utility: Arc::new(utility.unwrap()), observer: Some(observer), ..Config::default() },
            flow.now,
        );
        flow.sends_for(ms(3000)).tells("utility undefined");
        let rate = flow.pcc.rate().mbit();
        assert!((5.0..60.0).contains(&rate), "{rate} Mbit/s");
        assert!(flow.pcc.previous.is_some_and(|previous| previous.rtt.is_some()));
    }

    #[test]
    fn the_user_s_limit_is_never_exceeded() {
        let max = Rate::from_mbit(5.0);
        let mut flow = Flow::new();
        flow.pcc = Pcc::new(Config { max_rate: Some(max), ..Config::default() }, flow.now);
        for _ in 0..2000 {
            flow.sends_for(ms(1));
            assert!(flow.pcc.rate() <= max);
        }
    }
}
