//! The first record of a trace: what all its events have in common.
//!
//! noq's own header names no schema and no clock, so a trace has this one in its place.

use noq_proto::{ConnectionId, Side};
use serde_json::{Value, json};
use std::time::SystemTime;

/// The events of noq (draft-ietf-quic-qlog-quic-events-12), and PCC's, which docs/qlog.md defines.
const SCHEMAS: [&str; 2] = ["urn:ietf:params:qlog:events:quic-12", "urn:pcc:qlog:events:pcc"];

/// A `QlogFileSeq` (draft-ietf-quic-qlog-main-schema-13 §5). Times are of a clock that nobody sets, from `began` on.
pub(super) fn header(side: Side, id: ConnectionId, began: SystemTime) -> Value {
    let side = name(side);
    json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": "pcc",
        "trace": {
            "title": "pcc",
            "common_fields": {
                "group_id": id.to_string(),
                "time_format": "relative_to_epoch",
                "reference_time": {
                    "clock_type": "monotonic",
                    "epoch": "unknown",
                    "wall_clock_time": humantime::format_rfc3339_millis(began).to_string(),
                },
            },
            "vantage_point": {"type": side},
            "event_schemas": SCHEMAS,
        },
    })
}

/// As qlog calls it.
pub(super) const fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}
