//! How errors and text of strangers are shown.

use std::error::Error;

/// An error and its causes: `could not read the key a.pem: No such file`.
pub fn with_causes(error: &dyn Error) -> String {
    let (mut text, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// A text as it may be shown on a terminal or in a log: characters that move the cursor, colour what follows or turn the
/// direction of reading are spelled out.
pub fn escape_for_terminal(text: &str) -> String {
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
            prop_assert!(!escape_for_terminal(&text).chars().any(is_command));
            prop_assert_eq!(escape_for_terminal(&escape_for_terminal(&text)), escape_for_terminal(&text));
        }
    }

    #[test]
    fn commands_to_a_terminal_are_spelled_out() {
        assert_eq!(escape_for_terminal("a\x1b[31m\nä\u{202e}\u{9b}"), "a\\u{1b}[31m\\nä\\u{202e}\\u{9b}");
    }
}
