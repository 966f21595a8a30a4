//! Lines for people, on standard error, and how text of strangers is shown in them.

use core::fmt::Arguments;
use std::io::{self, Write as _};

/// Writes a message to standard error. If that can't be written there is nobody to tell, and no reason to end what is under
/// way, as `eprintln!` does.
pub(crate) fn say(message: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", laid_out(&message.to_string()));
}

/// A message may hold what a server or a client sent. Lines behind the first are indented, so that no such text looks like a
/// message of its own.
fn laid_out(message: &str) -> String {
    message.lines().map(|line| shown(line.trim_start_matches("  "))).collect::<Vec<_>>().join("\n  ")
}

/// A text as it may be shown on a terminal or in a log: characters that move the cursor, colour what follows or turn the
/// direction of reading are spelled out.
pub(crate) fn shown(text: &str) -> String {
    text.chars().flat_map(|c| if is_command(c) { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Whether terminals obey it: control characters, and Unicode's marks of direction (UAX #9, 2.1 to 2.6).
fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_shown_commands_a_terminal(text in "\\PC{0,40}|.{0,40}|[\\x00-\\x9f\\u{202e}]{0,20}") {
            prop_assert!(!shown(&text).chars().any(is_command));
            prop_assert_eq!(shown(&shown(&text)), shown(&text));
            prop_assert!(laid_out(&text).lines().skip(1).all(|line| line.starts_with("  ")));
        }
    }

    #[test]
    fn commands_to_a_terminal_are_spelled_out() {
        assert_eq!(shown("a\x1b[31m\nä\u{202e}\u{9b}"), "a\\u{1b}[31m\\nä\\u{202e}\\u{9b}");
    }

    #[test]
    fn no_line_of_a_stranger_looks_like_a_message() {
        assert_eq!(laid_out("no b\npcc: done\r\n  as said\x1b"), "no b\n  pcc: done\n  as said\\u{1b}");
    }
}
