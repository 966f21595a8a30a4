//! The files that a path names: recorded traces, and paths as `pcc record` writes them, which have parameters, a line or a comma
//! apart, and comments behind `#`.

use pcc::units::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Tells the text of the file of that name, of at most so many bytes. A page in a browser has its own files.
pub type Files<'a> = &'a dyn Fn(&str, u64) -> Result<String, String>;

/// The largest path that is read: hundreds of changes of a path fit.
const LARGEST: u64 = 64_000;

/// The text of a file of this computer, of at most so many bytes.
///
/// Errors: it cannot be read, is no text, or is larger.
pub fn on_disk(file: &str, most: u64) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(most + 1).read_to_string(&mut text));
    let length = read.map_err(|error| format!("could not read {file}: {error}"))?;
    let is_larger = length as u64 > most;
    if is_larger { Err(format!("{file} is larger than {}", Bytes::new(most))) } else { Ok(text) }
}

/// The parameters in a file, each a key and its value. A trace lies where the file lies, unless it says otherwise.
pub(super) fn parameters(file: &str, files: Files<'_>) -> Result<Vec<(String, String)>, String> {
    let text = files(file, LARGEST)?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let items = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| parameter(file, item)).collect()
}

fn parameter(file: &str, item: &str) -> Result<(String, String), String> {
    let (key, value) = item.split_once('=').ok_or_else(|| format!("{file}: `{item:.40}` is not KEY=VALUE"))?;
    let (key, value) = (key.trim(), value.trim());
    let is_trace = key.rsplit('.').next() == Some("trace");
    let beside = Path::new(file).parent().filter(|_| is_trace && Path::new(value).is_relative());
    let value = beside.map_or_else(|| value.to_owned(), |folder| folder.join(value).to_string_lossy().into_owned());
    Ok((key.to_owned(), value))
}
