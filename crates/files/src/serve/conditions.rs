//! The answer to a conditional request: all of a file, a part, or only that nothing changed (RFC 9110 §13 and §14).

use core::ops::Range;
use http::header::{
    HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};
use std::time::SystemTime;

/// What there is to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current<'a> {
    /// Its entity tag, in quotes; `None` if it changes right now.
    pub(super) etag: Option<&'a str>,
    /// When it was last modified; `None` if it changes right now.
    pub(super) modified: Option<SystemTime>,
    /// Bytes.
    pub(super) size: u64,
}

/// How to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
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

/// Evaluates a request's conditions, in the order of RFC 9110 §13.2.2.
pub(super) fn plan(headers: &HeaderMap, current: Current<'_>) -> Plan {
    match (text(headers, IF_MATCH), text(headers, IF_UNMODIFIED_SINCE)) {
        (Some(tags), _) if !lists(tags, current.etag, Comparison::Strong) => return Plan::OtherVersion,
        (None, Some(date)) if was_modified_since(date, current.modified) == Some(true) => return Plan::OtherVersion,
        _ => {}
    }
    match (text(headers, IF_NONE_MATCH), text(headers, IF_MODIFIED_SINCE)) {
        (Some(tags), _) if lists(tags, current.etag, Comparison::Weak) => return Plan::NotModified,
        (None, Some(date)) if was_modified_since(date, current.modified) == Some(false) => return Plan::NotModified,
        _ => {}
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

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Strong,
    Weak,
}

fn lists(tags: &str, etag: Option<&str>, comparison: Comparison) -> bool {
    let equal = |tag: &str| {
        let tag = if comparison == Comparison::Weak { tag.strip_prefix("W/").unwrap_or(tag) } else { tag };
        Some(tag) == etag
    };
    tags.trim() == "*" || tags.split(',').map(str::trim).any(equal)
}

/// `None` for what is no date. What changes right now is younger than any.
fn was_modified_since(date: &str, modified: Option<SystemTime>) -> Option<bool> {
    let date = httpdate::parse_http_date(date).ok()?;
    // The date has whole seconds, so the file's time is compared as it would be written.
    Some(modified.is_none_or(|modified| httpdate::HttpDate::from(modified) > date.into()))
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
            // Of several fields of one name the first counts.
            let fields: Vec<_> = fields.iter().map(|(name, text)| (NAMES[*name].clone(), text.as_str())).collect();
            let said = |name: HeaderName| fields.iter().find(|(said, _)| *said == name).map(|(_, text)| *text);
            let tagged = |name, strong: bool| {
                let tags = said(name)?.trim();
                let weak = |tag: &str| !strong && tag == "W/\"now\"";
                Some(tags == "*" || tags.split(',').map(str::trim).any(|tag| tag == "\"now\"" || weak(tag)))
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
