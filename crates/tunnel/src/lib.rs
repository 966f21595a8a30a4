//! TCP connections through HTTP/3 CONNECT (RFC 9114 §4.4), so that any TCP program gets PCC on the bad part of its path.
//!
//! | item | what it has |
//! |---|---|
//! | [`Target`] | a host and a port, as CONNECT names them |
//! | [`Rule`], [`Rules`] | which targets a server connects to, before and after names are resolved |
//! | [`Gate`] | the server's end: connects, within limits |
//! | [`Tunnel`] | the client's end: a connection that is made again when it is lost |
//! | [`Forward`] | a local port and its target, `[ADDR:]PORT:HOST:PORT` |
//! | [`Event`] | what happens, for whoever runs it |
//! | [`socks`] | SOCKS5's messages (RFC 1928) |
//! | [`serve_port`] | accepts at a local port |
//! | [`carry_stdio`] | one tunnel over standard input and output |
//!
//! A tunnel holds at most [`CHUNK`] bytes in each direction, besides the windows of QUIC and the buffers of TCP: the next bytes
//! are read when the last ones are written.

mod client;
mod event;
mod forward;
mod gate;
mod local;
mod pump;
mod rules;
pub mod socks;
mod stdio;
mod target;

pub use client::{Refused, Tunnel, Way};
pub use event::{Event, Hear};
pub use forward::{Forward, local_port};
pub use gate::{Done, Gate, Problem, Tried};
pub use local::{AT_A_TIME, Port, serve_port};
pub use pump::CHUNK;
pub use rules::{Rule, Rules};
pub use stdio::{StdioError, carry_stdio};
pub use target::{Host, Target};
