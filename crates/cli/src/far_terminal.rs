//! The terminal of another computer, which shows what is written to standard error here: that is how ssh carries it.

use indicatif::TermLike;
use std::io::{self, IsTerminal as _, Write as _, stderr};

/// Columns of a terminal that does not tell.
const USUAL: u16 = 80;

/// Such a terminal, of so many columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FarTerminal {
    pub(crate) columns: u16,
}

/// Columns of the terminal that shows standard error, if one does.
pub(crate) fn columns() -> Option<u16> {
    #[cfg(unix)]
    let told = rustix::termios::tcgetwinsize(stderr()).ok().map(|size| size.ws_col);
    #[cfg(not(unix))]
    let told = None;
    stderr().is_terminal().then(|| told.filter(|columns| *columns > 0).unwrap_or(USUAL))
}

/// Moves the cursor, by ECMA-48.
fn moved(n: usize, to: char) -> io::Result<()> {
    if n == 0 { Ok(()) } else { write!(stderr(), "\x1b[{n}{to}") }
}

impl TermLike for FarTerminal {
    fn width(&self) -> u16 {
        self.columns
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        moved(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        moved(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        moved(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        moved(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        writeln!(stderr(), "{text}")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        write!(stderr(), "{text}")
    }

    fn clear_line(&self) -> io::Result<()> {
        write!(stderr(), "\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        stderr().flush()
    }
}
