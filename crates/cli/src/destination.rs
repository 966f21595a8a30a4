//! Where the copies of a download go, and what they are called. The words of the command decide, and nothing that is not in them:
//! neither what an earlier run left, nor what the other side says.

use crate::exit::misuse;
use anyhow::Context;
use pcc_files::get::{self, Target};
use pcc_files::link;
use pcc_net::alias::CopyName;
use pcc_net::url::Url;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where the user wants all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The user does not say: in the working directory.
    Here,
    /// Standard output.
    Stdout,
    /// The thing that this path names. A directory that is there takes files.
    Named(PathBuf),
    /// In this directory, under a name of its own. It is made if need be.
    Into(PathBuf),
}

/// The source of the download, as the user wrote it.
pub(crate) struct Asked<'a> {
    /// For messages.
    pub(crate) written: String,
    pub(crate) url: &'a Url,
    /// Whether the user asked for what is in a directory, by a slash at the end or by no name.
    pub(crate) is_content: bool,
    /// Whether there are others.
    pub(crate) one_of_several: bool,
}

/// Where one of them goes.
#[derive(Debug)]
pub(crate) enum LocalPlace {
    File(Target),
    Directory(PathBuf),
    /// A directory is there, so a file cannot go there; the other side has yet to say what it has.
    Occupied(PathBuf),
}

impl Destination {
    /// Of `-o`, or of a last path of this computer.
    ///
    /// Errors: several cannot go there.
    pub(crate) fn of(written: Option<&Path>, several: bool) -> anyhow::Result<Self> {
        Ok(match written {
            None => Self::Here,
            Some(path) if path == "-" && several => {
                return Err(misuse!("several downloads need a directory, not standard output"));
            }
            Some(path) if path == "-" => Self::Stdout,
            Some(path) if several && path.exists() && !path.is_dir() => {
                return Err(misuse!("{} is a file, and several downloads need a directory", path.display()));
            }
            Some(path) if several || is_directory(path) => Self::Into(path.to_owned()),
            Some(path) => Self::Named(path.to_owned()),
        })
    }

    /// The same for a source that turns out to be several.
    ///
    /// Errors: several cannot go there.
    pub(crate) fn of_several(&self) -> anyhow::Result<Self> {
        match self {
            Self::Here => Ok(Self::Here),
            Self::Stdout => Self::of(Some(Path::new("-")), true),
            Self::Named(path) | Self::Into(path) => Self::of(Some(path), true),
        }
    }

    /// Makes the directory that the user names, and none above it.
    pub(crate) fn make(&self) -> anyhow::Result<()> {
        match self {
            Self::Into(dir) if !dir.exists() => std::fs::create_dir(dir)
                .with_context(|| format!("could not make the directory {}: choose another with -o", dir.display())),
            _ => Ok(()),
        }
    }

    /// Where a file goes.
    pub(crate) fn of_file(&self, asked: &Asked<'_>) -> anyhow::Result<LocalPlace> {
        let path = match self {
            Self::Stdout => return Ok(LocalPlace::File(Target::Stdout)),
            Self::Here => asked.under_its_name(Path::new(""))?,
            Self::Named(path) if !path.is_dir() => path.clone(),
            Self::Named(dir) | Self::Into(dir) => asked.under_its_name(dir)?,
        };
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => Ok(LocalPlace::Occupied(path)),
            Ok(found) if !found.is_file() => Err(misuse!("{} is no plain file: use `-o - > {0}`", path.display())),
            // Where the user says may be a link: what it leads to is replaced, and that is where the data waits.
            _ => {
                let followed = link::followed(&path).with_context(|| {
                    format!("could not follow the link {}: choose another place with -o FILE", path.display())
                })?;
                Ok(LocalPlace::File(Target::File(followed)))
            }
        }
    }

    /// Where a directory goes.
    pub(crate) fn of_directory(&self, asked: &Asked<'_>) -> anyhow::Result<LocalPlace> {
        let written = &asked.written;
        match self {
            Self::Stdout => Err(misuse!("{written} is a directory: give one with -o DIR")),
            Self::Here => asked.under_its_name(Path::new("")).map(LocalPlace::Directory),
            Self::Into(dir) if asked.one_of_several || !asked.is_content => {
                asked.under_its_name(dir).map(LocalPlace::Directory)
            }
            Self::Named(path) if path.exists() && !path.is_dir() => {
                Err(misuse!("{} is a file, and {written} a directory: give one with -o DIR", path.display()))
            }
            // Somebody who asked for a file did not mean all that the other side puts into a directory.
            Self::Named(path) if !asked.is_content => {
                let path = path.display();
                Err(misuse!(
                    "{written} is a directory: write {written}/ for what is in it to go into {path}, or {path}/ for the \
                     directory itself to"
                ))
            }
            Self::Named(dir) | Self::Into(dir) => Ok(LocalPlace::whole(dir)),
        }
    }

    /// Where the entries of a directory go that match a pattern.
    pub(crate) fn of_matches(&self, asked: &Asked<'_>) -> anyhow::Result<LocalPlace> {
        match self {
            Self::Stdout => Err(misuse!("{} may be several files: give a directory with -o DIR", asked.written)),
            Self::Here => Ok(LocalPlace::whole(Path::new("."))),
            Self::Named(dir) | Self::Into(dir) if dir.exists() && !dir.is_dir() => {
                Err(misuse!("{} is a file, and {} may be several", dir.display(), asked.written))
            }
            Self::Named(dir) | Self::Into(dir) => Ok(LocalPlace::whole(dir)),
        }
    }
}

impl Asked<'_> {
    /// In `dir`, under its own name. One that the other side chose may replace nothing.
    fn under_its_name(&self, dir: &Path) -> anyhow::Result<PathBuf> {
        let name = get::name_of(self.url).map_err(|error| misuse!("{error} with -o"))?;
        let (CopyName::Written(text) | CopyName::Offered(text)) = &name;
        let path = dir.join(text);
        if matches!(name, CopyName::Offered(_)) && path.symlink_metadata().is_ok() {
            let (written, path) = (&self.written, path.display());
            return Err(misuse!(
                "{written} is called {path} there, and that is here already: say where to with -o DIR"
            ));
        }
        Ok(path)
    }
}

impl LocalPlace {
    /// Where the user says may be a link; what is below is the server's choice.
    fn whole(dir: &Path) -> Self {
        Self::Directory(dir.canonicalize().unwrap_or_else(|_| dir.to_owned()))
    }
}

/// Whether a path as it is written can only be that of a directory.
fn is_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let ends_with_separator = bytes.last().is_some_and(|last| std::path::is_separator(char::from(*last)));
    ends_with_separator || path.file_name().is_none() || bytes.ends_with(b"/.")
}

/// The names that the sources of one command give to their copies: no two may have the same, or one would replace the other.
#[derive(Debug, Default)]
pub(crate) struct Taken(Mutex<HashSet<String>>);

impl Taken {
    /// Those that are known before anything is moved, each with its source.
    ///
    /// Errors: two have the same.
    pub(crate) fn of(names: impl IntoIterator<Item = (String, String)>) -> anyhow::Result<Self> {
        let mut taken = HashSet::new();
        for (name, written) in names {
            if !taken.insert(name.clone()) {
                return Err(misuse!(
                    "{written}: another source is called `{name}`, too: move them into different places"
                ));
            }
        }
        Ok(Self(taken.into()))
    }

    /// Names that a pattern may not bring.
    pub(crate) fn names(&self) -> HashSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A pattern brought it.
    pub(crate) fn add(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_net::alias::Alias;

    fn url(name: CopyName) -> Url {
        let alias = Alias { path: "/s/x".into(), written: "host:x".into(), name };
        Url { alias: Some(alias.into()), ..("https://h/s/x".parse().unwrap()) }
    }

    /// Where the copy of `x` goes, with `-o` in a directory that has a directory `dir`.
    fn place(output: &str, is_content: bool, is_directory: bool) -> Result<String, String> {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("dir")).unwrap();
        let destination = Destination::of(Some(Path::new(&format!("{}/{output}", top.display()))), false).unwrap();
        let url = &url(CopyName::Written("x".into()));
        let asked = Asked { written: "host:x".into(), url, is_content, one_of_several: false };
        let place = if is_directory { destination.of_directory(&asked) } else { destination.of_file(&asked) };
        let path = match place.map_err(|error| format!("{error:#}"))? {
            LocalPlace::File(Target::File(path)) | LocalPlace::Directory(path) => path,
            place => panic!("{place:?}"),
        };
        Ok(path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn only_the_written_slash_decides_what_goes_where() {
        for (output, is_content, file, directory) in [
            ("new", false, Some("new"), None),
            ("dir", false, Some("dir/x"), None),
            ("new/", false, Some("new/x"), Some("new/x")),
            ("dir/", false, Some("dir/x"), Some("dir/x")),
            (".", false, Some("x"), Some("x")),
            ("dir/.", false, Some("dir/./x"), Some("dir/./x")),
            ("new", true, Some("new"), Some("new")),
            ("dir/", true, Some("dir/x"), Some("dir")),
        ] {
            assert_eq!(place(output, is_content, false).ok().as_deref(), file, "{output}");
            assert_eq!(place(output, is_content, true).ok().as_deref(), directory, "{output} {is_content}");
        }
        let error = place("dir", false, true).unwrap_err();
        assert!(error.contains("write host:x/") && error.contains("dir/ for the directory itself"), "{error}");
    }

    #[test]
    fn a_name_that_the_other_side_chose_replaces_nothing() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("dir")).unwrap();
        let destination = Destination::of(Some(top.path()), true).unwrap();
        let place = |name| {
            let asked = Asked { written: "host:".into(), url: &url(name), is_content: true, one_of_several: true };
            destination.of_directory(&asked)
        };
        let error = place(CopyName::Offered("dir".into())).unwrap_err();
        assert!(format!("{error:#}").contains("is here already: say where to"), "{error:#}");
        assert!(place(CopyName::Offered(".ssh".into())).is_err());
        assert!(place(CopyName::Offered("other".into())).is_ok() && place(CopyName::Written("dir".into())).is_ok());
    }
}
