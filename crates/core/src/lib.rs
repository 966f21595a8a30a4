//! Performance-oriented Congestion Control, sans-IO: a sender that tries rates, measures what each one achieved, and
//! moves to what works better.
//!
//! ```text
//!           packets sent, acked, lost                one report a monitor interval
//! transport ───────────────────────▶ Monitor ─────────────────────────────▶ Utility ──▶ RateControl
//!     ▲                                                                       f64          │
//!     └──────── pacer: every packet leaves at its time ◀── rate of the next interval ◀─────┘
//! ```
//!
//! A transport holds a [`Pcc`] and tells it what happens to its packets. Time and randomness are arguments: there is
//! no clock, no socket and no global state, and equal events give equal decisions.
//!
//! ```
//! use pcc::{Config, Pcc, units::{Bytes, Timestamp}};
//! let ms = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
//! let mut sender = Pcc::new(Config::default(), ms(0));
//! sender.on_packet_sent(ms(0), 0, Bytes::new(1200));
//! sender.on_ack(ms(30), 0);
//! sender.on_end_acks(ms(30));
//! assert!(sender.rate().mbit() > 3.0, "ten packets in the first RTT");
//! ```
#![forbid(unsafe_code)]

mod bursts;
pub mod control;
pub mod interval;
pub mod monitor;
pub mod observe;
mod path_memory;
mod pcc;
pub mod recovery;
pub mod rng;
pub mod rtt;
mod shared;
mod slope;
mod trains;
pub mod units;
pub mod utility;
mod way_back;

pub use crate::path_memory::PathMemory;
pub use crate::pcc::{Config, Pcc};
#[doc(hidden)]
pub use crate::shared::{SharedConstant, SharedValue, shared_constants};
