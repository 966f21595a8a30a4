//! Round numbers for axes, and numbers with the digits that they need.

use serde::Deserialize;

/// How an axis is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal factors.
    Log,
}

/// Round numbers from zero to `most`, about as many as `wanted`.
pub fn ticks(most: f64, wanted: f64) -> Vec<f64> {
    let rough = (most / wanted).max(1e-6);
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let count = (most / step + 1e-9).floor().min(100.0) as u32;
    // Six decimals: a sum of steps is not exact.
    (0..=count).map(|tick| (f64::from(tick) * step * 1e6).round() / 1e6).collect()
}

/// Numbers from `least` to `most` for a logarithmic axis: 1, 2 and 5 of each power of ten, or the powers alone where
/// that would be more than eight.
pub fn log_ticks(least: f64, most: f64) -> Vec<f64> {
    let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let of = |digits: &[f64]| -> Vec<f64> {
        let all = (low..=high).flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
        all.filter(|tick| *tick >= least * 0.999 && *tick <= most * 1.001).collect()
    };
    let fine = of(&[1.0, 2.0, 5.0]);
    if fine.len() <= 8 { fine } else { of(&[1.0]) }
}

/// A number beside an axis: no more digits than it takes.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 1000.0 || size.fract() == 0.0 => format!("{value:.0}"),
        size => {
            let digits = (2 - size.log10().floor() as i32).clamp(1, 9) as usize;
            let text = format!("{value:.digits$}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// A number held against a limit: with as many digits as it takes to see on which side of it the number is.
pub fn number_beside(value: f64, limit: f64) -> String {
    let plain = number(value);
    if value == limit || plain != number(limit) {
        return plain;
    }
    let with = |value: f64, digits: usize| format!("{value:.digits$}");
    let told = (0..=9).find(|&digits| with(value, digits) != with(limit, digits)).map(|digits| with(value, digits));
    told.unwrap_or(plain)
}

/// A number with three digits that count.
pub fn significant(value: f64) -> String {
    // The digits are those of the rounded value: 9.999 is 10.0.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let places = (2.0 - rounded.abs().max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    if rounded == 0.0 { "0".into() } else { format!("{value:.places$}") }
}

/// The same without zeros at the end, and without decimals from 100 on.
pub fn short(value: f64) -> String {
    let text = significant(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_not_too_many() {
        assert_eq!(ticks(46.0, 5.0), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(ticks(0.3, 5.0), [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(ticks(0.0, 5.0).len(), 1);
    }

    #[test]
    fn logarithmic_ticks_are_fewer_over_many_decades() {
        let near = |ticks: Vec<f64>, expected: &[f64]| {
            let texts: Vec<_> = ticks.into_iter().map(number).collect();
            assert_eq!(texts, expected.iter().map(|tick| number(*tick)).collect::<Vec<_>>());
        };
        near(log_ticks(0.04, 450.0), &[0.1, 1.0, 10.0, 100.0]);
        near(log_ticks(0.4, 45.0), &[0.5, 1.0, 2.0, 5.0, 10.0, 20.0]);
        near(log_ticks(2.0, 45.0), &[2.0, 5.0, 10.0, 20.0]);
    }

    #[test]
    fn numbers_have_the_digits_they_need() {
        let told = [0.0, 0.001, 0.95, 1.25, 12.345, 1500.0, 20.0].map(number);
        assert_eq!(told, ["0", "0.001", "0.95", "1.25", "12.3", "1500", "20"]);
    }

    #[test]
    fn a_number_beside_its_limit_shows_on_which_side_it_is() {
        let told = [(0.8998, 0.9), (0.90001, 0.9), (1.0, 1.0), (0.95, 0.9), (1234.4, 1234.0)];
        let told = told.map(|(value, limit)| number_beside(value, limit));
        assert_eq!(told, ["0.8998", "0.90001", "1", "0.95", "1234.4"]);
    }

    #[test]
    fn three_digits_of_a_number_count() {
        let told = [100.0, 12.345, 0.5, 0.000_631, 0.0, 12_345.0].map(significant);
        assert_eq!(told, ["100", "12.3", "0.500", "0.000631", "0", "12345"]);
        assert_eq!(significant(9.9999), "10.0");
        assert_eq!([30.0, 0.5, 0.0, 1000.0].map(short), ["30", "0.5", "0", "1000"]);
    }
}
