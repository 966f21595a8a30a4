//! BBR as Linux has it up to 6.12 (`tcp_bbr.c`, version 1): sends at the highest rate that data was delivered at of late,
//! with two bandwidth-delay products in flight. Source: Cardwell and others, ACM Queue 14(5), 2016;
//! `draft-cardwell-iccrg-bbr-congestion-control-00`.

mod filters;
mod long_term;

use super::INITIAL_WINDOW;
use super::control::{Acked, CongestionControl, InRecovery};
use super::window::Window;
use core::time::Duration;
use filters::{Aggregation, MaxFilter};
use long_term::LongTerm;
use pcc::rng::Rng;
use pcc::units::{Bytes, Rate, Timestamp};

/// 2/ln 2: the smallest gain that doubles the rate each round.
const HIGH_GAIN: f64 = 2.89;
/// Takes a round to drain what that made.
const DRAIN_GAIN: f64 = 1.0 / 2.885;
/// In flight, in bandwidth-delay products.
const WINDOW_GAIN: f64 = 2.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// A little below the estimate, so that no queue is built by chance.
const MARGIN: f64 = 0.99;
/// How long a minimum of the RTT is believed.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT: Duration = Duration::from_millis(200);
/// The least window, and that while the RTT is probed.
const LEAST_WINDOW: f64 = 4.0;
/// The pipe is full if the rate did not grow by this factor, for so many rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Below 1.2 Mbit/s a segment leaves at a time.
const SLOW: f64 = 1.2e6 / 8.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw(usize),
    ProbeRtt,
}

#[derive(Debug)]
pub(super) struct Bbr {
    mode: Mode,
    size: f64,
    rng: Rng,
    window: Window,
    prior_window: f64,
    /// Unit: bytes/s.
    pacing: Option<f64>,
    /// Highest delivery rates by round. Unit: segments/s.
    rates: MaxFilter,
    rounds: u64,
    round_ends: u64,
    is_round_start: bool,
    full_rate: f64,
    full_rounds: u32,
    is_full: bool,
    least_rtt: Option<Duration>,
    least_rtt_at: Timestamp,
    probe_rtt_until: Option<Timestamp>,
    probe_rtt_round_done: bool,
    cycle_began: Timestamp,
    aggregation: Aggregation,
    long_term: LongTerm,
    recovery: InRecovery,
    conserves: bool,
    lost: u64,
}

impl Bbr {
    pub(super) fn new(size: Bytes, seed: u64) -> Self {
        Self {
            mode: Mode::Startup,
            size: size.get() as f64,
            rng: Rng::new(seed ^ 0x62_6272),
            window: Window::default(),
            prior_window: 0.0,
            pacing: None,
            rates: MaxFilter::default(),
            rounds: 0,
            round_ends: 0,
            is_round_start: false,
            full_rate: 0.0,
            full_rounds: 0,
            is_full: false,
            least_rtt: None,
            least_rtt_at: Timestamp::ZERO,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            cycle_began: Timestamp::ZERO,
            aggregation: Aggregation::default(),
            long_term: LongTerm::default(),
            recovery: InRecovery::No,
            conserves: false,
            lost: 0,
        }
    }

    fn rate(&self) -> f64 {
        self.long_term.rate().unwrap_or_else(|| self.rates.max())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw(_) if self.long_term.rate().is_some() => 1.0,
            Mode::ProbeBw(phase) => CYCLE[phase % CYCLE.len()],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw(_) => WINDOW_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    fn bdp(&self, rate: f64, gain: f64) -> f64 {
        self.least_rtt.map_or(INITIAL_WINDOW, |rtt| (rate * rtt.as_secs_f64() * gain).ceil())
    }

    /// Room for trains and for odd acknowledgements (`bbr_quantization_budget`).
    fn budget(&self, window: f64) -> f64 {
        let train = (self.pacing.unwrap_or(0.0) / 1024.0).min(65_535.0) / self.size;
        let window = window + 3.0 * train.floor().max(self.least_train() as f64);
        let even = 2.0 * (window / 2.0).ceil();
        if self.mode == Mode::ProbeBw(0) { even + 2.0 } else { even }
    }

    fn inflight(&self, rate: f64, gain: f64) -> f64 {
        self.budget(self.bdp(rate, gain))
    }

    fn update_rate(&mut self, event: &Acked) {
        self.is_round_start = false;
        let Some(sample) = event.rate else { return };
        let Some(interval) = sample.interval else { return };
        if sample.prior_delivered >= self.round_ends {
            self.round_ends = event.delivered;
            self.rounds += 1;
            (self.is_round_start, self.conserves) = (true, false);
        }
        let in_probe_bw = matches!(self.mode, Mode::ProbeBw(_));
        if self.long_term.update(event, &sample, self.lost, self.is_round_start, in_probe_bw) {
            self.enter_probe_bw(event.now);
        }
        let rate = sample.delivered as f64 / interval.as_secs_f64();
        if !sample.app_limited || rate >= self.rates.max() {
            self.rates.insert(self.rounds, rate);
        }
    }

    fn update_cycle(&mut self, event: &Acked) {
        let Mode::ProbeBw(phase) = self.mode else { return };
        let is_full = event.now.since(self.cycle_began) > self.least_rtt.unwrap_or(Duration::MAX);
        let gain = self.pacing_gain();
        let in_flight = event.in_flight as f64;
        let is_next = if gain > 1.0 {
            is_full && (event.lost > 0 || in_flight >= self.inflight(self.rates.max(), gain))
        } else if gain < 1.0 {
            is_full || in_flight <= self.inflight(self.rates.max(), 1.0)
        } else {
            is_full
        };
        if is_next {
            self.mode = Mode::ProbeBw((phase + 1) % CYCLE.len());
            self.cycle_began = event.now;
        }
    }

    /// The first phase is any but the draining one.
    fn enter_probe_bw(&mut self, now: Timestamp) {
        let drawn = (self.rng.unit() * 7.0) as usize;
        self.mode = Mode::ProbeBw((CYCLE.len() - drawn) % CYCLE.len());
        self.cycle_began = now;
    }

    fn check_full(&mut self, event: &Acked) {
        let app_limited = event.rate.is_some_and(|sample| sample.app_limited);
        if self.is_full || !self.is_round_start || app_limited {
            return;
        }
        if self.rates.max() >= self.full_rate * FULL_GROWTH {
            (self.full_rate, self.full_rounds) = (self.rates.max(), 0);
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, event: &Acked) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            self.window.threshold = self.inflight(self.rates.max(), 1.0);
        }
        if self.mode == Mode::Drain && event.in_flight as f64 <= self.inflight(self.rates.max(), 1.0) {
            self.enter_probe_bw(event.now);
        }
    }

    fn update_least_rtt(&mut self, event: &Acked) {
        let is_old = event.now.since(self.least_rtt_at) > MIN_RTT_WINDOW;
        if let Some(rtt) = event.rtt
            && (is_old || self.least_rtt.is_none_or(|least| rtt < least))
        {
            (self.least_rtt, self.least_rtt_at) = (Some(rtt), event.now);
        }
        if is_old && self.mode != Mode::ProbeRtt {
            self.save_window();
            (self.mode, self.probe_rtt_until) = (Mode::ProbeRtt, None);
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match self.probe_rtt_until {
            None if event.in_flight as f64 <= LEAST_WINDOW => {
                self.probe_rtt_until = Some(event.now + PROBE_RTT);
                (self.probe_rtt_round_done, self.round_ends) = (false, event.delivered);
            }
            None => {}
            Some(until) => {
                self.probe_rtt_round_done |= self.is_round_start;
                if self.probe_rtt_round_done && event.now > until {
                    self.least_rtt_at = event.now;
                    self.window.segments = self.window.segments.max(self.prior_window);
                    if self.is_full {
                        self.enter_probe_bw(event.now);
                    } else {
                        self.mode = Mode::Startup;
                    }
                }
            }
        }
    }

    fn save_window(&mut self) {
        let usual = self.recovery == InRecovery::No && self.mode != Mode::ProbeRtt;
        self.prior_window = if usual { self.window.segments } else { self.prior_window.max(self.window.segments) };
    }

    fn update_pacing(&mut self, event: &Acked) {
        let Some(smoothed) = event.smoothed else { return };
        let initial = HIGH_GAIN * INITIAL_WINDOW * self.size / smoothed.as_secs_f64().max(1e-6);
        let current = *self.pacing.get_or_insert(initial);
        let rate = self.rate() * self.size * self.pacing_gain() * MARGIN;
        if self.is_full || rate > current {
            self.pacing = Some(rate);
        }
    }

    fn update_window(&mut self, event: &Acked, recovery: InRecovery) {
        let before = core::mem::replace(&mut self.recovery, recovery);
        if event.acked == 0 {
            return self.bound();
        }
        let acked = event.acked as f64;
        self.window.segments = (self.window.segments - event.lost as f64).max(1.0);
        if recovery == InRecovery::Fast && before != InRecovery::Fast {
            // For a round, one leaves for each that arrives.
            (self.conserves, self.round_ends) = (true, event.delivered);
            self.window.segments = event.in_flight as f64 + acked;
        } else if recovery == InRecovery::No && before != InRecovery::No {
            self.window.segments = self.window.segments.max(self.prior_window);
            self.conserves = false;
        }
        if self.conserves {
            self.window.segments = self.window.segments.max(event.in_flight as f64 + acked);
            return self.bound();
        }
        let extra = if self.is_full { self.aggregation.extra(self.rate()) } else { 0.0 };
        let target = self.budget(self.bdp(self.rate(), self.window_gain()) + extra);
        if self.is_full {
            self.window.segments = (self.window.segments + acked).min(target);
        } else if self.window.segments < target || (event.delivered as f64) < INITIAL_WINDOW {
            self.window.segments += acked;
        }
        self.window.segments = self.window.segments.max(LEAST_WINDOW);
        self.bound();
    }

    fn bound(&mut self) {
        if self.mode == Mode::ProbeRtt {
            self.window.segments = self.window.segments.min(LEAST_WINDOW);
        }
    }
}

impl CongestionControl for Bbr {
    fn limits(&self) -> &Window {
        &self.window
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn limits_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn reduced(&mut self, _: Timestamp) -> f64 {
        self.save_window();
        self.window.threshold
    }

    fn on_ack(&mut self, event: &Acked, recovery: InRecovery) {
        self.lost += event.lost;
        self.update_rate(event);
        self.aggregation.update(event, self.rate(), self.window.segments, self.is_round_start);
        self.update_cycle(event);
        self.check_full(event);
        self.check_drain(event);
        self.update_least_rtt(event);
        self.update_pacing(event);
        self.update_window(event, recovery);
    }

    fn decides_alone(&self) -> bool {
        true
    }

    fn on_timeout(&mut self, _: Timestamp) {
        (self.recovery, self.full_rate, self.is_round_start) = (InRecovery::Timeout, 0.0, true);
    }

    fn on_undo(&mut self) {
        (self.full_rate, self.full_rounds) = (0.0, 0);
        self.long_term = LongTerm::default();
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.map(Rate::from_bytes_per_sec)
    }

    fn least_train(&self) -> u64 {
        if self.pacing.is_some_and(|pacing| pacing < SLOW) { 1 } else { 2 }
    }

    fn state(&self) -> Option<&'static str> {
        Some(match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw(_) if self.long_term.rate().is_some() => "policed",
            Mode::ProbeBw(_) => "probe-bw",
            Mode::ProbeRtt => "probe-rtt",
        })
    }
}
