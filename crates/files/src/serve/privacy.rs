//! The readers: everybody, or holders of the address.

use blake3::Hash;
use core::fmt;

/// Where the served directory is found.
#[derive(Clone, Default)]
pub enum Privacy {
    /// Right at the top: whoever finds the server can read.
    #[default]
    Public,
    /// Below a name that is a secret. Only its hash is kept: comparing hashes takes the same time whatever was sent.
    Private(Hash),
}

impl fmt::Debug for Privacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Public) { "Public" } else { "Private" })
    }
}

impl Privacy {
    /// Only for those who know this first part of the path.
    pub fn below(name: &str) -> Self {
        Self::Private(blake3::hash(name.as_bytes()))
    }

    /// The path of a request as seen from the served directory; `None` for those who do not know where that is.
    pub(super) fn open<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self {
            Self::Public => Some(path),
            Self::Private(secret) => {
                let named = path.strip_prefix('/')?;
                let (name, below) = named.split_at(named.find('/')?);
                (blake3::hash(name.as_bytes()) == *secret).then_some(below)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_name_leads_inside() {
        let privacy = Privacy::below("secret");
        assert_eq!(privacy.open("/secret/a/b"), Some("/a/b"));
        assert_eq!(privacy.open("/secret/"), Some("/"));
        for wrong in
            ["", "/", "/secret", "secret/a", "/Secret/a", "/secret2/a", "/x/secret/a", "//secret/a", "/%73ecret/a"]
        {
            assert_eq!(privacy.open(wrong), None, "{wrong}");
        }
        assert_eq!(Privacy::Public.open("/a"), Some("/a"));
        assert_eq!(format!("{privacy:?}"), "Private");
    }
}
