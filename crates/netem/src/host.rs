//! Failures of this computer.

use std::error::Error;
use std::fmt;
use std::io;

/// This computer refused something, or lacks it.
#[derive(Debug)]
pub struct HostError {
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl HostError {
    /// One without a cause of its own.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), source: None }
    }

    /// With all its causes.
    pub(crate) fn full(&self) -> String {
        let (mut text, mut cause) = (self.what.clone(), self.source());
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }

    /// The system's number for it, if the system gave one.
    pub fn errno(&self) -> Option<i32> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = cause {
            let io = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
            #[cfg(target_os = "linux")]
            let io = io.or_else(|| error.downcast_ref::<nix::errno::Errno>().map(|errno| *errno as i32));
            if io.is_some() {
                return io;
            }
            cause = error.source();
        }
        None
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for HostError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

/// Says what was tried when an error came.
pub(crate) trait Doing<T> {
    /// `what` was tried, or failed.
    fn doing(self, what: impl Into<String>) -> Result<T, HostError>;
}

impl<T, E: Error + Send + Sync + 'static> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Into<String>) -> Result<T, HostError> {
        self.map_err(|error| HostError { what: what.into(), source: Some(Box::new(error)) })
    }
}

impl<T> Doing<T> for Option<T> {
    fn doing(self, what: impl Into<String>) -> Result<T, HostError> {
        self.ok_or_else(|| HostError::new(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_number_is_found_behind_what_was_tried() {
        let deep: Result<(), _> = Err(io::Error::from_raw_os_error(16));
        let error = deep.doing("the inner part").doing("the outer part").unwrap_err();
        assert_eq!((error.errno(), error.to_string().as_str()), (Some(16), "the outer part"));
        assert_eq!(HostError::new("nothing").errno(), None);
    }
}
