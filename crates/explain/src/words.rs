//! The answer as text.

use super::cause::Cause;
use super::verdict::{Explained, Spell};
use pcc::units::{Bytes, Rate};
use pcc_report::columns::{Column, aligned};

/// The number of the longest spells that are told.
const SPELLS: usize = 5;

/// The answer, under the name of its trace.
pub fn answer(name: &str, explained: &Explained) -> String {
    let mut text = format!("{name}: {}\n", summary(explained));
    if !explained.seconds.is_empty() {
        let ranked = explained.ranked();
        text += "\nlimited by\n";
        text += &aligned(
            &[Column::Left(0), Column::Right(0), Column::Right(0), Column::Left(0), Column::Left(0)],
            &ranked.iter().map(|(cause, time)| row(explained, *cause, *time)).collect::<Vec<_>>(),
        );
        text += "\nlongest spells\n";
        text += &aligned(
            &[Column::Left(0), Column::Right(0), Column::Left(0)],
            &spells(explained).iter().map(spell).collect::<Vec<_>>(),
        );
        text += "\nwhat helps\n";
        for (cause, _) in ranked {
            text += &format!("  {}: {}\n", cause.name(), cause.remedy());
        }
    }
    if let Some(first) = explained.unread.first {
        text += &format!("\nnot understood: {} records, the first is number {first}\n", explained.unread.records);
    }
    text
}

/// The bytes that were sent, and how fast they arrived, in a line.
pub fn summary(explained: &Explained) -> String {
    let bytes = |bytes: f64| Bytes::new(bytes as u64);
    if explained.seconds.is_empty() {
        return format!(
            "this end sent no data. It received {}; the trace of the other end, which sent them, says why they took their time.",
            bytes(explained.received)
        );
    }
    let mut text = format!(
        "{} sent in {}, {} arrived",
        bytes(explained.sent),
        time(explained.took),
        Rate::from_bytes_per_sec(explained.goodput() / 8.0)
    );
    let share = 100.0 * explained.lost as f64 / explained.packets.max(1) as f64;
    text += &format!("; {share:.2} % of {} packets lost", explained.packets);
    if let Some(base) = explained.base_rtt {
        text += &format!("; base RTT {:.2} ms", base * 1e3);
    }
    if explained.received > explained.sent {
        text += &format!(
            ". It received {}, more than it sent: the trace of the other end says more",
            bytes(explained.received)
        );
    }
    text
}

fn row(explained: &Explained, cause: Cause, spent: f64) -> Vec<String> {
    let meaning = match (cause, explained.policer) {
        (Cause::Policer, Some(rate)) => {
            format!("{} It let {} pass.", cause.meaning(), Rate::from_bytes_per_sec(rate / 8.0))
        }
        (Cause::Queue | Cause::Rate, _) => format!("{} {}", cause.meaning(), full(explained, cause)),
        _ => cause.meaning().to_owned(),
    };
    let share = format!("{:.0} %", 100.0 * spent / explained.took.max(1e-9));
    vec![" ".to_owned(), time(spent), share, cause.name().to_owned(), meaning]
}

/// Rate and wait while the path was full.
fn full(explained: &Explained, cause: Cause) -> String {
    let (mut delivered, mut wait, mut count) = (0.0, 0.0, 0.0);
    for second in explained.seconds.iter().filter(|second| second.limited_by == Some(cause)) {
        delivered += second.delivered_bps;
        wait += second.rtt_ms.unwrap_or(0.0) - explained.base_rtt.unwrap_or(0.0) * 1e3;
        count += 1.0;
    }
    if count == 0.0 {
        return String::new();
    }
    let rate = Rate::from_bytes_per_sec(delivered / count / 8.0);
    format!("It carried {rate}, and packets waited {:.0} ms in the mean.", (wait / count).max(0.0))
}

/// The longest, in the order of time.
pub(crate) fn spells(explained: &Explained) -> Vec<Spell> {
    let mut spells = explained.spells();
    spells.sort_by(|one, other| length(other).total_cmp(&length(one)));
    spells.truncate(SPELLS);
    spells.sort_by(|one, other| one.from_seconds.total_cmp(&other.from_seconds));
    spells
}

fn length(spell: &Spell) -> f64 {
    spell.to_seconds - spell.from_seconds
}

fn spell(spell: &Spell) -> Vec<String> {
    let when = format!("second {:.0} to {:.0}", spell.from_seconds, spell.to_seconds);
    vec![" ".to_owned(), when, spell.limited_by.name().to_owned()]
}

/// Seconds, with as many digits as are read.
fn time(seconds: f64) -> String {
    match seconds {
        99.5.. => format!("{seconds:.0} s"),
        0.95.. => format!("{seconds:.1} s"),
        _ => format!("{:.0} ms", seconds * 1e3),
    }
}
