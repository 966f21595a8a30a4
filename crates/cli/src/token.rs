//! Where the token for uploads comes from.

use crate::exit::{Failure, misuse};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// The environment variable, since other users of the computer can read command lines.
pub(crate) const VARIABLE: &str = "PCC_TOKEN";

/// Where the token for uploads or tunnels is.
#[derive(clap::Args, Debug)]
pub(crate) struct TokenArgs {
    /// Read the token from the first line of this file [default: the environment variable PCC_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl TokenArgs {
    /// Errors: there is none, of which `missing` tells, or none that can be used.
    pub(crate) fn token(&self, missing: &str) -> anyhow::Result<String> {
        given(self.token_file.as_deref())?.ok_or_else(|| misuse!("{missing}"))
    }
}

/// The first line of `file`, or else `PCC_TOKEN`; `None` if there is neither.
///
/// Errors: the file cannot be read, or the token is empty or holds what no header field can.
pub(crate) fn given(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let (text, source) = match file {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("could not read the token from {}", file.display()))
                .context(Failure::Usage)?;
            (text, file.display().to_string())
        }
        None => match std::env::var(VARIABLE) {
            Ok(text) => (text, VARIABLE.to_owned()),
            Err(_) => return Ok(None),
        },
    };
    let token = text.lines().next().unwrap_or("").trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(misuse!("the token in {source} is empty or not plain ASCII: write it on one line, without blanks"));
    }
    for doubt in [short(token, &source), file.and_then(open_to_all)].into_iter().flatten() {
        tracing::warn!("{doubt}");
    }
    Ok(Some(token.to_owned()))
}

/// A token of fewer characters is warned of: a server answers some thousand guesses a second.
const GUESSABLE: usize = 8;

fn short(token: &str, source: &str) -> Option<String> {
    let text =
        || format!("others can guess the token in {source}, since it is that short: 16 random characters are safe");
    (token.len() < GUESSABLE).then(text)
}

/// Secrets of containers are files that everybody there can read, so this is no error.
#[cfg(unix)]
fn open_to_all(file: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    /// To read and to write, of those who are neither owner nor of the group.
    const OTHERS: u32 = 0o006;
    // A pipe, as of `<(pass show token)`, has no other readers.
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let file = file.display();
    let text = || format!("every user of this computer can read or change the token in {file}: `chmod o= {file}`");
    (found.permissions().mode() & OTHERS != 0).then(text)
}

#[cfg(not(unix))]
fn open_to_all(_: &Path) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_the_file_is_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "  secret\nmore\n").unwrap();
        assert_eq!(given(Some(&file)).unwrap().as_deref(), Some("secret"));
        for wrong in ["", "\n", "two words", "ä"] {
            std::fs::write(&file, wrong).unwrap();
            let error = format!("{:#}", given(Some(&file)).unwrap_err());
            assert!(error.contains(&file.display().to_string()) && !error.contains("words"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_can_know_is_warned_of() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "secret").unwrap();
        for (mode, is_open) in [(0o600, false), (0o640, false), (0o644, true), (0o602, true)] {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(open_to_all(&file).is_some(), is_open, "{mode:o}");
        }
        let warning = short("a", "PCC_TOKEN").expect("a warning");
        assert!(warning.contains("PCC_TOKEN") && short("open-sesame", "PCC_TOKEN").is_none(), "{warning}");
    }
}
