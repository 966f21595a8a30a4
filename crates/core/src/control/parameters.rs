//! A law and its parameters as people write them: `ascent`, `allegro,epsilon_min=0.02,interval_rtts=1..1.4`.

use super::{Law, allegro, ascent};
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

/// A parameter: its name, its place, and what it may be.
type Parameter<'a> = (&'static str, Place<'a>, RangeInclusive<f64>);

/// The parameters of a law, by the names of their fields.
///
/// A probe must move the rate by something, and never by more than a quarter: beyond that the rates of a pair are
/// other experiments. Allegro's intervals shorter than half a round trip end before anything comes back.
fn parameters(law: &mut Law) -> Vec<Parameter<'_>> {
    use Place::{Number, Span};
    match law {
        Law::Allegro(config) => vec![
            ("epsilon_min", Number(&mut config.epsilon_min), 1e-4..=0.25),
            ("epsilon_max", Number(&mut config.epsilon_max), 1e-4..=0.25),
            ("step_min", Number(&mut config.step_min), 1e-4..=0.5),
            ("step_max", Number(&mut config.step_max), 1e-4..=0.5),
            ("interval_rtts", Span(&mut config.interval_rtts), 0.5..=100.0),
            ("starting_rtts", Number(&mut config.starting_rtts), 0.5..=100.0),
            ("loss_significance", Number(&mut config.loss_significance), 0.0..=100.0),
            ("least_gain", Number(&mut config.least_gain), 0.0..=1.0),
        ],
        Law::Ascent(config) => vec![
            ("epsilon", Number(&mut config.epsilon), 1e-4..=0.25),
            ("step_max", Number(&mut config.step_max), 1e-4..=1.0),
            ("back_off_max", Number(&mut config.back_off_max), 0.01..=0.9),
            ("interval_rtts", Number(&mut config.interval_rtts), 0.05..=100.0),
            ("interval_packets", Number(&mut config.interval_packets), 1.0..=10_000.0),
            ("horizon_rtts", Number(&mut config.horizon_rtts), 0.1..=100.0),
        ],
    }
}

fn assign(law: &mut Law, written: &str) -> Result<(), String> {
    let (name, value) = written.split_once('=').ok_or_else(|| format!("`{written}` is not NAME=VALUE"))?;
    let law_name = law.name();
    let mut known = parameters(law);
    let names = known.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    let Some((name, place, range)) = known.iter_mut().find(|(known, ..)| *known == name.trim()) else {
        return Err(format!("`{name}` is no parameter of the control law {law_name}; choose from {names}"));
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

    /// Reads a law's name and parameters by the names of its configuration's fields: `ascent,epsilon=0.01`,
    /// `allegro,interval_rtts=1..1.4`. Parameters that are not named keep their defaults; without a name they are the
    /// default law's.
    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let (first, rest) = written.split_once(',').map_or((written, None), |(first, rest)| (first, Some(rest)));
        let (mut law, parameters) = match first.trim() {
            "allegro" => (Self::Allegro(allegro::Config::default()), rest),
            "ascent" => (Self::Ascent(ascent::Config::default()), rest),
            other if other.contains('=') => (Self::default(), Some(written)),
            other => {
                let known = Self::NAMES.join(", ");
                return Err(ParseLawError(format!("`{other}` is no control law; choose from {known}")));
            }
        };
        for one in parameters.into_iter().flat_map(|parameters| parameters.split(',')) {
            assign(&mut law, one).map_err(ParseLawError)?;
        }
        if let Self::Allegro(config) = &law {
            for (what, least, most) in
                [("epsilon", config.epsilon_min, config.epsilon_max), ("step", config.step_min, config.step_max)]
            {
                if least > most {
                    return Err(ParseLawError(format!(
                        "`{written}` has {what}_min {least} above {what}_max {most}; set both"
                    )));
                }
            }
        }
        Ok(law)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(written: &str) -> Result<Law, String> {
        written.parse().map_err(|error: ParseLawError| error.to_string())
    }

    /// Parameters of Allegro.
    fn read(written: &str) -> Result<allegro::Config, String> {
        match law(&format!("allegro,{written}"))? {
            Law::Allegro(config) => Ok(config),
            other => panic!("{other:?}"),
        }
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
        for (name, largest) in [("allegro", ",epsilon_max=0.25,step_max=0.5"), ("ascent", "")] {
            let mut defaults = law(name).unwrap();
            for place in 0..parameters(&mut defaults).len() {
                let (parameter, _, range) = &parameters(&mut defaults)[place];
                // The largest epsilon_min and step_min ask for the largest epsilon_max and step_max.
                let (parameter, value) = (*parameter, *range.end());
                let mut set = law(&format!("{name},{parameter}={value}{largest}")).unwrap();
                let found = match &parameters(&mut set)[place].1 {
                    Place::Number(set) => (**set, **set),
                    Place::Span(set) => **set,
                };
                assert_eq!(found, (value, value), "{parameter}");
                let debug = format!("{set:?}");
                let (plain, span) = (format!("{parameter}: {value:?}"), format!("{parameter}: ({value:?}"));
                assert!(debug.contains(&plain) || debug.contains(&span), "{debug}");
            }
        }
    }

    #[test]
    fn a_law_has_a_name_and_parameters_without_one_are_the_default_law_s() {
        for name in Law::NAMES {
            assert_eq!(law(name).unwrap().name(), name);
        }
        assert_eq!(law("interval_rtts=2").unwrap().name(), Law::default().name());
        for (written, expected) in [
            ("vegas", "`vegas` is no control law; choose from ascent, allegro"),
            ("", "`` is no control law"),
            (
                "ascent,epsilon_min=0.02",
                "`epsilon_min` is no parameter of the control law ascent; choose from epsilon, ",
            ),
            ("ascent,epsilon=0.5", "`0.5` is no epsilon; it is from 0.0001 to 0.25"),
        ] {
            let error = law(written).unwrap_err();
            assert!(error.contains(expected), "{written}: {error}");
        }
    }

    #[test]
    fn what_no_law_could_be_is_refused_with_what_may_be_written() {
        for (written, expected) in [
            ("", "`` is not NAME=VALUE"),
            ("epsilon_min", "`epsilon_min` is not NAME=VALUE"),
            (
                "epsilon=0.02",
                "`epsilon` is no parameter of the control law allegro; choose from epsilon_min, epsilon_max",
            ),
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
