//! A request's fields about its bytes. A malformed field is refused: taken for absent, it would be a digest that nobody
//! checks, or a length that nobody keeps.

use super::partial;
use super::refused::Refused;
use crate::attributes::{self, Attributes};
use crate::choice::Backup;
use crate::coding::DELTA;
use crate::extended::{self, Extended};
use crate::owners::{self, Kind};
use crate::serve::token::Token;
use crate::wire;
use blake3::Hash;
use core::time::Duration;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Request};
use pcc_net::percent;

/// How long a client that does not say tries to come back: as long as `pcc put` does by itself.
const PATIENCE: Duration = Duration::from_secs(600);

/// A body, and where it belongs.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) id: String,
    pub(crate) keep: Keep,
    pub(crate) offset: u64,
    /// Whether the file ends with it.
    pub(crate) complete: bool,
    /// Bytes of the whole file.
    pub(crate) length: Option<u64>,
    pub(crate) digest: Option<Hash>,
    pub(crate) attributes: Attributes,
    /// Keeps the file that has the name now.
    pub(crate) backup: Option<Backup>,
    /// Whether stretches of zeros take no room.
    pub(crate) sparse: bool,
    /// Whether the body is a row of frames.
    pub(crate) is_coded: bool,
    /// The version of the file under the same name whose bytes the frames may copy.
    pub(crate) base: Option<String>,
}

/// Whether what arrived is of use if the rest does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The client can go on, also after it was started anew.
    Always,
    /// It can, unless it leaves, or does not come back for so long.
    WhileTheClientIsThere(Duration),
    /// It cannot.
    Never,
}

/// A field that says nothing that could be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed or missing field: {0}")]
pub(crate) struct Malformed(HeaderName);

impl Part {
    pub(crate) fn of(request: &Request<()>) -> Result<Self, Malformed> {
        let headers = request.headers();
        let digest = wire::digest_of(headers).map_err(|_| Malformed(wire::REPR_DIGEST))?;
        let body = field(headers, header::CONTENT_LENGTH, number)?;
        let attributes = attributes(request)?;
        let base = base(headers)?;
        let is_coded = base.is_some() || wire::is_zstd(headers).ok_or(Malformed(wire::BODY_CODING))?;
        let whole = Self {
            id: String::new(),
            keep: Keep::Never,
            offset: 0,
            complete: true,
            length: body.filter(|_| !is_coded),
            digest,
            attributes,
            sparse: field(headers, wire::UPLOAD_SPARSE, boolean)?.unwrap_or(false),
            backup: backup(headers)?,
            is_coded,
            base,
        };
        match id(request) {
            Some(id) => whole.resumable(id, headers),
            None if whole.base.is_some() => Err(Malformed(wire::UPLOAD_BASE)),
            // An ordinary PUT (RFC 9110 §9.3.4): all of the file, under an identity of its own.
            None => {
                let (_, id) = Token::generate().map_err(|_| Malformed(header::AUTHORIZATION))?;
                Ok(Self { id, ..whole })
            }
        }
    }

    /// The same of an upload with an identity, as its further fields say.
    fn resumable(self, id: &str, headers: &HeaderMap) -> Result<Self, Malformed> {
        let keep = match field(headers, wire::UPLOAD_KEEP, boolean)? {
            Some(false) => {
                let patience = field(headers, wire::UPLOAD_PATIENCE, number)?.map(Duration::from_secs);
                Keep::WhileTheClientIsThere(patience.unwrap_or(PATIENCE).min(partial::KEPT))
            }
            _ => Keep::Always,
        };
        Ok(Self {
            id: id.to_owned(),
            keep,
            offset: field(headers, wire::UPLOAD_OFFSET, number)?.ok_or(Malformed(wire::UPLOAD_OFFSET))?,
            complete: field(headers, wire::UPLOAD_COMPLETE, boolean)?.unwrap_or(false),
            length: field(headers, wire::UPLOAD_LENGTH, number)?,
            ..self
        })
    }
}

/// The entity tag of the file that a body of the coding `delta` copies from; `None` if the body has another coding.
fn base(headers: &HeaderMap) -> Result<Option<String>, Malformed> {
    if headers.get(wire::BODY_CODING).is_none_or(|coding| coding != DELTA) {
        return Ok(None);
    }
    let tag = headers.get(wire::UPLOAD_BASE).and_then(|tag| tag.to_str().ok());
    tag.map(|tag| Some(tag.to_owned())).ok_or(Malformed(wire::UPLOAD_BASE))
}

/// Whether the body is a file as it is, or the next bytes of an upload: what says something else changes its meaning.
pub(crate) fn is_plain(headers: &HeaderMap) -> Result<(), Refused> {
    if headers.contains_key(header::CONTENT_RANGE) {
        return Err(Refused::Range);
    }
    let is_identity = |coding: &HeaderValue| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    if codings.all(is_identity) { Ok(()) } else { Err(Refused::Encoded) }
}

/// The size that the client's file has, if it says so.
pub(crate) fn length(request: &Request<()>) -> Result<Option<u64>, Malformed> {
    field(request.headers(), wire::UPLOAD_LENGTH, number)
}

/// The attributes that the file or the directory is to have of its source.
pub(crate) fn attributes(request: &Request<()>) -> Result<Attributes, Malformed> {
    let headers = request.headers();
    Ok(Attributes {
        mode: field(headers, wire::FILE_MODE, attributes::mode)?,
        modified: field(headers, wire::FILE_MODIFIED, attributes::modified)?,
        owner: field(headers, wire::FILE_OWNER, |text| owners::read(Kind::User, text))?,
        group: field(headers, wire::FILE_GROUP, |text| owners::read(Kind::Group, text))?,
        extended: Extended {
            xattrs: field(headers, wire::FILE_XATTRS, extended::xattrs)?,
            acls: field(headers, wire::FILE_ACLS, extended::acls)?,
        },
    })
}

/// Whether what has the name now is kept, and how.
pub(crate) fn backup(headers: &HeaderMap) -> Result<Option<Backup>, Malformed> {
    field(headers, wire::UPLOAD_BACKUP, |text| Backup::new(&percent::decode(text)?).ok())
}

/// The identity of an upload: `?upload=<letters, digits, - and _>`, chosen by the client.
pub(crate) fn id(request: &Request<()>) -> Option<&str> {
    let id = request.uri().query()?.split('&').find_map(|pair| pair.strip_prefix("upload="))?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    ((1..=64).contains(&id.len()) && id.bytes().all(plain)).then_some(id)
}

/// A field that may occur once.
fn field<T>(headers: &HeaderMap, name: HeaderName, read: fn(&str) -> Option<T>) -> Result<Option<T>, Malformed> {
    let mut values = headers.get_all(&name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str().ok().and_then(|value| read(value.trim())) {
            Some(read) => Ok(Some(read)),
            None => Err(Malformed(name)),
        },
        (Some(_), Some(_)) => Err(Malformed(name)),
    }
}

/// Digits only: the standard library takes a sign too.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A boolean of structured fields (RFC 9651 §3.3.6).
fn boolean(text: &str) -> Option<bool> {
    match text {
        "?1" => Some(true),
        "?0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    const RESUMABLE: &str = "https://host/file?upload=id";
    const PLAIN: &str = "https://host/file";

    fn part(uri: &str, fields: &[(&'static str, &str)]) -> Result<Part, Malformed> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in fields {
            request = request.header(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        Part::of(&request.body(()).unwrap())
    }

    #[test]
    fn a_part_says_where_it_belongs() {
        let digest = blake3::hash(b"abc");
        let sent = wire::digest_field(&digest);
        let fields = [
            ("upload-offset", "7"),
            ("upload-complete", "?1"),
            ("upload-length", "9"),
            ("content-length", "2"),
            ("upload-keep", "?0"),
            ("upload-patience", "90"),
            ("repr-digest", &*format!("sha-256=:AAAA:, {sent}")),
        ];
        let part = part(RESUMABLE, &fields).unwrap();
        let keep = Keep::WhileTheClientIsThere(Duration::from_secs(90));
        assert_eq!((&*part.id, part.keep, part.offset), ("id", keep, 7));
        assert_eq!((part.complete, part.length), (true, Some(9)));
        assert_eq!(part.digest, Some(digest));
    }

    #[test]
    fn an_ordinary_put_is_all_of_the_file() {
        let part = part(PLAIN, &[("content-length", "5")]).unwrap();
        assert_eq!((part.keep, part.offset, part.complete, part.length), (Keep::Never, 0, true, Some(5)));
        assert_eq!(part.digest, None);
    }

    #[test]
    fn what_is_malformed_is_refused_not_ignored() {
        let offset = ("upload-offset", "0");
        for wrong in ["", "-1", "+1", "1.5", "abc", "0x10", "99999999999999999999", "1 2"] {
            for name in ["content-length", "upload-length"] {
                assert!(part(RESUMABLE, &[offset, (name, wrong)]).is_err(), "{name}: {wrong}");
            }
            assert!(part(RESUMABLE, &[("upload-offset", wrong)]).is_err(), "upload-offset: {wrong}");
            assert!(part(PLAIN, &[("content-length", wrong)]).is_err(), "PUT, content-length: {wrong}");
        }
        for wrong in ["blake3", "blake3=", "blake3=:AAAA:", "blake3=:not base64:", "blake3=abc", "md5=::, blake3=:"] {
            assert!(part(PLAIN, &[("repr-digest", wrong)]).is_err(), "repr-digest: {wrong}");
        }
        for (name, wrong) in
            [("file-mode", "rwx"), ("file-mode", "9"), ("file-modified", "yesterday"), ("file-modified", "")]
        {
            assert!(part(PLAIN, &[(name, wrong)]).is_err(), "{name}: {wrong}");
        }
        for wrong in ["1", "true", "?2", ""] {
            assert!(part(RESUMABLE, &[offset, ("upload-complete", wrong)]).is_err(), "upload-complete: {wrong}");
        }
        assert!(part(RESUMABLE, &[]).is_err(), "an offset is needed");
        assert!(part(RESUMABLE, &[offset, offset]).is_err(), "two offsets");
        let one = wire::digest_field(&blake3::hash(b"a"));
        assert!(part(PLAIN, &[("repr-digest", &one), ("repr-digest", &one)]).is_err(), "two digests");
    }

    #[test]
    fn digests_of_other_kinds_are_nothing_to_us() {
        assert_eq!(part(PLAIN, &[("repr-digest", "sha-256=:AAAA:, blake3x=1")]).unwrap().digest, None);
    }

    proptest! {
        #[test]
        fn any_fields_are_understood_or_refused(
            uri in "https://host/[a-z]{0,3}(\\?upload=[a-zA-Z0-9_%&=-]{0,70})?",
            fields in prop::collection::vec((0..8usize, "[ -~\\x80-\\xff]{0,40}"), 0..8),
        ) {
            const NAMES: [&str; 8] = [
                "upload-offset", "upload-length", "upload-complete", "content-length", "repr-digest", "upload-keep",
                "file-mode", "file-modified",
            ];
            let fields: Vec<_> = fields.iter().map(|(name, value)| (NAMES[*name], value.as_str())).collect();
            if let Ok(part) = part(&uri, &fields) {
                // Nothing that was said is missing from what was understood.
                let said = |name| fields.iter().any(|(said, _)| *said == name);
                prop_assert_eq!(said("file-mode"), part.attributes.mode.is_some());
                prop_assert_eq!(said("file-modified"), part.attributes.modified.is_some());
                prop_assert!((1..=64).contains(&part.id.len()));
                let digests = fields.iter().filter(|(name, value)| *name == "repr-digest" && value.contains("blake3=:"));
                prop_assert!(part.digest.is_none() || digests.count() == 1);
            }
        }

        #[test]
        fn numbers_are_read_as_they_are_written(number in any::<u64>()) {
            let text = number.to_string();
            prop_assert_eq!(part(RESUMABLE, &[("upload-offset", &text)]).unwrap().offset, number);
        }

        #[test]
        fn a_digest_is_the_one_that_was_written_or_refused(
            data in any::<[u8; 8]>(), place in 0..52usize, byte in 0x21..0x7fu8,
        ) {
            let digest = blake3::hash(&data);
            let mut field = wire::digest_field(&digest).into_bytes();
            field[place] = byte;
            let field = String::from_utf8(field).unwrap();
            if let Ok(part) = part(PLAIN, &[("repr-digest", &field)]) {
                let still = part.digest.is_none_or(|read| wire::digest_field(&read) == field);
                prop_assert!(still, "{}", field);
            }
        }
    }
}
