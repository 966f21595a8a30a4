//! Which segments arrived, which transmissions are in flight, and which are lost: SACK, with losses found by time and by
//! order as Linux's RACK does (RFC 8985).

use super::sample::Stamp;
use core::time::Duration;
use pcc::units::Timestamp;
use std::collections::VecDeque;

/// Three later segments arrived: it is lost, unless packets were seen out of order (`tcp_reordering`).
const REORDERING: u64 = 3;
/// The window for reordering grows up to so many quarters of an RTT (`tcp_rack_update_reo_wnd`).
const MOST_STEPS: u32 = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Acked,
    Lost,
}

/// One packet: a segment on its way for the first time or again.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    segment: u64,
    state: State,
    is_repeated: bool,
    stamp: Stamp,
}

/// What an acknowledged packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fate {
    pub(super) stamp: Stamp,
    /// It had been taken for lost.
    pub(super) was_lost: bool,
}

#[derive(Debug)]
pub(super) struct Scoreboard {
    base: u64,
    sent: VecDeque<Transmission>,
    /// The first transmission that may be in flight.
    first: u64,
    in_flight: u64,
    /// Segments from the first that has not arrived on: whether each has.
    arrived: VecDeque<bool>,
    una: u64,
    /// Arrived beyond the first that has not.
    sacked: u64,
    repeat: VecDeque<u64>,
    highest: Option<u64>,
    /// The packet that left last of those that arrived: its number, departure and RTT.
    rack: Option<(u64, Timestamp, Duration)>,
    is_reordered: bool,
    steps: u32,
    widened: Timestamp,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self {
            base: 0,
            sent: VecDeque::new(),
            first: 0,
            in_flight: 0,
            arrived: VecDeque::new(),
            una: 0,
            sacked: 0,
            repeat: VecDeque::new(),
            highest: None,
            rack: None,
            is_reordered: false,
            steps: 1,
            widened: Timestamp::ZERO,
        }
    }
}

impl Scoreboard {
    pub(super) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(super) const fn una(&self) -> u64 {
        self.una
    }

    pub(super) fn next_segment(&self) -> u64 {
        self.una + self.arrived.len() as u64
    }

    pub(super) fn to_repeat(&self) -> usize {
        self.repeat.len()
    }

    /// The segment that left last, if it had left before.
    pub(super) fn repeated(&self) -> Option<u64> {
        self.sent.back().filter(|packet| packet.is_repeated).map(|packet| packet.segment)
    }

    /// Whether nothing was ever sent.
    pub(super) fn is_new(&self) -> bool {
        self.base == 0 && self.sent.is_empty()
    }

    /// How long ago the oldest packet in flight left.
    pub(super) fn head_age(&self, now: Timestamp) -> Option<Duration> {
        let place = usize::try_from(self.first - self.base).ok()?;
        self.sent.get(place).map(|packet| now.since(packet.stamp.sent))
    }

    /// Sends what was lost, else something new; the packet's number.
    pub(super) fn send(&mut self, stamp: Stamp) -> u64 {
        let mut repeated = None;
        while let Some(segment) = self.repeat.pop_front() {
            // It may have arrived since it was taken for lost.
            if segment >= self.una && !self.arrived[(segment - self.una) as usize] {
                repeated = Some(segment);
                break;
            }
        }
        let segment = repeated.unwrap_or_else(|| {
            self.arrived.push_back(false);
            self.next_segment() - 1
        });
        let is_repeated = repeated.is_some();
        self.sent.push_back(Transmission { segment, state: State::InFlight, is_repeated, stamp });
        self.in_flight += 1;
        self.base + self.sent.len() as u64 - 1
    }

    /// A packet arrived; `None` if that is no news.
    pub(super) fn acknowledge(&mut self, number: u64) -> Option<Fate> {
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        let packet = self.sent.get_mut(place)?;
        let was_lost = packet.state == State::Lost;
        match packet.state {
            State::Acked => return None,
            State::InFlight => self.in_flight -= 1,
            State::Lost => {}
        }
        packet.state = State::Acked;
        let (segment, stamp, is_repeated) = (packet.segment, packet.stamp, packet.is_repeated);
        self.is_reordered |= was_lost || !is_repeated && self.highest.is_some_and(|highest| number < highest);
        if segment >= self.una {
            let arrived = &mut self.arrived[(segment - self.una) as usize];
            self.sacked += u64::from(!*arrived);
            *arrived = true;
        }
        Some(Fate { stamp, was_lost })
    }

    /// The newest packet of an acknowledgement.
    pub(super) fn heard_of(&mut self, number: u64, sent: Timestamp, rtt: Duration) {
        self.highest = self.highest.max(Some(number));
        if self.rack.is_none_or(|(newest, ..)| number > newest) {
            self.rack = Some((number, sent, rtt));
        }
    }

    /// Forgets what is settled.
    pub(super) fn advance(&mut self) {
        while self.arrived.front() == Some(&true) {
            self.arrived.pop_front();
            self.una += 1;
            self.sacked -= 1;
        }
        // A packet taken for lost is remembered while its segment is missing, and 4096 packets longer.
        while let Some(packet) = self.sent.front() {
            let is_settled = match packet.state {
                State::InFlight => false,
                State::Acked => true,
                State::Lost => packet.segment < self.una || self.sent.len() > 4096,
            };
            if !is_settled {
                break;
            }
            self.sent.pop_front();
            self.base += 1;
        }
        self.first = self.first.max(self.base);
    }

    /// A loss was none: packets may be later than was thought. Once a round trip.
    pub(super) fn widen(&mut self, now: Timestamp, smoothed: Duration) {
        if now.since(self.widened) > smoothed {
            (self.steps, self.widened) = ((self.steps + 1).min(MOST_STEPS), now);
        }
    }

    /// Takes for lost what is too late by what has arrived since; how many, and when to look again.
    pub(super) fn find_losses(
        &mut self,
        now: Timestamp,
        is_recovering: bool,
        least: Duration,
        smoothed: Duration,
    ) -> (u64, Option<Timestamp>) {
        let Some((newest, _, rtt)) = self.rack else { return (0, None) };
        let in_order = !self.is_reordered && (is_recovering || self.sacked >= REORDERING);
        let patience = if in_order { Duration::ZERO } else { (least / 4 * self.steps).min(smoothed) };
        let (mut lost, mut next) = (0, None);
        for number in self.first..newest {
            let packet = &mut self.sent[(number - self.base) as usize];
            if packet.state == State::InFlight {
                let due = packet.stamp.sent + rtt + patience;
                if due > now {
                    // Later ones are due later.
                    next = Some(due);
                    break;
                }
                packet.state = State::Lost;
                let segment = packet.segment;
                self.in_flight -= 1;
                lost += 1;
                self.repeat.push_back(segment);
            }
            self.first = number + 1;
        }
        (lost, next)
    }

    /// After a time-out everything is lost but what left less than an RTT ago (`tcp_timeout_mark_lost`).
    pub(super) fn give_up(&mut self, now: Timestamp, rtt: Duration) -> u64 {
        let mut lost = 0;
        for packet in self.sent.iter_mut().filter(|packet| packet.state == State::InFlight) {
            if lost == 0 || now.since(packet.stamp.sent) >= rtt {
                packet.state = State::Lost;
                self.repeat.push_back(packet.segment);
                self.in_flight -= 1;
                lost += 1;
            }
        }
        lost
    }
}
