//! How far an upload has come, counted in bytes that arrived: what this side has merely buffered is no progress.

use crate::client::patience::Patience;
use crate::client::source::Source;
use core::pin::pin;
use core::time::Duration;
use tokio::time::{Instant, timeout};

/// How often to look for acknowledgements while nothing else happens.
const LOOK: Duration = Duration::from_millis(100);

/// When the server was heard last. How far an upload has come shows only later: this side knows how much it may have
/// written ahead of the acknowledgements, so it learns of bytes when it can write more, and that it can also because it
/// may write further ahead than before, when the server is long gone.
pub(super) struct Heard {
    acknowledgements: u64,
    at: Instant,
}

impl Heard {
    fn new() -> Self {
        Self { acknowledgements: 0, at: Instant::now() }
    }

    /// Takes the number of acknowledgements that have come over the present connection.
    pub(super) fn look(&mut self, acknowledgements: u64) {
        if self.acknowledgements != acknowledgements {
            *self = Self { acknowledgements, at: Instant::now() };
        }
    }

    /// Looks while `work` is done, and at its end.
    pub(super) async fn during<T>(&mut self, work: impl Future<Output = T>, acknowledgements: impl Fn() -> u64) -> T {
        let mut work = pin!(work);
        loop {
            let done = timeout(LOOK, work.as_mut()).await;
            self.look(acknowledgements());
            if let Ok(done) = done {
                return done;
            }
        }
    }
}

/// The progress of one upload, over all its connections.
pub(super) struct Progress<'a> {
    source: &'a Source,
    pub(super) patience: Patience<'a>,
    pub(super) heard: Heard,
    /// The highest position that the server is known to have reached; `None` before it was asked.
    highest: Option<u64>,
    /// Where it is known to be now.
    position: u64,
    /// Bytes under way of which the server has all, in an older version of the file.
    copies: u64,
    /// Those of them that have arrived.
    copied: u64,
}

impl<'a> Progress<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self {
            source,
            patience: Patience::of(source),
            heard: Heard::new(),
            highest: None,
            position: 0,
            copies: 0,
            copied: 0,
        }
    }

    /// The server says that it goes on from there.
    pub(super) fn goes_on_at(&mut self, position: u64) {
        self.position = position;
        let copies = core::mem::take(&mut self.copies);
        match self.highest {
            None => self.highest = Some(position),
            Some(highest) => {
                self.heard.at = Instant::now();
                self.copies = copies;
                self.tell(position.saturating_sub(highest));
                self.copies = 0;
            }
        }
    }

    /// This number of bytes is only named, since the server has them.
    pub(super) fn copies(&mut self, bytes: u64) {
        self.copies += bytes;
    }

    /// Bytes that the server had.
    pub(super) const fn copied(&self) -> u64 {
        self.copied
    }

    /// Everything up to this position has arrived. Bytes that arrive a second time, because the server lost them, are nothing
    /// new.
    pub(super) fn reaches(&mut self, position: u64) {
        let Some(more) = position.checked_sub(self.position).filter(|more| *more > 0) else { return };
        self.position = position;
        let new = position.saturating_sub(self.highest.unwrap_or(0));
        self.patience.repeated_by(more.saturating_sub(new), self.heard.at);
        self.tell(new);
    }

    fn tell(&mut self, new: u64) {
        if new > 0 {
            self.highest = Some(self.highest.unwrap_or(0) + new);
            let copied = new.min(self.copies);
            self.copies -= copied;
            self.copied += copied;
            if copied > 0 {
                self.source.watch().kept(copied);
            }
            self.source.watch().moved(new - copied);
            self.patience.arrived_by(new, self.heard.at);
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

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[tokio::test(start_paused = true)]
    async fn a_server_was_heard_when_its_last_ack_came() {
        let (begun, acknowledgements, mut heard) = (Instant::now(), Cell::new(0), Heard::new());
        let work = async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                acknowledgements.set(acknowledgements.get() + 1);
            }
            tokio::time::sleep(Duration::from_secs(60)).await;
        };
        heard.during(work, || acknowledgements.get()).await;
        assert_eq!(begun.elapsed().as_secs(), 63);
        let after = heard.at - begun;
        assert!((Duration::from_secs(3)..Duration::from_secs(3) + LOOK).contains(&after), "{after:?}");
    }
}
