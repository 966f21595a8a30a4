//! An error with its causes, on one line.

use std::error::Error;

/// What went wrong, and why: `could not read the key a.pem: No such file`.
pub fn with_causes(error: &dyn Error) -> String {
    let (mut text, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
