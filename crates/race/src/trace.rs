//! The observations of one runner, ten times a second.

use core::time::Duration;
use pcc::observe::{Event, Observer};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Ten a second: fine enough to see PCC's trials on a path of a satellite, few enough for a page.
pub const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

/// Changes of state that are kept; a control law that changes it a thousand times in a race cannot be drawn anyway.
const MOST_STATES: usize = 20_000;

/// Intervals that are kept: an hour of those of a path of 30 ms.
const MOST_RATES: usize = 200_000;

/// One look at a runner. Counters run from the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Since the request.
    pub at: Duration,
    /// File bytes that the client got in order.
    pub received: u64,
    /// File bytes that reached the client, in whatever order and repetitions included. With QUIC estimated from the UDP
    /// payload.
    pub arrived: u64,
    /// The sender's smoothed RTT.
    pub rtt: Duration,
    /// Packets that the sender sent.
    pub sent_packets: u64,
    /// Packets that the sender declared lost.
    pub lost_packets: u64,
    /// Bytes of UDP payload that the sender sent; with TCP as much of each packet.
    pub sent_bytes: u64,
    /// The sender's congestion window, bytes.
    pub window: u64,
    /// PCC's base rate, bits per second.
    pub rate: Option<f64>,
}

/// All that is known of a runner in the end.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Who.
    pub algorithm: &'static str,
    /// The request, since the path's time zero.
    pub requested: Duration,
    /// In order of time.
    pub samples: Vec<Sample>,
    /// States of PCC, each from its time after the request on.
    pub states: Vec<(Duration, &'static str)>,
    /// Rates that PCC tried, bits per second, each from its time after the request on.
    pub rates: Vec<(Duration, f64)>,
    /// File bytes in the copy.
    pub bytes: u64,
    /// From the request to the last byte, or until it was stopped.
    pub time: Duration,
    /// Whether all of the file arrived in time.
    pub finished: bool,
    /// Whether the copy is what it should be.
    pub verified: bool,
    /// Packets that the emulated path lost at random or in the dark.
    pub dropped_random: u64,
    /// Packets that the emulated path lost for want of buffer.
    pub dropped_buffer: u64,
    /// Packets that this computer lost, not the emulated path.
    pub dropped_host: u64,
    /// How late this computer was with 99 of 100 packets that left the emulated path; none where nobody counts.
    pub late: Option<Duration>,
    /// Why it could not run.
    pub error: Option<String>,
}

impl Trace {
    /// The trace of a runner that could not run.
    pub fn failed(algorithm: &'static str, error: String) -> Self {
        Self { algorithm, error: Some(error), ..Self::default() }
    }
}

/// Listens to a PCC sender.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    rate: Option<f64>,
    states: Vec<(Instant, &'static str)>,
    rates: Vec<(Instant, f64)>,
}

impl Watch {
    /// The base rate now, in bits per second.
    pub fn rate(&self) -> Option<f64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).rate
    }

    /// The state now.
    pub fn state(&self) -> Option<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).states.last().map(|(_, state)| *state)
    }

    /// The states since `start`; the one it was in then is the first.
    pub fn states(&self, start: Instant) -> Vec<(Duration, &'static str)> {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut states: Vec<(Duration, _)> = Vec::new();
        for (at, state) in &watched.states {
            let at = at.saturating_duration_since(start);
            if at.is_zero() {
                states.clear();
            }
            states.push((at, *state));
        }
        states
    }

    /// The rates that it tried, in bits per second, in order of time since `start`.
    pub fn rates(&self, start: Instant) -> Vec<(Duration, f64)> {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rates: Vec<_> =
            watched.rates.iter().map(|(at, rate)| (at.saturating_duration_since(start), *rate)).collect();
        rates.sort_by_key(|(at, _)| *at);
        rates
    }
}

impl Observer for Watch {
    fn on_event(&self, event: &Event<'_>) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Event::Interval { at, report, .. } = event
            && watched.rates.len() < MOST_RATES
            // It is resolved an RTT and more after it began.
            && let Some(began) = Instant::now().checked_sub(at.since(report.started))
        {
            watched.rates.push((began, report.target.bits_per_sec()));
        }
        let Event::Decision { state, rate, .. } = event else { return };
        watched.rate = Some(rate.bits_per_sec());
        if watched.states.last().is_none_or(|(_, last)| last != state) && watched.states.len() < MOST_STATES {
            watched.states.push((Instant::now(), state));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::units::{Rate, Timestamp};

    #[test]
    fn only_changes_of_state_are_kept() {
        let watch = Watch::default();
        let tell = |state, mbit| {
            watch.on_event(&Event::Decision {
                at: Timestamp::ZERO,
                state,
                rate: Rate::from_mbit(mbit),
                reason: "test",
            });
        };
        tell("Starting", 1.0);
        tell("Draining", 2.0);
        let request = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        tell("Decision Making", 3.0);
        tell("Decision Making", 4.0);
        let states = watch.states(request);
        assert_eq!(states.iter().map(|(_, state)| *state).collect::<Vec<_>>(), ["Draining", "Decision Making"]);
        assert_eq!(states[0].0, Duration::ZERO);
        assert_eq!((watch.rate(), watch.state()), (Some(4e6), Some("Decision Making")));
    }
}
