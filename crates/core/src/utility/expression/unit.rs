//! Units of expressions: what may be added to what.

use crate::utility::quantity::Kind;
use core::fmt;

/// The unit of a number: Mbit/s to one power times s to another. `ANY` is that of a coefficient.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit(Option<(f64, f64)>);

/// Powers are computed: 0.9 − 0.1 − 0.8 is not quite 0.
const SAME: f64 = 1e-9;

impl Unit {
    /// Whatever fits: a number written without a suffix, or what it was multiplied with.
    pub(super) const ANY: Self = Self(None);
    pub(super) const NONE: Self = Self(Some((0.0, 0.0)));
    pub(super) const RATE: Self = Self(Some((1.0, 0.0)));
    pub(super) const TIME: Self = Self(Some((0.0, 1.0)));

    pub(super) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Plain => Self::ANY,
            Kind::Share => Self::NONE,
            Kind::Rate => Self::RATE,
            Kind::Time => Self::TIME,
        }
    }

    /// The unit of both, if they can be added or compared.
    pub(super) fn with(self, other: Self) -> Option<Self> {
        match (self.0, other.0) {
            (Some((rate, time)), Some((other_rate, other_time))) => {
                let same = (rate - other_rate).abs() < SAME && (time - other_time).abs() < SAME;
                same.then_some(self)
            }
            (None, _) => Some(other),
            (_, None) => Some(self),
        }
    }

    /// Whether it may be taken for a number without unit.
    pub(super) fn may_be_none(self) -> bool {
        self.with(Self::NONE).is_some()
    }

    /// The unit of a product with the other to the power of `sign`.
    pub(super) fn times(self, other: Self, sign: f64) -> Self {
        Self(self.0.zip(other.0).map(|((rate, time), other)| (rate + sign * other.0, time + sign * other.1)))
    }

    pub(super) fn to_the(self, power: f64) -> Self {
        Self(self.0.map(|(rate, time)| (rate * power, time * power)))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((rate, time)) = self.0 else { return f.write_str("a number of any unit") };
        let is = |power: f64, value: f64| (power - value).abs() < SAME;
        match () {
            () if is(rate, 0.0) && is(time, 0.0) => f.write_str("a number without unit"),
            () if is(rate, 1.0) && is(time, 0.0) => f.write_str("a rate (Mbit/s)"),
            () if is(rate, 0.0) && is(time, 1.0) => f.write_str("a time (s)"),
            () if is(time, 0.0) => write!(f, "(Mbit/s)^{rate}"),
            () if is(rate, 0.0) => write!(f, "s^{time}"),
            () => write!(f, "(Mbit/s)^{rate} s^{time}"),
        }
    }
}
