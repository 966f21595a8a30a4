//! The program that runs, and the command that it was started with, as a shell takes it.

use anyhow::Context as _;
use std::path::PathBuf;

/// The program's file.
///
/// Errors: the system does not say.
pub fn program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("could not find this program's own file")
}

/// For a page of this program: how it is made again.
pub fn this(program: &str) -> String {
    let words = std::env::args_os().skip(1).map(|word| quote(&word.to_string_lossy()));
    core::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word that a shell takes for this text.
pub fn quote(word: &str) -> String {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=,:%".contains(c)) && !word.is_empty();
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        let told = ["lossy", "pcc*2 cubic", "it's", ""].map(super::quote);
        assert_eq!(told, ["lossy", "'pcc*2 cubic'", r"'it'\''s'", "''"]);
    }
}
