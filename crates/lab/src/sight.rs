//! Which of this machine's files a guest does not see.

use crate::machine::Machine;
use std::fmt;
use std::path::{Path, PathBuf};

/// A guest's own directories; all other files are the host's.
const OWN: [&str; 2] = ["/dev", "/proc"];

/// The start of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The program that becomes the guest's first process.
    This,
    /// The program that QUIC flows run.
    Program,
    /// The kernel module.
    Module,
    /// The directory for temporary files.
    Temporary,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::This => "this program",
            Self::Program => "the program under test",
            Self::Module => "the kernel module",
            Self::Temporary => "the directory for temporary files",
        })
    }
}

/// Something that the guest needs lies where it has other files.
#[derive(Debug, thiserror::Error)]
#[error("the guest cannot see {what} at {path}: it has a {own} of its own. Put it elsewhere, for example below /tmp")]
pub struct Hidden {
    /// The kind of thing there.
    pub what: Seen,
    path: PathBuf,
    own: &'static str,
}

/// Whether guests of this machine will find what they are started with.
pub fn check(machine: &Machine) -> Result<(), Hidden> {
    visible(Seen::This, &machine.init)?;
    visible(Seen::Program, &machine.program)?;
    if let Some(module) = &machine.module {
        visible(Seen::Module, module)?;
    }
    visible(Seen::Temporary, &std::env::temp_dir())
}

fn visible(what: Seen, path: &Path) -> Result<(), Hidden> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match OWN.into_iter().find(|own| path.starts_with(own)) {
        Some(own) => Err(Hidden { what, path, own }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_dev_is_refused_by_name() {
        let seen = |path: &str| visible(Seen::Program, Path::new(path));
        assert!(seen("/usr/bin/env").is_ok() && seen("/devel/pcc").is_ok());
        let error = seen("/dev/shm/pcc").unwrap_err().to_string();
        assert!(
            error.contains("the program under test at /dev/shm/pcc") && error.contains("/dev of its own"),
            "{error}"
        );
        // However it is called.
        assert!(seen("/tmp/../dev/null").is_err());
    }
}
