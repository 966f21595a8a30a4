//! The results of a monitor interval, and the conclusions that exceed its noise.

use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// For so long a host may hold packets or acknowledgements: a queue that grew by less may be its own, not the path's.
/// Over loopback the RTT wanders by a few 100 µs.
const HOST_JITTER: Duration = Duration::from_micros(500);
/// A difference below two standard errors may be noise (95 % confidence).
const ERRORS: f64 = 2.0;
/// The same where one looks again and again, and at any one look of hundreds chance must not decide.
const SURE_ERRORS: f64 = 5.0;
crate::shared::shared_with_c!("REPORT_" [] HOST_JITTER = HOST_JITTER.as_secs_f64(), ERRORS, SURE_ERRORS);

/// The limit that kept a monitor interval from achieving more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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

/// The results of one monitor interval. Source: `NSDI 2015` §3.1 for the quantities, `NSDI 2018` §4 for the gradient.
///
/// Versions may add fields. The test of a utility makes a report with [`SenderView`](crate::utility::SenderView), and changes its fields.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
    /// Share of its bytes that were lost because of the rate: what is lost beyond that happens whatever is sent. `None` until a
    /// law has found that out ([`PathEstimate::random_loss`](crate::control::PathEstimate::random_loss)).
    pub excess_loss: Option<f64>,
    /// Rate at which its acknowledgements confirmed delivery, never above the achieved rate: what the path carried,
    /// where loss or a growing queue make that less than what was sent. `None` with fewer than two acknowledgements.
    pub delivery_rate: Option<Rate>,
    /// Mean RTT of its packets; `None` if no packet gave a sample.
    pub rtt: Option<Duration>,
    /// Least RTT of its packets: what the queue never fell below while they passed.
    pub rtt_least: Option<Duration>,
    /// RTT of the path without any queue, as known when the interval was resolved: the law's estimate
    /// ([`PathEstimate::base_rtt`](crate::control::PathEstimate::base_rtt)), or else the least RTT of the last ten
    /// seconds.
    pub rtt_base: Option<Duration>,
    /// Least-squares slope of RTT against send time, in seconds per second; `None` with fewer than two samples.
    pub rtt_gradient: Option<f64>,
    /// Standard error of that slope, for samples as independent as these were; infinite with fewer than three.
    pub rtt_gradient_error: f64,
    /// From the first to the last packet that gave a sample.
    pub rtt_span: Duration,
    /// The longest time between two neighbours of them.
    pub rtt_pause: Duration,
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
    /// The limit that kept the interval from achieving more.
    pub limited_by: LimitedBy,
    /// Results of the interval judged before this one, however long ago; `None` for the first one.
    pub previous: Option<Previous>,
}

/// A utility's knowledge of the interval sent just before. Trials are sent in a random order, so it may have any of
/// their rates. [`Report::summary`] makes one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
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
    /// This interval as the next one's report shows it.
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
    pub(crate) fn undelivered(&self) -> f64 {
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

    /// Growth of the RTT from its first to its last measurement, by the slope. Unit: s.
    pub fn rtt_rise(&self) -> f64 {
        self.rtt_gradient.unwrap_or(0.0) * self.rtt_span.as_secs_f64()
    }

    /// For how much of the interval the samples speak: from the first to the last, and as long again as they are apart. Less than
    /// all of it where a host stopped and sent what had piled up at once.
    pub(crate) fn rtt_seen(&self) -> Duration {
        (self.rtt_span + self.rtt_pause).min(self.duration)
    }

    /// Whether the RTT grew beyond doubt even where the question is asked at each acknowledgement.
    pub(crate) fn surely_grew(&self) -> bool {
        self.rtt_gradient.is_some_and(|gradient| gradient > SURE_ERRORS * self.rtt_gradient_error)
    }

    /// Certain growth of the RTT from its first to its last measurement. Unit: s.
    pub(crate) fn sure_rise(&self) -> f64 {
        (self.rtt_rise() - SURE_ERRORS * self.rtt_gradient_error * self.rtt_span.as_secs_f64()).max(0.0)
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
    /// A neighbour's burst takes ten packets in a row, and they say no more than one. So n packets count as n(1 − ρ)/
    /// (1 + ρ) independent ones, where ρ is the correlation of neighbours: 1 less the chance that a loss is followed by
    /// an arrival, and an arrival by a loss (Gilbert's model). Nobody knows which packets were marked: each mark counts
    /// as one burst.
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

#[cfg(test)]
mod tests;
