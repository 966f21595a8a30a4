//! Which congestion controls this network namespace has, and which one connections get.

use crate::host_error::{Doing as _, HostError};
use std::fs;
use std::path::Path;

const DIRECTORY: &str = "/proc/sys/net/ipv4";
const DEFAULT: &str = "tcp_congestion_control";
const AVAILABLE: &str = "tcp_available_congestion_control";
const ALLOWED: &str = "tcp_allowed_congestion_control";

fn read(name: &str) -> Result<String, HostError> {
    let file = Path::new(DIRECTORY).join(name);
    let text = fs::read_to_string(&file).doing(|| format!("cannot read {}", file.display()))?;
    Ok(text.trim().to_owned())
}

/// The congestion control of connections that ask for none.
pub fn default() -> Result<String, HostError> {
    read(DEFAULT)
}

/// All that connections can have.
pub fn available() -> Result<Vec<String>, HostError> {
    names(AVAILABLE)
}

fn names(file: &str) -> Result<Vec<String>, HostError> {
    Ok(read(file)?.split_whitespace().map(str::to_owned).collect())
}

/// Until the next reboot: nothing below /etc is written.
pub fn set_default(name: &str) -> Result<(), HostError> {
    let file = Path::new(DIRECTORY).join(DEFAULT);
    fs::write(&file, name).doing(|| format!("cannot make {name} the default: {} does not take it", file.display()))
}

/// Whether this is the first network namespace, in which alone what is for root can be the default. The kernel shows in that one
/// only the settings that all of them share; the first process may not be asked where it is by everybody.
pub fn is_first_network() -> bool {
    Path::new("/proc/sys/net/core/netdev_budget").exists()
}

/// Whether this network namespace takes that as its default. Not to be found out by trying: Linux (6.18 and before) refuses
/// what is for root only, but never lets go of it again.
pub fn may_be_default(name: &str) -> Result<bool, HostError> {
    Ok(is_first_network() || is_allowed(name)?)
}

/// Whether who has no rights may choose it, and other network namespaces may have it as their default.
pub fn is_allowed(name: &str) -> Result<bool, HostError> {
    Ok(names(ALLOWED)?.iter().any(|one| one == name))
}

/// Lets who has no rights choose it too. The kernel takes the whole list at once.
pub fn allow(name: &str) -> Result<(), HostError> {
    let file = Path::new(DIRECTORY).join(ALLOWED);
    let mut all = names(ALLOWED)?;
    all.push(name.to_owned());
    fs::write(&file, all.join(" ")).doing(|| format!("cannot allow {name} to all: {} does not take it", file.display()))
}

/// The default where nobody remembers one: the kernel's usual one, or that which each kernel has.
pub fn usual(available: &[String], but: &str) -> String {
    let is_there = |name: &&str| available.iter().any(|one| one == name) && *name != but;
    ["cubic", "reno"].into_iter().find(is_there).unwrap_or("reno").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_back_to_what_is_there() {
        let there = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(usual(&there(&["reno", "cubic", "pcc"]), "pcc"), "cubic");
        assert_eq!(usual(&there(&["reno", "pcc"]), "pcc"), "reno");
        assert_eq!(usual(&there(&["reno", "cubic"]), "cubic"), "reno");
    }
}
