//! Guards for a silent path, and for a sender that had nothing to send. They need no law.

use super::Pcc;
use crate::control::RateControl;
use crate::rtt::RttEstimator;
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// An idle time after which the old rate says nothing about the path any more.
pub(super) const LONG_IDLE: Duration = Duration::from_secs(10);
/// For so long a busy host may stop a sender or its peer, and what is delivered meanwhile says nothing of the path: two
/// or three turns of Linux' scheduler.
pub(super) const HOST_PAUSE: Duration = Duration::from_millis(10);
crate::shared::shared_with_c!("PCC_" [] LONG_IDLE, HOST_PAUSE);

/// When the path last answered, how often the rate was halved since, what it was before; when the last silence was
/// noticed, whether the path's rate was still looked for then, and when it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    pub(super) progress: Timestamp,
    pub(super) halvings: u64,
    pub(super) before: Rate,
    pub(super) noticed: Timestamp,
    pub(super) starting: bool,
    pub(super) ended: Option<Timestamp>,
}

impl Stall {
    /// When the next halving is due: after 4 RTT (`NSDI 2018`), then at the pace at which a transport asks again.
    pub(super) fn next(&self, rtt: &RttEstimator) -> Timestamp {
        if self.halvings == 0 {
            return self.progress + rtt.stall_period();
        }
        let asking = rtt.pto().as_nanos().saturating_mul(self.halvings.into());
        self.progress + rtt.stall_period() + Duration::from_nanos(u64::try_from(asking).unwrap_or(u64::MAX))
    }

    /// Counts the halvings that would have been due by `now`.
    fn look_again_after(&mut self, now: Timestamp, rtt: &RttEstimator) {
        let asked = now.since(self.progress + rtt.stall_period()).as_nanos() / rtt.pto().as_nanos().max(1);
        self.halvings = u64::try_from(asked).unwrap_or(u64::MAX).saturating_add(1);
    }
}

impl Pcc {
    /// A silent path is sent so much until the silence is long, in spite of what is in flight: a transport's own probes
    /// are seconds apart by then, and so would be the news of its return. Two packets each time a transport would ask
    /// for the first time (RFC 9002 §6.2.4).
    pub(super) fn knocking_rate(&self) -> Rate {
        Rate::from_volume(self.packet + self.packet, self.rtt.pto())
    }

    pub(super) fn is_knocking(&self) -> bool {
        self.stall.halvings > 0
            && self.plan.rate <= self.knocking_rate() * 1.01
            && self.last_sent.is_some_and(|sent| sent.since(self.stall.progress) < LONG_IDLE)
    }

    /// Halves the rate for each stall period without any acknowledgement. Source: `NSDI 2018`, 4-RTT time-out.
    pub(super) fn detect_stall(&mut self, now: Timestamp) {
        if now < self.due || self.monitor.bytes_in_flight() == Bytes::ZERO {
            return;
        }
        while now >= self.stall.next(&self.rtt) {
            if self.stall.halvings >= 64 {
                return self.stall.look_again_after(now, &self.rtt); // long at the floor
            }
            if self.stall.halvings == 0 {
                (self.stall.before, self.stall.noticed) = (self.law.rate(), now);
                self.stall.starting = self.law.is_starting();
            }
            self.stall.halvings += 1;
            let (rate, knocking) = (self.law.rate(), self.knocking_rate());
            if rate > knocking {
                self.back_off(now, (rate * 0.5).max(knocking), "no acknowledgement");
            }
        }
    }

    /// The path answers with a packet sent at `sent_at`.
    pub(super) fn end_stall(&mut self, now: Timestamp, sent_at: Timestamp) {
        self.detect_stall(now);
        let silence = now.since(self.stall.progress);
        self.stall.progress = now;
        let halvings = core::mem::take(&mut self.stall.halvings);
        if halvings == 0 {
            return;
        }
        self.stall.ended = Some(now);
        if sent_at < self.stall.noticed {
            // Packets from before the silence was noticed arrived: the path became longer, nothing else.
            let before = self.path().clamp(self.stall.before);
            if self.stall.starting {
                self.start(before);
            } else {
                self.law.back_off(before);
            }
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
    pub(super) fn end_idle(&mut self, now: Timestamp) {
        let Some(last) = self.last_sent else { return };
        if self.monitor.bytes_in_flight() > Bytes::ZERO {
            return;
        }
        let idle = now.since(last);
        let pause = self.rtt.smoothed_or_assumed().max(2 * self.gap()).max(HOST_PAUSE);
        if idle <= pause {
            return;
        }
        (self.limited, self.on_end) = (None, 0);
        if now.since(self.filled.unwrap_or(last)) > LONG_IDLE && self.rtt.smoothed().is_some() {
            self.filled = Some(now);
            // Nor is a silence before it the path's any more.
            (self.stall.halvings, self.stall.progress) = (0, now);
            let fresh = self.initial_rate(self.rtt.smoothed_or_assumed()) * 4.0;
            self.start(self.law.rate().min(fresh));
            self.replan(now, "long idle");
        } else {
            self.monitor.realign();
            self.law.restart();
            self.plan_next();
        }
    }
}
