//! The monitor interval: a run of packets sent at one target rate and judged together, and the [`Report`] on it.

mod plan;
mod report;

pub use plan::IntervalPlan;
pub use report::{LimitedBy, Previous, Report};

use crate::slope::Slope;
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// Trains: what leaves back to back on a path of which little is known. Shorter ones cost CPU, longer ones lose packets in
/// shallow buffers.
pub(crate) const TRAIN: Duration = Duration::from_micros(100);
/// On a fast path a judged interval has at least ten departures of trains. A shorter one sees one or two acknowledgements, and of
/// them the time at which a host handled them.
pub(crate) const SHORTEST_TRIAL: Duration = Duration::from_micros(10 * TRAIN.as_micros() as u64);
/// A share of the interval without data to send above which it says nothing about the rate.
const LIMITED_SHARE: f64 = 0.1;
/// Below this share of the target something held the sender back.
pub(crate) const ACHIEVED_SHARE: f64 = 0.9;
crate::shared::shared_with_c!("INTERVAL_" [report]
    TRAIN, SHORTEST_TRIAL, LIMITED_PART = (1.0 / LIMITED_SHARE) as u32, ACHIEVED_SHARE
);

/// One monitor interval while its packets are sent, and then while their fate is awaited.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) id: u64,
    pub(crate) plan: IntervalPlan,
    /// How long it is meant to last at least.
    pub(crate) length: Duration,
    pub(crate) started: Timestamp,
    last_sent: Timestamp,
    /// Bytes that left at that moment.
    last_train: Bytes,
    /// When its last outstanding packet is given up; set when it closes.
    pub(crate) deadline: Option<Timestamp>,
    /// Its end, if that is later than that of its last train.
    ended: Option<Timestamp>,
    pub(crate) packets: u32,
    packets_lost: u32,
    loss_bursts: u32,
    packets_marked: u32,
    /// The latest packet that was lost, and when that was found.
    latest_lost: Option<(u64, Timestamp)>,
    pub(crate) outstanding: u32,
    sent: Bytes,
    /// Bytes that left and are no evidence.
    discarded: Bytes,
    lost: Bytes,
    rtt: Slope,
    acks: AckSpan,
    limited: Limits,
    window_limited: bool,
    timed_out: bool,
}

impl Interval {
    pub(crate) fn new(id: u64, plan: IntervalPlan, length: Duration, now: Timestamp) -> Self {
        Self {
            id,
            plan,
            length,
            started: now,
            last_sent: now,
            last_train: Bytes::ZERO,
            deadline: None,
            ended: None,
            packets: 0,
            packets_lost: 0,
            loss_bursts: 0,
            packets_marked: 0,
            latest_lost: None,
            outstanding: 0,
            sent: Bytes::ZERO,
            discarded: Bytes::ZERO,
            lost: Bytes::ZERO,
            rtt: Slope::default(),
            acks: AckSpan::default(),
            limited: Limits::default(),
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

    /// Bytes of its latest packets that left at one time.
    pub(crate) const fn latest_train(&self) -> Bytes {
        self.last_train
    }

    /// Number of its packets that arrived marked.
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

    /// A packet whose fate nobody will report: it is no evidence, but it left, and the rate was what it was.
    pub(crate) fn on_discarded(&mut self, bytes: Bytes) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.packets = self.packets.saturating_sub(1);
        self.sent -= bytes;
        self.discarded += bytes;
    }

    pub(crate) fn on_rtt(&mut self, sent_at: Timestamp, rtt: Duration) {
        self.rtt.add(sent_at.since(self.started), rtt);
    }

    pub(crate) fn on_limited(&mut self, time: Duration, by: LimitedBy) {
        self.limited.add(time, by);
    }

    /// Ends it: what is sent from `now` on belongs to another one. `limited` is what keeps the sender silent now.
    pub(crate) fn close(&mut self, now: Timestamp, deadline: Timestamp, limited: Option<LimitedBy>) {
        self.deadline = Some(deadline);
        let by = limited.filter(|by| *by != LimitedBy::Host);
        if by.is_none() && !self.window_limited {
            return self.lasts_until(now);
        }
        // A sender that may or can send no more is silent of itself, until the planned end at most.
        let end = now.min(self.started + self.length);
        let silence = end.since(self.last_sent + self.plan.rate.time_for(self.last_train));
        // Between two trains there is a silence that pacing wants.
        if silence > 2 * TRAIN && silence > end.since(self.started).mul_f64(LIMITED_SHARE) {
            self.ended = Some(end);
            if let Some(by) = by {
                self.on_limited(silence, by);
            }
        }
    }

    /// Only pacing and the host kept the sender silent until `now`, so this time belongs to the interval. A stopped
    /// host sends the rest in the next interval, whose rate would be too high without this time.
    pub(crate) fn lasts_until(&mut self, now: Timestamp) {
        if !self.window_limited {
            self.ended = Some(now);
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
        // It is over now: what the transport says of its packets from here on is told of nobody, and nothing waits for it.
        self.latest_lost = None;
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
        let sending = self.last_sent.since(self.started) + self.plan.rate.time_for(self.last_train);
        let duration = self.ended.map_or(sending, |end| end.since(self.started).max(sending));
        let achieved = Rate::from_volume(self.sent + self.discarded, duration);
        let idle = self.limited.time().as_secs_f64() > LIMITED_SHARE * duration.as_secs_f64();
        let short = achieved < self.plan.rate * ACHIEVED_SHARE;
        let limited_by = match (idle, short) {
            (true, _) => self.limited.most(),
            (false, true) if !self.window_limited => LimitedBy::Host,
            _ => LimitedBy::Network,
        };
        Report {
            id: self.id,
            started: self.started,
            duration,
            target: self.plan.rate,
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
            rtt_pause: self.rtt.pause(),
            rtt_samples: self.rtt.samples(),
            rtt_residual: self.rtt.residual(),
            rtt_deviation: self.rtt.deviation(),
            app_limited: idle && self.limited.most() != LimitedBy::Host,
            timed_out: self.timed_out,
            limited_by,
            previous: None,
        }
    }
}

/// The possible causes of a sender's silence.
const CAUSES: [LimitedBy; 3] = [LimitedBy::Host, LimitedBy::ReceiverWindow, LimitedBy::Application];

/// For how long each of them did.
#[derive(Clone, Copy, Debug, Default)]
struct Limits([Duration; CAUSES.len()]);

impl Limits {
    fn add(&mut self, time: Duration, by: LimitedBy) {
        CAUSES.iter().zip(&mut self.0).filter(|(cause, _)| **cause == by).for_each(|(_, sum)| *sum += time);
    }

    fn time(&self) -> Duration {
        self.0.iter().sum()
    }

    /// The cause that lasted longest.
    fn most(&self) -> LimitedBy {
        CAUSES.into_iter().zip(self.0).max_by_key(|(_, time)| *time).map_or(LimitedBy::Network, |(cause, _)| cause)
    }
}

/// Volume and time over which an interval's acknowledgements arrived.
#[derive(Clone, Debug, Default)]
struct AckSpan {
    first: Option<Timestamp>,
    last: Timestamp,
    acked: Bytes,
    /// The part of it that arrived with the first acknowledgement: it was delivered before the span began.
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
mod tests;
