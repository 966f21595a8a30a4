//! How many may be connected, and how much memory each may use.

use pcc_quic::transport::Windows;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The book of who is connected.
#[derive(Clone, Debug)]
pub(crate) struct Guests {
    most: usize,
    most_of_one: usize,
    present: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// Connections that get windows for the fastest paths. Sixteen of them may hold 1 GB; all others together, at 1/16 of a
/// window each, about as much again.
const FIRST_CLASS: usize = 16;

/// One connection's place in the book; dropping it frees the place.
#[derive(Debug)]
pub(super) struct Guest {
    network: IpAddr,
    first_class: bool,
    book: Guests,
}

impl Guests {
    /// At most `most` connections, and of them `most_of_one` from one address (IPv6: one /64 network).
    pub(crate) fn new(most: usize, most_of_one: usize) -> Self {
        Self { most, most_of_one, present: Arc::default() }
    }

    /// Whether it is time to be careful.
    pub(super) fn is_crowded(&self) -> bool {
        2 * self.count() >= self.most
    }

    fn count(&self) -> usize {
        self.present.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// Lets a connection in; `None` if there is no place for it.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Guest> {
        let network = network(address);
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let count: usize = present.values().sum();
        let of_one = present.get(&network).copied().unwrap_or(0);
        if count >= self.most || of_one >= self.most_of_one {
            return None;
        }
        present.insert(network, of_one + 1);
        Some(Guest { network, first_class: count < FIRST_CLASS, book: self.clone() })
    }
}

impl Guest {
    /// The windows the server can afford for it.
    pub(super) fn windows(&self) -> Windows {
        let full = Windows::default();
        if self.first_class { full } else { Windows { rate: full.rate * (1.0 / 16.0), ..full } }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut present = self.book.present.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = present.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                present.remove(&self.network);
            }
        }
    }
}

/// What one user can hold many addresses of: an IPv6 /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn no_more_enter_than_there_are_places() {
        let guests = Guests::new(3, 2);
        let first = guests.enter(address("10.0.0.1")).unwrap();
        let _second = guests.enter(address("10.0.0.1")).unwrap();
        assert!(guests.enter(address("10.0.0.1")).is_none(), "two of one address");
        assert!(guests.is_crowded());
        let _third = guests.enter(address("10.0.0.2")).unwrap();
        assert!(guests.enter(address("10.0.0.3")).is_none(), "three in all");
        drop(first);
        assert!(guests.enter(address("10.0.0.1")).is_some(), "a place is free again");
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let guests = Guests::new(10, 1);
        let _guest = guests.enter(address("2001:db8::1")).unwrap();
        assert!(guests.enter(address("2001:db8::2")).is_none());
        assert!(guests.enter(address("2001:db8:0:1::2")).is_some());
        let _mapped = guests.enter(address("::ffff:10.0.0.1")).unwrap();
        assert!(guests.enter(address("10.0.0.1")).is_none(), "the same IPv4 address");
    }

    #[test]
    fn the_memory_of_all_connections_is_bounded() {
        let guests = Guests::new(256, 256);
        let present: Vec<_> = (0..256).map(|_| guests.enter(address("10.0.0.1")).unwrap()).collect();
        let total: u64 = present.iter().map(|guest| guest.windows().bytes().get()).sum();
        assert!(total < 2 << 30, "{total} bytes");
        assert_eq!(present[0].windows(), Windows::default());
    }
}
