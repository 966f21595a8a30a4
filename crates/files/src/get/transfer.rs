//! One file, from the first request to its final name.

use super::delta::{Elder, Known, Missing, Plan, STEPS_AHEAD, Scout, Scouted, Step, Told, Whole};
use super::journal::Header;
use super::store::{self, Left, Store, Target};
use crate::attributes::Attributes;
use crate::blocking::{off_thread, while_wanted};
use crate::choice::Backup;
use crate::client::names;
use crate::client::patience::Patience;
use crate::client::request::{self, Answer, Changed, Head, OtherPart, Version};
use crate::client::source::{Session, Source};
use crate::client::trouble::{Refused, Trouble};
use crate::client::watch::Started;
use crate::delta::{Deltas, LEAST};
use crate::failure::Failure;
use crate::moved::Moved;
use anyhow::{Context, anyhow};
use bytes::Bytes;
use core::ops::Range;
use core::time::Duration;
use futures_util::FutureExt;
use pcc_net::url::Url;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{SemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Bytes handed to the disk at a time: large enough for fast hashing and few trips to another thread, small enough to be
/// in the processor's cache until it is written. A divisor of the journal's block.
const BATCH: usize = 256 << 10;

/// A batch that fills more slowly goes to the disk as it is.
const GATHERING: Duration = Duration::from_millis(10);

/// Batches that may wait for the disk: 8 MiB, what a disk is slow to take at a time.
const WAITING: usize = 32;

/// A file of which every byte is here and right. It has no name yet.
pub(super) struct Arrived<'a> {
    store: Store,
    attributes: Attributes,
    begun: Instant,
    moved: Moved,
    _turn: Option<SemaphorePermit<'a>>,
}

impl Arrived<'_> {
    /// Gives it its name; the file that has it now may be kept.
    pub(super) async fn publish(self, backup: Option<Backup>) -> anyhow::Result<Moved> {
        let Self { store, attributes, begun, moved, .. } = self;
        off_thread(move || store.publish(attributes, backup.as_ref())).await?;
        Ok(Moved { seconds: begun.elapsed().as_secs_f64(), ..moved })
    }
}

/// Fetches one file from a source that may have others.
pub(super) async fn transfer(source: &Source, url: &Url, target: &Target) -> anyhow::Result<Moved> {
    arrive(source, url, target).await?.publish(None).await
}

/// Fetches one file, to its last byte.
pub(super) async fn arrive<'a>(source: &'a Source, url: &Url, target: &Target) -> anyhow::Result<Arrived<'a>> {
    match attempt(source, url, target, source.keeps().deltas).await? {
        Some(arrived) => Ok(arrived),
        None => {
            source.watch().note(&format!("{} is put together wrongly of the old one: it comes whole", url.short()));
            attempt(source, url, target, Deltas::Never).await?.context("a whole file is no part of another")
        }
    }
}

/// The same; `None` if parts of the old file do not belong to the new one.
async fn attempt<'a>(
    source: &'a Source,
    url: &Url,
    target: &Target,
    deltas: Deltas,
) -> anyhow::Result<Option<Arrived<'a>>> {
    let begun = Instant::now();
    let mut arriving = Arriving::of(source, url, target, deltas).await?;
    let outcome = arriving.all().await;
    let stored = arriving.stored().await;
    let store = match (outcome, stored) {
        // The disk's state explains why the network could not go on.
        (_, Err(error)) => return Err(error),
        (Ok(()), Ok(Some(store))) => store,
        (Ok(()), Ok(None)) => return Err(anyhow!("nothing arrived of {}", url.short())),
        (Err(error), Ok(_)) => return Err(error),
    };
    let (bytes, digest) = (store.at(), store.digest());
    let promised = arriving.promised(digest).await?;
    let verified = promised.is_some();
    // The names of chunks are no proof: without a digest nothing is put together of an old file.
    if arriving.kept > 0 && promised != Some(digest) {
        store.discard();
        return Ok(None);
    }
    if promised.is_some_and(|promised| promised != digest) {
        store.discard();
        return Err(damaged(url, target, digest));
    }
    let resumed_from = arriving.resumed_from + arriving.kept;
    let moved = Moved { bytes, digest, verified, seconds: 0.0, resumed_from };
    let (attributes, turn) = (arriving.attributes(), arriving.turn.take());
    Ok(Some(Arrived { store, attributes, begun, moved, _turn: turn }))
}

fn damaged(url: &Url, target: &Target, digest: blake3::Hash) -> anyhow::Error {
    let what = format!("{} arrived damaged: its BLAKE3 is {digest}, not the server's", url.short());
    let next = if matches!(target, Target::Stdout) { "do not use what was written" } else { "nothing was kept" };
    anyhow!("{what}; {next}, run the command again").context(Failure::Integrity)
}

/// Goes on with what an earlier run left, if the source is still the same.
async fn resumed(source: &Source, url: &Url, target: &Target) -> anyhow::Result<Option<(Store, Version)>> {
    let looked = target.clone();
    let (Some(mut left), Target::File(path)) = (off_thread(move || store::left(&looked)).await?, target) else {
        return Ok(None);
    };
    let version = request::ask(source, url, false).await?.version;
    let whole = Header::of(url, &version);
    let is_whole = match (left.header(), whole) {
        (None, Some(whole)) => lacks_only_its_name(source, url, &mut left, whole).await?,
        (None, None) => false,
        (Some(header), whole) if whole.as_ref() == Some(header) => false,
        (Some(_), _) => {
            source.watch().note(&anew(url));
            return Ok(None);
        }
    };
    let checked_path = path.clone();
    let Some(checked) = while_wanted(move |wanted| left.check(&checked_path, wanted)).await? else { return Ok(None) };
    if let Some(place) = checked.damaged_at.filter(|_| !is_whole) {
        let path = path.display();
        source
            .watch()
            .note(&format!("the partial file of {path} is damaged in the block at byte {place}: going on from there"));
    }
    checked.store.protect(&source.kept(version.attributes.clone()));
    Ok(Some((checked.store, version)))
}

fn anew(url: &Url) -> String {
    format!("{} is not what was downloaded in part: starting anew", url.short())
}

/// Whether what is left may be all of the file, as a run leaves it that is killed before the last step: it is as long, and
/// the server has a digest to know it by.
async fn lacks_only_its_name(source: &Source, url: &Url, left: &mut Left, whole: Header) -> anyhow::Result<bool> {
    if !left.is_as_long_as(&whole) {
        return Ok(false);
    }
    let digest = request::ask(source, url, true).await?.digest;
    if let Some(digest) = &digest {
        left.take_for(whole, digest);
    }
    Ok(digest.is_some())
}

/// A file on its way.
struct Arriving<'a, 's> {
    source: &'s Source,
    patience: Patience<'s>,
    url: &'a Url,
    target: &'a Target,
    /// Which state of the source this is.
    version: Option<Version>,
    /// Bytes here, the disk's queue included.
    at: u64,
    /// Bytes that were here before.
    resumed_from: u64,
    /// Bytes that are parts of the old file.
    kept: u64,
    elder: Elder,
    /// A list of chunks that shows that parts of the old file are worth it.
    scouted: Option<Scouted>,
    told: bool,
    /// Whether the server does not know how to send a part: then all of it comes again.
    without_ranges: bool,
    /// Whether what an earlier run left was of no use after all.
    anew: bool,
    /// From the first byte on, until the file has its name.
    turn: Option<SemaphorePermit<'s>>,
    /// Before the first byte.
    store: Option<Store>,
    /// From then on.
    disk: Option<Disk>,
    /// The digest that came with the file.
    sent_digest: Option<blake3::Hash>,
    /// The server's digest, asked for early where none comes with the file, so that it reads the file while it sends it.
    digest: Option<JoinHandle<Result<Head, Trouble>>>,
}

impl<'a, 's> Arriving<'a, 's> {
    /// Goes on with what an earlier run left.
    async fn of(source: &'s Source, url: &'a Url, target: &'a Target, deltas: Deltas) -> anyhow::Result<Self> {
        let elder = Elder::of(source, target, deltas);
        let (store, known) = match resumed(source, url, target).await? {
            Some((store, known)) => (Some(store), Some(known)),
            None => (None, None),
        };
        let resumed_from = store.as_ref().map_or(0, Store::at);
        Ok(Self {
            source,
            patience: Patience::of(source),
            url,
            target,
            version: known,
            at: resumed_from,
            resumed_from,
            kept: 0,
            elder,
            scouted: None,
            told: false,
            without_ranges: false,
            anew: false,
            turn: None,
            store,
            disk: None,
            sent_digest: None,
            digest: None,
        })
    }
}

/// How a pass over a file ends well.
enum Come {
    /// All of it is here.
    All,
    /// The rest is to be put together.
    Rest,
}

/// The thread that hashes and writes.
struct Disk {
    queue: mpsc::Sender<Vec<u8>>,
    /// Batches it is done with: filled again, they are still in the cache, and the kernel need not clear new memory.
    done: mpsc::Receiver<Vec<u8>>,
    stored: oneshot::Receiver<anyhow::Result<Store>>,
}

impl Drop for Arriving<'_, '_> {
    fn drop(&mut self) {
        if let Some(digest) = &self.digest {
            digest.abort();
        }
    }
}

impl Arriving<'_, '_> {
    /// Receives everything, over as many connections as it takes.
    async fn all(&mut self) -> anyhow::Result<()> {
        loop {
            let session = self.source.session().await?;
            let (before, known) = (self.at, self.elder.settled().await);
            let come = match &known {
                Some(known) => self.lacking(&session, known).await.map(|()| Come::All),
                None => self.some(&session).await,
            };
            // A server that breaks this off at once, while it is there, may send the file.
            if known.is_some() && come.is_err() && self.at == before && session.alive() {
                self.elder = Elder::None;
            }
            match come {
                Ok(Come::All) => return Ok(()),
                Ok(Come::Rest) => self.elder.use_it(),
                Err(Trouble::Final(error)) if error.is::<Whole>() => {
                    tracing::debug!("{error:#}");
                    self.elder = Elder::None;
                }
                Err(Trouble::Final(error)) if error.is::<OtherPart>() && !self.without_ranges => {
                    self.without_ranges = true;
                }
                Err(Trouble::Final(error)) if error.is::<Changed>() && self.may_start_anew() => self.start_anew(),
                Err(trouble) => {
                    self.scouted = None;
                    self.patience.pause(trouble).await?;
                }
            }
        }
    }

    /// Whether only an earlier run brought anything, and nothing was said of it yet.
    fn may_start_anew(&self) -> bool {
        !self.anew && !self.told && self.at > 0 && matches!(self.target, Target::File(_))
    }

    /// Does without what an earlier run left: the server sends another file than it spoke of.
    fn start_anew(&mut self) {
        self.source.watch().note(&anew(self.url));
        self.store = None;
        self.version = None;
        (self.at, self.resumed_from, self.kept, self.anew) = (0, 0, 0, true);
    }

    /// Receives what is missing, over one connection.
    async fn some(&mut self, session: &Arc<Session>) -> Result<Come, Trouble> {
        if self.is_complete() {
            self.begin(session, false).await?;
            return Ok(Come::All); // an earlier run had all of it
        }
        // Without a validator nobody can say whether the rest belongs to what is here: then all of it comes again, and
        // what is here must be its beginning.
        let validated = !self.without_ranges && self.version.as_ref().is_some_and(Version::is_validated);
        let from = if validated { self.at } else { 0 };
        self.patience.ask();
        let known = self.version.as_ref();
        let mut answer = self.patience.wait(request::get(session, self.url, from, known)).await?;
        match &self.version {
            Some(known) if !known.fits(&answer.version) => return Err(self.changed().into()),
            Some(_) => {}
            None => self.version = Some(answer.version.clone()),
        }
        let mut here = match self.at {
            0 => None,
            _ if validated => None,
            _ => Some(self.here().await?),
        };
        self.begin(session, answer.has_digest).await?;
        let may_change = answer.tells_chunks && (validated || self.at == 0) && self.is_resumable();
        let received = self.receive(session, &mut answer, here.as_mut(), may_change).await?;
        let Some(unskipped) = received else { return Ok(Come::Rest) };
        match self.version.as_ref().and_then(|version| version.size) {
            Some(size) if self.at < size => {
                Err(Trouble::Passing(anyhow!("the server stopped at byte {} of {size}", self.at)))
            }
            _ if unskipped > 0 => Err(Trouble::Passing(anyhow!("the server stopped before byte {}", self.at))),
            _ => Ok(Come::All),
        }
    }

    /// Receives a body to its end; what is `here` must be its beginning. Bytes that are here and did not come again; `None` if the rest `may_change`
    /// and is to be had in another way.
    async fn receive(
        &mut self,
        session: &Arc<Session>,
        answer: &mut Answer,
        mut here: Option<&mut Beginning>,
        may_change: bool,
    ) -> Result<Option<u64>, Trouble> {
        // A server that knows no ranges starts from the beginning.
        let mut skip = self.at.saturating_sub(answer.from);
        let mut batch = Vec::with_capacity(BATCH);
        let most = self.source.part(BATCH);
        let (begun, mut scout) = (self.at, None);
        loop {
            if may_change && self.is_found(session, &mut scout, begun).await {
                self.pass_on(&mut batch).await?;
                return Ok(None);
            }
            let Some(mut chunk) = self.next(session, answer, &mut batch).await? else { break };
            let skipped = chunk.split_to(chunk.len().min(usize::try_from(skip).unwrap_or(usize::MAX)));
            skip -= skipped.len() as u64;
            self.patience.repeated(skipped.len() as u64);
            if let Some(beginning) = &mut here
                && !beginning.goes_on_with(&skipped)
            {
                return Err(self.changed().into());
            }
            while !chunk.is_empty() {
                let fits = chunk.len().min(most - batch.len());
                batch.extend_from_slice(&chunk.split_to(fits));
                if batch.len() == most {
                    self.pass_on(&mut batch).await?;
                }
            }
        }
        self.sent_digest = self.patience.wait(answer.digest()).await?;
        Ok(Some(skip))
    }

    /// The next bytes of a body; `None` at its end. The batch goes to the disk unless they come at once.
    async fn next(
        &mut self,
        session: &Session,
        answer: &mut Answer,
        batch: &mut Vec<u8>,
    ) -> Result<Option<Bytes>, Trouble> {
        loop {
            let next = match answer.next(session).now_or_never() {
                Some(next) => next,
                None if batch.is_empty() => self.patience.wait(answer.next(session)).await,
                None => match tokio::time::timeout(GATHERING, answer.next(session)).await {
                    Ok(next) => next,
                    Err(_) => {
                        self.pass_on(batch).await?;
                        continue;
                    }
                },
            };
            if !matches!(next, Ok(Some(_))) {
                self.pass_on(batch).await?;
            }
            return next;
        }
    }

    /// Whether parts of the old file are worth it, as far as that is known by now. Its chunks and then those of the new one are read while the
    /// file comes, so that a file which has nothing of the old one is hardly later than otherwise.
    async fn is_found(&mut self, session: &Arc<Session>, scout: &mut Option<Scout>, begun: u64) -> bool {
        if let Some(its) = scout {
            if !its.is_done(self.at) {
                return false;
            }
            self.scouted = match scout.take() {
                Some(its) => its.found().await,
                None => None,
            };
            if self.scouted.is_none() {
                self.elder = Elder::None;
            }
            return self.scouted.is_some();
        }
        if let Some(known) = self.elder.known_after(self.at - begun).await
            && let Some(version) = &self.version
            && version.size.is_some_and(|size| size.saturating_sub(self.at) >= LEAST)
        {
            *scout = Some(Scout::new(session, self.url, known, version.clone(), self.at));
        }
        false
    }

    /// Receives what is missing here and in the old file, over one connection, and puts the new one together.
    async fn lacking(&mut self, session: &Arc<Session>, known: &Known) -> Result<(), Trouble> {
        if self.is_complete() {
            self.begin(session, false).await?;
            return Ok(());
        }
        self.patience.ask();
        let scouted = match self.scouted.take() {
            Some(scouted) => scouted,
            None => {
                let asked = request::chunks(session, self.url, known.old.average(), self.version.as_ref());
                let list = self.patience.wait(asked).await.map_err(Whole::instead)?;
                Scouted::nothing(Told::new(list, &known.old)?)
            }
        };
        let told = scouted.told.version();
        match &self.version {
            Some(known) if !known.fits(told) => return Err(self.changed().into()),
            Some(_) => {}
            None => self.version = Some(told.clone()),
        }
        let etag = told.etag.clone().unwrap_or_default();
        self.begin(session, true).await?;
        let (asking, lacking) = request::ranges(session, self.url, &etag).await.map_err(Whole::instead)?;
        let (tell, steps) = mpsc::channel(STEPS_AHEAD);
        let plan = Plan { session, old: &known.old, from: self.at };
        let missing = Missing::new(session, lacking);
        let planned = plan.make(scouted, asking, tell);
        let ((), digest) = tokio::try_join!(self.put_together(known, steps, missing), planned)?;
        self.sent_digest = digest;
        Ok(())
    }

    /// Takes these steps.
    async fn put_together(
        &mut self,
        known: &Known,
        mut steps: mpsc::Receiver<Step>,
        mut missing: Missing<'_>,
    ) -> Result<(), Trouble> {
        let most = self.source.part(BATCH);
        let mut batch = Vec::with_capacity(BATCH);
        while let Some(step) = self.patience.wait(async { Ok(steps.recv().await) }).await? {
            match step {
                Step::Skip(bytes) => self.patience.repeated(bytes),
                Step::Copy(range) => {
                    self.pass_on(&mut batch).await?;
                    self.copy(known, range).await?;
                }
                Step::Take(mut bytes) => {
                    while bytes > 0 {
                        let next = match missing.next(bytes.min((most - batch.len()) as u64)).now_or_never() {
                            Some(next) => next,
                            None => {
                                self.pass_on(&mut batch).await?;
                                self.patience.wait(missing.next(bytes.min(most as u64))).await
                            }
                        };
                        let part = match next {
                            Ok(part) => part,
                            Err(trouble) => {
                                self.pass_on(&mut batch).await?;
                                return Err(trouble);
                            }
                        };
                        bytes -= part.len() as u64;
                        batch.extend_from_slice(&part);
                        if batch.len() == most {
                            self.pass_on(&mut batch).await?;
                        }
                    }
                }
            }
        }
        self.pass_on(&mut batch).await
    }

    /// Takes bytes of the old file.
    async fn copy(&mut self, known: &Known, mut range: Range<u64>) -> Result<(), Trouble> {
        while !range.is_empty() {
            let now = range.start..range.end.min(range.start + BATCH as u64);
            range.start = now.end;
            let begun = Instant::now();
            let old = known.old.clone();
            let read = off_thread(move || {
                let mut batch = Vec::new();
                old.copy(now, &mut batch)?;
                Ok(batch)
            });
            let mut batch = read.await.map_err(Whole::because)?;
            self.source.watch().disk_waited(begun.elapsed());
            self.patience.excuse(begun.elapsed());
            self.give(&mut batch, true).await?;
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.version.as_ref().is_some_and(|version| version.size == Some(self.at)) && self.at > 0
    }

    fn changed(&self) -> anyhow::Error {
        let url = self.url.short();
        let next = match self.target {
            Target::Stdout => "what was written is no whole file: run the command again".to_owned(),
            Target::File(path) if self.is_resumable() => {
                let part = names::part_and_journal(path).0;
                format!("what is here of the old one stays in {} until you run the command again", part.display())
            }
            Target::File(_) => "run the command again".to_owned(),
        };
        Changed { url, next }.into()
    }

    /// Whether a later run could go on with what arrived.
    fn is_resumable(&self) -> bool {
        self.header().is_some() && matches!(self.target, Target::File(_))
    }

    fn header(&self) -> Option<Header> {
        self.version.as_ref().and_then(|version| Header::of(self.url, version))
    }

    /// Once the source is known: opens the file, starts the disk's thread, asks for the digest.
    async fn begin(&mut self, session: &Arc<Session>, has_digest: bool) -> anyhow::Result<()> {
        if self.turn.is_none() {
            self.turn = self.source.file().await;
        }
        if self.disk.is_none() {
            let (header, attributes) = (self.header(), self.attributes());
            let target = self.target.clone();
            let store = match self.store.take() {
                Some(store) => store,
                None => off_thread(move || Store::new(&target, header, attributes)).await?,
            };
            let store = store.sparsely(self.source.keeps().sparse);
            if let Some(size) = self.version.as_ref().and_then(|version| version.size) {
                store.has_room(size)?;
            }
            let (queue, batches) = mpsc::channel(WAITING);
            let (give_back, done) = mpsc::channel(WAITING);
            let stored = self.target.spawn(move || store.drain(batches, give_back)).context("no thread for writing")?;
            self.disk = Some(Disk { queue, done, stored });
        }
        if self.digest.is_none() && !has_digest {
            let (session, url) = (session.clone(), self.url.clone());
            self.digest = Some(tokio::spawn(async move { request::head(&session, &url, true).await }));
        }
        if !self.told {
            let size = self.version.as_ref().and_then(|version| version.size);
            let file = if let Target::File(path) = self.target { Some(path.as_path()) } else { None };
            self.source.watch().started(Started { url: &self.url.short(), file, size, resumed_from: self.at });
            if !self.is_resumable() {
                self.source.watch().transient();
            }
            self.told = true;
        }
        Ok(())
    }

    /// The attributes of the file there that the file here gets.
    fn attributes(&self) -> Attributes {
        let Some(Version { attributes, .. }) = &self.version else { return Attributes::default() };
        attributes.extended.warn_unknown(self.source.keeps().extended(), &self.url.short());
        self.source.kept(attributes.clone())
    }

    /// Gives received bytes to the disk, and takes an empty batch for them; waits if the disk is behind, or the user's
    /// limit is reached: what is not taken from the connection, the server soon may not send.
    async fn pass_on(&mut self, batch: &mut Vec<u8>) -> Result<(), Trouble> {
        self.give(batch, false).await
    }

    /// The same of bytes that were here, or came.
    async fn give(&mut self, batch: &mut Vec<u8>, were_here: bool) -> Result<(), Trouble> {
        if batch.is_empty() {
            return Ok(());
        }
        let bytes = batch.len() as u64;
        let size = self.version.as_ref().and_then(|version| version.size);
        if size.is_some_and(|size| self.at.saturating_add(bytes) > size) {
            return Err(anyhow!("the server sent more of {} than the size it named", self.url.short()).into());
        }
        let begun = Instant::now();
        if !were_here {
            self.source.may_take(batch.len()).await;
        }
        let Some(disk) = &mut self.disk else { return Err(anyhow!("bytes came before the file was open").into()) };
        let empty = disk.done.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let full = core::mem::replace(batch, empty);
        if let Err(mpsc::error::TrySendError::Full(full)) = disk.queue.try_send(full) {
            let waiting = Instant::now();
            // A closed queue is a disk that failed; what it says is found when its thread is joined.
            disk.queue.send(full).await.map_err(|_| Trouble::Final(anyhow!("the disk failed")))?;
            self.source.watch().disk_waited(waiting.elapsed());
        } else if disk.queue.is_closed() {
            return Err(Trouble::Final(anyhow!("the disk failed")));
        }
        self.at += bytes;
        self.patience.excuse(begun.elapsed());
        self.patience.arrived(bytes);
        if were_here {
            self.kept += bytes;
            self.source.watch().kept(bytes);
        } else {
            self.source.watch().moved(bytes);
        }
        Ok(())
    }

    /// Waits until all is written.
    async fn stored(&mut self) -> anyhow::Result<Option<Store>> {
        match self.disk.take() {
            None => Ok(self.store.take()),
            Some(Disk { queue, stored, .. }) => {
                drop(queue);
                stored.await.context("the writing thread failed")?.map(Some)
            }
        }
    }

    /// The part of the file that is here, once it is written.
    async fn here(&mut self) -> anyhow::Result<Beginning> {
        self.store = self.stored().await?;
        let digest = self.store.as_ref().map(Store::digest).context("nothing was stored")?;
        Ok(Beginning { digest, left: self.at, hasher: blake3::Hasher::new() })
    }

    /// The digest the server promised; `None` if it knows none. `here` is that of what arrived.
    async fn promised(&mut self, here: blake3::Hash) -> anyhow::Result<Option<blake3::Hash>> {
        if self.sent_digest.is_some() {
            return Ok(self.sent_digest);
        }
        self.patience.ask();
        let early = match self.digest.take() {
            Some(asked) => {
                let answer = async { asked.await.unwrap_or_else(|error| Err(Trouble::Passing(error.into()))) };
                self.patience.wait(answer).await
            }
            None => Err(Trouble::Passing(anyhow!("not asked yet"))),
        };
        let head = match early {
            Ok(head) => head,
            Err(Trouble::Passing(_)) => request::ask(self.source, self.url, true).await?,
            Err(Trouble::Final(error)) if error.downcast_ref::<Refused>().is_some() => return Ok(None), // knows no HEAD
            Err(Trouble::Final(error)) => return Err(error),
        };
        match &self.version {
            // Whatever befell the file there: what arrived is what it holds.
            _ if head.digest == Some(here) => Ok(head.digest),
            Some(known) if !known.fits(&head.version) => Err(self.changed()),
            _ => Ok(head.digest),
        }
    }
}

/// The bytes that are here, which those that come again must equal.
struct Beginning {
    digest: blake3::Hash,
    left: u64,
    hasher: blake3::Hasher,
}

impl Beginning {
    /// Whether all is well with `bytes` behind those before.
    fn goes_on_with(&mut self, bytes: &[u8]) -> bool {
        self.hasher.update(bytes);
        self.left = self.left.saturating_sub(bytes.len() as u64);
        self.left > 0 || self.hasher.finalize() == self.digest
    }
}
