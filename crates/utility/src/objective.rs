//! PCC's aim and its way there, put together from people's words: a utility, a law, and values for the parameters of
//! either.

use crate::{Bottleneck, Game};
use pcc::control::{Law, ParseLawError};
use pcc::utility::{ParseUtilityError, Utility, parameters, parse_with};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A control law, and how the user wrote it.
#[derive(Clone, Debug)]
pub struct LawChoice {
    /// As it was written.
    pub written: String,
    /// The law.
    pub law: Law,
}

impl FromStr for LawChoice {
    type Err = ParseLawError;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        Ok(Self { written: written.to_owned(), law: written.parse()? })
    }
}

/// `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The parameter, or the constant of a formula.
    pub key: String,
    /// Its value, with its unit.
    pub value: String,
}

impl Setting {
    /// The key and the value.
    pub fn pair(&self) -> (String, String) {
        (self.key.clone(), self.value.clone())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let (key, value) = written.split_once('=').ok_or("write KEY=VALUE, like epsilon=0.01")?;
        Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
    }
}

/// Why a setting cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectiveError {
    /// The utility is none.
    #[error(transparent)]
    Utility(#[from] ParseUtilityError),
    /// The utility cannot have that value.
    #[error(transparent)]
    Value(ParseUtilityError),
    /// The law cannot have that value.
    #[error(transparent)]
    Law(#[from] ParseLawError),
    /// The utility and the law have a parameter of that name.
    #[error("{key}: both the utility {utility} and the law {law} have it")]
    Both {
        /// The parameter.
        key: String,
        /// The utility, as it was written.
        utility: String,
        /// The law's name.
        law: &'static str,
        /// The value that was given.
        value: String,
    },
    /// Neither the utility nor the law has a parameter of that name.
    #[error("{key}: there is no such parameter; the utility {utility} has {of_utility}; the law {law} has {of_law}")]
    Unknown {
        /// The parameter.
        key: String,
        /// The utility, as it was written.
        utility: String,
        /// The utility's parameters.
        of_utility: String,
        /// The law's name.
        law: &'static str,
        /// The law's parameters.
        of_law: String,
    },
}

/// A utility and a law that climbs it.
#[derive(Clone, Debug)]
pub struct Objective {
    /// The utility as it was written.
    pub written: String,
    /// The utility.
    pub utility: Arc<dyn Utility>,
    /// The law as it was written, if it was.
    pub law_written: Option<String>,
    /// The law, if it is not just the one that suits the utility.
    pub law: Option<Law>,
    /// Other settings, `KEY=VALUE`.
    pub set: Vec<String>,
}

impl Objective {
    /// `written` is the utility as people know it, `text` what that says.
    ///
    /// Errors: a setting that neither the utility nor the law has, that both have, or with a value that cannot be.
    pub fn new(written: &str, text: &str, law: Option<&LawChoice>, set: &[Setting]) -> Result<Self, ObjectiveError> {
        let plain = parse_with(text, &[])?;
        let law_written = law.map(|choice| choice.written.clone());
        let mut law = law.map(|choice| choice.law.clone());
        let suited = law.clone().unwrap_or_else(|| Law::suited_to(&*plain));
        let of_utility = parameters(text);
        let mut settings = Vec::new();
        for Setting { key, value } in set {
            let has_utility = of_utility.iter().any(|name| name == key);
            match (has_utility, suited.parameters().contains(&&**key)) {
                (true, false) => settings.push((key.clone(), value.clone())),
                (false, true) => law.get_or_insert_with(|| suited.clone()).set(&format!("{key}={value}"))?,
                (true, true) => {
                    let (key, utility, value) = (key.clone(), written.to_owned(), value.clone());
                    return Err(ObjectiveError::Both { key, utility, law: suited.name(), value });
                }
                (false, false) => {
                    let own = of_utility.join(", ");
                    return Err(ObjectiveError::Unknown {
                        key: key.clone(),
                        utility: written.to_owned(),
                        of_utility: if own.is_empty() { "no parameters".to_owned() } else { own },
                        law: suited.name(),
                        of_law: suited.parameters().join(", "),
                    });
                }
            }
        }
        let utility = parse_with(text, &settings).map_err(ObjectiveError::Value)?;
        let set = set.iter().map(Setting::to_string).collect();
        Ok(Self { written: written.to_owned(), utility, law_written, law, set })
    }

    /// Has a sender strive for it.
    pub fn apply(&self, core: &mut pcc::Config) {
        core.utility = Arc::clone(&self.utility);
        core.law.clone_from(&self.law);
    }

    /// Senders that strive for it on that path.
    pub fn game(&self, path: Bottleneck) -> Game<'_> {
        Game::new(&*self.utility, &self.law(), path)
    }

    /// The law that it comes to.
    pub fn law(&self) -> Law {
        self.law.clone().unwrap_or_else(|| Law::suited_to(&*self.utility))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::utility::built_in;

    /// No name is taken twice among what is built in, so that nobody has to say whose is meant.
    #[test]
    fn no_built_in_utility_has_a_parameter_that_a_law_has() {
        for name in Law::NAMES {
            let law: Law = name.parse().unwrap();
            for about in built_in() {
                let own = parameters(about.name);
                assert!(!own.iter().any(|own| law.parameters().contains(&&**own)), "{name} and {}", about.name);
            }
        }
    }

    #[test]
    fn a_setting_reaches_the_utility_or_the_law_that_has_it() {
        let set = ["level=0.01", "epsilon=0.03"].map(|set| set.parse::<Setting>().unwrap());
        let objective = Objective::new("fair", "fair", None, &set).unwrap();
        assert!(matches!(&objective.law, Some(Law::Ascent(config)) if config.epsilon == 0.03), "{objective:?}");
        assert!(format!("{:?}", objective.utility).contains("level: 0.01"), "{objective:?}");
        let unknown = Objective::new("fair", "fair", None, &["colour=blue".parse().unwrap()]).unwrap_err();
        assert!(matches!(&unknown, ObjectiveError::Unknown { key, .. } if key == "colour"), "{unknown}");
    }
}
