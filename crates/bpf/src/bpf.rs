//! The system call bpf(2), as far as `pcc kernel` reads the state of the kernel and changes it. libbpf loads programs:
//! [`super::libbpf`].

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Commands of bpf(2), `enum bpf_cmd` of linux/bpf.h.
#[derive(Clone, Copy)]
#[repr(i32)]
enum Command {
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    MapNextKey = 4,
    Pin = 6,
    Pinned = 7,
    ProgAttach = 8,
    ProgDetach = 9,
    ProgNextId = 11,
    MapNextId = 12,
    ProgById = 13,
    MapById = 14,
    Info = 15,
    BtfById = 19,
    LinkCreate = 28,
    LinkUpdate = 29,
    LinkById = 30,
    LinkNextId = 31,
    IterCreate = 33,
    LinkDetach = 34,
}

/// `BPF_MAP_TYPE_STRUCT_OPS` and `BPF_PROG_TYPE_SOCK_OPS`.
pub const STRUCT_OPS_MAP: u32 = 26;
/// `BPF_PROG_TYPE_SOCK_OPS`.
pub const SOCK_OPS: u32 = 13;
/// `BPF_F_LINK`: such a `STRUCT_OPS_MAP` is in use as long as a link to it is.
pub const LINKED: u32 = 1 << 13;
/// `BPF_LINK_TYPE_STRUCT_OPS`.
const STRUCT_OPS_LINK: u32 = 9;
/// `BPF_F_REPLACE`: only if the link still has the map that is to be replaced.
const REPLACE: u32 = 1 << 2;
/// `BPF_CGROUP_SOCK_OPS`, `BPF_TRACE_ITER` and `BPF_STRUCT_OPS` of `enum bpf_attach_type`.
const CGROUP_SOCK_OPS: u32 = 3;
const TRACE_ITER: u32 = 28;
const STRUCT_OPS: u32 = 44;
/// Programs of others on the same control group run too.
const ALLOW_MULTI: u32 = 2;

/// `union bpf_attr`: fields by their place. Zeros are what is not used.
struct Attr([u64; 18]);

impl Attr {
    const fn new() -> Self {
        Self([0; 18])
    }

    const fn u32(mut self, place: usize, value: u32) -> Self {
        let shift = if (place & 4 == 0) == cfg!(target_endian = "little") { 0 } else { 32 };
        self.0[place / 8] |= (value as u64) << shift;
        self
    }

    const fn u64(mut self, place: usize, value: u64) -> Self {
        self.0[place / 8] = value;
        self
    }

    fn fd(self, place: usize, fd: &impl AsRawFd) -> Self {
        self.u32(place, fd.as_raw_fd() as u32)
    }

    const fn read_u32(&self, place: usize) -> u32 {
        let shift = if (place & 4 == 0) == cfg!(target_endian = "little") { 0 } else { 32 };
        (self.0[place / 8] >> shift) as u32
    }

    /// # Safety
    /// The memory that its pointers point to must be as the command wants it, and live through the call.
    unsafe fn call(&mut self, command: Command) -> io::Result<i32> {
        let size = std::mem::size_of_val(&self.0);
        // SAFETY: the kernel reads and writes that many bytes; the rest is the caller's promise.
        let done = unsafe { libc::syscall(libc::SYS_bpf, command as i32, self.0.as_mut_ptr(), size) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as i32) }
    }

    /// # Safety
    /// As [`Self::call`]; the command must answer with a file descriptor.
    unsafe fn open(&mut self, command: Command) -> io::Result<OwnedFd> {
        // SAFETY: the caller's promise.
        unsafe { self.call(command).map(|fd| OwnedFd::from_raw_fd(fd)) }
    }
}

/// All maps, programs or links that there are at this moment, by number.
fn ids(next: Command) -> io::Result<Vec<u32>> {
    let mut all = Vec::new();
    loop {
        let mut attr = Attr::new().u32(0, all.last().copied().unwrap_or(0));
        // SAFETY: no pointers.
        match unsafe { attr.call(next) } {
            Ok(_) => all.push(attr.read_u32(4)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(all),
            Err(error) => return Err(error),
        }
    }
}

/// A copy of what the kernel tells of an object: as many bytes as it knows, the rest zeros.
fn info(fd: &impl AsRawFd, bytes: &mut [u64]) -> io::Result<()> {
    let size = std::mem::size_of_val(bytes) as u32;
    let mut attr = Attr::new().fd(0, fd).u32(4, size).u64(8, bytes.as_mut_ptr() as u64);
    // SAFETY: `bytes` has that size; what pointers it holds are the caller's, with the sizes it says.
    unsafe { attr.call(Command::Info) }.map(drop)
}

fn low(words: &[u64], place: usize) -> u32 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).skip(place).take(4).collect();
    bytes.try_into().map_or(0, u32::from_ne_bytes)
}

fn name(words: &[u64], place: usize) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).skip(place).take(16).collect();
    text(&bytes)
}

/// None if there is none (any more).
fn opened(command: Command, id: u32) -> io::Result<Option<OwnedFd>> {
    // SAFETY: no pointers.
    match unsafe { Attr::new().u32(0, id).open(command) } {
        Ok(fd) => Ok(Some(fd)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text before the first zero.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A map of the kernel.
pub struct Map {
    /// Keeps it in the kernel.
    pub fd: OwnedFd,
    /// Its number in the kernel.
    pub id: u32,
    /// As `enum bpf_map_type` counts.
    pub kind: u32,
    /// Up to 15 letters.
    pub name: String,
    /// The size of one value. Unit: byte.
    pub value_size: usize,
    /// Where its types are described, and which of them its value has; 0 for nowhere.
    pub btf: u32,
    /// The number of the type of its values there.
    pub value_type: u32,
    /// For `STRUCT_OPS_MAP`: its value's type, among those of the kernel.
    pub kernel_type: u32,
}

impl Map {
    /// Numbers of all that there are.
    pub fn ids() -> io::Result<Vec<u32>> {
        ids(Command::MapNextId)
    }

    /// None if there is none (any more).
    pub fn by_id(id: u32) -> io::Result<Option<Self>> {
        opened(Command::MapById, id)?.map(Self::of).transpose()
    }

    /// The kernel's description of it.
    pub fn of(fd: OwnedFd) -> io::Result<Self> {
        let mut words = [0; 16];
        info(&fd, &mut words)?;
        let word = |place| low(&words, place);
        Ok(Self {
            id: word(4),
            kind: word(0),
            name: name(&words, 24),
            value_size: word(12) as usize,
            btf: word(64),
            value_type: word(72),
            kernel_type: word(44),
            fd,
        })
    }

    /// The value of key 0.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        self.at(0)
    }

    fn at(&self, key: u32) -> io::Result<Vec<u8>> {
        // Values of arrays are copied in units of eight bytes.
        let mut value = vec![0; self.value_size.next_multiple_of(8)];
        let mut attr = Attr::new().fd(0, &self.fd).u64(8, (&raw const key) as u64).u64(16, value.as_mut_ptr() as u64);
        // SAFETY: the key has four bytes in all maps that this is used for, and the value as many as the map says.
        unsafe { attr.call(Command::MapLookup)? };
        value.truncate(self.value_size);
        Ok(value)
    }

    /// All keys that there are at this moment, and their values.
    pub fn entries(&self) -> io::Result<Vec<(u32, Vec<u8>)>> {
        let (mut entries, mut key, mut next) = (Vec::new(), None::<u32>, 0_u32);
        loop {
            let before = key.as_ref().map_or(0, |key| std::ptr::from_ref(key) as u64);
            let mut attr = Attr::new().fd(0, &self.fd).u64(8, before).u64(16, (&raw mut next) as u64);
            // SAFETY: keys have four bytes in all maps that this is used for; no key before means the first.
            match unsafe { attr.call(Command::MapNextKey) } {
                Ok(_) => entries.push((next, self.at(next)?)),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(entries),
                Err(error) => return Err(error),
            }
            key = Some(next);
        }
    }

    /// Writes the value at key 0.
    pub fn write(&self, value: &[u8]) -> io::Result<()> {
        let mut value = value.to_vec();
        value.resize(self.value_size.next_multiple_of(8), 0);
        let key = 0_u32;
        let mut attr = Attr::new().fd(0, &self.fd).u64(8, (&raw const key) as u64).u64(16, value.as_ptr() as u64);
        // SAFETY: as in `read`.
        unsafe { attr.call(Command::MapUpdate) }.map(drop)
    }

    /// Takes the value of key 0 out. For a `STRUCT_OPS_MAP` this unregisters it.
    pub fn clear(&self) -> io::Result<()> {
        let key = 0_u32;
        // SAFETY: the key has four bytes.
        unsafe { Attr::new().fd(0, &self.fd).u64(8, (&raw const key) as u64).call(Command::MapDelete) }.map(drop)
    }
}

/// A link of the kernel that holds a `STRUCT_OPS_MAP` in use. It goes with its last file descriptor and its last pin.
pub struct Link {
    fd: OwnedFd,
    /// Its number in the kernel.
    pub id: u32,
    /// The map's number.
    pub map: u32,
}

impl Link {
    /// All that there are of this kind.
    pub fn all() -> io::Result<Vec<Self>> {
        let links = ids(Command::LinkNextId)?.into_iter().map(Self::by_id);
        links.filter_map(io::Result::transpose).collect()
    }

    /// None if there is none (any more), or it is of another kind.
    pub fn by_id(id: u32) -> io::Result<Option<Self>> {
        opened(Command::LinkById, id)?.map(Self::of).transpose().map(Option::flatten)
    }

    /// None if it is a link of another kind.
    pub fn of(fd: OwnedFd) -> io::Result<Option<Self>> {
        let mut words = [0; 8];
        info(&fd, &mut words)?;
        let is_ours = low(&words, 0) == STRUCT_OPS_LINK;
        Ok(is_ours.then(|| Self { id: low(&words, 4), map: low(&words, 16), fd }))
    }

    /// Takes a map into use that has its value.
    pub fn create(map: &Map) -> io::Result<OwnedFd> {
        // SAFETY: no pointers.
        unsafe { Attr::new().fd(0, &map.fd).u32(8, STRUCT_OPS).open(Command::LinkCreate) }
    }

    /// Takes this map into use instead, in one step.
    pub fn update(&self, new: &Map, old: &Map) -> io::Result<()> {
        let mut attr = Attr::new().fd(0, &self.fd).fd(4, &new.fd).u32(8, REPLACE).fd(12, &old.fd);
        // SAFETY: no pointers.
        unsafe { attr.call(Command::LinkUpdate) }.map(drop)
    }

    /// Takes its map out of use, whoever holds the link.
    pub fn detach(&self) -> io::Result<()> {
        // SAFETY: no pointers.
        unsafe { Attr::new().fd(0, &self.fd).call(Command::LinkDetach) }.map(drop)
    }

    /// Keeps it beyond this process, as this file of a BPF file system.
    pub fn pin(&self, file: &Path) -> io::Result<()> {
        let name = CString::new(file.as_os_str().as_bytes())?;
        // SAFETY: a name with a zero at its end, which lives through the call.
        unsafe { Attr::new().u64(0, name.as_ptr() as u64).fd(8, &self.fd).call(Command::Pin) }.map(drop)
    }

    /// The link that is pinned there, if it is such a one.
    pub fn pinned(file: &Path) -> io::Result<Option<Self>> {
        let name = CString::new(file.as_os_str().as_bytes())?;
        // SAFETY: a name with a zero at its end, which lives through the call.
        let fd = unsafe { Attr::new().u64(0, name.as_ptr() as u64).open(Command::Pinned)? };
        Self::of(fd)
    }
}

/// A program of the kernel.
pub struct Program {
    /// Keeps it in the kernel.
    pub fd: OwnedFd,
    /// Its number in the kernel.
    pub id: u32,
    /// As `enum bpf_prog_type` counts.
    pub kind: u32,
    /// Up to 15 letters.
    pub name: String,
    /// Numbers of the maps that it uses.
    pub maps: Vec<u32>,
    /// How many instructions the verifier followed; 0 where the kernel does not tell.
    pub verified: u32,
    /// Bytes of machine code.
    pub compiled: u32,
}

impl Program {
    /// Numbers of all that there are.
    pub fn ids() -> io::Result<Vec<u32>> {
        ids(Command::ProgNextId)
    }

    /// None if there is none (any more).
    pub fn by_id(id: u32) -> io::Result<Option<Self>> {
        opened(Command::ProgById, id)?.map(Self::of).transpose()
    }

    /// The kernel's description of it.
    pub fn of(fd: OwnedFd) -> io::Result<Self> {
        let mut words = [0; 32];
        info(&fd, &mut words)?;
        let mut maps = vec![0_u32; low(&words, 52) as usize];
        let mut again = [0; 32];
        again[6] = Attr::new().u32(4, maps.len() as u32).0[0];
        again[7] = maps.as_mut_ptr() as u64;
        info(&fd, &mut again)?;
        let word = |place| low(&words, place);
        Ok(Self {
            id: word(4),
            kind: word(0),
            name: name(&words, 64),
            maps,
            verified: word(216),
            compiled: word(16),
            fd,
        })
    }

    /// Has it run for connections of this control group. It stays there when this process ends.
    pub fn attach(&self, cgroup: BorrowedFd<'_>) -> io::Result<()> {
        let mut attr = Attr::new().fd(0, &cgroup).fd(4, &self.fd).u32(8, CGROUP_SOCK_OPS).u32(12, ALLOW_MULTI);
        // SAFETY: no pointers.
        unsafe { attr.call(Command::ProgAttach) }.map(drop)
    }

    /// Takes it off that control group.
    pub fn detach(&self, cgroup: BorrowedFd<'_>) -> io::Result<()> {
        let mut attr = Attr::new().fd(0, &cgroup).fd(4, &self.fd).u32(8, CGROUP_SOCK_OPS);
        // SAFETY: no pointers.
        unsafe { attr.call(Command::ProgDetach) }.map(drop)
    }
}

/// A description of types.
pub fn btf(id: u32) -> io::Result<Vec<u8>> {
    // SAFETY: no pointers.
    let fd = unsafe { Attr::new().u32(0, id).open(Command::BtfById)? };
    let mut words = [0; 4];
    info(&fd, &mut words)?;
    let mut bytes = vec![0; low(&words, 8) as usize];
    let mut again = [bytes.as_mut_ptr() as u64, Attr::new().u32(0, bytes.len() as u32).0[0], 0, 0];
    info(&fd, &mut again)?;
    Ok(bytes)
}

/// The text that this iterator writes about a map's elements, ready to be read.
pub struct Iterator(OwnedFd);

impl Iterator {
    /// An iterator that runs this program over that map.
    pub fn over(program: BorrowedFd<'_>, map: &Map) -> io::Result<Self> {
        // `union bpf_iter_link_info`.
        let about = map.fd.as_raw_fd() as u32;
        let size = size_of_val(&about) as u32;
        let mut attr = Attr::new().fd(0, &program).u32(8, TRACE_ITER).u64(16, (&raw const about) as u64).u32(24, size);
        // SAFETY: `about` has that size.
        unsafe { attr.open(Command::LinkCreate) }.map(Self)
    }

    /// One pass over the map.
    pub fn pass(&self) -> io::Result<std::fs::File> {
        // SAFETY: no pointers.
        unsafe { Attr::new().fd(0, &self.0).open(Command::IterCreate) }.map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_call_keep_their_places() {
        let attr = Attr::new().u32(0, 1).u32(4, 2).u64(8, 3);
        assert_eq!((attr.read_u32(0), attr.read_u32(4), attr.0[1]), (1, 2, 3));
        let bytes: Vec<u8> = attr.0.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!((&bytes[..4], &bytes[4..8]), (&1_u32.to_ne_bytes()[..], &2_u32.to_ne_bytes()[..]));
        assert_eq!(low(&attr.0, 4), 2);
        assert_eq!(text(b"pcc\0x"), "pcc");
    }
}
