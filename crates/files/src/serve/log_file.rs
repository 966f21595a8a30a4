//! A log's file, which whoever rotates logs moves away: it is opened anew when the server is told so.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file that lines are added to. Its clones write to the same one.
#[derive(Clone, Debug)]
pub struct LogFile {
    path: Arc<PathBuf>,
    file: Arc<Mutex<File>>,
    /// Whether the last line could not be written, which was told.
    is_failing: Arc<AtomicBool>,
}

impl LogFile {
    /// Lines are added to the end of the file; its group may read it where it is new.
    ///
    /// Errors: it cannot be opened.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let file = Arc::new(Mutex::new(opened(&path)?));
        Ok(Self { path: Arc::new(path), file, is_failing: Arc::default() })
    }

    /// Goes on in the file that has the name now.
    ///
    /// Errors: it cannot be opened. Lines are added to the old one then.
    pub fn reopen(&self) -> io::Result<()> {
        *self.file() = opened(&self.path)?;
        Ok(())
    }

    fn file(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    options.open(path)
}

impl Write for LogFile {
    /// A full disk loses lines; it ends neither the log nor the server.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let written = self.file().write_all(text);
        let was_failing = self.is_failing.swap(written.is_err(), Ordering::Relaxed);
        if let (Err(error), false) = (written, was_failing) {
            tracing::warn!(%error, file = %self.path.display(), "requests are missing in the log");
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_reopening_are_in_the_file_with_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let [path, old] = ["log", "log.1"].map(|name| dir.path().join(name));
        let file = LogFile::open(path.clone()).unwrap();
        let mut writer = file.clone();
        writer.write_all(b"one\n").unwrap();
        std::fs::rename(&path, &old).unwrap();
        writer.write_all(b"two\n").unwrap();
        file.reopen().unwrap();
        writer.write_all(b"three\n").unwrap();
        let read = |path| std::fs::read_to_string(path).unwrap();
        assert_eq!([read(old), read(path)], ["one\ntwo\n", "three\n"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_ends_neither_the_log_nor_the_server() {
        let mut full = LogFile::open("/dev/full".into()).unwrap();
        full.write_all(b"one\n").unwrap();
        assert!(full.is_failing.load(Ordering::Relaxed));
    }
}
