//! PCC for QUIC applications built on quinn 0.11.
//!
//! One line of the transport's configuration gives PCC to every connection made with it:
//!
//! ```
//! # use quinn_proto as quinn;
//! let mut transport = quinn::TransportConfig::default();
//! transport.congestion_controller_factory(std::sync::Arc::new(pcc_quinn::PccConfig::default()));
//! ```
//!
//! PCC changes the sender only; the peer need not know.
//!
//! quinn 0.11 tells its congestion controller less than PCC asks for. This crate fills each gap as follows:
//!
//! | quinn tells | PCC needs | what the crate does |
//! |---|---|---|
//! | bytes and last number of each call's packets | each packet | it divides them into full packets; packets of one call left at one time |
//! | send time and size of each acknowledged packet | its number | it finds the call by its time; packets of one call are equal |
//! | the sum of lost bytes, and the newest lost packet's send time | each lost packet | QUIC gives up in order, so all older packets without an answer are the lost ones |
//! | nothing of a lost packet that arrives late | that it arrived | nothing: reordering beyond quinn's thresholds counts as loss |
//! | nothing of how many packets had ECN marks | their number | it counts one packet an acknowledgement |
//! | a pacer of 1.25 windows an RTT | a rate | it answers quinn's second question for the window with the window that paces at PCC's rate |
//!
//! quinn's pacer sends trains of ten packets and more. A bottleneck with a buffer of fewer packets drops part of each train.
#![forbid(unsafe_code)]

mod controller;
mod in_flight;
mod pacing;

pub use crate::controller::PccConfig;
pub use pcc;
pub use pcc_adapter::{Handle, KnownPath, PathStore, Peer, RecentPaths};
