//! Commands that left for `pcc-lab`, for users who still write them here. They are answered for one release.

use std::ffi::OsString;

/// The command that each of them is now.
const MOVED: [(&str, &str); 4] =
    [("lab", "pcc-lab"), ("race", "pcc-lab race"), ("sim", "pcc-lab sim"), ("utility", "pcc-lab utility")];

/// Where the command of this command line went, if it is one of them.
pub(crate) fn answer(words: impl IntoIterator<Item = OsString>) -> Option<String> {
    let command = words.into_iter().nth(1)?;
    let (before, now) = MOVED.iter().find(|(before, _)| command == *before)?;
    Some(format!("`pcc {before}` is `{now}` now"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn a_command_that_left_is_no_command_here() {
        for (before, _) in MOVED {
            assert!(crate::Cli::command().find_subcommand(before).is_none(), "{before}");
        }
        assert!(answer(["pcc", "get", "sim"].map(OsString::from)).is_none() && answer(["pcc".into()]).is_none());
    }
}
