//! Transfers with a computer that is reached by ssh: `user@host:path`. ssh starts a server there for one transfer, as it starts
//! rsync's and mosh's. Only the greeting goes through ssh; the data comes over QUIC.
//!
//! | item | what it answers |
//! |---|---|
//! | [`Remote`] | what `user@host:path` means |
//! | [`Ssh`] | how ssh is run |
//! | [`reach`] | how this side reaches the far one, and what its failures mean |
//! | [`Transfer`] | what the far side does |
//! | `ground` | what of the far side's files it serves |
//! | `greeting` | what both sides say to each other through ssh |
//!
//! The near side calls [`reach`], downloads or uploads at the [`Url`](pcc_files::Url) that it gets, and ends with
//! [`Reached::end`]. ssh runs a program on the far side that calls [`Transfer::begin`] and [`Transfer::serve`]. Dropping the
//! future of [`reach`], or a [`Reached`], ends ssh; the far side ends with it.

mod far;
mod far_error;
mod greeting;
mod greeting_error;
mod ground;
mod reach;
mod remote;
mod ssh;

pub use far::{Carrier, Options, Transfer};
pub use far_error::FarError;
pub use greeting::Wish;
pub use greeting_error::GreetingError;
pub use reach::{Blocked, ReachError, Reached, Route, reach};
pub use remote::{NotRemote, Remote};
pub use ssh::{NoSsh, Ssh};
