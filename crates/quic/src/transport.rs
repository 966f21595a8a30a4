//! Flow-control windows and limits that fit a path.

use crate::Algorithm;
use crate::sight::Sight;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use noq::{Connection, IdleTimeout, MtuDiscoveryConfig, PathId, TransportConfig, VarInt, WeakConnectionHandle};
use pcc::recovery::{PACKET_THRESHOLD, TIME_THRESHOLD};
use pcc::units::{Bytes, Rate};
use std::sync::Arc;

/// The fastest and longest path that flow control must not slow down.
///
/// Bounds the memory that a peer can take from this host, for each connection: at most [`Windows::connection_bytes`] of
/// received data that the application has not read, and [`Windows::bytes`] of written data that the peer has not
/// acknowledged. A server of many strangers chooses it with that product in mind. [`tune_send_window`] reduces the second
/// part to the need of each peer's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows {
    /// The highest rate.
    pub rate: Rate,
    /// The longest round trip.
    pub rtt: Duration,
}

impl Default for Windows {
    /// 1 Gbit/s over 200 ms: 25 MB in flight, windows of 62.5 MB.
    fn default() -> Self {
        Self { rate: Rate::from_mbit(1000.0), rtt: Duration::from_millis(200) }
    }
}

/// Window over bandwidth-delay product. One product keeps the path full; a lost packet holds back everything behind it
/// for at least one round trip more; and credit comes back in steps, not at once.
const HEADROOM: f64 = 2.5;

/// No window is smaller, since a path can turn out better than promised and this much costs nothing.
const SMALLEST: u64 = 1 << 20;

/// No window is larger: more would be a promise of memory that no host wants to keep.
const LARGEST: u64 = 1 << 30;

/// No stream's window is larger with noq-proto as released: it ends a connection that holds more than 2048 packets of a
/// stream behind a lost one. In packets of the smallest size that QUIC allows this window holds 1400, which leaves a
/// third for copies that were sent again needlessly.
const LARGEST_OF_RELEASED_STREAM: u64 = 3 << 19;

/// Streams that nobody reads and that together hold half of a connection's window. More would make the first window so small
/// that it delays a sender that knows the path's rate: it carries 78 Mbit/s over 100 ms.
#[cfg(feature = "patched-noq-proto")]
const UNREAD_STREAMS: u64 = 64;

impl Windows {
    /// The window in bytes: 2.5 times rate times round trip, between 1 MiB and 1 GiB.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(((self.rate * HEADROOM) * self.rtt).get().clamp(SMALLEST, LARGEST))
    }

    /// Bytes that all streams of a connection may hold unread together. A stream grows into half of them, so that data which
    /// waits for its reader leaves room for the other streams.
    pub fn connection_bytes(&self) -> Bytes {
        Bytes::new(2 * self.bytes().get())
    }

    /// Bytes that a stream may hold unread at first. Its window grows to four times what its reader takes within an RTT, up to
    /// [`Windows::stream_bytes`].
    #[cfg(feature = "patched-noq-proto")]
    fn initial_stream_bytes(&self) -> Bytes {
        Bytes::new(self.stream_bytes().get() / UNREAD_STREAMS)
    }

    /// Bytes that one stream may hold unread, once its reader has shown that it needs them. With the feature
    /// `patched-noq-proto` it is all of [`Windows::bytes`]. Without it 1.5 MiB is the most: noq-proto 1.4.0 takes more for an
    /// attack.
    pub fn stream_bytes(&self) -> Bytes {
        let largest = if cfg!(feature = "patched-noq-proto") { LARGEST } else { LARGEST_OF_RELEASED_STREAM };
        self.bytes().min(Bytes::new(largest))
    }

    /// Says once what one stream carries at most, if noq-proto as released is what limits it.
    fn tell_of_one_stream(&self) {
        static TOLD: std::sync::Once = std::sync::Once::new();
        let (stream, rtt) = (self.stream_bytes(), self.rtt);
        if stream < self.bytes() {
            TOLD.call_once(|| {
                tracing::warn!(
                    ?rtt,
                    "noq-proto as released lets 1.5 MiB of a received stream be under way: {:.0} Mbit/s. For more, build with its patch and \
                     pcc-quic's feature `patched-noq-proto`: docs/library.md, \"Windows, at both ends\"",
                    stream.get() as f64 * 8e-6 / rtt.as_secs_f64(),
                );
            });
        }
    }
}

/// Streams that a peer may have open in each direction at a time. HTTP/3 needs three one-way streams and a stream for
/// each request under way, of which RFC 9114 §6.1 asks for a hundred. Over a long path small files need more. A stream counts
/// until its end is acknowledged and the peer hears of it, so a client that keeps 256 under way has twice as many open.
const BIDI_STREAMS: u32 = 512;
const UNI_STREAMS: u32 = 32;

/// Silence after which a connection is given up (RFC 9308 §3.2).
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Three keep-alives within [`IDLE_TIMEOUT`], so that the loss of two does not end a quiet connection.
const KEEP_ALIVE: Duration = Duration::from_secs(8);

/// Bytes of the IPv6 minimum (RFC 9000 §14.1): where MTU discovery starts.
const INITIAL_MTU: u16 = 1200;

/// A transport configuration that does not cap a path within `windows`, with `algorithm` in charge of the rate. It is
/// for both ends: the receiver's windows are what a sender may have under way.
///
/// One stream alone may carry less, see [`Windows::stream_bytes`].
///
/// Everything in it may be changed afterwards, but for [`TransportConfig::ack_frequency_config`] with noq-proto 1.4.0 as
/// released. It writes that frame without looking for room, and panics if the first packet after the handshake has none.
pub fn config(algorithm: &Algorithm, windows: &Windows) -> TransportConfig {
    windows.tell_of_one_stream();
    let window = windows.bytes().get();
    // Both fit: LARGEST and IDLE_TIMEOUT are far below 2^62.
    let receive_window = VarInt::from_u64(windows.connection_bytes().get()).unwrap_or(VarInt::MAX);
    let stream_window = VarInt::from_u64(windows.stream_bytes().get()).unwrap_or(VarInt::MAX);
    let idle_timeout = IdleTimeout::try_from(IDLE_TIMEOUT).ok();
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(algorithm.factory())
        // One stream may come to use half of the connection's window: a single large file is the common case.
        .stream_receive_window(stream_window)
        .receive_window(receive_window)
        .send_window(window)
        .max_concurrent_bidi_streams(VarInt::from_u32(BIDI_STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(UNI_STREAMS))
        .max_idle_timeout(idle_timeout)
        .keep_alive_interval(Some(KEEP_ALIVE))
        // The patched noq-proto adds what it has seen to be late, up to one RTT.
        .packet_threshold(PACKET_THRESHOLD)
        .time_threshold(TIME_THRESHOLD)
        .initial_mtu(INITIAL_MTU)
        .mtu_discovery_config(Some(MtuDiscoveryConfig::default()));
    #[cfg(feature = "patched-noq-proto")]
    config
        .initial_stream_receive_window(VarInt::from_u64(windows.initial_stream_bytes().get()).unwrap_or(VarInt::MAX))
        // A receiver says when its acknowledgements leave, whatever it sends by itself.
        .timestamps(true)
        .ack_frequency_config(matches!(algorithm, Algorithm::Pcc(_)).then(ack_frequency));
    config
}

/// Paths of a connection at most (draft-ietf-quic-multipath). Each has a controller, and a server tells some identifiers for each as
/// soon as both sides allow paths.
pub const MOST_PATHS: u8 = 4;

/// How often a client asks whether a path is still there that it hears nothing of.
const PATH_KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Silence after which a client gives a path up. It is opened anew: by then the network has another address for it, or none.
const PATH_IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Lets a peer that wants to open further paths do so, up to [`MOST_PATHS`]. Connections with one path are as before.
pub fn allow_paths(config: &mut TransportConfig) {
    config.max_concurrent_multipath_paths(MOST_PATHS.into());
}

/// For a client of several interfaces ([`interfaces::keep_paths`](crate::interfaces::keep_paths)): it opens paths, and notices which of
/// them live.
pub fn use_interfaces(config: &mut TransportConfig) {
    allow_paths(config);
    config
        .default_path_keep_alive_interval(Some(PATH_KEEP_ALIVE))
        .default_path_max_idle_timeout(Some(PATH_IDLE_TIMEOUT));
}

/// PCC says how many packets an acknowledgement should tell of. A gap is told at once, as without the extension.
#[cfg(feature = "patched-noq-proto")]
pub fn ack_frequency() -> noq::AckFrequencyConfig {
    let mut config = noq::AckFrequencyConfig::default();
    config.reordering_threshold(VarInt::from_u32(1));
    config
}

/// Data that an application may write ahead, as a multiple of the congestion window: enough for a window that doubles
/// before the next look.
const WRITE_AHEAD: u64 = 3;

/// Less would risk running dry: this is 420 Mbit/s over 10 ms before the first look. Nobody knows the fate of data that
/// is written ahead, and at 10 kbit/s this much takes seven minutes.
const SMALLEST_SEND_WINDOW: u64 = 512 << 10;

/// How often the window is fitted.
const FITTING_INTERVAL: Duration = Duration::from_millis(50);

/// Keeps a connection's memory for data to be sent in proportion to its path: three congestion windows, at least 512
/// KiB, at most [`Windows::bytes`]. Spawn it for each connection; it ends with the connection.
///
/// Without it an application that writes quickly fills the whole window, also towards a peer at 1 Mbit/s.
pub async fn tune_send_window(connection: WeakConnectionHandle, windows: Windows) {
    SendWindow::new(connection, windows).keep_fitting().await;
}

/// The window that [`share_send_window`] lets any connection have: with it a path of 20 ms carries 26 Mbit/s.
pub const UNSHARED_SEND_WINDOW: u64 = 64 << 10;

/// As [`tune_send_window`], for a host that shares its memory out among connections. Beyond 64 KiB the window has to be
/// granted: `grant` is asked for all that the path needs when that is more than was granted before, and answers how much is.
/// A smaller window gives nothing back: data that was written before may be unacknowledged.
///
/// Until this runs, [`TransportConfig::send_window`] holds: [`UNSHARED_SEND_WINDOW`] is what fits. `sight` sees the path meanwhile.
pub async fn share_send_window(
    connection: WeakConnectionHandle,
    windows: Windows,
    sight: Sight,
    mut grant: impl FnMut(Bytes) -> Bytes,
) {
    let window = SendWindow { sight, ..SendWindow::unset(connection, windows) };
    let mut granted = 0;
    let mut within = |wanted: u64| {
        let more = wanted.saturating_sub(UNSHARED_SEND_WINDOW);
        if more > granted {
            granted = grant(Bytes::new(more)).get();
        }
        wanted.min(UNSHARED_SEND_WINDOW + granted)
    };
    while window.fit(&mut within) {
        tokio::time::sleep(FITTING_INTERVAL).await;
    }
}

/// Bytes that the peer may still send over all streams of a connection, as far as it was told. `None` with noq-proto as released, which does
/// not say.
pub fn receive_credit(connection: &Connection) -> Option<Bytes> {
    #[cfg(feature = "patched-noq-proto")]
    return Some(Bytes::new(connection.stats().receive_credit));
    #[cfg(not(feature = "patched-noq-proto"))]
    {
        let _ = connection;
        None
    }
}

/// The window that [`tune_send_window`] fits, for who wants to know how wide it is: right after a write was accepted, all
/// but [`SendWindow::bytes`] of what was written has been acknowledged.
#[derive(Clone, Debug)]
pub struct SendWindow {
    connection: WeakConnectionHandle,
    largest: u64,
    set: Arc<AtomicU64>,
    sight: Sight,
}

impl SendWindow {
    /// Fits the connection's window, once: before anything is written.
    pub fn new(connection: WeakConnectionHandle, windows: Windows) -> Self {
        let window = Self::unset(connection, windows);
        window.fit(|wanted| wanted);
        window
    }

    fn unset(connection: WeakConnectionHandle, windows: Windows) -> Self {
        let largest = windows.bytes().get().max(SMALLEST_SEND_WINDOW);
        Self { connection, largest, set: Arc::new(AtomicU64::new(0)), sight: Sight::default() }
    }

    /// The findings about the path meanwhile.
    pub const fn sight(&self) -> &Sight {
        &self.sight
    }

    /// Its present width.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.set.load(Ordering::Relaxed))
    }

    /// Keeps fitting it until the connection ends.
    pub async fn keep_fitting(self) {
        while self.fit(|wanted| wanted) {
            tokio::time::sleep(FITTING_INTERVAL).await;
        }
    }

    /// Sets what `within` makes of what the path needs, and answers whether the connection lives. Nobody is kept alive
    /// between two calls.
    fn fit(&self, within: impl FnOnce(u64) -> u64) -> bool {
        let Some(connection) = self.connection.upgrade().filter(|connection| connection.close_reason().is_none())
        else {
            return false;
        };
        self.sight.look(&connection, paths(&connection));
        let congestion_window = congestion_windows(&connection);
        let window = within(congestion_window.saturating_mul(WRITE_AHEAD).clamp(SMALLEST_SEND_WINDOW, self.largest));
        if self.set.swap(window, Ordering::Relaxed) != window {
            connection.set_send_window(window);
        }
        true
    }
}

/// The shortest round trip of a connection's paths.
pub fn rtt(connection: &Connection) -> Option<Duration> {
    paths(connection).filter_map(|path| connection.rtt(path)).min()
}

/// Bytes that may be in flight over all paths together.
fn congestion_windows(connection: &Connection) -> u64 {
    let windows = paths(connection).filter_map(|path| connection.path_stats(path)).map(|path| path.cwnd);
    windows.fold(0, u64::saturating_add)
}

/// The paths of a connection: the first one with noq as released, which does not say which there are.
fn paths(connection: &Connection) -> impl Iterator<Item = PathId> {
    #[cfg(feature = "patched-noq-proto")]
    return connection.paths().into_iter();
    #[cfg(not(feature = "patched-noq-proto"))]
    {
        let _ = connection;
        core::iter::once(PathId::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_carries_a_gigabit_over_200_ms_with_headroom() {
        assert_eq!(Windows::default().bytes().get(), 62_500_000);
        assert_eq!(Windows::default().connection_bytes().get(), 125_000_000);
    }

    #[test]
    fn one_stream_has_the_window_that_noq_proto_bears() {
        let stream = |mbit| Windows { rate: Rate::from_mbit(mbit), ..Windows::default() }.stream_bytes().get();
        let patched = cfg!(feature = "patched-noq-proto");
        assert_eq!(stream(1000.0), if patched { 62_500_000 } else { 1_572_864 });
        assert_eq!(stream(20.0), 1_250_000, "what fits both");
    }

    #[test]
    fn windows_stay_between_their_bounds() {
        let window = |mbit, rtt| Windows { rate: Rate::from_mbit(mbit), rtt }.bytes().get();
        assert_eq!(window(0.0, Duration::ZERO), SMALLEST);
        assert_eq!(window(1.0, Duration::from_millis(1)), SMALLEST);
        assert_eq!(window(1e9, Duration::MAX), LARGEST);
    }
}
