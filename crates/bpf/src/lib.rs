//! PCC as a congestion control of this computer's TCP: what loads it into the kernel, sets it, watches it and takes it out.
//!
//! ```text
//!   doctor: what is missing
//!   a formula ──▶ program: in the kernel's layout ──▶ formula: its code
//!                    ▼
//!   BPF object ──▶ elf, object ──▶ libbpf ──▶ registration ──▶ load ──▶ the kernel: variants of PCC, rules for whom
//!                                                  unload, trial, attendant ◀──▶ variant, rule, sysctl
//!   connections ──▶ watch ──▶ rows ──▶ table
//!   what all have done ──▶ totals ──▶ prometheus
//! ```
//!
//! The kernel is asked each time for the programs that are loaded and their settings: no file of ours says it. libbpf is
//! opened when something is loaded, so a program that is built with this crate starts without libbpf. It needs Linux 6.1; elsewhere this
//! crate is empty.

#![cfg(target_os = "linux")]

pub mod attendant;
pub mod bpf;
pub mod btf;
pub mod doctor;
pub mod elf;
pub mod formula;
mod host_error;
pub mod kept_object;
pub mod libbpf;
pub mod load;
pub mod object;
pub mod program;
pub mod prometheus;
pub mod registration;
pub mod rights;
pub mod rows;
pub mod rule;
pub mod sysctl;
pub mod table;
pub mod totals;
pub mod trial;
pub mod unload;
pub mod variant;
pub mod watch;

pub use host_error::HostError;
