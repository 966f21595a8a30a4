//! Names of local files: made from what a URL or a server says, never trusted.

use crate::filename::{self, LONGEST};
use pcc_net::alias::CopyName;
use pcc_net::escape_for_terminal;
use pcc_net::percent;
use pcc_net::url::Url;
use std::path::{Path, PathBuf};

/// Ends the name of a file that is not complete yet.
pub(crate) const PART: &str = ".pcc-part";

/// Ends the name of the journal of such a file.
pub(crate) const JOURNAL: &str = ".pcc-part.json";

/// Ends the name of a journal that is being written: no longer than the other, so that it fits wherever that does.
const UNWRITTEN: &str = ".pcc-part.tmp";

/// Why a name that came from outside cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadName {
    /// Would be the directory itself, or lead out of it.
    #[error("it leads out of the directory")]
    Upwards,
    /// A separator, a NUL, or what else this system takes for something other than a file.
    #[error("no file here can have that name")]
    Impossible,
    /// Longer than file systems allow.
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    /// The name is one of our own unfinished files.
    #[error("it is reserved for unfinished downloads")]
    Reserved,
}

/// A URL has no name that a file could have here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url} {why}: say where to")]
pub struct NoName {
    url: String,
    why: String,
}

/// Whether `name` is good as the name of one file or directory, in the directory that was asked for and nowhere else.
pub(crate) fn check(name: &str) -> Result<&str, BadName> {
    if matches!(name, "" | "." | "..") {
        return Err(BadName::Upwards);
    }
    if !filename::is_possible(name) {
        return Err(BadName::Impossible);
    }
    if name.len() > LONGEST {
        return Err(BadName::TooLong);
    }
    let lower = name.to_ascii_lowercase(); // many systems take it for the same name
    if [PART, JOURNAL, UNWRITTEN].iter().any(|end| lower.ends_with(end)) { Err(BadName::Reserved) } else { Ok(name) }
}

/// Text that a server sent, as it may be shown, and no longer than a name.
pub(crate) fn brief(text: &str) -> String {
    let short: String = text.chars().take(LONGEST).collect();
    escape_for_terminal(&short) + if short.len() < text.len() { "…" } else { "" }
}

/// Whether the URL asks for a directory.
pub fn is_directory(url: &Url) -> bool {
    url.encoded_path().ends_with('/')
}

/// The name for the URL's target: the last part of its path, and for all that a server has, the server's name. A place with an
/// alias has a name of its own.
///
/// Errors: it has none, or one that is no file name. One that the other side offers may not be hidden, either.
pub fn of_url(url: &Url) -> Result<CopyName, NoName> {
    let give = |why: String| NoName { url: url.short(), why };
    let whole = url.alias.as_ref().filter(|alias| alias.path == url.encoded_path());
    let name = match whole {
        Some(alias) => alias.name.clone(),
        None => CopyName::Written(written(url).ok_or_else(|| give("has a name that is not UTF-8".to_owned()))?),
    };
    let (CopyName::Written(text) | CopyName::Offered(text)) = &name;
    match check(text) {
        Ok(_) if matches!(name, CopyName::Offered(_)) && text.starts_with('.') => {
            Err(give(format!("has a hidden name there, `{}`", brief(text))))
        }
        Ok(_) => Ok(name),
        Err(BadName::Upwards) => Err(give("names no file".to_owned())),
        Err(bad) => Err(give(format!("has a name that cannot be used, {bad}"))),
    }
}

/// The name in the URL; `None` if it is not UTF-8.
fn written(url: &Url) -> Option<String> {
    match url.encoded_path() {
        // Colons of an address are no part of names everywhere.
        "/" => Some(url.peer.name().replace(':', "-")),
        path => percent::decode(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()),
    }
}

/// Where the file goes while it is not complete, and its journal: next to it, hidden.
pub(crate) fn part_and_journal(target: &Path) -> (PathBuf, PathBuf) {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let name = if name.len() + 1 + JOURNAL.len() > LONGEST {
        blake3::hash(name.as_bytes()).to_hex()[..32].to_owned()
    } else {
        name.into_owned()
    };
    (target.with_file_name(format!(".{name}{PART}")), target.with_file_name(format!(".{name}{JOURNAL}")))
}

/// Where a journal is until it is whole.
pub(crate) fn unwritten(journal: &Path) -> PathBuf {
    let name = journal.file_name().unwrap_or_default().to_string_lossy();
    journal.with_file_name(format!("{}{UNWRITTEN}", name.strip_suffix(JOURNAL).unwrap_or(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_net::alias::Alias;
    use proptest::prelude::*;
    use std::path::Component;

    proptest! {
        #[test]
        fn any_name_is_that_of_one_file_here_or_refused(name in "[a-z./\\\\:\\x00-\\x1fä ]{0,12}|.{0,300}") {
            if check(&name).is_ok() {
                let mut parts = Path::new(&name).components();
                prop_assert!(matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none(), "{}", name);
                let (part, journal) = part_and_journal(Path::new(&name));
                for own in [&part, &journal, &unwritten(&journal)] {
                    let own = own.file_name().unwrap().to_str().unwrap();
                    prop_assert!(own.len() <= LONGEST && check(own) == Err(BadName::Reserved), "{}", own);
                }
            }
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for (name, why) in [
            ("", BadName::Upwards),
            (".", BadName::Upwards),
            ("..", BadName::Upwards),
            ("/etc/passwd", BadName::Impossible),
            ("a/../../b", BadName::Impossible),
            ("a\0b", BadName::Impossible),
            (".x.pcc-part", BadName::Reserved),
            (".x.pcc-part.json", BadName::Reserved),
            (".x.PCC-Part", BadName::Reserved),
            (".x.pcc-part.tmp", BadName::Reserved),
        ] {
            assert_eq!(check(name), Err(why), "{name:?}");
        }
        assert_eq!(check(&"x".repeat(256)), Err(BadName::TooLong));
        for name in ["a", "..a", "a b", "ä", "-rf", &"x".repeat(255)] {
            assert_eq!(check(name), Ok(name));
        }
    }

    #[test]
    fn a_file_is_called_as_in_its_url() {
        for (url, name) in [
            ("https://h/a.iso", "a.iso"),
            ("https://h/x/a%20b?q=1", "a b"),
            ("https://h/dir/", "dir"),
            ("https://h/%252e", "%2e"),
            ("https://192.0.2.1:4433/", "192.0.2.1"),
            ("https://h", "h"),
            ("https://[::1]:4433/", "--1"),
        ] {
            assert_eq!(of_url(&url.parse().unwrap()).unwrap(), CopyName::Written(name.into()), "{url}");
        }
        for url in
            ["https://../", "https://h//", "https://h/x/..", "https://h/%2e%2e", "https://h/..%2fb", "https://h/%ff"]
        {
            let error = of_url(&url.parse().unwrap()).unwrap_err().to_string();
            assert!(error.ends_with(": say where to"), "{error}");
        }
    }

    #[test]
    fn a_name_behind_an_alias_is_no_part_of_a_url() {
        let of = |name: CopyName| {
            let alias = Alias { path: "/s/x".into(), written: "host:x".into(), name };
            of_url(&Url { alias: Some(alias.into()), ..("https://h/s/x".parse().unwrap()) })
        };
        for name in ["%41", "100%", "50%25", "a%20b", "a%2fb", "%zz", "%2e%2e%2fevil", ".hidden"] {
            assert_eq!(of(CopyName::Written(name.into())), Ok(CopyName::Written(name.into())));
        }
        for name in [".ssh", "..", "a/b", "", "a\0"] {
            assert!(of(CopyName::Offered(name.into())).is_err(), "{name:?}");
        }
        assert_eq!(of(CopyName::Offered("home".into())), Ok(CopyName::Offered("home".into())));
    }

    #[test]
    fn unfinished_files_wait_beside_the_target() {
        let (part, journal) = part_and_journal(Path::new("/d/a.iso"));
        assert_eq!(part, Path::new("/d/.a.iso.pcc-part"));
        assert_eq!(journal, Path::new("/d/.a.iso.pcc-part.json"));
        assert_eq!(unwritten(&journal), Path::new("/d/.a.iso.pcc-part.tmp"));
        let (part, journal) = part_and_journal(&Path::new("/d").join("x".repeat(255)));
        assert!(part.file_name().unwrap().len() < 255 && journal.file_name().unwrap().len() < 255);
    }
}
