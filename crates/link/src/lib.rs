//! A network path as a value: rate, buffer, delay, jitter, Wi-Fi, loss, reordering, duplication, and a schedule that changes
//! them. Sans-IO and replayable from a seed: a [`Link`] is told of each packet when it comes in and answers at once
//! when it comes out, or why it never will.
//!
//! ```
//! use pcc::units::{Bytes, Timestamp};
//! use pcc_link::{Outcome, Path, Reason};
//!
//! let path: Path = "rate=12Mbit,rtt=100ms,buffer=1500".parse()?;
//! let (mut up, _down) = path.links(7)?;
//! let mut send = || up.send(Timestamp::ZERO, Bytes::new(1500));
//! // 1500 bytes at 12 Mbit/s take 1 ms, half the RTT 50 ms.
//! let arrives = |ms: u64| Outcome::Delivered { at: Timestamp::from_nanos(ms * 1_000_000), duplicate: None };
//! assert_eq!(send(), arrives(51)); // in transmission at once
//! assert_eq!(send(), arrives(52)); // waits in the buffer
//! assert_eq!(send(), Outcome::Dropped(Reason::Buffer)); // no room
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod bottleneck;
mod conditions;
mod link;
mod loss;
mod path;
mod presets;
mod queue;
mod replay;
mod rng;
mod schedule;
mod text;
mod wifi;

pub use bottleneck::{Bottleneck, Passed};
pub use conditions::{Conditions, Impossible, PACKET};
pub use link::{Capacity, Count, Counters, Link, OneWay, Outcome, Reason};
pub use loss::{GilbertElliott, Loss};
pub use path::Path;
pub use presets::{Preset, preset, presets};
pub use queue::{Ecn, Packet, Queue};
pub use replay::Replay;
pub use rng::Rng;
pub use schedule::{Change, Rule, Schedule, Vary};
pub use text::{Files, KEYS, ParsePathError, duration, on_disk};
