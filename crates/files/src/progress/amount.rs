//! How much there is to move, as far as is known.

use core::fmt;
use pcc::units::Bytes;

/// The size of a single file, or of the files of a directory as its listings name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Bytes of the files whose size is known.
    bytes: u64,
    /// Files whose size is not known.
    unsized_files: u64,
    /// The files of a directory; `None` for a single file.
    files: Option<Files>,
}

/// The files of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Files {
    complete: u64,
    found: u64,
    /// Whether the whole directory was read.
    found_all: bool,
}

impl Amount {
    /// A file begins. Those of a directory count from the moment they are found.
    pub(crate) fn begin(&mut self, size: Option<u64>) {
        if self.files.is_none() {
            self.add(size);
        }
    }

    /// A directory holds this file.
    pub(crate) fn find(&mut self, size: Option<u64>) {
        self.files.get_or_insert_default().found += 1;
        self.add(size);
    }

    /// A directory holds no other files than those that were found.
    pub(crate) fn find_no_more(&mut self) {
        self.files.get_or_insert_default().found_all = true;
    }

    /// A file of a directory is complete. It may have changed since it was listed.
    pub(crate) fn complete(&mut self, listed: Option<u64>, bytes: u64) {
        self.files.get_or_insert_default().complete += 1;
        self.unsized_files = self.unsized_files.saturating_sub(u64::from(listed.is_none()));
        self.bytes = self.bytes.saturating_sub(listed.unwrap_or(0)).saturating_add(bytes);
    }

    fn add(&mut self, size: Option<u64>) {
        match size {
            Some(size) => self.bytes = self.bytes.saturating_add(size),
            None => self.unsized_files += 1,
        }
    }

    /// Bytes of all that was found.
    fn so_far(&self) -> Option<u64> {
        (self.unsized_files == 0 && self.bytes > 0).then_some(self.bytes)
    }

    /// Bytes of everything; `None` while that is not known.
    pub fn total(&self) -> Option<u64> {
        self.so_far().filter(|_| self.files.is_none_or(|files| files.found_all))
    }

    /// Files of a directory that are complete.
    pub fn files(&self) -> Option<u64> {
        self.files.map(|files| files.complete)
    }

    /// Files that a directory has; `None` while that is not known.
    pub fn files_total(&self) -> Option<u64> {
        self.files.filter(|files| files.found_all).map(|files| files.found)
    }

    /// For people: how much of it is `here`.
    pub fn of_which(&self, here: u64) -> impl fmt::Display {
        let mut text = String::new();
        if let Some(files) = self.files {
            text = format!("{}/{} files  ", files.complete, files.found);
        }
        text += &Bytes::new(here).to_string();
        if let Some(bytes) = self.so_far() {
            text += &format!(" of {}", Bytes::new(bytes));
        }
        if self.files.is_some_and(|files| !files.found_all) {
            text += " so far";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_directory_is_known_once_all_is_found() {
        let mut amount = Amount::default();
        amount.find(Some(2_000));
        amount.find(Some(3_000));
        amount.begin(Some(2_000));
        assert_eq!((amount.total(), amount.files_total()), (None, None));
        assert_eq!(amount.of_which(500).to_string(), "0/2 files  500 B of 5.00 kB so far");
        amount.find_no_more();
        amount.complete(Some(2_000), 2_000);
        assert_eq!((amount.total(), amount.files(), amount.files_total()), (Some(5_000), Some(1), Some(2)));
        assert_eq!(amount.of_which(2_500).to_string(), "1/2 files  2.50 kB of 5.00 kB");
    }

    #[test]
    fn files_of_unknown_or_changed_size_correct_the_total() {
        let mut amount = Amount::default();
        amount.find(None);
        amount.find(Some(10));
        amount.find_no_more();
        assert_eq!((amount.total(), amount.of_which(0).to_string().as_str()), (None, "0/2 files  0 B"));
        amount.complete(None, 7);
        amount.complete(Some(10), 12);
        assert_eq!(amount.total(), Some(19));
    }

    #[test]
    fn a_single_file_has_a_total_and_no_count() {
        let mut amount = Amount::default();
        amount.begin(Some(10));
        assert_eq!((amount.total(), amount.files()), (Some(10), None));
        assert_eq!(amount.of_which(4).to_string(), "4 B of 10 B");
    }
}
