//! The findings about a utility on a path: as text and as JSON.

use crate::rehearsal::Rehearsal;
use crate::rehearsed;
use pcc::units::Rate;
use pcc_chart::axis::{short, significant};
use pcc_link::{Impossible, Path};
use pcc_utility::{Bears, Bottleneck, Disturbance, Equilibria, Findings, Shape, Trap};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// A path as one shared queue, as it is at its first moment.
///
/// Errors: there can be no such path.
pub fn bottleneck(path: &Path) -> Result<Bottleneck, Impossible> {
    path.links(1)?;
    let way = &path.down.conditions;
    let (capacity, base_rtt, buffer, loss) = (way.rate, path.rtt(), way.rate.time_for(way.buffer), way.loss.mean());
    Ok(Bottleneck { capacity, base_rtt, buffer, loss })
}

/// For people.
pub fn text(found: &Findings, rehearsal: Option<&Rehearsal>) -> String {
    let mut text = String::new();
    let Bottleneck { capacity, base_rtt, buffer, loss } = found.path;
    let (rtt, buffer) = (ms(base_rtt), ms(buffer));
    let _ = writeln!(text, "utility   {}", found.objective.written);
    let _ = writeln!(
        text,
        "path      {} Mbit/s, RTT {rtt} ms, {buffer} ms of buffer, {} % random loss",
        short(capacity.mbit()),
        short(loss * 100.0)
    );
    let why = match (&found.objective.law, found.objective.utility.prices_queue()) {
        (Some(_), _) => "as told",
        (None, true) => "it foresees the queue, which this utility prices",
        (None, false) => "it compares what rates achieved; this utility has no price for the queue's length",
    };
    let _ = writeln!(text, "law       {}: {why}", found.objective.law().name());
    for (place, shape) in &found.shapes {
        let _ = writeln!(text, "concave   {}", concave(place, shape));
    }
    text += &equilibria_text(found);
    text += &bears_text(found);
    if let Some(rehearsal) = rehearsal {
        text += &rehearsed::text(rehearsal);
        text += &compared(found);
    }
    text += if found.traps.is_empty() { "\nno known traps\n" } else { "\ntraps\n" };
    for trap in &found.traps {
        let _ = writeln!(text, "  * {trap}");
    }
    text
}

fn equilibria_text(found: &Findings) -> String {
    let mut text = format!(
        "\n{:>8} {:>14} {:>9} {:>18} {:>7} {:>6}\n",
        "senders", "each, Mbit/s", "loss, %", "standing queue, ms", "unique", "fair"
    );
    for one in &found.equilibria {
        let yes = |is: bool| if is { "yes" } else { "no" };
        if let Some(word) = nowhere(one) {
            let _ = writeln!(text, "{:>8} {word}", one.senders);
        }
        for settled in &one.stable {
            let _ = writeln!(
                text,
                "{:>8} {:>14} {:>9} {:>18} {:>7} {:>6}",
                one.senders,
                significant(settled.rate.mbit()),
                format!("{:.2}", settled.loss * 100.0),
                range(settled.queue),
                yes(one.stable.len() == 1 && !one.unbounded),
                if one.senders == 1 { "-" } else { yes(settled.fair) },
            );
        }
    }
    text
}

/// The computed queues beside the simulated ones, and which to believe.
fn compared(found: &Findings) -> String {
    let game = found.game();
    let queue = |senders, who: &str| match game.settle(senders).stable.first() {
        Some(settled) => format!("{} ms {who}", range(settled.queue)),
        None => format!("not known {who}, where it settles nowhere"),
    };
    format!(
        "  computed standing queue: {}, {}. The computation has the\n  \
         utility and fluids. The simulation has packets, noise and the law too: where\n  \
         the two differ, real senders do as in the simulation.\n",
        queue(1, "alone"),
        queue(2, "with two")
    )
}

fn bears_text(found: &Findings) -> String {
    let at = |rate: Rate| format!("at {} Mbit/s", short(rate.mbit()));
    let [low, own, high] = found.rates.map(at);
    let mut text = format!("\n{:24} {low:>16} {own:>16} {high:>16}\n", "it bears");
    for (what, bears) in &found.bears {
        let [low, own, high] = bears.map(|bears| amount(*what, bears));
        let _ = writeln!(text, "  {:22} {low:>16} {own:>16} {high:>16}", words(*what).1);
    }
    text
}

/// For programs: `link` is the path as it was written.
pub fn json(found: &Findings, link: &str, rehearsal: Option<&Rehearsal>) -> Value {
    let shapes = found.shapes.iter().map(|(place, shape)| {
        json!({
            "before": place,
            "concave": shape.is_concave(),
            "peaks_mbit": shape.peaks.iter().map(|rate| rate.mbit()).collect::<Vec<_>>(),
            "convex_mbit": shape.convex.map(|(from, to)| [from.mbit(), to.mbit()]),
            "undefined": shape.undefined,
        })
    });
    let equilibria = found.equilibria.iter().map(|one| {
        let stable = one.stable.iter().map(|settled| {
            json!({
                "rate_mbit": settled.rate.mbit(),
                "loss": settled.loss,
                "queue_s": [settled.queue.0.as_secs_f64(), settled.queue.1.as_secs_f64()],
                "fair": settled.fair,
            })
        });
        json!({
            "senders": one.senders,
            "stable": stable.collect::<Vec<_>>(),
            "unique_and_fair": one.is_unique_and_fair(),
            "unbounded": one.unbounded,
            "silent": one.silent,
            "undefined": one.undefined,
        })
    });
    let bears = found.bears.iter().flat_map(|(what, bears)| {
        found.rates.iter().zip(bears).map(|(rate, bears)| {
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
        "utility": found.objective.written,
        "law": found.objective.law().name(),
        "prices_queue": found.objective.utility.prices_queue(),
        "path": link,
        "capacity_mbit": found.path.capacity.mbit(),
        "base_rtt_s": found.path.base_rtt.as_secs_f64(),
        "buffer_s": found.path.buffer.as_secs_f64(),
        "random_loss": found.path.loss,
        "shapes": shapes.collect::<Vec<_>>(),
        "equilibria": equilibria.collect::<Vec<_>>(),
        "bears": bears.collect::<Vec<_>>(),
        "simulated": rehearsal.map(rehearsed::json),
        "traps": found.traps.iter().map(Trap::to_string).collect::<Vec<_>>(),
    })
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

/// The words for those that settle nowhere.
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
        Bears::UpTo(amount) => significant(amount * factor),
        Bears::Any => "any".into(),
        Bears::Nothing => "none".into(),
        Bears::Undefined => "not defined".into(),
    }
}

fn ms(time: Duration) -> String {
    short(time.as_secs_f64() * 1e3)
}

fn range((from, to): (Duration, Duration)) -> String {
    let [from, to] = [from, to].map(|time| format!("{:.2}", time.as_secs_f64() * 1e3));
    if from == to { from } else { format!("{from} to {to}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_utility::Objective;

    fn findings(written: &str) -> Findings {
        let objective = Objective::new(written, written, None, &[]).unwrap();
        let path = Bottleneck {
            capacity: Rate::from_mbit(100.0),
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        Findings::of(objective, path, &[1, 10])
    }

    #[test]
    fn the_default_is_told_with_its_law_its_queue_and_no_traps() {
        let text = text(&findings("fair"), None);
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
        let said = text(&found, None);
        assert!(said.contains("10 want ever more"), "{said}");
        let told = json(&found, "here", None);
        assert_eq!(told["equilibria"][1]["unbounded"], true);
        assert_eq!((&told["bears"][0]["what"], &told["bears"][0]["bears"]), (&json!("loss"), &json!("any")));
        assert!(told["simulated"].is_null());
        assert!(text(&findings("x*log(L)"), None).contains("not defined"));
        let compared = compared(&findings("x"));
        assert!(compared.contains("not known alone"), "{compared}");
    }
}
