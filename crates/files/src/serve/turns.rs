//! The turns of a connection's requests: how many are answered side by side, and what happens when all of them wait for their client.

use core::pin::pin;
use core::time::Duration;
use futures_util::poll;
use noq::Connection;
use pcc::units::Bytes;
use pcc_quic::transport::receive_credit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

/// Requests that are read and answered side by side: enough to fill the gaps between small files. It bounds the bytes that are held of
/// their heads and read ahead of their bodies. Further ones wait unread.
const AT_A_TIME: usize = 16;

/// Credit that counts as none: some clients send no packet that is not full.
const PACKET: Bytes = Bytes::new(1500);

/// How often to look for credit while all requests wait. Data that arrives for a request without a turn takes credit, and nobody hears of it.
const LOOK: Duration = Duration::from_millis(20);

/// The turns of one connection's requests.
///
/// Bodies of requests that wait for a turn hold credit of the connection. Once they hold all of it, the requests that have turns get no more
/// data, and would keep their turns for ever. One more request then gets a turn: reading its body gives credit back. So the client
/// can go on, however small the connection's window is. Only four heads that came in part hold up the others, until they take too long.
#[derive(Debug)]
pub(super) struct Turns {
    free: Semaphore,
    counts: Mutex<Counts>,
    /// All requests have begun to wait for their client.
    rested: Notify,
}

#[derive(Debug, Default)]
struct Counts {
    /// Requests that have a turn.
    taken: usize,
    /// Those of them that wait for their client.
    resting: usize,
    /// Requests that wait for a turn.
    waiting: usize,
    /// Turns beyond the usual.
    extra: usize,
}

impl Counts {
    /// Whether all turns are taken by requests that wait for their client, and others wait for these turns.
    const fn all_rest(&self) -> bool {
        self.waiting > 0 && self.taken == AT_A_TIME + self.extra && self.resting == self.taken
    }
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { free: Semaphore::new(AT_A_TIME), counts: Mutex::default(), rested: Notify::new() }
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts();
        change(&mut counts);
        if counts.all_rest() {
            self.rested.notify_one();
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn.
    pub(super) async fn turn(self: Arc<Self>) -> Turn {
        let waiting = Counted::new(&self, |counts| &mut counts.waiting);
        // Never closed, so there is always a permit to come.
        if let Ok(permit) = self.free.acquire().await {
            permit.forget();
        }
        drop(waiting);
        self.change(|counts| counts.taken += 1);
        Turn(self)
    }

    /// Waits until nothing can go on without a further turn.
    pub(super) async fn are_starved(&self, connection: &Connection) {
        loop {
            if !self.counts().all_rest() {
                self.rested.notified().await;
            } else if receive_credit(connection).is_none_or(|credit| credit < PACKET) {
                return;
            } else {
                let _ = timeout(LOOK, self.rested.notified()).await;
            }
        }
    }

    /// One turn more, until one ends.
    pub(super) fn extend(&self) {
        self.counts().extra += 1;
        self.free.add_permits(1);
    }

    /// Turns beyond the usual.
    pub(super) fn extra(&self) -> usize {
        self.counts().extra
    }
}

/// A request that waits, for its turn or for its client, and is counted meanwhile.
struct Counted<'a> {
    turns: &'a Turns,
    count: fn(&mut Counts) -> &mut usize,
}

impl<'a> Counted<'a> {
    fn new(turns: &'a Turns, count: fn(&mut Counts) -> &mut usize) -> Self {
        turns.change(|counts| *count(counts) += 1);
        Self { turns, count }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *(self.count)(&mut self.turns.counts()) -= 1;
    }
}

/// A request's turn, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<Turns>);

impl Turn {
    /// Does what waits for the client.
    pub(super) async fn rest<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Poll::Ready(done) = poll!(work.as_mut()) {
            return done;
        }
        let _resting = Counted::new(&self.0, |counts| &mut counts.resting);
        work.await
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut is_usual = true;
        self.0.change(|counts| {
            counts.taken -= 1;
            is_usual = counts.extra == 0;
            counts.extra = counts.extra.saturating_sub(1);
        });
        if is_usual {
            self.0.free.add_permits(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::future::pending;
    use futures_util::FutureExt;

    fn turn(turns: &Arc<Turns>) -> Option<Turn> {
        turns.clone().turn().now_or_never()
    }

    #[tokio::test]
    async fn turn_is_added_when_all_wait_and_taken_back_at_an_end() {
        let turns = Arc::new(Turns::new());
        let mut taken: Vec<_> = (0..AT_A_TIME).map(|_| Arc::new(turn(&turns).unwrap())).collect();
        assert!(turn(&turns).is_none());
        let rest = |turn: &Arc<Turn>| {
            let turn = turn.clone();
            tokio::spawn(async move { turn.rest(pending::<()>()).await })
        };
        let mut resting: Vec<_> = taken[1..].iter().map(rest).collect();
        let waiting = tokio::spawn(turns.clone().turn());
        tokio::task::yield_now().await;
        assert!(!turns.counts().all_rest(), "one has something to do");
        resting.push(rest(&taken[0]));
        tokio::task::yield_now().await;
        assert!(turns.counts().all_rest());
        turns.extend();
        assert!(!turns.counts().all_rest(), "a turn is on its way");
        taken.push(Arc::new(waiting.await.unwrap()));
        assert_eq!((turns.extra(), turns.counts().taken), (1, AT_A_TIME + 1));
        for resting in resting {
            resting.abort();
            let _ = resting.await;
        }
        taken.pop();
        assert!(turns.extra() == 0 && turn(&turns).is_none(), "as many as usual");
        taken.pop();
        assert!(turn(&turns).is_some());
        drop(taken);
        let counts = turns.counts();
        assert_eq!((counts.taken, counts.resting, counts.waiting), (0, 0, 0));
    }
}
