//! Transfers with a computer that is reached by ssh: `user@host:path`. ssh starts a server there for one transfer, as it starts
//! rsync's and mosh's. Only the greeting goes through ssh; the data comes over QUIC.
//!
//! | item | what it answers |
//! |---|---|
//! | [`Remote`] | what `user@host:path` means |
//! | [`Ssh`] | how ssh is run |
//! | [`reach`] | how this side reaches the far one |
//! | [`ReachError`] | what it means when that fails |
//! | [`send`] | how this side has one other computer upload to another one |
//! | [`Begun`] | what the far side does: a [`Transfer`], or an [`Errand`] |
//! | `started` | ssh while the far side answers, and what runs then |
//! | `ground` | what of the far side's files it serves |
//! | `greeting` | what both sides say to each other through ssh |
//!
//! The near side calls [`reach`], downloads or uploads at the [`Url`](pcc_files::Url) that it gets, and ends with
//! [`Reached::end`].
//!
//! ssh runs a program on the far side that calls [`Begun::hear`], and then [`Transfer::serve`], or uploads as the [`Errand`] says.
//! Dropping the future of [`reach`], or a [`Reached`], ends ssh; the far side ends with it.

mod far;
mod far_error;
mod greeting;
mod greeting_error;
mod ground;
mod reach;
mod reach_error;
mod remote;
mod sent;
mod ssh;
mod started;

pub use far::{Begun, Carrier, Errand, Left, Options, Transfer};
pub use far_error::FarError;
pub use greeting::{Order, Wish};
pub use greeting_error::GreetingError;
pub use reach::{Blocked, Reached, Route, reach};
pub use reach_error::ReachError;
pub use remote::{NotRemote, Remote};
pub use sent::{Sent, send};
pub use ssh::{NoSsh, Ssh};
