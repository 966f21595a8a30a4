//! CPU time of this process.

use serde::{Deserialize, Serialize};

/// CPU time used since the process began, all threads together. Unit: microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// In this program.
    pub user_us: u64,
    /// In the system on its behalf.
    pub system_us: u64,
}

impl Cpu {
    /// Reads it; zero where the system does not tell.
    #[cfg(unix)]
    pub fn of_this_process() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is valid for writes of a `rusage`, and all zeros are a valid `rusage`.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        let micros = |time: libc::timeval| {
            u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
        };
        Self { user_us: micros(usage.ru_utime), system_us: micros(usage.ru_stime) }
    }

    /// Reads it; zero where the system does not tell.
    #[cfg(windows)]
    pub fn of_this_process() -> Self {
        use windows_sys::Win32::Foundation::FILETIME;
        use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};
        let [mut began, mut ended, mut system, mut user] = [FILETIME::default(); 4];
        // SAFETY: the handle is the constant that means this process, and each pointer is valid for one `FILETIME`.
        unsafe {
            GetProcessTimes(GetCurrentProcess(), &raw mut began, &raw mut ended, &raw mut system, &raw mut user);
        }
        // Windows counts 100 ns.
        let micros = |time: FILETIME| (u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) / 10;
        Self { user_us: micros(user), system_us: micros(system) }
    }

    /// The processor time since `earlier`.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
        }
    }

    /// User and system together.
    pub const fn total_us(self) -> u64 {
        self.user_us.saturating_add(self.system_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_cpu_time() {
        let before = Cpu::of_this_process();
        let mut x = 1_u64;
        while Cpu::of_this_process().since(before).total_us() < 2_000 {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005));
        }
        assert_eq!(before.since(Cpu::of_this_process()), Cpu::default());
    }
}
