//! Loads the kernel module that provides a congestion control of ours.

use crate::names::{MODULE_ALGORITHM, MODULE_VARIANT};
use crate::scenario::algorithm::listing;
use crate::spec::Spec;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// Loads the run's module, if it has one, with what its flows strive for, and checks that it provides what it is for.
pub(super) fn load(spec: &Spec, dir: &Path) -> io::Result<()> {
    if spec.module.is_none() {
        return Ok(());
    }
    let file = File::open(dir.join(super::MODULE))?;
    let mut parameters = String::new();
    if let Some(utility) = spec.module_variant() {
        parameters = format!("bulk_utility=\"{}\"", listing(utility).map_err(io::Error::other)?);
    }
    if spec.has_trains_of_tcp() {
        parameters += " short_trains=N";
    }
    let parameters = CString::new(parameters)?;
    // SAFETY: the parameters are a NUL-terminated string.
    let done = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), parameters.as_ptr(), 0) };
    if done < 0 {
        let error = io::Error::last_os_error();
        let problem = format!("{error}; was it built for exactly this kernel, with `make ARCH=um`?");
        return Err(io::Error::new(error.kind(), problem));
    }
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    let wanted = if spec.module_variant().is_some() { MODULE_VARIANT } else { MODULE_ALGORITHM };
    if known.split_whitespace().any(|name| name == wanted) {
        return Ok(());
    }
    Err(io::Error::other(format!("it provides no congestion control `{wanted}`, only: {}", known.trim())))
}
