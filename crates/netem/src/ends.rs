//! The two ends of the path: an interface in the network that there is, and one in a network namespace that is made.

use crate::host::{Doing, HostError};
use crate::interface::{Interface, default_route, loopback_up};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};
use std::fmt;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::str::FromStr;

/// As of Ethernet.
const MTU: u16 = 1500;
/// What is inside has but one interface.
const INSIDE: &str = "pcc";

/// Both interfaces, and the namespace that the inner one is in.
pub struct Ends {
    /// In the network that there is.
    pub outside: File,
    /// In the one that was made.
    pub inside: File,
    /// The one that was made, for setns(2).
    pub namespace: File,
    /// Their addresses.
    pub place: Place,
    /// The network outside is one of our own, with nothing in it.
    pub alone: bool,
}

/// Which addresses a shell has, of those that are for measuring networks (198.18.0.0/15, RFC 2544 appendix C.2.2): shells
/// beside each other differ by site, which has 1024 of them, shells in each other by level, which has four. The outermost
/// one's network routes its site inwards, so that answers find all levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    site: u8,
    level: u8,
}

const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const SITES: u8 = 128;
/// So many bits of an address say of which site it is.
const SITE: u8 = 22;
/// A route that covers all of [`FIRST`] and more leads elsewhere, and ours goes before it; a longer one is somebody's who
/// has addresses there.
const SHORTEST: u8 = 15;

impl Place {
    /// Tells a shell in a shell where the outer one is.
    pub const VARIABLE: &str = "PCC_SHELL_PLACE";

    fn address(self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(FIRST) + u32::from(self.site) * 1024 + u32::from(self.level) * 4 + number)
    }

    /// The address of the outer interface.
    pub fn outside(self) -> Ipv4Addr {
        self.address(1)
    }

    fn inside(self) -> Ipv4Addr {
        self.address(2)
    }

    fn interface(self) -> String {
        format!("pcc{}-{}", self.site, self.level)
    }

    /// Those to try, in a shell at `within`, or in none, where others may have such addresses.
    fn candidates(within: Option<Self>, routes: &str) -> Vec<Self> {
        let routes = foreign(routes);
        let is_free = |place: &Self| {
            let site = u32::from(place.address(0));
            routes.iter().all(|(to, bits)| (site ^ to) >> (32 - SITE.min(*bits)) != 0)
        };
        match within {
            None => (0..SITES).map(|site| Self { site, level: 0 }).filter(is_free).collect(),
            Some(Self { site, level }) => (level..u8::MAX).map(|level| Self { site, level: level + 1 }).collect(),
        }
    }
}

/// Destinations of the kernel's routes, and how many of their bits count, as far as they are not on the way to everywhere.
/// `table` is /proc/net/route (proc_net(5)): numbers in hexadecimal, in the processor's order of bytes.
fn foreign(table: &str) -> Vec<(u32, u8)> {
    let route = |line: &str| {
        let number = |place| u32::from_str_radix(line.split_whitespace().nth(place)?, 16).ok().map(u32::from_be);
        Some((number(1)?, u8::try_from(number(7)?.count_ones()).ok()?))
    };
    table.lines().skip(1).filter_map(route).filter(|(_, bits)| *bits >= SHORTEST).collect()
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
    pub fn make() -> Result<Self, HostError> {
        let within = std::env::var(Place::VARIABLE).ok().and_then(|written| written.parse().ok());
        match Self::in_this_network(within) {
            Err(error) if is_forbidden(&error) => {
                let own = own_network().and_then(|()| Self::in_this_network(None));
                own.map(|ends| Self { alone: true, ..ends }).map_err(|error| no_rights(&error))
            }
            made => made,
        }
    }

    fn in_this_network(within: Option<Place>) -> Result<Self, HostError> {
        // First what needs the most rights, so that nothing is left behind.
        let (namespace, inside) = spawn_namespace(None)?;
        drop((namespace, inside));
        let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
        for place in Place::candidates(within, &routes) {
            let name = place.interface();
            let outside = match (Interface { name: &name, address: place.outside(), prefix: SITE, mtu: MTU }).up() {
                Err(error) if error.errno().map(Errno::from_raw) == Some(Errno::EBUSY) => continue,
                made => made?,
            };
            let (namespace, inside) = spawn_namespace(Some(place))?;
            let inside = inside.doing("the inner interface is missing")?;
            return Ok(Self { outside, inside, namespace, place, alone: false });
        }
        Err(HostError::new(format!(
            "all {SITES} networks for shells are in use, or this computer's routes have 198.18.0.0/15 for others"
        )))
    }
}

/// A network namespace, with an interface for that place if there is one. A namespace is a thread's: this one ends when all
/// is made in it.
fn spawn_namespace(place: Option<Place>) -> Result<(File, Option<File>), HostError> {
    let make = move || -> Result<_, HostError> {
        unshare(CloneFlags::CLONE_NEWNET).doing("no network namespace")?;
        let namespace = File::open("/proc/thread-self/ns/net").doing("no network namespace")?;
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
    let made = std::thread::Builder::new().name("shell".to_owned()).spawn(make).doing("no thread")?;
    made.join().map_err(|_| HostError::new("the thread that makes a network failed"))?
}

/// Moves this process into a user namespace, in which it is root, and into a network of that.
fn own_network() -> Result<(), HostError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).doing("no user namespace")?;
    let map = |file: &str, text: String| fs::write(file, text).doing(format!("could not write {file}"));
    // Groups could be left otherwise, and with them what they are denied (user_namespaces(7)).
    map("/proc/self/setgroups", "deny".into())?;
    map("/proc/self/uid_map", format!("0 {user} 1"))?;
    map("/proc/self/gid_map", format!("0 {group} 1"))?;
    loopback_up()
}

fn is_forbidden(error: &HostError) -> bool {
    matches!(error.errno().map(Errno::from_raw), Some(Errno::EPERM | Errno::EACCES))
}

/// Why there is no network namespace to be had.
fn no_rights(error: &HostError) -> HostError {
    HostError::new(format!(
        "{}; it takes root (CAP_SYS_ADMIN and CAP_NET_ADMIN), or a system that lets everybody make user namespaces: see \
         `sysctl kernel.unprivileged_userns_clone` (1), `user.max_user_namespaces` (above 0) and \
         `kernel.apparmor_restrict_unprivileged_userns` (0), and /dev/net/tun; `pcc emulate` needs no rights, for UDP",
        error.full()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_back_and_lie_within_each_other() {
        let outer = Place { site: 3, level: 0 };
        assert_eq!(outer.to_string().parse(), Ok(outer));
        assert_eq!((outer.outside().to_string(), outer.interface().len() < 16), ("198.18.12.1".into(), true));
        let inner = Place::candidates(Some(outer), "")[0];
        assert_eq!((inner, inner.inside().to_string()), (Place { site: 3, level: 1 }, "198.18.12.6".into()));
        assert_eq!(Place::candidates(None, "").len(), 128);
        assert!(Place::candidates(Some(Place { site: 0, level: 255 }), "").is_empty());
        let last = Place { site: 127, level: 255 };
        assert_eq!((last.interface().as_str(), last.inside().to_string().as_str()), ("pcc127-255", "198.19.255.254"));
        for wrong in ["", "1", "128.0", "x.y", "1.256"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_that_somebody_else_has_are_left_to_them() {
        let hex = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let route = |to, mask| format!("tun0\t{}\t{}\t0001\t0\t0\t0\t{}\t0\t0\t0\n", hex(to), hex([0; 4]), hex(mask));
        let free = |routes: &[String]| {
            let table = format!("Iface\tDestination\tGateway\tFlags\n{}", routes.concat());
            let places = Place::candidates(None, &table);
            (places.len(), places.first().map(|place| place.site))
        };
        // The way to everywhere, as a default, as a VPN's two halves, and as one around our range.
        let elsewhere = [([0; 4], [0; 4]), ([128, 0, 0, 0], [128, 0, 0, 0]), ([198, 0, 0, 0], [255, 0, 0, 0])];
        assert_eq!(free(&elsewhere.map(|(to, mask)| route(to, mask))), (128, Some(0)));
        assert_eq!(free(&[route([100, 64, 0, 0], [255, 192, 0, 0])]), (128, Some(0)));
        assert_eq!(free(&[route([198, 18, 0, 0], [255, 255, 0, 0])]), (64, Some(64)), "a proxy's 198.18.0.1/16");
        assert_eq!(free(&[route([198, 18, 0, 7], [255; 4])]), (127, Some(1)), "one address of the first site");
        assert_eq!(free(&[route([198, 18, 0, 0], [255, 254, 0, 0])]), (0, None));
    }
}
