//! The delay of a contended Wi-Fi channel, as draft-huitema-ccwg-c4-test models it from traces.
//!
//! A packet waits for N1 back-offs of up to a millisecond, N1 being Poisson with mean 1: `N1 · 1 ms − u`, where u is
//! uniform in 0 to 1 ms and 0 if N1 is. A share of the packets is sent again by the radio and waits
//! `N2 · 7.5 ms` longer, N2 being Poisson with mean 12. The share follows from the mean that is asked for:
//! (mean − 1 ms) / 90 ms. Since u is subtracted, the delays of the model lie 0.32 ms below that mean.

use crate::rng::Rng;
use core::time::Duration;

/// The least mean: no packet is sent again.
pub(crate) const LEAST: Duration = Duration::from_millis(1);
/// The largest mean: every packet is sent again.
pub(crate) const MOST: Duration = Duration::from_millis(91);

/// One back-off before a packet is sent. Unit: ns.
const BACKOFF: f64 = 1e6;
/// One attempt of the radio to send a packet again. Unit: ns.
const ATTEMPT: f64 = 7.5e6;
/// e⁻¹ and e⁻¹², the chances of no event in Poisson processes of mean 1 and 12. Literals, since the last bit of `exp`
/// differs between libraries.
const NO_BACKOFF: f64 = 0.367_879_441_171_442_33;
const NO_ATTEMPT: f64 = 6.144_212_353_328_21e-6;

/// The additional delay of one packet, for a channel of this mean. Unit: ns.
pub(crate) fn extra(mean: Duration, rng: &mut Rng) -> u64 {
    let again = (mean.saturating_sub(LEAST)).as_secs_f64() / (MOST - LEAST).as_secs_f64();
    let backoffs = poisson(NO_BACKOFF, rng);
    let partial = if backoffs > 0 { rng.unit() } else { 0.0 };
    let attempts = if rng.chance(again) { poisson(NO_ATTEMPT, rng) } else { 0 };
    ((f64::from(backoffs) - partial) * BACKOFF + f64::from(attempts) * ATTEMPT) as u64
}

/// A Poisson number, by the chance of zero (Knuth's method: as many draws as the number has, and one more).
fn poisson(none: f64, rng: &mut Rng) -> u32 {
    let (mut count, mut product) = (0, rng.unit());
    while product > none {
        product *= rng.unit();
        count += 1;
    }
    count
}
