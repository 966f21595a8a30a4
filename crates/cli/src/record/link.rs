//! The path as text, and its traces.

use crate::whole_file::replace;
use pcc_link::PACKET;
use pcc_perf::record::client::Recorded;
use pcc_perf::record::figures::{Jitter, OneWay, Rates};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A path as text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// Its parameters.
    pub(super) parameters: Vec<String>,
    /// Traces beside the file: their names, and the rates in them.
    traces: Vec<(PathBuf, Rates)>,
}

impl Found {
    /// The path that was recorded. Traces need a file beside which they lie; without one a rate that changes is its mean.
    pub(super) fn of(recorded: &Recorded, file: Option<&Path>) -> Self {
        let mut found = Self { parameters: Vec::new(), traces: Vec::new() };
        let rtt = recorded.rtt.value.clamp(0.0, LONGEST);
        for (side, way) in [("up", &recorded.up), ("down", &recorded.down)] {
            found.rate(side, way, file);
            found.parameters.extend(parameters(side, way));
        }
        found.parameters.push(format!("rtt={}", time(rtt)));
        found
    }

    fn rate(&mut self, side: &str, way: &OneWay, file: Option<&Path>) {
        if let (Some(course), Some(stem)) = (&way.course, file.and_then(|file| file.file_stem())) {
            let name = format!("{}.{side}.trace", stem.to_string_lossy());
            self.parameters.push(format!("{side}.trace={name}"));
            self.traces.push((name.into(), course.clone()));
        } else {
            self.parameters.push(format!("{side}.rate={}", rate(way.rate.value)));
        }
    }

    /// As one word.
    pub(super) fn text(&self) -> String {
        self.parameters.join(",")
    }

    /// Writes the file and its traces. Each appears whole or not at all, the file last.
    pub(super) fn write(&self, file: &Path, heading: &str) -> anyhow::Result<()> {
        for (name, rates) in &self.traces {
            let trace = file.with_file_name(name);
            replace(&trace, &trace_text(rates, heading))?;
        }
        let heading = heading.lines().fold(String::new(), |text, line| text + "# " + line + "\n");
        replace(file, &format!("{heading}{}\n", self.parameters.join("\n")))
    }
}

/// An hour is the longest delay of a path. Unit: seconds.
const LONGEST: f64 = 3600.0;

fn parameters(side: &str, way: &OneWay) -> Vec<String> {
    let mut found = Vec::new();
    let mut push = |key: &str, value: String| found.push(format!("{side}.{key}={value}"));
    if let Some(buffer) = way.buffer {
        push("buffer", format!("{}KB", digits(buffer.value.max(PACKET.get() as f64) * 1e-3)));
    }
    if way.loss.value > 0.0 {
        let loss = way.loss.value.min(0.99);
        push("loss", format!("{}%", digits(100.0 * loss)));
        // Bursts of which no gap is shorter than a packet.
        let burst = way.burst.map(|burst| burst.value).filter(|burst| loss / (1.0 - loss) <= *burst);
        if let Some(burst) = burst {
            push("burst", digits(burst));
        }
    }
    match way.jitter {
        Jitter::None => {}
        Jitter::Even(jitter) => push("jitter", time(jitter.value)),
        Jitter::Overtaking(jitter) => push("jitter", format!("{}:reorder", time(jitter.value))),
        Jitter::Radio(mean) => push("wifi", time(mean.value.clamp(1e-3, 91e-3))),
    }
    if let Some((share, detour)) = way.reordering {
        push("reorder", format!("{}%:{}", digits(100.0 * share.value), time(detour.value)));
    }
    found
}

/// Four digits are more than is known.
fn digits(value: f64) -> String {
    if value >= 1000.0 {
        return format!("{value:.0}");
    }
    let places = (3.0 - value.max(1e-6).log10().floor()) as usize;
    let written = format!("{value:.places$}");
    if written.contains('.') { written.trim_end_matches('0').trim_end_matches('.').to_owned() } else { written }
}

fn rate(bytes_per_sec: f64) -> String {
    let kbit = (bytes_per_sec * 8e-3).clamp(1.0, 1e9);
    if kbit >= 1e3 { format!("{}Mbit", digits(kbit * 1e-3)) } else { format!("{}kbit", digits(kbit)) }
}

/// To the microsecond.
fn time(seconds: f64) -> String {
    let micros = (seconds.clamp(0.0, LONGEST) * 1e6).round();
    if micros >= 1000.0 { format!("{}ms", digits_of_time(micros * 1e-3)) } else { format!("{micros:.0}us") }
}

fn digits_of_time(ms: f64) -> String {
    format!("{ms:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Rates as mahimahi has them: a line a packet of 1500 bytes, the millisecond at which it leaves.
fn trace_text(rates: &Rates, heading: &str) -> String {
    let mut text = heading.lines().fold(String::new(), |text, line| text + "# " + line + "\n");
    let interval = (rates.interval * 1e3).max(1.0);
    let mut owed = 0.0;
    for (place, rate) in rates.rates.iter().enumerate() {
        let packets = rate * rates.interval / PACKET.get() as f64;
        let begins = interval * place as f64;
        // Evenly, from what the interval before has left.
        let mut due = 1.0 - owed;
        while due <= packets {
            let _ = writeln!(text, "{:.0}", begins + interval * due / packets);
            due += 1.0;
        }
        owed = packets - (due - 1.0);
    }
    // A recording lasts at least until its end.
    let _ = writeln!(text, "{:.0}", interval * rates.rates.len() as f64);
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use pcc_perf::record::figures::Figure;

    fn figure(value: f64) -> Figure {
        Figure { value, error: value / 20.0 }
    }

    pub(in crate::record) fn recorded() -> Recorded {
        let up = OneWay {
            rate: figure(2.5e6),
            buffer: Some(figure(98_892.0)),
            longest_wait: 0.0396,
            judged: 3000,
            ..OneWay::default()
        };
        let down = OneWay {
            rate: figure(12.5e6),
            buffer: Some(figure(375e3)),
            loss: figure(0.0123),
            burst: Some(figure(6.5)),
            jitter: Jitter::Radio(figure(0.007)),
            reordering: Some((figure(0.01), figure(0.005))),
            ..up.clone()
        };
        Recorded { up, down, rtt: figure(0.0400123), cut_short: None }
    }

    #[test]
    fn what_was_found_is_a_path() {
        let text = Found::of(&recorded(), None).text();
        let path: pcc_link::Path = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let down = path.down.conditions;
        assert_eq!(path.rtt(), core::time::Duration::from_micros(40_010));
        assert_eq!((path.up.conditions.rate.mbit(), path.up.conditions.buffer.get()), (20.0, 98_890));
        assert!((down.loss.mean() - 0.0123).abs() < 1e-6 && down.wifi.as_millis() == 7, "{text}");
        assert_eq!((down.reorder, down.reorder_delay.as_millis()), (0.01, 5), "{text}");
    }

    #[test]
    fn a_rate_that_changes_lies_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("home.path");
        let mut changing = recorded();
        let rates: Vec<f64> = (0..40).map(|tenth| if tenth % 10 < 5 { 1.25e6 } else { 2.5e6 }).collect();
        changing.up.course = Some(Rates { interval: 0.1, rates });
        let found = Found::of(&changing, Some(&file));
        found.write(&file, "by a test").unwrap();
        let path: pcc_link::Path = format!("@{}", file.display()).parse().unwrap();
        assert!((path.up.conditions.rate.mbit() - 15.0).abs() < 0.1, "{}", path.up.conditions.rate.mbit());
        let trace = std::fs::read_to_string(folder.path().join("home.up.trace")).unwrap();
        let second = |ms: std::ops::Range<u32>| {
            trace.lines().filter(|line| line.parse().is_ok_and(|at| ms.contains(&at))).count()
        };
        assert!(
            (405..=430).contains(&second(0..500)) && (820..=845).contains(&second(500..1000)),
            "{}",
            second(0..500)
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn digits_are_as_many_as_are_known() {
        for (value, written) in
            [(0.58491, "0.5849"), (12.0, "12"), (0.0, "0"), (3.3914, "3.391"), (999.99, "1000"), (1234.5, "1234")]
        {
            assert_eq!(digits(value), written);
        }
        assert_eq!(
            (rate(2.5e6), rate(4200.0), time(0.04), time(50e-6)),
            ("20Mbit".into(), "33.6kbit".into(), "40ms".into(), "50us".into())
        );
    }
}
