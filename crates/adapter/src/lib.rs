//! The common ground of PCC's adapters for QUIC stacks, which the core cannot have: it shares nothing and reads no clock.
//!
//! | item | what it answers |
//! |---|---|
//! | [`Handle`] | how the utility of open connections is changed |
//! | [`PathStore`] | the knowledge of paths that connections leave to the next ones |
//! | [`vary`] | a seed for each connection |
#![forbid(unsafe_code)]

mod handle;
mod paths;
mod seed;

pub use crate::handle::{Handle, Wanted};
pub use crate::paths::{KEEPING, KnownPath, PathStore, Peer, RecentPaths};
pub use crate::seed::{random_seed, vary};
