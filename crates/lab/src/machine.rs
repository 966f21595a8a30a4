//! Boots the guest for one run, waits no longer than allowed, and reads its answer.

use crate::cost;
use crate::guest;
use crate::kernel::Kernel;
use crate::program::Program;
use crate::spec::{Outcome, Spec};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The host's side failed.
    #[error("could not {what}: {error}")]
    Io {
        /// The attempt.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// The guest says that it failed.
    #[error("the guest failed while {0}")]
    Guest(String),
    /// The guest took too much real time.
    #[error("the guest was stopped after {0:?} of real time: shorten the run, or let it take longer")]
    TimedOut(Duration),
    /// Somebody wanted it to end.
    #[error("the guest was stopped")]
    Stopped,
    /// The kernel's own PCC is asked for.
    #[error("the algorithm `pcc` is that of a kernel module, and none was named: name one, or take quic:pcc")]
    NoModule,
    /// The guest ended without a word.
    #[error("the guest ended without an answer; the end of its console:\n{0}")]
    Silent(String),
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> RunError {
    move |error| RunError::Io { what, error }
}

/// The start of a guest.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The kernel.
    pub kernel: Kernel,
    /// The program that becomes the guest's first process: it must call [`crate::guest::run_as_init`] with the
    /// directory it is told behind `init_arguments`, and overlook what the kernel adds behind that.
    pub init: PathBuf,
    /// The `pcc` that QUIC flows run. It may be older or newer than the lab.
    pub program: PathBuf,
    /// A kernel module that provides the congestion control `pcc`, for kernel TCP.
    pub module: Option<PathBuf>,
    /// The words before the run's directory on its command line.
    pub init_arguments: Vec<String>,
    /// Real time after which a run is given up, unless it is expected to take more than a fifth of that.
    pub timeout: Duration,
    /// Where the guests' memory lies, see [`memory_for`].
    pub memory: PathBuf,
}

/// The memory that a guest may use. Unit: bytes.
const MEMORY: u64 = 1 << 30;

/// There is no room for the memory of the guests.
#[derive(Debug, thiserror::Error)]
#[error(
    "the memory of {guests} guests takes up to {guests} GB, and there is less in {tried}: start the container with \
     --shm-size={guests}g, run fewer at a time, or name another directory with TMPDIR"
)]
pub struct NoMemory {
    guests: usize,
    tried: String,
}

/// The directory in which so many guests find room for their memory: each maps a file of 1 GB there, of which it uses what
/// it needs, and dies without a word where the file system is full. Shared memory if it is large enough, which it is not
/// in a container (Docker gives 64 MB), or the directory for temporary files.
pub fn memory_for(guests: usize) -> Result<PathBuf, NoMemory> {
    choose([PathBuf::from("/dev/shm"), std::env::temp_dir()], guests, free)
}

fn choose(places: [PathBuf; 2], guests: usize, free: impl Fn(&Path) -> u64) -> Result<PathBuf, NoMemory> {
    let tried = || places.each_ref().map(|place| place.display().to_string()).join(" and ");
    let found = places.iter().find(|place| free(place) / MEMORY >= guests as u64);
    found.cloned().ok_or_else(|| NoMemory { guests, tried: tried() })
}

/// The space that is free where a directory lies; nothing if there is none. Unit: bytes.
fn free(dir: &Path) -> u64 {
    rustix::fs::statvfs(dir).map_or(0, |volume| volume.f_bavail.saturating_mul(volume.f_frsize))
}

/// A guest's niceness: a tenth of the weight of what else runs.
const NICE: u8 = 10;
/// The guest's wall clock when it boots, for it must not depend on the day. Unit: ns since 1970.
const BOOT_TIME: u64 = 1_700_000_000_000_000_000;

/// The directory of the run as the guest sees it before it mounts a `/proc` of its own: its files are the host's, and
/// there this names the working directory of the kernel's process.
const HOST_DIR: &str = "/proc/self/cwd";

/// A directory that is removed with everything in it.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover directory under /tmp does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    fn create() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pcc-lab-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Machine {
    /// The program that QUIC flows run.
    pub fn program(&self) -> Result<Program, RunError> {
        Program::read(&self.program).map_err(failed("read the program under test"))
    }

    /// Carries out one run on the processor `cpu`, unless it is told to `stop`.
    pub fn run(&self, spec: &Spec, cpu: usize, stop: &AtomicBool) -> Result<Outcome, RunError> {
        let scratch = Scratch::create().map_err(failed("create a directory for the run"))?;
        let dir = &scratch.0;
        let text = serde_json::to_vec(spec).map_err(|error| failed("describe the run")(error.into()))?;
        fs::write(dir.join("spec.json"), text).map_err(failed("write the run's description"))?;
        std::os::unix::fs::symlink(&self.init, dir.join("init")).map_err(failed("link the guest's first process"))?;
        std::os::unix::fs::symlink(&self.program, dir.join(guest::PROGRAM)).map_err(failed("link the program"))?;
        if spec.has_module_flows() {
            let module = self.module.as_ref().ok_or(RunError::NoModule)?;
            std::os::unix::fs::symlink(module, dir.join(guest::MODULE)).map_err(failed("link the kernel module"))?;
        }
        let console = dir.join("console.txt");
        let output = File::create(&console).map_err(failed("create the console's file"))?;

        let mut command = self.command(dir, spec.seed, cpu);
        command
            .stdin(Stdio::null())
            .stderr(output.try_clone().map_err(failed("open the console's file"))?)
            .stdout(output);
        let mut child = command.spawn().map_err(failed("start the guest kernel"))?;
        let began = Instant::now();
        // A long run may take long: what is far beyond what it should take is hung.
        let timeout = self.timeout.max(Duration::from_secs_f64(5.0 * cost::estimate(spec)));
        loop {
            if child.try_wait().map_err(failed("wait for the guest"))?.is_some() {
                break;
            }
            let (is_late, is_unwanted) = (began.elapsed() > timeout, stop.load(Ordering::Relaxed));
            if is_late || is_unwanted {
                // SAFETY: the guest leads a process group of its own, see `aside`.
                unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
                let _ = child.wait();
                return Err(if is_late { RunError::TimedOut(timeout) } else { RunError::Stopped });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Ok(problem) = fs::read_to_string(dir.join("error.txt")) {
            return Err(RunError::Guest(problem));
        }
        let silent = || RunError::Silent(last_lines(&console));
        let answer = fs::read(dir.join("outcome.json")).map_err(|_| silent())?;
        serde_json::from_slice(&answer).map_err(|_| silent())
    }

    fn command(&self, dir: &Path, seed: u64, cpu: usize) -> Command {
        let mut command = Command::new(&self.kernel.path);
        command
            .env_clear()
            .env("TMPDIR", &self.memory)
            .env("HOME", dir)
            .env("UML_SEED", seed.to_string())
            .args(["mem=1G", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "quiet", "con=null"])
            .args(["con0=null,fd:1", "time-travel=inf-cpu"])
            .arg(format!("time-travel-start={BOOT_TIME}"))
            // The kernel stirs its command line into its randomness, so no word of it may differ between two runs:
            // paths go by way of the kernel's own working directory.
            .args(["uml_dir=./", "umid=guest"])
            .arg(format!("init={HOST_DIR}/init"))
            .arg("--")
            .args(&self.init_arguments)
            .arg(HOST_DIR)
            .current_dir(dir);
        aside(&mut command, cpu);
        command
    }
}

/// Lets a guest run on this processor, in a session of its own, which leads a process group, behind everybody else: it wakes
/// its processes a hundred thousand times a second, and would leave a compiler beside it a thirtieth of a core.
fn aside(command: &mut Command, cpu: usize) {
    let prepare = move || {
        // SAFETY: cpu_set_t is plain data, the path and the text end where they should; the calls are async-signal-safe.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu % libc::CPU_SETSIZE as usize, &mut set);
            // Unpinned the guest is four times slower, but right all the same. So is one that cannot give way.
            libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
            libc::setsid();
            libc::setpriority(libc::PRIO_PROCESS, 0, NICE.into());
            // Where sessions share the processor evenly, a process gives way to its own session only.
            let session = libc::open(c"/proc/self/autogroup".as_ptr(), libc::O_WRONLY);
            if session >= 0 {
                let nice = [b'0' + NICE / 10, b'0' + NICE % 10];
                libc::write(session, nice.as_ptr().cast(), nice.len());
                libc::close(session);
            }
            // Nobody else would stop the guest if this process is killed.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        Ok(())
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(prepare) };
}

fn last_lines(console: &Path) -> String {
    let bytes = fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    // The lines before a panic tell more than the kernel's stack after it.
    let lines: Vec<_> = text.lines().take_while(|line| !line.starts_with("Stack:")).collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_gives_way_and_dies_with_all_its_processes() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "nice; cut -d ' ' -f 1,5 /proc/$$/stat; cat /proc/self/autogroup || true"]);
        aside(&mut command, 0);
        let said = String::from_utf8(command.stderr(Stdio::null()).output().unwrap().stdout).unwrap();
        let words: Vec<_> = said.split_whitespace().collect();
        // Tests that somebody made nicer still are so.
        assert!(words[0].parse::<u8>().unwrap() >= NICE, "{said}");
        assert_eq!(words[1], words[2], "it leads its process group: {said}");
        // `/autogroup-17 nice 10`, where the kernel has them.
        assert!(words.get(5).is_none_or(|nice| *nice == NICE.to_string()), "{said}");
    }

    #[test]
    fn guests_lie_where_there_is_room_for_their_memory() {
        let places = || [PathBuf::from("/dev/shm"), PathBuf::from("/tmp")];
        let with =
            |shared: u64, disk: u64| move |place: &Path| if place == Path::new("/dev/shm") { shared } else { disk };
        assert_eq!(choose(places(), 2, with(2 * MEMORY, 0)).unwrap(), Path::new("/dev/shm"));
        // A container of Docker.
        assert_eq!(choose(places(), 2, with(64 << 20, 9 * MEMORY)).unwrap(), Path::new("/tmp"));
        let error = choose(places(), 2, with(64 << 20, MEMORY)).unwrap_err().to_string();
        assert!(error.contains("/dev/shm and /tmp") && error.contains("--shm-size=2g"), "{error}");
        assert!(free(Path::new("/")) > 0 && free(Path::new("/nowhere")) == 0);
    }
}
