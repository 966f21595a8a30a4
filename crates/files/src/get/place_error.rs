//! Why a download cannot go where it should.

use std::path::PathBuf;

/// Why a download cannot go where it should. It stands in the chain of an error's causes, with the system's words behind it; another
/// place helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The file cannot be made.
    #[error("could not create {}: choose a place that can be written", _0.display())]
    File(PathBuf),
    /// The directory cannot be made.
    #[error("could not make the directory {}: choose a place that can be written", _0.display())]
    Directory(PathBuf),
    /// Another download goes there.
    #[error("another pcc is downloading into {}: wait for it, or choose another name", _0.display())]
    Busy(PathBuf),
    /// There is a link, a device, or something else that is no file.
    #[error("it is no plain file: remove it, or choose another name")]
    NotPlain,
    /// The disk takes nothing more.
    #[error("could not write {} (make room or choose another place, and run again: {then})", file.display())]
    Full {
        /// The file.
        file: PathBuf,
        /// Where the next run begins.
        then: &'static str,
    },
}
