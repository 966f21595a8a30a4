//! A directory over HTTP/3, with uploads for those who have the token.
//!
//! | file | what it answers |
//! |---|---|
//! | `server`, `connection`, `turns` | how connections and their requests are accepted, within limits |
//! | `carried` | how connections are served that the program accepted itself |
//! | `request` | who may ask, for what, and what is told of the answer |
//! | `tcp` | how clients without HTTP/3 have the same directory |
//! | `guests` | how many connections there may be, and which one goes when others wait |
//! | `budget`, `bounded`, `descriptors` | how much memory and how many files they may take |
//! | `service` | what every request needs |
//! | `privacy`, `token`, `host` | who may read, who may upload, and by which name |
//! | `path`, `root` | which file is meant, and that none outside of the directory is |
//! | `files`, `part`, `body`, `unmeasured` | how GET and HEAD are answered, and what is sent of a file |
//! | `delta` | which parts of a file a client lacks |
//! | `conditions` | whether a conditional request holds |
//! | `digest` | which BLAKE3 digest a file has |
//! | `listing` | what is in a directory |
//! | `upload` | how files arrive |
//! | `connect`, `look_ups` | who may have tunnels, whereto, and how names are resolved for them |
//! | `answer`, `reply`, `stream` | how an answer leaves, by HTTP/3 or TCP |
//! | `broken` | why a request has no complete response |
//! | `log`, `log_file` | what is written of each request, and where |
//! | `metrics` | the server's figures, for Prometheus |
//! | `systemd` | what systemd hears of it |
//! | `start_error` | why a server did not start |

mod answer;
mod body;
mod bounded;
mod broken;
mod budget;
mod carried;
mod conditions;
mod connect;
mod connection;
mod delta;
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
mod request;
mod root;
mod server;
mod service;
mod start_error;
mod stream;
#[cfg_attr(not(target_os = "linux"), path = "no_systemd.rs")]
pub mod systemd;
mod tcp;
mod token;
mod turns;
mod unmeasured;
mod upload;

pub use carried::Carried;
pub use connect::Tunnels;
pub use guests::Guests;
pub use log::{Lines, Log, Served, Writing};
pub use log_file::LogFile;
pub use metrics::{Metrics, expose};
pub use privacy::Privacy;
pub use server::{Http, Options, Server, Transport, start};
pub use start_error::StartError;
pub use token::Token;

#[cfg(test)]
mod tests;
