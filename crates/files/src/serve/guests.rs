//! Admission of connections: how many there may be, and which one goes when others wait.

use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The book of who is connected.
#[derive(Clone, Debug)]
pub struct Guests {
    most: usize,
    most_of_one: usize,
    book: Arc<Mutex<Book>>,
}

/// Handshakes under way with clients that have not shown yet that their address is theirs. Further ones are asked to,
/// which costs them a round trip (RFC 9000 §8.1.2). Until then they count for nobody: else whoever forges addresses could
/// fill the places of others.
const STRANGERS: usize = 16;

/// A connection that has asked for nothing for so long goes when another wants its place.
const RESTED: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct Book {
    number: u64,
    present: HashMap<u64, Present>,
}

#[derive(Debug)]
struct Present {
    network: IpAddr,
    /// Whether the address is known to be theirs.
    proven: bool,
    /// `None` while a request is under way.
    resting_since: Option<Instant>,
    leave: Arc<Notify>,
}

/// The answer to somebody at the door.
#[derive(Debug)]
pub(super) enum Admission {
    Welcome(Guest),
    /// First they must show that their address is theirs.
    Unproven,
    Full,
}

/// One connection's place in the book; dropping it frees the place.
#[derive(Debug)]
pub(super) struct Guest {
    number: u64,
    leave: Arc<Notify>,
    guests: Guests,
}

impl Guests {
    /// At most `most` connections, and of them `most_of_one` from one address (IPv6: one /56 network).
    pub fn new(most: usize, most_of_one: usize) -> Self {
        Self { most, most_of_one, book: Arc::default() }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers somebody at the door, who has `proven` that the address is theirs, or not.
    pub(super) fn enter(&self, address: IpAddr, proven: bool) -> Admission {
        let network = network(address);
        let mut book = self.book();
        let strangers = book.present.values().filter(|present| !present.proven).count();
        let known = book.present.len() - strangers;
        if !proven && (strangers >= STRANGERS || 2 * known >= self.most) {
            return Admission::Unproven;
        }
        if proven && !book.has_room(self, network) {
            return Admission::Full;
        }
        let (number, leave) = (book.number, Arc::new(Notify::new()));
        book.number += 1;
        let present = Present { network, proven, resting_since: proven.then(Instant::now), leave: leave.clone() };
        book.present.insert(number, present);
        Admission::Welcome(Guest { number, leave, guests: self.clone() })
    }
}

impl Book {
    /// Whether one more of that network fits in; makes room for it if somebody can go.
    fn has_room(&mut self, guests: &Guests, network: IpAddr) -> bool {
        let known = || self.present.values().filter(|present| present.proven);
        let of_one = known().filter(|present| present.network == network).count();
        let all = known().count();
        if of_one < guests.most_of_one && all < guests.most {
            return true;
        }
        let in_the_way = |present: &Present| of_one < guests.most_of_one || present.network == network;
        let rested = self
            .present
            .iter()
            .filter(|(_, present)| present.proven && in_the_way(present))
            .filter_map(|(number, present)| Some((present.resting_since?, *number)))
            .filter(|(since, _)| since.elapsed() >= RESTED);
        let rested = rested.min().map(|(_, number)| number);
        let Some(number) = rested.or_else(|| (of_one < guests.most_of_one).then(|| self.of_the_largest(network))?)
        else {
            return false;
        };
        if let Some(present) = self.present.remove(&number) {
            present.leave.notify_one();
        }
        true
    }
}

impl Book {
    /// Whose place a newcomer gets. Of the site with most connections, if it has so many more than the newcomer's that it is not its
    /// turn next, or else of the newcomer's own, the networks with most: the connection that rests longest, or else the newest.
    fn of_the_largest(&self, newcomer: IpAddr) -> Option<u64> {
        let known = || self.present.iter().filter(|(_, present)| present.proven);
        let sites = counted(known().map(|(_, present)| site(present.network)));
        let networks = counted(known().map(|(_, present)| present.network));
        let count = |counts: &HashMap<IpAddr, usize>, group| counts.get(&group).copied().unwrap_or(0);
        let own = site(newcomer);
        let largest = sites.keys().copied().max_by_key(|site| (count(&sites, *site), *site))?;
        let crowded = if count(&sites, largest) >= count(&sites, own) + 2 { largest } else { own };
        let within = || known().filter(|(_, present)| site(present.network) == crowded);
        let most = within().map(|(_, present)| count(&networks, present.network)).max()?;
        if crowded == own && most < count(&networks, newcomer) + 2 {
            return None;
        }
        let order = |(number, present): &(&u64, &Present)| {
            (present.resting_since.is_none(), present.resting_since, core::cmp::Reverse(**number))
        };
        let of_largest = within().filter(|(_, present)| count(&networks, present.network) == most);
        of_largest.min_by_key(order).map(|(number, _)| *number)
    }
}

fn counted(groups: impl Iterator<Item = IpAddr>) -> HashMap<IpAddr, usize> {
    let mut counts = HashMap::new();
    groups.for_each(|group| *counts.entry(group).or_default() += 1);
    counts
}

impl Guest {
    /// Notes that the address is theirs, since the handshake came to its end; `false` if there is no place for them.
    #[must_use]
    pub(super) fn arrive(&self) -> bool {
        let mut book = self.guests.book();
        let Some(present) = book.present.remove(&self.number) else { return false };
        if !present.proven && !book.has_room(&self.guests, present.network) {
            return false;
        }
        let present = Present { proven: true, resting_since: Some(Instant::now()), ..present };
        book.present.insert(self.number, present);
        true
    }

    /// A request is under way.
    pub(super) fn works(&self) {
        self.rest_since(None);
    }

    /// None is.
    pub(super) fn rests(&self) {
        self.rest_since(Some(Instant::now()));
    }

    fn rest_since(&self, since: Option<Instant>) {
        if let Some(present) = self.guests.book().present.get_mut(&self.number) {
            present.resting_since = since;
        }
    }

    /// Ends when somebody else got the place.
    pub(super) async fn must_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.guests.book().present.remove(&self.number);
    }
}

/// An IPv6 /56, in which one user can hold many addresses.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 72 << 72).into(),
        v4 => v4,
    }
}

/// An IPv6 /48, in which one organisation can hold many networks.
pub(super) fn site(network: IpAddr) -> IpAddr {
    match network {
        IpAddr::V6(network) => Ipv6Addr::from_bits(network.to_bits() >> 80 << 80).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, timeout};

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Lets in a client that has shown its address.
    fn enter(guests: &Guests, text: &str) -> Option<Guest> {
        match guests.enter(address(text), true) {
            Admission::Welcome(guest) => Some(guest),
            Admission::Full => None,
            Admission::Unproven => panic!("it has"),
        }
    }

    async fn has_left(guest: &Guest) -> bool {
        timeout(Duration::ZERO, guest.must_leave()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_enter_than_there_are_places() {
        let guests = Guests::new(3, 2);
        let first = enter(&guests, "10.0.0.1").unwrap();
        let _second = enter(&guests, "10.0.0.1").unwrap();
        assert!(enter(&guests, "10.0.0.1").is_none(), "two of one address");
        let _third = enter(&guests, "10.0.0.2").unwrap();
        assert!(enter(&guests, "10.0.0.2").is_none(), "three in all");
        drop(first);
        assert!(enter(&guests, "10.0.0.2").is_some(), "a place is free again");
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_of_one_network_count_together() {
        let guests = Guests::new(10, 1);
        let _guest = enter(&guests, "2001:db8::1").unwrap();
        assert!(enter(&guests, "2001:db8::2").is_none());
        assert!(enter(&guests, "2001:db8:0:ff::2").is_none(), "the same /56");
        assert!(enter(&guests, "2001:db8:0:100::2").is_some());
        let _mapped = enter(&guests, "::ffff:10.0.0.1").unwrap();
        assert!(enter(&guests, "10.0.0.1").is_none(), "the same IPv4 address");
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_for_nothing_goes_when_others_wait_the_longest_first() {
        let guests = Guests::new(3, 3);
        let working = enter(&guests, "10.0.0.1").unwrap();
        working.works();
        let longest = enter(&guests, "10.0.0.2").unwrap();
        advance(Duration::from_secs(1)).await;
        let second = enter(&guests, "10.0.0.3").unwrap();
        assert!(enter(&guests, "10.0.0.4").is_none(), "nobody has rested for long");
        advance(RESTED).await;
        let fourth = enter(&guests, "10.0.0.4").unwrap();
        assert!(has_left(&longest).await && !has_left(&second).await && !has_left(&working).await);
        drop(longest);
        let _fifth = enter(&guests, "10.0.0.5").unwrap();
        assert!(has_left(&second).await && !has_left(&fourth).await && !has_left(&working).await);
        assert!(enter(&guests, "10.0.0.6").is_none(), "those who came lately stay");
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_server_takes_a_place_from_who_has_most() {
        let guests = Guests::new(4, 4);
        let many = [(); 3].map(|()| enter(&guests, "10.0.0.1").unwrap());
        many.iter().for_each(Guest::works);
        let one = enter(&guests, "10.0.0.2").unwrap();
        one.works();
        assert!(enter(&guests, "10.0.0.1").is_none(), "they have enough");
        let new = [3, 4].map(|last| enter(&guests, &format!("10.0.0.{last}")).expect("there is a place"));
        assert!(has_left(&many[2]).await && has_left(&many[1]).await, "the newest of who has most");
        assert!(!has_left(&many[0]).await && !has_left(&one).await && !has_left(&new[0]).await);
        assert!(enter(&guests, "10.0.0.5").is_none(), "each has one");
    }

    #[tokio::test(start_paused = true)]
    async fn a_site_with_many_networks_gives_way_to_others() {
        let guests = Guests::new(4, 4);
        let many: Vec<_> = (0..4).map(|n| enter(&guests, &format!("2001:db8:0:{n}00::1")).unwrap()).collect();
        many.iter().for_each(Guest::works);
        assert!(enter(&guests, "2001:db8:0:400::1").is_none(), "they have enough");
        let other = enter(&guests, "2001:db8:1::1").expect("there is a place");
        assert!(has_left(&many[3]).await && !has_left(&many[0]).await && !has_left(&other).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_site_with_most_places_takes_none_of_others() {
        let guests = Guests::new(12, 4);
        let working = |address: &str| {
            let guest = enter(&guests, address).expect("a place");
            guest.works();
            guest
        };
        let office = [(); 3].map(|()| working("2001:db8:2::1"));
        let many: Vec<_> = (0..9).map(|n| working(&format!("2001:db8:1:{n}00::1"))).collect();
        assert!(enter(&guests, "2001:db8:1:900::1").is_none(), "a network of a site that has most");
        let _other = working("2001:db8:3::1");
        assert!(has_left(&many[8]).await, "the largest site makes room");
        for guest in &office {
            assert!(!has_left(guest).await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_takes_from_a_larger_one_of_its_site() {
        let guests = Guests::new(6, 6);
        let large = [(); 3].map(|()| enter(&guests, "2001:db8:1::1").unwrap());
        let others = [(); 3].map(|()| enter(&guests, "2001:db8:2::1").unwrap());
        large.iter().chain(&others).for_each(Guest::works);
        let _new = enter(&guests, "2001:db8:1:100::1").expect("a place of its neighbours'");
        assert!(has_left(&large[2]).await && !has_left(&others[2]).await);
        assert!(enter(&guests, "2001:db8:1:100::1").is_none(), "two and one");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_has_too_many_makes_room_for_their_own() {
        let guests = Guests::new(10, 2);
        let other = enter(&guests, "10.0.0.1").unwrap();
        let own = [(); 2].map(|()| enter(&guests, "10.0.0.2").unwrap());
        advance(2 * RESTED).await;
        own[1].works();
        own[1].rests();
        let _new = enter(&guests, "10.0.0.2").unwrap();
        assert!(has_left(&own[0]).await && !has_left(&own[1]).await && !has_left(&other).await);
    }

    #[tokio::test(start_paused = true)]
    async fn forged_addresses_take_nobodys_place() {
        let guests = Guests::new(100, 2);
        let victim = address("10.0.0.1");
        let mut forged = Vec::new();
        while let Admission::Welcome(guest) = guests.enter(victim, false) {
            forged.push(guest);
        }
        assert_eq!(forged.len(), STRANGERS);
        assert!(matches!(guests.enter(address("10.0.0.2"), false), Admission::Unproven), "everybody has to show");
        let _first = enter(&guests, "10.0.0.1").unwrap();
        let arrived = forged.pop().unwrap();
        assert!(arrived.arrive(), "one was real, and has the second place");
        assert!(!forged.pop().unwrap().arrive(), "there is no third");
        assert!(enter(&guests, "10.0.0.1").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_half_full_house_asks_everybody_to_show_their_address() {
        let guests = Guests::new(4, 4);
        let _known = [(); 2].map(|()| enter(&guests, "10.0.0.1").unwrap());
        assert!(matches!(guests.enter(address("10.0.0.2"), false), Admission::Unproven));
        assert!(enter(&guests, "10.0.0.2").is_some());
    }
}
