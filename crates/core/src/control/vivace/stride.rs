//! From a gradient to a change of rate: the confidence amplifier and the dynamic change boundary. Source: `NSDI 2018` §4.

use super::Config;

/// The boundary never widens beyond this share of the rate. The paper sets no end to it, and the tenth change down in a row
/// would stop the sender.
const WIDEST: f64 = 0.5;

/// The state of earlier decisions; it begins anew when the sign of the gradient changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stride {
    /// +1 or −1; 0 before the first decision.
    direction: f64,
    /// τ: decisions in this direction beyond the first.
    repeats: u32,
    /// k: by how many increments the boundary is wider.
    widened: f64,
}

impl Stride {
    /// The change of a rate of `mbit` Mbit/s for this gradient. Unit: Mbit/s.
    pub(super) fn change(&mut self, gradient: f64, mbit: f64, config: &Config) -> f64 {
        let direction = if gradient > 0.0 { 1.0 } else { -1.0 };
        *self = match direction == self.direction {
            true => Self { repeats: self.repeats.saturating_add(1), ..*self },
            false => Self { direction, ..Self::default() },
        };
        let amplifier = if config.moves > 0 { moving_amplifier(self.repeats) } else { amplifier(self.repeats) };
        let share = amplifier * config.conversion * gradient.abs() / mbit.max(f64::MIN_POSITIVE);
        let bound = |widened: f64| (config.boundary + widened * config.boundary_step).min(WIDEST);
        let within = share.min(bound(self.widened));
        self.widened = match share > within {
            true => self.widened + 1.0,
            // The fewest increments that would have let it through.
            false => ((share - config.boundary) / config.boundary_step).ceil().max(0.0),
        };
        direction * (within.max(config.step_min) * mbit).max(config.least_change)
    }
}

/// m(τ): 1, 1, 2, 3, 5, 7, 9 … The paper's table has 0 for τ = 0, its text 1.
fn amplifier(repeats: u32) -> f64 {
    let repeats = f64::from(repeats);
    if repeats > 3.0 { 2.0 * repeats - 3.0 } else { repeats.max(1.0) }
}

/// Proteus' amplifier: 1, 1, 2.3, 2.3, 3.7, 3.7 ... for a decision and the steps that go on from it.
fn moving_amplifier(repeats: u32) -> f64 {
    f64::from(repeats / 2 + 1).powf(1.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes in percent of the rate where the gradient is always this.
    fn changes(gradient: f64, mbit: f64, decisions: usize) -> Vec<f64> {
        let (mut stride, config) = (Stride::default(), Config::default());
        (0..decisions).map(|_| 100.0 * stride.change(gradient, mbit, &config) / mbit).collect()
    }

    fn are(found: &[f64], expected: &[f64]) {
        let alike = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01);
        assert!(alike && found.len() == expected.len(), "{found:?}, not {expected:?}");
    }

    #[test]
    fn the_amplifier_is_the_paper_s() {
        let found: Vec<f64> = (0..9).map(amplifier).collect();
        are(&found, &[1.0, 1.0, 2.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0]);
    }

    #[test]
    fn empty_path_is_climbed_by_slope_of_reward_amplified() {
        // 0.9·x^−0.1 is 0.568 at 100 Mbit/s and 0.451 at 1 Gbit/s.
        are(&changes(0.568, 100.0, 5), &[0.568, 0.568, 1.136, 1.704, 2.84]);
        are(&changes(0.451, 1000.0, 2), &[0.0451, 0.0451]);
        are(&changes(0.9, 1.0, 3), &[5.0, 15.0, 25.0]);
    }

    #[test]
    fn a_steep_gradient_is_bounded_at_half_of_the_rate() {
        are(&changes(-900.0, 100.0, 7), &[-5.0, -15.0, -25.0, -35.0, -45.0, -50.0, -50.0]);
    }

    #[test]
    fn boundary_narrows_to_what_change_needs_and_turn_begins_anew() {
        let (mut stride, config) = (Stride::default(), Config::default());
        for _ in 0..4 {
            stride.change(-900.0, 100.0, &config);
        }
        assert_eq!(stride.widened, 4.0);
        stride.change(-2.0, 100.0, &config); // m(4) is 5: 10 %, for which one increment is enough
        assert_eq!((stride.repeats, stride.widened), (4, 1.0));
        // m(3) is 3: 31 %, for which three are enough.
        let mut four = Stride { direction: -1.0, repeats: 2, widened: 4.0 };
        assert!((four.change(-31.0 / 3.0, 100.0, &config) + 31.0).abs() < 1e-9);
        assert_eq!(four.widened, 3.0);
        assert!((stride.change(900.0, 100.0, &config) - 5.0).abs() < 1e-9);
        assert_eq!(stride, Stride { direction: 1.0, repeats: 0, widened: 1.0 });
    }

    #[test]
    fn steps_that_go_on_are_amplified_by_power_of_every_other_one() {
        let found: Vec<f64> = (0..6).map(moving_amplifier).collect();
        are(&found, &[1.0, 1.0, 2.297, 2.297, 3.737, 3.737]);
    }

    #[test]
    fn the_least_change_of_proteus_exceeds_any_boundary() {
        let (mut stride, config) = (Stride::default(), Config::proteus());
        assert!((stride.change(1e-6, 100.0, &config) - 0.5).abs() < 1e-9);
        assert!((stride.change(1e-6, 1.0, &config) - 0.5).abs() < 1e-9, "half of the rate");
        assert!((stride.change(-900.0, 100.0, &config) + 5.0).abs() < 1e-9);
    }

    #[test]
    fn a_least_change_is_in_the_gradient_s_direction() {
        let config = Config { step_min: 0.005, ..Config::default() };
        let mut stride = Stride::default();
        assert!((stride.change(1e-6, 100.0, &config) - 0.5).abs() < 1e-9);
        assert!((stride.change(-1e-6, 100.0, &config) + 0.5).abs() < 1e-9);
    }

    #[test]
    fn probeless_steps_have_an_amplifier_of_their_own() {
        let third = |config: &Config| {
            let mut stride = Stride::default();
            (0..3).map(|_| stride.change(0.5, 100.0, config)).last()
        };
        for (config, change) in [
            (Config::default(), 1.0),
            (Config { conversion: 2.0, ..Config::default() }, 2.0),
            (Config { moves: 1, ..Config::default() }, 0.5 * 2.0_f64.powf(1.2)),
        ] {
            assert!(third(&config).is_some_and(|found| (found - change).abs() < 1e-9), "{config:?}");
        }
    }
}
