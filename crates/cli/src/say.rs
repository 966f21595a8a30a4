//! Lines for people, on standard error.

use core::fmt::Arguments;
use std::io::{self, Write as _};

/// Writes a line to standard error. If that can't be written there is nobody to tell, and no reason to end what is under way,
/// as `eprintln!` does.
pub(crate) fn say(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}
