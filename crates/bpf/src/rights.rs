//! The rights of this process, and those that `pcc kernel` needs.

use std::fs;
use std::io;

/// Capabilities that are needed, by their numbers in capabilities(7): to set congestion controls and options of the
/// network, and to load programs and to find them again.
const NEEDED: [(u32, &str); 2] = [(12, "CAP_NET_ADMIN"), (21, "CAP_SYS_ADMIN")];

/// Which of the needed capabilities are missing in this text, /proc/PID/status.
pub fn lacking(status: &str) -> Vec<&'static str> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    NEEDED.iter().filter(|(bit, _)| effective >> bit & 1 == 0).map(|(_, name)| *name).collect()
}

/// Whether this text, /proc/PID/uid_map, is of the first user namespace: in others capabilities are not worth as much.
pub fn is_first_namespace(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Whether this process may load PCC.
pub fn may_load() -> bool {
    let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    lacking(&read("status")).is_empty() && is_first_namespace(&read("uid_map"))
}

/// This process may not.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0}: it takes root ({names}, not in a user namespace or a container without them): try `sudo pcc kernel`; an application \
     without rights can use what is loaded once it is the default, or in net.ipv4.tcp_allowed_congestion_control",
    names = NEEDED.map(|(_, name)| name).join(" and ")
)]
pub struct MissingRights(pub io::Error);

/// Errors: this process may not.
pub fn check() -> Result<(), MissingRights> {
    if may_load() { Ok(()) } else { Err(MissingRights(io::Error::from_raw_os_error(libc::EPERM))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_named() {
        assert!(lacking("Name:\tpcc\nCapEff:\t000001ffffffffff\n").is_empty());
        assert_eq!(lacking("CapEff:\t0000000000001000\n"), ["CAP_SYS_ADMIN"]);
        assert_eq!(lacking("CapEff:\t0000000000000000\n"), ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]);
        assert_eq!(lacking("nothing of the kind").len(), 2);
    }

    #[test]
    fn root_of_a_container_is_not_root() {
        assert!(is_first_namespace("         0          0 4294967295\n"));
        assert!(!is_first_namespace("         0       1000          1\n"));
        assert!(!is_first_namespace(""));
    }
}
