//! The guest kernel: built once from a Linux source, with our configuration and patches, and found again by content.

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the kernel must be able to do, beyond the defaults of user-mode Linux.
const CONFIG: &str = include_str!("../kernel/lab.config");
/// What is changed of the kernel itself; each says why.
const PATCHES: [(&str, &str); 2] = [
    ("randomness.patch", include_str!("../kernel/randomness.patch")),
    ("registers.patch", include_str!("../kernel/registers.patch")),
];
/// The only version the configuration and the patch are kept for; figures of different kernels do not compare.
pub const VERSION: &str = "6.12";
/// Where Debian's package `linux-source-6.12` puts the source.
const DEBIAN_SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";
/// The unpacked tree and its objects take 2 GB.
const NEEDED_SPACE: u64 = 2_500_000_000;
/// What the build calls, and the Debian package each comes in.
const PROGRAMS: [(&str, &str); 9] = [
    ("gcc", "gcc"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("perl", "perl"),
];

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No source was named and Debian's is not installed.
    #[error(
        "no kernel source at {path}: install it with `apt-get install {packages}`, \
         or name a directory or tarball of Linux {VERSION} with --source"
    )]
    NoSource {
        /// Where it was looked for.
        path: PathBuf,
        /// The Debian packages of it and of what is missing besides, with spaces.
        packages: String,
    },
    /// The named source is not what was expected.
    #[error("{path} is not a source of Linux {VERSION} ({problem}): take the tree or tarball of kernel.org or Debian")]
    WrongSource {
        /// What was named.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Programs the build needs are missing.
    #[error("building the kernel needs {programs}: `apt-get install {packages}`")]
    MissingPrograms {
        /// Names of the programs, with commas.
        programs: String,
        /// Names of the Debian packages, with spaces.
        packages: String,
    },
    /// The disk is too full.
    #[error(
        "{path} has {free_mb} MB free and the build needs {needed_mb} MB: free some space, \
         or set XDG_CACHE_HOME to a directory on another disk",
        needed_mb = NEEDED_SPACE / 1_000_000
    )]
    NoSpace {
        /// The cache directory.
        path: PathBuf,
        /// Free megabytes there.
        free_mb: u64,
    },
    /// A step of the build failed.
    #[error("`{step}` failed ({status}); the end of {log}:\n{tail}")]
    Step {
        /// The command.
        step: String,
        /// How it ended.
        status: String,
        /// Where its whole output is.
        log: PathBuf,
        /// The last lines of its output.
        tail: String,
    },
    /// A setting did not survive the kernel's own dependency rules.
    #[error("this source does not offer {0}, which the lab needs: use Linux {VERSION}")]
    MissingSetting(String),
    /// Nothing was built yet.
    #[error("the guest kernel is not built yet: run `pcc lab build` (3 to 4 minutes of two quiet cores)")]
    NotBuilt,
    /// What was built is older than this program.
    #[error("the guest kernel was built by another version of pcc: run `pcc lab build` again")]
    Outdated,
    /// The cache directory is not usable.
    #[error("could not {what} {path}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> KernelError + use<'a> {
    move |error| KernelError::Io { what, path: path.to_owned(), error }
}

/// A kernel that can be booted.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Kernel {
    /// The executable.
    pub path: PathBuf,
    /// Version with patch level, as in the source's Makefile.
    pub release: String,
    /// Hash of everything that went into it: results of equal identities compare.
    pub identity: String,
    /// Hash of configuration and patches, to notice that this program expects another one.
    recipe: String,
}

/// Where kernels are kept: `$XDG_CACHE_HOME/pcc/lab`, or `~/.cache/pcc/lab`.
pub fn cache_dir() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into())).join(".cache");
    base.unwrap_or_else(home).join("pcc").join("lab")
}

/// The kernel built last, if it is the one this program expects.
pub fn find(cache: &Path) -> Result<Kernel, KernelError> {
    let bytes = fs::read(cache.join("kernel.json")).map_err(|_| KernelError::NotBuilt)?;
    let kernel: Kernel = serde_json::from_slice(&bytes).map_err(|_| KernelError::NotBuilt)?;
    if !kernel.path.is_file() {
        return Err(KernelError::NotBuilt);
    }
    if kernel.recipe == recipe() { Ok(kernel) } else { Err(KernelError::Outdated) }
}

/// Builds the kernel, unless the same one is there. `tell` hears of each step.
pub fn build(cache: &Path, source: Option<&Path>, tell: &mut dyn FnMut(&str)) -> Result<Kernel, KernelError> {
    let source = Source::open(source)?;
    check_programs()?;
    fs::create_dir_all(cache).map_err(io_error("create", cache))?;
    let _lock = lock(cache)?;

    let mut hash = blake3::Hasher::new();
    hash.update(recipe().as_bytes());
    source.hash_into(&mut hash)?;
    let identity = hash.finalize().to_hex().as_str()[..16].to_owned();
    let path = cache.join(format!("linux-{identity}"));
    if let Ok(there) = find(cache).map(|kernel| kernel.identity == identity)
        && there
    {
        tell(&format!("the kernel is there already: {}", path.display()));
        return find(cache);
    }
    check_space(cache)?;

    let work = cache.join("build");
    let log = cache.join("build.log");
    if work.exists() {
        fs::remove_dir_all(&work).map_err(io_error("clear", &work))?;
    }
    fs::create_dir_all(&work).map_err(io_error("create", &work))?;
    File::create(&log).map_err(io_error("create", &log))?;
    let built = Build { source: &source, work: &work, log: &log }.run(tell);
    let (binary, release) = match built {
        Ok(built) => built,
        Err(error) => {
            // Two gigabytes of objects help nobody; the log stays.
            let _ = fs::remove_dir_all(&work);
            return Err(error);
        }
    };
    let partial = path.with_extension("new");
    fs::copy(&binary, &partial).map_err(io_error("copy the kernel to", &partial))?;
    fs::rename(&partial, &path).map_err(io_error("move the kernel to", &path))?;
    fs::remove_dir_all(&work).map_err(io_error("clear", &work))?;
    let kernel = Kernel { path, release, identity, recipe: recipe() };
    let index = cache.join("kernel.json");
    let text = serde_json::to_vec_pretty(&kernel).map_err(|error| KernelError::Io {
        what: "describe the kernel in",
        path: index.clone(),
        error: error.into(),
    })?;
    fs::write(&index, text).map_err(io_error("write", &index))?;
    tell(&format!("Linux {} is ready: {}", kernel.release, kernel.path.display()));
    Ok(kernel)
}

/// Hash of what this program adds to the source.
fn recipe() -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(CONFIG.as_bytes());
    for (_, patch) in PATCHES {
        hash.update(patch.as_bytes());
    }
    hash.finalize().to_hex().as_str()[..16].to_owned()
}

/// Where the source comes from.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    Tree(PathBuf),
    Tarball(PathBuf),
}

impl Source {
    fn open(named: Option<&Path>) -> Result<Self, KernelError> {
        let path = named.unwrap_or(Path::new(DEBIAN_SOURCE));
        let wrong = |problem: String| KernelError::WrongSource { path: path.to_owned(), problem };
        let Ok(kind) = fs::metadata(path) else {
            return Err(match named {
                None => {
                    let package = format!("linux-source-{VERSION}");
                    let missing = missing_programs().into_iter().map(|(_, package)| package);
                    let packages = std::iter::once(package.as_str()).chain(missing).collect::<Vec<_>>().join(" ");
                    KernelError::NoSource { path: path.to_owned(), packages }
                }
                Some(_) => wrong("it does not exist".into()),
            });
        };
        let path = path.canonicalize().map_err(io_error("find", path))?;
        if kind.is_dir() {
            let makefile = fs::read_to_string(path.join("Makefile")).map_err(|_| wrong("it has no Makefile".into()))?;
            let release = release(&makefile).ok_or_else(|| wrong("its Makefile names no kernel version".into()))?;
            if !is_our_version(&release) {
                return Err(wrong(format!("its version is {release}")));
            }
            if path.join(".config").exists() {
                return Err(wrong("it was configured before: `make mrproper` there first".into()));
            }
            return Ok(Self::Tree(path));
        }
        let name = path.to_string_lossy().into_owned();
        if name.ends_with(".tar") || name.contains(".tar.") || name.ends_with(".tgz") {
            Ok(Self::Tarball(path))
        } else {
            Err(wrong("it is neither a directory nor a tarball".into()))
        }
    }

    fn hash_into(&self, hash: &mut blake3::Hasher) -> Result<(), KernelError> {
        match self {
            Self::Tarball(path) => {
                let file = File::open(path).map_err(io_error("read", path))?;
                hash.update_reader(file).map_err(io_error("read", path))?;
            }
            Self::Tree(path) => {
                // A tree has 80,000 files; its place and version identify it well enough for a cache.
                let makefile = path.join("Makefile");
                hash.update(path.to_string_lossy().as_bytes());
                hash.update(&fs::read(&makefile).map_err(io_error("read", &makefile))?);
            }
        }
        Ok(())
    }
}

/// `6.12.117` out of the head of a kernel's Makefile.
fn release(makefile: &str) -> Option<String> {
    let value = |key: &str| {
        let line = makefile.lines().take(10).find(|line| line.split('=').next().is_some_and(|k| k.trim() == key))?;
        Some(line.split_once('=')?.1.trim().to_owned())
    };
    Some(format!("{}.{}.{}{}", value("VERSION")?, value("PATCHLEVEL")?, value("SUBLEVEL")?, value("EXTRAVERSION")?))
}

fn is_our_version(release: &str) -> bool {
    release.strip_prefix(VERSION).is_some_and(|rest| rest.starts_with('.'))
}

/// The programs that are not there, each with its Debian package.
fn missing_programs() -> Vec<(&'static str, &'static str)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    PROGRAMS.into_iter().filter(|(program, _)| !is_there(program)).collect()
}

fn check_programs() -> Result<(), KernelError> {
    let missing = missing_programs();
    if missing.is_empty() {
        return Ok(());
    }
    Err(KernelError::MissingPrograms {
        programs: missing.iter().map(|(program, _)| *program).collect::<Vec<_>>().join(", "),
        packages: missing.iter().map(|(_, package)| *package).collect::<Vec<_>>().join(" "),
    })
}

fn check_space(cache: &Path) -> Result<(), KernelError> {
    let name = std::ffi::CString::new(cache.as_os_str().as_encoded_bytes()).unwrap_or_default();
    // SAFETY: statvfs is plain data, for which all-zero bytes are valid.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is NUL-terminated and `stat` outlives the call.
    if unsafe { libc::statvfs(name.as_ptr(), &mut stat) } != 0 {
        return Err(io_error("ask for the free space of", cache)(io::Error::last_os_error()));
    }
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free >= NEEDED_SPACE {
        return Ok(());
    }
    Err(KernelError::NoSpace { path: cache.to_owned(), free_mb: free / 1_000_000 })
}

/// Waits until no other `pcc lab build` uses the cache; dropping the file lets the next one in.
fn lock(cache: &Path) -> Result<File, KernelError> {
    let path = cache.join("lock");
    let file = File::create(&path).map_err(io_error("create", &path))?;
    // SAFETY: the descriptor is open for as long as `file` lives.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return Err(io_error("lock", &path)(io::Error::last_os_error()));
    }
    Ok(file)
}

/// One build, from source to executable.
struct Build<'a> {
    source: &'a Source,
    work: &'a Path,
    log: &'a Path,
}

impl Build<'_> {
    fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<(PathBuf, String), KernelError> {
        let (tree, release) = self.unpack(tell)?;
        let write = |name: &str, text: &str| {
            let path = self.work.join(name);
            fs::write(&path, text).map_err(io_error("write", &path))?;
            Ok::<_, KernelError>(path.to_string_lossy().into_owned())
        };
        tell("patching and configuring");
        for (name, text) in PATCHES {
            self.step(&tree, "patch", &["-p1", "--forward", "--batch", "-i", &write(name, text)?])?;
        }
        let config = write("lab.config", CONFIG)?;
        self.step(&tree, "make", &["-s", "ARCH=um", "x86_64_defconfig"])?;
        self.step(&tree, "sh", &["scripts/kconfig/merge_config.sh", "-m", ".config", &config])?;
        self.step(&tree, "make", &["-s", "ARCH=um", "olddefconfig"])?;
        let dot_config = tree.join(".config");
        let got = fs::read_to_string(&dot_config).map_err(io_error("read", &dot_config))?;
        if let Some(missing) = missing_settings(&got).first() {
            return Err(KernelError::MissingSetting((*missing).to_owned()));
        }

        let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        tell(&format!("compiling Linux {release} with {jobs} jobs (about 8 minutes of one core's time)"));
        self.step(&tree, "make", &["-s", "ARCH=um", "-j", &jobs, "linux"])?;
        Ok((tree.join("linux"), release))
    }

    /// Always into a directory of our own: a tree somebody else owns is never patched.
    fn unpack(&self, tell: &mut dyn FnMut(&str)) -> Result<(PathBuf, String), KernelError> {
        let tree = self.work.join("linux");
        fs::create_dir_all(&tree).map_err(io_error("create", &tree))?;
        let path = match self.source {
            Source::Tarball(path) => {
                tell(&format!("unpacking {}", path.display()));
                let from = path.to_string_lossy();
                self.step(&tree, "tar", &["-x", "--strip-components=1", "-f", from.as_ref()])?;
                path
            }
            Source::Tree(path) => {
                tell(&format!("copying {}", path.display()));
                let from = format!("{}/.", path.display());
                self.step(&tree, "cp", &["-r", "--reflink=auto", &from, "."])?;
                path
            }
        };
        let wrong = |problem: String| KernelError::WrongSource { path: path.clone(), problem };
        let makefile = fs::read_to_string(tree.join("Makefile")).map_err(|_| wrong("it holds no Makefile".into()))?;
        let release = release(&makefile).ok_or_else(|| wrong("its Makefile names no kernel version".into()))?;
        if is_our_version(&release) { Ok((tree, release)) } else { Err(wrong(format!("its version is {release}"))) }
    }

    fn step(&self, dir: &Path, program: &str, args: &[&str]) -> Result<(), KernelError> {
        let log = File::options().append(true).open(self.log).map_err(io_error("write", self.log))?;
        let errors = log.try_clone().map_err(io_error("write", self.log))?;
        let status = Command::new(program)
            .args(args)
            .current_dir(dir)
            .env("KBUILD_BUILD_USER", "pcc")
            .env("KBUILD_BUILD_HOST", "lab")
            // The banner's date would make two builds of one source differ.
            .env("KBUILD_BUILD_TIMESTAMP", "1970-01-01")
            .env_remove("MAKEFLAGS")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .status()
            .map_err(|error| KernelError::Io { what: "run", path: program.into(), error })?;
        if status.success() {
            return Ok(());
        }
        let all = fs::read(self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&all);
        let lines: Vec<_> = text.lines().collect();
        Err(KernelError::Step {
            step: format!("{program} {}", args.join(" ")),
            status: status.to_string(),
            log: self.log.to_owned(),
            tail: lines[lines.len().saturating_sub(20)..].join("\n"),
        })
    }
}

/// The `=y` settings of [`CONFIG`] that are not in a finished configuration.
fn missing_settings(finished: &str) -> Vec<&'static str> {
    let wanted = CONFIG.lines().filter(|line| line.ends_with("=y"));
    wanted.filter(|setting| !finished.lines().any(|line| line == *setting)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str =
        "# SPDX-License-Identifier: GPL-2.0\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n";

    #[test]
    fn the_release_is_read_from_the_makefile() {
        assert_eq!(release(MAKEFILE).as_deref(), Some("6.12.117"));
        assert_eq!(release("all:\n\techo hello\n"), None);
        assert!(is_our_version("6.12.117") && !is_our_version("6.1.12") && !is_our_version("6.123.4"));
    }

    #[test]
    fn a_missing_source_is_an_error_that_says_how_to_get_it() {
        let dir = tempfile::tempdir().unwrap();
        let error = Source::open(Some(&dir.path().join("nowhere"))).unwrap_err().to_string();
        assert!(error.contains("does not exist"), "{error}");
        let (path, packages) = (DEBIAN_SOURCE.into(), "linux-source-6.12 flex".into());
        let error = KernelError::NoSource { path, packages }.to_string();
        assert!(error.contains("apt-get install linux-source-6.12 flex") && error.contains("--source"), "{error}");
    }

    #[test]
    fn a_source_of_another_version_is_refused_before_anything_is_built() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Makefile"), MAKEFILE.replace("PATCHLEVEL = 12", "PATCHLEVEL = 1")).unwrap();
        let cache = dir.path().join("cache");
        let error = build(&cache, Some(dir.path()), &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("6.1.117"), "{error}");
        assert!(!cache.exists(), "nothing may be created for a source that cannot be used");
    }

    #[test]
    fn a_kernel_of_another_recipe_is_outdated_and_no_kernel_is_not_built() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(find(dir.path()), Err(KernelError::NotBuilt)));
        let mut kernel = Kernel {
            path: dir.path().join("linux-x"),
            release: "6.12.1".into(),
            identity: "x".into(),
            recipe: recipe(),
        };
        let save = |kernel: &Kernel| {
            fs::write(dir.path().join("kernel.json"), serde_json::to_vec(kernel).unwrap()).unwrap();
        };
        save(&kernel);
        assert!(matches!(find(dir.path()), Err(KernelError::NotBuilt)), "the file itself is missing");
        fs::write(&kernel.path, "").unwrap();
        assert_eq!(find(dir.path()).unwrap(), kernel);
        kernel.recipe = "older".into();
        save(&kernel);
        assert!(matches!(find(dir.path()), Err(KernelError::Outdated)));
    }

    #[test]
    fn a_configuration_without_virtual_time_is_noticed() {
        assert!(missing_settings(CONFIG).is_empty());
        let without = CONFIG.replace("CONFIG_UML_TIME_TRAVEL_SUPPORT=y", "# CONFIG_UML_TIME_TRAVEL_SUPPORT is not set");
        assert_eq!(missing_settings(&without), ["CONFIG_UML_TIME_TRAVEL_SUPPORT=y"]);
    }
}
