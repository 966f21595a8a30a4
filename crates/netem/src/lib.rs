//! Packets of real programs over an emulated network path.
//!
//! A [`pcc_link::Path`] says what the path is. [`relay`] carries UDP over it between clients and a server, on any system and
//! without rights. On Linux a [`Cable`] carries whole IP packets between two [`Interface`]s, and [`Ends`] puts one of these
//! into a network namespace. [`start_inside`] runs a program there that knows nothing of it, and [`Outside`] one that it reaches.

#[cfg(target_os = "linux")]
mod cable;
mod departures;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod interface;
#[cfg(target_os = "linux")]
mod ip;
mod lateness;
#[cfg(target_os = "linux")]
mod programs;
mod relay;
mod report;
mod socket;
mod wait;
mod waiting;

#[cfg(target_os = "linux")]
pub use cable::{Cable, Counts};
#[cfg(target_os = "linux")]
pub use ends::{Ends, Place};
#[cfg(target_os = "linux")]
pub use host::HostError;
#[cfg(target_os = "linux")]
pub use interface::{Interface, default_route, loopback_up};
pub use lateness::Lateness;
#[cfg(target_os = "linux")]
pub use programs::{Outside, start_inside};
pub use relay::{Handle, Options, RelayError, relay};
pub use report::{Direction, Report};

#[cfg(test)]
mod tests;
