//! Requests, answers and listings, as servers and clients of files have them from each other, and the journal of a download.

use crate::choice::pattern::Pattern;
use crate::client::{content, entries, names};
use crate::extended::acls::{Acl, Acls};
use crate::extended::xattrs::{Space, Xattrs};
use crate::filename::LONGEST;
use crate::get::journal;
use crate::serve::conditions::{Current, Plan, plan};
use crate::serve::path::SafePath;
use crate::serve::upload::part::{Part, is_plain};
use crate::wire;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::path::Component;
use std::time::{Duration, UNIX_EPOCH};

/// Half an hour old, and of 1024 bytes.
pub(crate) const CONDITIONS: &[u8] = b"\x01\x0a
range: bytes=5-700
if-range: \"tag\"
if-match: \"other\", \"tag\"
if-none-match: W/\"no\"
if-modified-since: Thu, 01 Jan 1970 00:00:00 GMT
if-unmodified-since: Thu, 01 Jan 2970 00:00:00 GMT";

pub(crate) const UPLOAD: &[u8] = b"1upload-offset: 7
upload-complete: ?1
upload-length: 9
upload-keep: ?0
upload-patience: 90
upload-backup: ~
upload-sparse: ?1
content-length: 2
content-encoding: identity
repr-digest: sha-256=:AAAA:, blake3=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:
body-coding: delta
upload-base: \"tag\"
file-mode: 644
file-modified: -1.5
file-owner: 1000 a%20b
file-group: 7";

pub(crate) const ATTRIBUTES: &[u8] = b"0file-xattrs: dXNlci5raW5k:bGV0dGVy,dXNlci5h:
file-acls: u::rw-,u:1000 anna:r--,g::r--,m::r--,o::---,d:u::rwx,d:g::r-x,d:o::---";

pub(crate) const LISTING: &[u8] =
    br#"x{"omitted":2,"entries":[{"name":"a","type":"file","size":5,"modified":7,"same":"1"},
{"name":"b","type":"link","target":"a","changed":"1.5","owner":"7 me","group":"8"}]}"#;

/// The first four bytes are the length of the partial file.
pub(crate) const JOURNAL: &[u8] =
    br#"long{"mark_each":4194304,"url":"https://h/a","url_blake3":"","etag":"\"a\"","size":9000000}
{"end":4194304,"blake3":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
{"end":9000000,"blake3":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
"#;

/// Version 2, and the owner, the owning group and others, who may read.
pub(crate) const LIST: &[u8] =
    b"\x02\0\0\0\x01\0\x04\0\xff\xff\xff\xff\x04\0\x04\0\xff\xff\xff\xff\x20\0\x04\0\xff\xff\xff\xff";

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The fields that stand in lines, `NAME: VALUE`.
fn fields(bytes: &[u8]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(64) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii())) {
            fields.append(name, value);
        }
    }
    fields
}

/// It stays below the directory that is served.
pub(crate) fn path_of_a_request(bytes: &[u8]) -> bool {
    let Ok(path) = SafePath::parse(&text(bytes)) else { return false };
    let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    assert!(path.to_path().components().all(is_below), "{path:?}");
    assert!(path.name().is_none_or(|name| !name.is_empty() && name.len() <= LONGEST), "{path:?}");
    true
}

/// A part of a file lies within it.
pub(crate) fn conditions_of_a_request(bytes: &[u8]) -> bool {
    let Some(([size, age], bytes)) = bytes.split_first_chunk() else { return false };
    let current = Current {
        etag: (age % 3 > 0).then_some("\"tag\""),
        modified: (age % 5 > 0).then(|| UNIX_EPOCH + Duration::from_secs(u64::from(*age) << 24)),
        size: u64::from(*size) << (age % 56),
    };
    let Plan::Part(range) = plan(&fields(bytes), current) else { return false };
    assert!(range.start < range.end && range.end <= current.size);
    true
}

pub(crate) fn fields_of_an_upload(bytes: &[u8]) -> bool {
    let Some((has_id, bytes)) = bytes.split_first() else { return false };
    let uri = if has_id % 2 == 0 { "https://host/file" } else { "https://host/file?upload=id" };
    let mut request = http::Request::new(());
    *request.uri_mut() = http::Uri::from_static(uri);
    *request.headers_mut() = fields(bytes);
    let is_plain = is_plain(request.headers()).is_ok();
    let Ok(part) = Part::of(&request) else { return false };
    assert!(part.attributes.mode.is_none_or(|mode| mode <= 0o777));
    assert!(part.base.is_none() || part.is_coded);
    if let Some(xattrs) = &part.attributes.extended.xattrs {
        assert!(xattrs.0.keys().all(|name| Space::of(name).is_some()));
        assert_eq!(Xattrs::read(&xattrs.text()).as_ref(), Some(xattrs));
    }
    if let Some(acls) = &part.attributes.extended.acls {
        assert_eq!(Acls::read(&acls.text(true)).as_ref(), Some(acls));
        assert!(acls.access.iter().chain(&acls.default).all(|list| Acl::from_system(&list.to_system()).is_some()));
    }
    is_plain
}

/// A range is not empty, and within the whole.
pub(crate) fn fields_of_an_answer(bytes: &[u8]) -> bool {
    let headers = fields(bytes);
    let _ = (content::length(&headers), wire::digest_of(&headers), wire::wants_digest(&headers));
    let _ = (wire::wants_owners(&headers), wire::wants_acls(&headers), wire::wants_xattrs(&headers));
    assert!(wire::wanted_chunks(&headers).is_none_or(usize::is_power_of_two));
    let text = text(bytes);
    let Some((first, Some(size))) = content::range(text.lines().next().unwrap_or_default()) else { return false };
    assert!(first < size);
    true
}

/// A name that counts is one of the directory.
pub(crate) fn listing(bytes: &[u8]) -> bool {
    let Some((most, bytes)) = bytes.split_first() else { return false };
    let Ok(listing) = entries::parse(bytes, usize::from(*most)) else { return false };
    assert!(listing.entries.len() <= usize::from(*most));
    for entry in &listing.entries {
        let _ = entry.attributes();
        if let Ok(name) = names::check(&entry.name) {
            let mut parts = std::path::Path::new(name).components();
            assert!(matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)), "{name:?}");
        }
    }
    true
}

/// Marks ascend, and cover no more than the file.
pub(crate) fn journal(bytes: &[u8]) -> bool {
    let Some((length, bytes)) = bytes.split_first_chunk() else { return false };
    let Ok(Some((header, marks))) = journal::parse(bytes, u32::from_le_bytes(*length).into()) else { return false };
    assert!(marks.is_sorted_by(|one, next| one.end < next.end));
    assert!(marks.iter().all(|mark| 0 < mark.end && mark.end <= header.size));
    true
}

/// A file system may hold any bytes, if somebody else made it.
pub(crate) fn list_on_a_disk(bytes: &[u8]) -> bool {
    let Some(list) = Acl::from_system(bytes) else { return false };
    assert_eq!(Acl::from_system(&list.to_system()), Some(list));
    true
}

/// The first line is the pattern, and the others are paths.
pub(crate) fn pattern(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let mut lines = text.split('\n');
    let Ok(pattern) = Pattern::new(lines.next().unwrap_or_default()) else { return false };
    for path in lines {
        let _ = (pattern.matches(path, false), pattern.matches(path, true));
    }
    true
}
