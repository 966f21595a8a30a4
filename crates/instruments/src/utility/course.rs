//! The path and the senders that a utility is looked at on: options that `check` and `plot` share.

use crate::exit::misused;
use pcc_command::UtilityOptions;
use pcc_link::Path;
use pcc_utility::{Bottleneck, Choice, LawChoice, Objective, Setting};

/// Which utility, on which path.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Course {
    /// A name of `pcc-lab utility list` with parameters if need be (vivace,b=2), a formula ('x^0.9 - 11.35*x*L'), or a file
    /// with one (mine.utility, ./mine)
    #[arg(value_name = "NAME|FORMULA|FILE")]
    utility: String,
    /// The path: a preset of `pcc emulate --list`, parameters, or both (satellite,loss=2%)
    #[arg(long, value_name = "PRESET|PARAMETERS", default_value = "rate=100Mbit,rtt=30ms,buffer=375KB")]
    pub(super) link: Path,
    /// The control law, if not the one that suits the utility
    #[arg(long, value_name = "LAW[,KEY=VALUE]")]
    law: Option<LawChoice>,
    /// Set a parameter, or a constant of the formula, with its unit (b=300)
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    set: Vec<Setting>,
}

impl Course {
    /// The utility and its law.
    pub(super) fn objective(&self) -> anyhow::Result<Objective> {
        let choice: Choice = self.utility.parse().map_err(misused)?;
        UtilityOptions { utility: Some(choice), scavenger: false, law: self.law.clone(), set: self.set.clone() }
            .objective()
    }

    /// The path as one shared queue, as it is at its first moment.
    pub(super) fn bottleneck(&self) -> anyhow::Result<Bottleneck> {
        pcc_play::findings::bottleneck(&self.link).map_err(misused)
    }

    /// Whether the path changes with time, which the analysis does not know.
    pub(super) const fn changes(&self) -> bool {
        !self.link.down.schedule.rules.is_empty() || !self.link.up.schedule.rules.is_empty()
    }
}
