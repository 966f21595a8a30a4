//! PCC for QUIC applications built on [`noq`].
//!
//! One line gives PCC to an existing application:
//!
//! ```
//! # use std::sync::Arc;
//! let mut transport = noq::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(pcc_quic::PccConfig::default()));
//! ```
//!
//! PCC judges rates by their effect, so what leaves the host should be the rate it chose. noq's own pacer releases
//! trains of ten packets and more; [`PacedRuntime`] spaces single packets instead. It replaces noq's Tokio runtime
//! where the endpoint is made, and nothing else changes:
//!
//! ```no_run
//! # fn endpoint() -> std::io::Result<noq::Endpoint> {
//! let bound = pcc_quic::socket::bind("[::]:0".parse().expect("an address"))?;
//! if let Some(warning) = &bound.warning {
//!     tracing::warn!("{warning}");
//! }
//! noq::Endpoint::new(Default::default(), None, bound.socket, pcc_quic::PacedRuntime::new()?)
//! # }
//! ```
//!
//! | module | what it answers |
//! |---|---|
//! | [`Algorithm`] | which congestion controller: PCC, or one of its peers in the same stack |
//! | [`PccConfig`] | how PCC joins noq |
//! | [`Handle`] | how the utility of live connections is changed |
//! | [`PathStore`] | the knowledge of paths that connections leave to the next ones |
//! | [`PacedRuntime`] | when each packet leaves |
//! | [`socket`] | how large UDP buffers must be, and what to do if the system refuses |
//! | [`Sight`] | what a sender has seen of its path |
//! | [`interfaces`] | how a connection uses several interfaces of this host |
//! | [`transport`] | how large flow-control windows must be for a path |
//! | [`http3`] | HTTP/3 over noq |
//! | `qlog`, with the feature of that name | what happens on connections, as files |

mod algorithm;
mod controller;
mod fixed;
mod fixed_window;
pub mod http3;
pub mod interfaces;
mod numbers;
mod pace;
mod peer_window;
#[cfg(feature = "qlog")]
pub mod qlog;
mod runtime;
mod sight;
pub mod socket;
#[cfg(target_os = "linux")]
mod sys;
pub mod transport;
#[cfg(target_os = "linux")]
mod udp;

pub use crate::algorithm::{Algorithm, ParseAlgorithmError};
pub use crate::controller::PccConfig;
pub use crate::runtime::PacedRuntime;
pub use crate::sight::{PathFigures, Sight};
pub use pcc;
pub use pcc_adapter::{Handle, KnownPath, PathStore, Peer, RecentPaths};

/// The programs in the user's guide must compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryGuide;
