//! Permissions and times as fields and listings have them.

use crate::permissions::Permissions;
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) const NANOS: i128 = 1_000_000_000;

/// An octal number of up to four digits. Whatever else than permissions is in it does not count.
pub(crate) fn mode(text: &str) -> Option<u32> {
    let is_octal = (1..=4).contains(&text.len()) && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    is_octal.then(|| u32::from_str_radix(text, 8).ok())?.map(|mode| mode & Permissions::MASK)
}

/// Seconds since 1970, with up to nine decimals; negative before.
pub(crate) fn modified(text: &str) -> Option<SystemTime> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let (is_before, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let distance = Duration::new(whole.parse().ok()?, format!("{part:0<9}").parse().ok()?);
    if is_before { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
}

/// The same without parts of seconds, for comparing with times that have none. Unit: seconds since 1970.
pub(crate) fn whole_seconds(time: SystemTime) -> i64 {
    let seconds = |distance: Duration| i64::try_from(distance.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => seconds(after),
        // Rounded down, as after 1970.
        Err(before) => -seconds(before.duration()) - i64::from(before.duration().subsec_nanos() > 0),
    }
}

/// As [`modified`] reads it.
pub(crate) fn seconds(time: SystemTime) -> String {
    let since = nanos_since_1970(time);
    let (sign, since) = (if since < 0 { "-" } else { "" }, since.abs());
    format!("{sign}{}.{:09}", since / NANOS, since % NANOS)
}

pub(super) fn nanos_since_1970(time: SystemTime) -> i128 {
    let nanos = |distance: Duration| i128::try_from(distance.as_nanos()).unwrap_or(i128::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_understood_or_passed_over(text in "[-+.0-9a-f ]{0,24}|.{0,12}") {
            if let Some(time) = modified(&text) {
                prop_assert_eq!(modified(&seconds(time)), Some(time));
            }
            prop_assert!(mode(&text).is_none_or(|mode| mode <= Permissions::MASK));
        }
    }

    #[test]
    fn what_is_no_mode_and_no_time_is_none() {
        for wrong in ["", "8", "0o644", "-644", "+644", "00644", "64 4", "rw-r--r--"] {
            assert_eq!(mode(wrong), None, "{wrong}");
        }
        for wrong in ["", "-", ".", "1.", ".5", "1e9", "+1", "1.0000000001", "--1", "99999999999999999999", "1,5"] {
            assert_eq!(modified(wrong), None, "{wrong}");
        }
        assert_eq!((mode("4755"), mode("7"), mode("0644")), (Some(0o755), Some(0o7), Some(0o644)));
        assert_eq!(modified("-1.5"), Some(UNIX_EPOCH - Duration::from_millis(1500)));
    }
}
