//! How links arrive, and further names of files. Each step is taken from the destination's open directory, and no link is followed on the way.

use crate::attributes::Attributes;
use crate::choice::Choice;
use crate::client::names;
use crate::symlink::{self, Made};
use anyhow::anyhow;
use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// A link or a further name, in some directory.
#[derive(Debug)]
pub(super) struct Linking {
    pub(super) name: String,
    pub(super) what: What,
}

/// The thing that is to have the name.
#[derive(Debug)]
pub(super) enum What {
    /// A link that says this, with these attributes.
    Link(String, Attributes),
    /// This file.
    SameAs(First),
}

/// The first name of a file. A million names in one directory do not hold its path a million times.
#[derive(Clone, Debug)]
pub(super) struct First {
    /// The directory below the destination.
    pub(super) below: Arc<Path>,
    pub(super) name: Arc<str>,
}

/// Why a name could not be had.
pub(super) enum Refused {
    /// A directory has it.
    InTheWay,
    Other(anyhow::Error),
}

/// Whether it was changed, or would be in a dry run; `None` if the entry that is there stays.
pub(super) type Outcome = Result<Option<bool>, Refused>;

/// Makes it in the directory `below` the destination `top`. Blocks.
pub(super) fn make(top: &Path, below: &Path, linking: &Linking, choice: &Choice) -> Outcome {
    let path = top.join(below).join(&linking.name);
    let found = path.symlink_metadata().ok();
    if found.as_ref().is_some_and(std::fs::Metadata::is_dir) {
        return Err(Refused::InTheWay);
    }
    if choice.spared.any() {
        let offered = if let What::Link(_, attributes) = &linking.what { attributes.modified } else { None };
        if choice.spared.has(found.as_ref().map(|found| found.modified().ok()), offered) {
            return Ok(None);
        }
    }
    let made = place(top, below, &path, linking, choice);
    made.map(Some).map_err(|error| match error {
        error if error.kind() == ErrorKind::IsADirectory => Refused::InTheWay,
        error => Refused::Other(anyhow!(error).context(format!("could not make the link {}", path.display()))),
    })
}

fn place(top: &Path, below: &Path, path: &Path, linking: &Linking, choice: &Choice) -> io::Result<bool> {
    let is_there = match &linking.what {
        What::Link(target, _) => path.read_link().is_ok_and(|there| there == Path::new(target)),
        What::SameAs(First { below, name }) => is_one(&top.join(below).join(&**name), path),
    };
    if choice.dry_run {
        return Ok(!is_there);
    }
    if let Some(backup) = choice.backup.as_ref().filter(|_| !is_there) {
        backup.keep(path).map_err(io::Error::other)?;
    }
    let dir = open(top, below)?;
    let unused = names::unwritten(&names::part_and_journal(path).1);
    let unused = unused.file_name().and_then(|name| name.to_str()).ok_or(ErrorKind::InvalidFilename)?;
    let made = match &linking.what {
        What::Link(target, attributes) => symlink::make(&dir, &linking.name, unused, target, attributes)?,
        What::SameAs(First { below, name }) => {
            symlink::name_again(&open(top, below)?, Path::new(&**name), &dir, &linking.name, unused)?
        }
    };
    Ok(made != Made::Same)
}

/// Opens the directory `below` the destination, through no link.
fn open(top: &Path, below: &Path) -> io::Result<Dir> {
    let top = Dir::open_ambient_dir(top, ambient_authority())?;
    below.components().try_fold(top, |dir, part| dir.open_dir_nofollow(part.as_os_str()))
}

/// Whether both names are those of one file.
fn is_one(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let numbers = |path: &Path| path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()));
        numbers(one).is_some_and(|one| numbers(other) == Some(one))
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        false
    }
}

/// Whether what a server says of a link may be made here: its text is no longer than any link's, and leads out only if that is wanted.
pub(super) fn check(below: &Path, target: &str, links_out: bool) -> Result<(), String> {
    if target.is_empty() || target.len() > symlink::LONGEST || target.contains('\0') {
        return Err("no link can say what this one says".to_owned());
    }
    if links_out || symlink::stays_inside(below, target) {
        return Ok(());
    }
    Err(format!("it is a link to `{}`, which leads out of the directory, or might", names::brief(target)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn link(name: &str, target: &str) -> Linking {
        Linking { name: name.to_owned(), what: What::Link(target.to_owned(), Attributes::default()) }
    }

    #[test]
    fn a_directory_swapped_for_a_link_leads_no_link_outside() {
        let (top, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), top.path().join("sub")).unwrap();
        let choice = Choice::default();
        assert!(make(top.path(), Path::new("sub"), &link("l", "x"), &choice).is_err());
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        let again = Linking {
            name: "l".to_owned(),
            what: What::SameAs(First { below: Path::new("sub").into(), name: "secret".into() }),
        };
        assert!(make(top.path(), Path::new(""), &again, &choice).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        assert!(!top.path().join("l").exists());
    }

    #[test]
    fn links_are_made_once_and_told_in_a_dry_run() {
        let top = tempfile::tempdir().unwrap();
        let made = |choice: &Choice| make(top.path(), Path::new(""), &link("l", "/x"), choice).ok().flatten();
        let dry = Choice { dry_run: true, ..Choice::default() };
        assert_eq!(
            (made(&dry), made(&Choice::default()), made(&Choice::default())),
            (Some(true), Some(true), Some(false))
        );
        assert_eq!(made(&dry), Some(false));
        let spared = crate::Spared { existing: true, ..Default::default() };
        assert_eq!(made(&Choice { spared, ..Choice::default() }), None);
        std::fs::create_dir(top.path().join("d")).unwrap();
        let refused = make(top.path(), Path::new(""), &link("d", "x"), &Choice::default());
        assert!(matches!(refused, Err(Refused::InTheWay)));
    }

    #[test]
    fn what_a_server_says_of_a_link_is_checked() {
        let inside = Path::new("d/l");
        assert!(check(inside, "../x", false).is_ok() && check(inside, "/etc", true).is_ok());
        for wrong in ["", "/etc", "../../x", "a\0b", &"x".repeat(5000)] {
            assert!(check(inside, wrong, false).is_err(), "{wrong:.20}");
        }
        assert!(check(inside, "a\0b", true).is_err());
    }
}
