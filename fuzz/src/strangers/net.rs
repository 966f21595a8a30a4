//! Addresses and places, and what comes through ssh and a tunnel.

use crate::greeting;
use crate::ports::Ports;
use crate::remote::Remote;
use crate::rules::Rule;
use crate::socks::message::{LONGEST_REQUEST, greeting as socks_greeting, request};
use crate::target::Target;
use crate::url::{Peer, Url};

pub(crate) const REQUEST: &[u8] =
    br#"{"pcc_over_ssh":1,"wish":{"get":"a"},"ports":{"first":60000,"last":61000},"patience_s":600,"through_ssh":false}"#;

pub(crate) const ANSWER: &[u8] = br#"Welcome
{"pcc_over_ssh":1,"version":"0","listening":{"port":1,"fingerprint":"","secret":"s","file":"","name":"n"}}"#;

pub(crate) fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// A URL that is read can be asked for, and is read again as it is written.
pub(crate) fn url(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let _ = (Peer::parse(&text, 4433), text.parse::<Ports>());
    if let Some(decoded) = crate::percent::decode(&text) {
        assert_eq!(crate::percent::decode(&crate::percent::encode_segment(&decoded)), Some(decoded));
    }
    let Ok(url) = text.parse::<Url>() else { return false };
    assert_eq!(url.to_string().parse::<Url>().ok().as_ref(), Some(&url));
    assert!(url.to_uri().host().is_some(), "{url}");
    true
}

pub(crate) fn request_over_ssh(bytes: &[u8]) -> bool {
    let Ok(request) = greeting::request(bytes) else { return false };
    assert!(request.ports.are_possible());
    true
}

/// Each line in front of the answer is told at most once, and what is told came.
pub(crate) fn answer_over_ssh(bytes: &[u8]) -> bool {
    let mut told = 0;
    let heard = greeting::answer(bytes, |_| {
        told += 1;
        told < 64
    });
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(heard.is_ok() && told <= lines, "{told} of {lines}");
    matches!(heard, Ok(greeting::Heard::Answer(_)))
}

/// ssh takes neither user nor host for an option.
pub(crate) fn place_that_ssh_reaches(bytes: &[u8]) -> bool {
    let Ok(place) = Remote::parse(&text(bytes)) else { return false };
    assert!(!place.host.is_empty() && !place.address().starts_with('-'), "{place:?}");
    let _ = (place.name(), place.is_directory(), place.pattern());
    true
}

/// No message is longer than its longest, and a target is read as it is written.
pub(crate) fn socks(bytes: &[u8]) -> bool {
    let whole = socks_greeting(bytes);
    assert!(bytes.len() < 2 + 255 || whole != Ok(None));
    let asked = request(bytes);
    assert!(bytes.len() < LONGEST_REQUEST || asked != Ok(None));
    let Ok(Some(target)) = asked else { return false };
    assert_eq!(target.to_string().parse(), Ok(target));
    true
}

pub(crate) fn target_and_rule(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let (target, rule) = (text.parse::<Target>().ok(), text.parse::<Rule>().ok());
    assert!(target.as_ref().is_none_or(|target| target.to_string().parse().as_ref() == Ok(target)), "{target:?}");
    assert!(rule.as_ref().is_none_or(|rule| rule.to_string().parse().as_ref() == Ok(rule)), "{rule:?}");
    target.is_some() || rule.is_some()
}
