//! Utility functions: one number for what an interval achieved. Only differences and signs matter to a control law.
//!
//! [`Fair`] is the default; [`built_in`] tells what each of the others is for.

mod built_in;
mod catalogue;
mod deadline;
mod defined;
mod error;
pub mod expression;
mod fair;
mod function;
mod hybrid;
mod interactive;
mod linear;
mod loss_resilient;
mod nearest;
mod parameter;
mod preference;
mod prices_queue;
mod proteus;
mod quantity;
mod rate_limiter;
mod safe;
mod scavenger;
mod sender_view;
mod vivace;
mod vivace_loss;
mod weighted;

pub use built_in::UtilityInfo;
pub use catalogue::{NAMES, built_in};
pub use deadline::Deadline;
pub use error::ParseUtilityError;
pub use expression::Expression;
pub use fair::Fair;
pub use function::{Outlook, Utility};
pub use hybrid::Hybrid;
pub use interactive::Interactive;
pub use linear::Linear;
pub use loss_resilient::LossResilient;
pub use preference::{Preference, SAME, SIDE};
pub use proteus::Proteus;
pub use rate_limiter::RateLimiter;
pub use safe::Safe;
pub use scavenger::Scavenger;
pub use sender_view::{OF_A_QUEUE, SenderView};
pub use vivace::Vivace;
pub use vivace_loss::VivaceLoss;
pub use weighted::Weighted;

use catalogue::{named, parameters_of};
use std::sync::Arc;

crate::shared::shared_with_c!("UTILITY_" [expression, fair, sender_view]);

/// Reads a utility as people write it: a built-in one, `NAME` or `NAME,key=value,...` with parameters other than its
/// defaults, or an [`Expression`]. [`built_in`] lists the first.
///
/// Errors: no such name, no such parameter, a value that a parameter cannot have, no expression, or one that is defined for no
/// interval that a sender may begin with.
pub fn parse(written: &str) -> Result<Arc<dyn Utility>, ParseUtilityError> {
    if let Some(utility) = named(written.trim()) {
        return utility;
    }
    written.parse::<Expression>().and_then(defined_somewhere).map_err(|error| {
        // A misspelt name is an expression of unknown measurements.
        let name = written.split(',').next().unwrap_or_default().trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if !is_name {
            return error;
        }
        let (known, meant) = (NAMES.join(", "), nearest::did_you_mean(name, &NAMES));
        ParseUtilityError::new(format!("`{name}` is no utility; choose from {known}, or write an expression{meant}"))
    })
}

/// [`parse`], with other values for some of the parameters: of a built-in utility, or of the constants that an expression
/// defines, `("b", "2")`. [`parameters`] says which there are.
///
/// Errors: as [`parse`]; or there is no such parameter, or it cannot have that value.
pub fn parse_with(written: &str, settings: &[(String, String)]) -> Result<Arc<dyn Utility>, ParseUtilityError> {
    if settings.is_empty() {
        return parse(written);
    }
    if parameters_of(written).is_some() {
        let all = settings.iter().fold(written.trim().to_owned(), |all, (name, value)| format!("{all},{name}={value}"));
        return parse(&all);
    }
    // A text that is no utility at all is best reported without them.
    parse(written)?;
    Expression::with(written, settings).and_then(defined_somewhere)
}

/// Errors: a sender with this utility would never hear of anything better than its first rate.
fn defined_somewhere(utility: Expression) -> Result<Arc<dyn Utility>, ParseUtilityError> {
    match defined::nowhere(&utility) {
        Some(problem) => Err(ParseUtilityError::new(problem.to_owned())),
        None => Ok(Arc::new(utility)),
    }
}

/// The names of the parameters that can be set of a utility as people write it: those of a built-in one, or the constants
/// that an expression defines.
pub fn parameters(written: &str) -> Vec<String> {
    let built_in = parameters_of(written).map(|names| names.into_iter().map(str::to_owned).collect());
    built_in.unwrap_or_else(|| Expression::constants(written))
}

/// The built-in utility of that name, or `NAME,key=value,...`; `None` if there is none, or a parameter of it is missing.
/// [`parse`] says why.
pub fn by_name(name: &str) -> Option<Arc<dyn Utility>> {
    named(name)?.ok()
}
#[cfg(test)]
pub(crate) mod tests {
    use crate::interval::{LimitedBy, Report};
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
            excess_loss: None,
            lost: Bytes::new((loss * 1e6).round() as u64),
            delivery_rate: Some(Rate::from_mbit(mbit * (1.0 - loss))),
            rtt: Some(Duration::from_millis(30)),
            rtt_least: Some(Duration::from_millis(30)),
            rtt_base: Some(Duration::from_millis(30)),
            rtt_gradient: Some(0.0),
            rtt_gradient_error: 0.0,
            rtt_span: Duration::from_millis(100),
            rtt_pause: Duration::from_millis(1),
            rtt_samples: 1000,
            rtt_residual: Duration::ZERO,
            rtt_deviation: Duration::ZERO,
            app_limited: false,
            timed_out: false,
            limited_by: LimitedBy::Network,
            previous: None,
        }
    }
}
