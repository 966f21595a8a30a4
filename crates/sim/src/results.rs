//! The results of a simulation.

use crate::account::Sent;
use crate::media::FrameDelay;
use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};
use pcc_link::{Count, Counters, OneWay};

/// The usual grain of time series.
pub const SAMPLE: Duration = Duration::from_millis(100);

/// How often it is seen how long a packet would wait.
pub const WAIT: Duration = Duration::from_millis(10);

/// A moment of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub at: Duration,
    /// The rate that the controller had chosen.
    pub rate: Rate,
    /// The controller's state.
    pub state: &'static str,
    /// Useful bytes that arrived since the sample before, headers included: without copies, and without what the sender
    /// had given up on, since it sends that again.
    pub delivered: Bytes,
    /// Bytes in flight.
    pub in_flight: u64,
    /// The sender's counts so far.
    pub sent: Sent,
    /// The smoothed RTT, once there is one.
    pub rtt: Option<Duration>,
}

/// The results of a flow.
#[derive(Clone, Debug)]
pub struct FlowResult {
    /// The sender's counts.
    pub sent: Sent,
    /// A full packet on the wire.
    pub packet: Bytes,
    /// Bytes that arrived, each packet once, headers included.
    pub delivered: Count,
    /// When it started.
    pub start: Duration,
    /// When the last byte of a finite volume was acknowledged.
    pub finished: Option<Duration>,
    /// Sorted RTT samples. Unit: µs.
    pub rtts: Vec<u32>,
    /// The RTT of the empty path at time zero.
    pub base_rtt: Duration,
    /// The first bottleneck that it went through, and the last, counted from zero.
    pub way: (u16, u16),
    /// Whether its data went up.
    pub goes_back: bool,
    /// How late each frame of a call was, of audio and of the plain video.
    pub frames: Vec<FrameDelay>,
    /// A sample each step.
    pub series: Vec<Sample>,
}

impl FlowResult {
    /// Loss as the sender saw it, spurious ones taken off.
    pub fn loss(&self) -> f64 {
        (self.sent.lost - self.sent.spurious) as f64 / self.sent.packets.max(1) as f64
    }

    /// Transmissions after that moment, and those of them that were lost for all the sender ever knew.
    pub(crate) fn sent_after(&self, from: Duration) -> (u64, u64) {
        let before = self.series.iter().rfind(|sample| sample.at <= from).map_or(Sent::default(), |sample| sample.sent);
        let lost = |sent: &Sent| sent.lost.saturating_sub(sent.spurious);
        (self.sent.packets - before.packets, lost(&self.sent).saturating_sub(lost(&before)))
    }

    /// The RTT beyond that of the empty path at time zero, at this quantile.
    pub fn added_rtt(&self, quantile: f64) -> Duration {
        self.rtt(quantile).unwrap_or_default().saturating_sub(self.base_rtt)
    }

    /// The RTT at this quantile; none without any sample.
    pub fn rtt(&self, quantile: f64) -> Option<Duration> {
        at_quantile(&self.rtts, quantile)
    }

    /// Packets sent for each that was useful; `None` if none was.
    pub fn waste(&self) -> Option<f64> {
        let useful = self.delivered.packets.saturating_sub(self.sent.spurious);
        (useful > 0).then(|| self.sent.packets as f64 / useful as f64)
    }

    /// Mean and largest delay of the frames of a call that were awaited after that time; `None` without frames.
    pub fn frame_delay(&self, after: Duration) -> Option<(Duration, Duration)> {
        let awaited = self.frames.iter().filter(|frame| frame.awaited >= Timestamp::ZERO + after);
        let (mut count, mut sum, mut most) = (0, Duration::ZERO, Duration::ZERO);
        for frame in awaited {
            (count, sum, most) = (count + 1, sum + frame.delay, most.max(frame.delay));
        }
        (count > 0).then(|| (sum / count, most))
    }

    /// The delivery rate between two moments, headers included.
    pub fn goodput(&self, from: Duration, to: Duration) -> Rate {
        let bytes = self.series.iter().filter(|s| s.at > from && s.at <= to).map(|s| s.delivered.get()).sum();
        Rate::from_volume(Bytes::new(bytes), to.saturating_sub(from))
    }

    /// The rate that PCC had chosen at that moment.
    pub fn rate_at(&self, at: Duration) -> Rate {
        self.series.iter().rfind(|sample| sample.at <= at).map_or(Rate::ZERO, |sample| sample.rate)
    }
}

/// The results of all flows.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// One of each flow, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// The bottleneck's counters, of several the first one's; with a discipline of its own all but what that dropped.
    pub link: Counters,
    /// The counts of the bottlenecks behind it.
    pub beyond: Vec<Counters>,
    /// Packets dropped by the policer or by any queue discipline.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// How long a packet would have waited at the bottleneck, at all of several together, each [`WAIT`]. Unit: µs.
    pub waits: Vec<u32>,
    /// The links of the data's way and their seeds: [`Scenario::ways`](crate::Scenario::ways).
    pub ways: Vec<(OneWay, u64)>,
    /// The same of the way back: [`Scenario::ways_back`](crate::Scenario::ways_back).
    pub ways_back: Vec<(OneWay, u64)>,
    /// How long all of it lasted.
    pub duration: Duration,
    /// Events of the simulation.
    pub events: u64,
}

impl Results {
    /// Bytes that all flows delivered between two moments, divided by a perfect sender's: capacity less random loss.
    /// Headers count on both sides, so the payload's share of a packet does not matter. 0 where a path carries nothing. Flows
    /// that go the other way do not count.
    pub fn share(&self, from: Duration, to: Duration) -> f64 {
        let down = self.flows.iter().filter(|flow| !flow.goes_back);
        let delivered: f64 = down.map(|flow| flow.goodput(from, to).bytes_per_sec()).sum();
        let capacity = self.capacity(from, to).bytes_per_sec();
        if capacity > 0.0 && delivered > 0.0 { delivered / capacity } else { 0.0 }
    }

    /// A perfect sender's delivery rate between two moments, headers included. The narrowest of several bottlenecks
    /// counts.
    pub fn capacity(&self, from: Duration, to: Duration) -> Rate {
        narrowest(&self.ways, from, to)
    }

    /// The same for the flow of this number: of the bottlenecks that it goes through.
    pub fn capacity_for(&self, flow: usize, from: Duration, to: Duration) -> Rate {
        let Some(flow) = self.flows.get(flow) else { return Rate::ZERO };
        let ways = if flow.goes_back { &self.ways_back } else { &self.ways };
        narrowest(ways.get(usize::from(flow.way.0)..=usize::from(flow.way.1)).unwrap_or(&[]), from, to)
    }

    /// Packets that bottlenecks dropped for whatever reason.
    pub fn drops(&self) -> u64 {
        let by_links = core::iter::once(&self.link).chain(&self.beyond).map(|link| link.dropped().packets);
        by_links.sum::<u64>() + self.dropped
    }

    /// [`Self::share`] from this moment to the end.
    pub fn share_after(&self, from: Duration) -> f64 {
        self.share(from, self.duration)
    }

    /// Jain's fairness index of the flows' goodput, averaged over windows of `scale` between two moments.
    pub fn jain(&self, scale: Duration, from: Duration, to: Duration) -> f64 {
        jain(self.flows.iter(), scale, from, to)
    }

    /// The queueing delay of the bottlenecks together, at this quantile of the time after that moment.
    pub fn queueing_delay(&self, quantile: f64, from: Duration) -> Duration {
        let before = (from.as_nanos() / WAIT.as_nanos()) as usize;
        let mut waits: Vec<u32> = self.waits.iter().skip(before).copied().collect();
        waits.sort_unstable();
        at_quantile(&waits, quantile).unwrap_or_default()
    }

    /// Packets lost, of those that all senders sent after that moment.
    pub fn loss_after(&self, from: Duration) -> f64 {
        let sums = self.flows.iter().map(|flow| flow.sent_after(from)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        sums.1 as f64 / sums.0.max(1) as f64
    }
}

/// Jain's fairness index of these flows' goodput, averaged over windows of `scale` between two moments; 0 where nothing moves.
pub(crate) fn jain<'a>(
    flows: impl Iterator<Item = &'a FlowResult> + Clone,
    scale: Duration,
    from: Duration,
    to: Duration,
) -> f64 {
    let windows = ((to - from).as_nanos() / scale.as_nanos()).max(1) as u32;
    let rates = |window: u32| {
        let begin = from + scale * window;
        flows.clone().map(|flow| flow.goodput(begin, begin + scale).bytes_per_sec()).collect()
    };
    pcc_stats::jain_over((0..windows).map(rates)).unwrap_or(0.0)
}

/// The value at this quantile of a sorted list, the lower of two neighbours.
fn at_quantile(sorted: &[u32], quantile: f64) -> Option<Duration> {
    let at = (sorted.len().checked_sub(1)? as f64 * quantile) as usize;
    sorted.get(at).map(|micros| Duration::from_micros(u64::from(*micros)))
}

fn narrowest(ways: &[(OneWay, u64)], from: Duration, to: Duration) -> Rate {
    let of = |(way, seed): &(OneWay, u64)| {
        let until = |end| way.capacity(*seed, Timestamp::ZERO + end).delivered.get();
        Bytes::new(until(to).saturating_sub(until(from)))
    };
    Rate::from_volume(ways.iter().map(of).min().unwrap_or_default(), to.saturating_sub(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flow, Scenario};

    #[test]
    fn nobody_has_a_share_of_a_path_that_carries_nothing() {
        let dark = "rate=10Mbit,rtt=10ms,blackout=0s/1000s";
        for (path, seconds) in [("rate=10Mbit,rtt=10ms", 0), (dark, 2)] {
            let duration = Duration::from_secs(seconds);
            let results =
                crate::run(&Scenario::new(path.parse().unwrap(), vec![Flow::default()], 1, duration)).unwrap();
            assert_eq!(results.share_after(Duration::ZERO), 0.0, "{path}");
        }
    }
}
