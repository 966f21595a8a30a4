//! What is found out about a utility on a path: as text and as JSON.

use super::course::game;
use super::objective::Aim;
use super::rehearsal::Rehearsal;
use pcc::units::Rate;
use pcc_utility::{Bears, Bottleneck, Disturbance, Equilibria, Shape, Trap};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// All of it.
pub(super) struct Findings {
    pub(super) aim: Aim,
    pub(super) path: Bottleneck,
    /// The path as it was written.
    pub(super) link: String,
    /// Along a lone sender's rate: before an empty queue, and behind a full one.
    shapes: [(&'static str, Shape); 2],
    equilibria: Vec<Equilibria>,
    /// At these rates: a tenth of the path's, its own, ten times that.
    rates: [Rate; 3],
    bears: Vec<(Disturbance, [Bears; 3])>,
    traps: Vec<Trap>,
    pub(super) rehearsal: Option<Rehearsal>,
}

impl Findings {
    /// On this path, for so many senders each.
    pub(super) fn of(aim: Aim, path: Bottleneck, link: String, senders: &[u32]) -> Self {
        let game = game(&aim, path);
        let shape = |queue| game.shape(Rate::ZERO, queue);
        let shapes = [("an empty queue", shape(Duration::ZERO)), ("a full buffer", shape(path.buffer))];
        let equilibria = senders.iter().map(|senders| game.settle(*senders)).collect();
        let rates = [0.1, 1.0, 10.0].map(|factor| path.capacity * factor);
        let bears = Disturbance::ALL.map(|what| (what, rates.map(|rate| game.bears(what, rate)))).to_vec();
        let traps = game.traps();
        Self { aim, path, link, shapes, equilibria, rates, bears, traps, rehearsal: None }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let Bottleneck { capacity, base_rtt, buffer, loss } = self.path;
        let (rtt, buffer) = (ms(base_rtt), ms(buffer));
        let _ = writeln!(text, "utility   {}", self.aim.written);
        let _ = writeln!(
            text,
            "path      {} Mbit/s, RTT {rtt} ms, {buffer} ms of buffer, {} % random loss",
            short(capacity.mbit()),
            short(loss * 100.0)
        );
        let why = match (&self.aim.law, self.aim.utility.prices_queue()) {
            (Some(_), _) => "as told",
            (None, true) => "it foresees the queue, which this utility prices",
            (None, false) => "it compares what rates achieved; this utility has no price for the queue's length",
        };
        let _ = writeln!(text, "law       {}: {why}", self.aim.law().name());
        for (place, shape) in &self.shapes {
            let _ = writeln!(text, "concave   {}", concave(place, shape));
        }
        text += &self.equilibria_text();
        text += &self.bears_text();
        if let Some(rehearsal) = &self.rehearsal {
            text += &rehearsal.text();
            text += &self.compared();
        }
        text += if self.traps.is_empty() { "\nno known traps\n" } else { "\ntraps\n" };
        for trap in &self.traps {
            let _ = writeln!(text, "  * {trap}");
        }
        text
    }

    fn equilibria_text(&self) -> String {
        let mut text = format!(
            "\n{:>8} {:>14} {:>9} {:>18} {:>7} {:>6}\n",
            "senders", "each, Mbit/s", "loss, %", "standing queue, ms", "unique", "fair"
        );
        for found in &self.equilibria {
            let yes = |is: bool| if is { "yes" } else { "no" };
            if let Some(word) = nowhere(found) {
                let _ = writeln!(text, "{:>8} {word}", found.senders);
            }
            for settled in &found.stable {
                let _ = writeln!(
                    text,
                    "{:>8} {:>14} {:>9} {:>18} {:>7} {:>6}",
                    found.senders,
                    digits(settled.rate.mbit()),
                    format!("{:.2}", settled.loss * 100.0),
                    range(settled.queue),
                    yes(found.stable.len() == 1 && !found.unbounded),
                    if found.senders == 1 { "-" } else { yes(settled.fair) },
                );
            }
        }
        text
    }

    /// The computed queues beside the simulated ones, and which to believe.
    fn compared(&self) -> String {
        let game = game(&self.aim, self.path);
        let queue =
            |senders| game.settle(senders).stable.first().map_or("none".to_owned(), |settled| range(settled.queue));
        format!(
            "  computed standing queue: {} ms alone, {} ms of two. The computation has the\n  \
             utility and fluids. The simulation has packets, noise and the law too: where\n  \
             the two differ, real senders do as in the simulation.\n",
            queue(1),
            queue(2)
        )
    }

    /// Whether any trap is known.
    pub(super) fn has_traps(&self) -> bool {
        !self.traps.is_empty()
    }

    fn bears_text(&self) -> String {
        let at = |rate: Rate| format!("at {} Mbit/s", short(rate.mbit()));
        let [low, own, high] = self.rates.map(at);
        let mut text = format!("\n{:24} {low:>16} {own:>16} {high:>16}\n", "it bears");
        for (what, bears) in &self.bears {
            let [low, own, high] = bears.map(|bears| amount(*what, bears));
            let _ = writeln!(text, "  {:22} {low:>16} {own:>16} {high:>16}", words(*what).1);
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let shapes = self.shapes.iter().map(|(place, shape)| {
            json!({
                "before": place,
                "concave": shape.is_concave(),
                "peaks_mbit": shape.peaks.iter().map(|rate| rate.mbit()).collect::<Vec<_>>(),
                "convex_mbit": shape.convex.map(|(from, to)| [from.mbit(), to.mbit()]),
                "undefined": shape.undefined,
            })
        });
        let equilibria = self.equilibria.iter().map(|found| {
            let stable = found.stable.iter().map(|settled| {
                json!({
                    "rate_mbit": settled.rate.mbit(),
                    "loss": settled.loss,
                    "queue_s": [settled.queue.0.as_secs_f64(), settled.queue.1.as_secs_f64()],
                    "fair": settled.fair,
                })
            });
            json!({
                "senders": found.senders,
                "stable": stable.collect::<Vec<_>>(),
                "unique_and_fair": found.is_unique_and_fair(),
                "unbounded": found.unbounded,
                "silent": found.silent,
                "undefined": found.undefined,
            })
        });
        let bears = self.bears.iter().flat_map(|(what, bears)| {
            self.rates.iter().zip(bears).map(|(rate, bears)| {
                let (up_to, word) = match bears {
                    Bears::UpTo(amount) => (Some(*amount), "up to"),
                    Bears::Any => (None, "any"),
                    Bears::Nothing => (None, "nothing"),
                    Bears::Undefined => (None, "undefined"),
                };
                json!({ "what": words(*what).0, "rate_mbit": rate.mbit(), "bears": word, "up_to": up_to })
            })
        });
        json!({
            "utility": self.aim.written,
            "law": self.aim.law().name(),
            "prices_queue": self.aim.utility.prices_queue(),
            "path": self.link,
            "capacity_mbit": self.path.capacity.mbit(),
            "base_rtt_s": self.path.base_rtt.as_secs_f64(),
            "buffer_s": self.path.buffer.as_secs_f64(),
            "random_loss": self.path.loss,
            "shapes": shapes.collect::<Vec<_>>(),
            "equilibria": equilibria.collect::<Vec<_>>(),
            "bears": bears.collect::<Vec<_>>(),
            "simulated": self.rehearsal.as_ref().map(Rehearsal::json),
            "traps": self.traps.iter().map(Trap::to_string).collect::<Vec<_>>(),
        })
    }
}

fn concave(place: &str, shape: &Shape) -> String {
    let at = |rate: Rate| short(rate.mbit());
    let peaks = shape.peaks.iter().map(|rate| at(*rate)).collect::<Vec<_>>().join(", ");
    let plural = if shape.peaks.len() == 1 { "" } else { "s" };
    let best = if peaks.is_empty() {
        format!("no best rate of one before {place}")
    } else {
        format!("best rate{plural} of one before {place}: {peaks} Mbit/s")
    };
    match shape.convex {
        _ if shape.undefined => format!("unknown: not defined at some rates; {best}"),
        None => format!("yes; {best}"),
        Some((from, to)) => format!("no, it bends upwards from {} to {} Mbit/s; {best}", at(from), at(to)),
    }
}

/// What is said of those that settle nowhere.
fn nowhere(found: &Equilibria) -> Option<&'static str> {
    match found {
        _ if found.unbounded => Some("want ever more: nowhere"),
        _ if found.silent => Some("want next to nothing"),
        _ if found.stable.is_empty() => Some("nowhere: the utility is not defined, or never falls"),
        _ => None,
    }
}

/// Its name in JSON, and in words.
const fn words(what: Disturbance) -> (&'static str, &'static str) {
    match what {
        Disturbance::Loss => ("loss", "random loss, %"),
        Disturbance::Marks => ("marks", "marks (ECN), %"),
        Disturbance::Growth => ("growth", "RTT growth, ms a second"),
        Disturbance::Deviation => ("deviation", "RTT deviation, ms"),
        Disturbance::Queue => ("queue", "queue of others, ms"),
    }
}

fn amount(what: Disturbance, bears: Bears) -> String {
    let factor = if matches!(what, Disturbance::Loss | Disturbance::Marks) { 100.0 } else { 1000.0 };
    match bears {
        Bears::UpTo(amount) => digits(amount * factor),
        Bears::Any => "any".into(),
        Bears::Nothing => "none".into(),
        Bears::Undefined => "not defined".into(),
    }
}

pub(super) fn ms(time: Duration) -> String {
    short(time.as_secs_f64() * 1e3)
}

fn range((from, to): (Duration, Duration)) -> String {
    let [from, to] = [from, to].map(|time| format!("{:.2}", time.as_secs_f64() * 1e3));
    if from == to { from } else { format!("{from} to {to}") }
}

/// Three digits that count.
pub(super) fn digits(value: f64) -> String {
    // Of the rounded value: 9.999 is 10.0.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let places = (2.0 - rounded.abs().max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    if rounded == 0.0 { "0".into() } else { format!("{value:.places$}") }
}

/// The same without zeros at the end.
pub(super) fn short(value: f64) -> String {
    let text = digits(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::objective::Objective;

    fn findings(written: &str) -> Findings {
        let objective = Objective { utility: Some(written.parse().unwrap()), ..Objective::default() };
        let path = Bottleneck {
            capacity: Rate::from_mbit(100.0),
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        Findings::of(objective.aim().unwrap(), path, "here".into(), &[1, 10])
    }

    #[test]
    fn the_default_is_told_with_its_law_its_queue_and_no_traps() {
        let text = findings("fair").text();
        for expected in ["law       ascent: it foresees", "concave   yes", "no known traps"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let ten = text.lines().find(|line| line.trim_start().starts_with("10 ")).unwrap();
        let words: Vec<_> = ten.split_whitespace().collect();
        assert_eq!(words, ["10", "10.0", "0.00", "1.90", "yes", "yes"], "{text}");
    }

    #[test]
    fn what_settles_nowhere_says_so_and_json_has_the_same() {
        let found = findings("loss-resilient");
        assert!(found.text().contains("10 want ever more"), "{}", found.text());
        let told = found.json();
        assert_eq!(told["equilibria"][1]["unbounded"], true);
        assert_eq!((&told["bears"][0]["what"], &told["bears"][0]["bears"]), (&json!("loss"), &json!("any")));
        assert!(told["simulated"].is_null());
        assert!(findings("x*log(L)").text().contains("not defined"));
    }

    #[test]
    fn numbers_have_the_digits_that_count() {
        let told = [100.0, 12.345, 0.5, 0.000_631, 0.0, 12_345.0].map(digits);
        assert_eq!(told, ["100", "12.3", "0.500", "0.000631", "0", "12345"]);
        assert_eq!(digits(9.9999), "10.0");
        assert_eq!([30.0, 0.5, 0.0, 1000.0].map(short), ["30", "0.5", "0", "1000"]);
    }
}
