//! From a scenario's tables to the path of one run.

use super::file::{File, Parameter, PathEntry, PathTable};
use super::quantity::{LARGEST_BUFFER, LONGEST_ROUND_TRIP, buffer, burst, nanos, queue, rate, round_trip, share};
use super::{draw, words};
use crate::spec::{Change, PACKET, PathSpec, Queue};
use pcc_sim::path_seed;
use std::path::Path;

/// More would not be a path any more but noise; each costs a message to the guest's kernel for every flow.
const MOST_CHANGES: usize = 100_000;
/// A packet overtakes those of an eighth of a round trip before it.
const OVERTAKEN: u64 = 8;
/// Bottlenecks in a row; each is two routers of the guest.
const MOST_BOTTLENECKS: usize = 8;

/// The path at a point of the sweep for one seed. Files that a table names are looked for in `dir`.
pub(super) fn path_at(file: &File, point: &str, seed: u64, duration: u64, dir: &Path) -> Result<PathSpec, String> {
    let (path, changes) = match &file.path {
        PathEntry::Text(text) => {
            words::without_tables(file)?;
            words::path("path", &words::at(file, text, point)?, seed, duration)?
        }
        PathEntry::Table(table) => tabled(file, table.clone(), point, seed, duration, dir)?,
    };
    check(&path)?;
    with_changes(path, changes, duration)
}

/// The paths behind it, in their order. Each draws by a seed of its own, as in a simulation.
pub(super) fn behind(file: &File, point: &str, seed: u64, duration: u64) -> Result<Vec<PathSpec>, String> {
    if file.then.len() >= MOST_BOTTLENECKS {
        let count = file.then.len() + 1;
        return Err(format!("`then` makes {count} bottlenecks in a row: {MOST_BOTTLENECKS} is the most"));
    }
    let one = |(place, text): (usize, &String)| {
        let (path, changes) = words::path("then", &words::at(file, text, point)?, path_seed(seed, place), duration)?;
        check(&path)
            .and_then(|()| with_changes(path, changes, duration))
            .map_err(|problem| format!("`then` is {text}: {problem}"))
    };
    (1..).zip(&file.then).map(one).collect()
}

/// The path of a table as it begins, and what changes.
fn tabled(
    file: &File,
    mut table: PathTable,
    point: &str,
    seed: u64,
    duration: u64,
    dir: &Path,
) -> Result<(PathSpec, Vec<Change>), String> {
    let ratio =
        || point.parse::<f64>().map_err(|_| format!("`sweep.values` has {point}: a loss is a number like 0.01"));
    match file.sweep.as_ref().map(|sweep| sweep.parameter) {
        Some(Parameter::Rate) => point.clone_into(&mut table.rate),
        Some(Parameter::Rtt) => point.clone_into(&mut table.rtt),
        Some(Parameter::Buffer) => point.clone_into(&mut table.buffer),
        Some(Parameter::Queue) => point.clone_into(&mut table.queue),
        Some(Parameter::Jitter) => table.jitter = Some(point.to_owned()),
        Some(Parameter::Loss) => table.loss = ratio()?,
        Some(Parameter::LossBothWays) => (table.loss, table.reverse_loss) = (ratio()?, ratio()?),
        Some(Parameter::Path) => return Ok((sampled(file, &table, point)?, Vec::new())),
        Some(Parameter::ExtraRtt | Parameter::Flows | Parameter::Size | Parameter::Load) | None => {}
    }
    let path = constant(&table)?;
    let kinds = [!file.change.is_empty(), file.changes.is_some(), file.cellular.is_some()];
    if kinds.iter().filter(|&&there| there).count() > 1 {
        return Err("`change`, `changes` and `cellular` exclude each other".into());
    }
    let changes = match (&file.changes, &file.cellular) {
        (Some(table), _) => draw::changes(table, seed, duration)?,
        (_, Some(table)) => draw::cellular(table, seed, duration, dir)?,
        _ => listed(file)?,
    };
    Ok((path, changes))
}

/// The path with these changes, in their order.
fn with_changes(mut path: PathSpec, changes: Vec<Change>, duration: u64) -> Result<PathSpec, String> {
    if changes.len() > MOST_CHANGES {
        return Err(format!("the path changes {} times: {MOST_CHANGES} is the most", changes.len()));
    }
    for change in changes {
        if change.at >= duration {
            return Err(format!("the path changes at {:?}, after the end of the run", time(change.at)));
        }
        match path.changes.last() {
            // A run's first conditions are no change.
            None if change.at == 0 => begin_with(&mut path, &change),
            Some(last) if change.at <= last.at => {
                return Err(format!("the path changes at {:?} twice, or not in the order of time", time(change.at)));
            }
            _ => path.changes.push(change),
        }
    }
    Ok(path)
}

/// Whether the guest can have the path, as far as no single key tells.
fn check(path: &PathSpec) -> Result<(), String> {
    let packets = |bytes: u64| format!("{bytes} bytes, and a packet has {PACKET}");
    match path.queue {
        Queue::Cake if path.burst > 0 => {
            Err("`queue = \"cake\"` is its own shaper, without `burst`: leave one of the two out".into())
        }
        Queue::Sfq if path.buffer < 2 * PACKET => {
            Err(format!("`queue = \"sfq\"` needs a buffer of two packets: it has {}", packets(path.buffer)))
        }
        _ if !(PACKET..=LARGEST_BUFFER).contains(&path.buffer) => {
            Err(format!("`buffer` must hold a packet and be at most 2 GB: it has {}", packets(path.buffer)))
        }
        _ if path.rtt > LONGEST_ROUND_TRIP => Err(format!("`rtt` is {:?}: 60 s is the most", time(path.rtt))),
        _ if path.loss.max(path.reverse_loss) >= 1.0 => {
            Err("`loss` is 100 %: nothing would be left to measure the path by".into())
        }
        _ => Ok(()),
    }
}

fn time(nanos: u64) -> std::time::Duration {
    std::time::Duration::from_nanos(nanos)
}

fn begin_with(path: &mut PathSpec, change: &Change) {
    path.rate = change.rate.unwrap_or(path.rate);
    path.rtt = change.rtt.unwrap_or(path.rtt);
    path.loss = change.loss.unwrap_or(path.loss);
    path.reverse_loss = change.reverse_loss.unwrap_or(path.reverse_loss);
}

/// The path as the table has it.
fn constant(table: &PathTable) -> Result<PathSpec, String> {
    let (rate, rtt) = (rate("rate", &table.rate)?, round_trip("rtt", &table.rtt)?);
    let path = PathSpec {
        rate,
        rtt,
        buffer: buffer(&table.buffer, rate, rtt)?,
        loss: share("loss", table.loss, false)?,
        reverse_loss: share("reverse_loss", table.reverse_loss, false)?,
        queue: queue(&table.queue)?,
        burst: table.burst.as_deref().map_or(Ok(0), burst)?,
        jitter: table.jitter.as_deref().map_or(Ok(0), |text| round_trip("jitter", text))?,
        reverse_jitter: table.reverse_jitter.as_deref().map_or(Ok(0), |text| round_trip("reverse_jitter", text))?,
        reorder: share("reorder", table.reorder, false)?,
        ecn: table.ecn,
        ..PathSpec::default()
    };
    let packet = (PACKET as f64 * 8e9 / rate as f64) as u64;
    if path.reorder > 0.0 && rtt / OVERTAKEN < 4 * packet {
        return Err(format!(
            "`reorder` needs packets to overtake: an eighth of the RTT of {} holds fewer than 4 at {}",
            table.rtt, table.rate
        ));
    }
    for (key, jitter) in [("jitter", path.jitter), ("reverse_jitter", path.reverse_jitter)] {
        if jitter > rtt {
            return Err(format!("`{key}` is {:?}: it cannot exceed the RTT of {}", time(jitter), table.rtt));
        }
    }
    Ok(path)
}

/// The changes that are written down one by one.
fn listed(file: &File) -> Result<Vec<Change>, String> {
    let one = |table: &super::file::ChangeTable| {
        let change = Change {
            at: nanos("change.at", &table.at)?,
            rate: table.rate.as_deref().map(|text| rate("change.rate", text)).transpose()?,
            rtt: table.rtt.as_deref().map(|text| round_trip("change.rtt", text)).transpose()?,
            loss: table.loss.map(|loss| share("change.loss", loss, true)).transpose()?,
            reverse_loss: table.reverse_loss.map(|loss| share("change.reverse_loss", loss, true)).transpose()?,
        };
        if change == (Change { at: change.at, ..Change::default() }) {
            return Err(format!("the change at {} changes nothing: name rate, rtt, loss or reverse_loss", table.at));
        }
        Ok(change)
    };
    file.change.iter().map(one).collect()
}

/// A path of the sample, by its number.
fn sampled(file: &File, table: &PathTable, point: &str) -> Result<PathSpec, String> {
    let sample = file.sample.as_ref().ok_or("`sweep` goes over paths, but there is no `[sample]` to draw them from")?;
    let number = point.parse::<u32>().ok().filter(|&number| number < sample.count);
    let number = number
        .ok_or_else(|| format!("`sweep.values` has {point}: the sample's paths are 0 to {}", sample.count - 1))?;
    let drawn = draw::path(sample, number)?;
    let base = constant(table)?;
    Ok(PathSpec { rate: drawn.rate, rtt: drawn.rtt, buffer: drawn.buffer, loss: drawn.loss, ..base })
}
