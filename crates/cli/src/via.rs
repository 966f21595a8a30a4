//! The interfaces of this computer that a command uses, several at once if it is told to.

use crate::exit::misuse;
use crate::sender::SenderArgs;
use pcc::units::Rate;
use pcc_net::dial::Dialer;
use pcc_net::paths::Paths;
use pcc_net::via::{self, Interface};

/// The option, and the consequences that it has.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ViaArgs {
    /// Send and receive by this interface, for example wlan0; given several times, by all of them at once
    ///
    /// The connection to the server then has the networks' rates together, with PCC deciding for each network by itself. It goes on
    /// without a pause of more than a second when one of them fails, and uses that one again when it is back. At most 4 interfaces;
    /// Linux; UDP only. The server needs to be `pcc serve`, of a version that knows several networks: docs/ways.md.
    #[arg(long, value_name = "INTERFACE")]
    via: Vec<Interface>,
}

impl ViaArgs {
    /// Errors: the interfaces cannot be used together.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        via::check(&self.via).map_err(|error| misuse!("--via: {error}"))
    }

    pub(crate) const fn is_given(&self) -> bool {
        !self.via.is_empty()
    }

    /// The same dialer, by these interfaces.
    pub(crate) fn dialer(&self, dialer: Dialer) -> Dialer {
        Dialer { via: self.via.clone(), ..dialer }
    }

    /// Rates that earlier connections had. Memories are by the address there, and not by the interface here.
    pub(crate) fn paths(&self, sender: &SenderArgs) -> Paths {
        if self.is_given() { Paths::none() } else { sender.paths() }
    }

    /// The part of a limit that each network has: each has a controller of its own.
    pub(crate) fn part_of(&self, limit: Option<Rate>) -> Option<Rate> {
        let networks = self.via.len().max(1);
        limit.map(|limit| limit * (1.0 / networks as f64))
    }
}
