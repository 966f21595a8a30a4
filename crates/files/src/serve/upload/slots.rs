//! The writers of uploads, and the state of an upload between two requests.

use crate::serve::path::SafePath;
use blake3::Hasher;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::{MutexGuard, watch};

/// Uploads that requests are busy with, or whose hash is remembered.
const MOST: usize = 1024;

pub(super) type Key = (SafePath, String);

/// The uploads that somebody is busy with, or was lately.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
}

#[derive(Debug)]
struct Slot {
    /// Held by the request that writes; the hash of what is there passes from one to the next.
    turn: tokio::sync::Mutex<Option<Hasher>>,
    /// Each request ends the one before it, whose connection may be long dead without our knowing.
    latest: watch::Sender<Latest>,
    used: Mutex<Instant>,
}

/// The latest request for an upload.
#[derive(Clone, Copy, Debug)]
struct Latest {
    number: u64,
    arrived: Instant,
}

/// Why a request gets no part in an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoClaim {
    /// Too many are under way.
    Crowded,
    /// A request that arrived later has it.
    Superseded,
}

/// A request's part in an upload. While anybody has one, all others get theirs in the same upload, so that never two
/// write at a time; the last one to go takes the upload from the book, unless a hash is to be remembered.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    slots: &'a Slots,
    key: Key,
    slot: Arc<Slot>,
    number: u64,
}

impl Slots {
    /// Claims an upload for a request that arrived then, and ends the requests for it that came earlier. Requests wait for their turn,
    /// those of a dead connection until a new one has ended the first of them: they must not take over in turn.
    pub(super) fn claim(&self, path: &SafePath, id: &str, arrived: Instant) -> Result<Claim<'_>, NoClaim> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (path.clone(), id.to_owned());
        if !slots.contains_key(&key) && slots.len() >= MOST {
            // Only a hash is lost with it: whoever goes on with that upload waits until it was read again.
            let idle = slots.iter().filter(|(_, slot)| Arc::strong_count(slot) == 1);
            let oldest = idle.min_by_key(|(_, slot)| slot.used()).map(|(key, _)| key.clone());
            let oldest = oldest.ok_or(NoClaim::Crowded)?;
            slots.remove(&oldest);
        }
        let slot = slots.entry(key.clone()).or_insert_with(|| {
            let (turn, latest) = (tokio::sync::Mutex::new(None), watch::Sender::new(Latest { number: 0, arrived }));
            Arc::new(Slot { turn, latest, used: Mutex::new(Instant::now()) })
        });
        let slot = slot.clone();
        let Latest { number, arrived: latest } = *slot.latest.borrow();
        if arrived < latest {
            return Err(NoClaim::Superseded);
        }
        let number = number + 1;
        slot.latest.send_replace(Latest { number, arrived });
        Ok(Claim { slots: self, key, slot, number })
    }
}

impl Slots {
    /// Claims an upload that nobody took up since request `number` ended. `None` if somebody did.
    pub(super) fn claim_after(&self, path: &SafePath, id: &str, number: u64) -> Option<Claim<'_>> {
        {
            let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            // One that is not in the book is nobody's.
            let slot = slots.get(&(path.clone(), id.to_owned()));
            if slot.is_some_and(|slot| Arc::strong_count(slot) > 1 || slot.latest.borrow().number != number) {
                return None;
            }
        }
        // A request that comes right now waits for the turn, and then finds that nothing is there, as a moment later.
        self.claim(path, id, Instant::now()).ok()
    }
}

impl Slot {
    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim<'_> {
    /// The right to write, and the hash of what is there, if it is known.
    pub(super) async fn turn(&self) -> MutexGuard<'_, Option<Hasher>> {
        self.slot.turn.lock().await
    }

    /// The number of this request among those for the upload.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Waits until a later request takes over.
    pub(super) async fn superseded(&self) {
        // We hold what counts them, so this cannot fail.
        let _ = self.slot.latest.subscribe().wait_for(|latest| latest.number != self.number).await;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut slots = self.slots.slots.lock().unwrap_or_else(PoisonError::into_inner);
        *self.slot.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        // The book's and ours: nobody else can come in while the book is locked.
        let is_last = Arc::strong_count(&self.slot) == 2;
        if is_last && self.slot.turn.try_lock().is_ok_and(|hash| hash.is_none()) {
            slots.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> SafePath {
        SafePath::parse(text).unwrap()
    }

    fn count(slots: &Slots) -> usize {
        slots.slots.lock().unwrap().len()
    }

    #[tokio::test]
    async fn an_upload_that_comes_to_nothing_leaves_nothing() {
        let slots = Slots::default();
        for number in 0..3 * MOST {
            let claim = slots.claim(&path("/file"), &number.to_string(), Instant::now()).expect("there is room");
            drop(claim.turn().await);
        }
        assert_eq!(count(&slots), 0);
    }

    #[tokio::test]
    async fn two_clients_of_an_upload_share_its_end() {
        let slots = Slots::default();
        let first = slots.claim(&path("/file"), "id", Instant::now()).unwrap();
        let waiting = slots.claim(&path("/file"), "id", Instant::now()).unwrap();
        drop(first);
        let third = slots.claim(&path("/file"), "id", Instant::now()).unwrap();
        assert!(Arc::ptr_eq(&waiting.slot, &third.slot));
        let _turn = waiting.turn().await;
        assert!(third.slot.turn.try_lock().is_err(), "never two at a time");
        waiting.superseded().await;
    }

    #[tokio::test]
    async fn an_upload_that_somebody_took_up_is_nobody_elses() {
        let slots = Slots::default();
        let first = slots.claim(&path("/file"), "id", Instant::now()).unwrap();
        let number = first.number();
        assert!(slots.claim_after(&path("/file"), "id", number).is_none(), "the first is at it");
        *first.turn().await = Some(Hasher::new());
        drop(first);
        assert!(slots.claim_after(&path("/file"), "id", number - 1).is_none(), "there was a later one");
        assert!(slots.claim_after(&path("/file"), "id", number).is_some());
        assert!(slots.claim_after(&path("/file"), "id", number).is_none(), "that was the later one");
    }

    #[tokio::test]
    async fn remembered_hashes_give_way_and_requests_under_way_do_not() {
        let slots = Slots::default();
        for number in 0..2 * MOST {
            let claim = slots.claim(&path("/file"), &number.to_string(), Instant::now()).unwrap();
            *claim.turn().await = Some(Hasher::new());
        }
        assert_eq!(count(&slots), MOST);
        let busy: Vec<_> =
            (0..MOST).map(|n| slots.claim(&path("/busy"), &n.to_string(), Instant::now()).unwrap()).collect();
        let one_more = || slots.claim(&path("/file"), "one more", Instant::now());
        assert_eq!(one_more().err(), Some(NoClaim::Crowded));
        drop(busy);
        assert!(one_more().is_ok());
    }

    #[tokio::test]
    async fn a_request_that_waited_takes_nothing_from_a_later_one() {
        let (slots, before) = (Slots::default(), Instant::now());
        let later = slots.claim(&path("/file"), "id", Instant::now()).unwrap();
        assert_eq!(slots.claim(&path("/file"), "id", before).err(), Some(NoClaim::Superseded));
        let latest = slots.claim(&path("/file"), "id", Instant::now()).unwrap();
        later.superseded().await;
        assert_eq!((later.number(), latest.number()), (1, 2));
    }
}
