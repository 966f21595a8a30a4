//! Why this computer's TCP cannot be a runner.

#[cfg(target_os = "linux")]
use pcc_netem::HostError;
use std::io;

/// Why this computer's TCP cannot be a runner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// It is the TCP of Linux that is raced.
    #[error("needs Linux")]
    System,
    /// This kernel does not have the congestion control.
    #[error("this kernel has no TCP {name} (`modprobe tcp_{name}` may bring it)")]
    Algorithm {
        /// Its name.
        name: String,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// The system refused something; root has the rights.
    #[error("{what}")]
    Refused {
        /// What.
        what: &'static str,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// There is no interface for the packets.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Interface(#[from] HostError),
    /// A thread of this program ended early.
    #[error("the thread that makes a host failed")]
    Thread,
}

/// Turns the system's refusal into an error that says what was refused.
#[cfg(target_os = "linux")]
pub(super) fn refused<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Unavailable {
    move |reason| Unavailable::Refused { what, reason: reason.into() }
}
