//! Experiments on a real Linux network stack in virtual time.
//!
//! A guest kernel (user-mode Linux) runs as one ordinary process whose clock moves only while everything in it is
//! idle. Its TCP, its queues and the programs in it are the real ones; a busy machine changes nothing, and a seed
//! decides everything that is random.

pub mod calibration;
pub mod campaign;
pub mod chart;
pub mod check;
pub mod cost;
pub mod figure;
pub mod guest;
pub mod kernel;
pub mod machine;
pub mod measure;
pub mod report;
pub mod scenario;
pub mod spec;
pub mod store;
pub mod summary;
