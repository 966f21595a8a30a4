//! What the server has of one thing, and who holds how much of it.

use core::net::IpAddr;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something of which there is so much: requests at a time, or bytes in memory.
///
/// A network may take more as long as it holds less than what is left for all others. One alone gets half; after four
/// that took all they could get a sixteenth is left.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    most: u64,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    all: u64,
    by_network: HashMap<IpAddr, u64>,
}

/// A share of it, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    network: IpAddr,
    amount: u64,
    held: Arc<Mutex<Held>>,
}

impl Budget {
    pub(super) fn new(most: u64) -> Self {
        Self { most, held: Arc::default() }
    }

    /// So much of it for that network; `None` if it has to leave what there is to others.
    pub(super) fn lease(&self, network: IpAddr, amount: u64) -> Option<Lease> {
        let mut held = locked(&self.held);
        let own = held.by_network.get(&network).copied().unwrap_or(0) + amount;
        if held.all + own > self.most {
            return None;
        }
        held.all += amount;
        held.by_network.insert(network, own);
        Some(Lease { network, amount, held: Arc::clone(&self.held) })
    }
}

impl Lease {
    /// Gives back what is more than `amount`.
    pub(super) fn shrink(&mut self, amount: u64) {
        let back = self.amount.saturating_sub(amount);
        self.amount -= back;
        let mut held = locked(&self.held);
        held.all -= back;
        if let Some(own) = held.by_network.get_mut(&self.network) {
            *own -= back;
            if *own == 0 {
                held.by_network.remove(&self.network);
            }
        }
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
    fn what_is_given_back_is_there_for_all() {
        let budget = Budget::new(64);
        drop(all(&budget, 1));
        let mut other = budget.lease(IpAddr::from([10, 0, 0, 2]), 32).unwrap();
        other.shrink(4);
        assert_eq!(all(&budget, 1).len(), 30, "half of the 60 that are left");
        drop(other);
        assert!(locked(&budget.held).by_network.is_empty() && locked(&budget.held).all == 0);
    }

    #[test]
    fn nobody_gets_more_than_there_is() {
        let budget = Budget::new(64);
        assert!(budget.lease(IpAddr::from([10, 0, 0, 1]), 65).is_none());
        assert!(budget.lease(IpAddr::from([10, 0, 0, 1]), 32).is_some());
    }
}
