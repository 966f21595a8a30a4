//! What happens on connections, as qlog files: noq's events (draft-ietf-quic-qlog-quic-events), and between them PCC's monitor
//! intervals and decisions, in a name space of their own.
//!
//! | event | when | fields of `data` |
//! |---|---|---|
//! | `pcc:interval_done` | the fate of all packets of a monitor interval is known | `id`, `duration`, rates, losses, RTT, `utility`: docs/qlog.md |
//! | `pcc:rate_decision` | the control law changed its state or its base rate | `state`, `rate`, `reason` |
//!
//! Peers decide how many connections there are and how long they last, so files and their size are bounded.
//!
//! | file | what it has |
//! |---|---|
//! | `header` | the first record of a trace |
//! | `file` | one trace, record by record, in the order of time |
//! | `kept` | which traces there are, and which one makes room |

mod file;
mod header;
mod kept;

use crate::Algorithm;
use file::TraceFile;
use kept::Kept;
use noq::{QlogConfig, QlogFactory};
use noq_proto::{ConnectionId, Side};
use pcc::interval::Report;
use pcc::observe::{Event, Observer};
use pcc::units::Rate;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Files of servers that a directory keeps: the oldest makes room for a new one. And files that clients of one [`Qlog`] make:
/// further connections leave none.
pub const MOST_FILES: u32 = 100;

/// Bytes of a file. Further events are left out.
pub const MOST_BYTES: u64 = 100 << 20;

/// A directory for traces. Clones are of the same one.
#[derive(Clone, Debug)]
pub struct Qlog(Arc<Mutex<Kept>>);

impl Qlog {
    /// Makes the directory if there is none.
    ///
    /// Errors: it cannot be made.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        std::fs::create_dir_all(&directory)?;
        Ok(Self(Arc::new(Mutex::new(Kept::new(directory)))))
    }
}

/// The algorithm whose intervals and decisions the trace has, and what the transport of its only connection must be given:
/// [`TransportConfig::qlog_factory`](noq::TransportConfig::qlog_factory). Without a directory there is no trace.
pub fn traced(qlog: Option<&Qlog>, mut algorithm: Algorithm) -> (Algorithm, Option<Arc<dyn QlogFactory>>) {
    let Some(Qlog(kept)) = qlog else { return (algorithm, None) };
    let trace = Arc::new(Trace { kept: kept.clone(), file: Mutex::default() });
    if let Algorithm::Pcc(pcc) = &mut algorithm {
        let others = pcc.core.observer.take();
        pcc.core.observer = Some(Arc::new(Both { others, trace: trace.clone() }));
    }
    (algorithm, Some(trace))
}

/// The trace of one connection.
#[derive(Debug)]
struct Trace {
    kept: Arc<Mutex<Kept>>,
    file: Mutex<Option<TraceFile>>,
}

impl Trace {
    fn file(&self) -> MutexGuard<'_, Option<TraceFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QlogFactory for Trace {
    fn for_connection(&self, side: Side, _: SocketAddr, id: ConnectionId, now: Instant) -> Option<QlogConfig> {
        let file = self.kept.lock().unwrap_or_else(PoisonError::into_inner).file(side, id, now)?;
        *self.file() = Some(file.clone());
        let mut config = QlogConfig::new(Box::new(file));
        config.start_time(now);
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
