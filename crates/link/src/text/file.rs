//! A path in a file, as `pcc record` writes it: parameters, a line or a comma apart, and comments behind `#`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest that is read: hundreds of changes of a path fit.
const LARGEST: u64 = 64 << 10;

/// The parameters in a file, each a key and its value. A trace lies where the file lies, unless it says otherwise.
pub(super) fn parameters(file: &str) -> Result<Vec<(String, String)>, String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    let length = read.map_err(|error| format!("could not read {file}: {error}"))?;
    if length as u64 > LARGEST {
        return Err(format!("{file} is larger than 64 KiB, and so is no path"));
    }
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
