//! Conditional requests (RFC 9110 §13 and §14): whether a change may be done, and whether a download is all of a file, a
//! part, or only that nothing changed.

use core::ops::Range;
use http::header::{
    HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};
use std::time::SystemTime;

/// The part that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current<'a> {
    /// Its entity tag, in quotes; `None` if it changes right now.
    pub(crate) etag: Option<&'a str>,
    /// When it was last modified, from 1970 to 9999; `None` if it changes right now.
    pub(crate) modified: Option<SystemTime>,
    /// Bytes.
    pub(crate) size: u64,
}

/// How to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// 200: everything.
    Whole,
    /// 206: these bytes.
    Part(Range<u64>),
    /// 304: the client has it.
    NotModified,
    /// 412: the client wants another version.
    OtherVersion,
    /// 416: there are no such bytes.
    Unsatisfiable,
}

/// The conditions of a request on the version that is there, whatever its method is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demands {
    /// The entity tags of `If-Match`: one of them is the version's.
    any_of: Option<String>,
    /// The entity tags of `If-None-Match`: none of them is.
    none_of: Option<String>,
    /// Counts without `If-Match` only.
    unmodified_since: Option<SystemTime>,
}

impl Demands {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let date = text(headers, IF_UNMODIFIED_SINCE).and_then(|date| httpdate::parse_http_date(date).ok());
        Self { any_of: list(headers, IF_MATCH), none_of: list(headers, IF_NONE_MATCH), unmodified_since: date }
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.any_of.is_none() && self.none_of.is_none() && self.unmodified_since.is_none()
    }

    /// Whether a request that changes what has the name may do so. `None`: nothing has it.
    pub(crate) fn are_met_by(&self, there: Option<Current<'_>>) -> bool {
        match there {
            Some(there) => !self.want_other_than(there) && !self.know(there).unwrap_or(false),
            None => self.any_of.is_none(),
        }
    }

    fn want_other_than(&self, current: Current<'_>) -> bool {
        match (&self.any_of, self.unmodified_since) {
            (Some(tags), _) => !lists(tags, current.etag, Comparison::Strong),
            (None, Some(date)) => was_modified_since(date, current.modified),
            (None, None) => false,
        }
    }

    /// Whether it is one that the client has; `None` if the client names none.
    fn know(&self, current: Current<'_>) -> Option<bool> {
        Some(lists(self.none_of.as_ref()?, current.etag, Comparison::Weak))
    }
}

/// Evaluates the conditions of a download, in the order of RFC 9110 §13.2.2.
pub(crate) fn plan(headers: &HeaderMap, current: Current<'_>) -> Plan {
    let demands = Demands::of(headers);
    if demands.want_other_than(current) {
        return Plan::OtherVersion;
    }
    let is_known = demands.know(current).unwrap_or_else(|| {
        let date = text(headers, IF_MODIFIED_SINCE).and_then(|date| httpdate::parse_http_date(date).ok());
        date.is_some_and(|date| !was_modified_since(date, current.modified))
    });
    if is_known {
        return Plan::NotModified;
    }
    let Some(range) = text(headers, RANGE) else { return Plan::Whole };
    // A date is too coarse to tell versions apart, so only the tag lets a part be appended to another.
    if let Some(tag) = text(headers, IF_RANGE)
        && current.etag != Some(tag.trim())
    {
        return Plan::Whole;
    }
    match parse(range, current.size) {
        Parsed::Part(range) => Plan::Part(range),
        Parsed::Ignored => Plan::Whole,
        Parsed::Unsatisfiable => Plan::Unsatisfiable,
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A list that may stand in several lines (RFC 9110 §5.3).
fn list(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let lines: Vec<_> = headers.get_all(name).iter().map(|line| String::from_utf8_lossy(line.as_bytes())).collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Strong,
    Weak,
}

fn lists(tags: &str, etag: Option<&str>, comparison: Comparison) -> bool {
    let equal = |tag: &str| {
        let tag = if comparison == Comparison::Weak { tag.strip_prefix("W/").unwrap_or(tag) } else { tag };
        tag == "*" || Some(tag) == etag
    };
    tags.split(',').map(str::trim).any(equal)
}

/// A file that changes right now is younger than any date.
fn was_modified_since(date: SystemTime, modified: Option<SystemTime>) -> bool {
    // The date has whole seconds, so the file's time is compared as it would be written.
    modified.is_none_or(|modified| httpdate::HttpDate::from(modified) > date.into())
}

enum Parsed {
    Part(Range<u64>),
    /// Malformed, another unit, or several ranges, which a server may answer with everything.
    Ignored,
    Unsatisfiable,
}

fn parse(range: &str, size: u64) -> Parsed {
    let Some((first, last)) = range.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Parsed::Ignored;
    };
    let number = |digits: &str| -> Option<u64> {
        // A number beyond 64 bits lies behind every file.
        let digits = digits.trim();
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    let range = match (number(first), number(last), first.trim().is_empty(), last.trim().is_empty()) {
        (Some(first), Some(last), _, _) if first <= last => first..last.saturating_add(1).min(size),
        (Some(first), None, _, true) => first..size,
        (None, Some(suffix), true, _) => size.saturating_sub(suffix)..size,
        _ => return Parsed::Ignored,
    };
    if range.start < range.end { Parsed::Part(range) } else { Parsed::Unsatisfiable }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use http::HeaderValue;
    use proptest::prelude::*;

    /// The plan for a file of 100 bytes with the tag `"now"`, modified one day after 1970.
    fn planned(fields: &[(HeaderName, &str)]) -> Plan {
        let headers =
            fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
        plan(&headers, Current { etag: Some("\"now\""), modified: Some(modified), size: 100 })
    }

    #[test]
    fn single_ranges_are_cut_to_the_file() {
        for (range, plan) in [
            ("bytes=0-9", Plan::Part(0..10)),
            ("bytes=10-", Plan::Part(10..100)),
            ("bytes=90-500", Plan::Part(90..100)),
            ("bytes=-10", Plan::Part(90..100)),
            ("bytes=-500", Plan::Part(0..100)),
            ("bytes=99-99", Plan::Part(99..100)),
            ("bytes=0-99999999999999999999999", Plan::Part(0..100)),
            ("bytes=100-", Plan::Unsatisfiable),
            ("bytes=-0", Plan::Unsatisfiable),
            ("bytes=99999999999999999999999-", Plan::Unsatisfiable),
            ("bytes=9-5", Plan::Whole),
            ("bytes=-", Plan::Whole),
            ("bytes=0-1,5-6", Plan::Whole),
            ("bytes=+1-2", Plan::Whole),
            ("lines=0-9", Plan::Whole),
            ("", Plan::Whole),
        ] {
            assert_eq!(planned(&[(RANGE, range)]), plan, "{range}");
        }
    }

    #[test]
    fn an_empty_file_has_no_ranges() {
        let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static("bytes=0-"))]);
        let current = Current { etag: None, modified: None, size: 0 };
        assert_eq!(plan(&headers, current), Plan::Unsatisfiable);
    }

    #[test]
    fn a_range_of_another_version_becomes_the_whole_file() {
        assert_eq!(planned(&[(RANGE, "bytes=5-"), (IF_RANGE, "\"now\"")]), Plan::Part(5..100));
        assert_eq!(planned(&[(RANGE, "bytes=5-"), (IF_RANGE, "\"then\"")]), Plan::Whole);
        assert_eq!(planned(&[(RANGE, "bytes=5-"), (IF_RANGE, "W/\"now\"")]), Plan::Whole);
        assert_eq!(planned(&[(RANGE, "bytes=5-"), (IF_RANGE, "Fri, 02 Jan 1970 00:00:00 GMT")]), Plan::Whole);
    }

    #[test]
    fn a_file_that_changes_right_now_is_never_continued() {
        let headers = HeaderMap::from_iter([
            (RANGE, HeaderValue::from_static("bytes=5-")),
            (IF_RANGE, HeaderValue::from_static("\"now\"")),
        ]);
        let current = Current { etag: None, modified: None, size: 100 };
        assert_eq!(plan(&headers, current), Plan::Whole);
    }

    #[test]
    fn a_client_that_has_the_version_gets_nothing() {
        for tags in ["\"now\"", "W/\"now\"", "\"a\", \"now\"", "*"] {
            assert_eq!(planned(&[(IF_NONE_MATCH, tags)]), Plan::NotModified, "{tags}");
        }
        assert_eq!(planned(&[(IF_NONE_MATCH, "\"then\"")]), Plan::Whole);
        assert_eq!(planned(&[(IF_MODIFIED_SINCE, "Fri, 02 Jan 1970 00:00:00 GMT")]), Plan::NotModified);
        assert_eq!(planned(&[(IF_MODIFIED_SINCE, "Thu, 01 Jan 1970 00:00:00 GMT")]), Plan::Whole);
        assert_eq!(planned(&[(IF_MODIFIED_SINCE, "yesterday")]), Plan::Whole);
    }

    #[test]
    fn a_file_that_changes_right_now_is_younger_than_any_date() {
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(86_400));
        let of = |name| HeaderMap::from_iter([(name, HeaderValue::from_str(&date).unwrap())]);
        let current = Current { etag: None, modified: None, size: 100 };
        assert_eq!(plan(&of(IF_MODIFIED_SINCE), current), Plan::Whole);
        assert_eq!(plan(&of(IF_UNMODIFIED_SINCE), current), Plan::OtherVersion);
    }

    #[test]
    fn a_client_that_insists_on_another_version_is_told() {
        assert_eq!(planned(&[(IF_UNMODIFIED_SINCE, "Thu, 01 Jan 1970 00:00:00 GMT")]), Plan::OtherVersion);
        assert_eq!(planned(&[(IF_UNMODIFIED_SINCE, "Fri, 02 Jan 1970 00:00:00 GMT")]), Plan::Whole);
        assert_eq!(planned(&[(IF_UNMODIFIED_SINCE, "yesterday")]), Plan::Whole);
        let both = [(IF_MATCH, "\"now\""), (IF_UNMODIFIED_SINCE, "Thu, 01 Jan 1970 00:00:00 GMT")];
        assert_eq!(planned(&both), Plan::Whole, "the tag decides");
        assert_eq!(planned(&[(IF_MATCH, "\"then\"")]), Plan::OtherVersion);
        assert_eq!(planned(&[(IF_MATCH, "W/\"now\"")]), Plan::OtherVersion);
        assert_eq!(planned(&[(IF_MATCH, "\"now\"")]), Plan::Whole);
    }

    #[test]
    fn tags_of_all_lines_count() {
        for lines in [["\"now\"", "\"then\""], ["\"then\"", "\"now\""], ["\"then\"", "\"a\", \"now\""]] {
            assert_eq!(planned(&lines.map(|line| (IF_MATCH, line))), Plan::Whole, "{lines:?}");
            assert_eq!(planned(&lines.map(|line| (IF_NONE_MATCH, line))), Plan::NotModified, "{lines:?}");
        }
    }

    #[test]
    fn a_change_needs_the_version_that_it_names() {
        let modified = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(86_400));
        let there = Some(Current { etag: Some("\"now\""), modified, size: 100 });
        let untagged = Some(Current { etag: None, modified: None, size: 100 });
        let (before, then) = ("Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 02 Jan 1970 00:00:00 GMT");
        // Whether it may be done: to that version, to one without a tag, to nothing.
        for (fields, expected) in [
            (&[][..], [true, true, true]),
            (&[(IF_MATCH, "\"now\"")], [true, false, false]),
            (&[(IF_MATCH, "\"then\"")], [false, false, false]),
            (&[(IF_MATCH, "W/\"now\"")], [false, false, false]),
            (&[(IF_MATCH, "*")], [true, true, false]),
            (&[(IF_NONE_MATCH, "*")], [false, false, true]),
            (&[(IF_NONE_MATCH, "\"now\"")], [false, true, true]),
            (&[(IF_NONE_MATCH, "\"then\"")], [true, true, true]),
            (&[(IF_UNMODIFIED_SINCE, before)], [false, false, true]),
            (&[(IF_UNMODIFIED_SINCE, then)], [true, false, true]),
            (&[(IF_UNMODIFIED_SINCE, "yesterday")], [true, true, true]),
            (&[(IF_MATCH, "\"now\""), (IF_UNMODIFIED_SINCE, before)], [true, false, false]),
            (&[(IF_MATCH, "\"now\""), (IF_NONE_MATCH, "*")], [false, false, false]),
            (&[(IF_MODIFIED_SINCE, then)], [true, true, true]),
        ] {
            let headers = fields.iter().cloned().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
            let demands = Demands::of(&headers);
            assert_eq!([there, untagged, None].map(|there| demands.are_met_by(there)), expected, "{fields:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_range_is_asked_for_what_is_sent_lies_within_file(
            range in "bytes=[0-9]{0,21}-[0-9]{0,21}|[ -~]{0,20}",
            size in any::<u64>(),
        ) {
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_str(&range).unwrap())]);
            match plan(&headers, Current { etag: None, modified: None, size }) {
                Plan::Part(part) => prop_assert!(part.start < part.end && part.end <= size, "{:?}", part),
                plan => prop_assert!(matches!(plan, Plan::Whole | Plan::Unsatisfiable), "{:?}", plan),
            }
        }

        #[test]
        fn a_range_within_the_file_is_sent_as_it_was_asked_for(first in 0..u64::MAX - 1, length in 1..1000u64) {
            let last = first.saturating_add(length - 1).min(u64::MAX - 2);
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_str(&format!("bytes={first}-{last}")).unwrap())]);
            let current = Current { etag: None, modified: None, size: u64::MAX };
            let expected = if first <= last { Plan::Part(first..last + 1) } else { Plan::Whole };
            prop_assert_eq!(plan(&headers, current), expected);
        }

        #[test]
        fn any_conditions_have_the_answer_that_they_ask_for(
            fields in prop::collection::vec((0..6usize, "(\"now\"|W/\"now\"|\\*|\"then\"|Fri, 02 Jan 1970 00:00:00 GMT|Thu, 01 Jan 1970 00:00:00 GMT|bytes=5-|[ -~]{0,30})"), 0..5),
        ) {
            const NAMES: [HeaderName; 6] =
                [IF_MATCH, IF_NONE_MATCH, IF_RANGE, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE, RANGE];
            // Of several fields of one name the first counts, but of tags all do.
            let fields: Vec<_> = fields.iter().map(|(name, text)| (NAMES[*name].clone(), text.as_str())).collect();
            let said = |name: HeaderName| fields.iter().find(|(said, _)| *said == name).map(|(_, text)| *text);
            let tagged = |name: HeaderName, strong: bool| {
                said(name.clone())?;
                let weak = |tag: &str| !strong && tag == "W/\"now\"";
                let mut tags = fields.iter().filter(|(said, _)| *said == name).flat_map(|(_, tags)| tags.split(','));
                Some(tags.any(|tag| ["*", "\"now\""].contains(&tag.trim()) || weak(tag.trim())))
            };
            let later = |name| {
                let date = httpdate::parse_http_date(said(name)?).ok()?;
                Some(date >= SystemTime::UNIX_EPOCH + Duration::from_secs(86_400))
            };
            let wrong = tagged(IF_MATCH, true).map_or(later(IF_UNMODIFIED_SINCE) == Some(false), |fits| !fits);
            let known = tagged(IF_NONE_MATCH, false).unwrap_or(later(IF_MODIFIED_SINCE) == Some(true));
            let of_this = said(IF_RANGE).is_none_or(|tag| tag.trim() == "\"now\"");
            match planned(&fields) {
                Plan::OtherVersion => prop_assert!(wrong),
                Plan::NotModified => prop_assert!(!wrong && known),
                Plan::Whole => prop_assert!(!wrong && !known),
                Plan::Part(part) => {
                    prop_assert!(!wrong && !known && of_this && said(RANGE).is_some());
                    prop_assert!(part.start < part.end && part.end <= 100);
                }
                Plan::Unsatisfiable => prop_assert!(!wrong && !known && of_this && said(RANGE).is_some()),
            }
            if said(RANGE) == Some("bytes=5-") && !wrong && !known {
                let expected = if of_this { Plan::Part(5..100) } else { Plan::Whole };
                prop_assert_eq!(planned(&fields), expected);
            }
        }
    }
}
