//! Quantities as people write them in parameters and expressions: `0.9`, `5%`, `20ms`, `100Mbit`.

use crate::units::Rate;

/// The kind of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Without a suffix: any unit, as coefficients of formulas have.
    Plain,
    /// A share: `%`.
    Share,
    /// In Mbit/s.
    Rate,
    /// In s.
    Time,
}

/// Which suffixes there are, for messages.
pub(super) const SUFFIXES: &str = "ns, us, ms, s, min, %, or a rate like Mbit, kbit/s, MB/s";

/// The value of `number` with this suffix in its base unit (Mbit/s, s, 1), and its kind; `None` if no such suffix
/// exists.
pub(super) fn quantity(number: f64, suffix: &str) -> Option<(f64, Kind)> {
    // A rate's own parser would take a digit here for one of its number.
    if suffix.starts_with(|c: char| !c.is_alphabetic() && c != '%') {
        return None;
    }
    Some(match suffix {
        "" => (number, Kind::Plain),
        "%" => (number / 100.0, Kind::Share),
        "ns" => (number / 1e9, Kind::Time),
        "us" | "µs" => (number / 1e6, Kind::Time),
        "ms" => (number / 1e3, Kind::Time),
        "s" => (number, Kind::Time),
        "min" => (number * 60.0, Kind::Time),
        // The factor of one, since the parser of rates refuses zero.
        _ => (number * format!("1{suffix}").parse::<Rate>().ok()?.mbit(), Kind::Rate),
    })
}

/// Reads a whole text as a quantity.
pub(super) fn read(written: &str) -> Option<(f64, Kind)> {
    let text = written.trim();
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+')).unwrap_or(text.len());
    let exponent = |tail: &str| {
        let digits = tail.strip_prefix(['e', 'E'])?;
        let signed = digits.strip_prefix(['-', '+']).unwrap_or(digits);
        let length = signed.find(|c: char| !c.is_ascii_digit()).unwrap_or(signed.len());
        (length > 0).then_some(1 + digits.len() - signed.len() + length)
    };
    let end = end + exponent(&text[end..]).unwrap_or(0);
    let number: f64 = text[..end].parse().ok()?;
    quantity(number, text[end..].trim()).filter(|(value, _)| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_become_base_unit_exactly_as_number_in_it_would() {
        for (written, value, kind) in [
            ("0.9", 0.9, Kind::Plain),
            ("-3", -3.0, Kind::Plain),
            ("1e-3", 0.001, Kind::Plain),
            ("3%", 0.03, Kind::Share),
            ("3ms", 0.003, Kind::Time),
            ("7us", 0.000_007, Kind::Time),
            ("7µs", 0.000_007, Kind::Time),
            ("2 min", 120.0, Kind::Time),
            ("100Mbit", 100.0, Kind::Rate),
            ("12.5MB/s", 100.0, Kind::Rate),
            ("0Mbit", 0.0, Kind::Rate),
            ("20M", 20.0, Kind::Rate),
            ("1.5e3kbit/s", 1.5, Kind::Rate),
        ] {
            assert_eq!(read(written), Some((value, kind)), "{written}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for written in [
            "", "fast", "1x", "1e", "e3", "NaN", "inf", "1e999", "1Mbit/h", "1 ms ms", "--1", "%", "2 5Mbit",
            "2 .5Mbit",
        ] {
            assert_eq!(read(written), None, "{written}");
        }
    }
}
