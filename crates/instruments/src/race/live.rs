//! The race while it runs: bars side by side on a terminal, a line every few seconds elsewhere.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use pcc_race::entry::{Ended, Update};
use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two lines where standard error is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(3);

/// Samples that a rate is taken over: two seconds.
const RATE_SAMPLES: usize = 20;

/// Shows how the runners do.
pub(super) struct Live {
    runners: Vec<Runner>,
    file: u64,
    lines: bool,
    next_line: Instant,
}

struct Runner {
    bar: ProgressBar,
    name: &'static str,
    recent: VecDeque<(Duration, u64)>,
    /// How it ended.
    ended: Option<&'static str>,
}

impl Live {
    /// For these runners and a file of `file` bytes; `quiet` shows nothing.
    pub(super) fn new(names: &[&'static str], file: u64, quiet: bool) -> anyhow::Result<Self> {
        let terminal = io::stderr().is_terminal();
        let to = if quiet || !terminal { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let live = Self::on(to, names, file)?;
        Ok(Self { lines: !quiet && !terminal, ..live })
    }

    fn on(to: ProgressDrawTarget, names: &[&'static str], file: u64) -> anyhow::Result<Self> {
        let all = MultiProgress::with_draw_target(to);
        // Text without room is cut off: a line that wraps leaves debris when it is drawn again.
        let style =
            ProgressStyle::with_template("{prefix:>9} {bar:20} {percent:>3} %  {wide_msg}")?.progress_chars("=> ");
        let runners = names.iter().map(|name| {
            let bar = all.add(ProgressBar::new(file));
            bar.set_style(style.clone());
            bar.set_prefix(name.to_uppercase());
            bar.set_message("connecting");
            Runner { bar, name, recent: VecDeque::new(), ended: None }
        });
        let runners = runners.collect();
        Ok(Self { runners, file, lines: false, next_line: Instant::now() + LINE_INTERVAL })
    }

    /// Takes news of a runner.
    pub(super) fn show(&mut self, update: &Update) {
        let Some(runner) = self.runners.get_mut(update.runner) else { return };
        runner.take(update);
        if self.lines && Instant::now() >= self.next_line {
            self.next_line = Instant::now() + LINE_INTERVAL;
            self.line();
        }
    }

    fn line(&self) {
        let percent = |runner: &Runner| {
            let received = runner.recent.back().map_or(0, |(_, received)| *received);
            received as f64 * 100.0 / self.file.max(1) as f64
        };
        let seconds = self.runners.iter().filter_map(|one| one.recent.back()).map(|(at, _)| at.as_secs()).max();
        let each = self.runners.iter().map(|one| match &one.ended {
            Some(end) => format!("{} {end}", one.name),
            None => format!("{} {:.0} %", one.name, percent(one)),
        });
        // Nobody may be listening, and the race goes on all the same.
        let _ = writeln!(io::stderr(), "{:>4} s  {}", seconds.unwrap_or(0), each.collect::<Vec<_>>().join(", "));
    }

    /// Leaves the last state of the bars on the screen.
    pub(super) fn finish(&self) {
        for runner in &self.runners {
            runner.bar.abandon();
        }
        if self.lines {
            self.line();
        }
    }
}

impl Runner {
    fn take(&mut self, update: &Update) {
        let sample = &update.sample;
        self.recent.push_back((sample.at, sample.received));
        if self.recent.len() > RATE_SAMPLES {
            self.recent.pop_front();
        }
        let seconds = sample.at.as_secs_f64();
        self.ended = update.ended.map(|end| match end {
            Ended::Finished => "done",
            Ended::Unfinished => "stopped",
            Ended::Failed => "failed",
        });
        self.bar.set_position(sample.received);
        self.bar.set_message(match update.ended {
            Some(Ended::Finished) => format!("finished in {seconds:.1} s"),
            Some(Ended::Unfinished) => format!("unfinished after {seconds:.1} s"),
            Some(Ended::Failed) => "could not run".to_owned(),
            None => format!("{:.1} Mbit/s  {seconds:.0} s  {}", self.rate(), update.state.unwrap_or_default()),
        });
    }

    /// Mbit/s of late.
    fn rate(&self) -> f64 {
        let (Some(first), Some(last)) = (self.recent.front(), self.recent.back()) else { return 0.0 };
        let seconds = last.0.saturating_sub(first.0).as_secs_f64();
        if seconds > 0.0 { last.1.saturating_sub(first.1) as f64 * 8e-6 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::InMemoryTerm;
    use pcc_race::trace::Sample;

    #[test]
    fn every_runner_keeps_to_one_line_however_narrow_the_terminal() {
        for columns in [80, 60, 40] {
            let terminal = InMemoryTerm::new(10, columns);
            let to = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            let names = ["pcc", "tcp-cubic", "tcp-bbr"];
            let mut live = Live::on(to, &names, 1_000_000).unwrap();
            for second in 1..20 {
                for (runner, algorithm) in names.into_iter().enumerate() {
                    let at = Duration::from_secs(second * 100);
                    let sample = Sample { at, received: second * 50_000, ..Sample::default() };
                    live.show(&Update { runner, algorithm, sample, state: Some("Decision Making"), ended: None });
                }
            }
            live.finish();
            let shown = terminal.contents();
            assert_eq!(shown.lines().count(), names.len(), "{columns} columns:\n{shown}");
            assert!(shown.lines().all(|line| line.chars().count() <= usize::from(columns)), "{shown}");
        }
    }
}
