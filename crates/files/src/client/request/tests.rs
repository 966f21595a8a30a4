//! How a server's header fields are read.

use super::super::trouble::retry_after;
use super::*;
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http::header::HeaderName;
use proptest::prelude::*;

#[test]
fn ranges_are_read_and_impossible_ones_refused() {
    assert_eq!(content::range("bytes 5-9/10"), Some((5, Some(10))));
    assert_eq!(content::range("bytes 0-0/*"), Some((0, None)));
    for wrong in [
        "",
        "bytes 5-9",
        "bytes */10",
        "bytes 9-5/10",
        "bytes 5-10/10",
        "items 5-9/10",
        "bytes -5-9/10",
        "bytes +5-9/10",
    ] {
        assert_eq!(content::range(wrong), None, "{wrong}");
    }
}

#[test]
fn a_malformed_digest_is_refused_with_the_url() {
    let read = |value: &str| {
        let headers = HeaderMap::from_iter([(wire::REPR_DIGEST, HeaderValue::from_str(value).unwrap())]);
        digest_of(&headers, "https://h/a")
    };
    let digest = blake3::hash(b"abc");
    let base64 = "blake3=:ZDezrDhGUTP/tjt1JzqNtUjFWEZdedsD/TWcbNW9nYU=:";
    assert_eq!(read(base64).unwrap(), Some(digest));
    assert_eq!(read(&format!("sha-256=:AAAA:, {base64}")).unwrap(), Some(digest));
    for other in ["", "sha256=00"] {
        assert_eq!(read(other).unwrap(), None, "{other}");
    }
    let hexadecimal = format!("blake3={}", digest.to_hex());
    for wrong in ["blake3=", "blake3=abc", "blake3=:AAAA:", "blake3=:::", &hexadecimal] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains("https://h/a a malformed BLAKE3"), "{wrong}: {error}");
    }
}

#[test]
fn a_digest_is_asked_for_by_want_repr_digest_alone() {
    let request = with_digest(plainly(&"https://h/a".parse().unwrap())).body(()).unwrap();
    let mut names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept-encoding", "want-repr-digest"]);
}

#[test]
fn a_length_is_digits_and_nothing_else() {
    let url = "https://h/a".parse().unwrap();
    let lengths = |values: &[&'static str]| {
        let values = values.iter().map(|value| (CONTENT_LENGTH, HeaderValue::from_static(value)));
        length(&HeaderMap::from_iter(values), &url)
    };
    assert_eq!(lengths(&[]).unwrap(), None);
    assert_eq!(lengths(&["5"]).unwrap(), Some(5));
    for wrong in ["-1", "+1", "abc", "", "5, 5", "1e3", "18446744073709551616"] {
        assert!(lengths(&[wrong]).unwrap_err().to_string().contains(&format!("`{wrong}`")), "{wrong}");
    }
    let mut two = HeaderMap::new();
    for value in ["5", "6"] {
        two.append(CONTENT_LENGTH, HeaderValue::from_static(value));
    }
    assert!(length(&two, &url).is_err());
}

#[test]
fn a_time_is_a_validator_once_it_is_past() {
    let version = |date: Option<&'static str>| {
        let mut headers = HeaderMap::new();
        headers.insert(LAST_MODIFIED, HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT"));
        date.map(|date| headers.insert(DATE, HeaderValue::from_static(date)));
        Version::of(&headers, Some(5), Kinds::default())
    };
    assert!(version(Some("Sun, 06 Nov 1994 08:49:38 GMT")).is_validated());
    for too_early in [None, Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some("Sun, 06 Nov 1994 08:49:00 GMT")] {
        assert!(!version(too_early).is_validated(), "{too_early:?}");
    }
}

#[test]
fn versions_fit_only_if_nothing_known_differs() {
    let version = |etag: Option<&str>, modified: Option<&str>, size| Version {
        etag: etag.map(str::to_owned),
        modified: modified.map(str::to_owned),
        size,
        ..Version::default()
    };
    let known = version(Some("\"1\""), Some("Mon"), Some(5));
    assert!(known.fits(&version(Some("\"1\""), Some("Tue"), Some(5))), "the tag decides over the time");
    assert!(known.fits(&version(Some("\"1\""), None, None)));
    assert!(!known.fits(&version(Some("\"2\""), Some("Mon"), Some(5))));
    assert!(!known.fits(&version(Some("\"1\""), Some("Mon"), Some(6))));
    assert!(!known.fits(&version(None, Some("Mon"), Some(5))), "a tag that vanished");
    assert!(!version(None, Some("Mon"), Some(5)).fits(&version(None, Some("Tue"), Some(5))));
}

#[test]
fn a_weak_tag_is_none() {
    let headers = HeaderMap::from_iter([(ETAG, HeaderValue::from_static("W/\"1\""))]);
    assert_eq!(Version::of(&headers, None, Kinds::default()).etag, None);
}

proptest! {
    #[test]
    fn any_part_of_a_file_is_read_as_it_was_written(first in any::<u64>(), length in any::<u64>(), size in any::<u64>()) {
        let last = first.saturating_add(length);
        prop_assert_eq!(content::range(&format!("bytes {first}-{last}/*")), Some((first, None)));
        let read = content::range(&format!("bytes {first}-{last}/{size}"));
        prop_assert_eq!(read, (last < size).then_some((first, Some(size))));
    }

    #[test]
    fn any_fields_have_a_meaning_or_none(
        range in "bytes [0-9*+-]{0,5}-[0-9 ]{0,22}/[0-9*]{0,22}|[ -~]{0,30}",
        time in "[ -~]{0,40}",
        tag in "(W/)?\"?[ -~]{0,10}",
    ) {
        if let Some((first, Some(size))) = content::range(&range) {
            prop_assert!(first < size);
        }
        let fields = [(LAST_MODIFIED, &time), (DATE, &time), (ETAG, &tag), (CONTENT_LENGTH, &time)];
        let fields = fields.map(|(name, text)| (name, HeaderValue::from_str(text).unwrap()));
        let headers = HeaderMap::from_iter(fields);
        let version = Version::of(&headers, None, Kinds::default());
        if let Ok(Some(length)) = length(&headers, &"https://h/a".parse().unwrap()) {
            prop_assert_eq!(time.trim_start_matches('0').parse().unwrap_or(0), length);
        }
        prop_assert!(version.attributes.modified.is_none_or(|at| httpdate::parse_http_date(&time).ok() == Some(at)));
        prop_assert!(!version.etag.is_some_and(|tag| tag.starts_with("W/")));
    }
}

#[test]
fn a_pause_is_read_as_seconds_or_a_time_and_bounded() {
    let date = "Fri, 27 Nov 2026 12:00:00 GMT";
    let now = httpdate::parse_http_date(date).unwrap();
    for (told, seconds) in [
        ("5", Some(5)),
        ("0", Some(0)),
        ("3600", Some(60)),
        ("99999999999999999999999", Some(60)),
        ("Fri, 27 Nov 2026 12:00:07 GMT", Some(7)),
        ("Fri, 27 Nov 2026 11:00:00 GMT", Some(0)),
        ("Fri, 27 Nov 2099 11:00:00 GMT", Some(60)),
        ("", None),
        ("-5", None),
        ("soon", None),
    ] {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, told.parse().unwrap())]);
        assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{told:?}");
    }
    let late = now + Duration::from_secs(3600);
    let times = [(RETRY_AFTER, "Fri, 27 Nov 2026 12:00:07 GMT".parse().unwrap()), (DATE, date.parse().unwrap())];
    assert_eq!(retry_after(&HeaderMap::from_iter(times), late), Some(Duration::from_secs(7)), "by the server's clock");
    assert_eq!(retry_after(&HeaderMap::new(), now), None);
}

#[test]
fn a_refusal_for_now_names_the_pause() {
    let headers = HeaderMap::from_iter([(RETRY_AFTER, "5".parse().unwrap())]);
    let refused = Refused::for_now("the server is busy".to_owned(), &headers);
    assert_eq!(refused.pause(), Some(Duration::from_secs(5)));
    assert_eq!(refused.to_string(), "the server is busy; it asks for a pause of 5s");
    assert_eq!(Refused::for_now("the server is busy".to_owned(), &HeaderMap::new()).pause(), None);
}
