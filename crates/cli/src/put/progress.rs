//! How far an upload has come, counted in bytes that arrived: what this side has merely buffered is no progress.

use crate::get::patience::Patience;
use crate::get::source::Source;
use core::time::Duration;

/// Of one upload, over all its connections.
pub(super) struct Progress<'a> {
    source: &'a Source,
    pub(super) patience: Patience<'a>,
    /// The highest position that the server is known to have reached; `None` before it was asked.
    highest: Option<u64>,
    /// Where it is known to be now.
    position: u64,
}

impl<'a> Progress<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self { source, patience: source.patience(), highest: None, position: 0 }
    }

    /// The server says that it goes on from there.
    pub(super) fn goes_on_at(&mut self, position: u64) {
        self.position = position;
        match self.highest {
            None => self.highest = Some(position),
            Some(highest) => self.tell(position.saturating_sub(highest)),
        }
    }

    /// Everything up to this position has arrived. What arrives a second time, because the server lost it, is nothing
    /// new.
    pub(super) fn reaches(&mut self, position: u64) {
        let Some(more) = position.checked_sub(self.position).filter(|more| *more > 0) else { return };
        self.position = position;
        let new = position.saturating_sub(self.highest.unwrap_or(0));
        self.patience.repeated(more.saturating_sub(new));
        self.tell(new);
    }

    fn tell(&mut self, new: u64) {
        if new > 0 {
            self.highest = Some(self.highest.unwrap_or(0) + new);
            self.source.watch().moved(new);
            self.patience.arrived(new);
        }
    }

    /// So long there was nothing to send.
    pub(super) fn waited(&mut self, time: Duration, for_input: bool) {
        self.patience.excuse(time);
        if for_input {
            self.source.watch().input_waited(time);
        } else {
            self.source.watch().disk_waited(time);
        }
    }
}
