//! Programs at both ends of a path: one inside the namespace, and what it reaches outside. Both end with this program, without which
//! the path leads nowhere.

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What is told to end has so long to do it.
const GRACE: Duration = Duration::from_secs(2);

/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Starts a command in this network namespace.
pub fn start_inside(mut command: Command, namespace: File) -> io::Result<Child> {
    let enter = move || setns(&namespace, CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
    // SAFETY: between fork and exec it makes one system call, and takes no lock and no memory.
    unsafe { command.pre_exec(enter) };
    // The kernel ends it when we are killed, or our terminal goes.
    let ask = || nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).map_err(io::Error::from);
    // SAFETY: as above.
    unsafe { command.pre_exec(ask) };
    command.spawn()
}

/// What runs at the far end. It and whatever it started end when this is dropped, and when this program is killed.
#[derive(Debug)]
pub struct Outside {
    child: Child,
    /// Reads from us what never comes, until we are no more: a shell dies of the kernel's signal without passing it on.
    guard: Child,
}

impl Outside {
    /// Has `sh` run this line.
    pub fn start(line: &str) -> io::Result<Self> {
        let mut child = Command::new("sh").arg("-c").arg(line).process_group(0).spawn()?;
        let mut guard = Command::new("sh");
        guard.args(["-c", "read -r _; kill -TERM \"-$1\"", "sh"]).arg(child.id().to_string());
        // A process group of its own: Ctrl-C is not meant for it, nor for what it guards.
        let guard = guard.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        match guard {
            Ok(guard) => Ok(Self { child, guard }),
            Err(error) => {
                let _ = child.kill();
                Err(error)
            }
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        let group = Pid::from_raw(self.child.id() as i32);
        let _ = killpg(group, Signal::SIGTERM);
        let end = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(LOOK);
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_outside_ends_with_all_that_it_started() {
        let dir = std::env::temp_dir().join(format!("pcc-outside-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("pid");
        let outside = Outside::start(&format!("sleep 1000 & echo $! > '{}'; wait", file.display())).unwrap();
        let id = loop {
            if let Some(id) = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<i32>().ok()) {
                break id;
            }
            thread::sleep(LOOK);
        };
        drop(outside);
        // The signal was sent; on a busy machine it takes a while to be delivered. Whoever inherits the process may not have
        // fetched its end yet.
        let state = || std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let is_over = |state: &str| state.is_empty() || state.contains(") Z ") || !state.contains("sleep");
        let over = (0..1000).any(|_| {
            thread::sleep(LOOK);
            is_over(&state())
        });
        assert!(over, "{}", state());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
