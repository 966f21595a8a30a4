use crate::emulate::text::count;
use anyhow::Context;
use pcc_link::Counters;
use pcc_netem::Counts;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The path's doings, a line a second.
pub(super) struct Record {
    file: File,
    name: PathBuf,
    began: Instant,
    due: Instant,
}

const EVERY: Duration = Duration::from_secs(1);

impl Record {
    pub(super) fn at(name: &Path) -> anyhow::Result<Self> {
        let file = File::create(name)
            .with_context(|| format!("cannot write {}: choose another place with --json FILE", name.display()))?;
        let began = Instant::now();
        Ok(Self { file, name: name.to_owned(), began, due: began + EVERY })
    }

    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// All counts are since the beginning.
    pub(super) fn write(&mut self, event: &str, counts: &Counts) -> anyhow::Result<()> {
        self.due += EVERY;
        let line = json!({
            "event": event,
            "seconds": self.began.elapsed().as_secs_f64(),
            "up": way(&counts.up),
            "down": way(&counts.down),
            "dropped_host": counts.dropped_host,
        });
        writeln!(self.file, "{line}").with_context(|| format!("cannot write {}", self.name.display()))
    }
}

fn way(counters: &Counters) -> Value {
    json!({
        "sent": count(counters.sent),
        "delivered": count(counters.delivered),
        "duplicated": count(counters.duplicated),
        "reordered": count(counters.reordered),
        "dropped_buffer": count(counters.dropped_buffer),
        "dropped_queue": count(counters.dropped_queue),
        "marked": count(counters.marked),
        "dropped_random": count(counters.dropped_random),
        "dropped_blackout": count(counters.dropped_blackout),
    })
}
