//! Quantities with their units: [`Rate`], [`Bytes`], [`Timestamp`].
//!
//! A bare number enters and leaves only under the name of its unit, so that bits never meet bytes unnoticed.
//! Prefixes are SI (a megabit is 10⁶ bits) unless written as `KiB`, `MiB`, `GiB`.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use core::str::FromStr;
use core::time::Duration;

/// How fast data moves. Stored in bytes per second; a fraction is kept, because probing steps are small.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0.0);

    /// From bytes per second. NaN and negative values become zero, infinity the largest finite rate.
    pub fn from_bytes_per_sec(bytes: f64) -> Self {
        if bytes > 0.0 { Self(bytes.min(f64::MAX)) } else { Self(0.0) }
    }

    /// From megabits (10⁶ bits) per second; bounded like [`Rate::from_bytes_per_sec`].
    pub fn from_mbit(mbit: f64) -> Self {
        Self::from_bytes_per_sec(mbit * 125_000.0)
    }

    /// From a volume and the time it took; zero if no time passed.
    pub fn from_volume(volume: Bytes, time: Duration) -> Self {
        if time.is_zero() { Self::ZERO } else { Self::from_bytes_per_sec(volume.0 as f64 / time.as_secs_f64()) }
    }

    /// Bytes per second.
    pub const fn bytes_per_sec(self) -> f64 {
        self.0
    }

    /// Bits per second.
    pub fn bits_per_sec(self) -> f64 {
        self.0 * 8.0
    }

    /// Megabits (10⁶ bits) per second, the unit of the papers' formulas.
    pub fn mbit(self) -> f64 {
        self.0 / 125_000.0
    }

    /// The time `volume` takes at this rate; [`Duration::MAX`] if it would never end.
    pub fn time_for(self, volume: Bytes) -> Duration {
        let nanos = volume.0 as f64 * 1e9 / self.0;
        // Of none at no rate it is NaN.
        if nanos < u64::MAX as f64 { Duration::from_nanos((nanos + 0.5) as u64) } else { Duration::MAX }
    }

    /// The larger of two rates.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The smaller of two rates.
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

impl Mul<f64> for Rate {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::from_bytes_per_sec(self.0 * factor)
    }
}

impl Mul<Duration> for Rate {
    type Output = Bytes;
    fn mul(self, time: Duration) -> Bytes {
        Bytes((self.0 * time.as_secs_f64()) as u64) // saturates
    }
}

/// A volume of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No data.
    pub const ZERO: Self = Self(0);

    /// A volume of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The difference, or zero where it would be negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Bytes {
    /// Stops at zero: a volume is never negative.
    fn sub_assign(&mut self, other: Self) {
        *self = self.saturating_sub(other);
    }
}

/// A moment, in nanoseconds since an origin that the caller chose. Only differences mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// The moment `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Time from `earlier` to this moment; zero if `earlier` is later, since clocks may step back.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Why a quantity written by a person could not be read; the text says how to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseQuantityError {
    written: String,
    problem: &'static str,
    example: &'static str,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}; write it like {}", self.written, self.problem, self.example)
    }
}

impl core::error::Error for ParseQuantityError {}

const RATE_EXAMPLE: &str = "100Mbit or 100M (bits per second), or 12.5MB (bytes per second)";
const BYTES_EXAMPLE: &str = "1500, 64KB, 750kB or 16MiB";

/// Splits `12.5MB` into 12.5 and `MB`.
fn split<'a>(written: &'a str, example: &'static str) -> Result<(f64, &'a str), ParseQuantityError> {
    let error = |problem| ParseQuantityError { written: written.to_owned(), problem, example };
    let text = written.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| error("does not start with a number"))?;
    if number.is_finite() { Ok((number, text[end..].trim())) } else { Err(error("is too large")) }
}

/// The factor of an SI or binary prefix, case aside (`m` is mega: nobody sends millibits).
fn prefix(text: &str) -> Option<f64> {
    Some(match text.to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1024.0 * 1024.0,
        "gi" => 1024.0 * 1024.0 * 1024.0,
        "ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

impl FromStr for Rate {
    type Err = ParseQuantityError;

    /// Reads `100Mbit`, `100mbps`, `1.5 Gbit/s`, `100M` (bits) and `12.5MB`, `12.5MB/s`, `800kBps` (bytes). A small `b`
    /// is a bit, a capital `B` a byte, and a prefix alone counts bits, as in `iperf3 -b 100M`. A bare number is refused:
    /// tools disagree about what it means.
    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let error = |problem| ParseQuantityError { written: written.to_owned(), problem, example: RATE_EXAMPLE };
        let (number, unit) = split(written, RATE_EXAMPLE)?;
        if unit.is_empty() {
            return Err(error("has no unit"));
        }
        let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).unwrap_or(unit);
        let lower = unit.to_ascii_lowercase();
        let (head, bytes) = if matches!(lower.as_str(), "k" | "m" | "g" | "t") {
            (unit, 0.125)
        } else if let Some(head) = lower.strip_suffix("bits").or_else(|| lower.strip_suffix("bit")) {
            (&unit[..head.len()], 0.125)
        } else if let Some(head) = unit.strip_suffix('B') {
            (head, 1.0)
        } else if let Some(head) = unit.strip_suffix('b') {
            (head, 0.125)
        } else {
            return Err(error("has an unknown unit"));
        };
        let factor = prefix(head).ok_or_else(|| error("has an unknown unit"))?;
        let rate = Self::from_bytes_per_sec(number * factor * bytes);
        if rate.0 > 0.0 { Ok(rate) } else { Err(error("is not a rate above zero")) }
    }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    /// Reads `1500`, `64KB`, `16MiB`: bytes always, the `B` may be left out.
    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let error = |problem| ParseQuantityError { written: written.to_owned(), problem, example: BYTES_EXAMPLE };
        let (number, unit) = split(written, BYTES_EXAMPLE)?;
        let head = unit.strip_suffix(['B', 'b']).unwrap_or(unit);
        let factor = prefix(head).ok_or_else(|| error("has an unknown unit"))?;
        let bytes = number * factor;
        // The most is read as it is written, though a double is one larger.
        if bytes <= u64::MAX as f64 { Ok(Self(bytes.round() as u64)) } else { Err(error("is too large")) }
    }
}

/// Writes `value` with three significant digits and the prefix that suits it.
fn with_prefix(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    let (scaled, prefix) = match value {
        v if v >= 999.5e9 => (v / 1e12, "T"),
        v if v >= 999.5e6 => (v / 1e9, "G"),
        v if v >= 999.5e3 => (v / 1e6, "M"),
        v if v >= 999.5 => (v / 1e3, "k"),
        v => (v, ""),
    };
    let digits = if scaled >= 99.95 || prefix.is_empty() {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    f.pad(&format!("{scaled:.digits$} {prefix}{unit}"))
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(f, self.bits_per_sec(), "bit/s")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(f, self.0 as f64, "B")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_bytes_are_read_as_they_are_written() {
        for bytes in [u64::MAX, 1 << 63, 0] {
            assert_eq!(bytes.to_string().parse::<Bytes>(), Ok(Bytes::new(bytes)));
        }
        assert!("18446744073710000000".parse::<Bytes>().is_err());
    }

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (written, mbit) in [
            ("100Mbit", 100.0),
            ("100mbit", 100.0),
            ("100Mbps", 100.0),
            ("1.5 Gbit/s", 1500.0),
            ("12.5MB", 100.0),
            ("12.5MB/s", 100.0),
            ("800kBps", 6.4),
            ("56kbit", 0.056),
            ("1MiB", 8.388_608),
            ("10M", 10.0),
            ("1.5 g", 1500.0),
            ("64k", 0.064),
        ] {
            let rate: Rate = written.parse().unwrap();
            assert!((rate.mbit() - mbit).abs() < 1e-9, "{written}: {rate:?}");
        }
    }

    #[test]
    fn a_rate_without_a_unit_is_refused_with_an_example() {
        let error = "100".parse::<Rate>().unwrap_err().to_string();
        assert!(error.contains("`100` has no unit") && error.contains("100Mbit"), "{error}");
        for wrong in ["", "fast", "-1Mbit", "0Mbit", "1Xbit", "1e9", "NaNMbit", "100 Mi", "100/s"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn volumes_are_read_as_people_write_them() {
        for (written, bytes) in
            [("1500", 1500), ("64KB", 64_000), ("750kB", 750_000), ("16MiB", 16 << 20), ("1.5k", 1500)]
        {
            assert_eq!(written.parse::<Bytes>().unwrap().get(), bytes, "{written}");
        }
        for wrong in ["", "many", "1QB", "99999999999999999999TB"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn quantities_print_with_three_digits() {
        assert_eq!(Rate::from_mbit(99.99).to_string(), "100 Mbit/s");
        assert_eq!(Rate::from_mbit(1234.0).to_string(), "1.23 Gbit/s");
        assert_eq!(Rate::from_mbit(0.056).to_string(), "56.0 kbit/s");
        assert_eq!(Bytes::new(999_700).to_string(), "1.00 MB");
        assert_eq!(Bytes::new(12).to_string(), "12 B");
    }

    #[test]
    fn no_arithmetic_leaves_the_finite_positive_range() {
        assert_eq!(Rate::from_bytes_per_sec(f64::NAN), Rate::ZERO);
        assert_eq!(Rate::from_mbit(-3.0), Rate::ZERO);
        assert!((Rate::from_mbit(f64::MAX) * 10.0).bytes_per_sec().is_finite());
        assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Duration::MAX);
        assert_eq!(Timestamp::from_nanos(5).since(Timestamp::from_nanos(9)), Duration::ZERO);
    }
}
