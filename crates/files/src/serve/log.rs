//! The log of finished requests: a line for each, of JSON, for people, or as web servers write them.
//!
//! A reader of the lines may be slow, or gone. That is no reason to keep transfers waiting, or lines without end: what
//! does not fit into the queue is counted instead.

mod combined;

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use pcc::units::Bytes;
use pcc_net::escape_for_terminal;
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::SystemTime;

/// Lines that wait for their reader.
const WAITING: usize = 1024;

/// How long the last lines have at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A request that is done.
#[derive(Debug, Serialize)]
pub struct Served {
    /// The client.
    pub peer: SocketAddr,
    /// When its head had come.
    #[serde(skip)]
    pub at: SystemTime,
    /// Its method: GET, PATCH, ...
    pub method: String,
    /// As it was sent, percent-encoded.
    pub path: String,
    /// The version of HTTP, such as `HTTP/3.0`.
    #[serde(skip)]
    pub version: http::Version,
    /// The client's name for itself.
    #[serde(skip)]
    pub agent: Option<String>,
    /// The response's status; 0 if there was none.
    pub status: u16,
    /// Bytes of the body, sent or received, also if it was cut off.
    pub bytes: u64,
    /// How long it took.
    pub seconds: f64,
    /// Why there was no complete response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a line reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// One JSON object each.
    Json,
    /// A line of text each.
    ForPeople,
    /// A line of the Combined Log Format each, with further fields at its end.
    Combined,
}

/// Where requests that are done are told.
#[derive(Clone, Debug, Default)]
pub struct Log(Vec<Sink>);

/// One place where they are told.
#[derive(Clone, Debug)]
struct Sink {
    queue: SyncSender<Arc<Served>>,
    unsaid: Arc<AtomicU64>,
}

/// The thread that writes the lines.
pub struct Writing {
    done: Receiver<()>,
}

#[cfg(test)]
impl Served {
    /// 1.5 MB in two seconds.
    pub(super) fn example() -> Self {
        Self {
            peer: SocketAddr::from(([10, 0, 0, 1], 7)),
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000),
            method: "GET".to_owned(),
            path: "/a".to_owned(),
            version: http::Version::HTTP_3,
            agent: None,
            status: 200,
            bytes: 1_500_000,
            seconds: 2.0,
            error: None,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event<'a> {
    Request(&'a Served),
    /// The number of lines that are missing here, because nobody read them in time.
    Unsaid {
        requests: u64,
    },
}

impl Log {
    /// Writes to `out` until all clones of it are dropped, or nobody reads there any more.
    pub fn to(out: impl Write + Send + 'static, lines: Lines) -> (Self, Writing) {
        let (queue, waiting) = sync_channel(WAITING);
        let (end, done) = sync_channel(0);
        let unsaid = Arc::<AtomicU64>::default();
        let log = Self(vec![Sink { queue, unsaid: unsaid.clone() }]);
        // A thread of its own: writing to a pipe that nobody reads takes for ever.
        std::thread::spawn(move || {
            // With nobody there to read there is nobody to tell.
            let _ = write(out, lines, &waiting, &unsaid);
            drop(end);
        });
        (log, Writing { done })
    }

    /// Both of them.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Tells of a request, unless nobody wants to hear.
    pub(super) fn tell(&self, served: impl FnOnce() -> Served) {
        if self.0.is_empty() {
            return;
        }
        let served = Arc::new(served());
        for sink in &self.0 {
            if sink.queue.try_send(served.clone()).is_err() {
                sink.unsaid.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Writing {
    /// Waits for the last lines, not for long. Blocks.
    pub fn finish(self) {
        let _: Result<(), RecvTimeoutError> = self.done.recv_timeout(LAST_WORDS);
    }
}

fn write(mut out: impl Write, lines: Lines, waiting: &Receiver<Arc<Served>>, unsaid: &AtomicU64) -> io::Result<()> {
    for served in waiting {
        let missing = unsaid.swap(0, Ordering::Relaxed);
        let events = [Event::Request(&served), Event::Unsaid { requests: missing }];
        let text: String =
            events[..if missing > 0 { 2 } else { 1 }].iter().filter_map(|event| line(event, lines)).collect();
        // Whole lines at a time: a file may be exchanged in between, and others may write to the same one.
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

/// A line with its end; none for what the format has no words for.
fn line(event: &Event<'_>, lines: Lines) -> Option<String> {
    let text = match (lines, event) {
        (Lines::Json, _) => serde_json::to_string(event).ok()?,
        (Lines::ForPeople, _) => for_people(event),
        (Lines::Combined, Event::Request(served)) => combined::line(served),
        (Lines::Combined, Event::Unsaid { requests }) => {
            tracing::warn!("the log lacks {requests} requests: what it is written to is too slow");
            return None;
        }
    };
    Some(text + "\n")
}

fn for_people(event: &Event<'_>) -> String {
    match event {
        Event::Request(Served { peer, method, path, status, bytes, seconds, error, .. }) => {
            let status = if *status == 0 { "-".to_owned() } else { status.to_string() };
            let size = Bytes::new(*bytes);
            let error = error.as_ref().map(|error| format!(", cut off: {error}")).unwrap_or_default();
            format!(
                "{} {} {} {status} {size} in {seconds:.1} s{}",
                peer.ip(),
                escape_for_terminal(method),
                escape_for_terminal(path),
                escape_for_terminal(&error)
            )
        }
        Event::Unsaid { requests } => format!("and {requests} more requests"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    fn served(path: &str, error: Option<&str>) -> Served {
        Served { path: path.to_owned(), error: error.map(str::to_owned), ..Served::example() }
    }

    /// A reader that takes a line at a time, when it is let.
    struct Slow {
        said: Sender<String>,
        let_go: Receiver<()>,
    }

    impl Write for Slow {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            let _ = self.said.send(String::from_utf8_lossy(text).into_owned());
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.let_go.recv().map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_slow_reader_gets_a_count_of_the_lines_that_it_missed() {
        let (said, lines) = channel();
        let (go_on, let_go) = channel();
        let (log, writing) = Log::to(Slow { said, let_go }, Lines::Json);
        for number in 0..3 * WAITING {
            log.tell(|| served(&format!("/{number}"), None));
        }
        drop(log);
        drop(std::iter::repeat_with(|| go_on.send(())).take(2 * WAITING).collect::<Vec<_>>());
        writing.finish();
        drop(go_on);
        let text: String = lines.into_iter().collect();
        let missing: u64 = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|event| event["event"] == "unsaid")
            .map(|event| event["requests"].as_u64().unwrap())
            .sum();
        let told = text.lines().filter(|line| line.contains("\"event\":\"request\"")).count();
        assert!((WAITING..WAITING + 3).contains(&told), "{told}");
        assert_eq!(told + missing as usize, 3 * WAITING);
    }

    #[test]
    fn nobody_waits_for_a_reader_that_is_gone() {
        let (said, lines) = channel();
        let (_, let_go) = channel();
        drop(lines);
        let (log, writing) = Log::to(Slow { said, let_go }, Lines::Json);
        (0..3 * WAITING).for_each(|_| log.tell(|| served("/", None)));
        writing.finish();
        Log::default().tell(|| unreachable!("nobody wants to hear"));
    }

    #[test]
    fn each_reader_hears_of_each_request_in_its_own_way() {
        let files = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
        let [(first, one), (second, two)] = [(0, Lines::Json), (1, Lines::Combined)]
            .map(|(file, lines): (usize, _)| Log::to(files[file].reopen().unwrap(), lines));
        let log = first.and(second);
        log.tell(|| served("/both", None));
        drop(log);
        one.finish();
        two.finish();
        let [json, combined] = files.map(|file| std::fs::read_to_string(file.path()).unwrap());
        assert!(json.starts_with("{\"event\":\"request\"") && json.ends_with("}\n"), "{json}");
        assert!(combined.starts_with("10.0.0.1 - - [") && combined.ends_with('\n'), "{combined}");
    }

    #[test]
    fn people_read_who_got_what_and_what_was_cut_off() {
        let line = for_people(&Event::Request(&served("/a%20b", None)));
        assert_eq!(line, "10.0.0.1 GET /a%20b 200 1.50 MB in 2.0 s");
        let line = for_people(&Event::Request(&served("/\x1b[2J", Some("the connection was lost"))));
        assert!(line.ends_with("cut off: the connection was lost") && !line.contains('\x1b'), "{line}");
    }
}
