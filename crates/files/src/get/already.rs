//! Whether a file is here already, byte for byte, so that nothing needs to come.

use super::nofollow;
use crate::attributes::Attributes;
use crate::blocking::{Wanted, off_thread, while_wanted};
use crate::choice::Look;
use crate::client::request::ask;
use crate::client::source::Source;
use crate::extended;
use crate::moved::Moved;
use crate::version::Version;
use anyhow::{Context, ensure};
use blake3::{Hash, Hasher};
use cap_std::fs::File;
use pcc_net::url::Url;
use std::fs::Metadata;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Read at a time: between two pieces an interrupt is heard.
const PIECE: usize = 1 << 20;

/// The file at `path`, if it has the size and the BLAKE3 that the server has. It gets the server's attributes if these are kept; a
/// dry run tells that it would. `size` is what a listing said, if there was one that did.
pub(super) async fn look(
    source: &Source,
    url: &Url,
    path: &Path,
    size: Option<u64>,
    dry_run: bool,
) -> anyhow::Result<Look<Moved>> {
    let (fetched, there) = match compare(source, url, path, size).await? {
        Look::There(same) => same,
        Look::Due(bytes) => return Ok(Look::Due(bytes)),
        Look::Spared => return Ok(Look::Spared),
    };
    there.extended.warn_unknown(source.keeps().extended(), &url.short());
    let there = source.keeps().of(there, false).givable();
    let here = Attributes::of(&tokio::fs::symlink_metadata(path).await?);
    let extended = extended::opened(source.keeps().extended(), || nofollow::to_describe(path))?;
    if !there.agree_with(&Attributes { extended, ..here }.with_room()) {
        if dry_run {
            return Ok(Look::Due(Some(0)));
        }
        let kept = path.to_owned();
        off_thread(move || Ok(there.give(&nofollow::to_describe(&kept)?, &kept)?))
            .await
            .with_context(|| format!("could not set time and permissions of {}", path.display()))?;
    }
    Ok(Look::There(fetched))
}

/// The file at `path` and the server's attributes, if both sides have the same; due too if it cannot be read, or the server
/// has no digests.
async fn compare(
    source: &Source,
    url: &Url,
    path: &Path,
    size: Option<u64>,
) -> anyhow::Result<Look<(Moved, Attributes)>> {
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
    let there_is = ask(source, url, true).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let fetched = Moved { bytes, digest, verified: true, seconds, resumed_from: bytes };
    let is_same = there_is.digest == Some(digest);
    Ok(if is_same { Look::There((fetched, there_is.version.attributes)) } else { Look::Due(there) })
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
