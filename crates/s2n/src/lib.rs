//! PCC for QUIC applications built on s2n-quic 1.91.
//!
//! ```no_run
//! # fn server() -> Result<s2n_quic::Server, Box<dyn std::error::Error>> {
//! let server = s2n_quic::Server::builder()
//!     .with_tls((std::path::Path::new("cert.pem"), std::path::Path::new("key.pem")))?
//!     .with_io("[::]:4433")?
//!     .with_congestion_controller(pcc_s2n::PccConfig::default())?
//!     .start()?;
//! # Ok(server)
//! # }
//! ```
//!
//! s2n-quic's trait for congestion controllers is unstable. The feature `unstable-congestion-controller` opens it, and this
//! crate follows one minor version.
//!
//! | s2n-quic tells | PCC needs | what the crate does |
//! |---|---|---|
//! | each packet sent and each packet lost | the same | it hands them on |
//! | the sum of acknowledged bytes, and the newest acknowledged packet | each acknowledged packet | it takes the newest packet and its neighbours below it |
//! | losses before the acknowledgement that told them | the acknowledgement first | it keeps losses until the acknowledgement's end |
//!
//! s2n-quic looks at its pacing clock with a resolution of 1 ms: what is due within a millisecond leaves at once.
#![forbid(unsafe_code)]

mod controller;
mod in_flight;
mod pacing;

pub use crate::controller::{PccConfig, PccController};
pub use pcc;
pub use pcc_adapter::{Handle, KnownPath, PathStore, RecentPaths};
