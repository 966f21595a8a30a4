//! The code that one computer shows and the other is told: a secret for one use, and where to look for its sender.

use crate::place::{Place, PlaceError};
use core::fmt;
use core::str::FromStr;
use data_encoding::{Encoding, Specification};
use iroh::SecretKey;
use std::sync::LazyLock;

/// A code, as `kmfm-eb2v-fbhr-85jy@relay.example.org`.
///
/// Sixteen characters are 64 random bits and a check of 16 bits. The check is over the places, too. Both computers derive their keys
/// from the random bits, so the code's holders know each other by the handshake of TLS, and the code itself is never sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Code {
    secret: [u8; SECRET],
    places: Vec<Place>,
}

/// Bytes of the secret. The sender's public key follows from them, and a relay hears that key. A relay that tries all 2^64 secrets at 10^8
/// a second and processor needs 5·10^7 processors to find the right one within an hour.
const SECRET: usize = 8;

/// Bytes of the check: it overlooks one typing error in 65,536.
const CHECK: usize = 2;

/// Characters between two hyphens.
const GROUP: usize = 4;

/// Groups of a code.
const GROUPS: usize = 4;

/// Places that a code may name.
pub const MOST_PLACES: usize = 8;

/// Crockford's base 32, whose digits are hard to confuse. It reads capitals, `o` as 0, and `i` and `l` as 1.
static DIGITS: LazyLock<Encoding> = LazyLock::new(|| {
    let mut digits = Specification::new();
    digits.symbols.push_str("0123456789abcdefghjkmnpqrstvwxyz");
    digits.translate.from.push_str("ABCDEFGHJKMNPQRSTVWXYZoOiIlL");
    digits.translate.to.push_str("abcdefghjkmnpqrstvwxyz001111");
    digits.ignore.push('-');
    digits.encoding().unwrap_or(data_encoding::BASE32) // the alphabet is a valid one: a test reads all of it
});

/// Why a text is no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// The number of characters.
    #[error("a code has {GROUPS} groups of {GROUP} characters, like kmfm-eb2v-fbhr-85jy: count them")]
    Length,
    /// A character of no code.
    #[error("`{0}` is in no code: digits, and letters without u, are")]
    Character(char),
    /// The check.
    #[error("the code has a typing error, also behind the @: compare it with the other screen")]
    Typed,
    /// The part behind the @.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Too many of them.
    #[error("a code names at most {MOST_PLACES} places")]
    Places,
}

impl Code {
    /// A new one, for a sender at these places.
    ///
    /// Errors: the system has no random numbers.
    pub(crate) fn new(places: Vec<Place>) -> Result<Self, aws_lc_rs::error::Unspecified> {
        let mut secret = [0; SECRET];
        aws_lc_rs::rand::fill(&mut secret)?;
        Ok(Self { secret, places })
    }

    /// The same secret, with other places.
    pub(crate) fn at(&self, mut places: Vec<Place>) -> Self {
        places.truncate(MOST_PLACES);
        Self { secret: self.secret, places }
    }

    /// Where its sender is. With none it is looked for in the local network.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The sender's key.
    pub(crate) fn sender(&self) -> SecretKey {
        SecretKey::from_bytes(&blake3::derive_key("PCC 2026-11 reach: the sender's key", &self.secret))
    }

    /// The receiver's key.
    pub(crate) fn receiver(&self) -> SecretKey {
        SecretKey::from_bytes(&blake3::derive_key("PCC 2026-11 reach: the receiver's key", &self.secret))
    }

    /// The first group, by which people know a code and nobody can use it.
    pub fn short(&self) -> String {
        self.to_string().chars().take(GROUP).collect()
    }

    /// Whether whoever wrote this means a code, also with typing errors: four groups of letters and digits.
    pub fn is_meant(written: &str) -> bool {
        let (groups, place) = written.split_once('@').map_or((written, None), |(groups, place)| (groups, Some(place)));
        // With a place behind it a mistyped code would pass for a user's name.
        let lengths = if place.is_some() { GROUP - 1..=GROUP + 1 } else { GROUP..=GROUP };
        let is_group = |group: &str| lengths.contains(&group.len()) && group.chars().all(|c| c.is_ascii_alphanumeric());
        groups.split('-').all(is_group) && groups.split('-').count() == GROUPS
    }

    fn places_text(&self) -> String {
        self.places.iter().map(Place::to_string).collect::<Vec<_>>().join(",")
    }

    fn check(&self) -> [u8; CHECK] {
        let hash = blake3::Hasher::new_derive_key("PCC 2026-11 reach: the code's check")
            .update(&self.secret)
            .update(self.places_text().as_bytes())
            .finalize();
        core::array::from_fn(|at| hash.as_bytes()[at])
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = DIGITS.encode(&[&self.secret[..], &self.check()].concat());
        for (at, digit) in text.chars().enumerate() {
            if at % GROUP == 0 && at > 0 {
                f.write_str("-")?;
            }
            write!(f, "{digit}")?;
        }
        if self.places.is_empty() { Ok(()) } else { write!(f, "@{}", self.places_text()) }
    }
}

impl fmt::Debug for Code {
    /// Never the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Code").field(&self.places).finish()
    }
}

impl FromStr for Code {
    type Err = CodeError;

    fn from_str(written: &str) -> Result<Self, CodeError> {
        let (digits, places) = written.trim().split_once('@').unwrap_or((written.trim(), ""));
        if let Some(wrong) =
            digits.chars().find(|c| matches!(c, 'u' | 'U') || !(c.is_ascii_alphanumeric() || *c == '-'))
        {
            return Err(CodeError::Character(wrong));
        }
        let bytes = DIGITS.decode(digits.as_bytes()).map_err(|_| CodeError::Length)?;
        let (secret, check) = bytes.split_at_checked(SECRET).ok_or(CodeError::Length)?;
        let secret = secret.try_into().map_err(|_| CodeError::Length)?;
        let check: [u8; CHECK] = check.try_into().map_err(|_| CodeError::Length)?;
        let places = places.split(',').filter(|place| !place.is_empty());
        if places.clone().count() > MOST_PLACES {
            return Err(CodeError::Places);
        }
        let code = Self { secret, places: places.map(Place::from_str).collect::<Result<_, _>>()? };
        if code.check() == check { Ok(code) } else { Err(CodeError::Typed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(places: &str) -> Code {
        let places = places.split(',').filter(|place| !place.is_empty()).map(|place| place.parse().unwrap()).collect();
        Code::new(places).unwrap()
    }

    #[test]
    fn a_code_is_read_as_it_is_written() {
        for places in [
            "",
            "192.0.2.7:4433",
            "[2001:db8::7]:1,10.0.0.1:2",
            "relay.example.org",
            "r:8443,127.0.0.1:9",
            "https://127.0.0.1:9",
        ] {
            let code = code(places);
            let written = code.to_string();
            assert_eq!(written.parse(), Ok(code.clone()), "{written}");
            assert!(written.to_uppercase().parse::<Code>().is_ok(), "{written}");
            assert!(Code::is_meant(&written), "{written}");
        }
    }

    #[test]
    fn digits_that_look_alike_are_one() {
        let code = Code { secret: [0, 0x42, 0x10, 0x84, 0x21, 8, 0x42, 0x10], places: Vec::new() };
        let written = code.to_string();
        assert!(written.contains('0') && written.contains('1'), "{written}");
        for (digit, other) in [("0", "O"), ("1", "l"), ("1", "I")] {
            assert_eq!(written.replace(digit, other).parse(), Ok(code.clone()));
        }
    }

    #[test]
    fn every_mistyped_character_is_found() {
        let code = Code { secret: *b"12345678", places: vec!["192.0.2.7:4433".parse().unwrap()] };
        let written = code.to_string();
        for at in (0..written.len()).filter(|at| !matches!(&written[*at..=*at], "-" | "@" | "." | ":")) {
            for other in "0123456789abcdefghjkmnpqrstvwxyz".chars().filter(|other| !written[at..].starts_with(*other)) {
                let wrong = format!("{}{other}{}", &written[..at], &written[at + 1..]);
                assert!(wrong.parse::<Code>().is_err(), "{wrong}");
            }
        }
        for at in (0..written.len() - 1).filter(|at| written[*at..=*at] != written[at + 1..at + 2]) {
            let mut swapped = written.clone().into_bytes();
            swapped.swap(at, at + 1);
            let swapped = String::from_utf8(swapped).unwrap();
            let is_same = swapped.replace('-', "") == written.replace('-', "");
            assert!(is_same || swapped.parse::<Code>().is_err(), "{swapped}");
        }
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        for (written, error) in [
            ("k7xm-3pqd-w9ra", CodeError::Length),
            ("k7xm-3pqd-w9ra-t2fh-0", CodeError::Length),
            ("k7xm-3pqd-w9ru-t2fh", CodeError::Character('u')),
            ("k7xm-3pqd-w9ra-t2f?", CodeError::Character('?')),
            ("0000-0000-0000-0001", CodeError::Typed),
        ] {
            assert_eq!(written.parse::<Code>(), Err(error), "{written}");
        }
        let places = ["10.0.0.1:1"; MOST_PLACES + 1].join(",");
        assert_eq!(format!("0000-0000-0000-0000@{places}").parse::<Code>(), Err(CodeError::Places));
    }

    #[test]
    fn other_sources_of_a_download_are_no_codes() {
        for other in ["me@host:path", "https://host/x", "host:x", "a-b-c-d@host:x", "name", "some-more-like-names"] {
            assert!(!Code::is_meant(other), "{other}");
        }
        for meant in ["k7xm-3pqd-w9ra-t2f@relay", "K7XM-3PQD-W9RA-T2FHH@192.0.2.1:1", "k7xm-3pqd-w9ra-t2fu"] {
            assert!(Code::is_meant(meant), "{meant}");
        }
    }

    #[test]
    fn the_secret_is_in_no_log() {
        let code = code("192.0.2.7:4433");
        assert_eq!(format!("{code:?}"), "Code([192.0.2.7:4433])");
        assert_ne!(code.sender().public(), code.receiver().public());
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_panic(written in "\\PC{0,60}|[0-9a-z-]{14,22}(@.{0,40})?") {
            let _ = (Code::is_meant(&written), written.parse::<Code>());
        }
    }
}
