//! Symbolic links as a transfer keeps them: what they say, whether that stays inside, and how one is made in place of what has its name.

use crate::attributes::Attributes;
use std::path::{Component, Path};

/// Bytes of what a link says, Linux's limit.
pub(crate) const LONGEST: usize = 4095;

/// Whether the link at `path`, below some directory, leads to a place in that directory: by what it says, whatever is there.
///
/// Upwards only in front: behind a name, `..` would lead from wherever another link leads.
pub(crate) fn stays_inside(path: &Path, target: &str) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    let mut is_named = false;
    !target.is_empty()
        && Path::new(target).components().all(|part| match part {
            Component::Normal(_) => {
                is_named = true;
                true
            }
            Component::CurDir => true,
            Component::ParentDir if is_named || depth == 0 => false,
            Component::ParentDir => {
                depth -= 1;
                true
            }
            Component::RootDir | Component::Prefix(_) => false,
        })
}

/// The effect of making a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// The name was free.
    New,
    /// It took the place of something else.
    Replaced,
    /// It was there.
    Same,
}

/// Makes a link in `dir` that says `target`, in place of any file or link with that name. `unused` is a name that nothing else has. Blocks.
///
/// Errors: of the file system; `IsADirectory` if a directory has the name.
#[cfg(unix)]
pub(crate) fn make(
    dir: &cap_std::fs::Dir,
    name: &str,
    unused: &str,
    target: &str,
    attributes: &Attributes,
) -> std::io::Result<Made> {
    let made = match dir.symlink_metadata(name) {
        Ok(found) if found.is_dir() => return Err(std::io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_symlink() && dir.read_link_contents(name)? == Path::new(target) => {
            attributes.give_link(dir, name)?;
            return Ok(Made::Same);
        }
        Ok(_) => Made::Replaced,
        Err(_) => Made::New,
    };
    let _ = dir.remove_file(unused); // an earlier run's
    dir.symlink_contents(target, unused)?;
    let named = attributes.give_link(dir, unused).and_then(|()| dir.rename(unused, dir, name));
    if named.is_err() {
        let _ = dir.remove_file(unused);
    }
    named.map(|()| made)
}

/// There a link is of files or of directories, and needs a privilege.
#[cfg(not(unix))]
pub(crate) fn make(_: &cap_std::fs::Dir, _: &str, _: &str, _: &str, _: &Attributes) -> std::io::Result<Made> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "links are not made on this system"))
}

/// Gives the file `to` in `dir` another name there, in place of any file or link that has it. `unused` is a name that nothing else has. Blocks.
///
/// Errors: of the file system; `IsADirectory` if a directory has the name; `InvalidInput` if `to` is no plain file.
pub(crate) fn name_again(
    from: &cap_std::fs::Dir,
    to: &Path,
    dir: &cap_std::fs::Dir,
    name: &str,
    unused: &str,
) -> std::io::Result<Made> {
    let file = from.symlink_metadata(to)?;
    if !file.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let made = match dir.symlink_metadata(name) {
        Ok(found) if found.is_dir() => return Err(std::io::ErrorKind::IsADirectory.into()),
        Ok(found) if is_one(&found, &file) => return Ok(Made::Same),
        Ok(_) => Made::Replaced,
        Err(_) => Made::New,
    };
    let _ = dir.remove_file(unused); // an earlier run's
    from.hard_link(to, dir, unused)?;
    let named = dir.rename(unused, dir, name);
    if named.is_err() {
        let _ = dir.remove_file(unused);
    }
    named.map(|()| made)
}

/// Whether both names are those of one file.
pub(crate) fn is_one_file(from: &cap_std::fs::Dir, to: &Path, dir: &cap_std::fs::Dir, name: &str) -> bool {
    from.symlink_metadata(to).is_ok_and(|file| dir.symlink_metadata(name).is_ok_and(|found| is_one(&found, &file)))
}

/// Whether both are one file.
fn is_one(one: &cap_std::fs::Metadata, other: &cap_std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_that_lead_out_are_told_by_what_they_say() {
        for (path, target, inside) in [
            ("a", "b", true),
            ("a", "sub/b", true),
            ("a", ".", true),
            ("a", "..", false),
            ("d/a", "..", true),
            ("d/a", "../b", true),
            ("d/a", "../../b", false),
            ("d/a", "./../b", true),
            ("d/a", "x/../b", false),
            ("a", "/etc/passwd", false),
            ("a", "", false),
        ] {
            assert_eq!(stays_inside(Path::new(path), target), inside, "{path} -> {target}");
        }
    }

    #[cfg(unix)]
    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        /// However links that stay inside are put together, no path through them leads out.
        #[test]
        fn no_chain_of_links_that_stay_inside_leads_out(
            links in prop::collection::vec(("(d/)?(e/)?[abc]", "(\\.\\./){0,3}([abcdes]/){0,2}[abcdes.]"), 1..6),
            walk in "([abcde]/){1,4}[abcde]",
        ) {
            let top = tempfile::tempdir().unwrap();
            let (inside, secret) = (top.path().join("s/in"), top.path().join("secret"));
            std::fs::create_dir_all(inside.join("d/e")).unwrap();
            std::fs::create_dir_all(inside.join("e")).unwrap();
            std::fs::write(&secret, "x").unwrap();
            for (path, target) in links {
                if stays_inside(Path::new(&path), &target) {
                    let _ = std::os::unix::fs::symlink(&target, inside.join(&path));
                }
            }
            if let Ok(found) = inside.join(&walk).canonicalize() {
                prop_assert!(found.starts_with(inside.canonicalize().unwrap()), "{}: {}", walk, found.display());
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_takes_the_place_of_files_and_not_of_directories() {
        let top = tempfile::tempdir().unwrap();
        let dir = cap_std::fs::Dir::open_ambient_dir(top.path(), cap_std::ambient_authority()).unwrap();
        let made = |name, target| make(&dir, name, ".unused", target, &Attributes::default());
        assert_eq!(made("l", "/no/where").unwrap(), Made::New);
        assert_eq!(made("l", "/no/where").unwrap(), Made::Same);
        std::fs::write(top.path().join("f"), "x").unwrap();
        assert_eq!(made("f", "l").unwrap(), Made::Replaced);
        std::fs::create_dir(top.path().join("d")).unwrap();
        assert_eq!(made("d", "l").unwrap_err().kind(), std::io::ErrorKind::IsADirectory);
        std::fs::write(top.path().join("one"), "x").unwrap();
        let named = |to: &str, name| name_again(&dir, Path::new(to), &dir, name, ".unused");
        assert_eq!(named("one", "two").unwrap(), Made::New);
        assert_eq!(named("one", "two").unwrap(), Made::Same);
        assert_eq!(named("one", "l").unwrap(), Made::Replaced);
        assert!(named("f", "three").is_err(), "a link is no file");
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 5, "nothing else is left");
    }
}
