//! A path as it is in both directions: trains of datagrams at known rates, and when each datagram arrived.
//!
//! A train that is slower than the path tells of delay, jitter, reordering and random loss. A train that is faster fills the
//! queue and tells of rate and buffer. Both ends stamp every datagram, so each direction is judged alone. Only the base delay is
//! known as a round trip, since nothing sets both clocks.
//!
//! | file | what it answers |
//! |---|---|
//! | `train` | a train, a packet of it, and how both are written on the wire |
//! | `sending` | a train leaves, each datagram at its time |
//! | `course` | which train comes next |
//! | `figures` | what the trains say of one direction |
//! | `delays` | the distribution of delays of packets that hold each other up |
//! | `listener` | which datagrams of a train arrived |
//! | `client` | the trains over a connection |
//! | `server` | the other end |

pub mod client;
pub mod course;
mod delays;
pub mod figures;
mod listener;
mod sending;
pub(crate) mod server;
pub mod train;

#[cfg(test)]
mod tests;
