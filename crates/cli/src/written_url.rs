//! A URL of the command line.

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use pcc_net::url::{Url, UrlError};
use std::ffi::OsStr;

/// Reads a URL of the command line. What is wrong with it names it already, but for what may be secret in it; clap by itself
/// would repeat it whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenUrl;

impl TypedValueParser for WrittenUrl {
    type Value = Url;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<Url, clap::Error> {
        let refused = |problem: String| clap::Error::raw(ErrorKind::ValueValidation, problem + "\n").with_cmd(command);
        let written = value.to_str().ok_or_else(|| refused("the URL is not UTF-8".to_owned()))?;
        written.parse().map_err(|error: UrlError| refused(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_password_is_not_repeated() {
        let cli = <crate::Cli as clap::Parser>::try_parse_from(["pcc", "get", "https://me:secret@h/"]);
        let Err(error) = cli else { panic!("it is refused") };
        assert!(error.exit_code() == 2 && !error.to_string().contains("secret"), "{error}");
        assert!(error.to_string().contains("error: `https://…@h/` holds a user name or a password"), "{error}");
    }
}
