//! Why the far side serves nothing.

use crate::greeting_error::GreetingError;
use pcc_files::Failure;
use pcc_files::serve::StartError;
use pcc_net::ports::Ports;
use pcc_net::tls::TlsError;
use std::io;
use std::path::PathBuf;

/// Why the far side serves nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FarError {
    /// Standard input ended.
    #[error("nobody asked for anything: `pcc get user@host:path` runs this command by itself")]
    NoRequest,
    /// The near side has another form of the greeting.
    #[error("this is pcc {}, and the other one is older or newer: install one version on both", env!("CARGO_PKG_VERSION"))]
    OtherVersion,
    /// Something else came.
    #[error("that is no request of `pcc get` or `pcc put`")]
    NotARequest(#[source] serde_json::Error),
    /// The near side asks for ports that there are not.
    #[error("{0} are no ports")]
    NoPorts(Ports),
    /// All ports that the near side can reach are taken.
    #[error("none of the UDP ports {0} is free")]
    PortsTaken(Ports),
    /// The other side went.
    #[error(transparent)]
    Greeting(#[from] GreetingError),
    /// Packets cannot go through ssh.
    #[error("could not open a UDP socket on the loopback interface")]
    Channel(#[source] io::Error),
    /// The path cannot be read.
    #[error("could not read {}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The path is a pattern.
    #[error("nothing is called like {}", _0.display())]
    NoMatch(PathBuf),
    /// The path leads to a device, a socket or a pipe.
    #[error("{} is neither a file nor a directory", _0.display())]
    NeitherFileNorDirectory(PathBuf),
    /// The destination of an upload from here cannot be one. Its text has secrets.
    #[error("the destination's address is none that this computer can use: write another name or an address for it")]
    NoUrl,
    /// The directory for uploads cannot be made.
    #[error("could not make the directory {}", path.display())]
    NotMade {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The directory for uploads cannot be opened.
    #[error("could not open {}", path.display())]
    NotOpened {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The directory around the file does not exist.
    #[error("there is no directory for {}: make it first", path.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No URL can have the name.
    #[error("{} has no name, or one that is not UTF-8", _0.display())]
    NoName(PathBuf),
    /// There is no place for an empty directory.
    #[error("could not make a temporary directory")]
    NoTemporary(#[source] io::Error),
    /// sshd did not say where it listens.
    #[error("does not know where its ssh server listens, since ssh set no SSH_CONNECTION")]
    NoSshServer,
    /// The server does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The server has no certificate.
    #[error(transparent)]
    Certificate(#[from] TlsError),
    /// The system refuses something else.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The near side has heard of it, and says it there.
    #[error(transparent)]
    Told(Box<FarError>),
}

impl FarError {
    /// Why, as far as a program would act on it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::NeitherFileNorDirectory(_) => Failure::Usage,
            Self::Told(error) => error.failure(),
            _ => Failure::Error,
        }
    }

    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Start(StartError::Listen { source, .. }) if source.kind() == io::ErrorKind::AddrInUse)
    }
}
