//! Files that stay as they are at the destination, whatever the other side has.

use crate::attributes::whole_seconds;
use std::time::SystemTime;

/// By what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spared {
    /// Those that were modified later than the other side's, by a second or more.
    pub newer: bool,
    /// All that are there: only new ones are brought.
    pub existing: bool,
    /// Those that are not there stay away: no new ones are brought.
    pub absent: bool,
}

impl Spared {
    /// Whether the destination must be looked at.
    pub(crate) fn any(self) -> bool {
        self != Self::default()
    }

    /// Whether a file is not brought. `there` is whether the destination has one, with its time of modification as far as it is known;
    /// `offered` the time of the other side's.
    pub(crate) fn has(self, there: Option<Option<SystemTime>>, offered: Option<SystemTime>) -> bool {
        let Some(modified) = there else { return self.absent };
        // HTTP's own times have no parts of seconds.
        let is_newer =
            || modified.zip(offered).is_some_and(|(there, offered)| whole_seconds(there) > whole_seconds(offered));
        self.existing || self.newer && is_newer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use std::time::UNIX_EPOCH;

    #[test]
    fn a_file_stays_by_its_age_or_because_it_is_there() {
        let at = |seconds| Some(UNIX_EPOCH + Duration::from_secs_f64(seconds));
        let newer = Spared { newer: true, ..Spared::default() };
        for (there, offered, stays) in [
            (Some(at(5.0)), at(4.9), true),
            (Some(at(5.9)), at(5.1), false),
            (Some(at(5.0)), at(6.0), false),
            (Some(None), at(6.0), false),
            (None, at(6.0), false),
        ] {
            assert_eq!(newer.has(there, offered), stays, "{there:?} {offered:?}");
        }
        let (existing, absent) =
            (Spared { existing: true, ..Spared::default() }, Spared { absent: true, ..Spared::default() });
        assert!(existing.has(Some(None), None) && !existing.has(None, None));
        assert!(absent.has(None, None) && !absent.has(Some(None), None));
        assert!(newer.any() && !Spared::default().any());
    }
}
