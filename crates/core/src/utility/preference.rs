//! Whether a sender wants more or less.

/// Which way a sender wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// More is worth more.
    More,
    /// More or less are worth the same.
    Indifferent,
    /// Less is worth more.
    Less,
    /// The utility is not defined here.
    Undefined,
}

/// Slopes are taken over so much of the rate to both sides, as Ascent does: fine enough for losses of a per mille.
pub const SIDE: f64 = 1e-3;
/// Relative tolerance when two slopes are compared: slopes over [`SIDE`] have an error of its third power.
pub const SAME: f64 = 1e-8;

impl Preference {
    /// From the utilities of a little less and a little more.
    pub fn between(less: f64, more: f64) -> Self {
        match more - less {
            change if !change.is_finite() => Self::Undefined,
            change if change.abs() <= SAME * (more.abs() + less.abs()) => Self::Indifferent,
            change if change > 0.0 => Self::More,
            _ => Self::Less,
        }
    }
}
