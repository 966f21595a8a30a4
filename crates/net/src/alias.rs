//! How people know a place whose URL is new each time, and may be secret.

use core::fmt;

/// Another name for everything below one path of a server. It stays the same when port and path are new each time, and it
/// may be shown where the path is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Alias {
    /// The beginning of the path, percent-encoded.
    pub path: String,
    /// People's words for it.
    pub written: String,
    /// The name of a copy of the whole.
    pub name: CopyName,
}

/// The name of a copy, and its author. A name is no part of a URL: nothing in it is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyName {
    /// The user wrote it.
    Written(String),
    /// The user wrote none, and the other side says what it is called there. Such a name may hide nothing and replace nothing.
    Offered(String),
}

impl fmt::Debug for Alias {
    /// Never the path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Alias").field(&self.written).finish()
    }
}
