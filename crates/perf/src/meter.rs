//! Counts one end's streams and connection while a test runs.

use crate::cpu::Cpu;
use crate::intervals::MonitorInterval;
use crate::side::{STREAMS_LISTED, Side};
use crate::watch::Watch;
use noq::{Connection, PathId, StreamId};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Counts at one end while a test runs.
#[derive(Debug)]
pub struct Meter {
    algorithm: &'static str,
    watch: Option<Arc<Watch>>,
    total: Arc<Total>,
    streams: Mutex<Vec<(u64, Arc<AtomicU64>)>>,
    streams_begun: AtomicU32,
}

#[derive(Debug)]
struct Total {
    began: Instant,
    received: AtomicU64,
    /// When the first of it arrived; the largest number if nothing has.
    first_us: AtomicU64,
    latest_us: AtomicU64,
    sent: AtomicU64,
    streams_done: AtomicU32,
    /// Bytes that may still be sent or received.
    left: AtomicU64,
    /// Told when more was wanted than that.
    exhausted: Notify,
}

impl Total {
    fn new(most: u64) -> Self {
        Self {
            began: Instant::now(),
            received: AtomicU64::new(0),
            first_us: AtomicU64::new(u64::MAX),
            latest_us: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            streams_done: AtomicU32::new(0),
            left: AtomicU64::new(most),
            exhausted: Notify::new(),
        }
    }

    fn age_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Meter {
    /// Time since it was made, which is just before the handshake at a client.
    pub fn age(&self) -> Duration {
        self.total.began.elapsed()
    }

    /// PCC's monitor intervals since the last call, if they are recorded.
    pub fn take_intervals(&self) -> Option<Vec<MonitorInterval>> {
        self.watch.as_ref()?.take_intervals()
    }

    /// Starts counting at a connection that sends with `algorithm`; `watch` follows it if that is PCC.
    pub fn new(algorithm: &'static str, watch: Option<Arc<Watch>>) -> Self {
        Self::within(u64::MAX, algorithm, watch)
    }

    /// The same for a connection that may move `most` bytes, both ways together.
    pub fn within(most: u64, algorithm: &'static str, watch: Option<Arc<Watch>>) -> Self {
        Self {
            algorithm,
            watch,
            total: Arc::new(Total::new(most)),
            streams: Mutex::default(),
            streams_begun: AtomicU32::new(0),
        }
    }

    /// Counts one stream. It ends when the counter is dropped.
    pub fn stream(&self, id: StreamId) -> Counter {
        self.streams_begun.fetch_add(1, Ordering::Relaxed);
        let bytes = Arc::new(AtomicU64::new(0));
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if streams.len() < STREAMS_LISTED {
            streams.push((id.into(), Arc::clone(&bytes)));
        }
        Counter { total: Arc::clone(&self.total), bytes }
    }

    /// Streams counted so far.
    pub fn streams_begun(&self) -> u32 {
        self.streams_begun.load(Ordering::Relaxed)
    }

    /// Ends when a stream wants to move more than is allowed.
    pub async fn exhausted(&self) {
        self.total.exhausted.notified().await;
    }

    /// Bytes of stream data received so far.
    pub fn received(&self) -> u64 {
        self.total.received.load(Ordering::Acquire)
    }

    /// The knowledge now.
    pub fn read(&self, connection: &Connection) -> Side {
        let stats = connection.stats();
        let path = connection.path_stats(PathId::ZERO).unwrap_or_default();
        // First of all counts: once all streams have ended, the other counts are final.
        let streams_done = self.total.streams_done.load(Ordering::Acquire);
        let received = self.received();
        let (first, latest) =
            (self.total.first_us.load(Ordering::Relaxed), self.total.latest_us.load(Ordering::Relaxed));
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        Side {
            at_us: self.total.age_us(),
            received,
            received_us: (received > 0).then_some((first, latest)),
            sent: self.total.sent.load(Ordering::Relaxed),
            udp_tx_bytes: stats.udp_tx.bytes,
            sent_packets: stats.sent_packets,
            lost_packets: stats.lost_packets,
            sent_bytes: stats.sent_bytes,
            lost_bytes: stats.lost_bytes,
            rtt_us: u64::try_from(path.rtt.as_micros()).unwrap_or(u64::MAX),
            cwnd: path.cwnd,
            mtu: path.current_mtu,
            streams_done,
            streams: streams.iter().map(|(id, bytes)| (*id, bytes.load(Ordering::Relaxed))).collect(),
            cpu: Cpu::of_this_process(),
            algorithm: self.algorithm.to_owned(),
            pcc: self.watch.as_ref().map(|watch| watch.read()),
        }
    }
}

/// Counts one stream, and with it the connection.
#[derive(Debug)]
pub struct Counter {
    total: Arc<Total>,
    bytes: Arc<AtomicU64>,
}

impl Counter {
    /// Bytes that may be moved, of `wanted`: none once all allowed bytes were moved, or are about to be.
    pub fn claim(&self, wanted: u64) -> u64 {
        let take = |left: u64| Some(left.saturating_sub(wanted));
        // There is always a number less.
        let left = self.total.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or(0);
        if left < wanted {
            self.total.exhausted.notify_one();
        }
        left.min(wanted)
    }

    /// Some of those bytes were not moved after all.
    pub fn give_back(&self, bytes: u64) {
        self.total.left.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of data arrived.
    pub fn received(&self, bytes: u64) {
        let now = self.total.age_us();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.total.first_us.fetch_min(now, Ordering::Relaxed);
        self.total.latest_us.fetch_max(now, Ordering::Relaxed);
        // Last, so that whoever sees the bytes sees their time.
        self.total.received.fetch_add(bytes, Ordering::Release);
    }

    /// The transport took that many bytes for sending.
    pub fn sent(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.total.sent.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.total.streams_done.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_together_claim_what_is_allowed_and_not_a_byte_more() {
        let meter = Meter::within(100, "pcc", None);
        let [one, other] = [0_u32, 4].map(|id| meter.stream(noq::VarInt::from_u32(id).into()));
        let exhausted = || futures_util::FutureExt::now_or_never(meter.exhausted()).is_some();
        assert_eq!((one.claim(60), other.claim(40)), (60, 40));
        assert!(!exhausted(), "all of it is no more than that");
        one.give_back(10);
        assert_eq!((other.claim(60), one.claim(1)), (10, 0));
        assert!(exhausted());
    }
}
