//! Texts that a scenario, a trace or a user has.

use crate::replay::Steps;
use pcc::control::Law;
use pcc::units::{Bytes, Rate};
use pcc::utility::expression::Program;
use pcc_link::Path;

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Words that describe a path: what is written of it is read as the same. One of them may name a file.
pub(crate) fn path(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let Some(path) = text.parse::<Path>().ok().filter(|_| !text.contains("trace=")) else { return false };
    let written = path.to_string();
    assert_eq!(written.parse::<Path>().map(|path| path.to_string()).ok(), Some(written));
    true
}

pub(crate) fn trace(bytes: &[u8]) -> bool {
    text(bytes).parse::<Steps>().is_ok()
}

pub(crate) fn utility(bytes: &[u8]) -> bool {
    pcc::utility::parse(&text(bytes)).is_ok()
}

/// A utility's program, as it is told to what runs it elsewhere.
pub(crate) fn program(bytes: &[u8]) -> bool {
    let Ok(program) = text(bytes).parse::<Program>() else { return false };
    assert_eq!(program.to_string().parse::<Program>().map(|read| read.to_string()).ok(), Some(program.to_string()));
    true
}

pub(crate) fn law(bytes: &[u8]) -> bool {
    text(bytes).parse::<Law>().is_ok()
}

pub(crate) fn quantities(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let (rate, bytes) = (text.parse::<Rate>(), text.parse::<Bytes>());
    assert!(rate.as_ref().is_ok_and(|rate| rate.bytes_per_sec().is_finite()) || rate.is_err(), "{text}");
    rate.is_ok() || bytes.is_ok()
}
