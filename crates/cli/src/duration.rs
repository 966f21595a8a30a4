//! Times as people write them in options.

use pcc_utility::play::LONGEST;
use std::time::Duration;

/// A time with its unit, like `90s`, `10m` or `1h30m`.
pub(crate) fn parse(written: &str) -> Result<Duration, String> {
    humantime::parse_duration(written).map_err(|error| match error {
        humantime::DurationError::NumberOverflow => format!("`{written}` is too long a time"),
        _ => format!("`{written}` is no time with a unit; write it like 500ms, 90s, 10m or 1h"),
    })
}

/// A virtual time, which has to be computed.
pub(crate) fn simulated(written: &str) -> Result<Duration, String> {
    let time = parse(written)?;
    if time > LONGEST { Err(format!("`{written}` is too long: at most 24h are simulated")) } else { Ok(time) }
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

    #[test]
    fn a_simulation_has_a_longest_time() {
        assert_eq!(simulated("24h"), Ok(LONGEST));
        assert!(simulated("99999999h").unwrap_err().contains("at most 24h"));
    }
}
