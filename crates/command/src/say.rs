//! Lines for people, on standard error, and how text of strangers is shown in them.

use core::fmt::Display;
use pcc_net::escape_for_terminal;
use std::io::{self, Write as _};

/// Writes a message to standard error. If that can't be written there is nobody to tell, and no reason to end what is under
/// way, as `eprintln!` does.
pub fn say(message: impl Display) {
    let _ = writeln!(io::stderr(), "{}", laid_out(&message.to_string()));
}

/// Writes an object for programs to standard output.
pub fn object(object: &serde_json::Value) {
    // A reader that closes the pipe does not want more of it.
    let _ = writeln!(io::stdout().lock(), "{object}");
}

/// A message may hold what a server or a client sent. Lines behind the first are indented, so that no such text looks like a
/// message of its own.
fn laid_out(message: &str) -> String {
    message.lines().map(|line| escape_for_terminal(line.trim_start_matches("  "))).collect::<Vec<_>>().join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_message_has_one_line_that_is_not_indented(text in "\\PC{0,40}|.{0,40}|[\\x00-\\x9f\\u{202e}]{0,20}") {
            prop_assert!(laid_out(&text).lines().skip(1).all(|line| line.starts_with("  ")));
        }
    }

    #[test]
    fn no_line_of_a_stranger_looks_like_a_message() {
        assert_eq!(laid_out("no b\npcc: done\r\n  as said\x1b"), "no b\n  pcc: done\n  as said\\u{1b}");
    }
}
