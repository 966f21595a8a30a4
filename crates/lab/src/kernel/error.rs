//! Why there is no guest kernel, and what to do about it.

use super::{NEEDED_SPACE, VERSION};
use std::io;
use std::path::PathBuf;

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No source was named and Debian's is not installed.
    #[error(
        "no kernel source at {path}: install it with `apt-get install {packages}`, \
         or name a directory or tarball of Linux {VERSION}"
    )]
    NoSource {
        /// Where it was looked for.
        path: PathBuf,
        /// The Debian packages of it and of what is missing besides, with spaces.
        packages: String,
    },
    /// The named source is not what was expected.
    #[error("{path} is not a source of Linux {VERSION} ({problem}): take the tree or tarball of kernel.org or Debian")]
    WrongSource {
        /// The named path.
        path: PathBuf,
        /// Its fault.
        problem: String,
    },
    /// Programs the build needs are missing.
    #[error("building the kernel needs {programs}: `apt-get install {packages}`")]
    MissingPrograms {
        /// Names of the programs, with commas.
        programs: String,
        /// Names of the Debian packages, with spaces.
        packages: String,
    },
    /// The disk is too full.
    #[error(
        "{path} has {free_mb} MB free and the build needs {needed_mb} MB: free some space, \
         or set XDG_CACHE_HOME to a directory on another disk",
        needed_mb = NEEDED_SPACE / 1_000_000
    )]
    NoSpace {
        /// The cache directory.
        path: PathBuf,
        /// Free megabytes there.
        free_mb: u64,
    },
    /// A step of the build failed.
    #[error("`{step}` failed ({status}); the end of {log}:\n{tail}")]
    Step {
        /// The command.
        step: String,
        /// How it ended.
        status: String,
        /// Where its whole output is.
        log: PathBuf,
        /// The last lines of its output.
        tail: String,
    },
    /// A setting did not survive the kernel's own dependency rules.
    #[error("this source does not offer {0}, which the lab needs: use Linux {VERSION}")]
    MissingSetting(String),
    /// Nothing was built yet.
    #[error("the guest kernel is not built yet: run `pcc-lab build` (3 to 4 minutes of two quiet cores)")]
    NotBuilt,
    /// The built kernel is older than this program.
    #[error("the guest kernel was built by another version of pcc: run `pcc-lab build` again")]
    Outdated,
    /// The kernel is there, and not what a module of it is built with.
    #[error("the guest kernel was built without what its modules need: run `pcc-lab build` again (a minute)")]
    NoHeaders,
    /// A package of this crate alone.
    #[error("this pcc was built without PCC's kernel module: build it in its source tree, or name a module")]
    NoSources,
    /// The cache directory is not usable.
    #[error("could not {what} {path}: {error}")]
    Io {
        /// The attempt.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}
