//! A utility function that somebody keeps in a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A file with a utility has this ending, or its name begins like a path.
const ENDING: &str = ".utility";
/// No utility is longer; the core says so too, but must not be given a whole disk.
const LONGEST: u64 = 65 << 10;

/// Whether this means a file: what does never depends on which files there are, since `x/rtt` is a formula too.
pub fn is_file(written: &str) -> bool {
    written.ends_with(ENDING) || ["/", "./", "../"].iter().any(|begin| written.starts_with(begin))
}

/// Its content, without a byte order mark. An error if it cannot be read or is no text.
pub fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it holds no text (UTF-8)");
    let text = String::from_utf8(bytes).map_err(no_text)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
