//! Directories of this user, by the XDG base directory specification; on Windows all are in `%LOCALAPPDATA%`.

use std::path::PathBuf;

/// The directory for files that can be made again: `$XDG_CACHE_HOME/pcc` or `~/.cache/pcc`. `None` if neither variable is set.
pub fn cache() -> Option<PathBuf> {
    below("XDG_CACHE_HOME", ".cache")
}

/// The directory for files with which a later run goes on: `$XDG_STATE_HOME/pcc` or `~/.local/state/pcc`.
pub(crate) fn state() -> Option<PathBuf> {
    below("XDG_STATE_HOME", ".local/state")
}

/// The variable that names the user's directory.
pub(crate) const HOME: &str = if cfg!(windows) { "LOCALAPPDATA" } else { "HOME" };

fn below(variable: &str, in_home: &str) -> Option<PathBuf> {
    // The specification says to ignore relative paths.
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let in_home = if cfg!(windows) { "" } else { in_home };
    Some(absolute(variable).or_else(|| Some(absolute(HOME)?.join(in_home)))?.join("pcc"))
}
