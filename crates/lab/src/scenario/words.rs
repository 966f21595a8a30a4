//! A path in the words of `pcc-lab sim` and `pcc emulate`, for the lab: the same text is the same network.

use super::file::{File, Parameter};
use super::quantity;
use crate::spec::{Change, Late, LossChain, PACKET, PathSpec, Queue};
use core::time::Duration;
use pcc::units::{Rate, Timestamp};
use pcc_link::{Conditions, Loss, OneWay, Path};
use std::collections::BTreeMap;

/// The lab's way back has no bottleneck. Acknowledgements never fill one of this part of the rate or more.
const BACK: f64 = 0.1;
/// A random delay that no table holds.
const LONGEST_JITTER: Duration = Duration::from_secs(4);

/// Each change of the rate lets a packet through the kernel's shaper at once, so rates that change more often count by
/// their means over this time. Unit: ns.
const STEP: u64 = 100_000_000;
/// Memory is spent on no more changes than this.
const MOST_MOMENTS: usize = 1_000_000;

/// Whether the tables are absent that change a path of the other kind.
pub(super) fn without_tables(file: &File) -> Result<(), String> {
    if !file.change.is_empty() || file.changes.is_some() || file.cellular.is_some() || file.sample.is_some() {
        let own = "a `path` that is a text changes by its own words, `at=`, `vary=`, `blackout=` and `trace=`";
        return Err(format!("{own}: leave `change`, `changes`, `cellular` and `sample` out"));
    }
    Ok(())
}

/// The text at a point of the sweep, which is of all bottlenecks.
pub(super) fn at(file: &File, text: &str, point: &str) -> Result<String, String> {
    let word = match file.sweep.as_ref().map(|sweep| sweep.parameter) {
        Some(Parameter::Rate) => "rate",
        Some(Parameter::Rtt) => "rtt",
        Some(Parameter::Buffer) => "buffer",
        Some(Parameter::Queue) => "queue",
        Some(Parameter::Jitter | Parameter::Loss | Parameter::LossBothWays | Parameter::Path) => {
            let over = "`sweep` over a `path` or `then` that is a text goes over rate, rtt, buffer or queue";
            return Err(format!("{over}: write one path as a table"));
        }
        Some(Parameter::ExtraRtt | Parameter::Flows | Parameter::Size | Parameter::Load) | None => {
            return Ok(text.to_owned());
        }
    };
    Ok(format!("{text},{word}={point}"))
}

/// The path of this text of a key as it begins, and what changes. The seed draws what varies, as in a simulation.
pub(super) fn path(key: &str, text: &str, seed: u64, duration: u64) -> Result<(PathSpec, Vec<Change>), String> {
    let wrong = |problem: String| format!("`{key}` is {text}: {problem}");
    let path: Path = text.parse().map_err(|error| wrong(format!("{error}")))?;
    constant(&path).and_then(|constant| Ok((constant, changes(&path, seed, duration)?))).map_err(wrong)
}

/// The error for a word that the lab has no means for.
fn unknown(word: &str) -> String {
    format!("the lab has no `{word}` as a simulation has it: leave it out, or simulate it with `pcc-lab sim`")
}

/// The path as it begins.
fn constant(path: &Path) -> Result<PathSpec, String> {
    let (down, up) = (&path.down.conditions, &path.up.conditions);
    for (word, there) in
        [("reorder", down.reorder > 0.0 || up.reorder > 0.0), ("duplicate", down.duplicate > 0.0 || up.duplicate > 0.0)]
    {
        if there {
            return Err(unknown(word));
        }
    }
    Ok(PathSpec {
        rate: rate(down.rate)?,
        rtt: round_trip(down, up)?,
        buffer: ethernet(down.buffer.get() as f64) as u64,
        queue: queue(&path.down)?,
        loss: down.loss.mean(),
        reverse_loss: up.loss.mean(),
        loss_chain: chain(down.loss),
        reverse_loss_chain: chain(up.loss),
        late: late(down)?,
        reverse_late: late(up)?,
        ..PathSpec::default()
    })
}

/// Paths count IP packets, and the lab's queues Ethernet's 14 bytes more.
fn ethernet(bytes: f64) -> f64 {
    bytes * PACKET as f64 / pcc_link::PACKET.get() as f64
}

fn rate(rate: Rate) -> Result<u64, String> {
    quantity::within("rate", &rate.to_string(), ethernet(rate.bits_per_sec()))
}

fn round_trip(down: &Conditions, up: &Conditions) -> Result<u64, String> {
    if down.delay != up.delay {
        let (down, up) = (down.delay, up.delay);
        return Err(format!("the lab's ways take half of the RTT each, not {down:?} down and {up:?} up: write rtt="));
    }
    if up.rate.bits_per_sec() < BACK * down.rate.bits_per_sec() {
        let (down, up) = (down.rate, up.rate);
        return Err(format!("the lab's way back has no bottleneck: up.rate is {up}, and needs a tenth of {down}"));
    }
    Ok(2 * down.delay.as_nanos() as u64)
}

fn queue(way: &OneWay) -> Result<Queue, String> {
    let name = way.queue.name().unwrap_or_default();
    quantity::queue(name).map_err(|error| format!("the lab cannot have that queue: {error}"))
}

fn chain(loss: Loss) -> Option<LossChain> {
    match loss {
        Loss::Bernoulli(_) => None,
        Loss::GilbertElliott(chain) => Some(LossChain {
            to_bad: chain.to_bad,
            to_good: chain.to_good,
            loss_good: chain.loss_good,
            loss_bad: chain.loss_bad,
        }),
    }
}

fn late(way: &Conditions) -> Result<Late, String> {
    if way.jitter > LONGEST_JITTER {
        return Err(format!("the lab's longest jitter is {LONGEST_JITTER:?}, and this one {:?}", way.jitter));
    }
    let [jitter, wifi] = [way.jitter, way.wifi].map(|time| time.as_nanos() as u64);
    Ok(Late { jitter, wifi, reorders: way.jitter_reorders })
}

/// All that changes, black-outs, recordings and random ranges too, one by one.
fn changes(path: &Path, seed: u64, duration: u64) -> Result<Vec<Change>, String> {
    let end = Timestamp::from_nanos(duration);
    let [mut down, mut up] = [&path.down, &path.up].map(|way| way.course(seed, end).peekable());
    let mut now = [path.down.conditions, path.up.conditions];
    let mut changes = Vec::new();
    while let Some(at) = [down.peek(), up.peek()].into_iter().flatten().map(|(at, _)| *at).min() {
        let before = now;
        for (course, now) in [&mut down, &mut up].into_iter().zip(&mut now) {
            while let Some((_, then)) = course.next_if(|(moment, _)| *moment <= at) {
                *now = then;
            }
        }
        let change = change(at, &before, &now)?;
        if change != (Change { at: change.at, ..Change::default() }) {
            changes.push(change);
        }
        if changes.len() > MOST_MOMENTS {
            return Err(format!("it changes more than {MOST_MOMENTS} times in the run, which is the most"));
        }
    }
    Ok(if is_hasty(&changes) { in_steps(rate(path.down.conditions.rate)?, &changes, duration) } else { changes })
}

fn is_hasty(changes: &[Change]) -> bool {
    let at: Vec<_> = changes.iter().filter(|change| change.rate.is_some()).map(|change| change.at).collect();
    at.windows(2).any(|pair| pair[1] - pair[0] < STEP)
}

/// The same changes, but for the rate, whose means over each step count.
fn in_steps(mut rate: u64, changes: &[Change], duration: u64) -> Vec<Change> {
    let mut moments: BTreeMap<u64, Change> =
        changes.iter().map(|change| (change.at, Change { rate: None, ..*change })).collect();
    let mut coming = changes.iter().filter(|change| change.rate.is_some()).peekable();
    for from in (0..duration).step_by(STEP as usize) {
        let (mut at, mut bits) = (from, 0.0);
        while let Some(change) = coming.next_if(|change| change.at < from + STEP) {
            bits += rate as f64 * (change.at - at) as f64;
            (at, rate) = (change.at, change.rate.unwrap_or(rate));
        }
        bits += rate as f64 * (from + STEP - at) as f64;
        let mean = (bits / STEP as f64).max(quantity::OUTAGE_RATE) as u64 / 8 * 8;
        moments.entry(from).or_insert(Change { at: from, ..Change::default() }).rate = Some(mean);
    }
    moments.into_values().filter(|change| *change != Change { at: change.at, ..Change::default() }).collect()
}

/// The step from the conditions of both ways, down and up, to the next ones.
fn change(at: Timestamp, before: &[Conditions; 2], now: &[Conditions; 2]) -> Result<Change, String> {
    for (before, now) in before.iter().zip(now) {
        let Conditions { rate, delay, loss, .. } = *now;
        if (Conditions { rate, delay, loss, ..*before }) != *now {
            return Err("while the lab runs, rate, rtt and loss can change, and nothing else".into());
        }
        if before.loss != now.loss && [before.loss, now.loss].iter().any(|loss| chain(*loss).is_some()) {
            return Err("the lab's losses in bursts cannot change, as in a black-out".into());
        }
    }
    let ([down, up], rtt) = (now, round_trip(&now[0], &now[1])?);
    Ok(Change {
        at: at.as_nanos(),
        rate: (before[0].rate != down.rate).then(|| ethernet(down.rate.bits_per_sec()).max(8.0) as u64 / 8 * 8),
        rtt: (before[0].delay != down.delay).then_some(rtt),
        loss: (before[0].loss != down.loss).then(|| down.loss.mean()),
        reverse_loss: (before[1].loss != up.loss).then(|| up.loss.mean()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    fn read(text: &str) -> Result<PathSpec, String> {
        seeded(text, 1, MINUTE)
    }

    fn seeded(text: &str, seed: u64, duration: u64) -> Result<PathSpec, String> {
        let (constant, changes) = path("path", text, seed, duration)?;
        Ok(PathSpec { changes, ..constant })
    }

    /// Second, Mbit/s of IP packets and loss of each change.
    fn told(path: &PathSpec) -> Vec<(f64, Option<f64>, Option<f64>)> {
        let mbit = |rate: u64| (rate as f64 * 1500.0 / 1514.0 / 1e5).round() / 10.0;
        path.changes.iter().map(|change| (change.at as f64 / 1e9, change.rate.map(mbit), change.loss)).collect()
    }

    #[test]
    fn a_text_is_a_path_whose_packets_have_ethernet_headers() {
        let path = read("rate=100Mbit,rtt=30ms,buffer=375KB,loss=1%,down.wifi=7ms,up.jitter=2ms:reorder").unwrap();
        let late = Late { wifi: 7_000_000, ..Late::default() };
        let reverse_late = Late { jitter: 2_000_000, reorders: true, ..Late::default() };
        let (rate, rtt, buffer) = (100_933_328, 30_000_000, 378_500);
        let expected =
            PathSpec { rate, rtt, buffer, loss: 0.01, reverse_loss: 0.01, late, reverse_late, ..PathSpec::default() };
        assert_eq!(path, expected);
    }

    #[test]
    fn bursts_of_losses_keep_their_mean_and_their_chain() {
        let path = read("rate=10Mbit,rtt=30ms,down.loss=2%,down.burst=8").unwrap();
        let chain = path.loss_chain.unwrap();
        assert!((path.loss - 0.02).abs() < 1e-12 && (chain.to_good - 0.125).abs() < 1e-12, "{chain:?}");
        assert_eq!((path.reverse_loss, path.reverse_loss_chain), (0.0, None));
    }

    #[test]
    fn black_outs_and_changes_come_in_their_order() {
        let path = read("rate=10Mbit,rtt=30ms,blackout=10s/2s/25s,at=11s:rate=5Mbit,down.at=40s:loss=1%").unwrap();
        let expected = [(10.0, 1.0), (12.0, 0.0), (35.0, 1.0), (37.0, 0.0), (40.0, 0.01)];
        let mut expected: Vec<_> = expected.map(|(at, loss)| (at, None, Some(loss))).into();
        expected.insert(1, (11.0, Some(5.0), None));
        assert_eq!(told(&path), expected);
        assert_eq!(path.changes.iter().filter_map(|change| change.reverse_loss).count(), 4);
    }

    #[test]
    fn ranges_are_drawn_as_a_simulation_draws_them() {
        let text = "rate=10Mbit,rtt=30ms,vary=5s:rate=10Mbit..50Mbit:rtt=20ms..60ms";
        let (mine, sim) = (read(text).unwrap(), text.parse::<Path>().unwrap());
        let course: Vec<_> = sim.down.course(1, Timestamp::from_nanos(MINUTE)).collect();
        assert_eq!((mine.changes.len(), course.len()), (12, 12));
        for (change, (at, conditions)) in mine.changes.iter().zip(course) {
            let ratio = change.rate.unwrap() as f64 / conditions.rate.bits_per_sec() / (1514.0 / 1500.0);
            assert!(change.at == at.as_nanos() && (ratio - 1.0).abs() < 1e-5, "{change:?}");
            assert_eq!(change.rtt, Some(2 * conditions.delay.as_nanos() as u64));
        }
        assert_ne!(seeded(text, 2, MINUTE).unwrap().changes, mine.changes, "another seed");
    }

    #[test]
    fn a_recording_counts_by_its_means_over_a_tenth_of_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("half.trace");
        // A packet a millisecond for 50 ms, then none for 150: 6 Mbit/s, then an outage with a packet at its end.
        let lines: String = (1..=50).map(|ms| format!("{ms}\n")).collect();
        std::fs::write(&file, lines + "200\n").unwrap();
        let path = seeded(&format!("rtt=30ms,trace={}", file.display()), 1, 400_000_000).unwrap();
        let rates: Vec<_> = told(&path).into_iter().filter_map(|(at, rate, _)| Some((at, rate?))).collect();
        assert_eq!(rates, [(0.0, 6.0), (0.1, 0.1), (0.2, 6.0), (0.3, 0.1)]);
    }

    #[test]
    fn words_that_the_lab_cannot_mean_are_named() {
        for (text, expected) in [
            ("rate=10Mbit,rtt=30ms,reorder=1%:5ms", "the lab has no `reorder` as a simulation"),
            ("rate=10Mbit,rtt=30ms,duplicate=1%", "the lab has no `duplicate` as a simulation"),
            ("rate=10Mbit,rtt=30ms,queue=red", "`queue` is red: choose from droptail"),
            ("rate=10Mbit,up.delay=5ms,down.delay=6ms", "not 6ms down and 5ms up"),
            ("rate=10Mbit,up.rate=500kbit,rtt=30ms", "the lab's way back has no bottleneck"),
            ("rate=10Mbit,rtt=30ms,at=5s:up.rate=1Mbit", "`up.rate` cannot change"),
            ("rate=10Mbit,rtt=30ms,at=5s:wifi=5ms", "rate, rtt and loss can change, and nothing else"),
            ("rate=10Mbit,rtt=30ms,at=5s:buffer=1MB", "rate, rtt and loss can change, and nothing else"),
            ("rate=10Mbit,rtt=30ms,loss=1%,burst=4,blackout=5s/1s", "losses in bursts cannot change"),
            ("rate=10Mbit,rtt=30ms,jitter=5s", "the lab's longest jitter is 4s"),
            ("rate=2kbit,rtt=30ms", "it must lie between 8 kbit and 100 Gbit"),
            ("rate=10Mbit,colour=red", "`path` is rate=10Mbit,colour=red: "),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
