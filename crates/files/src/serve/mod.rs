//! A directory over HTTP/3, with uploads for those who have the token.

mod answer;
mod arrived;
mod body;
mod bounded;
mod broken;
mod budget;
mod conditions;
mod connect;
mod connection;
mod descriptors;
mod digest;
mod files;
mod guests;
mod host;
mod listing;
mod log;
mod log_file;
mod look_ups;
mod metrics;
mod part;
mod path;
mod privacy;
mod reply;
mod root;
mod server;
mod service;
mod start_error;
mod stream;
#[cfg_attr(not(target_os = "linux"), path = "no_systemd.rs")]
pub mod systemd;
mod tcp;
mod token;
mod tunnels;
mod unmeasured;
mod upload;

pub use guests::Guests;
pub use log::{Lines, Log, Served, Writing};
pub use log_file::LogFile;
pub use metrics::{Metrics, expose};
pub use privacy::Privacy;
pub use server::{Http, Options, Server, Transport, start};
pub use start_error::StartError;
pub use token::Token;
pub use tunnels::Tunnels;

#[cfg(test)]
mod tests;
