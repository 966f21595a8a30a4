//! How the kernel holds a congestion control of ours, so that another version can take its place.
//!
//! Since Linux 6.4 by a link, pinned in the BPF file system: the link is turned to the other version in one step. Before that,
//! or where that file system is not mounted, plainly: the other version is registered as soon as the name is free. Either
//! way the holders of the version before keep it: connections, sockets that listen, network namespaces whose default it is.
//! [`crate::variant::Variant::retire`] has it give new connections to the other one.

use crate::bpf::{Link, Map};
use crate::btf::Btf;
use crate::host_error::{Doing as _, HostError};
use crate::libbpf::Loaded;
use crate::variant::Variant;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the BPF file system is.
pub const FILE_SYSTEM: &str = "/sys/fs/bpf";
/// The same, as the first process sees it: what is pinned in a mount of somebody's own goes with that.
const OF_THE_FIRST: &str = "/proc/1/root/sys/fs/bpf";
/// `BPF_FS_MAGIC` of linux/magic.h.
const MAGIC: u64 = 0xcafe_4a11;

/// Whether the kernel of these types can turn a link to another version: since Linux 6.4.
pub fn has_links(kernel: &Btf) -> bool {
    kernel.structure("bpf_struct_ops").is_some_and(|ops| kernel.member(ops, "update").is_some())
}

/// Whether links can be pinned, in a BPF file system that is not only this process's.
pub fn can_pin() -> bool {
    let is_one = rustix::fs::statfs(FILE_SYSTEM).is_ok_and(|found| found.f_type as u64 == MAGIC);
    let device = |path: &str| fs::metadata(path).ok().map(|found| found.dev());
    // A process that may not look there is in no mount namespace of its own making.
    is_one && device(OF_THE_FIRST).is_none_or(|first| Some(first) == device(FILE_SYSTEM))
}

fn pin(name: &str) -> PathBuf {
    Path::new(FILE_SYSTEM).join("pcc").join(name)
}

/// A congestion control that was just registered.
pub struct Registration<'a> {
    name: &'a str,
    /// The map that stands for it.
    pub map: Map,
    link: Option<Link>,
    /// The one that it took the place of.
    old: Option<&'a Variant>,
}

impl<'a> Registration<'a> {
    /// Registers it under its name, in the place of another version if there is one. `linked` is how it was loaded.
    ///
    /// Errors: the name is taken (EEXIST), or the kernel refuses it; then the other version is there still, or this says so.
    pub fn new(name: &'a str, loaded: &Loaded, linked: bool, old: Option<&'a Variant>) -> io::Result<Self> {
        let map = Map::of(loaded.map_fd("pcc").map_err(io::Error::other)?)?;
        let link = match old.and_then(|old| Some((old, old.link.as_ref()?))) {
            Some((old, link)) if linked => {
                // Where libbpf makes a link at once, it finds the name taken, with the map ready by then.
                match loaded.attach() {
                    Err(error) if error.raw_os_error() != Some(libc::EEXIST) => return Err(error),
                    _ => link.update(&map, &old.map)?,
                }
                Link::by_id(link.id)?
            }
            _ => {
                old.map_or(Ok(()), |old| old.map.clear())?;
                let made = loaded.attach().and_then(|made| {
                    linked.then(|| pinned(name, made.map_or_else(|| Link::create(&map), Ok)?)).transpose()
                });
                match old {
                    Some(_) => made.map_err(|error| {
                        io::Error::other(format!("{error}; {}", HostError::Neither(name.to_owned())))
                    })?,
                    None => made?,
                }
            }
        };
        Ok(Self { name, map, link, old })
    }

    /// As it was before, where that is possible.
    ///
    /// Errors: it stays, or what it took the place of could not be brought back.
    pub fn undo(self) -> Result<(), HostError> {
        let (name, old) = (self.name, self.old);
        match (&self.link, old) {
            (Some(link), Some(old)) if old.link.is_some() => {
                return link.update(&old.map, &self.map).doing(|| format!("the new {name} stays"));
            }
            (None, _) => self.map.clear().doing(|| format!("{name} could not be unloaded again"))?,
            _ => {}
        }
        self.link.map_or(Ok(()), |link| release(name, link))?;
        if old.is_some() { Err(HostError::Neither(name.to_owned())) } else { Ok(()) }
    }
}

fn pinned(name: &str, link: std::os::fd::OwnedFd) -> io::Result<Link> {
    let link = Link::of(link)?.ok_or(io::ErrorKind::InvalidData)?;
    let file = pin(name);
    fs::create_dir_all(Path::new(FILE_SYSTEM).join("pcc"))?;
    match fs::remove_file(&file) {
        // The file of one that was taken out of use without us.
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    link.pin(&file)?;
    Ok(link)
}

/// Takes a variant out: new connections cannot have it by name.
pub fn unregister(variant: &mut Variant) -> Result<(), HostError> {
    let name = &variant.name;
    match variant.link.take() {
        Some(link) => release(name, link),
        None => variant.map.clear().doing(|| format!("could not unload {name}")),
    }
}

fn release(name: &str, link: Link) -> Result<(), HostError> {
    let (file, id) = (pin(name), link.id);
    if Link::pinned(&file).ok().flatten().is_some_and(|pinned| pinned.id == id) {
        fs::remove_file(&file).doing(|| format!("could not unload {name}: cannot remove {}", file.display()))?;
    }
    // Linux 6.4 to 6.10 lets go of it only with whoever holds it last: that is this process, unless it is somebody else's.
    match link.detach() {
        Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) => {
            return Err(error).doing(|| format!("could not unload {name}"));
        }
        _ => drop(link),
    }
    if Link::by_id(id)?.is_some_and(|link| link.map != 0) {
        return Err(HostError::Held { name: name.to_owned(), link: id, pins: FILE_SYSTEM });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_pinned_under_the_variants_name() {
        assert_eq!(pin("pcc_scav"), Path::new("/sys/fs/bpf/pcc/pcc_scav"));
    }
}
