//! A server's listing of a directory.

mod entries;

pub(crate) use entries::{Entry, Kind, Listing};

use super::patience::Patience;
use super::request::{self, Room};
use super::source::Source;
use core::cell::Cell;
use entries::parse;
use pcc_net::url::Url;

/// Bytes of a listing as most are.
const USUAL: usize = 1 << 20;

/// Bytes of one directory's listing.
const LARGEST: usize = 64 << 20;

/// Files and directories in all: some 200 MB while they wait.
pub(crate) const MOST_ENTRIES: usize = 1_000_000;

/// The memory that all listings of a transfer may hold.
pub(crate) struct Bounds {
    /// Entries that may still come.
    entries: Cell<usize>,
    room: Room,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: MOST_ENTRIES.into(), room: Room::new(USUAL, LARGEST) }
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "left out everything in {0}: it is no list that programs can read, as `pcc serve` gives one: fetch its files by their own URLs"
)]
struct NoListing(String);

/// Asks for a listing until it comes.
///
/// Errors: there is none; or nothing was heard of the server for too long.
pub(crate) async fn list(source: &Source, url: &Url, bounds: &Bounds) -> anyhow::Result<Listing> {
    let mut patience = Patience::of(source);
    let listed = loop {
        let session = source.session().await?;
        match request::listing(&session, url, &mut patience, &bounds.room).await {
            Ok(listed) => break listed,
            Err(trouble) => patience.pause(trouble).await?,
        }
    };
    patience.done();
    let most = bounds.entries.get();
    let listing = parse(&listed.text, most).map_err(|error| {
        tracing::debug!(%error, "no listing");
        NoListing(url.short())
    })?;
    bounds.entries.set(most - listing.entries.len());
    Ok(Listing { attributes: source.keeps().of(listed.attributes, true).givable(), ..listing })
}
