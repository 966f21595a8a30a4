//! Paths as text that reads back as the same path.

use super::{TIME_UNITS, bytes, duration, rate, share};
use crate::link::OneWay;
use crate::loss::Loss;
use crate::path::Path;
use crate::queue::Queue;
use crate::schedule::{Change, Rule, Vary};
use core::fmt;
use core::time::Duration;
use pcc::units::{Bytes, Rate};

impl fmt::Display for Path {
    /// Writes what [`Path`]'s [`str::parse`] reads back as the same path, bit by bit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (up, down) = (self.up.items(), self.down.items());
        let mut items = Vec::new();
        // Both lists have the same keys in the same order, but for the rules, which stand alone.
        for ((key, up), (_, down)) in up.iter().zip(&down) {
            match (up == down, *key) {
                (true, _) if up.is_empty() => {}
                (true, "delay") => items.push(format!("rtt={}", duration_text(self.up.conditions.delay * 2))),
                (true, key) => items.push(format!("{key}={up}")),
                (false, key) => {
                    items.extend((!up.is_empty()).then(|| format!("up.{key}={up}")));
                    items.extend((!down.is_empty()).then(|| format!("down.{key}={down}")));
                }
            }
        }
        let (up, down) = (&self.up.schedule.rules, &self.down.schedule.rules);
        if up == down {
            items.extend(up.iter().map(rule_text));
        } else {
            items.extend(up.iter().map(|rule| format!("up.{}", rule_text(rule))));
            items.extend(down.iter().map(|rule| format!("down.{}", rule_text(rule))));
        }
        f.pad(&items.join(","))
    }
}

impl OneWay {
    /// The conditions as text; empty for what is not there.
    fn items(&self) -> [(&'static str, String); 9] {
        let c = &self.conditions;
        let unless = |absent: bool, text: String| if absent { String::new() } else { text };
        let reordering = if c.jitter_reorders { ":reorder" } else { "" };
        [
            ("rate", rate_text(c.rate)),
            ("delay", duration_text(c.delay)),
            ("buffer", bytes_text(c.buffer)),
            ("queue", unless(self.queue == Queue::DropTail, self.queue.name().unwrap_or_default().to_owned())),
            ("loss", unless(c.loss == Loss::NONE, loss_text(c.loss))),
            (
                "jitter",
                unless(c.jitter.is_zero() && !c.jitter_reorders, format!("{}{reordering}", duration_text(c.jitter))),
            ),
            ("wifi", unless(c.wifi.is_zero(), duration_text(c.wifi))),
            (
                "reorder",
                unless(
                    c.reorder == 0.0 && c.reorder_delay.is_zero(),
                    format!("{}:{}", share_text(c.reorder), duration_text(c.reorder_delay)),
                ),
            ),
            ("duplicate", unless(c.duplicate == 0.0, share_text(c.duplicate))),
        ]
    }
}

fn rule_text(rule: &Rule) -> String {
    match rule {
        Rule::At(time, change) => {
            let Change { rate, buffer, delay, jitter, wifi, loss, reorder, duplicate } = *change;
            let items = [
                rate.map(|value| format!("rate={}", rate_text(value))),
                buffer.map(|value| format!("buffer={}", bytes_text(value))),
                delay.map(|value| format!("delay={}", duration_text(value))),
                jitter.map(|value| format!("jitter={}", duration_text(value))),
                wifi.map(|value| format!("wifi={}", duration_text(value))),
                loss.map(|value| format!("loss={}", loss_text(value))),
                reorder.map(|value| format!("reorder={}", share_text(value))),
                duplicate.map(|value| format!("duplicate={}", share_text(value))),
            ];
            let items: Vec<_> = items.into_iter().flatten().collect();
            format!("at={}:{}", duration_text(*time), items.join(":"))
        }
        Rule::Blackout { start, length, every } => {
            let every = every.map(|every| format!("/{}", duration_text(every))).unwrap_or_default();
            format!("blackout={}/{}{every}", duration_text(*start), duration_text(*length))
        }
        Rule::Vary(Vary { period, rate, delay, loss, walk }) => {
            let items = [
                rate.as_ref().map(|r| format!("rate={}..{}", rate_text(*r.start()), rate_text(*r.end()))),
                delay.as_ref().map(|r| format!("delay={}..{}", duration_text(*r.start()), duration_text(*r.end()))),
                loss.as_ref().map(|r| format!("loss={}..{}", share_text(*r.start()), share_text(*r.end()))),
                walk.map(|value| format!("walk={}", share_text(value))),
            ];
            let items: Vec<_> = items.into_iter().flatten().collect();
            format!("vary={}:{}", duration_text(*period), items.join(":"))
        }
        Rule::Replay(replay) => format!("trace={replay}"),
    }
}

/// `value` in the largest of `units` that is not above it, with as few digits as `same` accepts as the same value;
/// `exact` if none do.
fn shortest(value: f64, units: &[(&str, f64)], same: impl Fn(&str) -> bool, exact: String) -> String {
    let fitting = units.iter().filter(|(_, factor)| value >= *factor);
    let texts =
        fitting.flat_map(|(unit, factor)| (0..=9).map(move |digits| format!("{:.digits$}{unit}", value / factor)));
    texts.into_iter().find(|text| same(text)).unwrap_or(exact)
}

fn rate_text(value: Rate) -> String {
    let bits = value.bits_per_sec();
    let units = [("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3)];
    // A plain count of bits is exact: the language writes a number so that it reads back the same.
    shortest(bits, &units, |text| rate(text) == Ok(value), format!("{bits}bit"))
}

fn bytes_text(value: Bytes) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];
    shortest(value.get() as f64, &units, |text| bytes(text) == Ok(value), value.get().to_string())
}

fn duration_text(value: Duration) -> String {
    let nanos = value.as_nanos();
    shortest(nanos as f64, &TIME_UNITS, |text| duration(text) == Ok(value), format!("{nanos}ns"))
}

fn share_text(value: f64) -> String {
    let texts = (0..=17).map(|digits| format!("{:.digits$}%", value * 100.0));
    texts.into_iter().find(|text| share(text) == Ok(value)).unwrap_or_else(|| exact_percentage(value))
}

/// The same digits as the share has, the decimal exponent two larger.
fn exact_percentage(value: f64) -> String {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}e{}%", exponent.parse::<i16>().unwrap_or_default() + 2)
}

fn loss_text(value: Loss) -> String {
    match value {
        Loss::Bernoulli(rate) => share_text(rate),
        Loss::GilbertElliott(_) => {
            let parts: Vec<_> = value.probabilities().into_iter().map(share_text).collect();
            format!("ge/{}", parts.join("/"))
        }
    }
}
