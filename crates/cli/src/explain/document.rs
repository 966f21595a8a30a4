//! The answer for programs.

use pcc_explain::{Cause, Explained, Side};
use serde_json::{Value, json};
use std::path::Path;

/// One document a trace.
pub(super) fn document(file: &Path, explained: &Explained) -> Value {
    let limits = Cause::ALL.into_iter().zip(explained.limits);
    json!({
        "file": file.display().to_string(),
        "side": explained.side.map(|side| match side {
            Side::Client => "client",
            Side::Server => "server",
        }),
        "seconds": explained.took,
        "sent_bytes": explained.sent,
        "delivered_bytes": explained.delivered,
        "received_bytes": explained.received,
        "packets": explained.packets,
        "packets_lost": explained.lost,
        "goodput_bps": explained.goodput(),
        "base_rtt_ms": explained.base_rtt.map(|rtt| rtt * 1e3),
        "policer_bps": explained.policer,
        "limits": limits.map(|(cause, seconds)| json!({"limited_by": cause, "seconds": seconds})).collect::<Vec<_>>(),
        "spells": explained.spells(),
        "interval_seconds": explained.width,
        "intervals": explained.seconds,
        "unread_records": explained.unread.records,
        "first_unread": explained.unread.first,
    })
}
