//! How `pcc get` and `pcc put` tell what they moved, or in a dry run would move: to people, and as JSON.

use crate::display::Display;
use crate::exit::Failure;
use anyhow::anyhow;
use pcc::units::{Bytes, Rate};
use pcc_files::{Look, Moved, Step, Tally, counted};
use pcc_net::escape_for_terminal;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The telling of one command.
#[derive(Clone, Copy)]
pub(crate) struct Telling<'a> {
    pub(crate) display: &'a Display,
    /// The command's name.
    pub(crate) verb: &'static str,
    /// JSON's name for a destination.
    pub(crate) key: &'static str,
    pub(crate) dry_run: bool,
}

impl Telling<'_> {
    /// Tells what became of an entry of a directory.
    pub(crate) fn step<P: ?Sized>(self, step: Step<'_, P>, name: impl Fn(&P) -> Cow<'_, str>) {
        match step {
            Step::Complete(place, moved) => self.display.line(&self.object("file", Some(&name(place)), moved)),
            Step::Due(place, bytes) => self.due(&name(place), bytes),
            Step::Linked(place) => {
                let name = name(place);
                self.display.line(&json!({"event": "link", self.key: name}));
                if self.dry_run {
                    self.display.row(&format!("{} {} (link)", self.verb, escape_for_terminal(&name)));
                }
            }
            Step::Deleted(place) => {
                let name = name(place);
                self.display.line(&json!({"event": "deleted", self.key: name}));
                let verb = if self.dry_run { "delete" } else { "deleted" };
                self.display.row(&format!("{verb} {}", escape_for_terminal(&name)));
            }
        }
    }

    fn due(self, name: &str, bytes: Option<u64>) {
        self.display.line(&json!({"event": "due", self.key: name, "bytes": bytes}));
        let size = bytes.map(|bytes| format!(" ({})", Bytes::new(bytes))).unwrap_or_default();
        self.display.row(&format!("{} {}{size}", self.verb, escape_for_terminal(name)));
    }

    /// Tells of a file that is complete; one without a `place` went to standard output.
    pub(crate) fn file(self, place: Option<&str>, moved: &Moved) {
        self.display.line(&self.object("done", place, moved));
        let check = if moved.verified { "verified by BLAKE3" } else { "not verified: the server gives no digest" };
        let Moved { bytes, resumed_from, seconds, .. } = *moved;
        let what = amount(bytes, resumed_from, seconds, moved.goodput());
        self.display.conclude(&format!("{}: {what}, {check}", escape_for_terminal(place.unwrap_or(STDOUT))));
    }

    /// Tells what became of a file, or would in a dry run.
    pub(crate) fn one(self, place: Option<&str>, found: &Look<Moved>) {
        match found {
            Look::There(moved) if !self.dry_run => self.file(place, moved),
            Look::Spared if !self.dry_run => {
                let name = place.unwrap_or(STDOUT);
                self.display.line(&json!({"event": "done", "left": 1, self.key: name}));
                self.display.conclude(&format!("{}: left as it is", escape_for_terminal(name)));
            }
            found => self.found(place, found),
        }
    }

    /// Tells what a dry run found of a file.
    fn found(self, place: Option<&str>, found: &Look<Moved>) {
        let name = place.unwrap_or(STDOUT);
        let mut tally = Tally::default();
        match found {
            Look::There(_) => tally.files = 1,
            Look::Spared => tally.left = 1,
            Look::Due(bytes) => {
                self.due(name, *bytes);
                (tally.due, tally.due_bytes) = (1, bytes.unwrap_or(0));
            }
        }
        self.rehearsed(name, &tally);
    }

    /// Tells what became of a directory.
    ///
    /// Errors: some of it is missing, where `place` says; or more than was allowed would have been deleted.
    pub(crate) fn tree(self, name: &str, tally: &Tally, place: &str) -> anyhow::Result<()> {
        if self.dry_run {
            self.rehearsed(name, tally)
        } else {
            self.arrived(name, tally)
        }
        if tally.spared > 0 {
            let problem = anyhow!(
                "nothing was deleted: {} would go, which is more; list them with -n and without --max-delete",
                counted(tally.spared)
            );
            return Err(problem.context(Failure::DeleteLimit));
        }
        if tally.failed > 0 {
            let failure = if tally.damaged { Failure::Integrity } else { Failure::Partial };
            return Err(anyhow!("{}{place}", missing(tally.failed)).context(failure));
        }
        Ok(())
    }

    fn rehearsed(self, name: &str, tally: &Tally) {
        let Tally { due, due_bytes, files, links, left, deleted, failed, .. } = tally;
        self.display
            .line(&json!({"event": "done", "dry_run": true, "due": due, "due_bytes": due_bytes, "files": files,
            "links": links, "left": left, "deleted": deleted, "failed": failed, self.key: name}));
        let gone = if *deleted > 0 { format!(", {} would be deleted", counted(*deleted)) } else { String::new() };
        let (name, due, size) = (escape_for_terminal(name), number_of_files(*due), Bytes::new(*due_bytes));
        self.display.conclude(&format!(
            "{name}: {due}, {size} would be moved, {files} there already{}{gone}",
            left_alone(*left)
        ));
    }

    fn arrived(self, name: &str, tally: &Tally) {
        let Tally { files, bytes, resumed_from, unverified, failed, deleted, seconds, .. } = *tally;
        self.display.line(&json!({
            "event": "done",
            "bytes": bytes,
            "seconds": seconds,
            "goodput_mbps": tally.goodput().bits_per_sec() / 1e6,
            "resumed_from": resumed_from,
            "files": files,
            "failed": failed,
            "links": tally.links,
            "left": tally.left,
            "deleted": deleted,
            "verified": unverified == 0,
            self.key: name,
        }));
        let check = match unverified {
            _ if files == 0 => "nothing to verify".to_owned(),
            0 => "verified by BLAKE3".to_owned(),
            some => format!("{some} not verified: the server gives no digest"),
        };
        let what = amount(bytes, resumed_from, seconds, tally.goodput());
        let (name, files) = (escape_for_terminal(name), number_of_files(files) + &and_links(tally.links));
        self.display.conclude(&format!("{name}: {files}, {what}, {check}{}", left_alone(tally.left)));
    }

    fn object(self, event: &str, place: Option<&str>, moved: &Moved) -> Value {
        json!({
            "event": event,
            "bytes": moved.bytes,
            "seconds": moved.seconds,
            "goodput_mbps": moved.goodput().bits_per_sec() / 1e6,
            "resumed_from": moved.resumed_from,
            "digest": format!("blake3={}", moved.digest.to_hex()),
            "verified": moved.verified,
            self.key: place,
        })
    }
}

/// The destination that has no name.
const STDOUT: &str = "standard output";

fn number_of_files(files: u64) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

fn and_links(links: u64) -> String {
    match links {
        0 => String::new(),
        1 => " and 1 link".to_owned(),
        links => format!(" and {links} links"),
    }
}

/// Files that stayed as they were.
fn left_alone(files: u64) -> String {
    if files == 0 { String::new() } else { format!(", {} left as they are", number_of_files(files)) }
}

/// This number of bytes, of which some were there before, and how fast the rest came.
fn amount(bytes: u64, before: u64, seconds: f64, goodput: Rate) -> String {
    let (size, part) = (Bytes::new(bytes), Bytes::new(before));
    if bytes > 0 && before >= bytes {
        return format!("{size} were there already");
    }
    let part = if before > 0 { format!(" ({part} of it were there before)") } else { String::new() };
    format!("{size}{part} in {seconds:.1} s, {goodput}")
}

/// That a directory lacks so many entries.
fn missing(entries: u64) -> String {
    format!("{} {} missing", counted(entries), if entries == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_already_has_no_rate_and_one_file_is_one() {
        let rate = Rate::from_mbit(12.0);
        assert_eq!(amount(3_000_000, 0, 2.0, rate), "3.00 MB in 2.0 s, 12.0 Mbit/s");
        let part = amount(3_000_000, 1_000_000, 2.0, Rate::from_mbit(8.0));
        assert_eq!(part, "3.00 MB (1.00 MB of it were there before) in 2.0 s, 8.00 Mbit/s");
        assert_eq!(amount(3_000_000, 3_000_000, 2.0, rate), "3.00 MB were there already");
        assert_eq!((number_of_files(1), number_of_files(2)), ("1 file".into(), "2 files".into()));
        assert_eq!((missing(1), missing(2)), ("1 entry is missing".into(), "2 entries are missing".into()));
    }
}
