//! Connections and what each did between two looks: filtered, sorted, and summed up.

use crate::rule::Network;
use crate::watch::Connection;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::net::SocketAddr;

/// Which connections are shown, and in which order.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// In this order: by rate the fastest are first
    pub sort: Order,
    /// Only with this port at either end
    pub port: Option<u16>,
    /// Only to or from addresses in this network: 192.0.2.0/24, 2001:db8::/32
    pub address: Option<Network>,
    /// Only where the law is in this state
    pub state: Option<String>,
    /// Those too that have sent nothing: which only receive
    pub all: bool,
}

/// By what rows are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The fastest first.
    #[default]
    Rate,
    /// By what was acknowledged.
    Goodput,
    /// The longest first.
    Rtt,
    /// The largest share first.
    Loss,
    /// By congestion control.
    Name,
    /// By address and port here.
    Local,
    /// By address and port there.
    Remote,
}

impl Order {
    fn compare(self, one: &Row<'_>, other: &Row<'_>) -> Ordering {
        let largest = |of: fn(&Row<'_>) -> f64| of(other).total_cmp(&of(one));
        let by_ends = || (one.now.local, one.now.remote).cmp(&(other.now.local, other.now.remote));
        let order = match self {
            Self::Rate => largest(|row| row.rate),
            Self::Goodput => largest(|row| row.goodput),
            Self::Rtt => largest(|row| row.now.rtt.as_secs_f64()),
            Self::Loss => largest(|row| row.loss.unwrap_or(-1.0)),
            Self::Name => one.now.name.cmp(&other.now.name),
            Self::Remote => one.now.remote.cmp(&other.now.remote),
            Self::Local => Ordering::Equal,
        };
        order.then_with(by_ends)
    }
}

/// A connection, and what it did since the last look.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// As it is.
    pub now: &'a Connection,
    /// Rates of what was sent and of what arrived. Unit: bit/s.
    pub rate: f64,
    /// Rate of what arrived. Unit: bit/s.
    pub goodput: f64,
    /// Lost packets, of those sent.
    pub loss: Option<f64>,
    /// Packets sent and lost since.
    packets: (u32, u32),
}

/// By what a connection is known again.
type Key<'a> = (u32, SocketAddr, SocketAddr, &'a str);

fn key(one: &Connection) -> Key<'_> {
    (one.netns, one.local, one.remote, &one.name)
}

impl<'a> Row<'a> {
    /// In the same order; connections that began since have nothing to be compared with.
    pub fn all(before: &[Connection], now: &'a [Connection]) -> Vec<Self> {
        let before: HashMap<_, _> = before.iter().map(|one| (key(one), one)).collect();
        now.iter().map(|now| Self::of(before.get(&key(now)).copied(), now)).collect()
    }

    fn of(was: Option<&Connection>, now: &'a Connection) -> Self {
        // The same addresses again may be another connection, which counts from zero.
        let Some(was) = was.filter(|was| was.sent <= now.sent && was.acked <= now.acked) else {
            return Self { now, rate: 0.0, goodput: 0.0, loss: None, packets: (0, 0) };
        };
        let time = now.at.saturating_sub(was.at).as_secs_f64();
        let rate = |now: u64, was: u64| if time > 0.0 { (now - was) as f64 * 8.0 / time } else { 0.0 };
        let sent = now.packets_sent.wrapping_sub(was.packets_sent);
        let lost = now.packets_lost.wrapping_sub(was.packets_lost);
        Self {
            now,
            rate: rate(now.sent, was.sent),
            goodput: rate(now.acked, was.acked),
            loss: (sent > 0).then(|| f64::from(lost) / f64::from(sent)),
            packets: (sent, lost),
        }
    }
}

/// The connections that are shown of many, and the words on all that are wanted.
#[derive(Clone, Debug, Default)]
pub struct Rows<'a> {
    /// In order, so many as were asked for.
    pub shown: Vec<Row<'a>>,
    /// How many there are that are wanted, and how many only receive.
    pub wanted: usize,
    /// How many of all only receive.
    pub receivers: usize,
    /// Their sums. Unit: bit/s.
    pub rate: f64,
    /// Sum of theirs. Unit: bit/s.
    pub goodput: f64,
    /// Lost packets, of those sent by all.
    pub loss: Option<f64>,
}

impl<'a> Rows<'a> {
    /// Makes at most this number of rows from the connections at two moments.
    pub fn of(selection: &Selection, most: usize, before: &[Connection], now: &'a [Connection]) -> Self {
        let mut rows = Row::all(before, now);
        rows.retain(|row| selection.wants(row.now));
        let all = rows.len();
        rows.retain(|row| selection.all || row.now.sent > 0);
        let (sent, lost) = rows.iter().fold((0_u64, 0_u64), |(sent, lost), row| {
            (sent + u64::from(row.packets.0), lost + u64::from(row.packets.1))
        });
        // `sum` has -0 of no rows.
        let sum = |of: fn(&Row<'_>) -> f64| rows.iter().map(of).fold(0.0, |sum, one| sum + one);
        let mut sums = Self {
            wanted: rows.len(),
            receivers: all - rows.len(),
            rate: sum(|row| row.rate),
            goodput: sum(|row| row.goodput),
            loss: (sent > 0).then(|| lost as f64 / sent as f64),
            shown: Vec::new(),
        };
        rows.sort_by(|one, other| selection.sort.compare(one, other));
        rows.truncate(most);
        sums.shown = rows;
        sums
    }
}

impl Selection {
    fn wants(&self, one: &Connection) -> bool {
        let ends = [one.local, one.remote];
        self.port.is_none_or(|port| ends.iter().any(|end| end.port() == port))
            && self.address.is_none_or(|network| ends.iter().any(|end| network.has(end.ip())))
            && self.state.as_ref().is_none_or(|state| state.eq_ignore_ascii_case(one.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::tests::example;

    #[test]
    fn what_was_done_since_the_last_look_is_told() {
        let (before, now) = ([example(1, 1000, 500, (10, 0))], [example(3, 251_000, 125_500, (110, 5))]);
        let rows = Row::all(&before, &now);
        assert_eq!((rows[0].rate, rows[0].goodput, rows[0].loss), (1e6, 0.5e6, Some(0.05)));
    }

    #[test]
    fn a_new_connection_is_not_compared_with_an_old_one() {
        let rows = |before: &[Connection], now: &[Connection]| {
            Row::all(before, now).iter().map(|row| (row.rate, row.loss)).collect::<Vec<_>>()
        };
        assert_eq!(rows(&[example(1, 9000, 9000, (9, 0))], &[example(2, 10, 0, (1, 0))]), [(0.0, None)]);
        assert_eq!(rows(&[], &[example(2, 10, 0, (1, 0))]), [(0.0, None)]);
        assert_eq!(rows(&[example(1, 5, 5, (1, 0))], &[]), []);
        let elsewhere = Connection { netns: 8, ..example(2, 9010, 9000, (9, 0)) };
        assert_eq!(rows(&[example(1, 9000, 9000, (9, 0))], &[elsewhere]), [(0.0, None)]);
    }

    #[test]
    fn sums_of_no_connections_are_zero_without_a_sign() {
        let rows = Rows::of(&Selection::default(), 9, &[], &[]);
        assert_eq!([rows.rate, rows.goodput].map(f64::to_bits), [0, 0]);
    }

    #[test]
    fn sums_are_of_all_that_is_wanted_and_rows_of_the_fastest() {
        let at = |port: u16, sent: u64, lost: u32| {
            let one = example(1, sent, sent, (100, lost));
            Connection { remote: SocketAddr::new(one.remote.ip(), port), ..one }
        };
        let before: Vec<_> = (1..=4).map(|port| at(port, u64::from(port > 1), 0)).collect();
        let now: Vec<Connection> = [(1, 0), (2, 250_001), (3, 500_001), (4, 125_001)]
            .map(|(port, sent)| {
                let one = at(port, sent, 10);
                Connection { at: one.at * 2, packets_sent: 200, ..one }
            })
            .into();
        let rows = Rows::of(&Selection::default(), 2, &before, &now);
        let ports = |rows: &Rows<'_>| rows.shown.iter().map(|row| row.now.remote.port()).collect::<Vec<_>>();
        assert_eq!((ports(&rows), rows.wanted, rows.receivers), (vec![3, 2], 3, 1));
        assert_eq!((rows.rate, rows.loss), (7e6, Some(0.1)));
        let shown = |selection: Selection| ports(&Rows::of(&selection, 9, &before, &now));
        assert_eq!(shown(Selection { sort: Order::Remote, all: true, ..Selection::default() }), [1, 2, 3, 4]);
        assert_eq!(shown(Selection { port: Some(4), ..Selection::default() }), [4]);
        let network = |text: &str| Some(text.parse().unwrap());
        let state = |text: &str| Some(text.to_owned());
        assert!(shown(Selection { address: network("198.51.100.0/24"), ..Selection::default() }).is_empty());
        let here = network("192.0.2.0/24");
        assert_eq!(shown(Selection { address: here, state: state("probing"), ..Selection::default() }).len(), 3);
        assert!(shown(Selection { state: state("starting"), ..Selection::default() }).is_empty());
    }
}
