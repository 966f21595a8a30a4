//! Percent-encoding of URL paths (RFC 3986 §2.1).

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that cannot stand in one name between two slashes: all but `pchar`.
const NO_SEGMENT: &AsciiSet = {
    const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    const HALF: AsciiSet = UNRESERVED.remove(b'!').remove(b'$').remove(b'&').remove(b'\'').remove(b'(').remove(b')');
    &HALF.remove(b'*').remove(b'+').remove(b',').remove(b';').remove(b'=').remove(b':').remove(b'@')
};

/// Characters that can never stand in a path and query.
const NOWHERE: &AsciiSet = {
    const TEXT: AsciiSet = CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\');
    &TEXT.add(b'^').add(b'`').add(b'{').add(b'|').add(b'}')
};

/// Encodes one name for use between two slashes.
pub fn encode_segment(name: &str) -> String {
    utf8_percent_encode(name, NO_SEGMENT).to_string()
}

/// Encodes what a person typed as path and query: only what can never stand there, so that existing encoding stays.
pub fn encode_typed(path: &str) -> String {
    utf8_percent_encode(path, NOWHERE).to_string()
}

/// Decodes. `None` if a `%` is not followed by two hexadecimal digits, or the result is not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    let is_encoded = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    text.split('%').skip(1).all(is_encoded).then(|| decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_name_survives_encoding() {
        for name in ["plain.txt", "a b", "100%", "ä/ö", "?query#fragment", "\u{1F600}", "%2e%2e", "new\nline"] {
            let encoded = encode_segment(name);
            assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#".contains(&byte)), "{encoded}");
            assert_eq!(decode(&encoded).unwrap(), name);
        }
    }

    proptest! {
        #[test]
        fn any_name_survives_and_needs_no_more_encoding(name in any::<String>()) {
            let encoded = encode_segment(&name);
            prop_assert_eq!(decode(&encoded), Some(name));
            prop_assert_eq!(encode_typed(&encoded), encoded.clone());
            prop_assert!(!encoded.contains(['/', '?', '#']));
        }

        #[test]
        fn what_decodes_is_encoded_right_everywhere(text in "[%0-9a-fg/]{0,12}") {
            let broken = text.split('%').skip(1).any(|rest| u8::from_str_radix(rest.get(..2).unwrap_or("x"), 16).is_err());
            if broken {
                prop_assert_eq!(decode(&text), None);
            }
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
