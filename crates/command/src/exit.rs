//! How a command ends: the exit codes that every command of both tools uses, and its last words.

use crate::say::say;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// Why a command did not do what was asked. Attach it to an error with `anyhow::Error::context`; `main` finds it in
/// the chain and turns it into the exit code, which scripts may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Something went wrong (1).
    Error = 1,
    /// The command was misused (2), the code clap uses too.
    Usage = 2,
    /// Some of it was done, not all (3).
    Partial = 3,
    /// The bytes that arrived are not those that were sent (4).
    Integrity = 4,
    /// The peer could not be reached, or was lost for too long (5).
    Unreachable = 5,
    /// More would have been deleted than was allowed (25, as rsync counts).
    DeleteLimit = 25,
    /// The command to run is none that can be started (126, as shells count).
    NotExecutable = 126,
    /// There is no such command (127, as shells count).
    NoCommand = 127,
    /// The user pressed Ctrl-C (130: 128 and the signal's number, as shells count).
    Interrupted = 130,
    /// Nobody reads the output any more, as in `pcc emulate --list | head` (141).
    Unread = 141,
    /// A service manager or batch system asked for the end (143).
    Terminated = 143,
}

/// Somebody else says what is wrong.
#[derive(Debug)]
pub struct AlreadyTold;

impl std::fmt::Display for AlreadyTold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the other side says why")
    }
}

impl std::error::Error for AlreadyTold {}

/// A mistake in the command line, told as by `anyhow!`.
#[macro_export]
macro_rules! misuse {
    ($($text:tt)+) => { anyhow::anyhow!($($text)+).context($crate::exit::Failure::Usage) };
}
pub use crate::misuse;

/// The same, of what says itself what is wrong.
pub fn misused(problem: impl std::fmt::Display) -> anyhow::Error {
    misuse!("{problem}")
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Error => "failed",
            Self::Usage => "misused",
            Self::Partial => "only partly done",
            Self::Integrity => "data damaged",
            Self::Unreachable => "peer unreachable",
            Self::DeleteLimit => "deletions stopped by the --max-delete limit",
            Self::NotExecutable => "not executable",
            Self::NoCommand => "no such command",
            Self::Interrupted => "interrupted",
            Self::Unread => "output not read",
            Self::Terminated => "told to end",
        })
    }
}

impl Failure {
    /// The failure of a program of ours that ended with this code; `None` if it ended well, or with a code that is none of ours.
    pub fn of_code(code: i32) -> Option<Self> {
        let all = [
            Self::Error,
            Self::Usage,
            Self::Partial,
            Self::Integrity,
            Self::Unreachable,
            Self::DeleteLimit,
            Self::Interrupted,
            Self::Unread,
            Self::Terminated,
        ];
        all.into_iter().find(|failure| *failure as i32 == code)
    }
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> Self {
        Self::from(failure as u8)
    }
}

impl From<pcc_files::Failure> for Failure {
    fn from(failure: pcc_files::Failure) -> Self {
        match failure {
            pcc_files::Failure::Usage => Self::Usage,
            pcc_files::Failure::Integrity => Self::Integrity,
            pcc_files::Failure::Unreachable => Self::Unreachable,
            _ => Self::Error,
        }
    }
}

/// The failure an error carries; [`Failure::Error`] if it carries none.
pub fn failure_of(error: &anyhow::Error) -> Failure {
    // Only pipes break in this way here: UDP knows no such end.
    let unread = || {
        let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
        kinds.into_iter().any(|kind| kind == io::ErrorKind::BrokenPipe).then_some(Failure::Unread)
    };
    let of_a_transfer = || error.downcast_ref::<pcc_files::Failure>().map(|failure| Failure::from(*failure));
    error.downcast_ref::<Failure>().copied().or_else(of_a_transfer).or_else(unread).unwrap_or(Failure::Error)
}

/// Tells of an error, and how the program ends with it. `told` writes the error with its causes and with what helps.
pub fn failed(program: &str, error: &anyhow::Error, told: impl FnOnce(&anyhow::Error) -> String) -> ExitCode {
    let failure = failure_of(error);
    // A reader that closed the pipe has seen enough.
    if failure != Failure::Unread && error.downcast_ref::<AlreadyTold>().is_none() {
        say(format_args!("{program}: {}{}", place(error), told(error)));
    }
    failure.into()
}

/// Everything but standard output says what it tried.
fn place(error: &anyhow::Error) -> &'static str {
    let is_full = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
    };
    let bare = error.downcast_ref::<io::Error>().filter(|_| error.chain().count() == 1);
    if bare.is_some_and(is_full) { "could not write to standard output: " } else { "" }
}
