//! What the user sees of a transfer: a bar, messages, lines of JSON, or nothing but errors.

mod limit;

use limit::Limit;

use super::amount::Amount;
use crate::say::say;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use indicatif::{ProgressBar, ProgressStyle};
use pcc::units::Rate;
use pcc_files::{Missing, Source, Started, Watch};
use pcc_net::shown;
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

/// Ticks between two lines for people where no bar can move, as in the log of a service: ten seconds.
const TICKS_A_REPORT: u32 = 40;

/// Ticks that the shown rate covers: three seconds, calm enough to read.
const TICKS_OF_RATE: usize = 12;

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
    amount: Mutex<Amount>,
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
        let people = |text: &str| say(format_args!("pcc: {text}"));
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
            amount: Mutex::default(),
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
            match &self.bar {
                Some(bar) => self.draw(bar, rate, limit.now()),
                None if !self.style.json && ticks % TICKS_A_REPORT == 0 => self.note(&self.report(rate, limit.now())),
                None => {}
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

    /// Writes a line of the result for people, if they and not programs read standard output.
    pub(crate) fn row(&self, text: &str) {
        let write = || {
            // Who closes the pipe does not want to read it.
            let _ = writeln!(std::io::stdout().lock(), "{text}");
        };
        match &self.bar {
            _ if self.style.json => {}
            Some(bar) => bar.suspend(write),
            None => write(),
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

    fn amount(&self) -> MutexGuard<'_, Amount> {
        self.amount.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn here(&self) -> u64 {
        self.here.load(Ordering::Relaxed)
    }

    fn left(&self, rate: Rate) -> Option<Duration> {
        let left = self.amount().total()?.saturating_sub(self.here());
        Duration::try_from_secs_f64(left as f64 / rate.bytes_per_sec()).ok()
    }

    fn report(&self, rate: Rate, limit: &str) -> String {
        let amount = *self.amount();
        let left = self.left(rate);
        message(self.here(), &amount, rate, left, limit)
    }

    fn draw(&self, bar: &ProgressBar, rate: Rate, limit: &str) {
        let amount = *self.amount();
        if let Some(total) = amount.total() {
            bar.set_length(total);
        }
        // The counts of a directory say how far it is, and need the room.
        if amount.files().is_some() {
            bar.set_style(style(0));
        }
        bar.set_message(self.report(rate, limit));
        bar.set_position(self.here());
    }

    fn progress(&self, rate: Rate, limit: &str) -> Value {
        let amount = *self.amount();
        let left = self.left(rate);
        json!({
            "event": "progress",
            "seconds": self.elapsed().as_secs_f64(),
            "bytes": self.here(),
            "total": amount.total(),
            "files": amount.files(),
            "files_total": amount.files_total(),
            "rate_mbps": rate.bits_per_sec() / 1e6,
            "eta_seconds": left.map(|left| left.as_secs_f64()),
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
        self.amount().begin(started.size);
        self.line(&json!({
            "event": "start",
            "url": started.url,
            "file": started.file.map(Path::to_string_lossy),
            "bytes": started.size,
            "resumed_from": started.resumed_from,
        }));
    }

    fn found(&self, size: Option<u64>) {
        self.amount().find(size);
    }

    fn found_all(&self) {
        self.amount().find_no_more();
    }

    fn kept(&self, bytes: u64) {
        self.past().found(bytes);
        self.here.fetch_add(bytes, Ordering::Relaxed);
    }

    fn complete(&self, listed: Option<u64>, bytes: u64) {
        self.started.store(true, Ordering::Relaxed);
        self.amount().complete(listed, bytes);
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

/// The text beside the bar: of a single file the two fit into a line of 80 columns.
fn message(here: u64, amount: &Amount, rate: Rate, left: Option<Duration>, limit: &str) -> String {
    let mut text = format!("{}  {rate}", amount.of_which(here));
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

/// Columns of the bar itself.
const BAR: usize = 8;

fn bar() -> ProgressBar {
    ProgressBar::no_length().with_style(style(BAR))
}

/// A bar of so many columns, and the message.
fn style(columns: usize) -> ProgressStyle {
    let colour = if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) { "" } else { ".cyan" };
    let bar = if columns > 0 { format!("{{bar:{columns}{colour}}} ") } else { String::new() };
    ProgressStyle::with_template(&format!("{bar}{{wide_msg}}")).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};

    #[test]
    fn the_longest_line_fits_into_80_columns() {
        let left = Duration::from_secs(11 * 3600 + 59 * 60 + 59);
        let mut amount = Amount::default();
        amount.begin(Some(9_990_000_000_000));
        let message = message(9_990_000_000, &amount, Rate::from_mbit(9.99), Some(left), "receiver window");
        assert_eq!(message, "9.99 GB of 9.99 TB  9.99 Mbit/s  11h 59m left  limit: receiver window");
        assert!(BAR + 1 + message.len() < 80, "{}", message.len());
    }

    #[test]
    fn the_line_of_a_thousand_files_fits_into_80_columns() {
        let mut amount = Amount::default();
        (0..1000).for_each(|_| amount.find(Some(9_990_000)));
        amount.find_no_more();
        (0..999).for_each(|_| amount.complete(Some(9_990_000), 9_990_000));
        let left = Duration::from_secs(59 * 60 + 59);
        let line = message(999_000_000, &amount, Rate::from_mbit(9.99), Some(left), "network");
        assert_eq!(line, "999/1000 files  999 MB of 9.99 GB  9.99 Mbit/s  59m 59s left  limit: network");
        assert!(line.len() < 80, "{}", line.len());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_terminal_a_line_comes_each_ten_seconds() {
        for (quiet, json, lines) in [(false, false, 3), (true, false, 0), (false, true, 0)] {
            let (display, _programs, people) = listened_to(Style { quiet, json });
            let display = Arc::new(display);
            display.found(Some(10_000));
            display.found_all();
            started(&display, 4_000);
            let source = nowhere(&display);
            assert!(tokio::time::timeout(Duration::from_secs(35), display.run(&source)).await.is_err());
            drop((source, display));
            let told: Vec<_> = people.iter().collect();
            assert_eq!(told.len(), lines, "{told:?}");
            assert!(told.iter().all(|line| line.starts_with("0/1 files  4.00 kB of 10.0 kB  ")), "{told:?}");
        }
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

    /// A server that was never reached.
    pub(super) fn nowhere(display: &Arc<Display>) -> Source {
        let transport = Arc::new(noq::TransportConfig::default());
        let dialer = pcc_files::dialer(pcc_net::tls::Trust::System, transport);
        let peer = pcc_net::url::Peer { host: "host".to_owned(), port: 1 };
        Source::new(dialer, peer, Duration::MAX, display.clone())
    }

    /// A display, and where programs and people hear of it.
    fn listened_to(style: Style) -> (Display, mpsc::Receiver<Value>, mpsc::Receiver<String>) {
        let ((to_programs, programs), (to_people, people)) = (mpsc::channel(), mpsc::channel());
        let to_programs = Box::new(move |line: &Value| to_programs.send(line.clone()).unwrap());
        let to_people = Box::new(move |text: &str| to_people.send(text.to_owned()).unwrap());
        (Display::to(style, to_programs, to_people), programs, people)
    }

    /// What programs and people hear.
    fn heard(style: Style, happen: impl FnOnce(&Display)) -> (Vec<Value>, Vec<String>) {
        let (display, programs, people) = listened_to(style);
        happen(&display);
        drop(display);
        (programs.iter().collect(), people.iter().collect())
    }

    fn lacks(display: &Display, entries: u64) {
        display.missing(Missing { file: Path::new("many/bad"), entries, reason: "`bad` is no\nfile" });
    }

    #[test]
    fn quiet_names_missing_files_and_nothing_else() {
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
    fn a_terminal_hears_of_a_hundred_missing_files_json_of_all() {
        let (programs, people) = heard(Style { quiet: true, json: true }, |display| {
            (0..2 * MOST_MESSAGES).for_each(|_| lacks(display, 1));
        });
        assert_eq!((programs.len() as u64, people.len() as u64), (2 * MOST_MESSAGES, MOST_MESSAGES + 1));
        assert!(people.last().unwrap().contains("counted only"));
    }
}
