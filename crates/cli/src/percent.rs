//! Percent-encoding of URL paths (RFC 3986 §2.1).

/// Encodes one name for use between two slashes.
pub(crate) fn encode_segment(name: &str) -> String {
    encode(name, |byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte))
}

/// Encodes what a person typed as path and query: only what can never stand there, so that existing encoding stays.
pub(crate) fn encode_typed(path: &str) -> String {
    encode(path, |byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
}

fn encode(text: &str, stays: impl Fn(u8) -> bool) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if stays(byte) {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}

/// Decodes. `None` if a `%` is not followed by two hexadecimal digits, or the result is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => digit(bytes.next()?)? << 4 | digit(bytes.next()?)?,
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| digit.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_encoding() {
        for name in ["plain.txt", "a b", "100%", "ä/ö", "?query#fragment", "\u{1F600}", "%2e%2e", "new\nline"] {
            let encoded = encode_segment(name);
            assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#".contains(&byte)), "{encoded}");
            assert_eq!(decode(&encoded).unwrap(), name);
        }
    }

    #[test]
    fn broken_encoding_is_refused() {
        for wrong in ["%", "%2", "%zz", "%+1", "a%", "%ff%fe"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_was_typed_encoded_stays_encoded() {
        assert_eq!(encode_typed("/a%20b c?x=ü"), "/a%20b%20c?x=%C3%BC");
    }
}
