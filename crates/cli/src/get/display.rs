//! What the user sees of a transfer: a bar, messages, lines of JSON, or nothing but errors.

use super::names::shown;
use super::source::Source;
use super::watch::{Missing, Started, Watch};
use crate::say;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use indicatif::{ProgressBar, ProgressStyle};
use pcc::units::{Bytes, Rate};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How often the bar moves.
const TICK: Duration = Duration::from_millis(250);

/// Ticks between two lines of JSON: one second.
const TICKS_A_LINE: u32 = 4;

/// Ticks that the shown rate covers: three seconds, calm enough to read.
const TICKS_OF_RATE: usize = 12;

/// Share of the time that must be spent waiting for the disk, or for input, before that is to blame.
const WAITING_SHARE: f64 = 0.3;

/// Messages about entries that are missing; the rest is counted.
const MOST_MESSAGES: u64 = 100;

/// How to show it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    /// People hear of nothing but errors.
    pub(crate) quiet: bool,
    /// Programs get one JSON object a line; people see no bar.
    pub(crate) json: bool,
}

type Programs = Box<dyn Fn(&Value) + Send + Sync>;
type People = Box<dyn Fn(&str) + Send + Sync>;

/// Shows a transfer.
pub(crate) struct Display {
    style: Style,
    programs: Programs,
    people: People,
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
    /// Times that something was missing.
    missing: AtomicU64,
    disk_waited_ns: AtomicU64,
    input_waited_ns: AtomicU64,
    past: Mutex<Past>,
}

impl Display {
    pub(crate) fn new(style: Style) -> Self {
        let programs = |line: &Value| {
            // Who closes the pipe does not want to read it.
            let _ = writeln!(std::io::stdout().lock(), "{line}");
        };
        let people = |text: &str| say::say(format_args!("pcc: {text}"));
        let bar = (!style.quiet && !style.json && std::io::stderr().is_terminal()).then(bar);
        Self { bar, ..Self::to(style, Box::new(programs), Box::new(people)) }
    }

    fn to(style: Style, programs: Programs, people: People) -> Self {
        Self {
            style,
            programs,
            people,
            bar: None,
            begun: Instant::now(),
            started: AtomicBool::new(false),
            fleeting: AtomicBool::new(false),
            here: AtomicU64::new(0),
            total: AtomicU64::new(0),
            unsized_files: AtomicU64::new(0),
            missing: AtomicU64::new(0),
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
            if !self.started.load(Ordering::Relaxed) {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!("connecting to {}", source.peer()));
                }
                continue;
            }
            let rate = self.rate(Instant::now());
            limit.look(self, source, rate);
            if let Some(bar) = &self.bar {
                self.draw(bar, rate, limit.now());
            }
            if self.style.json && ticks % TICKS_A_LINE == 0 {
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

    /// Says how it went.
    pub(crate) fn conclude(&self, text: &str) {
        self.clear();
        self.note(text);
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Writes an object for programs, if one listens.
    pub(crate) fn line(&self, value: &Value) {
        if self.style.json {
            (self.programs)(value);
        }
    }

    /// Tells people, above the bar.
    fn tell(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| (self.people)(text)),
            None => (self.people)(text),
        }
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rate(&self, now: Instant) -> Rate {
        self.past().look(now, self.here.load(Ordering::Relaxed))
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
        let is_first = !self.started.swap(true, Ordering::Relaxed);
        {
            let mut past = self.past();
            past.found(started.resumed_from);
            let here = self.here.fetch_add(started.resumed_from, Ordering::Relaxed) + started.resumed_from;
            if is_first {
                past.look(Instant::now(), here);
            }
        }
        match started.size {
            Some(size) => self.total.fetch_add(size, Ordering::Relaxed),
            None => self.unsized_files.fetch_add(1, Ordering::Relaxed),
        };
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

    fn missing(&self, missing: Missing<'_>) {
        let Missing { file, entries, reason } = missing;
        let (file, reason) = (file.to_string_lossy(), shown(reason));
        self.line(&json!({"event": "missing", "file": file, "entries": entries, "reason": reason}));
        // An error, also for who wants to hear of nothing else. A server may list what it likes, but not fill a terminal.
        match self.missing.fetch_add(1, Ordering::Relaxed) {
            ..MOST_MESSAGES => self.tell(&reason),
            MOST_MESSAGES => self.tell("further missing entries are counted only; --json names them all"),
            _ => {}
        }
    }

    fn note(&self, text: &str) {
        if !self.style.quiet {
            self.tell(text);
        }
    }
}

/// Bytes that were here at the last ticks.
#[derive(Debug, Default)]
struct Past(VecDeque<(Instant, u64)>);

impl Past {
    /// So many bytes turn out to have been here before: they are no rate.
    fn found(&mut self, bytes: u64) {
        for (_, here) in &mut self.0 {
            *here += bytes;
        }
    }

    /// At what rate they became as many as are `here` now.
    fn look(&mut self, now: Instant, here: u64) -> Rate {
        self.0.push_back((now, here));
        if self.0.len() > TICKS_OF_RATE {
            self.0.pop_front();
        }
        let moved = self.0.front().map(|(then, before)| (now.duration_since(*then), here.saturating_sub(*before)));
        match moved {
            Some((time, bytes)) if !time.is_zero() => Rate::from_bytes_per_sec(bytes as f64 / time.as_secs_f64()),
            _ => Rate::from_bytes_per_sec(0.0),
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
    /// Whether this is not the first look: right after its beginning a transfer has no rate that would say anything.
    looked: bool,
    silent: bool,
    user: bool,
    packets: Option<u64>,
    /// When the last of them came.
    heard: Option<Instant>,
}

/// A server that is there answers the question for that, which comes each second, in less.
const HEARD: Duration = Duration::from_millis(2500);

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
        let is_there = self.hears(source.packets(), Instant::now());
        self.silent = self.looked && rate.bytes_per_sec() <= 0.0 && is_there;
        self.looked = true;
        self.user = source.limit().is_some_and(|limit| rate >= limit * LIMIT_SHARE);
    }

    /// Whether the server is heard: so many packets have come over the connection, if there is one.
    fn hears(&mut self, packets: Option<u64>, now: Instant) -> bool {
        if packets != self.packets {
            (self.packets, self.heard) = (packets, Some(now));
        }
        packets.is_some() && self.heard.is_some_and(|heard| now.duration_since(heard) < HEARD)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};

    #[test]
    fn the_longest_line_fits_into_80_columns() {
        let left = Duration::from_secs(11 * 3600 + 59 * 60 + 59);
        let (here, total) = (9_990_000_000, Some(9_990_000_000_000));
        let message = message(here, total, Rate::from_mbit(9.99), Some(left), "receiver window");
        assert_eq!(message, "9.99 GB of 9.99 TB  9.99 Mbit/s  11h 59m left  limit: receiver window");
        assert!(BAR + 1 + message.len() < 80, "{}", message.len());
    }

    fn started(display: &Display, resumed_from: u64) {
        display.started(Started { url: "", file: None, size: None, resumed_from });
    }

    #[test]
    fn the_advice_after_an_interruption_is_about_what_is_there() {
        let display = Display::new(Style::default());
        assert!(display.advice().contains("before the server had answered"));
        started(&display, 0);
        assert!(display.advice().contains("go on where it stopped"));
        display.fleeting();
        assert!(display.advice().contains("start anew"));
    }

    #[test]
    fn the_rate_of_many_files_is_that_of_the_last_three_seconds() {
        let display = Display::new(Style::default());
        started(&display, 0);
        let begun = Instant::now();
        for tick in 1..=2 * TICKS_OF_RATE as u32 {
            display.moved(100_000);
            started(&display, 1_000_000); // the next file, of which much is there
            let rate = display.rate(begun + TICK * tick);
            assert!(rate.bytes_per_sec() > 0.0, "tick {tick}");
            if tick > TICKS_OF_RATE as u32 {
                assert_eq!(rate.bytes_per_sec(), 400_000.0, "tick {tick}");
            }
        }
    }

    #[test]
    fn a_server_is_idle_only_while_it_is_heard() {
        let (mut limit, begun) = (Limit::default(), Instant::now());
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        assert!(!limit.hears(None, begun), "not connected");
        for second in 1..9 {
            assert!(limit.hears(Some(second), after(second)), "it answers each second");
        }
        assert!(limit.hears(Some(8), after(9)) && !limit.hears(Some(8), after(11)), "the path is dead");
        assert!(!limit.hears(None, after(12)) && limit.hears(Some(1), after(13)), "connected again");
    }

    #[test]
    fn without_a_connection_it_is_the_network_that_limits() {
        let display = Arc::new(Display::new(Style::default()));
        let transport = Arc::new(noq::TransportConfig::default());
        let dialer = crate::get::transfer::dialer(crate::tls::Trust::System, transport);
        let peer = crate::url::Peer { host: "host".to_owned(), port: 1 };
        let source = Source::new(dialer, peer, Duration::MAX, display.clone());
        let (mut limit, nothing) = (Limit::default(), Rate::from_bytes_per_sec(0.0));
        for _ in 0..3 {
            limit.look(&display, &source, nothing);
            assert_eq!(limit.now(), "network");
        }
        limit.look(&display, &source, Rate::from_mbit(1.0));
        assert_eq!(limit.now(), "network");
    }

    /// What programs and people hear.
    fn heard(style: Style, happen: impl FnOnce(&Display)) -> (Vec<Value>, Vec<String>) {
        let ((to_programs, programs), (to_people, people)) = (mpsc::channel(), mpsc::channel());
        let to_programs = Box::new(move |line: &Value| to_programs.send(line.clone()).unwrap());
        let to_people = Box::new(move |text: &str| to_people.send(text.to_owned()).unwrap());
        happen(&Display::to(style, to_programs, to_people));
        (programs.iter().collect(), people.iter().collect())
    }

    fn lacks(display: &Display, entries: u64) {
        display.missing(Missing { file: Path::new("many/bad"), entries, reason: "`bad` is no\nfile" });
    }

    #[test]
    fn whoever_wants_errors_only_hears_of_what_is_missing_and_of_nothing_else() {
        for (quiet, json) in [(false, false), (false, true), (true, false), (true, true)] {
            let (programs, people) = heard(Style { quiet, json }, |display| {
                started(display, 0);
                display.note("by the way");
                lacks(display, 3);
                display.conclude("well done");
            });
            let all = ["by the way", "`bad` is no\\nfile", "well done"];
            assert_eq!(people, if quiet { &all[1..2] } else { &all[..] }, "quiet {quiet}, json {json}");
            let lacking = json!({"event": "missing", "file": "many/bad", "entries": 3, "reason": all[1]});
            assert_eq!(programs.len(), if json { 2 } else { 0 }, "quiet {quiet}, json {json}");
            assert_eq!(programs.last(), json.then_some(&lacking));
        }
    }

    #[test]
    fn no_server_fills_a_terminal_with_what_is_missing_and_programs_hear_all() {
        let (programs, people) = heard(Style { quiet: true, json: true }, |display| {
            (0..2 * MOST_MESSAGES).for_each(|_| lacks(display, 1));
        });
        assert_eq!((programs.len() as u64, people.len() as u64), (2 * MOST_MESSAGES, MOST_MESSAGES + 1));
        assert!(people.last().unwrap().contains("counted only"));
    }
}
