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
/// It is asked once for each connection, and told once a second and when the connection ends.
pub trait PathStore: fmt::Debug + Send + Sync {
    /// The knowledge of the path to this address, if it is still of use.
    fn recall(&self, peer: IpAddr) -> Option<PathMemory>;

    /// A connection to this address has learnt this.
    fn keep(&self, peer: IpAddr, learnt: PathMemory);
}

/// The peer of a connection, and the store that its path is kept in: [`PccConfig::peer`](crate::PccConfig::peer).
#[derive(Clone, Debug)]
pub struct Peer {
    /// The peer's address.
    pub address: IpAddr,
    /// Where its path is kept.
    pub store: Arc<dyn PathStore>,
}

/// The part of an address that names a network: the first 24 bits of an IPv4 address, 56 of an IPv6 address.
///
/// Hosts of one access network mostly share the bottleneck, and 56 bits are what a site gets (RFC 6177). An RTT that does not
/// fit tells the others apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(IpAddr);

impl Network {
    /// The network of this address. An IPv4 address that is mapped into IPv6 is an IPv4 address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4((address.to_bits() & !0xff).into()),
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !((1 << 72) - 1)).into()),
        })
    }

    /// Its first address.
    pub const fn address(&self) -> IpAddr {
        self.0
    }
}

/// Most networks that [`RecentPaths`] keeps: some 100 kB.
const MOST_NETWORKS: usize = 1024;

/// Older knowledge is not used: the capacity of a path that people share changes with the time of day.
const LIFETIME: Duration = Duration::from_secs(3600);

/// The paths of the last hour, at most 1024 networks, in memory.
#[derive(Debug, Default)]
pub struct RecentPaths(Mutex<BTreeMap<Network, KnownPath>>);

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
    pub fn with(known: impl IntoIterator<Item = (Network, KnownPath)>) -> Self {
        let paths = Self::default();
        for (network, path) in known {
            paths.insert(network, path);
        }
        paths
    }

    /// All that are kept.
    pub fn all(&self) -> Vec<(Network, KnownPath)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(network, path)| (*network, *path)).collect()
    }

    fn insert(&self, network: Network, path: KnownPath) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(network, path);
        if all.len() > MOST_NETWORKS {
            let oldest = all.iter().min_by_key(|(_, path)| path.at).map(|(network, _)| *network);
            oldest.and_then(|network| all.remove(&network));
        }
    }
}

impl PathStore for RecentPaths {
    fn recall(&self, peer: IpAddr) -> Option<PathMemory> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&Network::of(peer)).filter(|path| path.is_of_use(SystemTime::now())).map(|path| path.memory)
    }

    fn keep(&self, peer: IpAddr, learnt: PathMemory) {
        self.insert(Network::of(peer), KnownPath { memory: learnt, at: SystemTime::now() });
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
    fn a_path_is_known_by_its_network() {
        let paths = RecentPaths::default();
        paths.keep(address("192.0.2.7"), memory(50.0));
        paths.keep(address("2001:db8:1:2300::1"), memory(20.0));
        for (peer, mbit) in [
            ("192.0.2.200", Some(50.0)),
            ("::ffff:192.0.2.1", Some(50.0)),
            ("192.0.3.7", None),
            ("2001:db8:1:23ff::2", Some(20.0)),
            ("2001:db8:1:2400::1", None),
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
            let known = (Network::of(address("192.0.2.7")), KnownPath { memory: memory(1.0), at });
            assert_eq!(RecentPaths::with([known]).recall(address("192.0.2.7")).is_some(), is_known, "{at:?}");
        }
    }

    #[test]
    fn of_too_many_networks_the_oldest_is_forgotten() {
        let now = SystemTime::now();
        let of = |number: u32| Network::of(IpAddr::V4((number << 8).into()));
        let known = (1..=1025).map(|number| {
            let age = Duration::from_secs(u64::from(1025 - number));
            (of(number), KnownPath { memory: memory(1.0), at: now - age })
        });
        let paths = RecentPaths::with(known);
        assert_eq!(paths.all().len(), 1024);
        assert!(paths.recall(of(1).address()).is_none() && paths.recall(of(2).address()).is_some());
    }
}
