//! The protocol of client and server beyond plain HTTP: field names, media types, digests.
//!
//! Digests are RFC 9530's fields with the algorithm key `blake3`, which its registry does not have: BLAKE3, 32 bytes.
//! Uploads follow the ideas of draft-ietf-httpbis-resumable-upload; `docs/http.md` has the protocol.

use crate::coding::ZSTD;
use crate::delta::AVERAGES;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::HeaderName;

/// Asks for the digest of the whole file: `blake3=10`.
pub(crate) const WANT_REPR_DIGEST: HeaderName = HeaderName::from_static("want-repr-digest");
/// The digest of the whole file, whatever part of it the message carries: `blake3=:<base64>:`.
pub(crate) const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");
/// Bytes of an upload that the server holds, or the position of the first byte of a request's body.
pub(crate) const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
/// Whether the file ends with this request's body: `?1` or `?0`.
pub(crate) const UPLOAD_COMPLETE: HeaderName = HeaderName::from_static("upload-complete");
/// Size of the whole file.
pub(crate) const UPLOAD_LENGTH: HeaderName = HeaderName::from_static("upload-length");
/// Whether what has arrived of an unfinished upload is of use once this client has left: `?1`, as without it, or `?0`.
pub(crate) const UPLOAD_KEEP: HeaderName = HeaderName::from_static("upload-keep");
/// Seconds for which a client whose upload was interrupted tries to come back.
pub(crate) const UPLOAD_PATIENCE: HeaderName = HeaderName::from_static("upload-patience");

/// Whether the answer is to have the fields of [`crate::attributes::Attributes`]: `?1`.
pub(crate) const WANT_FILE_ATTRIBUTES: HeaderName = HeaderName::from_static("want-file-attributes");
/// Permissions of the file, or of the directory, as an octal number.
pub(crate) const FILE_MODE: HeaderName = HeaderName::from_static("file-mode");
/// When it was modified: seconds since 1970, with decimals.
pub(crate) const FILE_MODIFIED: HeaderName = HeaderName::from_static("file-modified");

/// Whether the answer is to have owner and group, too: `?1`, or `?0` for their numbers alone.
pub(crate) const WANT_FILE_OWNERS: HeaderName = HeaderName::from_static("want-file-owners");
/// The number of its owner, and the percent-encoded name behind a space.
pub(crate) const FILE_OWNER: HeaderName = HeaderName::from_static("file-owner");
/// The same of its group.
pub(crate) const FILE_GROUP: HeaderName = HeaderName::from_static("file-group");
/// Whether the answer is to have extended attributes: `?1`.
pub(crate) const WANT_FILE_XATTRS: HeaderName = HeaderName::from_static("want-file-xattrs");
/// The same of access control lists: `?1`, or `?0` for numbers of users and groups alone.
pub(crate) const WANT_FILE_ACLS: HeaderName = HeaderName::from_static("want-file-acls");
/// All extended attributes, name and value in base64: `name:value,name:value`.
pub(crate) const FILE_XATTRS: HeaderName = HeaderName::from_static("file-xattrs");
/// The entries of its access control lists: `u::rw-,u:1000 anna:r--,g::r--,m::r--,o::---`.
pub(crate) const FILE_ACLS: HeaderName = HeaderName::from_static("file-acls");
/// Whether links are to be told as links: `?1`.
pub(crate) const WANT_FILE_LINKS: HeaderName = HeaderName::from_static("want-file-links");
/// Whether listings are to tell which names are those of one file: `?1`.
pub(crate) const WANT_FILE_NAMES: HeaderName = HeaderName::from_static("want-file-names");
/// The text of a symbolic link, percent-encoded.
pub(crate) const FILE_LINK: HeaderName = HeaderName::from_static("file-link");
/// The path of a file on the server that gets another name.
pub(crate) const FILE_SAME_AS: HeaderName = HeaderName::from_static("file-same-as");

/// Abilities of a server that earlier ones lack, in the answer to OPTIONS.
pub(crate) const FILE_FEATURES: HeaderName = HeaderName::from_static("file-features");
/// All that this version has.
pub(crate) const FEATURES: &str = "backup, links, owners, sparse, xattrs, zstd";
/// The end of the name, percent-encoded, under which a replaced file is kept.
pub(crate) const UPLOAD_BACKUP: HeaderName = HeaderName::from_static("upload-backup");

/// Whether stretches of zeros are to take no room: `?1`.
pub(crate) const UPLOAD_SPARSE: HeaderName = HeaderName::from_static("upload-sparse");

/// A coding of the body that the client reads, and that the body has: `zstd`.
pub(crate) const WANT_BODY_CODING: HeaderName = HeaderName::from_static("want-body-coding");
pub(crate) const BODY_CODING: HeaderName = HeaderName::from_static("body-coding");
/// The entity tag of the file whose bytes a body of the coding `delta` copies.
pub(crate) const UPLOAD_BASE: HeaderName = HeaderName::from_static("upload-base");
/// Bytes of a body without its coding.
pub(crate) const BODY_LENGTH: HeaderName = HeaderName::from_static("body-length");

/// The mean length of the chunks that the client wants to be told instead of the file.
pub(crate) const WANT_CHUNKS: HeaderName = HeaderName::from_static("want-file-chunks");
/// The mean length of the chunks that are told; in any other answer about a file, those that may be asked for.
pub(crate) const FILE_CHUNKS: HeaderName = HeaderName::from_static("file-chunks");
/// Media type of a list of chunks, and of the ranges that are asked for or sent.
pub(crate) const CHUNKS_TYPE: &str = "application/vnd.pcc.chunks";
pub(crate) const RANGES_TYPE: &str = "application/vnd.pcc.ranges";

/// Media type of a part of an upload.
pub(crate) const PARTIAL_UPLOAD_TYPE: &str = "application/partial-upload";

/// What the server says of a name that leads nowhere.
pub(crate) const NO_SUCH_FILE: &str = "no such file";

/// The value of [`REPR_DIGEST`].
pub(crate) fn digest_field(digest: &blake3::Hash) -> String {
    format!("blake3=:{}:", STANDARD.encode(digest.as_bytes()))
}

/// [`REPR_DIGEST`] names BLAKE3, and what stands there is none, or there are two.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed BLAKE3 digest")]
pub(crate) struct MalformedDigest;

/// The BLAKE3 digest among those that [`REPR_DIGEST`] lists; `None` without one. Others are none of ours.
pub(crate) fn digest_of(headers: &HeaderMap) -> Result<Option<blake3::Hash>, MalformedDigest> {
    let value = |member: &str| -> Option<blake3::Hash> {
        let encoded = member.strip_prefix("blake3=:")?.strip_suffix(':')?;
        let bytes: [u8; 32] = STANDARD.decode(encoded).ok()?.try_into().ok()?;
        Some(bytes.into())
    };
    let mut ours = None;
    for line in headers.get_all(REPR_DIGEST) {
        let members = line.to_str().map_err(|_| MalformedDigest)?.split(',').map(str::trim);
        for member in members.filter(|member| member.split(['=', ';']).next() == Some("blake3")) {
            let only = ours.replace(value(member).ok_or(MalformedDigest)?).is_none();
            if !only {
                return Err(MalformedDigest);
            }
        }
    }
    Ok(ours)
}

/// Whether the peer wants a BLAKE3 digest: its key is listed, with a preference above zero.
pub(crate) fn wants_digest(headers: &HeaderMap) -> bool {
    let wanted = |field: &str| field.trim().strip_prefix("blake3=").is_some_and(|preference| preference != "0");
    let mut lines = headers.get_all(WANT_REPR_DIGEST).iter();
    lines.any(|line| line.to_str().is_ok_and(|line| line.split(',').any(wanted)))
}

/// Whether the peer wants to know time and permissions.
pub(crate) fn wants_attributes(headers: &HeaderMap) -> bool {
    headers.get(WANT_FILE_ATTRIBUTES).is_some_and(|value| value == "?1")
}

/// Whether the peer wants to know owners, and if so, by name, too.
pub(crate) fn wants_owners(headers: &HeaderMap) -> Option<bool> {
    wants_by_name(headers, WANT_FILE_OWNERS)
}

/// Whether the peer wants to know access control lists, and if so, with names, too.
pub(crate) fn wants_acls(headers: &HeaderMap) -> Option<bool> {
    wants_by_name(headers, WANT_FILE_ACLS)
}

fn wants_by_name(headers: &HeaderMap, field: HeaderName) -> Option<bool> {
    match headers.get(field)?.as_bytes() {
        b"?1" => Some(true),
        b"?0" => Some(false),
        _ => None,
    }
}

/// Whether the peer wants to know extended attributes.
pub(crate) fn wants_xattrs(headers: &HeaderMap) -> bool {
    headers.get(WANT_FILE_XATTRS).is_some_and(|value| value == "?1")
}

/// Whether the peer wants links told as links.
pub(crate) fn wants_links(headers: &HeaderMap) -> bool {
    headers.get(WANT_FILE_LINKS).is_some_and(|value| value == "?1")
}

/// Whether the peer wants to know which names are those of one file.
pub(crate) fn wants_names(headers: &HeaderMap) -> bool {
    headers.get(WANT_FILE_NAMES).is_some_and(|value| value == "?1")
}

/// Whether the peer reads bodies that are compressed.
pub(crate) fn wants_zstd(headers: &HeaderMap) -> bool {
    headers.get(WANT_BODY_CODING).is_some_and(|value| value == ZSTD)
}

/// Whether the body is compressed. `None` if it has a coding that nobody knows here.
pub(crate) fn is_zstd(headers: &HeaderMap) -> Option<bool> {
    match headers.get(BODY_CODING) {
        None => Some(false),
        Some(value) => (value == ZSTD).then_some(true),
    }
}

/// The mean length of the chunks that the peer wants: one that there is.
pub(crate) fn wanted_chunks(headers: &HeaderMap) -> Option<usize> {
    let average = usize::try_from(number(headers, WANT_CHUNKS)?).ok()?;
    (AVERAGES.contains(&average) && average.is_power_of_two()).then_some(average)
}

/// Whether the peer tells chunks of its files.
pub(crate) fn tells_chunks(headers: &HeaderMap) -> bool {
    headers.contains_key(FILE_CHUNKS)
}

/// A field with a number, as in [`UPLOAD_OFFSET`]. `None` if it is missing or no number.
pub(crate) fn number(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    let digits = headers.get(name)?.to_str().ok()?.trim();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_digest_is_found_among_others() {
        let digest = blake3::hash(b"abc");
        let field = format!("sha-256=:AAAA:, {}", digest_field(&digest));
        assert_eq!(digest_of(&headers(REPR_DIGEST, &field)), Ok(Some(digest)));
    }

    #[test]
    fn a_malformed_digest_is_not_taken_for_none() {
        let one = digest_field(&blake3::hash(b"a"));
        for field in
            ["blake3", "blake3=", "blake3=::", "blake3=:AAAA:", "md5=::, blake3=:not base64:", &format!("{one},{one}")]
        {
            assert_eq!(digest_of(&headers(REPR_DIGEST, field)), Err(MalformedDigest), "{field}");
        }
        for field in ["", "sha-256=:AAAA:", "blake3x=1"] {
            assert_eq!(digest_of(&headers(REPR_DIGEST, field)), Ok(None), "{field}");
        }
        assert_eq!(digest_of(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn a_digest_is_wanted_if_asked_for_with_a_preference() {
        for (field, wanted) in
            [("blake3=10", true), ("sha-256=1, blake3=3", true), ("blake3=0", false), ("md5=1", false)]
        {
            assert_eq!(wants_digest(&headers(WANT_REPR_DIGEST, field)), wanted, "{field}");
        }
    }

    proptest! {
        #[test]
        fn any_digest_survives_wire_among_whatever_else_stands_there(
            bytes in any::<[u8; 32]>(),
            before in "[ -+\\--~]{0,40}",
        ) {
            let digest = blake3::Hash::from(bytes);
            let field = format!("sha-256=:{before}:, {}", digest_field(&digest));
            prop_assert_eq!(digest_of(&headers(REPR_DIGEST, &field)), Ok(Some(digest)));
        }

        #[test]
        fn any_field_is_a_digest_or_none(value in "[ -~]{0,80}", bytes in any::<[u8; 32]>(), cut in 0..60usize) {
            let _ = wants_digest(&headers(WANT_REPR_DIGEST, &value));
            if let Ok(Some(digest)) = digest_of(&headers(REPR_DIGEST, &value)) {
                prop_assert!(value.contains(&digest_field(&digest)));
            }
            let whole = digest_field(&bytes.into());
            let part = whole.get(..cut.min(whole.len() - 1)).unwrap_or_default();
            let read = digest_of(&headers(REPR_DIGEST, part));
            prop_assert!(!matches!(read, Ok(Some(_))), "{}, a part of a digest", part);
        }

        #[test]
        fn a_number_is_read_as_it_was_written_and_nothing_else_is_one(
            written in any::<u64>(),
            other in "[ -~]{0,30}",
        ) {
            prop_assert_eq!(number(&headers(UPLOAD_OFFSET, &written.to_string()), UPLOAD_OFFSET), Some(written));
            if let Some(read) = number(&headers(UPLOAD_OFFSET, &other), UPLOAD_OFFSET) {
                prop_assert_eq!(other.trim().trim_start_matches('0').parse().unwrap_or(0), read);
                prop_assert!(!other.contains(['+', '-']));
            }
        }
    }
}
