//! How fast data is delivered, by each acknowledgement: `draft-cheng-iccrg-delivery-rate-estimation`.

use core::time::Duration;
use pcc::units::Timestamp;

/// What was known when a packet left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    pub(super) sent: Timestamp,
    first_sent: Timestamp,
    delivered_at: Timestamp,
    delivered: u64,
    app_limited: bool,
}

/// Segments delivered over a time.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Their number.
    pub delivered: u64,
    /// Delivered since the flow began, when the packet left whose acknowledgement ends the sample.
    pub prior_delivered: u64,
    /// The longer of the time in which they left and that in which they arrived; `None` if shorter than any RTT.
    pub interval: Option<Duration>,
    /// The application had no more to send meanwhile: the path may carry more.
    pub app_limited: bool,
    /// Taken for lost by this acknowledgement.
    pub lost: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampler {
    delivered: u64,
    delivered_at: Timestamp,
    first_sent: Timestamp,
    last_sent: Timestamp,
    /// Until so much is delivered samples are the application's.
    app_limited_until: u64,
    /// The stamp of the newest packet of this acknowledgement.
    prior: Option<Stamp>,
}

impl Sampler {
    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) fn on_send(&mut self, now: Timestamp, in_flight: u64) {
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        self.last_sent = now;
    }

    pub(super) const fn stamp(&self) -> Stamp {
        Stamp {
            sent: self.last_sent,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            app_limited: self.app_limited_until > 0,
        }
    }

    /// There was nothing to send.
    pub(super) fn on_idle(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    pub(super) const fn begin(&mut self) {
        self.prior = None;
    }

    pub(super) fn on_delivered(&mut self, now: Timestamp, stamp: &Stamp) {
        self.delivered += 1;
        self.delivered_at = now;
        let is_newer = |prior: &Stamp| (stamp.delivered, stamp.sent) > (prior.delivered, prior.sent);
        if self.prior.as_ref().is_none_or(is_newer) {
            self.prior = Some(*stamp);
            self.first_sent = stamp.sent;
        }
    }

    /// The sample of this acknowledgement, if it acknowledged anything.
    pub(super) fn rate(&mut self, least_rtt: Option<Duration>, lost: u64) -> Option<RateSample> {
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let prior = self.prior.take()?;
        let sent = prior.sent.since(prior.first_sent);
        let interval = sent.max(self.delivered_at.since(prior.delivered_at));
        let is_sound = !interval.is_zero() && least_rtt.is_none_or(|least| interval >= least);
        Some(RateSample {
            delivered: self.delivered - prior.delivered,
            prior_delivered: prior.delivered,
            interval: is_sound.then_some(interval),
            app_limited: prior.app_limited,
            lost,
        })
    }
}
