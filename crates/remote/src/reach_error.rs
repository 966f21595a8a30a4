//! Why the far side was not reached.

use crate::greeting_error::GreetingError;
use crate::sent::LONGEST_ORDER;
use crate::started::ANSWER;
use core::time::Duration;
use pcc_net::tls::ParseFingerprintError;
use std::io;

/// Why the far side was not reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// There is no such command here.
    #[error("could not run `{program}`: install it, or name another command")]
    NoSsh {
        /// The command.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The system gave the command no pipes.
    #[error("ssh has no pipes")]
    NoPipes,
    /// The other side went.
    #[error(transparent)]
    Greeting(#[from] GreetingError),
    /// Nobody knows how ssh ended.
    #[error("could not wait for ssh")]
    Wait(#[source] io::Error),
    /// Packets cannot go through ssh.
    #[error("could not open a UDP socket on the loopback interface")]
    Channel(#[source] io::Error),
    /// The far side has another form of the greeting.
    #[error(
        "pcc on {host} is version {there}, this one is {}, and they do not understand each other: install one version on both",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// The other computer.
        host: String,
        /// Its version.
        there: String,
    },
    /// The shell there knows no such program.
    #[error("there is no `{program}` on {host}")]
    NoProgram {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
    },
    /// The shell there cannot run the program.
    #[error("`{program}` on {host} cannot be run: name another")]
    NotExecutable {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
    },
    /// ssh itself failed.
    #[error("ssh did not reach {host}, and says above why")]
    NotReached {
        /// The other computer.
        host: String,
    },
    /// The program there does not know what it was told.
    #[error("`{program}` on {host} is too old for this transfer: install this version there, too")]
    TooOld {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
    },
    /// The program there ended without a greeting.
    #[error("`{program}` on {host} ended {how}{}: is it this pcc?{}", told_last(said), of_the_shell(said))]
    Ended {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
        /// With which exit code.
        how: String,
        /// The last line that it said, if it said any.
        said: String,
    },
    /// Nothing came of ssh.
    #[error("ssh to {host} brought nothing within {} s: see whether `ssh {host} true` ends", waited.as_secs())]
    Silent {
        /// The other computer.
        host: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Something came, and no greeting.
    #[error("`{program}` on {host} gave no answer within {} s{}", ANSWER.as_secs(), instead(said))]
    NoAnswer {
        /// The program.
        program: String,
        /// The other computer.
        host: String,
        /// The last line that came, if there is any.
        said: String,
    },
    /// The far side says that the path is what it cannot be.
    #[error("{address} offers what was not asked for: install one version of pcc on both")]
    NotAsked {
        /// The other computer.
        address: String,
    },
    /// The far side reads no more than that.
    #[error("the options and the path have more than {} KiB together: leave some out", LONGEST_ORDER >> 10)]
    TooLong,
    /// The far side serves nothing, and says why.
    #[error("{address} {reason}")]
    Refused {
        /// The other computer.
        address: String,
        /// The far side's reason.
        reason: String,
        /// Whether another request could be served.
        is_misuse: bool,
    },
    /// The far side's certificate has no name.
    #[error("the other side named no fingerprint")]
    NoFingerprint(#[source] ParseFingerprintError),
    /// The far side's path is none.
    #[error("the other side named no path")]
    NoPath(#[source] http::uri::InvalidUri),
    /// The system refuses something else.
    #[error(transparent)]
    System(#[from] io::Error),
}

fn told_last(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" and said `{said}`") }
}

const fn of_the_shell(said: &str) -> &'static str {
    if said.is_empty() { "" } else { " Or the shell there prints that before pcc: see its .bashrc." }
}

fn instead(said: &str) -> String {
    if said.is_empty() {
        return "; see whether it says its version there, with --version".to_owned();
    }
    format!("; the shell there prints `{said}` before pcc: see its .bashrc")
}
