//! The monitor interval: a run of packets sent at one target rate and judged together, and the [`Report`] on it.

use crate::control::Slot;
use crate::slope::Slope;
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// What kept a monitor interval from achieving more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitedBy {
    /// The rate that PCC chose, and so the path: the normal case.
    Network,
    /// The application had nothing to send.
    Application,
    /// The receiver's flow-control window was full.
    ReceiverWindow,
    /// This host could not send as fast as asked: CPU, timer or socket buffer.
    Host,
}

impl LimitedBy {
    /// The word used in traces and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Application => "application",
            Self::ReceiverWindow => "receiver window",
            Self::Host => "host",
        }
    }
}

/// What one monitor interval achieved. Source: `NSDI 2015` §3.1 for the quantities, `NSDI 2018` §4 for the gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Serial number of the interval in its connection.
    pub id: u64,
    /// When its first packet was sent.
    pub started: Timestamp,
    /// Send duration D: from the first packet to the last, plus the time at the target rate of what left together with
    /// the last, so that n trains span n gaps. Where the sender then fell silent before the interval was over, up to
    /// its end.
    pub duration: Duration,
    /// The rate that was asked for (x).
    pub target: Rate,
    /// The rate at which packets really left (x̂).
    pub achieved: Rate,
    /// Packets sent in the interval.
    pub packets: u32,
    /// Packets of it declared lost.
    pub packets_lost: u32,
    /// Runs of lost packets that were sent one after the other.
    pub loss_bursts: u32,
    /// Packets of it that arrived marked: Congestion Experienced (RFC 3168).
    pub packets_marked: u32,
    /// Bytes sent in the interval.
    pub sent: Bytes,
    /// Bytes of it declared lost.
    pub lost: Bytes,
    /// Share of its packets that were lost because of the rate. A law may find that out; `None` where it is not known.
    pub excess_loss: Option<f64>,
    /// Rate at which its acknowledgements confirmed delivery, never above the achieved rate: what the path carried,
    /// where loss or a growing queue make that less than what was sent. `None` with fewer than two acknowledgements.
    pub delivery_rate: Option<Rate>,
    /// Mean RTT of its packets; `None` if no packet gave a sample.
    pub rtt: Option<Duration>,
    /// Least RTT of its packets: what the queue never fell below while they passed.
    pub rtt_least: Option<Duration>,
    /// RTT of the path without any queue, as far as it was known when the interval was resolved.
    pub rtt_base: Option<Duration>,
    /// Least-squares slope of RTT against send time, in seconds per second; `None` with fewer than two samples.
    pub rtt_gradient: Option<f64>,
    /// Standard error of that slope, for samples as independent as these were; infinite with fewer than three.
    pub rtt_gradient_error: f64,
    /// From the first to the last packet that gave a sample.
    pub rtt_span: Duration,
    /// Packets that gave a sample.
    pub rtt_samples: u32,
    /// Root mean square of the RTT samples around that slope; zero without a slope.
    pub rtt_residual: Duration,
    /// Standard deviation of the RTT samples.
    pub rtt_deviation: Duration,
    /// The sender had nothing to send, or no window to send it in, for more than a tenth of the interval: no evidence
    /// about the rate. An interval that the host slowed down is evidence about the rate it achieved.
    pub app_limited: bool,
    /// Some packets were never reported on and count as lost, for this interval only.
    pub timed_out: bool,
    /// What kept the interval from achieving more.
    pub limited_by: LimitedBy,
    /// What the interval sent just before this one achieved; `None` for the first one of a plan.
    pub previous: Option<Previous>,
}

/// What a utility may know of the interval that was sent just before: trials are sent in a random order, so it may be
/// any of their rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Previous {
    /// Serial number of that interval.
    pub id: u64,
    /// The rate at which its packets left.
    pub achieved: Rate,
    /// Its goodput, as [`Report::throughput`].
    pub throughput: Rate,
    /// Its loss rate, as [`Report::loss`].
    pub loss: f64,
    /// Mean RTT of its packets.
    pub rtt: Option<Duration>,
}

impl Report {
    /// What the next interval's report says of this one.
    pub fn summary(&self) -> Previous {
        Previous {
            id: self.id,
            achieved: self.achieved,
            throughput: self.throughput(),
            loss: self.loss(),
            rtt: self.rtt,
        }
    }

    /// Loss rate L, 0 to 1: bytes lost or marked by bytes sent.
    ///
    /// A router marks what it would otherwise have dropped, and a sender answers marks as it answers losses (RFC 3168
    /// §6.1.2, RFC 9002 §7.1); a mark counts as a packet of mean size.
    pub fn loss(&self) -> f64 {
        (self.undelivered() + self.marked()).min(1.0)
    }

    /// The share of its bytes that did not arrive, 0 to 1.
    fn undelivered(&self) -> f64 {
        if self.sent == Bytes::ZERO { 0.0 } else { self.lost.get() as f64 / self.sent.get() as f64 }
    }

    /// Packets that were lost or marked.
    pub const fn packets_refused(&self) -> u32 {
        self.packets_lost.saturating_add(self.packets_marked)
    }

    /// Goodput T: the rate at which the interval's data left the path.
    ///
    /// Deviates: the paper counts what was sent and not lost, x̂(1 − L), as though it had arrived at once. Into a queue
    /// that grows by g seconds a second only 1/(1 + g) of it did. Without that factor a buffer hides every overshoot
    /// until it is full, and a lone sender climbs some 10 % above capacity again and again (loss of 2 to 3 %).
    pub fn throughput(&self) -> Rate {
        self.achieved * ((1.0 - self.undelivered()) / (1.0 + self.queue_growth()))
    }

    /// How fast the queue grew, in seconds of RTT a second: the gradient, where it stands out of the noise.
    pub fn queue_growth(&self) -> f64 {
        match self.rtt_gradient {
            Some(gradient) if gradient.abs() > ERRORS * self.rtt_gradient_error => gradient.max(-0.5),
            _ => 0.0,
        }
    }

    /// Mean queueing delay: by how much the RTT is above the path's own; `None` without a measurement of both.
    pub fn queueing_delay(&self) -> Option<Duration> {
        Some(self.rtt?.saturating_sub(self.rtt_base?))
    }

    /// The least queueing delay while its packets passed; `None` without a measurement.
    pub fn standing_queue(&self) -> Option<Duration> {
        Some(self.rtt_least?.saturating_sub(self.rtt_base?))
    }

    /// The share of its packets that arrived marked, 0 to 1.
    pub fn marked(&self) -> f64 {
        f64::from(self.packets_marked) / f64::from(self.packets.max(1))
    }

    /// By how much the RTT grew from its first to its last measurement, as the slope has it. Unit: s.
    pub fn rtt_rise(&self) -> f64 {
        self.rtt_gradient.unwrap_or(0.0) * self.rtt_span.as_secs_f64()
    }

    /// Whether the RTT grew beyond doubt even where the question is asked at each acknowledgement, and as fast as this or
    /// faster.
    pub(crate) fn surely_grew(&self, pace: f64) -> bool {
        self.rtt_gradient.is_some_and(|gradient| gradient > pace && gradient > SURE_ERRORS * self.rtt_gradient_error)
    }

    /// The same at `factor` times the rate, if the path treated it alike.
    pub(crate) fn at_rate(&self, factor: f64) -> Self {
        let scaled = |bytes: Bytes| Bytes::new((bytes.get() as f64 * factor) as u64);
        Self {
            target: self.target * factor,
            achieved: self.achieved * factor,
            sent: scaled(self.sent),
            lost: scaled(self.lost),
            ..self.clone()
        }
    }

    /// The report with as little loss and growth as its noise allows: two standard errors less, and without what a host
    /// may have held back.
    pub(crate) fn in_its_favour(&self) -> Self {
        self.without_queue().with(-self.loss_error(), self.least_growth(ERRORS))
    }

    /// The same for an interval that is asked about at each acknowledgement: more of them come, but where only the first
    /// packets were answered for, the queue grew no further.
    pub(crate) fn in_its_favour_so_far(&self) -> Self {
        self.without_queue().with(-self.loss_error(), self.least_growth(SURE_ERRORS))
    }

    /// As though the queue had been empty at one moment.
    fn without_queue(&self) -> Self {
        Self { rtt_least: self.rtt_base.or(self.rtt_least), ..self.clone() }
    }

    fn least_growth(&self, errors: f64) -> Option<f64> {
        let span = self.rtt_span.as_secs_f64();
        self.rtt_gradient.map(|gradient| {
            let rise = (gradient - errors * self.rtt_gradient_error) * span - HOST_JITTER.as_secs_f64();
            rise.max(0.0) / self.duration.as_secs_f64().max(span).max(1e-9)
        })
    }

    /// The report with as much loss as its noise allows, and no queue that drains.
    pub(crate) fn in_its_disfavour(&self) -> Self {
        self.with(self.loss_error(), Some(self.queue_growth().max(0.0)))
    }

    /// Two standard errors of the loss rate.
    ///
    /// A neighbour's burst takes ten packets in a row, and they say no more than one. What n packets say is n(1 − ρ)/
    /// (1 + ρ) of what independent ones would, where ρ is the correlation of neighbours: 1 less the chance that a
    /// loss is followed by an arrival, and an arrival by a loss (Gilbert's model). Nobody knows which packets were
    /// marked: each mark counts as one burst.
    fn loss_error(&self) -> f64 {
        let (n, lost) = (f64::from(self.packets.max(1)), f64::from(self.packets_refused().min(self.packets)));
        let arrived = (n - lost).max(1.0);
        let bursts = f64::from(self.loss_bursts.saturating_add(self.packets_marked).max(1));
        let apart = (bursts / lost.max(1.0) + bursts / arrived).min(1.0); // 1 − ρ
        let loss = lost / n;
        ERRORS * (loss * (1.0 - loss) * (2.0 - apart) / (n * apart)).sqrt()
    }

    /// With the loss rate changed by so much, marks in proportion, and this growth.
    fn with(&self, more_loss: f64, growth: Option<f64>) -> Self {
        let loss = self.loss();
        let factor = if loss > 0.0 { ((loss + more_loss) / loss).max(0.0) } else { 1.0 };
        let scaled = |packets: u32| ((f64::from(packets) * factor) as u32).min(self.packets);
        Self {
            lost: Bytes::new((self.lost.get() as f64 * factor) as u64).min(self.sent),
            packets_lost: scaled(self.packets_lost),
            packets_marked: scaled(self.packets_marked),
            rtt_gradient: growth,
            rtt_gradient_error: 0.0,
            ..self.clone()
        }
    }
}

/// Trains: what leaves back to back. Shorter ones cost CPU, longer ones lose packets in shallow buffers.
pub(crate) const TRAIN: Duration = Duration::from_micros(100);
/// A judged interval has at least ten departures: packets ([`crate::monitor::Config::min_packets`]), or trains of them
/// on a fast path. A shorter one sees one or two acknowledgements, and of them the time at which a host handled them.
pub(crate) const SHORTEST_TRIAL: Duration = Duration::from_micros(10 * TRAIN.as_micros() as u64);
/// For so long a host may hold packets or acknowledgements: a queue that grew by less may be its own, not the path's.
/// Over loopback the RTT wanders by a few 100 µs.
pub(crate) const HOST_JITTER: Duration = Duration::from_micros(500);
/// What differs by less than two standard errors may be noise (95 % confidence).
const ERRORS: f64 = 2.0;
/// The same where one looks again and again, and at any one look of hundreds chance must not decide.
const SURE_ERRORS: f64 = 5.0;
/// A share of the interval without data to send above which it says nothing about the rate.
const LIMITED_SHARE: f64 = 0.1;
/// Below this share of the target something held the sender back.
const ACHIEVED_SHARE: f64 = 0.9;

/// One monitor interval while its packets are sent, and then while their fate is awaited.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) id: u64,
    pub(crate) slot: Slot,
    /// How long it is meant to last at least.
    pub(crate) length: Duration,
    pub(crate) started: Timestamp,
    last_sent: Timestamp,
    /// What left at that moment.
    last_train: Bytes,
    /// When its last outstanding packet is given up; set when it closes.
    pub(crate) deadline: Option<Timestamp>,
    /// The end of the interval, if the sender had fallen silent before it.
    silent_until: Option<Timestamp>,
    pub(crate) packets: u32,
    packets_lost: u32,
    loss_bursts: u32,
    packets_marked: u32,
    /// The latest packet that was lost, and when that was found.
    latest_lost: Option<(u64, Timestamp)>,
    pub(crate) outstanding: u32,
    sent: Bytes,
    lost: Bytes,
    rtt: Slope,
    acks: AckSpan,
    limited_time: Duration,
    limited_by: LimitedBy,
    window_limited: bool,
    timed_out: bool,
}

impl Interval {
    pub(crate) fn new(id: u64, slot: Slot, length: Duration, now: Timestamp) -> Self {
        Self {
            id,
            slot,
            length,
            started: now,
            last_sent: now,
            last_train: Bytes::ZERO,
            deadline: None,
            silent_until: None,
            packets: 0,
            packets_lost: 0,
            loss_bursts: 0,
            packets_marked: 0,
            latest_lost: None,
            outstanding: 0,
            sent: Bytes::ZERO,
            lost: Bytes::ZERO,
            rtt: Slope::default(),
            acks: AckSpan::default(),
            limited_time: Duration::ZERO,
            limited_by: LimitedBy::Network,
            window_limited: false,
            timed_out: false,
        }
    }

    pub(crate) fn on_sent(&mut self, now: Timestamp, bytes: Bytes, window_limited: bool) {
        self.packets = self.packets.saturating_add(1);
        self.outstanding = self.outstanding.saturating_add(1);
        self.sent += bytes;
        self.last_train = if now > self.last_sent { bytes } else { self.last_train + bytes };
        self.last_sent = self.last_sent.max(now);
        self.window_limited |= window_limited;
    }

    pub(crate) fn on_acked(&mut self, now: Timestamp, bytes: Bytes) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.acks.on_acked(now, bytes);
    }

    pub(crate) fn on_lost(&mut self, now: Timestamp, packet: u64, bytes: Bytes) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.packets_lost = self.packets_lost.saturating_add(1);
        self.lost += bytes;
        let goes_on = self.latest_lost.is_some_and(|(latest, _)| latest.checked_add(1) == Some(packet));
        self.loss_bursts = self.loss_bursts.saturating_add(u32::from(!goes_on));
        self.latest_lost = Some((packet, now));
    }

    /// So many of its packets arrived marked.
    pub(crate) fn on_marked(&mut self, packets: u32) {
        self.packets_marked = self.packets_marked.saturating_add(packets).min(self.packets);
    }

    /// A packet that counts as lost was delivered after all.
    pub(crate) fn on_spurious_loss(&mut self, now: Timestamp, bytes: Bytes) {
        self.packets_lost = self.packets_lost.saturating_sub(1);
        self.loss_bursts = self.loss_bursts.min(self.packets_lost);
        self.lost -= bytes;
        self.acks.on_acked(now, bytes);
    }

    /// A packet whose fate nobody will report: as if it had never been sent.
    pub(crate) fn on_discarded(&mut self, bytes: Bytes) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.packets = self.packets.saturating_sub(1);
        self.sent -= bytes;
    }

    pub(crate) fn on_rtt(&mut self, sent_at: Timestamp, rtt: Duration) {
        self.rtt.add(sent_at.since(self.started), rtt);
    }

    pub(crate) fn on_limited(&mut self, time: Duration, by: LimitedBy) {
        self.limited_time += time;
        self.limited_by = by;
    }

    /// Ends it: what is sent from `now` on belongs to another one. `limited` is what keeps the sender silent now.
    pub(crate) fn close(&mut self, now: Timestamp, deadline: Timestamp, limited: Option<LimitedBy>) {
        self.deadline = Some(deadline);
        let end = now.min(self.started + self.length);
        let silence = end.since(self.last_sent + self.slot.rate.time_for(self.last_train));
        // Between two trains there is a silence that pacing wants.
        if silence > 2 * TRAIN && silence > end.since(self.started).mul_f64(LIMITED_SHARE) {
            self.silent_until = Some(end);
            if let Some(by) = limited {
                self.on_limited(silence, by);
            }
        }
    }

    /// Gives up what is still outstanding: lost for this interval, whatever the transport hears later.
    pub(crate) fn give_up(&mut self) {
        let outstanding = self.sent.saturating_sub(self.lost).saturating_sub(self.acks.acked);
        self.packets_lost = self.packets_lost.saturating_add(self.outstanding);
        self.loss_bursts = self.loss_bursts.saturating_add(u32::from(self.outstanding > 0));
        self.lost += outstanding;
        self.outstanding = 0;
        self.timed_out = true;
    }

    /// When the fate of all its packets is known for good, if it is: a loss of late may yet turn out to be none, on a
    /// path whose packets arrive out of order by `lateness`.
    pub(crate) fn resolved(&self, lateness: Duration) -> Option<Timestamp> {
        let settled = self.deadline.is_some() && self.outstanding == 0;
        settled.then(|| self.latest_lost.map_or(Timestamp::ZERO, |(_, found)| found + lateness))
    }

    /// Whether anything was lost or the RTT grew: cheap, and without either nothing is decided early.
    pub(crate) fn may_tell_early(&self) -> bool {
        self.packets_lost > 0 || self.rtt.slope().is_some_and(|slope| slope > 0.0)
    }

    pub(crate) fn report(&self) -> Report {
        // n trains span n gaps: without the last one's own time the rate of a short interval would look too high.
        let sending = self.last_sent.since(self.started) + self.slot.rate.time_for(self.last_train);
        let duration = self.silent_until.map_or(sending, |end| end.since(self.started).max(sending));
        let achieved = Rate::from_volume(self.sent, duration);
        let idle = self.limited_time.as_secs_f64() > LIMITED_SHARE * duration.as_secs_f64();
        let short = achieved < self.slot.rate * ACHIEVED_SHARE;
        let limited_by = match (idle, short) {
            (true, _) => self.limited_by,
            (false, true) if !self.window_limited => LimitedBy::Host,
            _ => LimitedBy::Network,
        };
        Report {
            id: self.id,
            started: self.started,
            duration,
            target: self.slot.rate,
            achieved,
            packets: self.packets,
            packets_lost: self.packets_lost,
            loss_bursts: self.loss_bursts,
            packets_marked: self.packets_marked,
            sent: self.sent,
            lost: self.lost,
            excess_loss: None,
            delivery_rate: self.acks.rate().map(|rate| rate.min(achieved)),
            rtt: self.rtt.mean(),
            rtt_least: self.rtt.least(),
            rtt_base: None,
            rtt_gradient: self.rtt.slope(),
            rtt_gradient_error: self.rtt.error(),
            rtt_span: self.rtt.span(),
            rtt_samples: self.rtt.samples(),
            rtt_residual: self.rtt.residual(),
            rtt_deviation: self.rtt.deviation(),
            app_limited: idle && self.limited_by != LimitedBy::Host,
            timed_out: self.timed_out,
            limited_by,
            previous: None,
        }
    }
}

/// Volume and time over which an interval's acknowledgements arrived.
#[derive(Clone, Debug, Default)]
struct AckSpan {
    first: Option<Timestamp>,
    last: Timestamp,
    acked: Bytes,
    /// Of it, what arrived with the first acknowledgement: it was delivered before the span began.
    with_first: Bytes,
}

impl AckSpan {
    fn on_acked(&mut self, now: Timestamp, bytes: Bytes) {
        let first = *self.first.get_or_insert(now);
        self.acked += bytes;
        if now <= first {
            self.with_first += bytes;
        }
        self.last = self.last.max(now);
    }

    fn rate(&self) -> Option<Rate> {
        let span = self.last.since(self.first?);
        (!span.is_zero()).then(|| Rate::from_volume(self.acked.saturating_sub(self.with_first), span))
    }
}

#[cfg(test)]
mod tests {
    mod noise;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    /// Ten packets of 1000 bytes, one each 10 ms, asked for at 0.8 Mbit/s: exactly the target.
    fn ten_packets() -> Interval {
        let mut interval = Interval::new(3, Slot::filler(Rate::from_mbit(0.8)), ms(50), at(0));
        for i in 0..10 {
            interval.on_sent(at(10 * i), Bytes::new(1000), false);
        }
        interval
    }

    #[test]
    fn the_achieved_rate_has_no_fence_post_error() {
        let report = ten_packets().report();
        assert_eq!((report.duration, report.packets), (ms(100), 10));
        assert!((report.achieved.mbit() - 0.8).abs() < 1e-9, "{report:?}");
        assert!(!report.app_limited);
    }

    #[test]
    fn trains_span_as_many_gaps_as_packets_do() {
        let mut interval = Interval::new(0, Slot::filler(Rate::from_mbit(320.0)), ms(1), at(0));
        for train in 0..10 {
            for _ in 0..4 {
                interval.on_sent(Timestamp::from_nanos(train * 100_000), Bytes::new(1000), false);
            }
        }
        let report = interval.report();
        assert_eq!(report.duration, ms(1), "nine gaps, and the last train's own");
        assert!((report.achieved.mbit() - 320.0).abs() < 1e-9, "{report:?}");
    }

    #[test]
    fn silence_before_the_end_counts_as_time_that_the_rate_was_not_used() {
        let closed_at = |time| {
            let mut interval = Interval::new(0, Slot::filler(Rate::from_mbit(8.0)), ms(30), at(0));
            interval.on_sent(at(0), Bytes::new(1000), false);
            interval.on_sent(at(1), Bytes::new(1000), false); // 1 ms is the gap that was asked for
            interval.close(at(time), at(1000), None);
            interval.report()
        };
        let spoke = closed_at(2);
        assert_eq!((spoke.duration, spoke.limited_by), (ms(2), LimitedBy::Network), "cut short, but not silent");
        let silent = closed_at(300);
        assert_eq!((silent.duration, silent.limited_by), (ms(30), LimitedBy::Host), "until its end, no further");
        assert!((silent.achieved.mbit() - 16.0 / 30.0).abs() < 1e-9);
    }

    #[test]
    fn loss_is_counted_in_bytes_and_a_spurious_loss_is_taken_back() {
        let mut interval = ten_packets();
        interval.on_lost(at(150), 3, Bytes::new(1000));
        interval.on_lost(at(150), 4, Bytes::new(1000));
        assert_eq!(interval.report().loss_bursts, 1);
        assert!((interval.report().loss() - 0.2).abs() < 1e-12);
        interval.on_spurious_loss(at(200), Bytes::new(1000));
        assert!((interval.report().loss() - 0.1).abs() < 1e-12);
        assert_eq!(interval.outstanding, 8);
    }

    #[test]
    fn the_gradient_is_the_slope_of_rtt_over_send_time() {
        let mut interval = ten_packets();
        for i in 0..10 {
            interval.on_rtt(at(10 * i), ms(30) + Duration::from_micros(100 * i)); // 0.1 ms more each 10 ms
        }
        let report = interval.report();
        assert!((report.rtt_gradient.unwrap() - 0.01).abs() < 1e-9, "{report:?}");
        assert!(report.rtt_residual < Duration::from_nanos(100) && report.rtt_deviation > Duration::from_micros(280));
        assert_eq!(report.rtt, Some(Duration::from_micros(30_450)));
    }

    #[test]
    fn delivery_is_slower_than_sending_when_a_queue_grows() {
        let mut interval = ten_packets();
        for i in 0..10 {
            interval.on_acked(at(100 + 20 * i), Bytes::new(1000)); // acknowledged at half the speed
        }
        assert!((interval.report().delivery_rate.unwrap().mbit() - 0.4).abs() < 1e-9);
    }

    #[test]
    fn an_interval_short_of_its_target_says_who_held_it_back() {
        let slow = |window_limited, limited: Option<LimitedBy>| {
            let mut interval = Interval::new(0, Slot::filler(Rate::from_mbit(8.0)), ms(50), at(0));
            for i in 0..10 {
                interval.on_sent(at(10 * i), Bytes::new(1000), window_limited);
            }
            if let Some(by) = limited {
                interval.on_limited(ms(50), by);
            }
            let report = interval.report();
            (report.limited_by, report.app_limited)
        };
        assert_eq!(slow(false, None), (LimitedBy::Host, false));
        assert_eq!(slow(false, Some(LimitedBy::Host)), (LimitedBy::Host, false));
        assert_eq!(slow(true, None), (LimitedBy::Network, false));
        assert_eq!(slow(false, Some(LimitedBy::Application)), (LimitedBy::Application, true));
    }
}
