//! The results of a utility in a simulation: as text and as JSON.

use crate::rehearsal::Rehearsal;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(super) fn text(rehearsal: &Rehearsal) -> String {
    let head = format!("simulated, {} s, seed {}", rehearsal.time.as_secs_f64(), rehearsal.seed);
    let mut text =
        format!("\n{head:24} {:>8} {:>9} {:>7} {:>8} {:>13}\n", "flow", "Mbit/s", "share", "loss, %", "RTT added, ms");
    for cast in &rehearsal.casts {
        for (place, line) in cast.flows.iter().enumerate() {
            let _ = writeln!(
                text,
                "  {:22} {:>8} {:>9.2} {:>7.3} {:>8.2} {:>13.2}",
                if place == 0 { cast.name } else { "" },
                line.name,
                line.goodput.mbit(),
                line.share,
                line.loss * 100.0,
                line.added.as_secs_f64() * 1e3,
            );
        }
    }
    text
}

pub(super) fn json(rehearsal: &Rehearsal) -> Value {
    let casts = rehearsal.casts.iter().map(|cast| {
        let flows = cast.flows.iter().map(|line| {
            json!({
                "flow": line.name,
                "goodput_mbit": line.goodput.mbit(),
                "share": line.share,
                "loss": line.loss,
                "rtt_added_p50_s": line.added.as_secs_f64(),
            })
        });
        json!({ "name": cast.name, "flows": flows.collect::<Vec<_>>() })
    });
    json!({ "seed": rehearsal.seed, "seconds": rehearsal.time.as_secs_f64(), "casts": casts.collect::<Vec<_>>() })
}
