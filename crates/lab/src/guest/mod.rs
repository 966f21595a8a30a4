//! The guest's first process: builds the network, measures it, runs the flows, writes what happened, switches off.

mod app;
mod flow;
mod hop;
mod late;
mod module;
mod netlink;
mod offload;
pub(crate) mod probe;
pub(crate) mod quic;
mod sockets;
mod tcp;
mod topology;
mod wire;

use crate::spec::{Outcome, Spec};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;
use topology::Network;

/// Name of the program that QUIC flows run, in the run's directory.
pub(crate) const PROGRAM: &str = "program";

/// Name of the kernel module in the run's directory, if there is one.
pub(crate) const MODULE: &str = "module.ko";

/// Runs as process 1 of the guest and never returns. The run is described by `spec.json` in `dir`; the answer is
/// `outcome.json` or `error.txt` there.
///
/// Anywhere else it says so and does nothing: it would switch off the computer.
pub fn run_as_init(dir: &Path) -> io::Error {
    if std::process::id() != 1 {
        return io::Error::other("this command is for the first process of the lab's guest: `pcc-lab run` starts it");
    }
    // The name leads through the host's /proc, which is about to be covered by the guest's.
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let answer = serve(&dir.join("spec.json"));
    let written = match answer {
        Ok(outcome) => match serde_json::to_vec(&outcome) {
            Ok(bytes) => fs::write(dir.join("outcome.json"), bytes),
            Err(error) => fs::write(dir.join("error.txt"), error.to_string()),
        },
        Err(error) => fs::write(dir.join("error.txt"), error.to_string()),
    };
    // Nobody is left to tell if writing failed; the host notices that there is no answer.
    let _ = written;
    loop {
        // SAFETY: this is process 1 of a virtual machine, which it ends.
        unsafe { libc::reboot(libc::RB_POWER_OFF) };
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn serve(path: &Path) -> io::Result<Outcome> {
    let at = |step: &'static str| move |error| io::Error::other(format!("{step}: {error}"));
    mount(c"/proc", c"proc").map_err(at("mounting /proc"))?;
    // SAFETY: no pointers. Without this the kernel may delay a wake-up by 50 µs to merge it with another.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let spec: Spec = serde_json::from_slice(&fs::read(path)?)?;
    let dir = path.parent().unwrap_or(Path::new("/"));
    module::load(&spec, dir).map_err(at("loading the kernel module"))?;
    let network = Network::build(&spec).map_err(at("building the network"))?;
    let mut probes = probe::probe(&spec, &network.hosts).map_err(at("measuring the path"))?.into_iter();
    let mut outcome = flow::run(&spec, dir, network).map_err(at("running the flows"))?;
    outcome.probe = probes.next().unwrap_or_default();
    outcome.then.iter_mut().zip(probes).for_each(|(bottleneck, probe)| bottleneck.probe = probe);
    fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().clone_into(&mut outcome.kernel);
    Ok(outcome)
}

fn mount(target: &std::ffi::CStr, kind: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: all strings are NUL-terminated and no options are passed.
    let done = unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The guest's clock. Unit: ns.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn sleep_until(moment: u64) {
    let time = libc::timespec {
        tv_sec: (moment / 1_000_000_000) as libc::time_t,
        tv_nsec: (moment % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` outlives the call and no remainder is asked for.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut()) };
}

/// Stops a process in the middle of whatever it does, or lets it go on, as a busy processor does.
fn pause(process: &std::process::Child, is_paused: bool) {
    let signal = if is_paused { libc::SIGSTOP } else { libc::SIGCONT };
    // SAFETY: no pointers; the child has not been waited for unless it ended, and then nothing is to be stopped.
    unsafe { libc::kill(process.id() as libc::pid_t, signal) };
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).map(drop)
}
