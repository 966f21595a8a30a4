//! What both sides say to each other through ssh: one line of JSON each. The secrets of a transfer go this way only, so no
//! command line and no log ever has them.

use crate::far_error::FarError;
use crate::greeting_error::GreetingError;
use core::time::Duration;
use pcc_files::Failure;
use pcc_net::ports::Ports;
use pcc_net::with_causes;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};

/// Which form of the greeting this program speaks.
pub(crate) const FORM: u32 = 1;

/// Bytes of a line: more than the longest path, with every byte escaped.
const LONGEST_LINE: u64 = 64 << 10;

/// Lines in front of the greeting: shells greet people, also where nobody sits.
const MOST_LINES: usize = 200;

/// What the near side wants.
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
    Refused(Refusal),
}

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
    /// For uploads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// What the path leads to, below the secret; empty for a directory.
    pub(crate) file: String,
    /// What to call a copy.
    pub(crate) name: String,
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
pub(crate) fn request(from: impl BufRead) -> Result<Request, FarError> {
    let text = line(from)?.ok_or(FarError::NoRequest)?;
    if form_of(&text).is_some_and(|form| form != u64::from(FORM)) {
        return Err(FarError::OtherVersion);
    }
    let asked: Request = serde_json::from_str(&text).map_err(FarError::NotARequest)?;
    if asked.ports.are_possible() { Ok(asked) } else { Err(FarError::NoPorts(asked.ports)) }
}

/// What came from the far side.
#[derive(Debug)]
pub(crate) enum Heard {
    Answer(Answer),
    /// It is a pcc of this version, with which this one has no language in common.
    OtherForm(String),
    /// It ended first. This is the last line that it said.
    Nothing(Option<String>),
}

/// Reads the far side's line; what a shell said in front of it is passed over. Blocks.
pub(crate) fn answer(mut from: impl BufRead) -> Result<Heard, GreetingError> {
    let mut last = None;
    for _ in 0..MOST_LINES {
        let Some(text) = line(&mut from)? else { return Ok(Heard::Nothing(last)) };
        let Some(form) = form_of(&text) else {
            last = Some(text).filter(|text| !text.trim().is_empty()).or(last);
            continue;
        };
        return Ok(match serde_json::from_str(&text) {
            Ok(answer) if form == u64::from(FORM) => Heard::Answer(answer),
            _ => Heard::OtherForm(version_of(&text).unwrap_or_else(|| "of another form".to_owned())),
        });
    }
    Ok(Heard::Nothing(last))
}

/// The form of a greeting, whatever else is in it; `None` if it is none.
fn form_of(text: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(text).ok()?.get("pcc_over_ssh")?.as_u64()
}

fn version_of(text: &str) -> Option<String> {
    Some(serde_json::from_str::<serde_json::Value>(text).ok()?.get("version")?.as_str()?.to_owned())
}

/// One line; `None` at the end.
fn line(mut from: impl BufRead) -> Result<Option<String>, GreetingError> {
    let mut text = Vec::new();
    from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text).map_err(GreetingError::Heard)?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| !text.is_empty()))
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
            file: "a".into(),
            name: "a".into(),
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
            prop_assert!(matches!(answer(&bytes[..]), Ok(Heard::Nothing(_))));
        }
    }

    #[test]
    fn what_a_shell_says_first_is_passed_over() {
        let mut sent = b"Welcome to host!\n{\"motd\": 1}\n".to_vec();
        say(&listening(), &mut sent).unwrap();
        sent.extend_from_slice(b"the next thing");
        let mut reader = &sent[..];
        assert!(matches!(answer(&mut reader), Ok(Heard::Answer(_))));
        assert_eq!(reader, b"the next thing", "what follows is not the greeting's");
        let Ok(Heard::Nothing(Some(last))) = answer(&b"one\ntwo\n\n"[..]) else { panic!("no greeting") };
        assert_eq!(last, "two\n");
    }

    #[test]
    fn an_endless_line_is_no_greeting() {
        assert!(matches!(answer(std::io::BufReader::new(std::io::repeat(b'x'))), Ok(Heard::Nothing(Some(_)))));
    }

    #[test]
    fn another_form_is_told_with_the_version() {
        let error = request(&b"{\"pcc_over_ssh\":2,\"whatever\":[]}\n"[..]).unwrap_err().to_string();
        assert!(error.contains(env!("CARGO_PKG_VERSION")) && error.contains("one version on both"), "{error}");
        let newer = b"{\"pcc_over_ssh\":2,\"version\":\"9.9\"}\n";
        assert!(matches!(answer(&newer[..]), Ok(Heard::OtherForm(version)) if version == "9.9"));
    }

    #[test]
    fn secrets_are_not_shown_by_accident() {
        let shown = format!("{:?}", listening());
        assert!(!shown.contains("s3cret") && !shown.contains("t0ken"), "{shown}");
    }
}
