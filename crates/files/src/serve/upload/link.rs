//! Makes symbolic links, and gives files further names.

use super::condition::Condition;
use super::partial;
use super::refused::Refused;
use super::{blocking, refuse_disk};
use crate::attributes::Attributes;
use crate::choice::Backup;
use crate::serve::answer::{self, Outcome, response};
use crate::serve::broken::Broken;
use crate::serve::path::{HIDDEN_PREFIX, SafePath};
use crate::serve::root::Root;
use crate::serve::service::Service;
use crate::serve::stream::Stream;
use crate::serve::token::Token;
use crate::symlink::{self, LONGEST, Made};
use crate::wire;
use cap_std::fs::Dir;
use http::{HeaderMap, StatusCode};
use pcc_net::percent;
use std::io;
use std::path::Path;

/// The thing that a request wants under a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A link that says this.
    Link(String),
    /// The file at this path.
    SameAs(SafePath),
}

impl Wanted {
    /// As the fields say; `None` if they say nothing of links.
    ///
    /// Errors: they say what cannot be.
    pub(super) fn of(headers: &HeaderMap, service: &Service) -> Option<Result<Self, &'static str>> {
        let text = |name| headers.get(name).map(|value| value.to_str().ok());
        if let Some(target) = text(wire::FILE_LINK) {
            let target = target.and_then(percent::decode);
            let target =
                target.filter(|target| !target.is_empty() && target.len() <= LONGEST && !target.contains('\0'));
            return Some(target.map(Self::Link).ok_or("file-link is no text of a link"));
        }
        let path = text(wire::FILE_SAME_AS)?;
        let path = path.and_then(|path| SafePath::parse(service.privacy.open(path)?).ok());
        let path = path.filter(|path| !path.directory);
        Some(path.map(Self::SameAs).ok_or("file-same-as is no path of a file"))
    }
}

/// All of it.
pub(super) struct Wish {
    pub(super) wanted: Wanted,
    pub(super) attributes: Attributes,
    /// Keeps what has the name now.
    pub(super) backup: Option<Backup>,
}

/// 201 if the name was free, 200 if it was taken, 204 if it had that already.
pub(super) async fn make(
    service: &Service,
    path: SafePath,
    wish: Wish,
    condition: Condition,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let (root, same_user) = (service.root.clone(), service.same_user);
    let make = move || place(&root, &path, &wish, same_user);
    match blocking(move || condition.change(make)).await {
        Ok(made) => {
            let status = match made {
                Made::New => StatusCode::CREATED,
                Made::Replaced => StatusCode::OK,
                Made::Same => StatusCode::NO_CONTENT,
            };
            answer::send(stream, response(status), bytes::Bytes::new(), false).await
        }
        Err(error) => refuse_disk(stream, &error).await,
    }
}

/// Blocks.
fn place(root: &Root, path: &SafePath, wish: &Wish, same_user: bool) -> io::Result<Made> {
    let Wish { wanted, attributes, backup } = wish;
    let name = path.name().filter(|_| !path.directory).ok_or(io::ErrorKind::IsADirectory)?;
    if let Wanted::Link(target) = wanted
        && !same_user
        && !symlink::stays_inside(&path.to_path(), target)
    {
        return Err(Refused::LeadsOut.into());
    }
    root.dir().create_dir_all(path.parent())?;
    let dir = root.dir().open_dir(path.parent())?;
    if let Wanted::Link(target) = wanted
        && !same_user
        // A directory on the way may be a link to one further up.
        && !symlink::stays_inside(&root.dir().canonicalize(path.parent())?.join(name), target)
    {
        return Err(Refused::LeadsOut.into());
    }
    is_replaceable(&dir, name)?;
    let (_, unique) = Token::generate().map_err(io::Error::other)?;
    let unused = format!("{HIDDEN_PREFIX}{unique}");
    if let Some(backup) = backup
        && dir.symlink_metadata(name).is_ok_and(|found| !found.is_dir())
        && !is_there(root, &dir, name, wanted)
    {
        partial::keep(&dir, name, backup)?;
    }
    match wanted {
        Wanted::Link(target) => symlink::make(&dir, name, &unused, target, attributes),
        Wanted::SameAs(file) => symlink::name_again(root.dir(), &file.to_path(), &dir, name, &unused),
    }
}

/// Whether the name has that already.
fn is_there(root: &Root, dir: &Dir, name: &str, wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Link(target) => dir.read_link_contents(name).is_ok_and(|there| there == Path::new(target)),
        Wanted::SameAs(file) => symlink::is_one_file(root.dir(), &file.to_path(), dir, name),
    }
}

/// Devices, pipes and sockets stay.
fn is_replaceable(dir: &Dir, name: &str) -> io::Result<()> {
    match dir.symlink_metadata(name) {
        Ok(found) if found.is_dir() || found.is_file() || found.is_symlink() => Ok(()),
        Ok(_) => Err(Refused::Special.into()),
        Err(_) => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn wish(wanted: Wanted) -> Wish {
        Wish { wanted, attributes: Attributes::default(), backup: None }
    }

    fn link(root: &Root, path: &str, target: &str, same_user: bool) -> Result<Made, Option<Refused>> {
        let wanted = Wanted::Link(target.to_owned());
        let placed = place(root, &SafePath::parse(path).unwrap(), &wish(wanted), same_user);
        placed.map_err(|error| Refused::within(&error))
    }

    #[test]
    fn a_link_that_leads_out_is_for_the_servers_own_user() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        for target in ["/etc/passwd", "../../secret", "x/../../secret"] {
            assert_eq!(link(&root, "/d/l", target, false), Err(Some(Refused::LeadsOut)), "{target}");
        }
        assert!(!dir.path().join("d").exists());
        assert_eq!(link(&root, "/d/l", "../a", false), Ok(Made::New));
        assert_eq!(link(&root, "/d/l", "/etc/passwd", true), Ok(Made::Replaced));
        assert_eq!(link(&root, "/d/l", "/etc/passwd", true), Ok(Made::Same));
    }

    #[test]
    fn a_link_behind_a_link_leads_where_that_leads() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert_eq!(link(&root, "/x", ".", false), Ok(Made::New));
        assert_eq!(link(&root, "/x/x/l", "../../secret", false), Err(Some(Refused::LeadsOut)));
        assert_eq!(link(&root, "/x/x/l", "a", false), Ok(Made::New));
        assert_eq!(link(&root, "/d/l", "../a", false), Ok(Made::New));
    }

    #[test]
    fn nothing_is_made_behind_a_link_that_leads_out() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("out")).unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert!(link(&root, "/out/l", "a", true).is_err());
        let again = |file: &str| {
            let wanted = Wanted::SameAs(SafePath::parse(file).unwrap());
            place(&root, &SafePath::parse("/l").unwrap(), &wish(wanted), true)
        };
        assert!(again("/out/secret").is_err() && again("/out").is_err() && again("/none").is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
