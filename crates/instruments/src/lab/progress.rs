//! How a campaign tells how far it is: one line that changes on a terminal, a line now and then elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use pcc_lab::campaign::Progress;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines in a log.
const PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Meter {
    /// Hidden where standard error is no terminal.
    bar: ProgressBar,
    told: Mutex<Option<Instant>>,
}

impl Meter {
    pub(super) fn new(total: usize) -> Self {
        let bar = ProgressBar::new(total as u64).with_style(style());
        bar.set_message(", measuring the paths first");
        Self { bar, told: Mutex::new(None) }
    }

    pub(super) fn tell(&self, progress: Progress) {
        if !self.bar.is_hidden() {
            self.bar.set_position(progress.done as u64);
            self.bar.set_message(rest(progress));
            return;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = progress.done == progress.total;
        if is_last || told.is_none_or(|told| told.elapsed() >= PAUSE) {
            *told = Some(Instant::now());
            crate::say::say(format!("{} of {} runs done{}", progress.done, progress.total, rest(progress)));
        }
    }

    /// Leaves the line as it is, so that what comes next begins on its own.
    pub(super) fn end(&self) {
        self.bar.abandon();
    }
}

/// A bar, as wide as the terminal leaves room for beside the words.
fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} runs done{msg}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn rest(progress: Progress) -> String {
    let failed = if progress.failed > 0 { format!(", {} FAILED", progress.failed) } else { String::new() };
    format!("{failed}, {} left", about(progress.remaining))
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
        assert_eq!(rest(progress), ", 1 FAILED, 5 min left");
    }
}
