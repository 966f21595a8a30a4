//! The kernel's TCP as a runner: two hosts of its own, and a cable between them that is the emulated path.

mod host;
mod tcp;
mod unavailable;

pub(crate) use tcp::go;
pub use unavailable::Unavailable;

use super::carrier::Carrier;
use host::Host;

/// Whether `carriers` can run on this computer: known before the race begins.
///
/// Errors: what is missing.
pub fn check(carriers: &[Carrier]) -> Result<(), Unavailable> {
    let kernels = carriers.iter().filter_map(|carrier| match carrier {
        Carrier::Tcp { kernel, .. } => Some(*kernel),
        Carrier::Quic(_) => None,
    });
    kernels.into_iter().try_for_each(|kernel| Host::new(host::SERVER)?.prepare(kernel, 1 << 20))
}
