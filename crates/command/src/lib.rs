//! The common ground of the tools `pcc` and `pcc-lab`: how a command ends, how it speaks, how it hears Ctrl-C, and the options
//! that say what PCC strives for.

pub mod command_line;
pub mod exit;
pub mod interrupt;
pub mod manual;
pub mod open_files;
pub mod say;
mod utility_options;
pub mod written;

pub use utility_options::UtilityOptions;

use clap::{Arg, Command};

/// A tool's commands with what all have: exit codes in the help, and values that may begin with a hyphen.
pub fn completed(command: Command) -> Command {
    with_exit_codes(values_may_begin_with_a_hyphen(command))
}

/// Commands that do not tell their exit codes have those of all.
fn with_exit_codes(command: Command) -> Command {
    let told = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let does_something = !command.has_subcommands() || command.get_positionals().next().is_some();
    let command = if does_something && !told.contains("Exit codes:") {
        command.after_help(format!("{told}\n\nExit codes: 0 done, 1 error, 2 misused").trim_start().to_owned())
    } else {
        command
    };
    command.mut_subcommands(with_exit_codes)
}

/// A user who writes `--limit -5Mbit` is to hear what is wrong with -5Mbit, not that there is no option -5.
fn values_may_begin_with_a_hyphen(command: Command) -> Command {
    let must_have_one = |arg: &Arg| arg.get_num_args().is_none_or(|number| number.min_values() > 0);
    let command = command.mut_args(|arg| {
        let has_value = !arg.is_positional() && arg.get_action().takes_values() && must_have_one(&arg);
        if has_value { arg.allow_hyphen_values(true) } else { arg }
    });
    command.mut_subcommands(values_may_begin_with_a_hyphen)
}
