//! Whether losses are those of a policer, which drops what exceeds a rate and lets nothing wait.
//!
//! A policer drops when its bucket of tokens is empty. So from one loss to the next as many bytes arrive as tokens came: the rate between
//! the first loss and the last one predicts when the others occur. Random losses occur at any level of such a bucket. Source: Flach et al.,
//! An Internet-Wide Analysis of Traffic Policing (SIGCOMM 2016) §3.1.
//!
//! A sender that always exceeds it loses something in each part. Then each packet more that is sent is one more that is lost.

use super::bins::Part;

/// Losses in fewer parts say nothing. Nor do fewer parts without any between them.
const LEAST: usize = 6;

/// The level of the bucket at losses differs in the mean by at most this many parts' tokens.
const FLAT: f64 = 0.5;

/// So often the bucket is emptier at a loss than elsewhere. Chance has 0.5.
const EMPTIER: f64 = 0.7;

/// Where losses are, more is sent than the rate, by this factor; elsewhere at most as much.
const EXCESS: f64 = 1.03;

/// Where nearly all parts lose something, at least this share of each packet more is lost. By chance it is the loss rate.
const CAPPED: f64 = 0.6;

/// The number of parts that show it.
const MANY: usize = 20;

/// The rate of the policer that these parts met, in bytes a part.
pub(crate) fn rate(parts: &[Part]) -> Option<f64> {
    let (first, last) = (parts.iter().position(is_lossy)?, parts.iter().rposition(is_lossy)?);
    let between = &parts[first + 1..last.max(first) + 1];
    let rate = between.iter().map(arrived).sum::<f64>() / between.len().max(1) as f64;
    if is_capped(between) {
        return Some(rate);
    }
    let (mut lossy, mut clean, mut level) = (Vec::new(), Vec::new(), 0.0);
    for part in between {
        level += arrived(part) - rate;
        if is_lossy(part) { &mut lossy } else { &mut clean }.push((level, f64::from(part.sent)));
    }
    if lossy.len() < LEAST || clean.len() < LEAST || rate <= 0.0 {
        return None;
    }
    let sent = |of: &[(f64, f64)]| of.iter().map(|(_, sent)| sent).sum::<f64>() / of.len() as f64;
    let mean = lossy.iter().map(|(level, _)| level).sum::<f64>() / lossy.len() as f64;
    let spread = lossy.iter().map(|(level, _)| (level - mean).abs()).sum::<f64>() / lossy.len() as f64;
    let pairs = lossy.iter().flat_map(|(at_loss, _)| clean.iter().map(move |(level, _)| at_loss > level));
    let emptier = pairs.filter(|is| *is).count() as f64 / (lossy.len() * clean.len()) as f64;
    let is_policer =
        spread <= FLAT * rate && emptier >= EMPTIER && sent(&lossy) >= EXCESS * rate && sent(&clean) <= EXCESS * rate;
    is_policer.then_some(rate)
}

fn is_lossy(part: &Part) -> bool {
    part.lost > 0.0
}

/// Unit: bytes.
fn arrived(part: &Part) -> f64 {
    f64::from((part.sent - part.lost).max(0.0))
}

/// Whether nearly all parts lose something, and more is lost where more is sent. Parts in which unusually much or little was sent do not
/// count: a start-up that overflows a queue is one.
fn is_capped(parts: &[Part]) -> bool {
    let mut sent: Vec<_> = parts.iter().map(|part| f64::from(part.sent)).collect();
    sent.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (sent.get(sent.len() / 10), sent.get(sent.len() * 9 / 10)) else { return false };
    let usual: Vec<_> = parts.iter().filter(|part| (*low..=*high).contains(&f64::from(part.sent))).collect();
    let count = usual.len() as f64;
    let mean = |value: fn(&Part) -> f32| usual.iter().map(|part| f64::from(value(part))).sum::<f64>() / count;
    let (sent, lost) = (mean(|part| part.sent), mean(|part| part.lost));
    let (mut both, mut own) = (0.0, 0.0);
    for part in &usual {
        let more = f64::from(part.sent) - sent;
        both += more * (f64::from(part.lost) - lost);
        own += more * more;
    }
    let lossy = parts.iter().filter(|part| is_lossy(part)).count();
    parts.len() >= MANY && lossy * 10 >= parts.len() * 9 && own > 0.0 && both >= CAPPED * own
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender whose rate rises by a tenth of the policer's a part, and halves when it lost something.
    fn parts(lost: impl Fn(usize, f32) -> f32) -> Vec<Part> {
        let mut sent = 100.0;
        let one = |place| {
            let part = Part { sent, lost: lost(place, sent) };
            sent = if part.lost > 0.0 { sent / 2.0 } else { sent + 10.0 };
            part
        };
        (0..200).map(one).collect()
    }

    #[test]
    fn a_policer_is_known_by_when_it_drops() {
        let tokens = core::cell::Cell::new(0.0_f32);
        let found = rate(&parts(|_, sent| {
            let had = (tokens.get() + 100.0).min(150.0);
            tokens.set((had - sent).max(0.0));
            (sent - had).max(0.0)
        }));
        assert!(found.is_some_and(|rate| (rate - 100.0).abs() < 10.0), "{found:?}");
    }

    #[test]
    fn a_policer_that_is_always_exceeded_lets_as_much_pass() {
        let parts: Vec<_> =
            (0..40).map(|place| Part { sent: 102.0 + (place % 5) as f32, lost: 2.0 + (place % 5) as f32 }).collect();
        assert_eq!(rate(&parts), Some(100.0));
    }

    #[test]
    fn losses_by_chance_are_no_policer_s() {
        let mut random = 7_u32;
        let mut chance = move || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(random) / f64::from(u32::MAX)
        };
        let drawn: Vec<_> = (0..200).map(|_| chance()).collect();
        assert_eq!(rate(&parts(|place, _| if drawn[place] < 0.1 { 1.0 } else { 0.0 })), None);
        let steady: Vec<_> = (0..200).map(|place| Part { sent: 100.0, lost: (10.0 * drawn[place]) as f32 }).collect();
        assert_eq!(rate(&steady), None, "nothing follows what is sent");
        assert_eq!(rate(&parts(|_, _| 0.0)), None, "nor is none");
        assert_eq!(rate(&[]), None);
    }
}
