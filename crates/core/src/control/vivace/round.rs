//! A round: pairs of probes above and below the rate, and how they vote. Source: `NSDI 2018` §4 for one pair and its double
//! check, `SIGCOMM 2020` for several.

use super::Config;
use crate::control::rate_control::Evaluate;
use crate::interval::Report;
use crate::rng::Rng;
use crate::units::Rate;

/// Rates closer than this share of the base rate are alike: one lost packet would make any gradient (the authors' kernel
/// module, NetDev 0x12, takes the same).
const ALIKE: f64 = 0.02;
const MOST: usize = Config::MOST_PAIRS as usize;

/// A probe's result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probed {
    /// Unit: Mbit/s, as achieved.
    rate: f64,
    utility: f64,
    loss: f64,
}

/// Where a round has got to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Results are missing.
    Unknown,
    /// It favours neither side.
    Undecided,
    /// The slope of the utility; `doubtful` if a lone pair's faster probe lost less; the better probe of the last pair in
    /// favour. Unit: utility by Mbit/s.
    Gradient { gradient: f64, doubtful: bool, better: Probed },
}

impl Probed {
    pub(super) fn of(report: &Report, utility: f64) -> Self {
        Self { rate: report.achieved.mbit(), utility, loss: report.loss() }
    }

    /// The slope of the utility from here to there; 0 if the rates are no more than `alike` apart.
    pub(super) fn gradient(&self, there: &Self, alike: f64) -> f64 {
        let apart = there.rate - self.rate;
        if apart.abs() > alike { (there.utility - self.utility) / apart } else { 0.0 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Round {
    pairs: u8,
    /// Which pairs begin above the rate; drawn with the first probe of each.
    high_first: [bool; MOST],
    launched: u8,
    /// Boxed: it is by far the largest part of the state, and made once a round.
    results: Box<[[Option<Probed>; 2]; MOST]>,
}

impl Round {
    pub(super) fn new(pairs: u8) -> Self {
        Self { pairs, high_first: [false; MOST], launched: 0, results: Box::new([[None; 2]; MOST]) }
    }

    /// The next probe: its number, and whether it is above the rate; `None` when all are on their way.
    pub(super) fn launch(&mut self, rng: &mut Rng) -> Option<(u8, bool)> {
        let trial = self.launched;
        if trial >= 2 * self.pairs {
            return None;
        }
        if trial.is_multiple_of(2) {
            self.high_first[usize::from(trial / 2) % MOST] = rng.coin();
        }
        self.launched += 1;
        Some((trial, self.is_high(trial)))
    }

    fn is_high(&self, trial: u8) -> bool {
        self.high_first[usize::from(trial / 2) % MOST] == trial.is_multiple_of(2)
    }

    /// Takes in the result of a probe around this rate.
    pub(super) fn on_result(&mut self, trial: u8, report: &Report, base: Rate, utility: Evaluate<'_>) -> Outcome {
        let side = usize::from(self.is_high(trial));
        self.results[usize::from(trial / 2) % MOST][side] = Some(Probed::of(report, utility.of(report)));
        let results = &self.results[..usize::from(self.pairs)];
        if results.iter().flatten().any(Option::is_none) {
            return Outcome::Unknown;
        }
        let pairs = results.iter().filter_map(|pair| pair[0].zip(pair[1]));
        // A slower probe that achieved more is none.
        let gradients = pairs.clone().filter(|(low, high)| high.rate > low.rate);
        let gradients = gradients.map(|(low, high)| (low.gradient(&high, ALIKE * base.mbit()), low, high));
        let of_sign = |sign: f64| gradients.clone().filter(move |(gradient, ..)| gradient * sign > 0.0);
        let (ups, downs, all) = (of_sign(1.0).count(), of_sign(-1.0).count(), usize::from(self.pairs));
        // More go up than go down: who needed all of them to go up would give way to everybody else's noise.
        let (sign, favour) = if 2 * ups > all { (1.0, ups) } else { (-1.0, downs) };
        let Some((_, low, high)) = of_sign(sign).next_back().filter(|_| sign > 0.0 || downs == all) else {
            return Outcome::Undecided;
        };
        let doubtful = self.pairs == 1 && high.loss < low.loss;
        let gradient = of_sign(sign).map(|(gradient, ..)| gradient).sum::<f64>() / favour as f64;
        Outcome::Gradient { gradient, doubtful, better: if sign > 0.0 { high } else { low } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    /// A round around 100 Mbit/s whose pairs have these slopes, and what it says; no probe loses anything.
    fn round(slopes: &[f64]) -> Outcome {
        let (mut round, mut rng) = (Round::new(slopes.len() as u8), Rng::new(3));
        let mut outcome = Outcome::Undecided;
        while let Some((trial, high)) = round.launch(&mut rng) {
            assert!(trial == 0 || outcome == Outcome::Unknown);
            let slope = slopes[usize::from(trial / 2)];
            let seen = report(if high { 105.0 } else { 95.0 }, 0.0);
            outcome = round
                .on_result(trial, &seen, Rate::from_mbit(100.0), &|report: &Report| slope * report.achieved.mbit());
        }
        outcome
    }

    fn says(slopes: &[f64], expected: Option<f64>) {
        match (round(slopes), expected) {
            (Outcome::Gradient { gradient, doubtful: false, better }, Some(expected)) => {
                assert!((gradient - expected).abs() < 1e-9, "{slopes:?}: {gradient}");
                assert_eq!(better.rate > 100.0, expected > 0.0, "{slopes:?}: {better:?}");
            }
            (Outcome::Undecided, None) => {}
            other => panic!("{slopes:?}: {other:?}"),
        }
    }

    #[test]
    fn a_lone_pair_decides() {
        says(&[2.0], Some(2.0));
        says(&[-2.0], Some(-2.0));
        says(&[0.0], None);
    }

    #[test]
    fn of_three_pairs_two_decide_on_more_and_three_on_less() {
        says(&[1.0, -9.0, 3.0], Some(2.0));
        says(&[1.0, 2.0, 3.0], Some(2.0));
        says(&[-1.0, -2.0, 3.0], None);
        says(&[-1.0, -2.0, 0.0], None);
        says(&[-1.0, -2.0, -3.0], Some(-2.0));
    }

    #[test]
    fn of_two_pairs_both_decide() {
        says(&[1.0, 3.0], Some(2.0));
        says(&[-1.0, -3.0], Some(-2.0));
        says(&[1.0, -3.0], None);
        says(&[1.0, 0.0], None);
    }

    #[test]
    fn each_pair_probes_both_sides_and_either_may_come_first() {
        let mut rng = Rng::new(1);
        let (mut high_first, mut alike) = ([0; 2], 0);
        for _ in 0..100 {
            let mut round = Round::new(2);
            let launched: Vec<_> = core::iter::from_fn(|| round.launch(&mut rng)).collect();
            let [(0, a), (1, b), (2, c), (3, d)] = launched[..] else { panic!("{launched:?}") };
            assert!(a != b && c != d);
            high_first = [high_first[0] + u32::from(a), high_first[1] + u32::from(c)];
            alike += u32::from(a == c);
        }
        let halves = [high_first[0], high_first[1], alike];
        assert!(halves.iter().all(|half| (30..70).contains(half)), "{halves:?} of 100");
    }

    #[test]
    fn rates_that_a_host_made_alike_have_no_gradient() {
        for (high, decided) in [(96.9, false), (97.1, true)] {
            let (mut round, mut rng) = (Round::new(1), Rng::new(1));
            let mut outcome = Outcome::Unknown;
            while let Some((trial, is_high)) = round.launch(&mut rng) {
                let seen = report(if is_high { high } else { 95.0 }, 0.0);
                outcome =
                    round.on_result(trial, &seen, Rate::from_mbit(100.0), &|report: &Report| report.achieved.mbit());
            }
            assert_eq!(matches!(outcome, Outcome::Gradient { .. }), decided, "{high}: {outcome:?}");
        }
    }

    #[test]
    fn a_lone_pair_whose_faster_probe_lost_less_is_doubtful() {
        for (pairs, low, high, expected) in
            [(1, 0.02, 0.01, true), (1, 0.01, 0.01, false), (1, 0.0, 0.01, false), (3, 0.02, 0.01, false)]
        {
            let (mut round, mut rng) = (Round::new(pairs), Rng::new(1));
            let mut outcome = Outcome::Unknown;
            while let Some((trial, is_high)) = round.launch(&mut rng) {
                let seen = if is_high { report(105.0, high) } else { report(95.0, low) };
                outcome =
                    round.on_result(trial, &seen, Rate::from_mbit(100.0), &|report: &Report| report.achieved.mbit());
            }
            let Outcome::Gradient { doubtful, .. } = outcome else { panic!("{outcome:?}") };
            assert_eq!(doubtful, expected, "{pairs} pairs, {low} and {high} lost");
        }
    }
}
