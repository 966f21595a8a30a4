//! The path of a request, as names below the served directory.

use crate::filename::{self, LONGEST};
use pcc_net::percent;
use std::path::PathBuf;

/// Names under which unfinished uploads wait. They are neither listed nor served.
pub(crate) const HIDDEN_PREFIX: &str = ".pcc-upload-";

/// Whether a name is one of those; many systems take upper and lower case for the same.
pub(super) fn is_hidden(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with(HIDDEN_PREFIX)
}

/// Bytes in a path, Linux's limit.
const LONGEST_PATH: usize = 4096;

/// Names that lead downwards from the served directory, one after the other.
///
/// Whether they stay below it when links are followed is for [`super::root::Root`] to see to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SafePath {
    names: Vec<String>,
    /// Whether the path ended with a slash.
    pub(crate) directory: bool,
}

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsafe {
    /// It is not what a URL's path looks like.
    #[error("malformed path")]
    Malformed,
    /// `.`, `..` or an empty name.
    #[error("the path must not hold `.`, `..` or empty names")]
    Upwards,
    /// A NUL or a slash inside a name, or what else this system takes for something other than a file.
    #[error("the path holds a name that no file here can have")]
    Impossible,
    /// Longer than file systems allow.
    #[error("the path or a name in it is too long")]
    TooLong,
    /// A name reserved for unfinished uploads.
    #[error("no such file")]
    Hidden,
}

impl SafePath {
    /// From a URL's path, percent-encoded, without the query.
    pub(crate) fn parse(encoded: &str) -> Result<Self, Unsafe> {
        if encoded.len() > 3 * LONGEST_PATH {
            return Err(Unsafe::TooLong);
        }
        let encoded = encoded.strip_prefix('/').ok_or(Unsafe::Malformed)?;
        let (encoded, directory) = match encoded.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (encoded, encoded.is_empty()),
        };
        let names = if encoded.is_empty() && directory {
            Vec::new()
        } else {
            encoded.split('/').map(name).collect::<Result<_, _>>()?
        };
        let path = Self { names, directory };
        if path.to_path().as_os_str().len() > LONGEST_PATH { Err(Unsafe::TooLong) } else { Ok(path) }
    }

    /// Relative, for the file system; `.` for the served directory itself.
    pub(crate) fn to_path(&self) -> PathBuf {
        if self.names.is_empty() { PathBuf::from(".") } else { self.names.iter().collect() }
    }

    /// For people: as in a URL, whatever separates names here.
    pub(super) fn shown(&self) -> String {
        format!("/{}", self.names.join("/"))
    }

    /// The last name; `None` for the served directory itself.
    pub(crate) fn name(&self) -> Option<&str> {
        self.names.last().map(String::as_str)
    }

    /// The directory around it.
    pub(crate) fn parent(&self) -> PathBuf {
        match self.names.split_last() {
            Some((_, above)) if !above.is_empty() => above.iter().collect(),
            _ => PathBuf::from("."),
        }
    }
}

fn name(encoded: &str) -> Result<String, Unsafe> {
    let name = percent::decode(encoded).ok_or(Unsafe::Malformed)?;
    if matches!(name.as_str(), "" | "." | "..") {
        return Err(Unsafe::Upwards);
    }
    if !filename::is_possible(&name) {
        return Err(Unsafe::Impossible);
    }
    if name.len() > LONGEST {
        return Err(Unsafe::TooLong);
    }
    if is_hidden(&name) { Err(Unsafe::Hidden) } else { Ok(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    proptest! {
        #[test]
        fn whatever_is_asked_for_lies_below_or_is_refused(text in "/?([a-z.%0-9A-F/\\\\:]|%2[eEfF]|%5[cC]|\\.\\.|ä){0,24}") {
            if let Ok(path) = SafePath::parse(&text) {
                let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
                prop_assert!(path.to_path().components().all(inside) && path.parent().components().all(inside));
            }
        }

        #[test]
        fn names_that_files_can_have_are_found_again(names in prop::collection::vec("[^/\\\\:*?\"<>|\\x00-\\x1f.]{1,20}", 1..5)) {
            let encoded: String = names.iter().map(|name| format!("/{}", percent::encode_segment(name))).collect();
            if let Ok(path) = SafePath::parse(&encoded) {
                prop_assert_eq!(path.shown(), format!("/{}", names.join("/")));
                prop_assert_eq!(path.name(), names.last().map(String::as_str));
            } else {
                prop_assert!(names.iter().any(|name| !filename::is_possible(name)), "{:?}", names);
            }
        }
    }

    #[test]
    fn paths_are_decoded_name_by_name() {
        for (encoded, path, directory) in [
            ("/", ".", true),
            ("/a", "a", false),
            ("/a/b%20c", "a/b c", false),
            ("/a/", "a", true),
            ("/%C3%A4", "ä", false),
            ("/..a/b..c", "..a/b..c", false),
        ] {
            let parsed = SafePath::parse(encoded).unwrap();
            assert_eq!((parsed.to_path().as_path(), parsed.directory), (Path::new(path), directory), "{encoded}");
        }
    }

    #[test]
    fn no_path_leads_upwards_or_elsewhere() {
        for (encoded, why) in [
            ("", Unsafe::Malformed),
            ("a", Unsafe::Malformed),
            ("/..", Unsafe::Upwards),
            ("/../etc/passwd", Unsafe::Upwards),
            ("/a/../../b", Unsafe::Upwards),
            ("/%2e%2e/b", Unsafe::Upwards),
            ("/%2E./b", Unsafe::Upwards),
            ("/a/./b", Unsafe::Upwards),
            ("//etc/passwd", Unsafe::Upwards),
            ("/a//b", Unsafe::Upwards),
            ("/a%2f..%2fb", Unsafe::Impossible),
            ("/%2fetc%2fpasswd", Unsafe::Impossible),
            ("/a%00b", Unsafe::Impossible),
            ("/%", Unsafe::Malformed),
            ("/%zz", Unsafe::Malformed),
            ("/%ff", Unsafe::Malformed),
            ("/%252e%252e/%00", Unsafe::Impossible),
            ("/.pcc-upload-1", Unsafe::Hidden),
            ("/a/%2Epcc-upload-1", Unsafe::Hidden),
            ("/.PCC-Upload-1", Unsafe::Hidden),
        ] {
            assert_eq!(SafePath::parse(encoded), Err(why), "{encoded}");
        }
    }

    #[test]
    fn double_encoding_is_a_plain_name() {
        assert_eq!(SafePath::parse("/%252e%252e").unwrap().to_path(), Path::new("%2e%2e"));
    }

    #[test]
    fn overlong_names_and_paths_are_refused() {
        assert!(SafePath::parse(&format!("/{}", "a".repeat(255))).is_ok());
        assert_eq!(SafePath::parse(&format!("/{}", "a".repeat(256))), Err(Unsafe::TooLong));
        assert_eq!(SafePath::parse(&"/a".repeat(3000)), Err(Unsafe::TooLong));
        assert_eq!(SafePath::parse(&format!("/{}", "%41".repeat(1_000_000))), Err(Unsafe::TooLong));
    }

    #[test]
    fn parents_stay_inside() {
        for (encoded, parent, name) in [("/a", ".", Some("a")), ("/a/b/c", "a/b", Some("c")), ("/", ".", None)] {
            let parsed = SafePath::parse(encoded).unwrap();
            assert_eq!((parsed.parent().as_path(), parsed.name()), (Path::new(parent), name), "{encoded}");
        }
    }
}
