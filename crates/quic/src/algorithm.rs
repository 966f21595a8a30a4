//! Which congestion controller a connection uses.

use crate::fixed::Fixed;
use crate::fixed_window::FixedWindow;
use crate::{PccConfig, Peer};
use core::str::FromStr;
use noq::TransportConfig;
use noq::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use pcc::units::{Bytes, ParseQuantityError, Rate};
use std::sync::Arc;

/// A congestion controller by name: PCC, or a peer that noq brings along for comparison.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "a program has one or a few")]
pub enum Algorithm {
    /// PCC with this configuration.
    Pcc(PccConfig),
    /// CUBIC (RFC 9438), as noq implements it.
    Cubic,
    /// BBRv3 (draft-ietf-ccwg-bbr), as noq implements it.
    Bbr,
    /// NewReno (RFC 9002), as noq implements it.
    NewReno,
    /// No control at all: this rate, whatever is lost. It measures a path or a pacer; on a path that is shared it takes
    /// what others need.
    Fixed(Rate),
    /// No control at all: so many bytes in flight, whatever is lost. It is for packets inside of a stream, such as ssh's, whose TCP
    /// has a congestion control.
    FixedWindow(Bytes),
}

impl Default for Algorithm {
    fn default() -> Self {
        Self::Pcc(PccConfig::default())
    }
}

impl Algorithm {
    /// The names of the congestion controllers, in the order of a list for people. [`Algorithm::from_str`] reads them,
    /// and `fixed:RATE` besides.
    pub const NAMES: [&'static str; 4] = ["pcc", "cubic", "bbr", "newreno"];

    /// The name: of [`Algorithm::NAMES`], `fixed`, or `fixed-window`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pcc(_) => "pcc",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::NewReno => "newreno",
            Self::Fixed(_) => "fixed",
            Self::FixedWindow(_) => "fixed-window",
        }
    }

    /// The argument of [`noq::TransportConfig::congestion_controller_factory`].
    pub fn factory(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Self::Pcc(config) => Arc::new(config.clone()),
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::Bbr => Arc::new(Bbr3Config::default()),
            Self::NewReno => Arc::new(NewRenoConfig::default()),
            Self::Fixed(rate) => Arc::new(Fixed(*rate)),
            Self::FixedWindow(window) => Arc::new(FixedWindow(*window)),
        }
    }

    /// The same for a connection to this peer: PCC resumes what the store knows of its path, and keeps what it learns.
    pub fn to(&self, peer: Peer) -> Self {
        match self {
            Self::Pcc(config) => Self::Pcc(PccConfig { peer: Some(peer), ..config.clone() }),
            other => other.clone(),
        }
    }

    /// Has `transport` send with it, never faster than `limit`. PCC knows the limit as its own largest rate, and tries
    /// none beyond; the others are paced below it.
    pub fn cap(&self, transport: &mut TransportConfig, limit: Rate) {
        match self {
            Self::Pcc(PccConfig { core, handle, peer }) => {
                let max_rate = Some(core.max_rate.map_or(limit, |own| own.min(limit)));
                let core = pcc::Config { max_rate, ..core.clone() };
                let capped = PccConfig { core, handle: handle.clone(), peer: peer.clone() };
                transport.congestion_controller_factory(Arc::new(capped));
            }
            Self::Fixed(rate) => {
                transport.congestion_controller_factory(Arc::new(Fixed(rate.min(limit))));
            }
            Self::Cubic | Self::Bbr | Self::NewReno | Self::FixedWindow(_) => {
                let bytes = (limit.bytes_per_sec() as u64).max(1);
                transport.congestion_controller_factory(self.factory()).max_outgoing_bytes_per_second(Some(bytes));
            }
        }
    }
}

/// Why an algorithm written by a person could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseAlgorithmError {
    /// No such name.
    #[error("`{0}` is not a congestion control algorithm; choose one of {names}", names = Algorithm::NAMES.join(", "))]
    Unknown(String),
    /// The text behind `fixed:` is not a rate.
    #[error(transparent)]
    Rate(#[from] ParseQuantityError),
}

impl FromStr for Algorithm {
    type Err = ParseAlgorithmError;

    /// Reads `pcc`, `cubic`, `bbr`, `newreno` (or `reno`) and `fixed:100Mbit`, case aside.
    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let (name, rate) = written.trim().split_once(':').map_or((written.trim(), None), |(n, r)| (n, Some(r)));
        match (name.to_ascii_lowercase().as_str(), rate) {
            ("pcc", None) => Ok(Self::Pcc(PccConfig::default())),
            ("cubic", None) => Ok(Self::Cubic),
            ("bbr", None) => Ok(Self::Bbr),
            ("newreno" | "reno", None) => Ok(Self::NewReno),
            ("fixed", rate) => Ok(Self::Fixed(rate.unwrap_or_default().parse()?)),
            _ => Err(ParseAlgorithmError::Unknown(written.to_owned())),
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

    #[test]
    fn a_fixed_rate_is_read_with_its_unit() {
        let Ok(Algorithm::Fixed(rate)) = "fixed:100Mbit".parse() else { panic!("not read") };
        assert_eq!(rate, Rate::from_mbit(100.0));
        for wrong in ["fixed", "fixed:", "fixed:100", "pcc:100Mbit"] {
            assert!(wrong.parse::<Algorithm>().is_err(), "{wrong}");
        }
    }
}
