//! The randomised controlled trial: two intervals above the rate and two below, in an order that nobody can play to.

use crate::interval::Report;
use crate::rng::Rng;
use crate::units::Rate;
use core::time::Duration;

/// Trials of a round: two pairs.
const TRIALS: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Trials {
    /// How far from the rate they probe.
    pub(super) epsilon: f64,
    /// Which of them probe above it; drawn with the first.
    high: [bool; TRIALS],
    launched: u8,
    /// Boxed: it is by far the largest part of the state, and made once a round.
    results: Box<[Option<Report>; TRIALS]>,
}

impl Trials {
    pub(super) fn new(epsilon: f64) -> Self {
        Self { epsilon, high: [false; TRIALS], launched: 0, results: Box::default() }
    }

    /// The next trial: its number, and whether it probes above the rate; `None` when all are on their way.
    ///
    /// The paper draws the order of each pair. Deviates otherwise: blocks high-low-low-high and low-high-high-low cancel a
    /// linear drift of the path exactly, and which one comes is random.
    pub(super) fn launch(&mut self, each_pair_at_random: bool, rng: &mut Rng) -> Option<(u8, bool)> {
        let trial = self.launched;
        if trial == 0 {
            let first = rng.coin();
            let second = if each_pair_at_random { rng.coin() } else { !first };
            self.high = [first, !first, second, !second];
        }
        let high = *self.high.get(usize::from(trial))?;
        self.launched += 1;
        Some((trial, high))
    }

    /// Takes in a result; all of them, if it was the last.
    pub(super) fn on_result(&mut self, trial: u8, report: &Report) -> Option<Results> {
        self.results[usize::from(trial) % TRIALS] = Some(report.clone());
        let [Some(a), Some(b), Some(c), Some(d)] = &*self.results else { return None };
        let sorted = |high: bool, one: &Report, other: &Report| {
            if high { [one.clone(), other.clone()] } else { [other.clone(), one.clone()] }
        };
        let pairs = [sorted(self.high[0], a, b), sorted(self.high[2], c, d)];
        let [high, low] = [0, 1].map(|side| merged(&pairs[0][side], &pairs[1][side]));
        Some(Results { pairs, high, low })
    }
}

/// Results of the trials of a round.
pub(super) struct Results {
    /// Each pair's interval above the rate, and the one below.
    pairs: [[Report; 2]; 2],
    /// Both above the rate, as one.
    pub(super) high: Report,
    /// Both below the rate, as one.
    pub(super) low: Report,
}

impl Results {
    pub(super) fn pairs(&self) -> [(&Report, &Report); 2] {
        self.pairs.each_ref().map(|[high, low]| (high, low))
    }

    /// All four as one.
    pub(super) fn all(&self) -> Report {
        merged(&self.high, &self.low)
    }
}

/// Two intervals at the same rate as one report, of twice the packets: what such an interval is in the mean. The slopes are of the
/// time that one of them lasted, and so is all that is measured against them.
pub(super) fn merged(a: &Report, b: &Report) -> Report {
    let sent = a.sent + b.sent;
    let mean = |a: Option<f64>, b: Option<f64>| Some((a? + b?) / 2.0);
    let residual = a.rtt_residual.as_secs_f64().hypot(b.rtt_residual.as_secs_f64()) / core::f64::consts::SQRT_2;
    Report {
        duration: (a.duration + b.duration) / 2,
        achieved: Rate::from_volume(sent, a.duration + b.duration),
        packets: a.packets.saturating_add(b.packets),
        packets_lost: a.packets_lost.saturating_add(b.packets_lost),
        loss_bursts: a.loss_bursts.saturating_add(b.loss_bursts),
        packets_marked: a.packets_marked.saturating_add(b.packets_marked),
        sent,
        lost: a.lost + b.lost,
        rtt: a.rtt.zip(b.rtt).map(|(a, b)| (a + b) / 2),
        rtt_least: a.rtt_least.zip(b.rtt_least).map(|(a, b)| a.min(b)),
        rtt_gradient: mean(a.rtt_gradient, b.rtt_gradient),
        rtt_gradient_error: a.rtt_gradient_error.hypot(b.rtt_gradient_error) / 2.0,
        rtt_span: (a.rtt_span + b.rtt_span) / 2,
        rtt_pause: (a.rtt_pause + b.rtt_pause) / 2,
        rtt_residual: Duration::try_from_secs_f64(residual).unwrap_or(a.rtt_residual),
        rtt_deviation: (a.rtt_deviation + b.rtt_deviation) / 2,
        rtt_samples: a.rtt_samples.saturating_add(b.rtt_samples),
        ..a.clone()
    }
}
