//! The guest kernel: built once from a Linux source, with our configuration and patches, and found again by content.

mod error;
mod module;

pub use error::KernelError;
pub use module::Module;

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The kernel's configuration, beyond the defaults of user-mode Linux.
const CONFIG: &str = include_str!("../kernel/lab.config");
/// Patches of the kernel itself; each says why.
const PATCHES: [(&str, &str); 3] = [
    ("clock.patch", include_str!("../kernel/clock.patch")),
    ("randomness.patch", include_str!("../kernel/randomness.patch")),
    ("registers.patch", include_str!("../kernel/registers.patch")),
];
/// The only version the configuration and the patch are kept for; figures of different kernels do not compare.
pub const VERSION: &str = "6.12";
/// Where Debian's package `linux-source-6.12` puts the source.
const DEBIAN_SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";
/// The unpacked tree and its objects take 2 GB.
const NEEDED_SPACE: u64 = 2_500_000_000;
/// The build's programs, and the Debian package of each.
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
    let there = find(cache).ok().filter(|kernel| kernel.identity == identity);
    let headers = module::headers(cache, &identity);
    if let Some(kernel) = &there
        && headers.is_dir()
    {
        tell(&format!("the kernel is there already: {}", path.display()));
        return Ok(kernel.clone());
    }
    check_space(cache)?;

    let (work, log) = place_to_build(cache)?;
    let build = Build { source: &source, work: &work, log: &log };
    let built = build.prepare(tell).and_then(|(tree, release)| {
        // A kernel that an earlier version of this program built is the same one.
        let binary = if there.is_none() { Some(build.compile(&tree, &release, tell)?) } else { None };
        build.keep_headers(&tree, &headers)?;
        Ok((binary, release))
    });
    let (binary, release) = built.inspect_err(|_| {
        // Two gigabytes of objects help nobody; the log stays.
        let _ = fs::remove_dir_all(&work);
    })?;
    if let (None, Some(kernel)) = (&binary, there) {
        fs::remove_dir_all(&work).map_err(io_error("clear", &work))?;
        tell(&format!("Linux {release} was there already, and is ready for modules: {}", kernel.path.display()));
        return Ok(kernel);
    }
    let kernel = Kernel { path, release, identity, recipe: recipe() };
    keep(cache, &kernel, &binary.unwrap_or_default())?;
    fs::remove_dir_all(&work).map_err(io_error("clear", &work))?;
    tell(&format!("Linux {} is ready: {}", kernel.release, kernel.path.display()));
    Ok(kernel)
}

/// An empty directory to build in, and an empty log.
fn place_to_build(cache: &Path) -> Result<(PathBuf, PathBuf), KernelError> {
    let (work, log) = (cache.join("build"), cache.join("build.log"));
    if work.exists() {
        fs::remove_dir_all(&work).map_err(io_error("clear", &work))?;
    }
    fs::create_dir_all(&work).map_err(io_error("create", &work))?;
    File::create(&log).map_err(io_error("create", &log))?;
    Ok((work, log))
}

/// Keeps the binary that was built, and makes the kernel the one that [`find`] finds.
fn keep(cache: &Path, kernel: &Kernel, binary: &Path) -> Result<(), KernelError> {
    let partial = kernel.path.with_extension("new");
    fs::copy(binary, &partial).map_err(io_error("copy the kernel to", &partial))?;
    fs::rename(&partial, &kernel.path).map_err(io_error("move the kernel to", &kernel.path))?;
    let index = cache.join("kernel.json");
    let text = serde_json::to_vec_pretty(kernel).map_err(|error| KernelError::Io {
        what: "describe the kernel in",
        path: index.clone(),
        error: error.into(),
    })?;
    fs::write(&index, text).map_err(io_error("write", &index))
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

/// Waits until no other `pcc-lab build` uses the cache; dropping the file lets the next one in.
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
    /// A tree that is patched and configured, and the release that it is of.
    fn prepare(&self, tell: &mut dyn FnMut(&str)) -> Result<(PathBuf, String), KernelError> {
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
        Ok((tree, release))
    }

    /// The executable.
    fn compile(&self, tree: &Path, release: &str, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, KernelError> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        tell(&format!("compiling Linux {release} with {jobs} jobs (about 8 minutes of one core's time)"));
        self.step(tree, "make", &["-s", "ARCH=um", "-j", &jobs, "linux"])?;
        Ok(tree.join("linux"))
    }

    /// Moves what modules of this kernel are built with to where it is kept.
    fn keep_headers(&self, tree: &Path, to: &Path) -> Result<(), KernelError> {
        self.step(tree, "make", &["-s", "ARCH=um", "modules_prepare"])?;
        let partial = to.with_extension("new");
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir_all(partial.join("arch")).map_err(io_error("create", &partial))?;
        for name in module::HEADERS {
            fs::rename(tree.join(name), partial.join(name)).map_err(io_error("keep", &tree.join(name)))?;
        }
        fs::rename(&partial, to).map_err(io_error("move the headers to", to))
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
        step(self.log, dir, program, args)
    }
}

/// Runs a program; what it says is added to the log.
fn step(log: &Path, dir: &Path, program: &str, args: &[&str]) -> Result<(), KernelError> {
    let output = File::options().append(true).create(true).open(log).map_err(io_error("write", log))?;
    let errors = output.try_clone().map_err(io_error("write", log))?;
    let status = Command::new(program)
        .args(args)
        .current_dir(dir)
        .env("KBUILD_BUILD_USER", "pcc")
        .env("KBUILD_BUILD_HOST", "lab")
        // The banner's date would make two builds of one source differ.
        .env("KBUILD_BUILD_TIMESTAMP", "1970-01-01")
        .env_remove("MAKEFLAGS")
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(|error| KernelError::Io { what: "run", path: program.into(), error })?;
    if status.success() {
        return Ok(());
    }
    let all = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&all);
    let lines: Vec<_> = text.lines().collect();
    Err(KernelError::Step {
        step: format!("{program} {}", args.join(" ")),
        status: status.to_string(),
        log: log.to_owned(),
        tail: lines[lines.len().saturating_sub(20)..].join("\n"),
    })
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
        assert!(
            error.contains("apt-get install linux-source-6.12 flex") && error.contains("or name a directory"),
            "{error}"
        );
    }

    #[test]
    fn a_source_of_another_version_is_refused_before_building() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Makefile"), MAKEFILE.replace("PATCHLEVEL = 12", "PATCHLEVEL = 1")).unwrap();
        let cache = dir.path().join("cache");
        let error = build(&cache, Some(dir.path()), &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("6.1.117"), "{error}");
        assert!(!cache.exists(), "nothing may be created for a source that cannot be used");
    }

    #[test]
    fn a_kernel_of_another_recipe_is_outdated() {
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
