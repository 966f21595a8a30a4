//! Figures of the whole server since its start, for Prometheus.
//!
//! A connection's counters are read where they are, inside the QUIC stack, when somebody asks. When it ends, they are added to
//! those of all that ended, under the lock under which totals are read: no total ever falls.

mod histogram;
mod page;
mod scrape;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use histogram::Histogram;
use noq::{Connection, ConnectionStats, WeakConnectionHandle};
use pcc::interval::Report;
use pcc::observe::{Event, Observer};
pub use scrape::expose;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Figures of the whole server. Clones are of the same one.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Figures>);

#[derive(Debug, Default)]
struct Figures {
    accepted: AtomicU64,
    tcp_accepted: AtomicU64,
    tcp_sent: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    /// By the first digit of the status; 0 for those without an answer.
    requests: [AtomicU64; 6],
    book: Mutex<Book>,
    intervals: Mutex<Intervals>,
}

/// Why somebody was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A connection: there is no place.
    Full,
    /// A connection: the server ends.
    Stopping,
    /// A connection: its handshake failed, or took too long.
    Handshake,
    /// A request: its network has as many under way as it may.
    Busy,
    /// A request: no token, or a wrong one.
    Unauthorized,
}

impl Refusal {
    const ALL: [(Self, &str); 5] = [
        (Self::Full, "full"),
        (Self::Stopping, "stopping"),
        (Self::Handshake, "handshake"),
        (Self::Busy, "busy"),
        (Self::Unauthorized, "unauthorized"),
    ];
}

/// The bytes that a connection moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Traffic {
    sent_bytes: u64,
    received_bytes: u64,
    sent_packets: u64,
    lost_packets: u64,
}

impl Traffic {
    fn of(stats: &ConnectionStats) -> Self {
        Self {
            sent_bytes: stats.udp_tx.bytes,
            received_bytes: stats.udp_rx.bytes,
            sent_packets: stats.sent_packets,
            lost_packets: stats.lost_packets,
        }
    }

    fn add(&mut self, other: Self) {
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.sent_packets += other.sent_packets;
        self.lost_packets += other.lost_packets;
    }
}

#[derive(Debug, Default)]
struct Book {
    number: u64,
    present: BTreeMap<u64, WeakConnectionHandle>,
    ended: Traffic,
}

impl Book {
    /// Sums over all connections, those that ended included.
    fn traffic(&self) -> Traffic {
        let mut all = self.ended;
        let present = self.present.values().filter_map(WeakConnectionHandle::upgrade);
        present.for_each(|connection| all.add(Traffic::of(&connection.stats())));
        all
    }
}

/// PCC's findings, interval by interval.
#[derive(Debug)]
struct Intervals {
    rtt: Histogram,
    loss: Histogram,
    number: u64,
    /// The latest of each connection that there is.
    latest: BTreeMap<u64, Latest>,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            rtt: Histogram::new(&[0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]),
            loss: Histogram::new(&[0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3]),
            number: 0,
            latest: BTreeMap::new(),
        }
    }
}

/// The figures of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    /// Unit: bit/s.
    rate: f64,
    utility: Option<f64>,
}

impl Intervals {
    fn judged(&mut self, connection: u64, report: &Report, utility: Option<f64>) {
        self.loss.add(report.loss());
        if let Some(rtt) = report.rtt {
            self.rtt.add(rtt.as_secs_f64());
        }
        let latest = self.latest.entry(connection).or_default();
        *latest = Latest { rate: report.achieved.bits_per_sec(), utility: utility.or(latest.utility) };
    }
}

impl Metrics {
    /// Hears what PCC does on one connection. Each needs its own.
    pub fn observer(&self) -> Arc<dyn Observer> {
        let mut intervals = self.intervals();
        intervals.number += 1;
        Arc::new(OfOne { number: intervals.number, metrics: self.clone() })
    }

    /// A connection's counters count from now on, until what is returned is dropped.
    pub(super) fn watch(&self, connection: Connection) -> Watched {
        self.0.accepted.fetch_add(1, Relaxed);
        let mut book = self.book();
        book.number += 1;
        let number = book.number;
        book.present.insert(number, connection.weak_handle());
        Watched { number, connection, metrics: self.clone() }
    }

    /// A connection over TCP was accepted.
    pub(super) fn accept_tcp(&self) {
        self.0.tcp_accepted.fetch_add(1, Relaxed);
    }

    /// A body's bytes were handed to one.
    pub(super) fn sent_over_tcp(&self, bytes: u64) {
        self.0.tcp_sent.fetch_add(bytes, Relaxed);
    }

    pub(super) fn refuse(&self, why: Refusal) {
        for ((refusal, _), count) in Refusal::ALL.iter().zip(&self.0.refused) {
            count.fetch_add(u64::from(*refusal == why), Relaxed);
        }
    }

    /// A request is done; 0 is one without an answer.
    pub(super) fn answered(&self, status: u16) {
        let class = usize::from(status / 100);
        if let Some(count) = self.0.requests.get(class) {
            count.fetch_add(1, Relaxed);
        }
        if status == 401 {
            self.refuse(Refusal::Unauthorized);
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn intervals(&self) -> MutexGuard<'_, Intervals> {
        self.0.intervals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that counts.
#[derive(Debug)]
pub(super) struct Watched {
    number: u64,
    connection: Connection,
    metrics: Metrics,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut book = self.metrics.book();
        book.present.remove(&self.number);
        book.ended.add(Traffic::of(&self.connection.stats()));
    }
}

/// The intervals of one connection, told a hundred times a second or less often.
#[derive(Debug)]
struct OfOne {
    number: u64,
    metrics: Metrics,
}

impl Observer for OfOne {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Interval { report, utility, .. } = event {
            self.metrics.intervals().judged(self.number, report, *utility);
        }
    }
}

impl Drop for OfOne {
    fn drop(&mut self) {
        self.metrics.intervals().latest.remove(&self.number);
    }
}
