//! A trial that ends by itself, whatever becomes of this tool and of those who began it.
//!
//! The end of it is in the kernel, with the congestion control: connections that begin later get what was the default
//! before (`kernel/tcp_pcc.bpf.c`, `trial`). No process is needed for that. The program that began the trial tidies up:
//! it restores the default's name and unloads PCC. `pcc kernel` has a timer of systemd for that, or a process of its own.

use crate::host_error::{Doing as _, HostError};
use crate::variant::Variant;
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::time::Duration;

/// Since the machine was started, with the time that it slept: as `bpf_ktime_get_boot_ns`.
pub fn now() -> Result<Duration, HostError> {
    Ok(clock_gettime(ClockId::CLOCK_BOOTTIME).map_err(io::Error::from).doing(|| "no clock")?.into())
}

/// When that is, in ns.
pub fn in_this_time(time: Duration) -> Result<u64, HostError> {
    u64::try_from(now()?.saturating_add(time).as_nanos()).map_err(HostError::TrialTooLong)
}

/// How long a trial goes on: none if there is none, zero if it is over.
pub fn remaining(variant: &Variant) -> Result<Option<Duration>, HostError> {
    let until = variant.variables.number("trial.until")?;
    if until == 0 {
        return Ok(None);
    }
    Ok(Some(Duration::from_nanos(until).saturating_sub(now()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_trial_lies_ahead_and_never_wraps() {
        let (now, end) = (now().unwrap(), in_this_time(Duration::from_secs(60)).unwrap());
        let ahead = Duration::from_nanos(end) - now;
        assert!(ahead >= Duration::from_secs(60) && ahead < Duration::from_secs(70), "{ahead:?}");
        assert!(in_this_time(Duration::MAX).is_err());
    }
}
