//! A file of which an older version has the name: only what that one lacks comes.

use super::nofollow;
use super::store::Target;
use crate::blocking::while_wanted;
use crate::client::request::{self, Answer, Lacking, Version};
use crate::client::source::{Session, Source};
use crate::client::trouble::Trouble;
use crate::delta::{Chunk, Deltas, LEAST, List, Old, READ_FOR_ONE, average_for, put_range, shortest};
use crate::failure::Failure;
use anyhow::{Context, anyhow, ensure};
use bytes::Bytes;
use cap_std::fs::File;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use pcc_net::url::Url;
use pcc_quic::http3::SendStream;
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;

/// Steps that are known in advance: 1.5 MiB, and 32 MB of chunks or more.
pub(super) const STEPS_AHEAD: usize = 1 << 16;

/// This file goes whole, for this reason.
#[derive(Debug, thiserror::Error)]
#[error("no part of the old file is used: {0:#}")]
pub(super) struct Whole(anyhow::Error);

impl Whole {
    /// Whatever is wrong with the chunks, the file itself may be had.
    pub(super) fn instead(trouble: Trouble) -> Trouble {
        match trouble {
            Trouble::Final(error) => Self::because(error),
            passing => passing,
        }
    }

    pub(super) fn because(error: anyhow::Error) -> Trouble {
        Trouble::Final(Self(error).into())
    }
}

/// The file that has the name now.
#[derive(Default)]
pub(super) enum Elder {
    /// Nothing of it can be used.
    #[default]
    None,
    /// It is being read.
    Reading {
        read: Arc<AtomicU64>,
        /// Bytes that had come when the first of it were read.
        came_before: Option<u64>,
        reading: JoinHandle<anyhow::Result<Known>>,
        always: bool,
    },
    Known {
        known: Arc<Known>,
        /// Whether parts of it are taken.
        is_used: bool,
    },
}

/// The chunks of the new file, as far as the server told them.
pub(super) struct Told {
    answer: Answer,
    list: List,
    size: u64,
    shortest: usize,
    /// The end of the chunks that were told.
    at: u64,
    is_all: bool,
}

/// Its chunks, and the leave to use them.
pub(super) struct Known {
    pub(super) old: Arc<Old>,
    _turn: OwnedSemaphorePermit,
}

impl Drop for Elder {
    fn drop(&mut self) {
        if let Self::Reading { reading, .. } = self {
            reading.abort();
        }
    }
}

impl Elder {
    /// Begins to read it, if parts of it may be used.
    pub(super) fn of(source: &Source, target: &Target, deltas: Deltas) -> Self {
        let (Target::File(path), Deltas::Always | Deltas::WhereTheyPay) = (target, deltas) else { return Self::None };
        let (path, turns, read) = (path.clone(), source.deltas(), Arc::new(AtomicU64::new(0)));
        let counted = read.clone();
        let reading = tokio::spawn(async move {
            let turn = turns.acquire_owned().await.context("no turn")?;
            let old = while_wanted(move |wanted| {
                let (file, average) = open(&path)?;
                Old::read(file, average, &counted, wanted)
            });
            Ok(Known { old: Arc::new(old.await?), _turn: turn })
        });
        Self::Reading { read, came_before: None, reading, always: deltas == Deltas::Always }
    }

    /// Its chunks, if they are to be used from here on; waits for them then.
    pub(super) async fn settled(&mut self) -> Option<Arc<Known>> {
        if let Self::Reading { always: true, .. } = self {
            self.read().await;
        }
        match self {
            Self::Known { known, is_used: true } => Some(known.clone()),
            _ => None,
        }
    }

    /// Its chunks, if they are known now; given up if reading it is no faster than so many bytes from the network.
    pub(super) async fn known_after(&mut self, came: u64) -> Option<Arc<Known>> {
        self.judge(came);
        if let Self::Reading { reading, .. } = self
            && reading.is_finished()
        {
            self.read().await;
        }
        match self {
            Self::Known { known, .. } => Some(known.clone()),
            Self::None | Self::Reading { .. } => None,
        }
    }

    /// Parts of it are worth it.
    pub(super) const fn use_it(&mut self) {
        if let Self::Known { is_used, .. } = self {
            *is_used = true;
        }
    }

    async fn read(&mut self) {
        let Self::Reading { reading, always, .. } = self else { return };
        let (read, is_used) = (reading.await.unwrap_or_else(|error| Err(error.into())), *always);
        *self = match read {
            Ok(known) => Self::Known { known: Arc::new(known), is_used },
            Err(error) => {
                tracing::debug!("no part of the old file is used: {error:#}");
                Self::None
            }
        };
    }

    /// Gives it up. From the first slice on: before, a busy computer may not have begun.
    fn judge(&mut self, came: u64) {
        let Self::Reading { read, came_before, always: false, .. } = self else { return };
        let read = read.load(Ordering::Relaxed);
        if read == 0 {
            return;
        }
        let since = came.saturating_sub(*came_before.get_or_insert(came));
        if since.saturating_mul(READ_FOR_ONE) > read {
            *self = Self::None;
        }
    }
}

/// Opens it, with the mean length of its chunks. Blocks.
fn open(path: &Path) -> anyhow::Result<(File, usize)> {
    let file = nofollow::open(path, OpenOptions::new().read(true))?;
    let size = file.metadata()?.len();
    ensure!(size >= LEAST, "it is small");
    Ok((File::from_std(file), average_for(size).context("it is too large")?))
}

/// The next bytes of the new file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// They are here, in the old one.
    Copy(Range<u64>),
    /// This number of bytes comes.
    Take(u64),
    /// This number of bytes came before.
    Skip(u64),
}

impl Told {
    /// The list that this answer is.
    ///
    /// Errors: the server names no version or size.
    pub(super) fn new(answer: Answer, old: &Old) -> Result<Self, Trouble> {
        match (&answer.version.etag, answer.version.size) {
            (Some(_), Some(size)) => {
                let (list, shortest) = (List::default(), shortest(old.average()));
                Ok(Self { answer, list, size, shortest, at: 0, is_all: false })
            }
            _ => Err(Whole::because(anyhow!("the server names no version"))),
        }
    }

    /// The version that it tells of.
    pub(super) const fn version(&self) -> &Version {
        &self.answer.version
    }

    /// Tells the next chunks to `each`.
    async fn next(&mut self, session: &Session, mut each: impl FnMut(Chunk)) -> Result<(), Trouble> {
        let part = self.answer.next(session).await.map_err(Whole::instead)?;
        self.is_all = part.is_none();
        self.list.push(&part.unwrap_or_default());
        while let Some(chunk) = self.list.next().map_err(garbled)? {
            self.at += u64::from(chunk.length);
            let is_whole = self.at <= self.size && (self.at == self.size || chunk.length as usize >= self.shortest);
            if !is_whole {
                return Err(garbled(crate::delta::Garbled));
            }
            each(chunk);
        }
        if self.is_all && (self.list.is_within() || self.at != self.size) {
            return Err(garbled(crate::delta::Garbled));
        }
        Ok(())
    }
}

/// Looks at the list while the file comes whole, until it shows that this is a waste.
pub(super) struct Scout {
    /// Bytes of the new file that are here.
    here: Arc<AtomicU64>,
    looking: JoinHandle<Result<Option<Scouted>, Trouble>>,
}

/// A list that is worth to be used, as far as it was read.
pub(super) struct Scouted {
    pub(super) told: Told,
    runs: Runs,
}

impl Drop for Scout {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

impl Scout {
    pub(super) fn new(session: &Arc<Session>, url: &Url, known: Arc<Known>, version: Version, here: u64) -> Self {
        let (session, url, here) = (session.clone(), url.clone(), Arc::new(AtomicU64::new(here)));
        let seen = here.clone();
        let looking = tokio::spawn(async move {
            let answer = request::chunks(&session, &url, known.old.average(), Some(&version)).await?;
            let told = Told::new(answer, &known.old)?;
            if !version.fits(told.version()) {
                return Ok(None); // the file that comes will tell
            }
            let (begun, at) = (Instant::now(), seen.load(Ordering::Relaxed));
            let Scouted { mut told, mut runs } = Scouted::nothing(told);
            let mut first = None;
            while !told.is_all && runs.runs.len() <= STEPS_AHEAD {
                told.next(&session, |chunk| runs.add(chunk.length.into(), known.old.find(chunk))).await?;
                let here = seen.load(Ordering::Relaxed);
                let (came_before, told_before) = *first.get_or_insert((here, told.at));
                let (came, covered) = (here - came_before, told.at - told_before);
                if covered > 0 && came.saturating_mul(READ_FOR_ONE) > covered {
                    return Ok(None);
                }
                // The change takes two round trips: one brings what nobody wants any more, and one nothing. At the beginning the rate still
                // grows.
                let rate = (here - at) as f64 / begun.elapsed().as_secs_f64().max(1e-6);
                let cost = 4.0 * rate * session.rtt().as_secs_f64();
                if runs.saves(here) as f64 > cost.max(LEAST as f64) {
                    return Ok(Some(Scouted { told, runs }));
                }
            }
            Ok(None)
        });
        Self { here, looking }
    }

    /// Tells it how much is here; whether it knows what to do.
    pub(super) fn is_done(&self, here: u64) -> bool {
        self.here.store(here, Ordering::Relaxed);
        self.looking.is_finished()
    }

    /// A list that is worth it; `None` if the file is to come whole.
    pub(super) async fn found(mut self) -> Option<Scouted> {
        match (&mut self.looking).await {
            Ok(Ok(found)) => found,
            Ok(Err(Trouble::Final(error) | Trouble::Passing(error))) => {
                tracing::debug!("{error:#}");
                None
            }
            Err(_) => None,
        }
    }
}

impl Scouted {
    /// A list that nobody has begun to read.
    pub(super) const fn nothing(told: Told) -> Self {
        Self { told, runs: Runs::new() }
    }
}

/// Bytes of the new file, and where the old one has them.
type Run = (u64, Option<u64>);

/// The chunks behind the bytes that are here, as few pieces as they make.
struct Runs {
    /// Where the first one begins.
    begin: u64,
    runs: VecDeque<Run>,
    /// Bytes of them that the old file has.
    saved: u64,
}

impl Runs {
    const fn new() -> Self {
        Self { begin: 0, runs: VecDeque::new(), saved: 0 }
    }

    /// The next chunk.
    fn add(&mut self, length: u64, place: Option<u64>) {
        self.saved += if place.is_some() { length } else { 0 };
        match (self.runs.back_mut(), place) {
            (Some((before, Some(begin))), Some(place)) if *begin + *before == place => *before += length,
            (Some((before, None)), None) => *before += length,
            _ => self.runs.push_back((length, place)),
        }
    }

    /// Bytes that the old file has of those that are not `here`. Forgets the others.
    fn saves(&mut self, here: u64) -> u64 {
        while let Some(&(length, place)) = self.runs.front().filter(|(length, _)| self.begin + length <= here) {
            self.begin += length;
            self.saved -= if place.is_some() { length } else { 0 };
            self.runs.pop_front();
        }
        let is_saved = self.runs.front().is_some_and(|(_, place)| place.is_some());
        self.saved - if is_saved { here.saturating_sub(self.begin) } else { 0 }
    }
}

/// Finds out what is to be done.
pub(super) struct Plan<'a> {
    pub(super) session: &'a Session,
    pub(super) old: &'a Old,
    /// Bytes of the new file that are here.
    pub(super) from: u64,
}

impl Plan<'_> {
    /// Reads the list of chunks, asks for those that are missing, and tells the steps. Answers the digest of the new file, if the server
    /// told it.
    pub(super) async fn make(
        &self,
        scouted: Scouted,
        mut asking: h3::client::RequestStream<SendStream, Bytes>,
        steps: mpsc::Sender<Step>,
    ) -> Result<Option<blake3::Hash>, Trouble> {
        let Scouted { mut told, runs } = scouted;
        let mut planned = Planned::from(self.from, runs.begin);
        runs.runs.into_iter().for_each(|(length, old)| planned.add(length, old));
        loop {
            planned.settle();
            // It is asked for before anybody waits for it.
            if !planned.wanted.is_empty() {
                let wanted = core::mem::take(&mut planned.wanted);
                // A server that takes no more answers less than is missing.
                let _ = asking.send_data(wanted.into()).await;
            }
            for step in planned.steps.drain(..) {
                let told = steps.send(step).await;
                told.map_err(|_| Trouble::Passing(anyhow!("nobody waits for it any more")))?;
            }
            if told.is_all {
                break;
            }
            told.next(self.session, |chunk| planned.add(chunk.length.into(), self.old.find(chunk))).await?;
        }
        let _ = asking.finish().await; // what is asked for is known without it
        told.answer.digest().await
    }
}

fn garbled(garbled: crate::delta::Garbled) -> Trouble {
    Whole::because(anyhow::Error::new(garbled).context(Failure::Integrity))
}

/// The steps so far.
struct Planned {
    /// Bytes of the new file that are planned.
    at: u64,
    /// The first that is missing.
    from: u64,
    last: Option<Step>,
    /// The end of what was asked for.
    asked: u64,
    /// Ranges that are to be asked for.
    wanted: Vec<u8>,
    steps: Vec<Step>,
}

impl Planned {
    /// Steps to the bytes `from` on, of chunks that begin `at`.
    const fn from(from: u64, at: u64) -> Self {
        Self { at, from, last: None, asked: 0, wanted: Vec::new(), steps: Vec::new() }
    }

    /// The next chunk, or more of them, and where the old file has it.
    fn add(&mut self, length: u64, old: Option<u64>) {
        let (begin, end) = (self.at, self.at + length);
        // An earlier attempt had these.
        let skipped = self.from.saturating_sub(begin).min(length);
        if skipped > 0 {
            self.at = begin + skipped;
            match &mut self.last {
                Some(Step::Skip(bytes)) => *bytes += skipped,
                _ => {
                    self.settle();
                    self.last = Some(Step::Skip(skipped));
                }
            }
        }
        let left = length - skipped;
        if left == 0 {
            return;
        }
        match (&mut self.last, old.map(|place| place + skipped)) {
            (Some(Step::Copy(range)), Some(place)) if range.end == place => range.end += left,
            (Some(Step::Take(bytes)), None) => *bytes += left,
            (_, place) => {
                self.settle();
                self.last = Some(place.map_or(Step::Take(left), |place| Step::Copy(place..place + left)));
            }
        }
        self.at = end;
    }

    /// The last step ends here.
    fn settle(&mut self) {
        let Some(step) = self.last.take() else { return };
        if let Step::Take(bytes) = step {
            put_range(&mut self.wanted, self.asked, &(self.at - bytes..self.at));
            self.asked = self.at;
        }
        self.steps.push(step);
    }
}

/// The bytes that are missing, as they come.
pub(super) struct Missing<'a> {
    session: &'a Session,
    lacking: Lacking,
    /// Come, and not taken yet.
    rest: Bytes,
}

impl<'a> Missing<'a> {
    pub(super) const fn new(session: &'a Session, lacking: Lacking) -> Self {
        Self { session, lacking, rest: Bytes::new() }
    }

    /// The next ones, `most` of them or fewer. May be dropped while it waits, and called again.
    pub(super) async fn next(&mut self, most: u64) -> Result<Bytes, Trouble> {
        while self.rest.is_empty() {
            let part = self.lacking.next(self.session).await.map_err(Whole::instead)?;
            self.rest = part.ok_or_else(|| Whole::because(anyhow!("the server sends less than was asked for")))?;
        }
        let length = self.rest.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(self.rest.split_to(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Ranges;
    use proptest::prelude::*;

    #[tokio::test]
    async fn an_old_file_is_judged_from_its_first_slice_on() {
        let (read, reading) = (Arc::new(AtomicU64::new(0)), tokio::spawn(core::future::pending()));
        let mut elder = Elder::Reading { read: read.clone(), came_before: None, reading, always: false };
        for (came, has_read, is_read) in [(50, 0, true), (60, 4, true), (61, 10, true), (62, 20, true), (63, 20, false)]
        {
            read.store(has_read << 20, Ordering::Relaxed);
            elder.judge(came << 20);
            assert_eq!(matches!(elder, Elder::Reading { .. }), is_read, "{came} MiB came, {has_read} are read");
        }
    }

    proptest! {
        #[test]
        fn what_is_saved_is_what_the_old_file_has_of_the_rest(
            chunks in prop::collection::vec((1..50u64, prop::option::of(0..400u64)), 0..40),
            here in prop::collection::vec(0..100u64, 40),
        ) {
            let (mut runs, mut has, mut at) = (Runs::new(), Vec::new(), 0);
            for ((length, old), came) in chunks.into_iter().zip(here) {
                runs.add(length, old);
                has.extend((0..length).map(|_| old.is_some()));
                at = has.len().min(at + came as usize);
                let due = has[at..].iter().filter(|has| **has).count();
                prop_assert_eq!(runs.saves(at as u64), due as u64);
                let kept: u64 = runs.runs.iter().map(|(length, _)| length).sum();
                prop_assert_eq!(runs.begin + kept, has.len() as u64);
            }
        }

        #[test]
        fn steps_are_the_new_file_from_anywhere(
            chunks in prop::collection::vec((1..50u32, prop::option::of(0..400u64)), 0..40), from in 0..500u64,
            settled in prop::collection::vec(any::<bool>(), 40),
        ) {
            let mut planned = Planned::from(from, 0);
            let mut due = Vec::new(); // each byte: where it is in the old file, or in the new one
            for ((length, old), settle) in chunks.into_iter().zip(settled) {
                let at = planned.at;
                due.extend((0..u64::from(length)).map(|byte| old.map_or(Err(at + byte), |old| Ok(old + byte))));
                planned.add(length.into(), old);
                if settle {
                    planned.settle();
                }
            }
            planned.settle();
            let mut asked = Ranges::within(planned.at);
            asked.push(&planned.wanted);
            let (mut made, mut skipped) = (Vec::new(), 0);
            for step in planned.steps {
                match step {
                    Step::Skip(bytes) => skipped += bytes,
                    Step::Copy(range) => made.extend(range.map(Ok)),
                    Step::Take(bytes) => {
                        let range = asked.next().unwrap().unwrap();
                        prop_assert_eq!(range.end - range.start, bytes);
                        made.extend(range.map(Err));
                    }
                }
            }
            prop_assert!(!asked.is_within());
            prop_assert_eq!(skipped, from.min(due.len() as u64));
            prop_assert_eq!(made, due.split_off(due.len().min(from as usize)));
        }
    }
}
