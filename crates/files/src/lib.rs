//! Files over HTTP/3 that survive a bad network: downloads, uploads, and a server for both.
//!
//! A [`Source`] is a server as a client sees it: reached when something is asked of it, and reached again when the connection
//! was lost. [`get::file`] and [`get::directory`] download, [`put::file`] and [`put::directory`] upload; each goes on where an earlier
//! run stopped, and ends with a file whose BLAKE3 is right or with an [`Error`] that says what to do. A [`Watch`] hears of
//! the progress, and [`Progress`](progress::Progress) sums it up. Dropping the future cancels the transfer.
//!
//! [`serve::start`] starts a server of a directory. Any HTTP/3 client may download from it.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use pcc_files::get::{self, Target};
//! use pcc_files::{Silent, Source, Url};
//!
//! let url: Url = "https://host:4433/big.iso#sha256=…".parse()?;
//! let source = Source::of(&url, std::sync::Arc::new(Silent));
//! let fetched = get::file(&source, &url, &Target::File("big.iso".into())).await?;
//! assert!(fetched.verified);
//! source.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Two programs in `examples/`: an updater that fetches a signed file, and an inbox for uploads.
//!
//! All of it runs in a Tokio runtime. PCC decides how fast this side sends.

#[cfg(test)]
mod allocated;
mod attributes;
mod blocking;
mod chmod;
mod choice;
mod client;
mod coding;
mod delta;
mod disk;
mod error;
mod extended;
mod failure;
mod figures;
mod filename;
pub mod get;
mod inherited;
mod keeps;
pub mod link;
mod moved;
mod ours;
mod owners;
mod permissions;
pub mod progress;
pub mod put;
mod reserved;
pub mod serve;
mod sink;
mod sparse;
mod symlink;
mod tally;
mod unmeasured;
mod version;
mod wire;

pub use blocking::off_thread;
pub use chmod::{Chmod, NoChmod};
pub use choice::{Backup, Choice, Excluded, Listed, Look, Names, Rule, Spared, Step};
pub use client::concurrency::SIDE_BY_SIDE;
pub use client::crossing::Crossing;
pub use client::dialer::{bear_silence, dialer, keep_alive, windows_within};
pub use client::source::Source;
pub use client::watch::{Missing, Silent, Started, Watch};
pub use client::way::{Connecting, NoWay, Way};
pub use delta::Deltas;
pub use disk::read_at;
pub use error::{Error, Result};
pub use failure::{Failure, failure_of};
pub use keeps::Keeps;
pub use moved::Moved;
pub use pcc_net::tls::{Fingerprint, Identity, Trust};
pub use pcc_net::url::Url;
pub use permissions::Permissions;
pub use reserved::{ReserveError, Reserved};
pub use tally::{Tally, counted};
