//! A law and its parameters as people write them: `ascent`, `allegro,epsilon_min=0.02,interval_rtts=1..1.4`,
//! `vivace,proteus,pairs=2`.

use super::{Law, allegro, ascent, vivace};
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
    Count(&'a mut u8),
}

/// A parameter: its name, its place, and what it may be.
type Parameter<'a> = (&'static str, Place<'a>, RangeInclusive<f64>);

/// The parameters of a law, by the names of their fields.
///
/// A probe must move the rate by something, and never by more than a quarter: beyond that the rates of a pair are
/// other experiments. Allegro's intervals shorter than half a round trip end before anything comes back.
fn parameters(law: &mut Law) -> Vec<Parameter<'_>> {
    use Place::{Count, Number, Span};
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
        Law::Vivace(config) => vec![
            ("epsilon", Number(&mut config.epsilon), 1e-4..=0.25),
            ("conversion", Number(&mut config.conversion), 1e-6..=1e6),
            ("boundary", Number(&mut config.boundary), 1e-4..=0.5),
            ("boundary_step", Number(&mut config.boundary_step), 1e-4..=0.5),
            ("step_min", Number(&mut config.step_min), 0.0..=0.5),
            ("latency_filter", Number(&mut config.latency_filter), 0.0..=1.0),
            ("tolerance", Number(&mut config.tolerance), 0.0..=100.0),
            ("pairs", Count(&mut config.pairs), 1.0..=f64::from(vivace::Config::MOST_PAIRS)),
            ("least_change", Number(&mut config.least_change), 0.0..=1e3),
            ("moves", Count(&mut config.moves), 0.0..=f64::from(u8::MAX)),
            ("burst_ratio", Number(&mut config.burst_ratio), 0.0..=1e9),
            ("interval_rtts", Number(&mut config.interval_rtts), 0.5..=100.0),
        ],
        // Its author has them.
        Law::Own(_) => Vec::new(),
    }
}

/// Another set of values of a law's parameters, that the parameters written after it change: its name.
const fn variant(law: &Law) -> Option<&'static str> {
    match law {
        Law::Allegro(_) => Some("paper"),
        Law::Vivace(_) => Some("proteus"),
        Law::Ascent(_) | Law::Own(_) => None,
    }
}

/// Takes the values of the variant of that name instead of the defaults.
fn take_variant(law: &mut Law, written: &str) -> bool {
    let known = variant(law) == Some(written.trim());
    match law {
        Law::Allegro(config) if known => *config = allegro::Config::paper(),
        Law::Vivace(config) if known => *config = vivace::Config::proteus(),
        _ => {}
    }
    known
}

fn assign(law: &mut Law, written: &str) -> Result<(), String> {
    let law_name = law.name();
    let variant = variant(law);
    let (name, value) = written.split_once('=').ok_or_else(|| {
        let first = variant.map(|name| format!("; `{law_name},{name}` is the variant, before all parameters"));
        format!("`{written}` is not NAME=VALUE{}", first.unwrap_or_default())
    })?;
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
        Place::Count(place) => {
            let whole = number(value).filter(|number: &f64| number.fract() == 0.0);
            **place = whole
                .ok_or_else(|| format!("`{value}` is no {name}; it is a whole number from {low} to {high}"))?
                as u8;
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
    /// `allegro,interval_rtts=1..1.4`. Parameters that are not named keep their defaults, or the values of the variant that
    /// stands before them: `allegro,paper`, `vivace,proteus`. Without a law's name they are the default law's.
    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let (first, rest) = written.split_once(',').map_or((written, None), |(first, rest)| (first, Some(rest)));
        let (mut law, parameters) = match first.trim() {
            "allegro" => (Self::Allegro(allegro::Config::default()), rest),
            "ascent" => (Self::Ascent(ascent::Config::default()), rest),
            "vivace" => (Self::Vivace(vivace::Config::default()), rest),
            other if other.contains('=') => (Self::default(), Some(written)),
            other => {
                let known = Self::NAMES.join(", ");
                return Err(ParseLawError(format!("`{other}` is no control law; choose from {known}")));
            }
        };
        let parameters = parameters.into_iter().flat_map(|parameters| parameters.split(','));
        for (place, one) in parameters.enumerate() {
            if place > 0 || !take_variant(&mut law, one) {
                assign(&mut law, one).map_err(ParseLawError)?;
            }
        }
        law.check(written)?;
        Ok(law)
    }
}

impl Law {
    /// Gives parameters other values: `epsilon=0.01`, or several with commas between. The others stay as they are, and so
    /// do all of them after an error.
    ///
    /// Errors: there is no such parameter, it cannot have that value, or it does not go with another one.
    pub fn set(&mut self, written: &str) -> Result<(), ParseLawError> {
        let mut law = self.clone();
        for one in written.split(',') {
            assign(&mut law, one).map_err(ParseLawError)?;
        }
        law.check(written)?;
        *self = law;
        Ok(())
    }

    /// The names of its parameters.
    pub fn parameters(&self) -> Vec<&'static str> {
        parameters(&mut self.clone()).iter().map(|(name, ..)| *name).collect()
    }

    /// Whether its parameters go together.
    fn check(&self, written: &str) -> Result<(), ParseLawError> {
        let Self::Allegro(config) = self else { return Ok(()) };
        for (what, least, most) in
            [("epsilon", config.epsilon_min, config.epsilon_max), ("step", config.step_min, config.step_max)]
        {
            if least > most {
                let problem = format!("`{written}` has {what}_min {least} above {what}_max {most}; set both");
                return Err(ParseLawError(problem));
            }
        }
        Ok(())
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
        for (name, largest) in [("allegro", ",epsilon_max=0.25,step_max=0.5"), ("ascent", ""), ("vivace", "")] {
            let mut defaults = law(name).unwrap();
            for place in 0..parameters(&mut defaults).len() {
                let (parameter, _, range) = &parameters(&mut defaults)[place];
                // The largest epsilon_min and step_min ask for the largest epsilon_max and step_max.
                let (parameter, value) = (*parameter, *range.end());
                let mut set = law(&format!("{name},{parameter}={value}{largest}")).unwrap();
                let found = match &parameters(&mut set)[place].1 {
                    Place::Number(set) => (**set, **set),
                    Place::Span(set) => **set,
                    Place::Count(set) => (f64::from(**set), f64::from(**set)),
                };
                assert_eq!(found, (value, value), "{parameter}");
                let debug = format!("{set:?}");
                let (plain, span) = (format!("{parameter}: {value}"), format!("{parameter}: ({value}"));
                assert!(debug.contains(&plain) || debug.contains(&span), "{debug}");
            }
        }
    }

    #[test]
    fn parameters_change_the_values_of_a_variant() {
        let config = read("paper,interval_rtts=1").unwrap();
        assert_eq!((config.paper, config.step_min, config.interval_rtts), (true, 0.01, (1.0, 1.0)));
        assert!(!read("step_min=0.01").unwrap().paper);
        let Law::Vivace(config) = law("vivace, proteus ,pairs=2").unwrap() else { panic!("not Vivace") };
        assert_eq!((config.pairs, config.tolerance), (2, 1.0));
        let Law::Vivace(config) = law("vivace").unwrap() else { panic!("not Vivace") };
        assert_eq!((config.pairs, config.tolerance), (1, 0.0));
    }

    #[test]
    fn setting_a_parameter_leaves_the_others() {
        let mut law = law("allegro,epsilon_max=0.1").unwrap();
        law.set("epsilon_min=0.02,least_gain=0.5").unwrap();
        let error = law.set("step_min=0.1,epsilon_min=0.2").unwrap_err().to_string();
        assert!(error.contains("epsilon_min 0.2 above epsilon_max 0.1"), "{error}");
        let Law::Allegro(config) = &law else { panic!("{law:?}") };
        assert_eq!((config.epsilon_min, config.epsilon_max, config.least_gain), (0.02, 0.1, 0.5));
        assert_eq!(config.step_min, allegro::Config::default().step_min);
        assert!(law.parameters().contains(&"least_gain") && Law::default().parameters().contains(&"horizon_rtts"));
    }

    #[test]
    fn law_has_name_and_parameters_without_one_are_default_law_s() {
        for name in Law::NAMES {
            assert_eq!(law(name).unwrap().name(), name);
        }
        assert_eq!(law("interval_rtts=2").unwrap().name(), Law::default().name());
        for (written, expected) in [
            ("vegas", "`vegas` is no control law; choose from ascent, allegro, vivace"),
            ("", "`` is no control law"),
            (
                "ascent,epsilon_min=0.02",
                "`epsilon_min` is no parameter of the control law ascent; choose from epsilon, ",
            ),
            ("ascent,epsilon=0.5", "`0.5` is no epsilon; it is from 0.0001 to 0.25"),
            ("vivace,pairs=2.5", "`2.5` is no pairs; it is a whole number from 1 to 8"),
            ("vivace,pairs=9", "from 1 to 8"),
            ("vivace,paper", "`paper` is not NAME=VALUE; `vivace,proteus` is the variant, before all parameters"),
            ("allegro,step_min=0.02,paper", "`allegro,paper` is the variant, before all parameters"),
            ("ascent,paper", "`paper` is not NAME=VALUE"),
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
