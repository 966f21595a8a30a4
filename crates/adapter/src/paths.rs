//! Keeps connections' knowledge of the paths to their peers for the next ones (RFC 9959, Careful Resume).

use core::fmt;
use core::net::IpAddr;
use core::time::Duration;
use pcc::PathMemory;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Keeps what connections learn of their paths.
///
/// It is asked once for each path of a connection, and told once a second and when the connection ends.
pub trait PathStore: fmt::Debug + Send + Sync {
    /// The knowledge of the path to this address, if it is still of use.
    fn recall(&self, peer: IpAddr) -> Option<PathMemory>;

    /// A connection to this address has learnt this.
    fn keep(&self, peer: IpAddr, learnt: PathMemory);
}

/// The peer of a connection, and the store that its path is kept in: an adapter's configuration has one.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The peer's address.
    pub address: IpAddr,
    /// Where its path is kept.
    pub store: Arc<dyn PathStore>,
}

impl Peer {
    /// The knowledge of its path, if it is of use.
    pub fn recall(&self) -> Option<PathMemory> {
        self.store.recall(self.address)
    }

    /// A connection to it has learnt this.
    pub fn keep(&self, learnt: PathMemory) {
        self.store.keep(self.address, learnt);
    }
}

/// How often a connection tells the store of its path: its end is known only some probe time-outs after the last byte, when
/// the next connection may run already.
pub const KEEPING: Duration = Duration::from_secs(1);

/// Most addresses that [`RecentPaths`] keeps: some 100 kB.
const MOST_ADDRESSES: usize = 1024;

/// Older knowledge is not used: the capacity of a path that people share changes with the time of day.
const LIFETIME: Duration = Duration::from_secs(3600);

/// The paths of the last hour, to at most 1024 addresses, in memory.
///
/// A path is that to one address (RFC 9959 §3.1): its neighbours may have other lines, and none of them decides how fast the others'
/// transfers begin.
#[derive(Debug, Default)]
pub struct RecentPaths(Mutex<BTreeMap<IpAddr, KnownPath>>);

/// A path, and when it was learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownPath {
    /// The knowledge of the path.
    pub memory: PathMemory,
    /// When.
    pub at: SystemTime,
}

impl KnownPath {
    fn is_of_use(&self, now: SystemTime) -> bool {
        // An entry of the future was written by another clock.
        now.duration_since(self.at).is_ok_and(|age| age < LIFETIME)
    }
}

impl RecentPaths {
    /// With these to begin with, as [`RecentPaths::all`] told them.
    pub fn with(known: impl IntoIterator<Item = (IpAddr, KnownPath)>) -> Self {
        let paths = Self::default();
        for (address, path) in known {
            paths.insert(address, path);
        }
        paths
    }

    /// All that are kept.
    pub fn all(&self) -> Vec<(IpAddr, KnownPath)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(address, path)| (*address, *path)).collect()
    }

    /// An IPv4 address that is mapped into IPv6 is an IPv4 address.
    fn insert(&self, address: IpAddr, path: KnownPath) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(address.to_canonical(), path);
        if all.len() > MOST_ADDRESSES {
            let oldest = all.iter().min_by_key(|(_, path)| path.at).map(|(address, _)| *address);
            oldest.and_then(|address| all.remove(&address));
        }
    }
}

impl PathStore for RecentPaths {
    fn recall(&self, peer: IpAddr) -> Option<PathMemory> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&peer.to_canonical()).filter(|path| path.is_of_use(SystemTime::now())).map(|path| path.memory)
    }

    fn keep(&self, peer: IpAddr, learnt: PathMemory) {
        self.insert(peer, KnownPath { memory: learnt, at: SystemTime::now() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::units::Rate;

    fn memory(mbit: f64) -> PathMemory {
        PathMemory { rate: Rate::from_mbit(mbit), base_rtt: Duration::from_millis(30) }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_path_is_known_by_its_address_and_not_by_a_neighbour_s() {
        let paths = RecentPaths::default();
        paths.keep(address("192.0.2.7"), memory(50.0));
        paths.keep(address("2001:db8:1:2300::1"), memory(20.0));
        for (peer, mbit) in [
            ("192.0.2.7", Some(50.0)),
            ("::ffff:192.0.2.7", Some(50.0)),
            ("192.0.2.200", None),
            ("2001:db8:1:2300::1", Some(20.0)),
            ("2001:db8:1:2300::2", None),
        ] {
            assert_eq!(paths.recall(address(peer)), mbit.map(memory), "{peer}");
        }
    }

    #[test]
    fn an_hour_later_and_from_the_future_nothing_is_known() {
        let now = SystemTime::now();
        for (at, is_known) in [
            (now - Duration::from_secs(3500), true),
            (now - Duration::from_secs(3700), false),
            (now + Duration::from_secs(60), false),
        ] {
            let known = (address("192.0.2.7"), KnownPath { memory: memory(1.0), at });
            assert_eq!(RecentPaths::with([known]).recall(address("192.0.2.7")).is_some(), is_known, "{at:?}");
        }
    }

    #[test]
    fn of_too_many_addresses_the_oldest_is_forgotten() {
        let now = SystemTime::now();
        let of = |number: u32| IpAddr::V4(number.into());
        let known = (1..=1025).map(|number| {
            let age = Duration::from_secs(u64::from(1025 - number));
            (of(number), KnownPath { memory: memory(1.0), at: now - age })
        });
        let paths = RecentPaths::with(known);
        assert_eq!(paths.all().len(), 1024);
        assert!(paths.recall(of(1)).is_none() && paths.recall(of(2)).is_some());
    }
}
