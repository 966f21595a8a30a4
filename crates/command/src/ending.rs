//! The end of a tool whose command failed.

use crate::exit::{AlreadyTold, Failure, failure_of};
use crate::say::say;
use std::io::{Error, ErrorKind};
use std::process::ExitCode;

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
    let is_full = |error: &Error| {
        matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
    };
    let bare = error.downcast_ref::<Error>().filter(|_| error.chain().count() == 1);
    if bare.is_some_and(is_full) { "could not write to standard output: " } else { "" }
}
