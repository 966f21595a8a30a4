//! Senders over emulated paths, in virtual time: a discrete-event simulation, sans-IO and replayable from a seed. PCC
//! sends in the manner of a QUIC transport; beside it are models of Linux's TCP and of senders with a fixed rate.
//!
//! A law of one's own is one like PCC's, over intervals ([`pcc::control::Law::own`]), or one like CUBIC, over
//! acknowledgements ([`Control::own`]).
//!
//! ```
//! use core::time::Duration;
//! use pcc_sim::{Control, Flow, Scenario, run};
//!
//! let path = "rate=100Mbit,rtt=30ms,buffer=375KB".parse()?;
//! let flows = vec![Flow::default(), Flow::of(Control::Cubic)];
//! let results = run(&Scenario::new(path, flows, 1, Duration::from_secs(10)))?;
//! assert!(results.share_after(Duration::from_secs(5)) > 0.9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod account;
mod agenda;
mod cast;
pub mod drawn;
mod entrant;
mod host;
mod media;
mod policer;
mod ranges;
mod receiver;
mod reordering;
mod results;
mod running;
mod scenario;
pub mod score;
mod sender;
mod steering;
mod summary;
mod supply;
pub mod tcp;
mod transport;
mod world;

pub use account::Sent;
pub use cast::{Cast, ParseCastError, ReadUtility, via};
pub use entrant::Entrant;
pub use media::FrameDelay;
pub use pcc_link::Queue;
pub use policer::{ParsePolicerError, Policer};
pub use results::{FlowResult, Results, SAMPLE, Sample, WAIT};
pub use running::{Running, run};
pub use scenario::{Acks, Control, Flow, HEADERS, HOST_DELAY, Scenario, Source, path_seed};
pub use summary::{FlowSummary, Harm, SecondHalf, jain_together};
