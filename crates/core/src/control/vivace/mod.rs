//! PCC Vivace: gradient ascent on the utility, one round of probes after the other. Source: `NSDI 2018` §4. The
//! differences of PCC Proteus (`SIGCOMM 2020`) are parameters, as in its authors' program.
//!
//! ```text
//!            round known: r := r + Δ, where Δ = θ₀·m(τ)·γ within ω·r
//!                     ┌────┐
//!                     │    ▼
//!  start-up ───────▶ PROBING ──▶ a pair r(1 ± ε), r(1 ∓ ε) in random order, or several; then r until the last result is there
//!                     │  ▲
//!                     │  ├── alone, the faster probe lost less: once more at r (double check)
//!                     │  ├── no vote, or the rates were alike: a new round at r
//!                     │  ├── short of data, idle, nothing told: a new round at r, within reach of what arrived
//!                     │  └── back off: a new round at that rate, τ and ω as at first
//!                     │
//!                     │ Proteus: r := r(1 ± ε) + Δ        not worth more: r := r − Δ; or short of data, idle
//!                     └───────────────────────▶ MOVING ──────────────────────────────────────────────▶ PROBING
//!                                                │  ▲
//!                                                └──┘ worth more: r := r + Δ, without probes
//! ```
//!
//! `noise.rs` filters the growth of the RTT before the utility sees it. Pairs vote (`round.rs`). The mean gradient of
//! the pairs in favour becomes a change of rate (`stride.rs`), from which steps may go on (`moving.rs`).

mod moving;
mod noise;
mod round;
mod stride;

use super::rate_control::Evaluate;
use super::{Path, RateControl, Verdict};
use crate::interval::IntervalPlan;
use crate::interval::Report;
use crate::rng::Rng;
use crate::units::Rate;
use moving::{Moving, Step};
use noise::Noise;
use round::{Outcome, Probed, Round};
use stride::Stride;

/// Parameters of Vivace. The defaults are those of the paper's Table 1; [`Config::proteus`] has others.
///
/// γ and θ₀ have units: the gradient is utility per Mbit/s, and θ₀·γ is a change in Mbit/s. θ₀ = 1 suits utilities that
/// gain about 1 for each Mbit/s, as the papers' do. Another utility needs another θ₀, or climbs at another pace.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Probes are sent at r(1 ± ε).
    pub epsilon: f64,
    /// θ₀, by how much a gradient of 1 changes the rate. Unit: (Mbit/s)² by utility.
    pub conversion: f64,
    /// ω₀, the largest change as a share of the rate.
    pub boundary: f64,
    /// δ, by how much ω is wider after each change that it cut short.
    pub boundary_step: f64,
    /// No change is smaller than this share of the rate. 0 in the paper, whose steps are 0.6 % at 100 Mbit/s, but 0.05 % at
    /// 1 Gbit/s; the authors' programs have 0.5 Mbit/s.
    pub step_min: f64,
    /// Growth of the RTT below this counts as none. Unit: s/s. The paper takes 0.05 on Wi-Fi.
    pub latency_filter: f64,
    /// Growth of the RTT over an interval counts if it exceeds this number of residuals of its regression. Less is
    /// noise, unless a trend over six intervals says otherwise. 0 in the paper, 1 in Proteus.
    pub tolerance: f64,
    /// Pairs of probes in a round: a majority of them decides on a higher rate, all of them on a lower one. 1 in the paper,
    /// 3 in Proteus for primary senders and 2 for scavengers.
    pub pairs: u8,
    /// No change is smaller than this. 0 in the paper; in Proteus 0.5, which at 1 Mbit/s is half of the rate. Unit: Mbit/s.
    pub least_change: f64,
    /// Steps without probes that may follow a decision, each as long as it is worth more than the last rate. 0 in the paper;
    /// Proteus has no limit.
    pub moves: u8,
    /// Ratio of two gaps between acknowledgements that shows a burst. Samples of the RTT are then left out until one is
    /// below the mean. 0, for never, in the paper; 50 in Proteus.
    pub burst_ratio: f64,
    /// Length of a probe. Unit: RTT.
    pub interval_rtts: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            epsilon: 0.05,
            conversion: 1.0,
            boundary: 0.05,
            boundary_step: 0.1,
            step_min: 0.0,
            latency_filter: 0.01,
            tolerance: 0.0,
            pairs: 1,
            least_change: 0.0,
            moves: 0,
            burst_ratio: 0.0,
            interval_rtts: 1.0,
        }
    }
}

impl Config {
    /// Most pairs of a round.
    pub const MOST_PAIRS: u8 = 8;

    /// PCC Proteus. Deviates in three points. A gradient is the mean of the pairs in favour; the authors' program
    /// divides by the number of all pairs. A boundary that was wide enough narrows to the needed width; theirs narrows
    /// by one step. Start-up is that of all laws here, without a return to it at 0.5 Mbit/s.
    pub fn proteus() -> Self {
        Self {
            pairs: 3,
            tolerance: 1.0,
            latency_filter: 0.0,
            boundary_step: 0.05,
            least_change: 0.5,
            moves: u8::MAX,
            burst_ratio: 50.0,
            ..Self::default()
        }
    }

    /// The authors' kernel module (`NetDev 0x12`).
    pub fn kernel() -> Self {
        Self { pairs: 2, step_min: 0.022, latency_filter: 0.03, ..Self::default() }
    }

    fn pairs(&self) -> u8 {
        self.pairs.clamp(1, Self::MOST_PAIRS)
    }
}

/// The Vivace law.
#[derive(Clone, Debug)]
pub struct Vivace {
    config: Config,
    /// The base rate r.
    rate: Rate,
    round: Round,
    /// The gradient of the round before, if it is being checked.
    checked: Option<f64>,
    /// The run of steps that a decision began, instead of a round.
    moving: Option<Moving>,
    stride: Stride,
    noise: Noise,
}

impl Vivace {
    /// A law that probes around `rate`.
    pub fn new(config: Config, rate: Rate) -> Self {
        let round = Round::new(config.pairs());
        Self { config, rate, round, checked: None, moving: None, stride: Stride::default(), noise: Noise::default() }
    }

    fn probe(&mut self, checked: Option<f64>) {
        (self.round, self.checked, self.moving) = (Round::new(self.config.pairs()), checked, None);
    }

    /// Changes the rate by what this gradient is good for.
    fn change(&mut self, gradient: f64, path: &Path) {
        let change = self.stride.change(gradient, self.rate.mbit(), &self.config);
        self.rate = path.clamp(Rate::from_mbit(self.rate.mbit() + change));
    }

    /// How far the probes are from the rate, as a share of it.
    fn epsilon(&self, path: &Path) -> f64 {
        path.visible(self.config.epsilon, self.rate, self.config.interval_rtts)
    }

    /// A round says this of the utility's slope; one of its better probes was that.
    fn decide(&mut self, gradient: f64, better: Probed, path: &Path) -> Verdict {
        if self.config.moves > 0 {
            self.rate = self.rate * (1.0 + gradient.signum() * self.epsilon(path));
            self.stride = Stride::default();
        }
        self.change(gradient, path);
        self.probe(None);
        self.moving = (self.config.moves > 0).then(|| Moving::from(better, gradient));
        Verdict::Realign(if gradient > 0.0 { "gradient says up" } else { "gradient says down" })
    }

    /// A step is worth this.
    fn on_step(&mut self, mut moving: Moving, report: &Report, utility: f64, path: &Path) -> Verdict {
        let step = moving.on_result(report, utility, self.config.moves);
        if let Step::On(gradient) | Step::Back(gradient) = step
            && gradient != 0.0
        {
            self.change(gradient, path);
        }
        self.probe(None);
        self.moving = matches!(step, Step::On(_)).then_some(moving);
        Verdict::Realign(if let Step::Back(_) = step { "step did not help" } else { "step helped" })
    }
}

impl RateControl for Vivace {
    fn next(&mut self, path: &Path, rng: &mut Rng) -> IntervalPlan {
        let rtts = (self.config.interval_rtts, self.config.interval_rtts);
        if let Some(moving) = &mut self.moving {
            return if moving.launch() {
                IntervalPlan { trial: Some(0), rtts, ..IntervalPlan::filler(self.rate) }
            } else {
                IntervalPlan::filler(self.rate)
            };
        }
        let Some((trial, high)) = self.round.launch(rng) else { return IntervalPlan::filler(self.rate) };
        let step = self.epsilon(path);
        let rate = self.rate * (if high { 1.0 + step } else { 1.0 - step });
        IntervalPlan { trial: Some(trial), rtts, ..IntervalPlan::filler(path.clamp(rate)) }
    }

    fn on_report(&mut self, plan: IntervalPlan, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        if report.app_limited {
            self.probe(None);
            return Verdict::Realign("probe short of data");
        }
        let seen = self.noise.counted(report, &self.config);
        if let Some(moving) = self.moving {
            return self.on_step(moving, &seen, utility.of(&seen), path);
        }
        match self.round.on_result(plan.trial.unwrap_or(0), &seen, self.rate, utility) {
            Outcome::Unknown => Verdict::Wait,
            Outcome::Undecided => {
                self.probe(None);
                Verdict::Realign("pairs disagree")
            }
            Outcome::Gradient { gradient, doubtful: true, .. } if self.checked.is_none() => {
                self.probe(Some(gradient));
                Verdict::Realign("double check")
            }
            Outcome::Gradient { gradient, better, .. } => {
                // The measurement that was in doubt counts if its repetition prefers the same side.
                let agreed = self.checked.filter(|first| (*first > 0.0) == (gradient > 0.0));
                let gradient = agreed.map_or(gradient, |first| f64::midpoint(first, gradient));
                self.decide(gradient, better, path)
            }
        }
    }

    fn begin(&mut self, rate: Rate, _: &Path) {
        self.noise = Noise::default();
        self.back_off(rate);
    }

    fn limit(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn back_off(&mut self, rate: Rate) {
        self.rate = rate;
        self.stride = Stride::default();
        self.probe(None);
    }

    fn restart(&mut self) {
        self.probe(None);
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn state(&self) -> &'static str {
        if self.moving.is_some() { "Moving" } else { "Probing" }
    }
}

#[cfg(test)]
mod tests;
