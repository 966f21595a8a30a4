//! Experiments on a real Linux network stack in virtual time.
//!
//! A guest kernel (user-mode Linux) runs as one ordinary process whose clock moves only while everything in it is
//! idle. Its TCP, its queues and the programs in it are the real ones; a busy machine changes nothing, and a seed
//! decides everything that is random.
//!
//! All of it needs Linux but [`chart`], which `pcc race` draws with everywhere.

#[cfg(target_os = "linux")]
pub mod calibration;
#[cfg(target_os = "linux")]
pub mod campaign;
pub mod chart;
#[cfg(target_os = "linux")]
pub mod check;
#[cfg(target_os = "linux")]
pub mod cost;
#[cfg(target_os = "linux")]
pub mod figure;
#[cfg(target_os = "linux")]
pub mod guest;
#[cfg(target_os = "linux")]
pub mod kernel;
#[cfg(target_os = "linux")]
pub mod machine;
#[cfg(target_os = "linux")]
pub mod measure;
pub mod names;
#[cfg(target_os = "linux")]
pub mod program;
pub mod provenance;
#[cfg(target_os = "linux")]
pub mod report;
#[cfg(target_os = "linux")]
pub mod scenario;
#[cfg(target_os = "linux")]
pub mod sight;
#[cfg(target_os = "linux")]
pub mod spec;
#[cfg(target_os = "linux")]
pub mod store;
#[cfg(target_os = "linux")]
pub mod summary;
pub mod utility_file;
