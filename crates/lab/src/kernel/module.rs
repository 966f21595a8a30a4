//! PCC as a module of the guest kernel: built from the source that this program carries, and found again by content. A
//! change of the source is another module and another experiment, and leaves the kernel and its other senders as they are.

use super::{Kernel, KernelError, check_programs, io_error, lock, step};
use std::fs;
use std::path::{Path, PathBuf};

/// `kernel/` of the source tree: names and contents. Empty in a package of this crate alone.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The part of a kernel's tree with which a module is built.
pub(super) const HEADERS: [&str; 6] = [".config", "Makefile", "arch/um", "arch/x86", "include", "scripts"];

/// Where that is kept.
pub(super) fn headers(cache: &Path, kernel: &str) -> PathBuf {
    cache.join(format!("headers-{kernel}"))
}

/// A module that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its file.
    pub path: PathBuf,
    /// The identity of its behaviour: results of equal identities compare.
    pub identity: String,
}

impl Module {
    /// Identity of the module that [`Self::build`] makes.
    ///
    /// Errors: this program carries no source.
    pub fn identity() -> Result<String, KernelError> {
        if SOURCES.is_empty() {
            return Err(KernelError::NoSources);
        }
        let mut hash = blake3::Hasher::new();
        for part in SOURCES.iter().flat_map(|(name, text)| [name, text]) {
            hash.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Ok(hash.finalize().to_hex().as_str()[..16].to_owned())
    }

    /// Builds it for this kernel, which is in `cache`, unless it is there. It takes some seconds.
    pub fn build(cache: &Path, kernel: &Kernel, tell: &mut dyn FnMut(&str)) -> Result<Self, KernelError> {
        let identity = Self::identity()?;
        let path = cache.join(format!("pcc-{}-{identity}.ko", kernel.identity));
        let module = Self { path, identity };
        let headers = headers(cache, &kernel.identity);
        if module.path.is_file() {
            return Ok(module);
        }
        if !headers.is_dir() {
            return Err(KernelError::NoHeaders);
        }
        check_programs()?;
        let _lock = lock(cache)?;
        tell("compiling PCC for the guest kernel");
        let work = cache.join("module");
        let _ = fs::remove_dir_all(&work);
        for (name, text) in SOURCES {
            let file = work.join(name);
            let dir = file.parent().unwrap_or(&work);
            fs::create_dir_all(dir).map_err(io_error("create", dir))?;
            fs::write(&file, text).map_err(io_error("write", &file))?;
        }
        let place = format!("M={}", work.display());
        // Nobody wrote down the kernel's exports: a name that it does not know is found when the module is loaded.
        let made = ["-s", "ARCH=um", &place, "KBUILD_MODPOST_WARN=1", "modules"];
        step(&cache.join("module.log"), &headers, "make", &made)?;
        let built = work.join("tcp_pcc.ko");
        fs::rename(&built, &module.path).map_err(io_error("keep", &built))?;
        fs::remove_dir_all(&work).map_err(io_error("clear", &work))?;
        Ok(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_carries_the_module_and_all_that_it_includes() {
        let names: Vec<_> = SOURCES.iter().map(|(name, _)| *name).collect();
        assert!(names.contains(&"Kbuild") && names.contains(&"tcp_pcc.c"), "{names:?}");
        for (name, text) in SOURCES {
            let dir = Path::new(name).parent().unwrap();
            for included in text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"')) {
                let beside = dir.join(included);
                let found = SOURCES.iter().any(|(known, _)| Path::new(known) == beside || *known == included);
                let above = included.strip_prefix("../").is_some_and(|above| names.contains(&above));
                assert!(found || above, "{name} includes {included}, which is not in {names:?}");
            }
        }
        assert_eq!(Module::identity().unwrap(), Module::identity().unwrap());
    }

    #[test]
    fn a_kernel_of_before_says_how_to_get_what_a_module_needs() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = Kernel {
            path: dir.path().join("linux"),
            release: "6.12.1".into(),
            identity: "0".into(),
            recipe: String::new(),
        };
        let build = || Module::build(dir.path(), &kernel, &mut |_| ());
        assert!(matches!(build(), Err(KernelError::NoHeaders)));
        let path = dir.path().join(format!("pcc-0-{}.ko", Module::identity().unwrap()));
        fs::write(&path, "").unwrap();
        assert_eq!(build().unwrap().path, path, "it is there and is not built again");
    }
}
