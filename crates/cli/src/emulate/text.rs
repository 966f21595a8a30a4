//! The output of `pcc emulate`: a status line, a table, JSON, the list of presets.

use core::time::Duration;
use pcc::units::Rate;
use pcc_link::{Count, KEYS, Path, presets};
use pcc_netem::{Direction, Handle, Options, Report};
use pcc_report::columns::wrapped;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The line that shows how it goes: rates since `before`, losses since the beginning.
pub(super) fn status(before: &Report, now: &Report) -> String {
    let time = now.elapsed.saturating_sub(before.elapsed);
    let way = |name: &str, before: &Direction, now: &Direction| {
        let volume = now.forwarded.bytes.saturating_sub(before.forwarded.bytes);
        format!("{name} {:>11}, lost {:.2} %", Rate::from_volume(volume, time).to_string(), now.loss() * 100.0)
    };
    let trouble = if now.nobody_there > 0 { "; nobody listens at the server's address" } else { "" };
    format!(
        "{:5.0} s  {}  {}  {} clients{trouble}",
        now.elapsed.as_secs_f64(),
        way("up", &before.up, &now.up),
        way("down", &before.down, &now.down),
        now.sessions,
    )
}

/// The packets that were forwarded, and those that were dropped and why.
pub(super) fn table(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let (up, down) = (&report.up, &report.down);
    writeln!(out, "{:31} {:>11} {:>11} {:>11} {:>11}", "", "up", "", "down", "")?;
    writeln!(out, "{:31} {:>11} {:>11} {:>11} {:>11}", "", "packets", "bytes", "packets", "bytes")?;
    let mut row = |what: &str, pick: fn(&Direction) -> Count, always: bool| {
        let (up, down) = (pick(up), pick(down));
        if !always && up.packets + down.packets == 0 {
            return Ok(());
        }
        let size = |count: Count| count.bytes.to_string();
        writeln!(out, "{what:31} {:>11} {:>11} {:>11} {:>11}", up.packets, size(up), down.packets, size(down))
    };
    row("received", |d| d.link.sent, true)?;
    row("  and doubled", |d| d.link.duplicated, false)?;
    row("forwarded", |d| d.forwarded, true)?;
    row("  of these by a detour", |d| d.link.reordered, false)?;
    row("  of these marked", |d| d.link.marked, false)?;
    row("dropped: the buffer was full", |d| d.link.dropped_buffer, true)?;
    row("dropped: by the queue", |d| d.link.dropped_queue, false)?;
    row("dropped: random loss", |d| d.link.dropped_random, true)?;
    row("dropped: black-out", |d| d.link.dropped_blackout, false)?;
    row("dropped: this host was too slow", |d| d.dropped_host, false)?;
    row("still under way", |d| d.in_transit, false)?;
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    writeln!(
        out,
        "{} client{} in {:.1} s\npackets left late by {:.0} µs (median), {:.0} µs (p99), {:.0} µs (worst)",
        report.sessions_ever,
        if report.sessions_ever == 1 { "" } else { "s" },
        report.elapsed.as_secs_f64(),
        micros(report.lateness.quantile(0.5)),
        micros(report.lateness.quantile(0.99)),
        micros(report.lateness.worst()),
    )?;
    if report.turned_away > 0 {
        writeln!(out, "{} packets of further clients were turned away: raise --sessions", report.turned_away)?;
    }
    if report.missed > 0 {
        writeln!(
            out,
            "{} packets were dropped by this host before they could be read: this is no property of the emulated path; \
             raise the limit of socket buffers, or emulate a slower one",
            report.missed
        )?;
    }
    if report.nobody_there > 0 {
        writeln!(out, "{} times the system said that nobody listens at the server's address", report.nobody_there)?;
    }
    Ok(())
}

fn direction(direction: &Direction) -> Value {
    let link = &direction.link;
    json!({
        "received": count(link.sent),
        "duplicated": count(link.duplicated),
        "reordered": count(link.reordered),
        "forwarded": count(direction.forwarded),
        "dropped": {
            "buffer": count(link.dropped_buffer),
            "queue": count(link.dropped_queue),
            "random": count(link.dropped_random),
            "blackout": count(link.dropped_blackout),
            "host": count(direction.dropped_host),
        },
        "in_transit": count(direction.in_transit),
    })
}

/// Packets and bytes, for programs.
pub(crate) fn count(count: Count) -> Value {
    json!({"packets": count.packets, "bytes": count.bytes.get()})
}

/// The first line of `--json`.
pub(super) fn listening(handle: &Handle, options: &Options) -> Value {
    json!({
        "event": "listening",
        "listen": handle.addr().to_string(),
        "to": options.to.to_string(),
        "link": options.path.to_string(),
        "seed": options.seed,
    })
}

/// Every second's line of `--json`: everything since the beginning.
pub(super) fn interval(report: &Report) -> Value {
    event("interval", report)
}

/// The last line of `--json`.
pub(super) fn end(report: &Report) -> Value {
    event("end", report)
}

fn event(name: &str, report: &Report) -> Value {
    let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
    json!({
        "event": name,
        "seconds": report.elapsed.as_secs_f64(),
        "clients": report.sessions,
        "clients_ever": report.sessions_ever,
        "up": direction(&report.up),
        "down": direction(&report.down),
        "turned_away_packets": report.turned_away,
        "missed_packets": report.missed,
        "server_refused": report.nobody_there,
        "late_us": {
            "p50": micros(report.lateness.quantile(0.5)),
            "p99": micros(report.lateness.quantile(0.99)),
            "max": micros(report.lateness.worst()),
        },
    })
}

/// Presets and parameters, for people.
pub(super) fn list(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Presets:")?;
    for preset in presets() {
        writeln!(out, "  {:14} {}", preset.name, preset.about)?;
        writeln!(out, "  {:14} {}", "", preset.parameters)?;
        for line in wrapped(&format!("Source: {}", preset.source), 100) {
            writeln!(out, "  {:14} {line}", "")?;
        }
    }
    writeln!(out, "\nParameters (up.… or down.… before a name holds for that direction only):")?;
    for (name, example, meaning) in KEYS {
        writeln!(out, "  {name:10} {example}")?;
        for line in wrapped(meaning, 100) {
            writeln!(out, "  {:10} {line}", "")?;
        }
    }
    Ok(())
}

/// Presets for programs, one a line.
pub(super) fn list_json(out: &mut impl Write) -> io::Result<()> {
    for preset in presets() {
        let path: Path = preset.path();
        let line = json!({
            "event": "preset",
            "name": preset.name,
            "about": preset.about,
            "parameters": preset.parameters,
            "rate_bps": path.down.conditions.rate.bits_per_sec(),
            "rtt_ms": path.rtt().as_secs_f64() * 1e3,
            "buffer_bytes": path.down.conditions.buffer.get(),
            "loss": path.down.conditions.loss.mean(),
            "source": preset.source,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::units::Bytes;

    #[test]
    fn the_status_line_shows_rates_since_the_last_one() {
        let mut before = Report { elapsed: Duration::from_secs(4), ..Report::default() };
        before.down.forwarded.bytes = Bytes::new(1_000_000);
        let mut now = Report { elapsed: Duration::from_secs(5), sessions: 2, ..before.clone() };
        now.down.forwarded.bytes = Bytes::new(2_250_000);
        now.down.link.sent.packets = 200;
        now.down.link.dropped_random.packets = 3;
        let line = status(&before, &now);
        assert!(line.contains("down 10.0 Mbit/s, lost 1.50 %") && line.contains("2 clients"), "{line}");
    }

    #[test]
    fn the_list_names_every_preset_parameter_and_source() {
        let mut text = Vec::new();
        list(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for preset in presets() {
            assert!(text.contains(preset.name) && text.contains(preset.parameters), "{}", preset.name);
        }
        for (name, example, _) in KEYS {
            assert!(text.contains(example), "{name}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
        assert!(text.contains("NSDI 2015"));
    }
}
