//! rsync's `--bwlimit`, in rsync's units.

use core::str::FromStr;
use pcc::units::Rate;

/// A rate, or none at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BwLimit(pub(crate) Option<Rate>);

impl FromStr for BwLimit {
    type Err = String;

    /// A number of KiB a second, or one with a unit of bytes: `1.5m` is 1.5 MiB a second, `1.5MB` 1.5 million bytes. 0 is no limit.
    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let wrong = || format!("write --bwlimit {number}m as rsync has it, in MiB a second, or --limit 20Mbit");
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let unit = match unit.to_ascii_lowercase().as_str() {
            "b" => 1.0,
            "" | "k" | "kib" => 1024.0,
            "m" | "mib" => 1024.0 * 1024.0,
            "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            _ => return Err(wrong()),
        };
        let bytes = number * unit;
        if bytes > 0.0 && bytes < 1.0 {
            return Err(wrong());
        }
        Ok(Self((bytes > 0.0).then(|| Rate::from_bytes_per_sec(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_what_rsync_takes_it_for() {
        for (text, bytes) in [
            ("1000", 1_024_000.0),
            ("1.5m", 1_572_864.0),
            ("1MB", 1e6),
            ("2k", 2048.0),
            ("800B", 800.0),
            ("1G", 1_073_741_824.0),
        ] {
            let rate = text.parse::<BwLimit>().unwrap().0.unwrap();
            assert!((rate.bytes_per_sec() - bytes).abs() < 1.0, "{text}: {rate:?}");
        }
        assert_eq!("0".parse(), Ok(BwLimit(None)));
        for wrong in ["", "fast", "20Mbit", "-5", "1..2", "1 m"] {
            assert!(wrong.parse::<BwLimit>().is_err(), "{wrong}");
        }
    }
}
