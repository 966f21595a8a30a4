//! The part of a directory that a transfer moves.

use pcc_files::{Choice, Error, Excluded};

/// Options of transfers of directories.
#[derive(clap::Args, Debug)]
pub(crate) struct ChoiceArgs {
    /// List what would be moved, replaced or deleted, and change nothing
    ///
    /// The list goes to standard output. Files are compared as in a real run, so it takes as long where much is equal.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Leave out what this pattern matches inside of directories; may be repeated
    ///
    /// The rules are those of .gitignore: `*.tmp` matches a name at any depth, `/build` one in the directory itself, `cache/` only
    /// directories, with everything in them, and `!keep.tmp` takes back. The last pattern that matches decides.
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// Delete nothing, and end with exit code 25, if --delete would delete more entries than this
    #[arg(long, value_name = "NUMBER", requires = "delete")]
    max_delete: Option<u64>,
}

impl ChoiceArgs {
    /// All of it that these options and `--delete` say.
    ///
    /// Errors: a pattern is none.
    pub(crate) fn choice(&self, delete: bool) -> anyhow::Result<Choice> {
        let excluded = Excluded::new(&self.exclude).map_err(Error::into_anyhow)?;
        Ok(Choice { excluded, dry_run: self.dry_run, delete, max_delete: self.max_delete, ..Choice::default() })
    }
}
