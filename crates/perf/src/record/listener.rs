//! The datagrams of the train that is under way, as they arrive.

use super::train::{self, Train};
use noq::{Connection, ConnectionError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Hears one train at a time.
#[derive(Debug)]
pub(super) struct Listener {
    /// Arrivals are counted from here.
    epoch: Instant,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    number: u32,
    /// For each datagram that arrived when it left and when it came.
    came: Vec<Option<(f64, f64)>>,
    count: usize,
}

impl Listener {
    pub(super) fn new(epoch: Instant) -> Self {
        Self { epoch, open: Mutex::default() }
    }

    /// Hears this connection's datagrams until it ends.
    pub(super) async fn run(&self, connection: &Connection) -> ConnectionError {
        loop {
            let datagram = match connection.read_datagram().await {
                Ok(datagram) => datagram,
                Err(error) => return error,
            };
            let now = self.epoch.elapsed().as_secs_f64();
            if let Some((number, place, sent)) = train::read(&datagram) {
                self.open().came(number, place, sent, now);
            }
        }
    }

    /// From now on this train is heard, and none before it.
    pub(super) fn expect(&self, number: u32, train: Train) {
        *self.open() = Open { number, came: vec![None; train.packets as usize], count: 0 };
    }

    /// Whether all of it has come.
    pub(super) fn is_complete(&self) -> bool {
        let open = self.open();
        open.count == open.came.len()
    }

    /// Its datagrams that have come. It is heard no longer.
    pub(super) fn take(&self) -> Vec<Option<(f64, f64)>> {
        std::mem::take(&mut *self.open()).came
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn came(&mut self, number: u32, place: u32, sent: f64, now: f64) {
        if number != self.number {
            return;
        }
        if let Some(slot @ None) = self.came.get_mut(place as usize) {
            *slot = Some((sent, now));
            self.count += 1;
        }
    }
}
