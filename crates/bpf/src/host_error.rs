//! Why the kernel, a file of it, or the BPF object did not do what was asked.

use crate::btf::BtfError;
use crate::rights::MissingRights;
use std::error::Error;
use std::io;
use std::num::TryFromIntError;

/// Why this host did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The system refused a step, which is named.
    #[error("{what}")]
    Step {
        /// The step.
        what: String,
        /// Its answer.
        source: io::Error,
    },
    /// A step that is named failed for one of these reasons.
    #[error("{what}")]
    Within {
        /// The step.
        what: String,
        /// Why it failed.
        source: Box<Self>,
    },
    /// The system refused a step.
    #[error(transparent)]
    System(#[from] io::Error),
    /// This process may not.
    #[error(transparent)]
    Rights(#[from] MissingRights),
    /// Types are described in a way that cannot be read.
    #[error(transparent)]
    Types(#[from] BtfError),
    /// libbpf is not there, or is too old.
    #[error("{0}")]
    NoLibrary(String),
    /// No BPF object is built in, and none was named.
    #[error(
        "this pcc was built without PCC's BPF object: with clang 14 or newer and libbpf's headers (Debian: apt-get install \
         clang libbpf-dev), in PCC's sources, `kernel/build tcp_pcc.bpf.o` makes one, and `make build` builds it in"
    )]
    NoObject,
    /// The BPF object is another program's.
    #[error("{0} is not PCC's BPF object: kernel/build makes it")]
    NotOurs(String),
    /// The BPF object lacks a part.
    #[error("the object has no {0}: build it anew with kernel/build")]
    Lacking(String),
    /// The BPF object ends early.
    #[error("the object ends within its code")]
    CutOff,
    /// A formula's code has no room.
    #[error("the formula is too long for the kernel: its code takes {code} bytes of {room}")]
    FormulaTooLong {
        /// The instructions that it takes.
        code: usize,
        /// The room that there is.
        room: usize,
    },
    /// libbpf cannot read the object, or the kernel refused it.
    #[error("{0}")]
    Refused(String),
    /// The kernel refuses BPF iterators.
    #[error(
        "the kernel lets nobody look at its connections: it refuses a BPF iterator, also to who may load PCC ({0}); `ss -tin` \
         shows what TCP knows of each"
    )]
    NoIterators(io::Error),
    /// The loaded PCC is of another version.
    #[error("what is loaded has no variable `{0}`: it is of another version of PCC; unload it, and load this one")]
    NoVariable(String),
    /// A variable has fewer bytes than its type.
    #[error("the variable `{0}` is shorter than it says")]
    ShortVariable(String),
    /// A text does not fit.
    #[error("no room for `{text}`: at most {most} letters")]
    NoRoom {
        /// The text.
        text: String,
        /// How many letters there may be.
        most: usize,
    },
    /// The connections of a variant cannot be looked at.
    #[error("{0} was loaded by another version of PCC")]
    OtherVersion(String),
    /// The clock cannot hold the end of a trial.
    #[error("the trial would last longer than any computer runs")]
    TrialTooLong(#[source] TryFromIntError),
    /// Sockets have no room for PCC's state.
    #[error(
        "a connection that asked for {name} got {got}: this kernel gives a socket no room for what PCC knows of it, up to \
         {most} bytes; `pcc kernel doctor` says whether a setting is why"
    )]
    NoRoomInSockets {
        /// The name that was asked for.
        name: String,
        /// The room that there was.
        got: String,
        /// The room that PCC takes of a socket at the most. Unit: byte.
        most: u64,
    },
    /// Another program holds the congestion control.
    #[error(
        "{name} is held by BPF link {link} of another program: it goes when that ends, or when its pin in {pins} is removed"
    )]
    Held {
        /// The name of the congestion control.
        name: String,
        /// Its number.
        link: u32,
        /// Where links are pinned.
        pins: &'static str,
    },
    /// The version before is unregistered, and the new one could not take its place.
    #[error(
        "no {0} is loaded now: connections that have it keep it, and network namespaces whose default it is give it to new ones, \
         but nothing gets it by name or by rule; `pcc kernel load --name {0}`, with the options that it had, loads it again"
    )]
    Neither(String),
    /// There is no directory for a file.
    #[error("cannot write the metrics to {file}: there is no directory {directory}")]
    NoDirectory {
        /// The file.
        file: String,
        /// The directory.
        directory: String,
    },
    /// Nobody would tidy up after a trial.
    #[error(transparent)]
    Unattended(Box<dyn Error + Send + Sync>),
}

impl HostError {
    /// The error with its causes.
    pub fn told(&self) -> String {
        let (mut text, mut cause) = (self.to_string(), self.source());
        while let Some(error) = cause {
            text += &format!(": {error}");
            cause = error.source();
        }
        text
    }

    /// With the step in which it came.
    pub(crate) fn within(self, what: impl Into<String>) -> Self {
        Self::Within { what: what.into(), source: Box::new(self) }
    }
}

/// Names the step that failed.
pub(crate) trait Doing<T> {
    fn doing<W: Into<String>>(self, what: impl FnOnce() -> W) -> Result<T, HostError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing<W: Into<String>>(self, what: impl FnOnce() -> W) -> Result<T, HostError> {
        self.map_err(|source| HostError::Step { what: what().into(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_the_step_and_its_causes() {
        let refused = || Err::<(), _>(io::Error::other("no"));
        let step = refused().doing(|| "cannot look").unwrap_err();
        assert_eq!(step.told(), "cannot look: no");
        assert_eq!(step.within("nothing was changed").told(), "nothing was changed: cannot look: no");
        assert_eq!(HostError::from(io::Error::other("no")).told(), "no");
    }
}
