//! Network interfaces whose packets are ours to carry, and the emulated path between two of them.

mod cable;
mod interface;

pub(crate) use cable::{Cable, Counts};
pub(crate) use interface::{Interface, default_route, loopback_up};
