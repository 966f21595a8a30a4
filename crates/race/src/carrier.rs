//! The carrier of the file: a congestion controller of our QUIC stack, or the kernel's TCP.

use pcc_quic::Algorithm;

/// The carrier of the file.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a race has a few")]
pub enum Carrier {
    /// QUIC with this algorithm.
    Quic(Algorithm),
    /// TCP with the algorithm that the kernel knows by this name.
    Tcp {
        /// In tables and files.
        name: &'static str,
        /// To the kernel.
        kernel: &'static str,
    },
}

/// The kernel's algorithms that most of the world's data is carried with.
pub const TCP: [Carrier; 2] =
    [Carrier::Tcp { name: "tcp-cubic", kernel: "cubic" }, Carrier::Tcp { name: "tcp-bbr", kernel: "bbr" }];

impl Carrier {
    /// The name in tables and files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Quic(algorithm) => algorithm.name(),
            Self::Tcp { name, .. } => name,
        }
    }
}
