//! Which of this machine's files a guest does not see.

use crate::machine::Machine;
use std::path::{Path, PathBuf};

/// A guest's own directories; all other files are the host's.
const OWN: [&str; 2] = ["/dev", "/proc"];

/// Something that the guest needs lies where it has other files.
#[derive(Debug, thiserror::Error)]
#[error(
    "the guest cannot see {what} at {path}: it has a {own} of its own. Put it elsewhere, for example below /tmp, and {remedy}"
)]
pub struct Hidden {
    what: &'static str,
    path: PathBuf,
    own: &'static str,
    remedy: &'static str,
}

/// Whether guests of this machine will find what they are started with.
pub fn check(machine: &Machine) -> Result<(), Hidden> {
    visible("this program", &machine.init, "run it from there")?;
    visible("the program under test", &machine.program, "name it with --program")?;
    if let Some(module) = &machine.module {
        visible("the kernel module", module, "name it with --module")?;
    }
    visible("the directory for temporary files", &std::env::temp_dir(), "name that with TMPDIR")
}

fn visible(what: &'static str, path: &Path, remedy: &'static str) -> Result<(), Hidden> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match OWN.into_iter().find(|own| path.starts_with(own)) {
        Some(own) => Err(Hidden { what, path, own, remedy }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_dev_is_refused_by_name_and_with_the_way_out() {
        let seen = |path: &str| visible("the program under test", Path::new(path), "name it with --program");
        assert!(seen("/usr/bin/env").is_ok() && seen("/devel/pcc").is_ok());
        let error = seen("/dev/shm/pcc").unwrap_err().to_string();
        assert!(error.contains("the program under test at /dev/shm/pcc") && error.contains("--program"), "{error}");
        // However it is called.
        assert!(seen("/tmp/../dev/null").is_err());
    }
}
