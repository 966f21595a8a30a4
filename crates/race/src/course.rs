//! The path that is raced over, and what a perfect sender would achieve on it.

use core::fmt;
use core::time::Duration;
use pcc::units::{Rate, Timestamp};
use pcc_link::{Impossible, ParsePathError, Path};
use pcc_quic::transport::Windows;

/// File bytes in the UDP payload of a full packet: 1452 bytes (the largest that MTU discovery tries), without 1 byte of
/// QUIC header, 8 of connection ID, 4 of packet number, 16 of authentication tag (RFC 9000 §17.3, RFC 9001 §5.3) and 11
/// of STREAM frame header with an offset beyond a gigabyte (RFC 9000 §19.8).
pub const FILE_SHARE_OF_UDP: f64 = (1452.0 - 40.0) / 1452.0;

/// File bytes in a full packet as the path counts it: with 28 bytes of UDP and IPv4 headers.
const FILE_SHARE_OF_WIRE: f64 = (1452.0 - 40.0) / (1452.0 + 28.0);

/// How long a perfect sender needs for a file that is made, and the bounds of its size.
const TIME_AT_FULL_SPEED: Duration = Duration::from_secs(20);
const SMALLEST: u64 = 4_000_000;
const LARGEST: u64 = 512_000_000;

/// Why nobody can race over a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CourseError {
    /// The text is no path.
    #[error(transparent)]
    Text(#[from] ParsePathError),
    /// Its parameters contradict each other.
    #[error(transparent)]
    Impossible(#[from] Impossible),
}

/// A path and the seed that it replays from.
#[derive(Clone, Debug)]
pub struct Course {
    /// As the user wrote it.
    pub name: String,
    /// The path that the words mean.
    pub path: Path,
    /// The seed of everything random.
    pub seed: u64,
}

impl Course {
    /// Reads a preset, parameters, or both.
    ///
    /// Errors: what is wrong with it.
    pub fn parse(written: &str, seed: u64) -> Result<Self, CourseError> {
        let path: Path = written.parse()?;
        path.links(seed)?;
        Ok(Self { name: written.to_owned(), path, seed })
    }

    /// File bytes that a perfect sender would deliver between two moments of the path's life, on average: what the
    /// bottleneck carries, without what is lost at random, without headers.
    pub fn ideal(&self, from: Duration, to: Duration) -> f64 {
        let until = |end: Duration| {
            self.path.down.capacity(self.seed, Timestamp::ZERO + end).delivered.get() as f64 * FILE_SHARE_OF_WIRE
        };
        until(to) - until(from)
    }

    /// The size of a file that takes a perfect sender 20 s, within 4 and 512 MB.
    pub fn fitting_size(&self) -> u64 {
        (self.ideal(Duration::ZERO, TIME_AT_FULL_SPEED) as u64).clamp(SMALLEST, LARGEST)
    }

    /// How long a perfect sender would need for so many file bytes, roughly.
    pub fn time_for(&self, bytes: u64) -> Duration {
        let rate = self.ideal(Duration::ZERO, TIME_AT_FULL_SPEED) / TIME_AT_FULL_SPEED.as_secs_f64();
        Duration::from_secs_f64((bytes as f64 / rate.max(1.0)).min(1e6)) + self.path.rtt() * 2
    }

    /// Flow-control windows that do not cap it.
    pub fn windows(&self) -> Windows {
        let usual = Windows::default();
        let rate: Rate = usual.rate.max(self.path.down.conditions.rate);
        Windows { rate, rtt: usual.rtt.max(self.path.rtt()) }
    }

    /// Its parameters as text, whatever the user called it.
    pub fn parameters(&self) -> String {
        self.path.to_string()
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = self.parameters();
        if parameters == self.name { f.write_str(&parameters) } else { write!(f, "{} ({parameters})", self.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_sender_moves_the_rate_without_loss_and_headers() {
        let course = Course::parse("rate=80Mbit,rtt=20ms,loss=10%", 1).unwrap();
        let second = course.ideal(Duration::from_secs(3), Duration::from_secs(4));
        let expected = 10e6 * 0.9 * 1412.0 / 1480.0;
        assert!((second / expected - 1.0).abs() < 1e-3, "{second} {expected}");
    }

    #[test]
    fn the_file_that_is_made_takes_twenty_seconds_within_bounds() {
        let size = |written: &str| Course::parse(written, 1).unwrap().fitting_size();
        assert!((95_000_000..105_000_000).contains(&size("satellite")), "{}", size("satellite"));
        assert_eq!(size("modem"), SMALLEST);
        assert_eq!(size("datacentre"), LARGEST);
    }

    #[test]
    fn an_unknown_preset_is_answered_with_the_known_ones() {
        let error = Course::parse("sattelite", 1).unwrap_err().to_string();
        assert!(error.contains("sattelite") && error.contains("satellite") && error.contains("lossy"), "{error}");
    }
}
