//! A file of which the server has an older version: only what that one lacks is sent.

use crate::client::request::{self, Version};
use crate::client::source::{Session, Source};
use crate::client::trouble::Trouble;
use crate::coding;
use crate::delta::{Chunk, Cuts, Deltas, LEAST, List, READ_FOR_ONE, average_for, longest, shortest};
use anyhow::{anyhow, ensure};
use bytes::{Buf, Bytes, BytesMut};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use pcc_net::url::Url;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// While the server reads, more is sent as soon as no more than this waits to leave: the network is not kept waiting.
const BEGIN: u64 = 64 << 10;

/// How often to look what has left. A timer may come a millisecond late, and more than a few looks' worth is never held back.
const LOOK: Duration = Duration::from_millis(2);

/// The old file at the server.
pub(super) struct Base {
    /// Its entity tag.
    pub(super) tag: String,
    listed: Arc<Listed>,
    average: usize,
    always: bool,
    listing: JoinHandle<()>,
    /// The leave to keep them.
    _turn: Arc<OnceLock<OwnedSemaphorePermit>>,
}

/// Its chunks, as far as they are known.
#[derive(Default)]
struct Listed {
    /// The place of each, by name.
    chunks: Mutex<HashMap<u64, u64>>,
    /// Bytes that they are.
    covered: AtomicU64,
    /// The bytes that had left when the first ones came, and those that these cover.
    begun: OnceLock<(u64, u64)>,
    /// How it came that there are no more.
    end: OnceLock<End>,
    told: Notify,
}

/// How a list ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It has all chunks.
    Whole,
    /// It may be asked for again.
    Broken,
    /// The network is faster than the server reads.
    GivenUp,
}

impl Drop for Base {
    fn drop(&mut self) {
        self.listing.abort();
    }
}

impl Base {
    /// Begins to ask for its chunks, if a file of this size may be put together of them.
    pub(super) fn of(source: &Source, session: &Arc<Session>, url: &Url, tag: String, size: u64) -> Option<Self> {
        let (deltas, average) = (source.keeps().deltas, average_for(size)?);
        if deltas == Deltas::Never || size < LEAST {
            return None;
        }
        let (listed, turns, turn) = (Arc::new(Listed::default()), source.deltas(), Arc::new(OnceLock::new()));
        let (session, url, version) =
            (session.clone(), url.clone(), Version { etag: Some(tag.clone()), ..Version::default() });
        let (filled, taken) = (listed.clone(), turn.clone());
        let listing = tokio::spawn(async move {
            if let Ok(turn) = turns.acquire_owned().await {
                let _ = taken.set(turn); // once
            }
            let outcome = list(&session, &url, average, &version, &filled).await;
            if let Err(Trouble::Passing(why) | Trouble::Final(why)) = &outcome {
                tracing::debug!("no further part of the old file is used: {why:#}");
            }
            let _ = filled.end.set(if outcome.is_ok() { End::Whole } else { End::Broken }); // once
            filled.told.notify_one();
        });
        Some(Self { tag, listed, average, always: deltas == Deltas::Always, listing, _turn: turn })
    }

    /// Whether to ask for it again.
    pub(super) fn has_failed(&self) -> bool {
        self.listed.end.get() == Some(&End::Broken)
    }

    /// Whether the whole file is sent sooner.
    pub(super) fn is_given_up(&self) -> bool {
        self.listed.is_given_up()
    }

    /// Waits for the chunks as long as the network has something to do, or in any case if they are to be used in any case. `sent` tells the bytes
    /// that have left by now, and those that wait to leave.
    pub(super) async fn wait(&self, sent: impl Fn() -> (u64, u64)) {
        let mut before = None;
        while self.listed.end.get().is_none() {
            if !self.always {
                let (left, waiting) = sent();
                self.judge(left);
                // Between two looks a fast network takes more than that.
                let taken = left - before.replace(left).unwrap_or(left);
                if waiting <= BEGIN.max(4 * taken) {
                    return;
                }
            }
            let _ = timeout(LOOK, self.listed.told.notified()).await;
        }
    }

    /// Gives up what the server reads, if it reads no faster than that. From the first chunks on: before, it had not begun, as far as anybody
    /// knows here.
    fn judge(&self, left: u64) {
        let covered = self.listed.covered.load(Ordering::Relaxed);
        if covered == 0 {
            return;
        }
        let (left_before, covered_before) = *self.listed.begun.get_or_init(|| (left, covered));
        let (left, covered) = (left - left_before, covered - covered_before);
        if covered > 0 && left.saturating_mul(READ_FOR_ONE) > covered {
            self.listing.abort();
            let _ = self.listed.end.set(End::GivenUp);
        }
    }

    /// The differences of a file, read from anywhere in it.
    pub(super) fn differences(&self) -> Differences {
        Differences { listed: self.listed.clone(), average: self.average, window: BytesMut::new() }
    }
}

impl Listed {
    fn is_given_up(&self) -> bool {
        self.end.get() == Some(&End::GivenUp)
    }
}

async fn list(session: &Session, url: &Url, average: usize, version: &Version, listed: &Listed) -> Result<(), Trouble> {
    let mut answer = request::chunks(session, url, average, Some(version)).await?;
    let size = answer.version.size.unwrap_or(0);
    let (mut list, mut at) = (List::default(), 0);
    loop {
        let part = answer.next(session).await?;
        let is_end = part.is_none();
        list.push(&part.unwrap_or_default());
        let mut chunks = listed.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(chunk) = list.next().map_err(anyhow::Error::from)? {
            chunks.entry(chunk.name).or_insert(at);
            at += u64::from(chunk.length);
            check(at, size, chunk, average, chunks.len())?;
        }
        drop(chunks);
        listed.covered.store(at, Ordering::Relaxed);
        listed.told.notify_one();
        if is_end && (list.is_within() || at != size) {
            return Err(anyhow!(crate::delta::Garbled).into());
        }
        if is_end {
            return Ok(());
        }
    }
}

/// Chunks that are kept of a server's file: their names and places take some 70 MB at most.
const MOST: usize = 2 << 20;

fn check(at: u64, size: u64, chunk: Chunk, average: usize, known: usize) -> anyhow::Result<()> {
    let is_long = at == size || chunk.length as usize >= shortest(average);
    ensure!(at <= size && is_long && known <= MOST, crate::delta::Garbled);
    Ok(())
}

/// A part of the new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The old one has it there.
    Copy(Range<u64>),
    Bytes(Bytes),
}

/// Cuts what is read into what the server has and what it lacks.
pub(super) struct Differences {
    listed: Arc<Listed>,
    average: usize,
    /// Read, and not cut yet.
    window: BytesMut,
}

impl Differences {
    /// The parts that are certain with these bytes; behind the last ones, all. Takes a processor some milliseconds for a mebibyte.
    pub(super) fn push(&mut self, piece: Bytes, is_end: bool) -> Vec<Part> {
        if self.listed.is_given_up() {
            // The rest of the window goes first.
            let rest = core::mem::take(&mut self.window).freeze();
            return [rest, piece].into_iter().filter(|bytes| !bytes.is_empty()).map(Part::Bytes).collect();
        }
        self.window.extend_from_slice(&piece);
        let mut cuts = Vec::new();
        let certain =
            if is_end { self.window.len() } else { (self.window.len() + 1).saturating_sub(longest(self.average)) };
        Cuts::each(&self.window, self.average, certain, |range| {
            let content = self.window.get(range.clone()).unwrap_or_default();
            cuts.push((range.len(), Chunk::of(content)));
        });
        let known = self.listed.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parts: Vec<Part> = Vec::new();
        // Bytes of the window that the server lacks, and that no part has yet.
        let mut lacked = 0;
        for (length, chunk) in cuts {
            let place = known.get(&chunk.name).copied();
            // Short frames compress badly.
            if lacked > 0 && (place.is_some() || lacked + length > coding::MOST) {
                parts.push(Part::Bytes(self.window.split_to(lacked).freeze()));
                lacked = 0;
            }
            let Some(place) = place else {
                lacked += length;
                continue;
            };
            self.window.advance(length);
            match parts.last_mut() {
                Some(Part::Copy(range)) if range.end == place => range.end += length as u64,
                _ => parts.push(Part::Copy(place..place + length as u64)),
            }
        }
        if lacked > 0 {
            parts.push(Part::Bytes(self.window.split_to(lacked).freeze()));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noise(size: usize, seed: u8) -> Vec<u8> {
        let mut data = vec![0; size];
        blake3::Hasher::new().update(&[seed]).finalize_xof().fill(&mut data);
        data
    }

    #[tokio::test]
    async fn a_server_is_judged_from_its_first_chunks_on() {
        let listing = tokio::spawn(core::future::pending());
        let (listed, _turn) = Default::default();
        let base = Base { tag: String::new(), listed, average: 4096, always: false, listing, _turn };
        for (left, covered, is_given_up) in
            [(50, 0, false), (60, 16, false), (67, 96, false), (76, 176, false), (77, 176, true)]
        {
            base.listed.covered.store(covered << 20, Ordering::Relaxed);
            base.judge(left << 20);
            assert_eq!(base.is_given_up(), is_given_up, "{left} MiB have left, {covered} are read");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_old_file_and_the_differences_are_the_new_one(
            keep in prop::collection::vec((0..1_000_000usize, 0..200_000usize, 0..5_000usize), 0..6),
            step in 1..400_000usize, from in 0..300_000usize, given_up in prop::option::of(0..4usize),
        ) {
            let old = noise(1_000_000, 0);
            let mut new = Vec::new();
            for (number, (begin, length, other)) in keep.into_iter().enumerate() {
                new.extend_from_slice(&old[begin..old.len().min(begin + length)]);
                new.extend(noise(other, number as u8 + 1));
            }
            let (listed, mut place) = (Arc::new(Listed::default()), 0);
            Cuts::each(&old, 4096, old.len(), |range| {
                let name = Chunk::of(&old[range.clone()]).name;
                listed.chunks.lock().unwrap().insert(name, place);
                place += range.len() as u64;
            });
            let mut differences = Differences { listed, average: 4096, window: BytesMut::new() };
            let new = &new[from.min(new.len())..];
            let mut parts = Vec::new();
            for (number, piece) in new.chunks(step).enumerate() {
                if Some(number) == given_up {
                    differences.listed.end.set(End::GivenUp).unwrap();
                }
                parts.extend(differences.push(Bytes::copy_from_slice(piece), false));
            }
            parts.extend(differences.push(Bytes::new(), true));
            let mut made = Vec::new();
            for part in parts {
                match part {
                    Part::Copy(range) => made.extend_from_slice(&old[range.start as usize..range.end as usize]),
                    Part::Bytes(bytes) => {
                        prop_assert!((1..=coding::MOST).contains(&bytes.len()), "a frame has room for it");
                        made.extend_from_slice(&bytes);
                    }
                }
            }
            prop_assert!(made == new);
        }
    }
}
