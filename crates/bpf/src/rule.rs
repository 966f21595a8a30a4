//! Rules by which connections of unmodified applications get a congestion control: each is a program of the kernel,
//! attached to a control group, with what it looks for in a map (`kernel/choose.h`).

use crate::bpf::{self, Map, Program, SOCK_OPS};
use crate::btf::Btf;
use crate::host_error::{Doing as _, HostError};
use crate::libbpf::{Loaded, Part};
use crate::object::Source;
use crate::variant::Variant;
use std::fmt;
use std::fs::{self, File};
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The program's name.
const OURS: &str = "pcc_choose";
/// `struct pcc_rule` of `kernel/choose.h`, which asserts the same places.
#[repr(C)]
struct Laid {
    name: [u8; 16],
    cgroup: u64,
    port: u16,
    family: u8,
    prefix: u8,
    address: [u8; 16],
    chosen: u32,
    failed: u32,
    reserved: u32,
    until: u64,
}

const UNTIL: usize = offset_of!(Laid, until);
const _: () = assert!(size_of::<Laid>() == 64 && offset_of!(Laid, address) == 28 && UNTIL == 56);

/// Addresses that begin alike: `192.0.2.0/24`, `2001:db8::/32`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its first address.
    pub address: IpAddr,
    /// This number of bits is the same in all of its addresses.
    pub prefix: u8,
}

impl Network {
    /// Whether an address is one of them.
    pub fn has(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let differ = bits(address) ^ bits(self.address);
        address.is_ipv4() == self.address.is_ipv4()
            && differ.checked_shr(128 - u32::from(self.prefix)).unwrap_or(0) == 0
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let example = || format!("`{written}` is no network: write it like 192.0.2.0/24 or 2001:db8::/32");
        let (address, prefix) =
            written.split_once('/').map_or((written, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| example())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(most), |prefix| prefix.parse().map_err(|_| example()))?;
        if prefix > most {
            return Err(format!("`{written}`: such an address has {most} bits"));
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Which connections: all that is said must be so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whom {
    /// The port at the other end.
    pub port: Option<u16>,
    /// Where the other end is.
    pub dest: Option<Network>,
}

/// `struct pcc_rule` in bytes, for the control group of that number, and what is on trial until then.
pub fn bytes(name: &str, cgroup: u64, whom: &Whom, until: u64) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    bytes[..name.len().min(15)].copy_from_slice(&name.as_bytes()[..name.len().min(15)]);
    bytes.extend(cgroup.to_ne_bytes());
    bytes.extend(whom.port.unwrap_or(0).to_ne_bytes());
    let address = match whom.dest.map(|network| (network.address, network.prefix)) {
        None => (0, 0, [0; 16]),
        Some((IpAddr::V4(address), prefix)) => {
            let mut padded = [0; 16];
            padded[..4].copy_from_slice(&address.octets());
            (4, prefix, padded)
        }
        Some((IpAddr::V6(address), prefix)) => (6, prefix, address.octets()),
    };
    bytes.extend([address.0, address.1]);
    bytes.extend(address.2);
    bytes.extend([0; 12]);
    bytes.extend(until.to_ne_bytes());
    bytes
}

/// A rule that the kernel has.
pub struct Rule {
    /// Number of its program.
    pub id: u32,
    /// The congestion control that it gives.
    pub name: String,
    /// Whose connections.
    pub whom: Whom,
    /// The control group's number.
    cgroup: u64,
    /// Where the control group is, if it is found.
    pub path: Option<PathBuf>,
    /// How many connections were given the congestion control, and how many could not be.
    pub chosen: u32,
    /// How many it could not give it to.
    pub failed: u32,
    program: Program,
    map: Map,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "control group {}", path.display())?,
            None => write!(f, "control group number {}", self.cgroup)?,
        }
        if let Some(port) = self.whom.port {
            write!(f, ", port {port}")?;
        }
        self.whom.dest.map_or(Ok(()), |dest| write!(f, ", to {dest}"))
    }
}

impl Rule {
    /// All that there are.
    pub fn all() -> Result<Vec<Self>, HostError> {
        let mut rules = Vec::new();
        for id in Program::ids().doing(|| "cannot ask the kernel for its BPF programs")? {
            let Some(program) = Program::by_id(id).doing(|| format!("cannot look at BPF program {id}"))? else {
                continue;
            };
            if program.kind != SOCK_OPS || program.name != OURS {
                continue;
            }
            rules.extend(Self::of(program)?);
        }
        Ok(rules)
    }

    fn of(program: Program) -> Result<Option<Self>, HostError> {
        for id in &program.maps {
            let Some(map) = Map::by_id(*id)?.filter(|map| map.name == "pcc_rule" && map.btf != 0) else { continue };
            let types = Btf::read(bpf::btf(map.btf)?)?;
            let value = map.read()?;
            let rest =
                |path: &str| types.member(Btf::whole(map.value_type), path).and_then(|at| value.get(at.offset..));
            let Some(read) = Read::of(rest) else { continue };
            let path = mount().and_then(|mount| find(&mount, read.cgroup, 16));
            let Read { name, cgroup, whom, chosen, failed } = read;
            return Ok(Some(Self { id: program.id, name, whom, cgroup, path, chosen, failed, program, map }));
        }
        Ok(None)
    }

    /// The variant that it names is on trial until then; 0 for no more.
    pub fn ends(&self, until: u64) -> Result<(), HostError> {
        let mut bytes = self.map.read()?;
        let Some(place) = bytes.get_mut(UNTIL..).and_then(|rest| rest.first_chunk_mut::<8>()) else { return Ok(()) };
        *place = until.to_ne_bytes();
        self.map.write(&bytes).doing(|| format!("could not write rule {}", self.id))
    }

    /// Takes it away: new connections are not looked at any more. False if its control group is not found: it was removed, and
    /// nobody can join it, though the kernel keeps the rule until the last connection of those in it ends.
    pub fn remove(&self) -> Result<bool, HostError> {
        let Some(path) = &self.path else { return Ok(false) };
        let cgroup = File::open(path).doing(|| format!("cannot open {}", path.display()))?;
        self.program.detach(cgroup.as_fd()).doing(|| format!("could not remove rule {}", self.id))?;
        Ok(true)
    }
}

/// The content of a map.
struct Read {
    name: String,
    cgroup: u64,
    whom: Whom,
    chosen: u32,
    failed: u32,
}

impl Read {
    /// None if the program was told nothing yet: bpftool loads it along with the congestion control.
    fn of<'a>(rest: impl Fn(&str) -> Option<&'a [u8]>) -> Option<Self> {
        let word = |path: &str| rest(path)?.get(..4)?.try_into().ok().map(u32::from_ne_bytes);
        let port = rest("port")?.get(..2)?.try_into().ok().map(u16::from_ne_bytes)?;
        let (family, prefix) = (*rest("family")?.first()?, *rest("prefix")?.first()?);
        let address = rest("address")?;
        let dest = match family {
            4 => Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(address.get(..4)?).ok()?))),
            6 => Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address.get(..16)?).ok()?))),
            _ => None,
        };
        let name = bpf::text(rest("name")?.get(..16)?);
        (!name.is_empty()).then_some(())?;
        Some(Self {
            name,
            cgroup: rest("cgroup")?.get(..8)?.try_into().ok().map(u64::from_ne_bytes)?,
            whom: Whom { port: (port > 0).then_some(port), dest: dest.map(|address| Network { address, prefix }) },
            chosen: word("chosen")?,
            failed: word("failed")?,
        })
    }
}

/// The most programs of this kind that a control group takes: `BPF_CGROUP_MAX_PROGS`.
const MOST_RULES: u32 = 64;

/// Why there is no new rule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// This computer has no control groups of version 2.
    #[error("no control groups of version 2 are mounted: mount -t cgroup2 none /sys/fs/cgroup/unified")]
    NotMounted,
    /// The named directory is no control group of version 2.
    #[error("{} is no control group of version 2: those are below {}", path.display(), root.display())]
    NotAGroup {
        /// The named directory.
        path: PathBuf,
        /// Where control groups are.
        root: PathBuf,
    },
    /// The control group has all the programs that it takes, whoever attached them.
    #[error("the kernel takes {MOST_RULES} rules on one control group")]
    Full,
    /// The kernel refused a step.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Has connections of `whom` in a control group, or in all of them, begin with the congestion control of that name. Answers the
/// rule's number.
pub fn add(name: &str, cgroup: Option<&Path>, whom: &Whom, source: &Source) -> Result<u32, AddError> {
    let root = mount().ok_or(AddError::NotMounted)?;
    let path = cgroup.unwrap_or(&root);
    let directory = path.canonicalize().doing(|| format!("there is no control group {}", path.display()))?;
    if !directory.starts_with(&root) {
        return Err(AddError::NotAGroup { path: path.to_owned(), root });
    }
    let cgroup = File::open(&directory).doing(|| format!("cannot open {}", directory.display()))?;
    let number = cgroup.metadata().doing(|| format!("cannot look at {}", directory.display()))?.ino();
    let variants = Variant::all()?;
    let loaded = Loaded::load(&source.object_or_kept(&variants)?, Part::Choose)?;
    let map = Map::of(loaded.map_fd("pcc_rule")?).doing(|| "cannot read the rule's map")?;
    let chosen = variants.into_iter().find(|one| one.is_registered && one.name == name);
    let until = chosen.map_or(Ok(0), |one| one.variables.number("trial.until"))?;
    map.write(&bytes(name, number, whom, until)).doing(|| "could not write the rule")?;
    let program = Program::of(loaded.program_fd(c"pcc_choose")?).doing(|| "cannot read the rule's program")?;
    match program.attach(cgroup.as_fd()) {
        Ok(()) => Ok(program.id),
        Err(error) if error.raw_os_error() == Some(libc::E2BIG) => Err(AddError::Full),
        Err(error) => {
            let what = format!("could not attach the rule to {}", directory.display());
            Err(HostError::Step { what, source: error }.into())
        }
    }
}

/// Where control groups of version 2 are.
pub fn mount() -> Option<PathBuf> {
    mount_in(&fs::read_to_string("/proc/self/mounts").ok()?)
}

fn mount_in(mounts: &str) -> Option<PathBuf> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields
        .into_iter()
        .find(|fields| fields.get(2) == Some(&"cgroup2"))
        .and_then(|fields| fields.get(1).map(PathBuf::from))
}

/// The directory with this number, so deep at the most.
fn find(directory: &Path, number: u64, depth: u32) -> Option<PathBuf> {
    if fs::metadata(directory).ok()?.ino() == number {
        return Some(directory.to_owned());
    }
    if depth == 0 {
        return None;
    }
    let entries = fs::read_dir(directory).ok()?.flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).find_map(|path| find(&path, number, depth - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_back() {
        for written in ["192.0.2.0/24", "2001:db8::/32", "0.0.0.0/0"] {
            assert_eq!(written.parse::<Network>().unwrap().to_string(), written);
        }
        assert_eq!("192.0.2.7".parse::<Network>().unwrap().prefix, 32);
        for wrong in ["192.0.2.0/33", "::/129", "example.org", "192.0.2/24", "1.2.3.4/", "1.2.3.4/x", ""] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_alike() {
        for (network, has, has_not) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("0.0.0.0/0", "203.0.113.1", "::1"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.has(has.parse().unwrap()) && !network.has(has_not.parse().unwrap()), "{network}");
        }
    }

    #[test]
    fn rule_s_bytes_are_as_long_as_kernel_s_structure_and_say_same() {
        let whom = Whom { port: Some(443), dest: Some("2001:db8::/32".parse().unwrap()) };
        let bytes = bytes("pcc_scav", 7, &whom, 9);
        let rest = |path: &str| {
            let places = [
                ("name", offset_of!(Laid, name)),
                ("cgroup", offset_of!(Laid, cgroup)),
                ("port", offset_of!(Laid, port)),
                ("family", offset_of!(Laid, family)),
                ("prefix", offset_of!(Laid, prefix)),
                ("address", offset_of!(Laid, address)),
                ("chosen", offset_of!(Laid, chosen)),
                ("failed", offset_of!(Laid, failed)),
            ];
            places.iter().find(|(name, _)| *name == path).map(|(_, at)| &bytes[*at..])
        };
        let read = Read::of(rest).unwrap();
        assert_eq!((bytes.len(), read.name.as_str(), read.cgroup, read.whom), (size_of::<Laid>(), "pcc_scav", 7, whom));
        assert_eq!(bytes[UNTIL..], 9_u64.to_ne_bytes());
    }

    #[test]
    fn a_program_that_names_no_congestion_control_is_no_rule() {
        assert!(Read::of(|_| Some(&[0; 56])).is_none());
    }

    #[test]
    fn the_control_groups_of_version_2_are_found_among_others() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount_in(mounts), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mount_in("proc /proc proc rw 0 0\n"), None);
    }
}
