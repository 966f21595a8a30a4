//! Why an upload is refused, where no file system says so.

use http::StatusCode;
use std::io;

/// Comes as the inside of an I/O error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// A condition of the request is not met.
    #[error("this name has another version than the request demands: nothing was changed")]
    OtherVersion,
    /// PUT and PATCH would take a part for the whole file.
    #[error("Content-Range is not taken: send all of the file by PUT, or the rest of an upload by PATCH and ?upload=")]
    Range,
    /// The body would be stored as it is, under a name that says something else.
    #[error("Content-Encoding is not taken: send the file as it is")]
    Encoded,
    /// The thing that has the name is no file.
    #[error("a device, a pipe or a socket has this name, which no upload replaces")]
    Special,
    /// The served directory itself.
    #[error("the served directory itself keeps its time and its permissions")]
    Root,
    /// A link of somebody who does not act for the server's user.
    #[error("the link leads out of the served directory, or might: only a server that ssh starts makes such links")]
    LeadsOut,
    /// The file whose bytes it copies.
    #[error("the file that the upload copies from is another one now: send all of it")]
    Base,
    /// There is a bound to what nobody finishes.
    #[error(
        "the server has {} unfinished uploads and takes no more: finish them, or delete its old files .pcc-upload-*",
        super::unfinished::MOST
    )]
    Crowded,
}

impl Refused {
    /// The refusal that the error is made of, if it is one of these.
    pub(super) fn within(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::OtherVersion | Self::Base => StatusCode::PRECONDITION_FAILED,
            Self::Range => StatusCode::BAD_REQUEST,
            Self::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Special => StatusCode::CONFLICT,
            Self::Root | Self::LeadsOut => StatusCode::FORBIDDEN,
            Self::Crowded => StatusCode::INSUFFICIENT_STORAGE,
        }
    }
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        Self::other(refused)
    }
}
