//! How `pcc-lab` refuses what it cannot do.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

/// Commands that cannot be carried out: the exit code, and the words that say what is wrong or what to write.
const REFUSED: &[(&[&str], i32, &str)] = &[
    (&["race", "lossy", "--size", "0"], 2, "nothing to move"),
    (&["race", "lossy", "-o", "nowhere/race.html"], 1, "its directory does not exist"),
    (&["sim", "clean", "--time-limit", "99999999999999999999h"], 2, "is too long a time"),
    (&["sim", "score", "--row", "30", "--traces", "nowhere"], 2, "--traces nowhere: there is no such directory"),
    (&["guest-init", "nowhere"], 2, "`pcc-lab run` starts it"),
];

#[test]
fn refusals_say_what_was_wrong_and_exit_as_documented() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, code, words) in REFUSED {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc-lab"));
        let done = command.args(*arguments).stdin(Stdio::null()).current_dir(dir.path()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(*code) && said.contains(words), "{arguments:?}: {}\n{said}", done.status);
    }
}
