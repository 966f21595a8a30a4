//! What holds a transfer back, as far as this side can see.

use super::{Display, TICK, TICKS_OF_RATE};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use pcc::units::Rate;
use pcc_files::{SIDE_BY_SIDE, Source};
use std::collections::VecDeque;
use std::time::Instant;

/// Share of the time that must be spent waiting for the disk, or for input, before that is to blame.
const WAITING_SHARE: f64 = 0.3;

/// Share of the time of all files that are under way which bare round trips take, before those are to blame.
const ROUND_TRIPS_SHARE: f64 = 0.5;

/// What holds a transfer back, as far as this side can see.
#[derive(Debug, Default)]
pub(super) struct Limit {
    disk_waited_ns: u64,
    disk: bool,
    input_waited_ns: u64,
    input: bool,
    window: bool,
    round_trips: RoundTrips,
    /// Whether this is not the first look: right after its beginning a transfer has no rate that would say anything.
    looked: bool,
    silent: bool,
    user: bool,
    packets: Option<u64>,
    /// When the last of them came.
    heard: Option<Instant>,
}

/// A server that is there answers the question for that, which comes each second, in less.
const HEARD: Duration = Duration::from_millis(2500);

/// A rate from this share of the user's limit on is there because of it.
const LIMIT_SHARE: f64 = 0.9;

impl Limit {
    pub(super) fn look(&mut self, display: &Display, source: &Source, rate: Rate) {
        let much = |sum: &AtomicU64, before: &mut u64| {
            let waited = sum.load(Ordering::Relaxed);
            waited.saturating_sub(core::mem::replace(before, waited)) as f64 > WAITING_SHARE * TICK.as_nanos() as f64
        };
        self.disk = much(&display.disk_waited_ns, &mut self.disk_waited_ns);
        self.input = much(&display.input_waited_ns, &mut self.input_waited_ns);
        self.window = source.was_flow_blocked();
        let (requests, rtt) = source.requests();
        self.round_trips.look(requests, rtt, display.amount().files().is_some());
        let is_there = self.hears(source.packets(), Instant::now());
        self.silent = self.looked && rate.bytes_per_sec() <= 0.0 && is_there;
        self.looked = true;
        self.user = source.limit().is_some_and(|limit| rate >= limit * LIMIT_SHARE);
    }

    /// Whether the server is heard: so many packets have come over the connection, if there is one.
    fn hears(&mut self, packets: Option<u64>, now: Instant) -> bool {
        if packets != self.packets {
            (self.packets, self.heard) = (packets, Some(now));
        }
        packets.is_some() && self.heard.is_some_and(|heard| now.duration_since(heard) < HEARD)
    }

    /// In one word or two.
    pub(super) fn now(&self) -> &'static str {
        match self {
            Self { disk: true, .. } => "disk",
            Self { input: true, .. } => "input",
            Self { silent: true, .. } => "server",
            Self { user: true, .. } => "--limit",
            Self { window: true, .. } => "receiver window",
            Self { round_trips: RoundTrips { rule: true, .. }, .. } => "round trips",
            _ => "network",
        }
    }
}

/// Whether files are so small that asking for each takes longer than its bytes.
#[derive(Debug, Default)]
struct RoundTrips {
    /// Requests that had been made at the last looks.
    requests: VecDeque<u64>,
    rule: bool,
}

impl RoundTrips {
    /// A request costs a round trip, and so many files wait for theirs at a time.
    fn look(&mut self, requests: u64, rtt: Duration, is_directory: bool) {
        self.requests.push_back(requests);
        if self.requests.len() > TICKS_OF_RATE {
            self.requests.pop_front();
        }
        let ticks = self.requests.len() - 1;
        // A new connection counts anew.
        let made = requests.saturating_sub(self.requests.front().copied().unwrap_or(0));
        let waited = made as f64 * rtt.as_secs_f64();
        let time = ticks as f64 * TICK.as_secs_f64() * SIDE_BY_SIDE as f64;
        self.rule = is_directory && ticks > 0 && waited >= ROUND_TRIPS_SHARE * time;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Style;
    use super::super::tests::nowhere;
    use super::*;
    use std::sync::Arc;

    #[test]
    fn round_trips_limit_small_files_and_not_large_ones() {
        let rtt = Duration::from_millis(50);
        // Each of 256 files side by side needs a round trip a request: 5120 a second at most.
        for (a_second, is_directory, rules) in [(4100, true, true), (1280, true, false), (4100, false, false)] {
            let mut round_trips = RoundTrips::default();
            for tick in 0..2 * TICKS_OF_RATE as u64 {
                round_trips.look(a_second * tick / 4, rtt, is_directory);
            }
            assert_eq!(round_trips.rule, rules, "{a_second} a second, directory: {is_directory}");
        }
    }

    #[test]
    fn a_server_is_idle_only_while_it_is_heard() {
        let (mut limit, begun) = (Limit::default(), Instant::now());
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        assert!(!limit.hears(None, begun), "not connected");
        for second in 1..9 {
            assert!(limit.hears(Some(second), after(second)), "it answers each second");
        }
        assert!(limit.hears(Some(8), after(9)) && !limit.hears(Some(8), after(11)), "the path is dead");
        assert!(!limit.hears(None, after(12)) && limit.hears(Some(1), after(13)), "connected again");
    }

    #[test]
    fn without_a_connection_it_is_the_network_that_limits() {
        let display = Arc::new(Display::new(Style::default()));
        let source = nowhere(&display);
        let (mut limit, nothing) = (Limit::default(), Rate::from_bytes_per_sec(0.0));
        for _ in 0..3 {
            limit.look(&display, &source, nothing);
            assert_eq!(limit.now(), "network");
        }
        limit.look(&display, &source, Rate::from_mbit(1.0));
        assert_eq!(limit.now(), "network");
    }
}
