//! Whether a file is here already, byte for byte, so that nothing needs to come.

use super::source::Source;
use super::transfer::{Fetched, ask};
use crate::blocking::{Wanted, while_wanted};
use crate::choice::Look;
use crate::version::Version;
use anyhow::ensure;
use blake3::{Hash, Hasher};
use cap_std::fs::File;
use pcc_net::url::Url;
use std::fs::Metadata;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Read at a time: between two pieces an interrupt is heard.
const PIECE: usize = 1 << 20;

/// The file at `path`, if it has the size and the BLAKE3 that the server has; due too if it cannot be read, or the server has
/// no digests. `size` is what a listing said, if there was one that did.
pub(super) async fn look(source: &Source, url: &Url, path: &Path, size: Option<u64>) -> anyhow::Result<Look<Fetched>> {
    let begun = std::time::Instant::now();
    let here = tokio::fs::symlink_metadata(path).await.ok().filter(Metadata::is_file).map(|here| here.len());
    if here.is_none() {
        return Ok(Look::Due(size));
    }
    let there = if size.is_some() { size } else { ask(source, url, false).await?.version.size };
    if here != there {
        return Ok(Look::Due(there));
    }
    let path = path.to_owned();
    let turn = source.file().await;
    let Ok((bytes, digest)) = while_wanted(move |wanted| hash(&path, wanted)).await else {
        return Ok(Look::Due(there));
    };
    drop(turn);
    let same = ask(source, url, true).await?.digest == Some(digest);
    let seconds = begun.elapsed().as_secs_f64();
    let fetched = Fetched { bytes, digest, verified: true, seconds, resumed_from: bytes };
    Ok(if same { Look::There(fetched) } else { Look::Due(there) })
}

/// Size and BLAKE3 of a file. Blocks.
///
/// Errors: of the file system; something happened to the file meanwhile, so that it may never have been what was read.
fn hash(path: &Path, wanted: &Wanted) -> anyhow::Result<(u64, Hash)> {
    let mut file = File::from_std(std::fs::File::open(path)?);
    let (before, mut hasher, mut piece) = (Version::settled(&file)?, Hasher::new(), vec![0; PIECE]);
    loop {
        wanted.still()?;
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => hasher.update(&piece[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
    }
    ensure!(before == Some(Version::of(&file)?), "it changed while it was read");
    Ok((hasher.count(), hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::ends_when_nobody_waits;

    #[test]
    fn a_file_is_hashed_whole_and_only_while_somebody_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let data = vec![7; PIECE + 5];
        std::fs::write(&path, &data).unwrap();
        Wanted::always(|wanted| {
            assert_eq!(hash(&path, wanted).unwrap(), (data.len() as u64, blake3::hash(&data)));
        });
        std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap(); // takes minutes to read
        assert!(ends_when_nobody_waits(while_wanted(move |wanted| hash(&path, wanted))));
    }
}
