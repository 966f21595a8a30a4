//! Outcomes by content: what has been run is not run again.

use crate::kernel::Kernel;
use crate::spec::{Outcome, Spec};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Raised whenever the guest would measure something else for the same specification.
const MEASUREMENT: u32 = 1;

/// A directory of outcomes.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// One file of it.
#[derive(Serialize, Deserialize)]
struct Record {
    measurement: u32,
    kernel: String,
    spec: Spec,
    outcome: Outcome,
}

impl Store {
    /// The outcomes in `dir`, which is created when the first one is kept.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    fn path(&self, kernel: &Kernel, spec: &Spec) -> io::Result<PathBuf> {
        let key = serde_json::to_vec(&(MEASUREMENT, &kernel.identity, spec))?;
        Ok(self.dir.join(format!("{}.json", &blake3::hash(&key).to_hex().as_str()[..24])))
    }

    /// The outcome of a run, if it was kept. A damaged file counts as none.
    pub fn find(&self, kernel: &Kernel, spec: &Spec) -> Option<Outcome> {
        let bytes = fs::read(self.path(kernel, spec).ok()?).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        (record.spec == *spec && record.kernel == kernel.identity).then_some(record.outcome)
    }

    /// Keeps an outcome and says where.
    pub fn keep(&self, kernel: &Kernel, spec: &Spec, outcome: &Outcome) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.dir)?;
        let path = self.path(kernel, spec)?;
        let (kernel, spec, outcome) = (kernel.identity.clone(), spec.clone(), outcome.clone());
        let record = Record { measurement: MEASUREMENT, kernel, spec, outcome };
        // Another process may read or write the same outcome at this moment.
        let partial = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&partial, serde_json::to_vec(&record)?)?;
        fs::rename(&partial, &path)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::lone_cubic;
    use crate::spec::{PathSpec, Probe};

    #[test]
    fn an_outcome_is_found_for_its_own_run_and_kernel_only() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(&dir.path().join("results"));
        let kernel: Kernel =
            serde_json::from_str(r#"{ "path": "/k", "release": "6.12.1", "identity": "a", "recipe": "r" }"#).unwrap();
        let mut other = kernel.clone();
        other.identity = "b".into();
        let spec = lone_cubic(&PathSpec { rate: 1_000_000, rtt: 30_000_000, buffer: 9000, ..PathSpec::default() });
        let probe = Probe { rtt: 1, rate: 2, queue_delay: 3, sent: 4, lost: 5, ..Probe::default() };
        let outcome = Outcome { kernel: "6.12.1".into(), probe, ..Outcome::default() };
        assert_eq!(store.find(&kernel, &spec), None);
        let path = store.keep(&kernel, &spec, &outcome).unwrap();
        assert_eq!(store.find(&kernel, &spec), Some(outcome));
        assert_eq!(store.find(&kernel, &Spec { seed: 2, ..spec.clone() }), None);
        assert_eq!(store.find(&other, &spec), None);
        fs::write(path, "half a fi").unwrap();
        assert_eq!(store.find(&kernel, &spec), None);
    }
}
