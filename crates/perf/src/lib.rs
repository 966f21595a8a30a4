//! Measures a path over QUIC, one congestion control algorithm after another, and says what each achieved.
//!
//! A [`Test`](run::Test) is what was asked for; [`Test::run`](run::Test::run) connects and makes one [`Run`](run::Run) of it. A
//! [`Server`](server::Server) answers any number of clients within limits. Both ends speak [`protocol`], and a client also speaks
//! it with servers that count nothing. [`json`] has iperf3's document of a test, and [`compare`] what the runs of
//! several algorithms say of each other.

pub mod client;
pub mod compare;
pub mod cpu;
pub mod datagram;
#[cfg(any(test, feature = "example"))]
pub mod example;
pub mod flow;
pub mod intervals;
pub mod json;
pub mod listen;
pub mod load;
pub mod meter;
pub mod protocol;
pub mod record;
mod reports;
pub mod run;
pub mod server;
pub mod side;
mod stream_error;
mod test_error;
pub mod watch;
pub mod windows;

pub use stream_error::StreamError;
pub use test_error::TestError;

#[cfg(test)]
mod tests;
