//! Values of options as people write them.

use std::time::Duration;

/// A time with its unit, like `90s`, `10m` or `1h30m`.
///
/// Errors: how a time is written.
pub fn duration(written: &str) -> Result<Duration, String> {
    humantime::parse_duration(written).map_err(|error| match error {
        humantime::DurationError::NumberOverflow => format!("`{written}` is too long a time"),
        _ => format!("`{written}` is no time with a unit; write it like 500ms, 90s, 10m or 1h"),
    })
}

/// The number that all that is random begins with.
///
/// Errors: which numbers may be one.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_unit_is_refused_with_an_example() {
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        for (written, wanted) in [
            ("5", "like 500ms, 90s"),
            ("s", "like 500ms, 90s"),
            ("", "like 500ms, 90s"),
            ("9999999999999999999999h", "too long"),
        ] {
            let refused = duration(written).unwrap_err();
            assert!(refused.contains(&format!("`{written}`")) && refused.contains(wanted), "{refused}");
        }
    }

    #[test]
    fn what_is_no_seed_is_told_what_one_is() {
        assert_eq!((seed("0"), seed("18446744073709551615")), (Ok(0), Ok(u64::MAX)));
        for text in ["-1", "1.5", "", "one", "18446744073709551616"] {
            assert_eq!(seed(text), Err("a seed is a whole number from 0 to 18446744073709551615".into()), "{text}");
        }
    }
}
