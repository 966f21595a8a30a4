//! Performance-oriented Congestion Control, sans-IO.
#![forbid(unsafe_code)]

pub mod interval;
pub mod observe;
mod pcc;
pub mod units;
pub mod utility;

pub use crate::pcc::{Config, Pcc};
