//! Earlier transfers' knowledge of the paths to their peers: in memory, and in a file for the next run.

use crate::user_dirs;
use core::time::Duration;
use pcc::PathMemory;
use pcc::units::Rate;
use pcc_quic::{Algorithm, KnownPath, Peer, RecentPaths};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A larger file is not ours: 1024 paths take some 120 kB.
const LARGEST_FILE: u64 = 1 << 20;

/// The paths of the last hour.
#[derive(Clone, Debug)]
pub struct Paths {
    /// `None` if nothing is to be remembered.
    store: Option<Arc<RecentPaths>>,
    file: Option<Arc<PathBuf>>,
}

/// A path as the file has it.
#[derive(Debug, Deserialize, Serialize)]
struct Entry {
    address: IpAddr,
    mbit_per_s: f64,
    base_rtt_ms: f64,
    /// Seconds since 1970.
    learnt: u64,
}

impl Paths {
    /// Those that the last runs left in `~/.cache/pcc/paths.json`. A file that can't be read is as good as none.
    pub fn load() -> Self {
        user_dirs::cache().map_or_else(Self::of_this_run, |dir| Self::from(dir.join("paths.json")))
    }

    /// Nothing is used, and nothing kept.
    pub const fn none() -> Self {
        Self { store: None, file: None }
    }

    fn of_this_run() -> Self {
        Self { store: Some(Arc::default()), file: None }
    }

    fn from(file: PathBuf) -> Self {
        let known = read(&file).unwrap_or_else(|error| {
            tracing::debug!("{}: {error}", file.display());
            Vec::new()
        });
        let known = known.iter().filter_map(Entry::known);
        Self { store: Some(Arc::new(RecentPaths::with(known))), file: Some(Arc::new(file)) }
    }

    /// The algorithm for a connection to this address.
    pub fn resume(&self, algorithm: &Algorithm, address: IpAddr) -> Algorithm {
        let Some(store) = &self.store else { return algorithm.clone() };
        algorithm.to(Peer { address, store: store.clone() })
    }

    /// Leaves them for the next run. Nothing depends on it: what goes wrong is only logged.
    pub fn save(&self) {
        let Some((file, store)) = self.file.as_ref().zip(self.store.as_ref()) else { return };
        if let Err(error) = write(file, store) {
            tracing::debug!("{}: {error}", file.display());
        }
    }
}

/// Together with what another run has learnt meanwhile.
fn write(file: &Path, store: &RecentPaths) -> io::Result<()> {
    let others = read(file).unwrap_or_default();
    let mut all: Vec<_> = others.iter().filter_map(Entry::known).chain(store.all()).collect();
    // The latest of each address is kept.
    all.sort_by_key(|(_, known)| known.at);
    let entries: Vec<Entry> = RecentPaths::with(all).all().into_iter().map(Entry::of).collect();
    let dir = file.parent().ok_or(io::ErrorKind::NotADirectory)?;
    fs::create_dir_all(dir)?;
    let mut whole = tempfile::NamedTempFile::new_in(dir)?;
    serde_json::to_writer(&mut whole, &entries)?;
    whole.persist(file)?;
    Ok(())
}

fn read(file: &Path) -> io::Result<Vec<Entry>> {
    if fs::metadata(file)?.len() > LARGEST_FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(serde_json::from_slice(&fs::read(file)?)?)
}

impl Entry {
    fn of((address, known): (IpAddr, KnownPath)) -> Self {
        Self {
            address,
            mbit_per_s: known.memory.rate.mbit(),
            base_rtt_ms: known.memory.base_rtt.as_secs_f64() * 1e3,
            learnt: known.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        }
    }

    /// `None` for what no path can be.
    fn known(&self) -> Option<(IpAddr, KnownPath)> {
        let is_rate = self.mbit_per_s.is_finite() && self.mbit_per_s > 0.0;
        let base_rtt = Duration::try_from_secs_f64(self.base_rtt_ms / 1e3).ok()?;
        let at: SystemTime = UNIX_EPOCH.checked_add(Duration::from_secs(self.learnt))?;
        let memory = PathMemory { rate: Rate::from_mbit(self.mbit_per_s), base_rtt };
        (is_rate && !base_rtt.is_zero()).then_some((self.address, KnownPath { memory, at }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_quic::PathStore as _;

    const PEER: &str = "192.0.2.7";

    fn memory(mbit: f64) -> PathMemory {
        PathMemory { rate: Rate::from_mbit(mbit), base_rtt: Duration::from_millis(30) }
    }

    fn recall(paths: &Paths, address: &str) -> Option<f64> {
        paths.store.as_ref().unwrap().recall(address.parse().unwrap()).map(|memory| memory.rate.mbit().round())
    }

    #[test]
    fn the_next_run_knows_what_two_at_a_time_learnt() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/paths.json");
        let (one, other) = (Paths::from(file.clone()), Paths::from(file.clone()));
        one.store.as_ref().unwrap().keep(PEER.parse().unwrap(), memory(42.0));
        other.store.as_ref().unwrap().keep("2001:db8::1".parse().unwrap(), memory(7.0));
        one.save();
        other.save();
        let next = Paths::from(file);
        assert_eq!((recall(&next, PEER), recall(&next, "2001:db8::1")), (Some(42.0), Some(7.0)));
    }

    #[test]
    fn a_file_that_makes_no_sense_is_as_good_as_none_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("paths.json");
        for written in [
            "",
            "no JSON",
            r#"[{"address":"192.0.2.7","mbit_per_s":-1,"base_rtt_ms":30,"learnt":99999999999}]"#,
            r#"[{"address":"192.0.2.7","mbit_per_s":1e308,"base_rtt_ms":1e300,"learnt":18446744073709551615}]"#,
        ] {
            fs::write(&file, written).unwrap();
            let paths = Paths::from(file.clone());
            assert_eq!(recall(&paths, PEER), None, "{written}");
            paths.store.as_ref().unwrap().keep(PEER.parse().unwrap(), memory(42.0));
            paths.save();
            assert_eq!(recall(&Paths::from(file.clone()), PEER), Some(42.0), "{written}");
        }
    }
}
