//! Times as people write them in options.

use std::time::Duration;

/// A time with its unit, like `90s`, `10m` or `1h30m`.
///
/// Errors: how a time is written.
pub fn parse(written: &str) -> Result<Duration, String> {
    humantime::parse_duration(written).map_err(|error| match error {
        humantime::DurationError::NumberOverflow => format!("`{written}` is too long a time"),
        _ => format!("`{written}` is no time with a unit; write it like 500ms, 90s, 10m or 1h"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_unit_is_refused_with_an_example() {
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5400)));
        for (written, wanted) in [
            ("5", "like 500ms, 90s"),
            ("s", "like 500ms, 90s"),
            ("", "like 500ms, 90s"),
            ("9999999999999999999999h", "too long"),
        ] {
            let refused = parse(written).unwrap_err();
            assert!(refused.contains(&format!("`{written}`")) && refused.contains(wanted), "{refused}");
        }
    }
}
