//! Uploads that survive a bad network.
//!
//! | file | what it answers |
//! |---|---|
//! | `upload` | how one file gets there, over as many connections as it takes |
//! | `target` | where a file goes |
//! | `look` | what it would do |
//! | `features` | what the server can do that others cannot |
//! | `exchange` | one request and its answer |
//! | `progress` | how far it has come |
//! | `content` | what is sent |
//! | `delta` | what of it the server has already, in an older version |
//! | `once` | what is special about standard input, and files like it: they cannot be read twice |
//! | `directory` | how a whole directory gets there |
//! | `extraneous` | what is there and not here |
//! | `link` | what has no content of its own |
//! | `tree` | what a directory holds |

mod content;
mod delta;
mod directory;
mod exchange;
mod extraneous;
mod features;
mod link;
mod look;
mod once;
mod progress;
mod target;
mod tree;
mod upload;

pub use once::is_closed as stdin_is_closed;

use crate::choice::{Choice, Look, Step};
use crate::client::source::Source;
use crate::error::{Error, Result};
use crate::moved::Moved;
use crate::tally::Tally;
use content::Content;
use once::Once;
use pcc_net::url::Url;
use std::path::Path;
use target::Target;

/// Uploads one file to this URL, with the token that the server wants. The server's part of an interrupted upload is
/// not sent again, nor is a file that it has already. The file gets its name there when all of it has arrived and its
/// BLAKE3 is right.
///
/// Cancel it by dropping the future: the server keeps what it has, for the next run.
///
/// Errors: the server could not be reached for longer than [`Source`] is told to try; it refused; the file changed under way; or
/// what arrived is damaged.
pub async fn file(source: &Source, path: &Path, url: &Url, token: &str) -> Result<Moved> {
    let content = Content::file(path, url).map_err(Error::from)?;
    upload::upload(source, content, &to(url, token)).await.map_err(Error::from)
}

/// The same, unless the file there is to stay as it is, or to be kept beside the new one.
///
/// Errors: as of [`file()`].
pub async fn chosen(source: &Source, path: &Path, url: &Url, token: &str, choice: &Choice) -> Result<Look<Moved>> {
    let content = Content::file(path, url)?;
    let target = Target { backup: choice.backup.clone(), ..to(url, token) };
    directory::check(source, &target, choice).await?;
    if look::is_spared(source, &content, &target, choice.spared).await? {
        return Ok(Look::Spared);
    }
    if choice.dry_run {
        return Ok(look::look(source, &content, &target).await?);
    }
    upload::upload(source, content, &target).await.map(Look::There).map_err(Error::from)
}

/// Uploads standard input to this URL. It cannot be read twice, so an upload that was cancelled cannot go on.
///
/// Errors: as of [`file()`].
pub async fn stdin(source: &Source, url: &Url, token: &str) -> Result<Moved> {
    upload::upload(source, Content::Once(Once::stdin().into()), &to(url, token)).await.map_err(Error::from)
}

/// Tells the changes that [`file()`] would make; nothing is changed there.
///
/// Errors: as of [`file()`].
pub async fn look(source: &Source, path: &Path, url: &Url) -> Result<Look<Moved>> {
    Ok(look::look(source, &Content::file(path, url)?, &to(url, "")).await?)
}

/// Uploads a directory with what is chosen of it; `each` hears of each file.
///
/// An error ends everything. Problems of single entries are counted in [`Tally`], and told to the watch.
pub async fn directory(
    source: &Source,
    dir: &Path,
    url: &Url,
    token: &str,
    choice: &Choice,
    each: &(dyn Fn(Step<'_, Url>) + Sync),
) -> Result<Tally> {
    directory::directory(source, dir, url, token, choice, each).await.map_err(Error::from)
}

/// The URL of an entry of a directory.
///
/// Errors: no URL can have that name.
pub fn below(url: &Url, name: &str) -> Result<Url> {
    directory::below(url, name).map_err(Error::from)
}

/// The last part of a path, also of `.` and `dir/..`, as a URL has it.
///
/// Errors: it has none, or one that is not UTF-8.
pub fn name_of(path: &Path) -> Result<String> {
    directory::name_of(path).map_err(Error::from)
}

fn to(url: &Url, token: &str) -> Target {
    Target { url: url.clone(), token: token.to_owned(), is_new: false, backup: None }
}

#[cfg(test)]
mod tests;
