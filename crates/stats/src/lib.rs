//! Statistics of a handful of measurements: means and quantiles with their confidence, how evenly something is shared, and how
//! senders fare over time.

#![forbid(unsafe_code)]

mod confidence;
mod course;
mod mean;
mod quantile;

pub use confidence::ConfidenceInterval;
pub use course::{converged, imbalance, jain, jain_over, recovered, unsteadiness};
pub use mean::{Mean, deviation, mean};
pub use quantile::{Spread, quantile, quantile_of};
