//! Control laws: what rate to try next, given what the last ones were worth.
//!
//! A law sees utilities and rates, never packets. Any utility can steer it.

pub mod allegro;
mod approach;
pub mod ascent;
mod driver;
mod law;
mod own;
mod parameters;
mod path;
mod rate_control;
mod response;
mod starting;
pub mod vivace;
mod worth;

pub use driver::Driver;
pub use law::Law;
pub use own::Own;
pub use parameters::ParseLawError;
pub use path::Path;
pub use rate_control::{PathEstimate, RateControl, Verdict};
pub use worth::{Finite, Worth};

crate::shared::shared_with_c!("CONTROL_" [ascent, driver, path, response, starting]);
