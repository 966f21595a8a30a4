//! `pcc kernel`: PCC as a congestion control of this computer's TCP.
//!
//! ```text
//!   utility's text ──▶ strives ──┐
//!   BPF object ──▶ object ──▶ libbpf ──▶ load, registration ──▶ the kernel: variants of PCC, rules for whom
//!                                        set, unload, use, trial ◀──▶ variant, rule ◀── status
//!   connections ──▶ watch ──▶ rows ──▶ table, JSON: top
//!   what all have done ──▶ totals ──▶ prometheus
//! ```
//!
//! What is loaded, and how it is set, is asked of the kernel each time: no file of ours says it.

mod bpf;
mod btf;
mod doctor;
mod libbpf;
mod load;
mod object;
mod prometheus;
mod registration;
mod rights;
mod rows;
mod rule;
mod set;
mod status;
mod strives;
mod sysctl;
mod table;
mod top;
mod totals;
mod trial;
mod unload;
mod uses;
mod variant;
mod watch;

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
