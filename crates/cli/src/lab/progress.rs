//! How a campaign tells how far it is: one line that changes on a terminal, a line now and then elsewhere.

use pcc_lab::campaign::Progress;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines in a log.
const PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Meter {
    is_terminal: bool,
    told: Mutex<Option<Instant>>,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), told: Mutex::new(None) }
    }

    pub(super) fn tell(&self, progress: Progress) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = progress.done == progress.total;
        let mut err = std::io::stderr().lock();
        // Nobody may be there to read; the campaign goes on.
        let _ = if self.is_terminal {
            write!(err, "\r\x1b[K{}{}", line(progress), if is_last { "\n" } else { "" }).and_then(|()| err.flush())
        } else if is_last || told.is_none_or(|told| told.elapsed() >= PAUSE) {
            *told = Some(Instant::now());
            writeln!(err, "{}", line(progress))
        } else {
            Ok(())
        };
    }

    /// Leaves the line that changes, so that what comes next begins on its own.
    pub(super) fn end(&self, is_complete: bool) {
        if self.is_terminal && !is_complete {
            let _ = writeln!(std::io::stderr().lock());
        }
    }
}

fn line(progress: Progress) -> String {
    let Progress { done, total, failed, remaining } = progress;
    let failed = if failed > 0 { format!(", {failed} FAILED") } else { String::new() };
    format!("{done} of {total} runs done{failed}, {} left", about(remaining))
}

/// A time in words, as exact as anybody needs it.
pub(super) fn about(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5999 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_do() {
        let told = [5, 99, 100, 3599, 6000, 7320].map(|seconds| about(Duration::from_secs(seconds)));
        assert_eq!(told, ["5 s", "99 s", "2 min", "60 min", "1 h 40 min", "2 h 02 min"]);
    }

    #[test]
    fn failures_are_not_overlooked() {
        let progress = Progress { done: 3, total: 10, failed: 1, remaining: Duration::from_secs(300) };
        assert_eq!(line(progress), "3 of 10 runs done, 1 FAILED, 5 min left");
    }
}
