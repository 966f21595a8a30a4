//! A budget of one resource: the server's amount of it, and each network's part.

use super::guests::site;
use core::net::IpAddr;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something of which there is so much: requests at a time, or bytes in memory.
///
/// A network holds no more than what is left for all others. One alone gets half; after four that took all they could get a
/// sixteenth is left. All networks of a site together hold no more than three times of what is left, however many they are.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    most: u64,
    held: Arc<Mutex<Held>>,
}

/// Bytes of data that was sent and is not acknowledged, of all connections beyond the least that each may have: two of the
/// largest windows.
pub(super) const MOST_SENT: u64 = 128 << 20;

/// Bytes of uploads that may have come and are not written yet, of all connections whose client has the token: 16 of the
/// largest windows.
pub(super) const MOST_UNWRITTEN: u64 = 1_000_000_000;

#[derive(Debug, Default)]
struct Held {
    all: u64,
    by_network: HashMap<IpAddr, u64>,
    by_site: HashMap<IpAddr, u64>,
}

impl Held {
    /// The share of an amount that a network may take.
    fn room(&mut self, most: u64, network: IpAddr) -> u64 {
        let rest = most.saturating_sub(self.all);
        let [own, in_site] =
            self.of(network).map(|entry| if let Entry::Occupied(held) = entry { *held.get() } else { 0 });
        (rest.saturating_sub(own) / 2).min((3 * rest).saturating_sub(in_site) / 4)
    }

    /// The amounts that the network and its site have.
    fn of(&mut self, network: IpAddr) -> [Entry<'_, IpAddr, u64>; 2] {
        [self.by_network.entry(network), self.by_site.entry(site(network))]
    }

    /// Notes that so much more is held there.
    fn add(&mut self, network: IpAddr, amount: u64) {
        self.all += amount;
        self.of(network).into_iter().for_each(|entry| *entry.or_default() += amount);
    }

    /// Notes that so much less is.
    fn subtract(&mut self, network: IpAddr, amount: u64) {
        self.all -= amount;
        for entry in self.of(network) {
            if let Entry::Occupied(mut own) = entry {
                *own.get_mut() -= amount;
                if *own.get() == 0 {
                    own.remove();
                }
            }
        }
    }
}

/// A share of it, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    network: IpAddr,
    amount: u64,
    budget: Budget,
}

impl Budget {
    pub(super) fn new(most: u64) -> Self {
        Self { most, held: Arc::default() }
    }

    /// Takes this amount for that network; `None` if it has to leave the rest to others.
    pub(super) fn lease(&self, network: IpAddr, amount: u64) -> Option<Lease> {
        let mut lease = self.none(network);
        (lease.grow_to(amount) == amount).then_some(lease)
    }

    /// Nothing yet, for that network.
    pub(super) fn none(&self, network: IpAddr) -> Lease {
        Lease { network, amount: 0, budget: self.clone() }
    }
}

impl Lease {
    /// Takes more until it has `amount`, as far as there is room, and answers how much it has.
    pub(super) fn grow_to(&mut self, amount: u64) -> u64 {
        let mut held = locked(&self.budget.held);
        let more = amount.saturating_sub(self.amount).min(held.room(self.budget.most, self.network));
        held.add(self.network, more);
        self.amount += more;
        self.amount
    }

    /// Gives back what is more than `amount`.
    pub(super) fn shrink(&mut self, amount: u64) {
        let back = self.amount.saturating_sub(amount);
        self.amount -= back;
        let mut held = locked(&self.budget.held);
        held.subtract(self.network, back);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

fn locked(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(budget: &Budget, network: u8) -> Vec<Lease> {
        let network = IpAddr::from([10, 0, 0, network]);
        core::iter::from_fn(|| budget.lease(network, 1)).collect()
    }

    #[test]
    fn each_greedy_network_leaves_half_of_what_it_found() {
        let budget = Budget::new(512);
        let taken: Vec<_> = (0..5).map(|network| all(&budget, network)).collect();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [256, 128, 64, 32, 16]);
    }

    #[test]
    fn a_site_leaves_a_quarter_whatever_networks_it_has() {
        let budget = Budget::new(512);
        let all = |network: &str| {
            let network = network.parse().unwrap();
            core::iter::from_fn(|| budget.lease(network, 1)).collect::<Vec<_>>()
        };
        let taken: Vec<_> = (0..5).map(|n| all(&format!("2001:db8:0:{n}00::"))).collect();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [256, 128, 0, 0, 0]);
        assert_eq!(all("2001:db8:1::").len(), 64, "half of the rest");
    }

    #[test]
    fn what_is_given_back_is_there_for_all() {
        let budget = Budget::new(64);
        drop(all(&budget, 1));
        let mut other = budget.lease(IpAddr::from([10, 0, 0, 2]), 32).unwrap();
        other.shrink(4);
        assert_eq!(all(&budget, 1).len(), 30, "half of the 60 that are left");
        drop(other);
        let held = locked(&budget.held);
        assert!(held.by_network.is_empty() && held.by_site.is_empty() && held.all == 0);
    }

    #[test]
    fn a_lease_grows_as_far_as_there_is_room() {
        let budget = Budget::new(64);
        let mut one = budget.none(IpAddr::from([10, 0, 0, 1]));
        assert_eq!([20, 10, 40].map(|amount| one.grow_to(amount)), [20, 20, 32], "half of it");
        let mut other = budget.none(IpAddr::from([10, 0, 0, 2]));
        assert_eq!(other.grow_to(20), 16, "half of what is left");
        drop(one);
        assert_eq!(other.grow_to(20), 20);
    }

    #[test]
    fn nobody_gets_more_than_there_is() {
        let budget = Budget::new(64);
        assert!(budget.lease(IpAddr::from([10, 0, 0, 1]), 33).is_none());
        assert!(budget.lease(IpAddr::from([10, 0, 0, 1]), 32).is_some());
    }
}
