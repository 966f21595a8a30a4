//! Experiments on a real Linux network stack in virtual time.
//!
//! A guest kernel (user-mode Linux) runs as one ordinary process whose clock moves only while everything in it is
//! idle. Its TCP, its queues and the programs in it are the real ones; a busy machine changes nothing, and a seed
//! decides everything that is random. It needs Linux; elsewhere this crate is empty.

#![cfg(target_os = "linux")]

pub mod calibration;
pub mod campaign;
pub mod check;
pub mod cost;
pub mod figure;
pub mod guest;
pub mod kernel;
pub mod machine;
pub mod measure;
pub mod model;
pub mod names;
pub mod program;
pub mod report;
pub mod scenario;
pub mod sight;
pub mod spec;
pub mod store;
pub mod summary;

pub use pcc_play::each_at_once;
