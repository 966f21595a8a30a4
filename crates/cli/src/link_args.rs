//! The emulated path of a command: its first word, or `--link`.

use pcc_link::Path;

/// One of the two; who needs a path says so with a group.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(crate) struct LinkArgs {
    /// The path: the name of a preset (`pcc emulate --list` shows them), parameters like rate=42Mbit,rtt=800ms,loss=0.74%,
    /// or a preset and what differs from it: satellite,loss=2%; or @FILE of `pcc record`
    #[arg(long, value_name = "PRESET|PARAMETERS")]
    link: Option<Path>,
    /// The path, without --link
    #[arg(value_name = "PRESET|PARAMETERS", conflicts_with = "link")]
    path: Option<Path>,
}

impl LinkArgs {
    pub(crate) fn given(&self) -> Option<&Path> {
        self.link.as_ref().or(self.path.as_ref())
    }
}
