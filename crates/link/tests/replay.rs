//! A recorded rate is replayed to the millisecond, and what is no recording is refused.

use core::time::Duration;
use pcc::units::{Bytes, Timestamp};
use pcc_link::{Link, Outcome, Path};

/// A recording in a file, and paths that name it.
struct Recording(tempfile::NamedTempFile);

impl Recording {
    fn of(lines: &str) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, lines).unwrap();
        Self(file)
    }

    fn path(&self, rest: &str) -> Result<Path, String> {
        let text = format!("trace={}{rest}", self.0.path().display());
        text.parse().map_err(|error: pcc_link::ParsePathError| error.to_string())
    }
}

/// When packets of 1500 bytes that all came in at time zero have left, in milliseconds.
fn departures(mut link: Link, packets: usize) -> Vec<f64> {
    let mut send = || match link.send(Timestamp::ZERO, Bytes::new(1500)) {
        Outcome::Delivered { at, .. } => at.as_nanos() as f64 / 1e6,
        Outcome::Dropped(reason) => panic!("{reason:?}"),
    };
    (0..packets).map(|_| send()).collect()
}

#[test]
fn packets_leave_at_the_recorded_moments_round_after_round() {
    let recording = Recording::of("1\n1\n4\n\n3000\n");
    let path = recording.path(",rtt=0ms,buffer=1MB").unwrap();
    let left = departures(path.links(1).unwrap().0, 9);
    let expected = [0.5, 1.0, 4.0, 3000.0, 3000.5, 3001.0, 3004.0, 6000.0, 6000.5];
    let near = |(one, other): (&f64, &f64)| (one - other).abs() < 1e-3;
    assert!(left.iter().zip(&expected).all(near), "{left:?}");
}

#[test]
fn what_leaves_at_time_zero_leaves_at_the_end_of_each_round() {
    let path = Recording::of("0\n0\n10\n").path(",rtt=0ms,buffer=1MB").unwrap();
    let left = departures(path.links(1).unwrap().0, 6);
    assert!((left[2] - 10.0).abs() < 1e-3 && (left[5] - 20.0).abs() < 1e-3, "{left:?}");
}

#[test]
fn the_mean_of_the_recording_is_the_rate_that_nobody_gave() {
    // 12 Mbit/s for a second: a packet each millisecond.
    let lines: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
    let recording = Recording::of(&lines);
    let path = recording.path(",rtt=100ms").unwrap();
    assert!((path.up.conditions.rate.mbit() - 12.0).abs() < 1e-9, "{path}");
    assert_eq!(path.up.conditions.buffer, Bytes::new(150_000));
    let delivered = path.up.capacity(1, Timestamp::ZERO + Duration::from_millis(2500)).delivered;
    assert!(delivered.get().abs_diff(2500 * 1500) < 2, "{delivered}");
    assert_eq!(path.to_string().parse(), Ok(path), "a path's text is the path");
}

#[test]
fn each_direction_has_its_own() {
    let recording = Recording::of("1\n");
    let text = format!("rate=1Mbit,rtt=20ms,down.trace={}", recording.0.path().display());
    let path: Path = text.parse().unwrap();
    assert!(path.up.schedule.rules.is_empty() && path.down.schedule.rules.len() == 1, "{path}");
    assert!(path.to_string().contains("down.trace="), "{path}");
}

#[test]
fn byte_order_marks_and_comments_are_passed_over() {
    let path = Recording::of("\u{feff}# LTE, on a train\n2 # first\n\n#3\n4\n").path(",rtt=0ms,buffer=1MB").unwrap();
    let left = departures(path.links(1).unwrap().0, 3);
    assert!((left[0] - 2.0).abs() < 1e-3 && (left[1] - 4.0).abs() < 1e-3 && (left[2] - 6.0).abs() < 1e-3, "{left:?}");
    let error = Recording::of("# two lines\n1\nx\n").path("").unwrap_err();
    assert!(error.contains("line 3: `x`"), "{error}");
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    for (lines, told) in [
        ("", "it lasts no time"),
        ("0\n0\n", "it lasts no time"),
        ("5\n4\n", "line 2: `4` is before the line above"),
        ("1\n2.5\n", "line 2: `2.5` is no number of milliseconds"),
        ("-1\n", "line 1: `-1` is no number of milliseconds"),
        ("86400001\n", "line 1: `86400001` is more than a day"),
        ("1\n99999999999999999999\n", "line 2: `99999999999999999999` is no number of milliseconds"),
    ] {
        let error = Recording::of(lines).path("").unwrap_err();
        assert!(error.contains(told) && error.contains("write it like down.trace="), "{lines:?}: {error}");
    }
    let error = "trace=no/such/file".parse::<Path>().unwrap_err().to_string();
    assert!(error.contains("could not read no/such/file"), "{error}");
}
