//! Why two computers did not meet.

use crate::place::Place;
use core::time::Duration;
use pcc_files::serve::StartError;
use std::io;
use std::path::PathBuf;

/// Why a sender or a receiver ended without having done its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// This computer does not let it begin.
    #[error("could not begin: {0}")]
    Local(String),
    /// There are no random numbers.
    #[error("the system has no random numbers for a code")]
    Random(#[from] aws_lc_rs::error::Unspecified),
    /// A path has no last name.
    #[error("{} has no name that a copy could have: name the file or the directory itself", .0.display())]
    Nameless(PathBuf),
    /// Two paths end in one name.
    #[error("two of them are called `{0}`: send them one after the other, or the directory that has both")]
    SameName(String),
    /// Too many paths.
    #[error("{found} paths, and one code is for {most} at most: send the directory that they are in")]
    Many {
        /// How many were named.
        found: usize,
        /// How many may be.
        most: usize,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Open(#[from] StartError),
    /// The relay was not reached.
    #[error("the relay {relay} did not answer within {within:?}: is the name right, and does `pcc relay` run there?")]
    NoRelay {
        /// Its name.
        relay: String,
        /// How long it was waited for.
        within: Duration,
    },
    /// Nobody answered.
    #[error(
        "nobody answered to this code {}: it was used already or is too old, `pcc send` has ended there, or no packet gets \
             through; ask for a new code, for one with --relay if the computers are in different networks",
        sought(places)
    )]
    NoAnswer {
        /// Where it was looked for.
        places: Vec<Place>,
    },
    /// The sender answered, and refused.
    #[error("the sender refused: {0}")]
    Refused(String),
    /// The sender does not keep to what both have to say.
    #[error("the sender does not speak as `pcc send` does ({0}): use the same version of pcc on both computers")]
    Greeting(String),
    /// It took too long.
    #[error("nobody fetched it within {}: run `pcc send` again for a new code, or give it longer with --within", seconds(.0))]
    Old(Duration),
    /// Others tried.
    #[error("the code is void: {0} computers connected without knowing it; run `pcc send` again for a new one")]
    Guessed(u32),
    /// The endpoint is gone.
    #[error("the UDP socket was closed")]
    Closed,
    /// The system.
    #[error(transparent)]
    System(#[from] io::Error),
}

fn sought(places: &[Place]) -> String {
    let places: Vec<_> = places.iter().map(Place::to_string).collect();
    if places.is_empty() {
        "in this network".to_owned()
    } else {
        format!("at {} or in this network", places.join(", "))
    }
}

fn seconds(time: &Duration) -> String {
    format!("{} s", time.as_secs())
}
