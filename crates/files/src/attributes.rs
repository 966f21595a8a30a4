//! The time of modification and the permissions of a file or a directory, which a copy may keep besides its content.

use crate::permissions::Permissions;
use crate::wire;
use core::time::Duration;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

const NANOS: i128 = 1_000_000_000;

/// All that is known of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Permissions of owner, group and others, as `chmod` takes them.
    pub(crate) mode: Option<u32>,
    pub(crate) modified: Option<SystemTime>,
}

impl Attributes {
    /// Those of a file or a directory here.
    pub(crate) fn of(found: &std::fs::Metadata) -> Self {
        #[cfg(unix)]
        let mode = Some(std::os::unix::fs::MetadataExt::mode(found) & Permissions::MASK);
        #[cfg(not(unix))]
        let mode = None;
        Self { mode, modified: found.modified().ok() }
    }

    /// The same, of what the server has opened.
    pub(crate) fn within(found: &cap_std::fs::Metadata) -> Self {
        #[cfg(unix)]
        let mode = Some(cap_std::fs::MetadataExt::mode(found) & Permissions::MASK);
        #[cfg(not(unix))]
        let mode = None;
        Self { mode, modified: found.modified().ok().map(cap_std::time::SystemTime::into_std) }
    }

    /// What a message says; of what is no such field, nothing.
    pub(crate) fn told(headers: &HeaderMap) -> Self {
        let text = |name: HeaderName| headers.get(name)?.to_str().ok();
        Self { mode: text(wire::FILE_MODE).and_then(mode), modified: text(wire::FILE_MODIFIED).and_then(modified) }
    }

    /// The fields that say it.
    pub(crate) fn fields(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let mode = self.mode.map(|mode| (wire::FILE_MODE, format!("{mode:03o}")));
        let modified = self.modified.map(|modified| (wire::FILE_MODIFIED, seconds(modified)));
        let value = |(name, text): (HeaderName, String)| Some((name, HeaderValue::from_str(&text).ok()?));
        mode.into_iter().chain(modified).filter_map(value)
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Whether what is known of both is the same.
    pub(crate) fn agree_with(self, other: Self) -> bool {
        let modes = self.mode.zip(other.mode).is_none_or(|(one, other)| one == other);
        modes && self.modified.zip(other.modified).is_none_or(|(one, other)| one == other)
    }

    /// Gives them to a file or a directory.
    ///
    /// Errors: it belongs to somebody else; or its file system has none of that kind.
    pub(crate) fn give(self, to: &std::fs::File) -> io::Result<()> {
        self.modified.map_or(Ok(()), |modified| to.set_modified(modified))?;
        Permissions::named(self.mode).try_give(to)
    }
}

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
fn seconds(time: SystemTime) -> String {
    let nanos = |distance: Duration| i128::try_from(distance.as_nanos()).unwrap_or(i128::MAX);
    let since = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    };
    let (sign, since) = (if since < 0 { "-" } else { "" }, since.abs());
    format!("{sign}{}.{:09}", since / NANOS, since % NANOS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_attributes_arrive_as_they_were(
            mode in prop::option::of(0..=Permissions::MASK),
            time in prop::option::of((any::<bool>(), 0..1u64 << 40, 0..1_000_000_000u32)),
        ) {
            let modified = time.map(|(is_before, seconds, nanos)| {
                let distance = Duration::new(seconds, nanos);
                if is_before { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
            });
            let sent = Attributes { mode, modified };
            prop_assert_eq!(Attributes::told(&sent.fields().collect()), sent);
        }

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

    #[cfg(unix)]
    #[test]
    fn a_file_gets_what_was_said_and_no_setuid() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = std::fs::File::create(&path).unwrap();
        let wanted = Attributes { mode: mode("6750"), modified: modified("1000000000.25") };
        wanted.give(&file).unwrap();
        let found = path.metadata().unwrap();
        assert_eq!(Attributes::of(&found), wanted);
        assert_eq!(found.permissions().mode() & 0o7777, 0o750);
        Attributes::default().give(&file).unwrap();
        assert_eq!(Attributes::of(&path.metadata().unwrap()), wanted, "nothing is known, and nothing is set");
    }
}
