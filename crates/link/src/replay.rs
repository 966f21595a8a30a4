//! The speed of a link as somebody recorded it.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use pcc::units::{Bytes, Rate};
use std::sync::Arc;

/// The recorded speed of a link, again and again, in the format of mahimahi's traces. Each line is the millisecond at
/// which a packet of 1500 bytes may leave, in order; at the last one the recording begins anew. Text behind a `#` is a
/// comment.
///
/// Between two of these moments the transmitter is as fast as moves the packets of the later one by then. A packet that
/// waits leaves when the recording says, outages of seconds included. A packet that comes in late finds the rest of the
/// time, where mahimahi would let it wait for the next moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Where it was read; what a path as text calls it.
    pub(crate) file: Arc<str>,
    steps: Arc<[Step]>,
}

/// A number of packets that leave evenly, and their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    milliseconds: u32,
    packets: u32,
}

/// Bytes of the network's packet: mahimahi's 1504 include four of its TUN device.
const PACKET: Bytes = crate::conditions::PACKET;
/// A day: 86 million steps are what memory is spent on, and no more.
const LONGEST: u32 = 24 * 3600 * 1000;

impl Replay {
    /// The most bytes of such a file: they are in memory at once.
    pub(crate) const LARGEST: u64 = 1_000_000_000;

    /// Reads the text of such a file; the error says which line is none.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, String> {
        let steps = text.parse::<Steps>().map_err(|error| format!("{file}, {error}"))?;
        Ok(Self { file: file.into(), steps: steps.0.into() })
    }

    /// The mean of one round of it.
    pub(crate) fn mean_rate(&self) -> Rate {
        let packets: f64 = self.steps.iter().map(|step| f64::from(step.packets)).sum();
        let milliseconds: f64 = self.steps.iter().map(|step| f64::from(step.milliseconds)).sum();
        Rate::from_bytes_per_sec(packets * PACKET.get() as f64 / (milliseconds * 1e-3))
    }

    /// The speed in the step after so many others, and how long it lasts.
    pub(crate) fn step(&self, nth: usize) -> (Rate, Duration) {
        let Step { milliseconds, packets } = self.steps[nth % self.steps.len()];
        let bytes = f64::from(packets) * PACKET.get() as f64;
        let length = Duration::from_millis(milliseconds.into());
        (Rate::from_bytes_per_sec(bytes / length.as_secs_f64()), length)
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)
    }
}

/// At least one.
pub(crate) struct Steps(Vec<Step>);

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut steps, mut now, mut first) = (Vec::<Step>::new(), 0, 0);
        // Editors on Windows begin a file with a byte order mark, and people explain their recordings in comments.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        for (nth, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let wrong = |what| format!("line {}: `{line:.20}` {what}", nth + 1);
            let time: u32 = line.parse().map_err(|_| wrong("is no number of milliseconds"))?;
            if time > LONGEST {
                return Err(wrong("is more than a day"));
            }
            match (time.checked_sub(now), steps.last_mut()) {
                (None, _) => return Err(wrong("is before the line above")),
                // Time zero is the end of the round before.
                (Some(0), None) => first += 1,
                (Some(0), Some(step)) => step.packets += 1,
                (Some(milliseconds), _) => steps.push(Step { milliseconds, packets: 1 }),
            }
            now = time;
        }
        steps.last_mut().ok_or("which has no line that is later than 0: it lasts no time")?.packets += first;
        Ok(Self(steps))
    }
}
