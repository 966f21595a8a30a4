//! Which train comes next in one direction.

use super::figures;
use super::train::{FASTEST, Heard, Train};
use pcc::units::Rate;
use std::time::Duration;

/// The rate of the first train, 2 Mbit/s: whoever answers may send as fast without having seen anything arrive. Unit: bytes per
/// second.
pub const FIRST: f64 = 250e3;

/// Each of the first trains is faster than the one before by this factor.
const STEP: f64 = 2.0;
/// How long each of them is: a hundred packets at 10 Mbit/s.
const SHORT: Duration = Duration::from_millis(100);
/// How long the train is that confirms what they found: ten times a radio's pause.
const CONFIRMING: Duration = Duration::from_millis(1500);
/// The queue is filled by this multiple of what the path carries: a product of rate and RTT is full after four RTTs.
const ABOVE: f64 = 1.25;
/// And by this multiple if that was not enough to make the queue overflow.
const FAR_ABOVE: f64 = 2.0;
/// Losses and delays are looked for at this part of what the path carries at its slowest.
const BELOW: f64 = 0.5;
/// A quiet path has at most this part of what it carries, and a packet in this time.
const QUIET: f64 = 0.1;
const QUIET_GAP: Duration = Duration::from_millis(2);

/// The parts of the time: quiet, filling, calm.
const PARTS: [f64; 3] = [0.3, 0.45, 0.25];
/// Filling trains: the later ones know of what the earlier ones met.
const FILLINGS: usize = 2;

/// Trains that look for the rate: two for each of the nine doublings from the first to the fastest, and a few.
const MOST_SEARCHES: usize = 24;

/// The purpose of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Looks for the rate.
    Search,
    /// Confirms it.
    Confirm,
    /// Far below it: base delay, jitter.
    Quiet,
    /// Above it: rate, buffer.
    Fill,
    /// Half of it: random loss, reordering.
    Calm,
}

/// The trains of one direction, past and next.
#[derive(Clone, Debug)]
pub struct Course {
    time: Duration,
    purpose: Option<Purpose>,
    /// The next train's rate, or the path's as far as it is known.
    rate: Rate,
    /// Short trains were mistaken once: only long ones are believed.
    has_doubts: bool,
    fillings: usize,
    heard: Vec<(Purpose, Heard)>,
}

impl Course {
    /// A course whose measuring, the search aside, takes this time.
    pub fn new(time: Duration) -> Self {
        Self {
            time,
            purpose: Some(Purpose::Search),
            rate: Rate::from_bytes_per_sec(FIRST),
            has_doubts: false,
            fillings: 0,
            heard: Vec::new(),
        }
    }

    /// The next train; `None` at the end.
    pub fn next(&self) -> Option<(Purpose, Train)> {
        let purpose = self.purpose?;
        let part = |part: usize| self.time.mul_f64(PARTS[part]);
        let train = match purpose {
            Purpose::Search => Train::new(self.rate, SHORT),
            Purpose::Confirm => Train::new(self.rate * ABOVE, CONFIRMING),
            Purpose::Quiet => {
                let gap = (self.rate * QUIET).time_for(super::train::WIRE).max(QUIET_GAP);
                Train::new(Rate::from_bytes_per_sec(super::train::WIRE.get() as f64 / gap.as_secs_f64()), part(0))
            }
            Purpose::Fill => {
                let overflows = self.heard(Purpose::Fill).all(figures::overflows);
                Train::new(self.rate * if overflows { ABOVE } else { FAR_ABOVE }, part(1) / FILLINGS as u32)
            }
            Purpose::Calm => Train::new(self.slowest() * BELOW, part(2)),
        };
        Some((purpose, train))
    }

    /// That train has passed.
    pub fn pass(&mut self, heard: Heard) {
        let Some(purpose) = self.purpose else { return };
        self.purpose = match purpose {
            Purpose::Search => self.searched(&heard),
            Purpose::Confirm if figures::is_full(&heard) => {
                self.rate = fastest(&heard).unwrap_or(self.rate);
                Some(Purpose::Quiet)
            }
            // A radio's pause looked like the end of the rate.
            Purpose::Confirm => {
                self.has_doubts = true;
                self.rate = heard.train.rate();
                self.faster()
            }
            Purpose::Quiet => Some(Purpose::Fill),
            // Neither was the rate found.
            Purpose::Fill
                if !figures::is_full(&heard)
                    && heard.train.rate().bytes_per_sec() < FASTEST * 0.99
                    && self.may_search() =>
            {
                self.rate = heard.train.rate();
                let next = self.faster();
                self.heard.push((Purpose::Search, heard));
                self.heard.retain(|(purpose, _)| *purpose == Purpose::Search);
                self.purpose = next;
                return;
            }
            Purpose::Fill => {
                self.fillings += 1;
                self.rate = fastest(&heard).unwrap_or(self.rate);
                Some(if self.fillings < FILLINGS { Purpose::Fill } else { Purpose::Calm })
            }
            Purpose::Calm => None,
        };
        self.heard.push((purpose, heard));
    }

    /// The trains of this purpose.
    pub fn heard(&self, purpose: Purpose) -> impl Iterator<Item = &Heard> {
        self.heard.iter().filter(move |(of, _)| *of == purpose).map(|(_, heard)| heard)
    }

    /// Whether any train has passed that was meant to measure.
    pub fn has_measured(&self) -> bool {
        self.heard(Purpose::Fill).next().is_some()
    }

    /// Whether there were not too many trains yet.
    fn may_search(&self) -> bool {
        self.heard(Purpose::Search).count() < MOST_SEARCHES
    }

    fn searched(&mut self, heard: &Heard) -> Option<Purpose> {
        if figures::is_full(heard) {
            self.rate = figures::arrival_rate(heard).unwrap_or(self.rate).min(heard.train.rate());
            return Some(Purpose::Confirm);
        }
        self.rate = heard.train.rate();
        self.faster()
    }

    fn faster(&mut self) -> Option<Purpose> {
        if self.rate.bytes_per_sec() >= FASTEST * 0.99 {
            return Some(Purpose::Quiet);
        }
        self.rate = (self.rate * STEP).min(Rate::from_bytes_per_sec(FASTEST));
        if self.has_doubts {
            self.rate = self.rate * (1.0 / ABOVE);
            return Some(Purpose::Confirm);
        }
        Some(Purpose::Search)
    }

    /// The path's rate in its slowest tenths of a second.
    fn slowest(&self) -> Rate {
        let mut rates: Vec<f64> = self.heard(Purpose::Fill).flat_map(figures::coarse_rates).collect();
        rates.sort_by(f64::total_cmp);
        let slowest = rates.get(rates.len() / 10).copied().unwrap_or(self.rate.bytes_per_sec());
        Rate::from_bytes_per_sec(slowest.max(1.0)).min(self.rate)
    }
}

/// The path's rate in its fastest tenths of a second during this train.
fn fastest(heard: &Heard) -> Option<Rate> {
    let mut rates = figures::coarse_rates(heard);
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() * 9 / 10).copied().filter(|rate| *rate > 0.0).map(Rate::from_bytes_per_sec)
}
