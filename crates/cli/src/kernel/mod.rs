//! `pcc kernel`: PCC as a congestion control of this computer's TCP.
//!
//! Arguments, and what people and scripts read of it; `pcc-bpf` does it.
//!
//! What is loaded, and how it is set, is asked of the kernel each time: no file of ours says it.

mod args;
mod doctor;
mod load;
mod set;
mod status;
mod top;
mod unload;
mod uses;
mod utility_options;

use crate::exit::Failure;
use pcc_bpf::variant::{FindError, Variant};

/// PCC in this computer's kernel, for every TCP application that sends
///
/// Loads PCC as one more congestion control of TCP: without a module, without a reboot, for a trial that ends by
/// itself. Only the sender needs it. It takes root and Linux 6.1 or newer; `pcc kernel doctor` says what is missing.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                  pcc kernel doctor\n  \
                  pcc kernel load --default --for 10m      all new connections, for ten minutes\n  \
                  pcc kernel load --name pcc_scav --utility scavenger\n  \
                  pcc kernel use pcc_scav --port 873       an rsync that yields to everybody\n  \
                  pcc kernel set --utility 'x^0.9 - 900*x*max(0, g) - 11.35*x*L'\n  \
                  pcc kernel top\n  \
                  pcc kernel unload\n\n\
                  Nothing survives a reboot: packaging/pcc-kernel.service loads it at each. docs/kernel.md is the guide.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Doctor(doctor::Args),
    Load(Box<load::Args>),
    Use(uses::Args),
    Set(set::Args),
    Status(status::Args),
    Top(top::Args),
    Unload(unload::Args),
}

/// Runs it. Blocking: the kernel answers at once, and who watches waits for nothing else.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Doctor(args) => doctor::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Use(args) => uses::run(&args),
        Command::Set(args) => set::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Unload(args) => unload::run(&args),
    }
}

/// The variant of that name; without a name, the only one.
fn find(name: Option<&str>) -> anyhow::Result<Variant> {
    Variant::find(name).map_err(|error| match error {
        FindError::Several { .. } => anyhow::Error::new(error).context(Failure::Usage),
        other => other.into(),
    })
}

/// The congestion controls that come with Linux. The module of each is `tcp_` and the name.
const OF_LINUX: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Whether Linux has a congestion control of its own of that name, loaded or not.
fn is_of_linux(name: &str) -> bool {
    OF_LINUX.contains(&name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_congestion_controls_of_linux_are_those_of_the_lab() {
        assert_eq!(super::OF_LINUX, pcc_lab::scenario::KERNEL_ALGORITHMS);
    }
}
