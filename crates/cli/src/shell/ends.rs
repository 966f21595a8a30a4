//! The two ends of the path: an interface in the network that there is, and one in a network namespace that is made.

use super::no_rights;
use crate::tun::{Interface, default_route, loopback_up};
use anyhow::{Context, anyhow};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};
use std::fmt;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::str::FromStr;

/// Tells a shell in a shell where the outer one is.
pub(super) const PLACE: &str = "PCC_SHELL_PLACE";

/// As of Ethernet.
const MTU: u16 = 1500;
/// What is inside has but one interface.
const INSIDE: &str = "pcc";

/// Both interfaces, and the namespace that the inner one is in.
pub(super) struct Ends {
    pub(super) outside: File,
    pub(super) inside: File,
    pub(super) namespace: File,
    pub(super) place: Place,
    /// The network outside is one of our own, with nothing in it.
    pub(super) alone: bool,
}

/// Which addresses a shell has: 100.(64 + site).level.1 outside and .2 inside, of those that are for no network in
/// particular (RFC 6598). Shells beside each other differ by site, shells in each other by level. The outermost one's
/// network routes its site's 65536 addresses inwards, so that answers find all levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    site: u8,
    level: u8,
}

/// RFC 6598 has 2²² addresses.
const SITES: u8 = 64;

impl Place {
    pub(super) const fn outside(self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64 + self.site, self.level, 1)
    }

    const fn inside(self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64 + self.site, self.level, 2)
    }

    fn interface(self) -> String {
        format!("pcc{}-{}", self.site, self.level)
    }

    /// Those to try, in a shell at `within` or in none.
    fn candidates(within: Option<Self>) -> Vec<Self> {
        match within {
            None => (0..SITES).map(|site| Self { site, level: 0 }).collect(),
            Some(Self { site, level }) => (level..u8::MAX).map(|level| Self { site, level: level + 1 }).collect(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.site, self.level)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(written: &str) -> Result<Self, ()> {
        let (site, level) = written.split_once('.').ok_or(())?;
        let (site, level) = (site.parse().map_err(drop)?, level.parse().map_err(drop)?);
        if site < SITES { Ok(Self { site, level }) } else { Err(()) }
    }
}

impl Ends {
    /// Makes them: in the network that there is, if that is allowed, else in one of our own. This process must have no
    /// other thread.
    pub(super) fn make() -> anyhow::Result<Self> {
        let within = std::env::var(PLACE).ok().and_then(|written| written.parse().ok());
        match Self::in_this_network(within) {
            Err(error) if is_forbidden(&error) => {
                let own = own_network().and_then(|()| Self::in_this_network(None));
                own.map(|ends| Self { alone: true, ..ends }).map_err(|error| no_rights(&error))
            }
            made => made,
        }
    }

    fn in_this_network(within: Option<Place>) -> anyhow::Result<Self> {
        // First what needs the most rights, so that nothing is left behind.
        let (namespace, inside) = spawn_namespace(None)?;
        drop((namespace, inside));
        for place in Place::candidates(within) {
            let name = place.interface();
            let prefix = 16;
            let outside = match (Interface { name: &name, address: place.outside(), prefix, mtu: MTU }).up() {
                Err(error) if errno(&error) == Some(Errno::EBUSY) => continue,
                made => made?,
            };
            let (namespace, inside) = spawn_namespace(Some(place))?;
            let inside = inside.context("the inner interface is missing")?;
            return Ok(Self { outside, inside, namespace, place, alone: false });
        }
        Err(anyhow!("all {SITES} networks for shells are in use"))
    }
}

/// A network namespace, with an interface for that place if there is one. A namespace is a thread's: this one ends when all
/// is made in it.
fn spawn_namespace(place: Option<Place>) -> anyhow::Result<(File, Option<File>)> {
    let make = move || -> anyhow::Result<_> {
        unshare(CloneFlags::CLONE_NEWNET).context("no network namespace")?;
        let namespace = File::open("/proc/thread-self/ns/net").context("no network namespace")?;
        let Some(place) = place else { return Ok((namespace, None)) };
        loopback_up()?;
        let inside = Interface { name: INSIDE, address: place.inside(), prefix: 30, mtu: MTU }.up()?;
        default_route(INSIDE)?;
        // For a shell in this one, whose packets pass here.
        if let Err(error) = fs::write("/proc/sys/net/ipv4/ip_forward", "1") {
            tracing::debug!(%error, "a shell in this one will reach nobody");
        }
        Ok((namespace, Some(inside)))
    };
    let made = std::thread::Builder::new().name("shell".to_owned()).spawn(make).context("no thread")?;
    made.join().map_err(|_| anyhow!("the thread that makes a network failed"))?
}

/// Moves this process into a user namespace, in which it is root, and into a network of that.
fn own_network() -> anyhow::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).context("no user namespace")?;
    let map = |file: &str, text: String| fs::write(file, text).with_context(|| format!("could not write {file}"));
    // Groups could be left otherwise, and with them what they are denied (user_namespaces(7)).
    map("/proc/self/setgroups", "deny".into())?;
    map("/proc/self/uid_map", format!("0 {user} 1"))?;
    map("/proc/self/gid_map", format!("0 {group} 1"))?;
    loopback_up()
}

fn errno(error: &anyhow::Error) -> Option<Errno> {
    error.chain().find_map(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error).map(Errno::from_raw);
        io.or_else(|| cause.downcast_ref::<Errno>().copied())
    })
}

fn is_forbidden(error: &anyhow::Error) -> bool {
    matches!(errno(error), Some(Errno::EPERM | Errno::EACCES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_back_and_lie_within_each_other() {
        let outer = Place { site: 3, level: 0 };
        assert_eq!(outer.to_string().parse(), Ok(outer));
        assert_eq!((outer.outside().to_string(), outer.interface().len() < 16), ("100.67.0.1".into(), true));
        let inner = Place::candidates(Some(outer))[0];
        assert_eq!(inner, Place { site: 3, level: 1 });
        assert_eq!(Place::candidates(None).len(), 64);
        assert!(Place::candidates(Some(Place { site: 0, level: 255 })).is_empty());
        for wrong in ["", "1", "64.0", "x.y", "1.256"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
