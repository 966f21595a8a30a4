//! The kernel's TCP as a runner: two hosts of its own, and a cable between them that is the emulated path.

mod host;
mod tcp;

pub use tcp::go;

use super::carrier::Carrier;
use anyhow::anyhow;
use host::Host;

/// Whether `carriers` can run on this computer; what is missing, before the race and in one line.
pub fn check(carriers: &[Carrier]) -> anyhow::Result<()> {
    let probe = |kernel| Host::new(host::SERVER)?.prepare(kernel, 1 << 20);
    for carrier in carriers {
        if let Carrier::Tcp { kernel, .. } = carrier {
            probe(kernel).map_err(|error| {
                anyhow!(
                    "--kernel cannot run here: {error:#}; it needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN) and \
                     /dev/net/tun, and without it the race is over QUIC alone"
                )
            })?;
        }
    }
    Ok(())
}
