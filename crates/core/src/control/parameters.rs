//! A law's parameters as people write them: `epsilon_min=0.02,interval_rtts=1..1.4`.

use super::{Law, allegro};
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// Why a law's parameters could not be read; the text says what may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLawError(String);

impl fmt::Display for ParseLawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ParseLawError {}

/// Where a parameter's value goes.
enum Place<'a> {
    Number(&'a mut f64),
    /// Drawn between the two.
    Span(&'a mut (f64, f64)),
}

/// Allegro's parameters, by the names of their fields, and what each may be.
///
/// A probe must move the rate by something, and never by more than a quarter: beyond that the rates of a pair are
/// other experiments. Intervals shorter than half a round trip end before anything comes back.
fn parameters(config: &mut allegro::Config) -> [(&'static str, Place<'_>, RangeInclusive<f64>); 8] {
    use Place::{Number, Span};
    [
        ("epsilon_min", Number(&mut config.epsilon_min), 1e-4..=0.25),
        ("epsilon_max", Number(&mut config.epsilon_max), 1e-4..=0.25),
        ("step_min", Number(&mut config.step_min), 1e-4..=0.5),
        ("step_max", Number(&mut config.step_max), 1e-4..=0.5),
        ("interval_rtts", Span(&mut config.interval_rtts), 0.5..=100.0),
        ("starting_rtts", Number(&mut config.starting_rtts), 0.5..=100.0),
        ("loss_significance", Number(&mut config.loss_significance), 0.0..=100.0),
        ("least_gain", Number(&mut config.least_gain), 0.0..=1.0),
    ]
}

fn assign(config: &mut allegro::Config, written: &str) -> Result<(), String> {
    let (name, value) = written.split_once('=').ok_or_else(|| format!("`{written}` is not NAME=VALUE"))?;
    let mut known = parameters(config);
    let names = known.each_ref().map(|(name, ..)| *name).join(", ");
    let Some((name, place, range)) = known.iter_mut().find(|(known, ..)| *known == name.trim()) else {
        return Err(format!("`{name}` is no parameter of the control law; choose from {names}"));
    };
    let (low, high) = (range.start(), range.end());
    let number = |value: &str| value.trim().parse().ok().filter(|number| range.contains(number));
    match place {
        Place::Number(place) => {
            **place = number(value).ok_or_else(|| format!("`{value}` is no {name}; it is from {low} to {high}"))?;
        }
        Place::Span(place) => {
            let (from, to) = value.split_once("..").unwrap_or((value, value));
            let span = number(from).zip(number(to)).filter(|(from, to)| from <= to);
            **place = span.ok_or_else(|| {
                format!("`{value}` is no {name}; it is one number or a range like 1..1.4, from {low} to {high}")
            })?;
        }
    }
    Ok(())
}

impl FromStr for Law {
    type Err = ParseLawError;

    /// Reads parameters of Allegro by the names of [`allegro::Config`]'s fields, `epsilon_min=0.02,interval_rtts=1..1.4`;
    /// those that are not named keep their defaults.
    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let mut config = allegro::Config::default();
        for one in written.split(',') {
            assign(&mut config, one).map_err(ParseLawError)?;
        }
        for (what, least, most) in
            [("epsilon", config.epsilon_min, config.epsilon_max), ("step", config.step_min, config.step_max)]
        {
            if least > most {
                return Err(ParseLawError(format!(
                    "`{written}` has {what}_min {least} above {what}_max {most}; set both"
                )));
            }
        }
        Ok(Self::Allegro(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &str) -> Result<allegro::Config, String> {
        written.parse().map(|Law::Allegro(config)| config).map_err(|error: ParseLawError| error.to_string())
    }

    #[test]
    fn what_is_named_is_set_and_the_rest_keeps_its_default() {
        let config = read("epsilon_min=0.02,interval_rtts=1").unwrap();
        assert_eq!((config.epsilon_min, config.interval_rtts), (0.02, (1.0, 1.0)));
        assert_eq!(config.epsilon_max, allegro::Config::default().epsilon_max);
        assert_eq!(read("interval_rtts=1.7..2.2").unwrap().interval_rtts, (1.7, 2.2));
    }

    #[test]
    fn every_name_sets_its_own_field() {
        for place in 0..8 {
            let (name, _, range) = &parameters(&mut allegro::Config::default())[place];
            // The largest epsilon_min and step_min ask for the largest epsilon_max and step_max.
            let value = range.end();
            let written = format!("{name}={value},epsilon_max=0.25,step_max=0.5");
            let mut config = read(&written).unwrap_or_else(|error| panic!("{error}"));
            let set = match &parameters(&mut config)[place].1 {
                Place::Number(set) => (**set, **set),
                Place::Span(set) => **set,
            };
            assert_eq!(set, (*value, *value), "{name}");
            let debug = format!("{config:?}");
            assert!(
                debug.contains(&format!("{name}: {value}")) || debug.contains(&format!("{name}: ({value}")),
                "{debug}"
            );
        }
    }

    #[test]
    fn what_no_law_could_be_is_refused_with_what_may_be_written() {
        for (written, expected) in [
            ("", "`` is not NAME=VALUE"),
            ("epsilon_min", "`epsilon_min` is not NAME=VALUE"),
            ("epsilon=0.02", "`epsilon` is no parameter of the control law; choose from epsilon_min, epsilon_max"),
            ("epsilon_min=0", "`0` is no epsilon_min; it is from 0.0001 to 0.25"),
            ("epsilon_min=NaN", "`NaN` is no epsilon_min"),
            ("epsilon_min=inf", "`inf` is no epsilon_min"),
            ("epsilon_min=-0.01", "`-0.01` is no epsilon_min"),
            ("least_gain=much", "`much` is no least_gain; it is from 0 to 1"),
            ("interval_rtts=1.4..1", "`1.4..1` is no interval_rtts; it is one number or a range like 1..1.4"),
            ("interval_rtts=1..NaN", "from 0.5 to 100"),
            ("interval_rtts=0.1", "from 0.5 to 100"),
            ("epsilon_min=0.1", "epsilon_min 0.1 above epsilon_max 0.05; set both"),
            ("step_max=0.01", "step_min 0.02 above step_max 0.01; set both"),
        ] {
            let error = read(written).unwrap_err();
            assert!(error.contains(expected), "{written}: {error}");
        }
    }
}
