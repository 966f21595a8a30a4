//! Switches off what makes one packet of many: loss and queues must see the packets that a real wire would carry.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

const GET_STRINGS: u32 = 0x1b;
const GET_SET_SIZE: u32 = 0x37;
const SET_FEATURES: u32 = 0x3b;
/// The set of strings that names an interface's features.
const FEATURE_NAMES: u32 = 4;
const NAME_LENGTH: usize = 32;
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Whether a feature, as `ethtool -k` names it, merges or splits packets.
fn is_offload(name: &str) -> bool {
    ["segmentation", "gro", "lro"].iter().any(|part| name.contains(part))
}

/// Switches every such feature of an interface of the calling thread's namespace off.
pub(super) fn switch_off(interface: &str) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };

    // { command, reserved, mask: u64, data: [u32] }
    let mut size = [GET_SET_SIZE, 0, 1 << FEATURE_NAMES, 0, 0];
    command(&socket, interface, &mut size)?;
    let count = size[4] as usize;
    // { command, set, count, names }
    let mut names = vec![0; 3 + count * NAME_LENGTH / 4];
    names[..3].copy_from_slice(&[GET_STRINGS, FEATURE_NAMES, count as u32]);
    command(&socket, interface, &mut names)?;

    let text: Vec<u8> = names[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let words = count.div_ceil(32);
    // { command, words, [{ valid, requested }] }
    let mut features = vec![0; 2 + 2 * words];
    features[..2].copy_from_slice(&[SET_FEATURES, words as u32]);
    for (number, name) in text.chunks(NAME_LENGTH).enumerate() {
        let name: Vec<u8> = name.iter().copied().take_while(|&byte| byte != 0).collect();
        if is_offload(&String::from_utf8_lossy(&name)) {
            features[2 + 2 * (number / 32)] |= 1 << (number % 32);
        }
    }
    command(&socket, interface, &mut features)
}

fn command(socket: &OwnedFd, interface: &str, data: &mut [u32]) -> io::Result<()> {
    // SAFETY: ifreq is plain data, for which all-zero bytes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
    // SAFETY: `request` and the `data` it points to outlive the call; each command's answer fits, see the callers.
    if unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_merge_packets_are_told_from_the_others() {
        for name in ["tx-tcp-segmentation", "tx-udp-segmentation", "tx-generic-segmentation", "rx-gro", "rx-gro-list"] {
            assert!(is_offload(name), "{name}");
        }
        for name in ["tx-checksum-ip-generic", "highdma", "tx-scatter-gather", "loopback"] {
            assert!(!is_offload(name), "{name}");
        }
    }
}
