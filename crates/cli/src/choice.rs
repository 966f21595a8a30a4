//! The part of a directory that a transfer moves.

use crate::exit::misuse;
use crate::rules::{RuleArgs, text_of};
use pcc_files::{Backup, Choice, Error, Listed, Spared};
use std::path::PathBuf;

/// Options about what is moved.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "What is moved")]
pub(crate) struct ChoiceArgs {
    /// List what would be moved, replaced or deleted, and change nothing
    ///
    /// The list goes to standard output. Files are compared as in a real run, so it takes as long where much is equal.
    #[arg(short = 'n', long, help_heading = None)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    rules: RuleArgs,

    /// Move only the entries of a directory that this file lists, one path a line; - is standard input
    ///
    /// The paths begin below SOURCE, and the copies have the same paths. A directory in the list stands for everything in it.
    #[arg(long, value_name = "FILE", conflicts_with = "delete")]
    files_from: Option<PathBuf>,

    /// Leave files alone that are newer at the destination, by a second or more
    #[arg(short = 'u', long)]
    update: bool,

    /// Leave files alone that are at the destination, whatever they hold
    #[arg(long)]
    ignore_existing: bool,

    /// Bring no file that is not at the destination already
    #[arg(long, alias = "ignore-non-existing", conflicts_with = "ignore_existing")]
    existing: bool,

    /// Keep a file that is replaced, as NAME~ beside the new one
    #[arg(short = 'b', long, conflicts_with = "delete")]
    backup: bool,

    /// The end of the name of a file that --backup keeps
    #[arg(long, value_name = "TEXT", requires = "backup", default_value = "~")]
    suffix: String,

    /// Delete nothing, and end with exit code 25, if --delete would delete more entries than this
    #[arg(long, value_name = "NUMBER", requires = "delete")]
    max_delete: Option<u64>,
}

impl ChoiceArgs {
    /// All of it that these options and `--delete` say.
    ///
    /// Errors: a pattern is none; a list cannot be read.
    pub(crate) fn choice(&self, delete: bool) -> anyhow::Result<Choice> {
        let listed = match &self.files_from {
            Some(path) => Some(Listed::lines(&text_of(path)?).map_err(Error::into_anyhow)?),
            None => None,
        };
        let backup = self.backup.then(|| Backup::new(&self.suffix)).transpose().map_err(Error::into_anyhow)?;
        let spared = Spared { newer: self.update, existing: self.ignore_existing, absent: self.existing };
        let excluded = self.rules.excluded()?;
        let (dry_run, max_delete) = (self.dry_run, self.max_delete);
        Ok(Choice { excluded, listed, spared, backup, dry_run, delete, max_delete, ..Choice::default() })
    }

    /// Errors: what happens depends on the file at the destination, and standard input replaces it in any case.
    pub(crate) fn needs_file(&self) -> anyhow::Result<()> {
        if self.update || self.ignore_existing || self.existing || self.backup {
            return Err(misuse!(
                "standard input replaces what is there: leave out -u, -b, --existing and --ignore-existing"
            ));
        }
        Ok(())
    }

    /// Errors: a list says which entries of a directory are meant, and this is none.
    pub(crate) fn needs_directory(&self, written: &str) -> anyhow::Result<()> {
        if self.files_from.is_some() {
            return Err(misuse!("--files-from lists entries of a directory, and {written} is none"));
        }
        Ok(())
    }
}
