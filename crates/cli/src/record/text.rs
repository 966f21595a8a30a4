//! How a recording is told: lines for people, and JSON.

use super::link::Found;
use core::time::Duration;
use pcc::units::Rate;
use pcc_perf::flow::Way;
use pcc_perf::record::client::{Recorded, Step};
use pcc_perf::record::course::Purpose;
use pcc_perf::record::figures::{AtLeast, Figure, Jitter, OneWay};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// The next train.
pub(super) fn step(step: Step) -> String {
    let way = name(step.way);
    let what = match step.purpose {
        Purpose::Search => "looks for the rate",
        Purpose::Confirm => "confirms the rate",
        Purpose::Quiet => "leaves the path idle",
        Purpose::Fill => "fills the path",
        Purpose::Calm => "looks for losses",
    };
    format!("{way}: {what}, at {}", step.rate)
}

const fn name(way: Way) -> &'static str {
    match way {
        Way::Up => "up",
        Way::Down => "down",
    }
}

/// In front of a file.
pub(super) fn heading(host: &str, time: Duration, recorded: &Recorded) -> String {
    let mut text = format!(
        "The path to {}, by `pcc record -t {}` at {}.\n",
        pcc_net::escape_for_terminal(host),
        time.as_secs_f64(),
        humantime::format_rfc3339_seconds(std::time::SystemTime::now())
    );
    if recorded.cut_short.is_some() {
        text += "The recording was cut short.\n";
    }
    text += &figures(recorded);
    text
}

/// All of it, for people.
pub(super) fn page(recorded: &Recorded, found: &Found, file: Option<&Path>) -> String {
    let mut text = figures(recorded);
    match file {
        Some(file) => {
            let file = pcc_net::escape_for_terminal(&file.display().to_string());
            let _ = write!(
                text,
                "\nwritten to {file}; replay it with\n  pcc shell @{file}\n  pcc-lab sim @{file} --flows 'pcc cubic'\n"
            );
        }
        None => {
            let _ = write!(text, "\nas a path; -o FILE keeps it, and how a rate changes:\n  {}\n", found.text());
        }
    }
    text
}

fn figures(recorded: &Recorded) -> String {
    let mut text = String::new();
    for (way, side) in [("up", &recorded.up), ("down", &recorded.down)] {
        for (place, (what, told)) in rows(side).into_iter().enumerate() {
            let _ = writeln!(text, "{:<5} {what:<11} {told}", if place == 0 { way } else { "" });
        }
    }
    let _ = writeln!(text, "{:<5} {:<11} {}", "both", "base RTT", ms(recorded.rtt));
    text
}

fn rows(way: &OneWay) -> Vec<(&'static str, String)> {
    let reordering = way.reordering.map_or_else(
        || "none".to_owned(),
        |(share, detour)| format!("{} of the packets, by {}", percent(share), ms(detour)),
    );
    let rows = [
        ("rate", rate(way)),
        ("buffer", buffer(way)),
        ("random loss", loss(way)),
        ("jitter", jitter(way)),
        ("reordering", reordering),
    ];
    rows.into_iter().chain(way.policer.map(|burst| ("policer", policer(way, burst)))).collect()
}

fn rate(way: &OneWay) -> String {
    let rate = format!("{} ± {} Mbit/s", short(way.rate.value * 8e-6), short(way.rate.error * 8e-6));
    match (way.at_least, &way.course) {
        (Some(AtLeast::Fastest), _) => rate + " or more: no train is faster",
        (Some(AtLeast::Sender), _) => rate + " or more: the sender was the limit",
        (None, Some(course)) => {
            let (least, most) = course
                .rates
                .iter()
                .fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
            format!(
                "{rate}, from {} to {} in intervals of {:.0} ms",
                Rate::from_bytes_per_sec(least),
                Rate::from_bytes_per_sec(most),
                course.interval * 1e3
            )
        }
        (None, None) => rate,
    }
}

fn buffer(way: &OneWay) -> String {
    match way.buffer {
        None => "unknown: no queue was filled".to_owned(),
        Some(buffer) => format!(
            "{} ± {} kB{}; {} ms at the longest",
            short(buffer.value * 1e-3),
            short(buffer.error * 1e-3),
            if way.buffer_at_least { " or more: it did not overflow" } else { "" },
            short(way.longest_wait * 1e3)
        ),
    }
}

fn loss(way: &OneWay) -> String {
    let mut loss = if way.loss.value > 0.0 {
        percent(way.loss)
    } else {
        format!("none of {} packets: below {} %", way.judged, short(way.loss.error * 100.0))
    };
    if let Some(burst) = way.burst {
        let _ = write!(loss, ", in bursts of {} ± {} packets", short(burst.value), short(burst.error));
    }
    loss
}

fn jitter(way: &OneWay) -> String {
    match way.jitter {
        Jitter::None => {
            format!("none above {} ms in the mean, which may be the computers' own", short(way.own_jitter * 1e3))
        }
        Jitter::Even(jitter) => format!("up to {}", ms(jitter)),
        Jitter::Overtaking(jitter) => format!("up to {}; packets overtake each other", ms(jitter)),
        Jitter::Radio(mean) => format!("{} in the mean, as of a contended radio channel", ms(mean)),
    }
}

/// A policer that lets `burst` bytes pass at once.
fn policer(way: &OneWay, burst: f64) -> String {
    format!(
        "{} kB pass at full speed, then what exceeds the rate is dropped; a path has no parameter for it: \
         pcc-lab sim --policer {:.3}Mbit:{:.0}kB",
        short(burst * 1e-3),
        Rate::from_bytes_per_sec(way.rate.value).mbit(),
        burst * 1e-3
    )
}

fn ms(figure: Figure) -> String {
    format!("{} ± {} ms", short(figure.value * 1e3), short(figure.error * 1e3))
}

fn percent(figure: Figure) -> String {
    format!("{} ± {} %", short(figure.value * 100.0), short(figure.error * 100.0))
}

/// Three digits.
fn short(value: f64) -> String {
    let places = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

/// The same for programs.
pub(super) fn document(host: &str, recorded: &Recorded, found: &Found, file: Option<&Path>) -> Value {
    json!({
        "host": host,
        "link": found.text(),
        "file": file.map(|file| file.display().to_string()),
        "rtt_ms": figure(recorded.rtt, 1e3),
        "up": way(&recorded.up),
        "down": way(&recorded.down),
        "cut_short": recorded.cut_short,
    })
}

fn figure(figure: Figure, factor: f64) -> Value {
    json!({ "value": figure.value * factor, "error": figure.error * factor })
}

fn way(way: &OneWay) -> Value {
    let (kind, jitter) = match way.jitter {
        Jitter::None => (Value::Null, Value::Null),
        Jitter::Even(jitter) => ("even".into(), figure(jitter, 1e3)),
        Jitter::Overtaking(jitter) => ("overtaking".into(), figure(jitter, 1e3)),
        Jitter::Radio(mean) => ("radio".into(), figure(mean, 1e3)),
    };
    json!({
        "rate_bps": figure(way.rate, 8.0),
        "rate_is_at_least": way.at_least.is_some(),
        "rates": way.course.as_ref().map(|course| json!({
            "interval_ms": course.interval * 1e3,
            "bps": course.rates.iter().map(|rate| (rate * 8.0).round()).collect::<Vec<_>>(),
        })),
        "buffer_bytes": way.buffer.map(|buffer| figure(buffer, 1.0)),
        "buffer_is_at_least": way.buffer_at_least,
        "longest_wait_ms": way.longest_wait * 1e3,
        "loss": figure(way.loss, 1.0),
        "packets": way.judged,
        "burst": way.burst.map(|burst| figure(burst, 1.0)),
        "jitter": kind,
        "jitter_ms": jitter,
        "own_jitter_ms": way.own_jitter * 1e3,
        "reordering": way.reordering.map(|(share, _)| figure(share, 1.0)),
        "detour_ms": way.reordering.map(|(_, detour)| figure(detour, 1e3)),
        "policer_burst_bytes": way.policer.map(f64::round),
    })
}

#[cfg(test)]
mod tests {
    use super::super::link::tests::recorded;
    use super::*;

    #[test]
    fn each_figure_is_told_with_its_error() {
        let recorded = recorded();
        let text = page(&recorded, &Found::of(&recorded, None), None);
        for told in [
            "20.0 ± 1.00 Mbit/s",
            "98.9 ± 4.94 kB; 39.6 ms at the longest",
            "none of 3000 packets",
            "1.23 ± 0.061 %, in bursts of 6.50 ± 0.325 packets",
            "7.00 ± 0.350 ms in the mean",
            "by 5.00 ± 0.250 ms",
            "40.0 ± 2.00 ms",
        ] {
            assert!(text.contains(told), "{told}: {text}");
        }
    }
}
