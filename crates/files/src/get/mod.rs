//! Downloads that survive a bad network.
//!
//! | file | what it answers |
//! |---|---|
//! | `transfer` | how one file arrives, from the first request to its final name |
//! | `tree` | how a whole directory does |
//! | `delta` | what of it the older file here has already |
//! | `store` | where the bytes go, and what is good of what an earlier run left |
//! | `already` | whether it is here already |
//! | `linking` | how links arrive, and further names of files |
//! | `partial` | whose a partial file is |
//! | `journal` | what is known of it |
//! | `nofollow` | how files are opened |
//! | `place_error` | why a download cannot go where it should |
//! | `extraneous` | what is here and not there |

mod already;
mod delta;
mod extraneous;
mod journal;
mod linking;
mod nofollow;
mod partial;
mod place_error;
mod store;
mod transfer;
mod tree;

pub use crate::client::names::{NoName, is_directory, of_url as name_of};
pub use crate::client::trouble::GaveUp;
pub use place_error::PlaceError;
pub use store::Target;

use crate::choice::{Choice, Look, Step};
use crate::client::request;
use crate::client::source::Source;
use crate::client::trouble::Refused;
use crate::error::{Error, Result};
use crate::moved::Moved;
use crate::tally::Tally;
use pcc_net::url::Url;
use std::path::Path;

/// Downloads one file. The rest of an earlier run is used. If all of it is there already, and unchanged on the server,
/// nothing is moved. The file gets its name when all of it has arrived and its BLAKE3 is right.
///
/// Cancel it by dropping the future: what has arrived stays in `.NAME.pcc-part` beside the file, for the next run.
///
/// Errors: the server could not be reached for longer than [`Source`] is told to try; it refused; what arrived is damaged; or
/// the disk refused.
pub async fn file(source: &Source, url: &Url, target: &Target) -> Result<Moved> {
    let here = match target {
        Target::File(path) => already::look(source, url, path, None, false).await.map_err(Error::from)?,
        Target::Stdout => Look::Due(None),
    };
    match here {
        Look::There(here) => Ok(here),
        Look::Due(_) | Look::Spared => transfer::transfer(source, url, target).await.map_err(Error::from),
    }
}

/// The same, unless the file here is to stay as it is, or to be kept beside the new one. A dry run only tells.
///
/// Errors: as of [`file()`].
pub async fn chosen(source: &Source, url: &Url, target: &Target, choice: &Choice) -> Result<Look<Moved>> {
    let Target::File(path) = target else {
        return if choice.dry_run {
            look(source, url, target).await
        } else {
            file(source, url, target).await.map(Look::There)
        };
    };
    if choice.spared.any() {
        let there = tokio::fs::symlink_metadata(path).await.ok().map(|found| found.modified().ok());
        let offered = if choice.spared.newer && there.is_some() {
            request::ask(source, url, false).await?.version.attributes.modified
        } else {
            None
        };
        if choice.spared.has(there, offered) {
            return Ok(Look::Spared);
        }
    }
    if choice.dry_run {
        return look(source, url, target).await;
    }
    match already::look(source, url, path, None, false).await? {
        Look::Due(_) => {
            let arrived = transfer::arrive(source, url, target).await?;
            Ok(Look::There(arrived.publish(choice.backup.clone()).await?))
        }
        here => Ok(here),
    }
}

/// Tells the changes that [`file()`] would make; nothing is changed.
///
/// Errors: as of [`file()`].
pub async fn look(source: &Source, url: &Url, target: &Target) -> Result<Look<Moved>> {
    let found = match target {
        Target::File(path) => already::look(source, url, path, None, true).await?,
        Target::Stdout => Look::Due(None),
    };
    Ok(match found {
        Look::Due(None) => Look::Due(request::ask(source, url, false).await?.version.size),
        found => found,
    })
}

/// Downloads what a directory of the server holds into `dir`, which is made if need be; `each` hears of each entry.
///
/// An error ends everything. Problems of single entries are counted in [`Tally`], and told to the watch.
pub async fn directory(
    source: &Source,
    url: &Url,
    dir: &Path,
    choice: &Choice,
    each: &(dyn Fn(Step<'_, Path>) + Sync),
) -> Result<Tally> {
    tree::fetch_tree(source, url, dir, choice, each).await.map_err(Error::from)
}

/// The directory that was meant, if the server says that this URL lacks but the slash of one.
pub fn slashed(url: &Url, error: &Error) -> Option<Url> {
    let Some(Refused::Moved { to, .. }) = error.as_anyhow().downcast_ref() else { return None };
    let is_its_own = to.strip_suffix('/') == Some(url.path.as_str());
    is_its_own.then(|| to.parse().ok()).flatten().map(|path| url.with_path(path))
}

#[cfg(test)]
mod tests;
