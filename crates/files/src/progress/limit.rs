//! The limit of a transfer, as far as this side can see it.

use super::{LOOKS_OF_RATE, Progress};
use crate::client::concurrency::SIDE_BY_SIDE;
use crate::client::source::Source;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use pcc::units::Rate;
use std::collections::VecDeque;
use std::time::Instant;

/// The limit of a transfer, as far as this side can see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitedBy {
    /// The disk of this side.
    Disk,
    /// Standard input.
    Input,
    /// The server, which is there and sends or takes nothing.
    Server,
    /// The rate that this side keeps to.
    Rate,
    /// Flow control.
    ReceiverWindow,
    /// Files so small that asking for each takes longer than its bytes.
    RoundTrips,
    /// The network, which is what should.
    Network,
}

/// Share of the time that must be spent waiting for the disk, or for input, before that is to blame.
const WAITING_SHARE: f64 = 0.3;

/// Share of the time of all files that are under way which bare round trips take, before those are to blame.
const ROUND_TRIPS_SHARE: f64 = 0.5;

/// How long the network waited for others.
#[derive(Debug, Default)]
pub(super) struct Waited {
    disk_ns: AtomicU64,
    input_ns: AtomicU64,
}

impl Waited {
    pub(super) fn disk(&self, time: Duration) {
        add(&self.disk_ns, time);
    }

    pub(super) fn input(&self, time: Duration) {
        add(&self.input_ns, time);
    }
}

fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// The findings of the last looks.
#[derive(Debug, Default)]
pub(super) struct Looks {
    disk_waited_ns: u64,
    input_waited_ns: u64,
    round_trips: RoundTrips,
    /// Whether this is not the first look: right after its beginning a transfer has no rate that would say anything.
    looked: bool,
    packets: Option<u64>,
    /// When the last of them came.
    heard: Option<Instant>,
}

/// A server that is there answers the question for that, which comes each second, in less.
const HEARD: Duration = Duration::from_millis(2500);

/// A rate from this share of the user's limit on is there because of it.
const LIMIT_SHARE: f64 = 0.9;

impl Looks {
    pub(super) fn look(&mut self, waited: &Waited, source: &Source, rate: Rate, is_directory: bool) -> LimitedBy {
        let much = |sum: &AtomicU64, before: &mut u64| {
            let waited = sum.load(Ordering::Relaxed);
            let since = waited.saturating_sub(core::mem::replace(before, waited));
            since as f64 > WAITING_SHARE * Progress::TICK.as_nanos() as f64
        };
        let disk = much(&waited.disk_ns, &mut self.disk_waited_ns);
        let input = much(&waited.input_ns, &mut self.input_waited_ns);
        let window = source.was_flow_blocked();
        let (requests, rtt) = source.requests();
        let round_trips = self.round_trips.look(requests, rtt, is_directory);
        let is_there = self.hears(source.packets(), Instant::now());
        let is_silent = core::mem::replace(&mut self.looked, true) && rate.bytes_per_sec() <= 0.0 && is_there;
        let limited = source.limit().is_some_and(|limit| rate >= limit * LIMIT_SHARE);
        let found = [
            (disk, LimitedBy::Disk),
            (input, LimitedBy::Input),
            (is_silent, LimitedBy::Server),
            (limited, LimitedBy::Rate),
            (window, LimitedBy::ReceiverWindow),
            (round_trips, LimitedBy::RoundTrips),
        ];
        found.into_iter().find_map(|(is_so, limit)| is_so.then_some(limit)).unwrap_or(LimitedBy::Network)
    }

    /// Whether the server is heard: so many packets have come over the connection, if there is one.
    fn hears(&mut self, packets: Option<u64>, now: Instant) -> bool {
        if packets != self.packets {
            (self.packets, self.heard) = (packets, Some(now));
        }
        packets.is_some() && self.heard.is_some_and(|heard| now.duration_since(heard) < HEARD)
    }
}

/// Whether files are so small that asking for each takes longer than its bytes.
#[derive(Debug, Default)]
struct RoundTrips {
    /// Requests that had been made at the last looks.
    requests: VecDeque<u64>,
}

impl RoundTrips {
    /// A request costs a round trip, and so many files wait for theirs at a time.
    fn look(&mut self, requests: u64, rtt: Duration, is_directory: bool) -> bool {
        self.requests.push_back(requests);
        if self.requests.len() > LOOKS_OF_RATE {
            self.requests.pop_front();
        }
        let ticks = self.requests.len() - 1;
        // A new connection counts anew.
        let made = requests.saturating_sub(self.requests.front().copied().unwrap_or(0));
        let waited = made as f64 * rtt.as_secs_f64();
        let time = ticks as f64 * Progress::TICK.as_secs_f64() * SIDE_BY_SIDE as f64;
        is_directory && ticks > 0 && waited >= ROUND_TRIPS_SHARE * time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use std::sync::Arc;

    #[test]
    fn round_trips_limit_small_files_and_not_large_ones() {
        let rtt = Duration::from_millis(50);
        // Each of 256 files side by side needs a round trip a request: 5120 a second at most.
        for (a_second, is_directory, rules) in [(4100, true, true), (1280, true, false), (4100, false, false)] {
            let mut round_trips = RoundTrips::default();
            let looks =
                (0..2 * LOOKS_OF_RATE as u64).map(|tick| round_trips.look(a_second * tick / 4, rtt, is_directory));
            assert_eq!(looks.last(), Some(rules), "{a_second} a second, directory: {is_directory}");
        }
    }

    #[test]
    fn a_server_is_idle_only_while_it_is_heard() {
        let (mut limit, begun) = (Looks::default(), Instant::now());
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
        let source = Source::of(&"https://host:1/".parse().unwrap(), Arc::new(Silent));
        let (mut looks, waited, nothing) = (Looks::default(), Waited::default(), Rate::from_bytes_per_sec(0.0));
        for rate in [nothing, nothing, nothing, Rate::from_mbit(1.0)] {
            assert_eq!(looks.look(&waited, &source, rate, false), LimitedBy::Network);
        }
    }
}
