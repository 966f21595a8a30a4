//! Races congestion control algorithms: the same file over the same emulated path, once for each, side by side or one after another.
//!
//! ```text
//!   Course: a path, a seed     Source: the file
//!            └──────── Entry ────────┘
//!   runner ──▶ transfer: QUIC over the relay      ──▶ Trace ──▶ Score, Timeline
//!          └─▶ kernel: TCP between two namespaces         └───▶ Summary ──▶ page, still
//! ```
//!
//! Runners share nothing but the computer: each has a server, a client, a copy of the path and threads of its own. The copy is
//! compared with the file.

pub mod carrier;
pub mod course;
pub mod entry;
#[cfg(target_os = "linux")]
pub mod kernel;
#[cfg(not(target_os = "linux"))]
#[path = "no_kernel.rs"]
pub mod kernel;
pub mod page;
pub mod runner;
pub mod score;
pub mod source;
pub mod still;
pub mod summary;
pub mod timeline;
pub mod trace;
mod transfer;
