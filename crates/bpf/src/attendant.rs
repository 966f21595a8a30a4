//! The process that tidies up when a trial is over: a timer of systemd, or where that does not run a process of its own. The end
//! itself is in the kernel ([`crate::trial`]).

use crate::host_error::HostError;
use crate::trial::remaining;
use crate::unload;
use crate::variant::Variant;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Sees to it that `tool` runs with `arguments` when the trial of that map is over, after `time`, or waits for it. The tool is to call
/// [`await_end`].
///
/// Errors: the tool cannot be started.
pub fn attend(tool: &Path, arguments: &[&str], map: u32, time: Duration) -> io::Result<()> {
    if Path::new("/run/systemd/system").is_dir() && by_systemd(tool, arguments, map, time) {
        return Ok(());
    }
    let mut command = Command::new(tool);
    command.args(arguments).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let apart = || nix::unistd::setsid().map(drop).map_err(std::io::Error::from);
    // SAFETY: between fork and exec it makes one system call, and takes no lock and no memory.
    unsafe { command.pre_exec(apart) };
    command.spawn().map(drop)
}

/// As a transient timer, which outlives a session that is logged out of.
fn by_systemd(tool: &Path, arguments: &[&str], map: u32, time: Duration) -> bool {
    let mut command = Command::new("systemd-run");
    command.args(timer(map, time)).arg(tool).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn timer(map: u32, time: Duration) -> Vec<String> {
    let seconds = time.as_secs_f64().ceil();
    let words = ["--quiet", "--collect", "--timer-property=AccuracySec=1s", "--description=ends the trial of PCC"];
    let mut words: Vec<_> = words.map(str::to_owned).into();
    words.extend([format!("--unit=pcc-kernel-trial-{map}"), format!("--on-active={seconds}s"), "--".to_owned()]);
    words
}

/// Waits until the trial of that map is over, and unloads it; unless it was kept or unloaded by somebody meanwhile.
pub fn await_end(name: &str, map: u32) -> Result<(), HostError> {
    while let Some(time) = rest_of(map)? {
        // It may be made longer or shorter. Connections of its last second fall back by themselves.
        sleep(time.min(Duration::from_secs(10)));
        tracing::debug!(name, "the trial goes on");
    }
    Ok(())
}

/// How long the trial of that map goes on, if it does; else unloads it, unless that was done or it was kept. A process that waits
/// holds nothing of it: a variant that somebody unloads meanwhile is to go at once.
fn rest_of(map: u32) -> Result<Option<Duration>, HostError> {
    let all = Variant::all()?;
    let Some(mut variant) = all.into_iter().find(|one| one.map.id == map && one.is_registered) else { return Ok(None) };
    let rest = remaining(&variant)?;
    if rest == Some(Duration::ZERO) {
        unload::variant(&mut variant, &mut |_| {})?;
    }
    Ok(rest.filter(|rest| !rest.is_zero()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_of_systemd_rings_when_the_trial_is_over_not_before() {
        let words = timer(7, Duration::from_millis(1500));
        assert!(words.contains(&"--on-active=2s".to_owned()), "{words:?}");
        assert!(words.contains(&"--unit=pcc-kernel-trial-7".to_owned()), "{words:?}");
        assert_eq!(words.last().map(String::as_str), Some("--"));
    }
}
