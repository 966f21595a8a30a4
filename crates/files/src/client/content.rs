//! Which bytes of a file an answer has, by its fields.

use http::HeaderMap;
use http::header::CONTENT_LENGTH;

/// The length that the server names, if it does.
///
/// Errors: it names none that could be (RFC 9110 §8.6), but this. Without a length the end of a file could not be told from a
/// broken connection, so a wrong one is not taken for none.
pub(crate) fn length(headers: &HeaderMap) -> Result<Option<u64>, &str> {
    let mut named = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        let written = value.to_str().unwrap_or_default();
        let digits = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit());
        let length = written.parse().ok().filter(|length| digits && named.is_none_or(|named| named == *length));
        named = Some(length.ok_or(written)?);
    }
    Ok(named)
}

/// First byte and size of the whole, from `bytes 5-9/10` or `bytes 5-9/*` (RFC 9110 §14.4).
pub(crate) fn range(written: &str) -> Option<(u64, Option<u64>)> {
    let (range, size) = written.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    // Digits only: the standard library takes a sign too.
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?;
    let (first, last) = (number(first)?, number(last)?);
    let size = if size == "*" { None } else { Some(number(size)?) };
    (first <= last && size.is_none_or(|size| last < size)).then_some((first, size))
}
