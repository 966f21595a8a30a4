//! A parameter of a built-in utility, and what people write for it.

use super::quantity::{Kind, read};
use crate::units::Rate;
use core::ops::RangeInclusive;
use core::time::Duration;

/// A parameter: its name, where its value goes, and what it may be. Unit: Mbit/s for rates, s for times.
pub(super) struct Parameter<'a> {
    pub(super) name: &'static str,
    pub(super) place: Place<'a>,
    pub(super) range: RangeInclusive<f64>,
}

/// Where a parameter's value goes.
pub(super) enum Place<'a> {
    Number(&'a mut f64),
    Rate(&'a mut Rate),
    Time(&'a mut Duration),
}

/// Rates from a packet each few minutes to far beyond any path. Unit: Mbit/s.
const RATES: RangeInclusive<f64> = 1e-4..=1e7;
/// Times from a nanosecond to an hour. Unit: s.
const TIMES: RangeInclusive<f64> = 1e-9..=3600.0;

impl<'a> Parameter<'a> {
    pub(super) const fn number(name: &'static str, place: &'a mut f64, range: RangeInclusive<f64>) -> Self {
        Self { name, place: Place::Number(place), range }
    }

    pub(super) const fn rate(name: &'static str, place: &'a mut Rate) -> Self {
        Self { name, place: Place::Rate(place), range: RATES }
    }

    pub(super) const fn time(name: &'static str, place: &'a mut Duration) -> Self {
        Self { name, place: Place::Time(place), range: TIMES }
    }

    fn value(&self) -> f64 {
        match &self.place {
            Place::Number(place) => **place,
            Place::Rate(place) => place.mbit(),
            Place::Time(place) => place.as_secs_f64(),
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.range.contains(&self.value())
    }

    pub(super) fn set(&mut self, written: &str) -> Result<(), String> {
        let (name, low, high) = (self.name, self.range.start(), self.range.end());
        let (unit, example) = match self.place {
            Place::Number(_) => ("", ""),
            Place::Rate(_) => (" Mbit/s", "; write it like 20Mbit"),
            Place::Time(_) => (" s", "; write it like 20ms"),
        };
        let fits = |kind| match self.place {
            Place::Number(_) => matches!(kind, Kind::Plain | Kind::Share),
            Place::Rate(_) => kind == Kind::Rate,
            Place::Time(_) => kind == Kind::Time,
        };
        let value = read(written).filter(|(value, kind)| fits(*kind) && self.range.contains(value));
        let (value, _) =
            value.ok_or_else(|| format!("`{written}` is no {name}; it is from {low} to {high}{unit}{example}"))?;
        match &mut self.place {
            Place::Number(place) => **place = value,
            Place::Rate(place) => **place = Rate::from_mbit(value),
            Place::Time(place) => **place = Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX),
        }
        Ok(())
    }
}
