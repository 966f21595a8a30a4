//! The words of both sides through ssh: one line of JSON each. The secrets of a transfer go this way only, so no
//! command line and no log ever has them.

use crate::far_error::FarError;
use crate::greeting_error::GreetingError;
use core::time::Duration;
use pcc_files::Failure;
use pcc_net::ports::Ports;
use pcc_net::with_causes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};
use std::net::SocketAddr;

/// Which form of the greeting this program speaks.
pub(crate) const FORM: u32 = 1;

/// Bytes of a line: more than the longest path, with every byte escaped.
pub(crate) const LONGEST_LINE: u64 = 64 << 10;

/// How the far side's line begins. A shell may have said something before, on the same line, too.
const MARK: &[u8] = b"{\"pcc_over_ssh\":";

/// The wishes of the near side.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Wish {
    /// To download this path.
    #[serde(rename = "get")]
    Get(String),
    /// To upload to this path.
    #[serde(rename = "put")]
    Put(String),
    /// To compare with what an upload to this path would find.
    #[serde(rename = "look")]
    Look(String),
    /// To be led to the ssh server that brought the wish.
    #[serde(rename = "ssh")]
    Ssh,
    /// To upload to another server than this one.
    #[serde(rename = "send")]
    Send(Box<Order>),
}

/// An upload from one other computer to another one.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Order {
    /// The source, as the user wrote it: a path of the computer that has the order.
    pub from: String,
    /// Options of `pcc put`.
    pub options: Vec<String>,
    /// The URL of the destination.
    pub url: String,
    /// The user's words for that URL, where ssh started its server. Both ends then act for one user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// For uploads there. Empty where nothing but a comparison is wished.
    pub token: String,
    /// Columns of the terminal on which the user looks on, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<u16>,
}

impl core::fmt::Debug for Order {
    /// No secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Order").field("from", &self.from).field("options", &self.options).finish_non_exhaustive()
    }
}

/// The near side's line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Request {
    #[serde(rename = "pcc_over_ssh")]
    pub(crate) form: u32,
    pub(crate) wish: Wish,
    pub(crate) ports: Ports,
    /// How long the near side tries to come back, when its connection is lost.
    pub(crate) patience_s: u64,
    /// Whether packets go through ssh.
    pub(crate) through_ssh: bool,
}

impl Request {
    pub(crate) const fn patience(&self) -> Duration {
        Duration::from_secs(self.patience_s)
    }
}

/// The far side's line.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Answer {
    #[serde(rename = "pcc_over_ssh")]
    pub(crate) form: u32,
    /// The program's version.
    pub(crate) version: String,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Listening(Listening),
    /// It has the order. The upload tells of itself behind this line.
    Sending(Sending),
    Refused(Refusal),
}

/// Something that a later version may say more about.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Sending {}

/// Where the far side listens.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Listening {
    pub(crate) port: u16,
    /// The address that ssh came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    pub(crate) fingerprint: String,
    /// The first name of each path, without which nothing can be read.
    pub(crate) secret: String,
    /// For uploads, and for the way to the ssh server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// The ssh server, as the far side reaches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ssh_server: Option<SocketAddr>,
    /// The file to which the path leads, below the secret; empty for a directory.
    pub(crate) file: String,
    /// Its name there, for a user who wrote none.
    pub(crate) name: String,
    /// Whether nothing has the last name of the path, so that it is a pattern of names in this directory.
    #[serde(default)]
    pub(crate) matches: bool,
}

impl core::fmt::Debug for Listening {
    /// No secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Listening").field("port", &self.port).field("file", &self.file).finish_non_exhaustive()
    }
}

/// Why there is no transfer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) is_misuse: bool,
}

impl Refusal {
    /// `advice` stands behind it.
    pub(crate) fn of(error: &FarError, advice: &str) -> Self {
        let is_misuse = error.failure() == Failure::Usage;
        let misuse = if is_misuse { format!("{}: ", Failure::Usage) } else { String::new() };
        Self { reason: format!("{misuse}{}{advice}", with_causes(error)), is_misuse }
    }
}

/// Says one line.
pub(crate) fn say(line: &impl Serialize, mut to: impl Write) -> Result<(), GreetingError> {
    let text = serde_json::to_string(line).map_err(io::Error::from);
    let said = text.and_then(|text| writeln!(to, "{text}")).and_then(|()| to.flush());
    said.map_err(GreetingError::Said)
}

/// Reads the near side's line. Blocks.
pub(crate) fn request(mut from: impl BufRead) -> Result<Request, FarError> {
    let mut text = Vec::new();
    if !read_line(&mut from, &mut text)? {
        return Err(FarError::NoRequest);
    }
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(FarError::NotARequest)?;
    if form_of(&value).is_some_and(|form| form != u64::from(FORM)) {
        return Err(FarError::OtherVersion);
    }
    let asked: Request = serde_json::from_value(value).map_err(FarError::NotARequest)?;
    if asked.ports.are_possible() { Ok(asked) } else { Err(FarError::NoPorts(asked.ports)) }
}

/// The answer of the far side.
#[derive(Debug)]
pub(crate) enum Heard {
    Answer(Answer),
    /// It is a pcc of this version, with which this one has no language in common.
    OtherForm(String),
    /// It ended first.
    Nothing,
}

/// Reads the far side's line. `told` hears of each line in front of it, and answers whether to go on. Lines that may hold a
/// secret are not told. Blocks.
pub(crate) fn answer(mut from: impl BufRead, mut told: impl FnMut(&str) -> bool) -> Result<Heard, GreetingError> {
    let (mut text, mut is_secret) = (Vec::new(), false);
    loop {
        // The end of a longer line may be the beginning of the answer.
        let begun = text.len().min(MARK.len() - 1);
        text.drain(..text.len() - begun);
        if !read_line(&mut from, &mut text)? {
            return Ok(Heard::Nothing);
        }
        let (mut at, mut is_whole) = (0, text.ends_with(b"\n"));
        while let Some(further) = text[at..].windows(MARK.len()).position(|bytes| bytes == MARK) {
            at += further;
            if !is_whole {
                read_line(&mut from, &mut text)?;
                is_whole = true;
            }
            if let Some(heard) = heard(&text[at..]) {
                return Ok(heard);
            }
            // The rest of it may follow behind a line of somebody else.
            is_secret = true;
            at += 1;
        }
        let line = if is_secret { Cow::Borrowed("") } else { String::from_utf8_lossy(&text) };
        if !told(&line) {
            return Ok(Heard::Nothing);
        }
        if text.ends_with(b"\n") {
            text.clear();
        }
    }
}

/// The answer that text begins with, if it is one.
fn heard(text: &[u8]) -> Option<Heard> {
    let value = serde_json::Deserializer::from_slice(text).into_iter::<serde_json::Value>().next()?.ok()?;
    let version = value.get("version")?.as_str()?.to_owned();
    let is_ours = form_of(&value)? == u64::from(FORM);
    let answer = serde_json::from_value(value).ok().filter(|_| is_ours);
    Some(answer.map_or(Heard::OtherForm(version), Heard::Answer))
}

/// The form of a greeting, whatever else is in it; `None` if it is none.
fn form_of(value: &serde_json::Value) -> Option<u64> {
    value.get("pcc_over_ssh")?.as_u64()
}

/// Reads on to the end of a line, or as far as a line may be long. Answers whether anything came.
fn read_line(from: &mut impl BufRead, text: &mut Vec<u8>) -> Result<bool, GreetingError> {
    let read = from.by_ref().take(LONGEST_LINE).read_until(b'\n', text).map_err(GreetingError::Heard)?;
    Ok(read > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request_of(path: &str) -> Request {
        let wish = Wish::Get(path.to_owned());
        Request { form: FORM, wish, ports: Ports::default(), patience_s: 600, through_ssh: false }
    }

    fn listening() -> Answer {
        let listening = Listening {
            port: 60001,
            address: None,
            fingerprint: "sha256=00".into(),
            secret: "s3cret".into(),
            token: Some("t0ken".into()),
            ssh_server: None,
            file: "a".into(),
            name: "a".into(),
            matches: false,
        };
        Answer { form: FORM, version: "0.1.0".into(), outcome: Outcome::Listening(listening) }
    }

    proptest! {
        #[test]
        fn any_path_arrives_as_it_was(path in any::<String>()) {
            let mut sent = Vec::new();
            say(&request_of(&path), &mut sent).unwrap();
            prop_assert_eq!(request(&sent[..]).unwrap(), request_of(&path));
        }

        #[test]
        fn any_bytes_are_a_greeting_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = request(&bytes[..]);
            prop_assert!(matches!(answer(&bytes[..], |_| true), Ok(Heard::Nothing)));
        }

        #[test]
        fn an_answer_is_found_behind_any_text(noise in "[{}\":a-z_\n]{0,40}", length in 65_500..65_600usize) {
            let mut sent = vec![b'x'; length];
            sent.extend_from_slice(noise.as_bytes());
            say(&listening(), &mut sent).unwrap();
            sent.extend_from_slice(b"the next thing");
            let mut reader = &sent[..];
            prop_assert!(matches!(answer(&mut reader, |_| true), Ok(Heard::Answer(_))));
            prop_assert_eq!(reader, b"the next thing", "what follows is not the greeting's");
        }

        #[test]
        fn no_part_of_the_secret_is_told(cut in MARK.len()..200, noise in "\n[a-z]{0,5}|[{}\"]?") {
            let mut sent = Vec::new();
            say(&listening(), &mut sent).unwrap();
            let cut = cut.min(sent.len() - 2);
            sent.splice(cut..cut, noise.bytes());
            let mut said = String::new();
            let _ = answer(&sent[..], |line| { said += line; true });
            prop_assert!(!said.contains("s3c") && !said.contains("3cret") && !said.contains("t0k"), "{}", said);
        }
    }

    #[test]
    fn what_a_shell_says_first_is_passed_over_and_told() {
        let mut sent = b"Welcome to host!\n{\"motd\": 1}\n{\"pcc_over_ssh\":1,\"wish\":\"echoed\"}\nno end".to_vec();
        say(&listening(), &mut sent).unwrap();
        let mut lines = Vec::new();
        assert!(matches!(
            answer(&sent[..], |line| {
                lines.push(line.to_owned());
                true
            }),
            Ok(Heard::Answer(_))
        ));
        assert_eq!(lines, ["Welcome to host!\n", "{\"motd\": 1}\n", ""], "a line with the mark is not told");
    }

    #[test]
    fn an_endless_line_is_read_for_as_long_as_one_likes() {
        let (endless, mut pieces) = (std::io::BufReader::new(std::io::repeat(b'x')), 0);
        let heard = answer(endless, |_| {
            pieces += 1;
            pieces < 100
        });
        assert!(matches!(heard, Ok(Heard::Nothing)) && pieces == 100);
    }

    #[test]
    fn another_form_is_told_with_the_version() {
        let error = request(&b"{\"pcc_over_ssh\":2,\"whatever\":[]}\n"[..]).unwrap_err().to_string();
        assert!(error.contains(env!("CARGO_PKG_VERSION")) && error.contains("one version on both"), "{error}");
        let newer = b"{\"pcc_over_ssh\":2,\"version\":\"9.9\"}\n";
        assert!(matches!(answer(&newer[..], |_| true), Ok(Heard::OtherForm(version)) if version == "9.9"));
    }

    #[test]
    fn secrets_are_not_shown_by_accident() {
        let shown = format!("{:?}", listening());
        assert!(!shown.contains("s3cret") && !shown.contains("t0ken"), "{shown}");
    }
}
