//! Statistics of a handful of measurements: means and quantiles with their confidence, and how evenly something is shared.

#![forbid(unsafe_code)]

mod confidence;
mod jain;
mod mean;
mod quantile;
mod spread;

pub use confidence::ConfidenceInterval;
pub use jain::jain;
pub use mean::{Mean, deviation, mean};
pub use quantile::{quantile, quantile_of};
pub use spread::Spread;
