//! The files that somebody gave a page, which has no others.

use pcc::units::Bytes;
use std::collections::BTreeMap;

/// The text of each, by its name.
pub(crate) type Given = BTreeMap<String, String>;

/// The text of that file, as [`pcc_link::Files`] tells it.
///
/// Errors: the page was not given it, or it is larger.
pub(crate) fn text(given: &Given, name: &str, most: u64) -> Result<String, String> {
    let missing = || format!("the page has no file `{name}`: choose it as the recorded link, or drop it here");
    let text = given.get(name).ok_or_else(missing)?;
    let is_larger = text.len() as u64 > most;
    if is_larger { Err(format!("{name} is larger than {}", Bytes::new(most))) } else { Ok(text.clone()) }
}
