//! Utility functions: one number for what an interval achieved. Only differences and signs matter to a control law.
//!
//! Any function can steer any law. [`Safe`] is the default for paths shared with others; [`Interactive`] and
//! [`LossResilient`] want fair queueing; [`Linear`] explains the idea.

mod interactive;
mod linear;
mod loss_resilient;
mod safe;

pub use interactive::Interactive;
pub use linear::Linear;
pub use loss_resilient::LossResilient;
pub use safe::Safe;

use crate::interval::Report;
use core::fmt::Debug;
use std::sync::Arc;

/// Ranks what monitor intervals achieved: the higher, the better.
pub trait Utility: Debug + Send + Sync {
    /// The utility of a finished interval. A result that is not finite counts as the worst possible.
    fn evaluate(&self, report: &Report) -> f64;

    /// The name users select it by.
    fn name(&self) -> &'static str;

    /// The loss rate above which the sender falls back at once to the rate at which data arrived, without asking the
    /// utility further; 1 turns the guard off.
    fn panic_loss(&self) -> f64 {
        0.5
    }
}

/// The utility of that name with its default parameters; `None` if there is none. [`NAMES`] lists them.
pub fn by_name(name: &str) -> Option<Arc<dyn Utility>> {
    Some(match name {
        "safe" => Arc::new(Safe::default()),
        "interactive" => Arc::new(Interactive::default()),
        "loss-resilient" => Arc::new(LossResilient),
        "linear" => Arc::new(Linear),
        _ => return None,
    })
}

/// The names [`by_name`] knows.
pub const NAMES: [&str; 4] = ["safe", "interactive", "loss-resilient", "linear"];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::interval::LimitedBy;
    use crate::units::{Bytes, Rate, Timestamp};
    use core::time::Duration;

    /// A report that achieved `mbit` Mbit/s with this loss.
    pub(crate) fn report(mbit: f64, loss: f64) -> Report {
        Report {
            id: 0,
            started: Timestamp::ZERO,
            duration: Duration::from_millis(100),
            target: Rate::from_mbit(mbit),
            achieved: Rate::from_mbit(mbit),
            packets: 1000,
            packets_lost: (loss * 1000.0) as u32,
            loss_bursts: (loss * 1000.0) as u32,
            packets_marked: 0,
            sent: Bytes::new(1_000_000),
            lost: Bytes::new((loss * 1e6).round() as u64),
            delivery_rate: Some(Rate::from_mbit(mbit * (1.0 - loss))),
            rtt: Some(Duration::from_millis(30)),
            rtt_gradient: Some(0.0),
            rtt_gradient_error: 0.0,
            rtt_span: Duration::from_millis(100),
            rtt_samples: 1000,
            rtt_residual: Duration::ZERO,
            rtt_deviation: Duration::ZERO,
            app_limited: false,
            timed_out: false,
            limited_by: LimitedBy::Network,
        }
    }

    #[test]
    fn every_name_gives_the_utility_of_that_name() {
        for name in NAMES {
            assert_eq!(by_name(name).unwrap().name(), name);
        }
        assert!(by_name("best").is_none());
    }
}
