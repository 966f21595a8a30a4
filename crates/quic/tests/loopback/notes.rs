//! What PCC reported.

use pcc::interval::Report;
use pcc::observe::{Event, Observer};
use std::sync::Mutex;

/// Keeps every report.
#[derive(Debug, Default)]
pub(crate) struct Notes(pub(crate) Mutex<Vec<Report>>);

impl Observer for Notes {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Interval { report, .. } = event {
            self.0.lock().unwrap().push((*report).clone());
        }
    }
}
