//! A server's listing of a directory.

mod entries;

pub(crate) use entries::{Entry, Kind, Listing};

use super::patience::Patience;
use super::request::{self, Room};
use super::source::Source;
use crate::extended::Extended;
use core::cell::Cell;
use entries::parse;
use pcc_net::url::Url;

/// Bytes of a listing as most are.
const USUAL: usize = 1 << 20;

/// Bytes of one directory's listing.
const LARGEST: usize = 64 << 20;

/// Files and directories in all: some 200 MB while they wait.
pub(crate) const MOST_ENTRIES: usize = 1_000_000;

/// Bytes that the extended attributes of all directories take until they are given: those of some 200,000 directories.
const MOST_EXTENDED: usize = 256 << 20;

/// The memory that all listings of a transfer may hold.
pub(crate) struct Bounds {
    /// Entries that may still come.
    entries: Cell<usize>,
    /// Bytes of extended attributes that may still come.
    extended: Cell<usize>,
    room: Room,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: MOST_ENTRIES.into(), extended: MOST_EXTENDED.into(), room: Room::new(USUAL, LARGEST) }
    }
}

impl Bounds {
    /// The same, unknown where there is no room for them.
    fn admit(&self, extended: Extended) -> Extended {
        match self.extended.get().checked_sub(extended.bytes()) {
            Some(left) => {
                self.extended.set(left);
                extended
            }
            None => Extended::default(),
        }
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
    let kept = source.keeps().of(listed.attributes, true).givable();
    let left = bounds.admit(kept.extended.clone());
    let attributes = kept.leaving(left);
    attributes.extended.warn_unknown(source.keeps().extended(), &url.short());
    Ok(Listing { attributes, ..listing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_attributes_of_directories_take_so_much_and_no_more() {
        let bounds = Bounds::default();
        let one = Extended { xattrs: crate::extended::xattrs("dXNlci5h:"), acls: None };
        let none = Extended { xattrs: crate::extended::xattrs(""), acls: None };
        let most = MOST_EXTENDED / one.bytes();
        let kept = (0..most + 10).filter(|_| bounds.admit(one.clone()) == one).count();
        assert_eq!((kept, bounds.admit(none.clone())), (most, none), "directories without any take nothing");
    }
}
