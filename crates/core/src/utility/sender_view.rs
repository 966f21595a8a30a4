//! The report on an interval that was never sent.

use crate::interval::{LimitedBy, Previous, Report};
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// A queue came from nothing and goes to nothing: the standard deviation of an RTT that is evenly spread between is this share of
/// the queue, the root of 1/12.
pub const OF_A_QUEUE: f64 = 0.29;
crate::shared::shared_with_c!("FORECAST_" [] OF_A_QUEUE);

/// An interval's view of its path. Units: Mbit/s, s.
#[derive(Clone, Copy, Debug)]
pub struct SenderView {
    /// Rate at which it was sent.
    pub rate: f64,
    /// Share that was lost.
    pub loss: f64,
    /// Share that was lost because of the rate, where the law tells it apart.
    pub own_loss: Option<f64>,
    /// Share that was marked.
    pub marks: f64,
    /// RTT of the path without a queue.
    pub base: f64,
    /// Queueing delay of the first packet and of the last.
    pub queue: (f64, f64),
    /// How fast the queue grew, s/s, where that is not what the two delays say.
    pub growth: Option<f64>,
    /// How long it was sent.
    pub seconds: f64,
    /// Standard deviation of the RTT around its slope.
    pub noise: f64,
    /// Standard deviation of the RTT that the law foresees of the queue.
    pub foreseen: f64,
    /// The interval before it.
    pub previous: Option<Previous>,
}

/// Counts large enough that rounding does not matter: only ratios do.
const PACKETS: f64 = 1e9;
const BYTES: f64 = 1e15;

impl SenderView {
    /// At this rate on a path where nothing else happens.
    pub const fn clear(rate: f64, base: f64) -> Self {
        Self {
            rate,
            loss: 0.0,
            own_loss: None,
            marks: 0.0,
            base,
            queue: (0.0, 0.0),
            growth: None,
            seconds: base,
            noise: 0.0,
            foreseen: 0.0,
            previous: None,
        }
    }

    /// The report on such an interval. Negative times are taken for zero, shares beyond 1 for 1.
    pub fn report(&self) -> Report {
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        let (begin, end) = self.queue;
        let growth = self.growth.unwrap_or((end - begin) / self.seconds.max(1e-9));
        let achieved = Rate::from_mbit(self.rate);
        let count = |share: f64| (share.clamp(0.0, 1.0) * PACKETS) as u32;
        // A ramp from end to end has a twelfth of its square as variance.
        let deviation = (self.noise * self.noise + (growth * self.seconds).powi(2) / 12.0).sqrt();
        Report {
            id: 1,
            started: Timestamp::ZERO,
            duration: time(self.seconds),
            target: achieved,
            achieved,
            packets: PACKETS as u32,
            packets_lost: count(self.loss),
            loss_bursts: count(self.loss),
            packets_marked: count(self.marks),
            sent: Bytes::new(BYTES as u64),
            lost: Bytes::new((self.loss.clamp(0.0, 1.0) * BYTES) as u64),
            excess_loss: self.own_loss,
            delivery_rate: Some(achieved * ((1.0 - self.loss).max(0.0) / (1.0 + growth.max(0.0)))),
            rtt: Some(time(self.base + f64::midpoint(begin, end))),
            rtt_least: Some(time(self.base + begin.min(end))),
            rtt_base: Some(time(self.base)),
            rtt_gradient: Some(growth),
            rtt_gradient_error: 0.0,
            rtt_span: time(self.seconds),
            rtt_pause: Duration::ZERO,
            rtt_samples: PACKETS as u32,
            rtt_residual: time(self.noise),
            rtt_deviation: time(deviation.max(self.foreseen)),
            app_limited: false,
            timed_out: false,
            limited_by: LimitedBy::Network,
            previous: self.previous,
        }
    }
}
