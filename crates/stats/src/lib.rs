//! Statistics of a handful of measurements: means and quantiles with their confidence, how evenly something is shared, and how
//! senders fare over time.

#![forbid(unsafe_code)]

mod confidence;
mod course;
mod jain;
mod mean;
mod quantile;
mod spread;

pub use confidence::ConfidenceInterval;
pub use course::{converged, imbalance, jain_over, recovered, unsteadiness};
pub use jain::jain;
pub use mean::{Mean, deviation, mean};
pub use quantile::{quantile, quantile_of};
pub use spread::Spread;
