//! What of a directory a transfer moves, and how a dry run tells of it.

use crate::get::display::Display;
use pcc::units::Bytes;
use pcc_files::{Choice, Error, Excluded, counted};
use pcc_net::shown;
use serde_json::{Value, json};

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
}

impl ChoiceArgs {
    /// All of it that these options say.
    ///
    /// Errors: a pattern is none.
    pub(crate) fn choice(&self) -> anyhow::Result<Choice> {
        let excluded = Excluded::new(&self.exclude).map_err(Error::into_anyhow)?;
        Ok(Choice { excluded, dry_run: self.dry_run, ..Choice::default() })
    }
}

/// What a dry run found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rehearsal {
    /// Files that would move, and their bytes.
    pub(crate) due: u64,
    pub(crate) due_bytes: u64,
    /// Files that are there already.
    pub(crate) there: u64,
    /// Entries that would be deleted.
    pub(crate) deleted: u64,
}

impl Rehearsal {
    /// Tells of it; `target` is where the files would go.
    pub(crate) fn tell(self, key: &str, target: &str, failed: u64, display: &Display) {
        let Self { due, due_bytes, there, deleted } = self;
        display.line(&json!({"event": "done", "dry_run": true, "due": due, "due_bytes": due_bytes, "files": there,
            "deleted": deleted, "failed": failed, key: target}));
        let gone = if deleted > 0 { format!(", {} would be deleted", counted(deleted)) } else { String::new() };
        let files = if due == 1 { "file" } else { "files" };
        let (size, target) = (Bytes::new(due_bytes), shown(target));
        display.conclude(&format!("{target}: {due} {files}, {size} would be moved, {there} there already{gone}"));
    }
}

/// One line of a dry run's list, or one of what was deleted; `verb` is for people, `event` for programs.
pub(crate) fn list(display: &Display, verb: &str, event: &str, key: &str, path: &str, bytes: Option<u64>) {
    let mut line = json!({"event": event, key: path});
    if event == "due" {
        line["bytes"] = bytes.map_or(Value::Null, Value::from);
    }
    display.line(&line);
    let size = bytes.map(|bytes| format!(" ({})", Bytes::new(bytes))).unwrap_or_default();
    display.row(&format!("{verb} {}{size}", shown(path)));
}
