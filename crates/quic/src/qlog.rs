//! What happens on connections, as qlog files: noq's events (draft-ietf-quic-qlog-quic-events), and between them PCC's monitor
//! intervals and decisions, in a name space of their own.
//!
//! | event | when | fields of `data` |
//! |---|---|---|
//! | `pcc:interval_done` | the fate of all packets of a monitor interval is known | `id`, `duration`, rates, losses, RTT, `utility`: docs/qlog.md |
//! | `pcc:rate_decision` | the control law changed its state or its base rate | `state`, `rate`, `reason` |
//!
//! Peers decide how many connections there are and how long they last, so files and their size are bounded.

mod file;

use crate::Algorithm;
use file::TraceFile;
use noq::{QlogConfig, QlogFactory};
use noq_proto::{ConnectionId, Side};
use pcc::interval::Report;
use pcc::observe::{Event, Observer};
use pcc::units::Rate;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Files that one [`Qlog`] makes. Further connections leave none.
pub const MOST_FILES: u32 = 100;

/// Bytes of a file. Further events are left out.
pub const MOST_BYTES: u64 = 100 << 20;

/// A directory for traces. Clones are of the same one.
#[derive(Clone, Debug)]
pub struct Qlog(Arc<Place>);

#[derive(Debug)]
struct Place {
    directory: PathBuf,
    files: AtomicU32,
}

impl Qlog {
    /// Makes the directory if there is none.
    ///
    /// Errors: it cannot be made.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        std::fs::create_dir_all(&directory)?;
        Ok(Self(Arc::new(Place { directory, files: AtomicU32::new(0) })))
    }
}

/// The algorithm whose intervals and decisions the trace has, and what the transport of its only connection must be given:
/// [`TransportConfig::qlog_factory`](noq::TransportConfig::qlog_factory). Without a directory there is no trace.
pub fn traced(qlog: Option<&Qlog>, mut algorithm: Algorithm) -> (Algorithm, Option<Arc<dyn QlogFactory>>) {
    let Some(Qlog(place)) = qlog else { return (algorithm, None) };
    let trace = Arc::new(Trace { place: place.clone(), file: Mutex::default() });
    if let Algorithm::Pcc(pcc) = &mut algorithm {
        let others = pcc.core.observer.take();
        pcc.core.observer = Some(Arc::new(Both { others, trace: trace.clone() }));
    }
    (algorithm, Some(trace))
}

impl Place {
    /// A new file, unless there are as many as there may be.
    fn file(&self, side: Side, id: ConnectionId, started: Instant) -> Option<TraceFile> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        if number >= MOST_FILES {
            if number == MOST_FILES {
                tracing::warn!("{MOST_FILES} qlog files were made: further connections leave none");
            }
            return None;
        }
        let side = if side == Side::Client { "client" } else { "server" };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let path = self.directory.join(format!("{since}-{id}-{side}.sqlog"));
        TraceFile::create(&path, started)
            .inspect_err(|error| tracing::warn!(%error, path = %path.display(), "no qlog file"))
            .ok()
    }
}

/// The trace of one connection.
#[derive(Debug)]
struct Trace {
    place: Arc<Place>,
    file: Mutex<Option<TraceFile>>,
}

impl Trace {
    fn file(&self) -> MutexGuard<'_, Option<TraceFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QlogFactory for Trace {
    fn for_connection(&self, side: Side, _: SocketAddr, id: ConnectionId, now: Instant) -> Option<QlogConfig> {
        let file = self.place.file(side, id, now)?;
        *self.file() = Some(file.clone());
        let mut config = QlogConfig::new(Box::new(file));
        config.title(Some("pcc".to_owned())).start_time(now);
        Some(config)
    }
}

/// Tells those who listened before, and the trace.
#[derive(Debug)]
struct Both {
    others: Option<Arc<dyn Observer>>,
    trace: Arc<Trace>,
}

impl Observer for Both {
    fn on_event(&self, event: &Event<'_>) {
        if let Some(others) = &self.others {
            others.on_event(event);
        }
        let file = self.trace.file();
        let Some(file) = &*file else { return };
        match event {
            Event::Interval { report, utility, .. } => file.event("pcc:interval_done", interval(report, *utility)),
            Event::Decision { state, rate, reason, .. } => {
                let data = json!({"state": state, "rate": rate.bits_per_sec(), "reason": reason});
                file.event("pcc:rate_decision", data);
            }
            _ => {}
        }
    }
}

/// Rates are in bit/s and times in ms, as everywhere in qlog.
fn interval(report: &Report, utility: Option<f64>) -> Value {
    let ms = |time: core::time::Duration| time.as_secs_f64() * 1e3;
    json!({
        "id": report.id,
        "duration": ms(report.duration),
        "target_rate": report.target.bits_per_sec(),
        "achieved_rate": report.achieved.bits_per_sec(),
        "delivery_rate": report.delivery_rate.map(Rate::bits_per_sec),
        "packets": report.packets,
        "packets_lost": report.packets_lost,
        "packets_marked": report.packets_marked,
        "loss": report.loss(),
        "rtt": report.rtt.map(ms),
        "rtt_gradient": report.rtt_gradient,
        "queueing_delay": report.queueing_delay().map(ms),
        "limited_by": report.limited_by.as_str(),
        "utility": utility,
    })
}
