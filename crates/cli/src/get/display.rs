//! What the user sees of a download: a bar, lines of JSON, or nothing.

use super::names::shown;
use super::source::Source;
use super::watch::{Started, Watch};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use indicatif::{ProgressBar, ProgressStyle};
use pcc::units::{Bytes, Rate};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How often the bar moves.
const TICK: Duration = Duration::from_millis(250);

/// Ticks between two lines of JSON: one second.
const TICKS_A_LINE: u32 = 4;

/// Ticks that the shown rate covers: three seconds, calm enough to read.
const TICKS_OF_RATE: usize = 12;

/// Share of the time that must be spent waiting for the disk, or for input, before that is to blame.
const WAITING_SHARE: f64 = 0.3;

/// How to show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Errors only.
    Quiet,
    /// A bar if standard error is a terminal, and messages.
    Human,
    /// One JSON object a line on standard output, messages on standard error.
    Json,
}

/// Shows a download.
pub(crate) struct Display {
    style: Style,
    bar: Option<ProgressBar>,
    begun: Instant,
    /// Whether a file has begun to arrive.
    started: AtomicBool,
    /// Whether what arrives is lost if the command is interrupted.
    fleeting: AtomicBool,
    /// Bytes that are here, those of earlier runs included.
    here: AtomicU64,
    /// Bytes of all files whose size is known.
    total: AtomicU64,
    /// Files that did not say their size.
    unsized_files: AtomicU64,
    disk_waited_ns: AtomicU64,
    input_waited_ns: AtomicU64,
    /// Bytes here at the last ticks, for the rate.
    past: Mutex<VecDeque<(Instant, u64)>>,
}

impl Display {
    pub(crate) fn new(style: Style) -> Self {
        let bar = (style == Style::Human && std::io::stderr().is_terminal()).then(bar);
        Self {
            style,
            bar,
            begun: Instant::now(),
            started: AtomicBool::new(false),
            fleeting: AtomicBool::new(false),
            here: AtomicU64::new(0),
            total: AtomicU64::new(0),
            unsized_files: AtomicU64::new(0),
            disk_waited_ns: AtomicU64::new(0),
            input_waited_ns: AtomicU64::new(0),
            past: Mutex::default(),
        }
    }

    /// Shows how things go until it is dropped.
    pub(crate) async fn run(&self, source: &Source) {
        let mut tick = tokio::time::interval(TICK);
        tick.tick().await;
        let mut limit = Limit::default();
        for ticks in 1.. {
            tick.tick().await;
            let rate = self.rate();
            limit.look(self, source, rate);
            if !self.started.load(Ordering::Relaxed) {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!("connecting to {}", source.peer()));
                }
                continue;
            }
            if let Some(bar) = &self.bar {
                self.draw(bar, rate, limit.now());
            }
            if self.style == Style::Json && ticks % TICKS_A_LINE == 0 {
                self.line(&self.progress(rate, limit.now()));
            }
        }
    }

    /// What to do after an interruption.
    pub(crate) fn advice(&self) -> &'static str {
        match (self.started.load(Ordering::Relaxed), self.fleeting.load(Ordering::Relaxed)) {
            (false, _) => "before the server had answered",
            (true, true) => "what was moved is not the whole file; run the command again to start anew",
            (true, false) => "run the command again to go on where it stopped",
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Whether there is anybody to say how it went.
    pub(crate) fn speaks(&self) -> bool {
        self.style != Style::Quiet
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Writes an object for programs, if one listens.
    pub(crate) fn line(&self, value: &Value) {
        if self.style == Style::Json {
            // Who closes the pipe does not want to read it.
            let _ = writeln!(std::io::stdout().lock(), "{value}");
        }
    }

    fn rate(&self) -> Rate {
        let (now, here) = (Instant::now(), self.here.load(Ordering::Relaxed));
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.push_back((now, here));
        if past.len() > TICKS_OF_RATE {
            past.pop_front();
        }
        let moved = past.front().map(|(then, before)| (now.duration_since(*then), here.saturating_sub(*before)));
        match moved {
            Some((time, bytes)) if !time.is_zero() => Rate::from_bytes_per_sec(bytes as f64 / time.as_secs_f64()),
            _ => Rate::from_bytes_per_sec(0.0),
        }
    }

    fn total(&self) -> Option<u64> {
        let total = self.total.load(Ordering::Relaxed);
        (self.unsized_files.load(Ordering::Relaxed) == 0 && total > 0).then_some(total)
    }

    fn left(&self, rate: Rate) -> Option<Duration> {
        let left = self.total()?.saturating_sub(self.here.load(Ordering::Relaxed));
        Duration::try_from_secs_f64(left as f64 / rate.bytes_per_sec()).ok()
    }

    fn draw(&self, bar: &ProgressBar, rate: Rate, limit: &str) {
        let (here, total) = (self.here.load(Ordering::Relaxed), self.total());
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_message(message(here, total, rate, self.left(rate), limit));
        bar.set_position(here);
    }

    fn progress(&self, rate: Rate, limit: &str) -> Value {
        json!({
            "event": "progress",
            "seconds": self.elapsed().as_secs_f64(),
            "bytes": self.here.load(Ordering::Relaxed),
            "total": self.total(),
            "rate_mbps": rate.bits_per_sec() / 1e6,
            "eta_seconds": self.left(rate).map(|left| left.as_secs_f64()),
            "limited_by": limit,
        })
    }
}

impl Watch for Display {
    fn started(&self, started: Started<'_>) {
        self.started.store(true, Ordering::Relaxed);
        self.here.fetch_add(started.resumed_from, Ordering::Relaxed);
        match started.size {
            Some(size) => self.total.fetch_add(size, Ordering::Relaxed),
            None => self.unsized_files.fetch_add(1, Ordering::Relaxed),
        };
        // What was there before is no rate.
        self.past.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.line(&json!({
            "event": "start",
            "url": started.url,
            "file": started.file.map(Path::to_string_lossy),
            "bytes": started.size,
            "resumed_from": started.resumed_from,
        }));
    }

    fn fleeting(&self) {
        self.fleeting.store(true, Ordering::Relaxed);
    }

    fn moved(&self, bytes: u64) {
        self.here.fetch_add(bytes, Ordering::Relaxed);
    }

    fn disk_waited(&self, time: Duration) {
        add(&self.disk_waited_ns, time);
    }

    fn input_waited(&self, time: Duration) {
        add(&self.input_waited_ns, time);
    }

    fn retry(&self, attempt: u32, wait: Duration, reason: &anyhow::Error) {
        let (seconds, reason) = (wait.as_secs_f64(), shown(&format!("{reason:#}")));
        self.line(&json!({"event": "retry", "attempt": attempt, "wait_seconds": seconds, "reason": reason}));
        self.note(&format!("{reason}; trying again in {seconds:.1} s"));
    }

    fn note(&self, text: &str) {
        match (&self.bar, self.style) {
            (_, Style::Quiet) => {}
            (Some(bar), _) => bar.suspend(|| say(text)),
            (None, _) => say(text),
        }
    }
}

/// The text beside the bar: the two fit into a line of 80 columns.
fn message(here: u64, total: Option<u64>, rate: Rate, left: Option<Duration>, limit: &str) -> String {
    let mut text = Bytes::new(here).to_string();
    if let Some(total) = total {
        text.push_str(&format!(" of {}", Bytes::new(total)));
    }
    text.push_str(&format!("  {rate}"));
    if let Some(left) = left {
        let left = humantime::format_duration(Duration::from_secs(left.as_secs())).to_string();
        // Hours and minutes, or minutes and seconds: nobody can know more.
        let coarse: Vec<_> = left.split(' ').take(2).collect();
        text.push_str(&format!("  {} left", coarse.join(" ")));
    }
    text + &format!("  limit: {limit}")
}

fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// What holds a transfer back, as far as this side can see.
#[derive(Debug, Default)]
struct Limit {
    disk_waited_ns: u64,
    disk: bool,
    input_waited_ns: u64,
    input: bool,
    window: bool,
    silent: bool,
    user: bool,
}

/// A rate from this share of the user's limit on is there because of it.
const LIMIT_SHARE: f64 = 0.9;

impl Limit {
    fn look(&mut self, display: &Display, source: &Source, rate: Rate) {
        let much = |sum: &AtomicU64, before: &mut u64| {
            let waited = sum.load(Ordering::Relaxed);
            waited.saturating_sub(core::mem::replace(before, waited)) as f64 > WAITING_SHARE * TICK.as_nanos() as f64
        };
        self.disk = much(&display.disk_waited_ns, &mut self.disk_waited_ns);
        self.input = much(&display.input_waited_ns, &mut self.input_waited_ns);
        self.window = source.was_flow_blocked();
        self.silent = rate.bytes_per_sec() <= 0.0;
        self.user = source.limit().is_some_and(|limit| rate >= limit * LIMIT_SHARE);
    }

    fn now(&self) -> &'static str {
        match self {
            Self { disk: true, .. } => "disk",
            Self { input: true, .. } => "input",
            Self { silent: true, .. } => "server",
            Self { user: true, .. } => "--limit",
            Self { window: true, .. } => "receiver window",
            _ => "network",
        }
    }
}

/// Columns of the bar itself.
const BAR: usize = 8;

fn bar() -> ProgressBar {
    let colour = if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) { "" } else { ".cyan" };
    let style = ProgressStyle::with_template(&format!("{{bar:{BAR}{colour}}} {{wide_msg}}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::no_length().with_style(style)
}

/// Tells the user.
#[expect(clippy::print_stderr, reason = "messages for people belong on standard error")]
pub(crate) fn say(text: &str) {
    eprintln!("pcc: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_line_fits_into_80_columns() {
        let left = Duration::from_secs(11 * 3600 + 59 * 60 + 59);
        let (here, total) = (9_990_000_000, Some(9_990_000_000_000));
        let message = message(here, total, Rate::from_mbit(9.99), Some(left), "receiver window");
        assert_eq!(message, "9.99 GB of 9.99 TB  9.99 Mbit/s  11h 59m left  limit: receiver window");
        assert!(BAR + 1 + message.len() < 80, "{}", message.len());
    }

    #[test]
    fn the_advice_after_an_interruption_is_about_what_is_there() {
        let display = Display::new(Style::Quiet);
        assert!(display.advice().contains("before the server had answered"));
        display.started(Started { url: "", file: None, size: None, resumed_from: 0 });
        assert!(display.advice().contains("go on where it stopped"));
        display.fleeting();
        assert!(display.advice().contains("start anew"));
    }
}
