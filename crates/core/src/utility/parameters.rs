//! A utility's parameters as people write them after its name: `vivace,b=2` or `rate-limiter,limit=20Mbit`.

use super::about::BuiltIn;
use super::nearest::did_you_mean;
use super::quantity::{Kind, read};
use super::{ParseUtilityError, Utility};
use crate::units::Rate;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::Arc;

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

    fn is_set(&self) -> bool {
        self.range.contains(&self.value())
    }

    fn set(&mut self, written: &str) -> Result<(), String> {
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

/// Makes a built-in utility with the parameters that are written, `b=2,c=20`; the others keep their defaults.
pub(super) fn make<T: BuiltIn>(written: Option<&str>) -> Result<Arc<dyn Utility>, ParseUtilityError> {
    let (mut utility, name) = (T::default(), T::ABOUT.name);
    for one in written.into_iter().flat_map(|written| written.split(',')) {
        assign(&mut utility, one).map_err(|problem| ParseUtilityError::parameter(name, &problem))?;
    }
    if let Some(missing) = utility.parameters().iter().find(|parameter| !parameter.is_set()) {
        let example = match missing.place {
            Place::Number(_) => "0.5",
            Place::Rate(_) => "20Mbit",
            Place::Time(_) => "20ms",
        };
        let problem = format!("needs its {}: write it like {name},{}={example}", missing.name, missing.name);
        return Err(ParseUtilityError::parameter(name, &problem));
    }
    Ok(Arc::new(utility))
}

fn assign<T: BuiltIn>(utility: &mut T, written: &str) -> Result<(), String> {
    let (name, value) = written.split_once('=').ok_or_else(|| format!("`{written}` is not NAME=VALUE"))?;
    let (name, mut known) = (name.trim(), utility.parameters());
    let names: Vec<_> = known.iter().map(|parameter| parameter.name).collect();
    let Some(parameter) = known.iter_mut().find(|parameter| parameter.name == name) else {
        return Err(match names.join(", ") {
            none if none.is_empty() => "has no parameters".to_owned(),
            all => format!("`{name}` is no parameter of it; choose from {all}{}", did_you_mean(name, &names)),
        });
    };
    parameter.set(value.trim())
}
