//! The user's view of a transfer: a bar, messages, lines of JSON, or nothing but errors.

use crate::far_terminal::FarTerminal;
use crate::say::{self, say};
use crate::{advice, crossed};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pcc_files::progress::{LimitedBy, Moment, Progress};
use pcc_files::{Missing, Source, Started, Watch};
use pcc_net::escape_for_terminal;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Ticks between two lines of JSON: one second.
const TICKS_A_LINE: u32 = 4;

/// Ticks between two lines for people where no bar can move, as in the log of a service: ten seconds.
const TICKS_A_REPORT: u32 = 40;

/// Times a second that a bar on another computer is drawn at most.
const FRAMES: u8 = 4;

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
    progress: Progress,
    /// Times that something was missing.
    missing: AtomicU64,
}

impl Display {
    pub(crate) fn new(style: Style) -> Self {
        let people = |text: &str| say(format_args!("pcc: {text}"));
        let bar = (!style.quiet && !style.json && std::io::stderr().is_terminal()).then(bar);
        Self { bar, ..Self::to(style, Box::new(say::object), Box::new(people)) }
    }

    /// The same, shown on a terminal of another computer.
    pub(crate) fn at(self, terminal: FarTerminal) -> Self {
        let bar = (!self.style.quiet && !self.style.json).then(bar);
        if let Some(bar) = &bar {
            bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(terminal), FRAMES));
        }
        Self { bar, ..self }
    }

    fn to(style: Style, programs: Programs, people: People) -> Self {
        Self { style, programs, people, bar: None, progress: Progress::default(), missing: AtomicU64::new(0) }
    }

    /// Shows how things go until it is dropped.
    pub(crate) async fn run(&self, source: &Source) {
        let mut tick = tokio::time::interval(Progress::TICK);
        tick.tick().await;
        for ticks in 1.. {
            tick.tick().await;
            if !self.progress.has_started() {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!("connecting to {}", source.peer()));
                }
                continue;
            }
            let moment = self.progress.look(source);
            match &self.bar {
                Some(bar) => draw(bar, &moment),
                None if !self.style.json && ticks % TICKS_A_REPORT == 0 => self.note(&message(&moment)),
                None => {}
            }
            if self.style.json && ticks % TICKS_A_LINE == 0 {
                self.line(&self.object(&moment));
            }
        }
    }

    /// Advice after an interruption.
    pub(crate) fn advice(&self) -> &'static str {
        match (self.progress.has_started(), self.progress.is_transient()) {
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

    /// Says to people what the path was, if enough data went over it.
    pub(crate) async fn tell_path(&self, source: &Source) {
        let elapsed = self.elapsed();
        if !self.style.quiet
            && !self.style.json
            && let Some(crossing) = source.crossing().await
        {
            self.note(&crossed::text(&crossing, elapsed));
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.progress.elapsed()
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
            // A reader that closes the pipe does not want more of it.
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

    fn object(&self, moment: &Moment) -> Value {
        json!({
            "event": "progress",
            "seconds": self.elapsed().as_secs_f64(),
            "bytes": moment.here,
            "total": moment.amount.total(),
            "files": moment.amount.files(),
            "files_total": moment.amount.files_total(),
            "rate_mbps": moment.rate.bits_per_sec() / 1e6,
            "eta_seconds": moment.left.map(|left| left.as_secs_f64()),
            "limited_by": limit(moment.limited_by),
        })
    }
}

impl Watch for Display {
    fn started(&self, started: Started<'_>) {
        self.progress.started(started);
        self.line(&json!({
            "event": "start",
            "url": started.url,
            "file": started.file.map(Path::to_string_lossy),
            "bytes": started.size,
            "resumed_from": started.resumed_from,
        }));
    }

    fn found(&self, size: Option<u64>) {
        self.progress.found(size);
    }

    fn found_all(&self) {
        self.progress.found_all();
    }

    fn kept(&self, bytes: u64) {
        self.progress.kept(bytes);
    }

    fn complete(&self, listed: Option<u64>, bytes: u64) {
        self.progress.complete(listed, bytes);
    }

    fn transient(&self) {
        self.progress.transient();
    }

    fn moved(&self, bytes: u64) {
        self.progress.moved(bytes);
    }

    fn disk_waited(&self, time: Duration) {
        self.progress.disk_waited(time);
    }

    fn input_waited(&self, time: Duration) {
        self.progress.input_waited(time);
    }

    fn retry(&self, attempt: u32, wait: Duration, reason: &anyhow::Error) {
        let (seconds, reason) = (wait.as_secs_f64(), escape_for_terminal(&advice::told(reason)));
        self.line(&json!({"event": "retry", "attempt": attempt, "wait_seconds": seconds, "reason": reason}));
        self.note(&format!("{reason}; trying again in {seconds:.1} s"));
    }

    fn missing(&self, missing: Missing<'_>) {
        let Missing { file, entries, reason } = missing;
        let (file, reason) = (file.to_string_lossy(), escape_for_terminal(&advice::told(reason)));
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

fn draw(bar: &ProgressBar, moment: &Moment) {
    if let Some(total) = moment.amount.total() {
        bar.set_length(total);
    }
    // The counts of a directory say how far it is, and need the room.
    if moment.amount.files().is_some() {
        bar.set_style(style(0));
    }
    bar.set_message(message(moment));
    bar.set_position(moment.here);
}

/// The text beside the bar: of a single file the two fit into a line of 80 columns.
fn message(moment: &Moment) -> String {
    let mut text = format!("{}  {}", moment.amount.of_which(moment.here), moment.rate);
    if let Some(left) = moment.left {
        let left = humantime::format_duration(Duration::from_secs(left.as_secs())).to_string();
        // Hours and minutes, or minutes and seconds: nobody can know more.
        let coarse: Vec<_> = left.split(' ').take(2).collect();
        text.push_str(&format!("  {} left", coarse.join(" ")));
    }
    text + &format!("  limit: {}", limit(moment.limited_by))
}

/// In one word or two.
const fn limit(limited_by: LimitedBy) -> &'static str {
    match limited_by {
        LimitedBy::Disk => "disk",
        LimitedBy::Input => "input",
        LimitedBy::Server => "server",
        LimitedBy::Rate => "--limit",
        LimitedBy::ReceiverWindow => "receiver window",
        LimitedBy::RoundTrips => "round trips",
        _ => "network",
    }
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
    use pcc::units::Rate;
    use pcc_files::progress::Amount;
    use std::sync::{Arc, mpsc};

    fn moment(here: u64, amount: Amount, left: u64, limited_by: LimitedBy) -> Moment {
        Moment { here, amount, rate: Rate::from_mbit(9.99), left: Some(Duration::from_secs(left)), limited_by }
    }

    #[test]
    fn the_longest_line_fits_into_80_columns() {
        let progress = Progress::default();
        progress.started(Started { url: "", file: None, size: Some(9_990_000_000_000), resumed_from: 0 });
        let message =
            message(&moment(9_990_000_000, progress.amount(), 11 * 3600 + 59 * 60 + 59, LimitedBy::ReceiverWindow));
        assert_eq!(message, "9.99 GB of 9.99 TB  9.99 Mbit/s  11h 59m left  limit: receiver window");
        assert!(BAR + 1 + message.len() < 80, "{}", message.len());
    }

    #[test]
    fn the_line_of_a_thousand_files_fits_into_80_columns() {
        let progress = Progress::default();
        (0..1000).for_each(|_| progress.found(Some(9_990_000)));
        progress.found_all();
        (0..999).for_each(|_| progress.complete(Some(9_990_000), 9_990_000));
        let line = message(&moment(999_000_000, progress.amount(), 59 * 60 + 59, LimitedBy::Network));
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
        display.transient();
        assert!(display.advice().contains("start anew"));
    }

    /// A server that was never reached.
    fn nowhere(display: &Arc<Display>) -> Source {
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

    /// The words for programs and people.
    fn heard(style: Style, happen: impl FnOnce(&Display)) -> (Vec<Value>, Vec<String>) {
        let (display, programs, people) = listened_to(style);
        happen(&display);
        drop(display);
        (programs.iter().collect(), people.iter().collect())
    }

    fn lacks(display: &Display, entries: u64) {
        display.missing(Missing {
            file: Path::new("many/bad"),
            entries,
            reason: &anyhow::anyhow!("`bad` is no\nfile"),
        });
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
