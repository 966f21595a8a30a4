//! Which congestion controller a connection uses.

use crate::PccConfig;
use core::str::FromStr;
use noq::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

/// A congestion controller by name: PCC, or a peer that noq brings along for comparison.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Algorithm {
    /// PCC with this configuration.
    Pcc(PccConfig),
    /// CUBIC (RFC 9438), as noq implements it.
    Cubic,
    /// BBRv3 (draft-ietf-ccwg-bbr), as noq implements it.
    Bbr,
    /// NewReno (RFC 9002), as noq implements it.
    NewReno,
}

impl Default for Algorithm {
    fn default() -> Self {
        Self::Pcc(PccConfig::default())
    }
}

impl Algorithm {
    /// The names that [`Algorithm::from_str`] reads, in the order of a list for people.
    pub const NAMES: [&'static str; 4] = ["pcc", "cubic", "bbr", "newreno"];

    /// The name, as [`Algorithm::from_str`] reads it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pcc(_) => "pcc",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::NewReno => "newreno",
        }
    }

    /// What [`noq::TransportConfig::congestion_controller_factory`] takes.
    pub fn factory(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Self::Pcc(config) => Arc::new(config.clone()),
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::Bbr => Arc::new(Bbr3Config::default()),
            Self::NewReno => Arc::new(NewRenoConfig::default()),
        }
    }
}

/// The name is none of [`Algorithm::NAMES`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a congestion control algorithm; choose one of {names}", names = Algorithm::NAMES.join(", "))]
pub struct ParseAlgorithmError(String);

impl FromStr for Algorithm {
    type Err = ParseAlgorithmError;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        match written.trim().to_ascii_lowercase().as_str() {
            "pcc" => Ok(Self::Pcc(PccConfig::default())),
            "cubic" => Ok(Self::Cubic),
            "bbr" => Ok(Self::Bbr),
            "newreno" => Ok(Self::NewReno),
            _ => Err(ParseAlgorithmError(written.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for name in Algorithm::NAMES {
            assert_eq!(name.parse::<Algorithm>().unwrap().name(), name);
            assert_eq!(name.to_uppercase().parse::<Algorithm>().unwrap().name(), name);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_choice() {
        let error = "vegas".parse::<Algorithm>().unwrap_err().to_string();
        assert!(error.contains("`vegas`") && error.contains("newreno"), "{error}");
    }
}
