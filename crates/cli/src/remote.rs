//! Transfers with a computer that is reached by ssh: `user@host:path`. ssh starts `pcc serve` there for one transfer, as it
//! starts rsync's and mosh's servers. Only the greeting goes through ssh; the data comes over QUIC.
//!
//! | file | what it answers |
//! |---|---|
//! | `place` | what `user@host:path` means |
//! | `greeting` | what both sides say to each other through ssh |
//! | `command` | how ssh is run |
//! | `near` | how this side reaches the far one, and what its failures mean |
//! | `far` | what the far side does |

mod command;
pub(crate) mod far;
mod greeting;
mod near;
mod place;

pub(crate) use greeting::Wish;
pub(crate) use near::{RemoteArgs, reach};
pub(crate) use place::{Place, WrittenPlace};
