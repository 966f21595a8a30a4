//! Draws from a seed: changing paths, cellular links, samples of the Internet, arrivals of short flows.
//!
//! All of it is drawn on the host and written into the run's specification, so that a run says what it was. Machines that
//! share a campaign must draw the same: logarithms are `libm`'s, since those of the standard library are the system's,
//! and differ in their last bit from one C library to another.

use super::file::{CellularTable, ChangesTable, SampleTable};
use super::quantity::{OUTAGE_RATE, bytes, nanos, rate, round_trip, share};
use crate::spec::{Change, PACKET, PathSpec};
use pcc::rng::Rng;
use std::path::Path;

/// Streams of random numbers that must not depend on each other.
const CHANGES: u64 = 0x6368_616e_6765_7300;
const CELLULAR: u64 = 0x6365_6c6c_756c_6172;
const ARRIVALS: u64 = 0x6172_7269_7661_6c73;
const PAUSES: u64 = 0x7061_7573_6573_0000;
const STARTS: u64 = 0x7374_6172_7473_0000;

fn uniform(rng: &mut Rng, [low, high]: [f64; 2]) -> f64 {
    low + (high - low) * rng.unit()
}

fn log_uniform(rng: &mut Rng, [low, high]: [f64; 2]) -> f64 {
    libm::exp(uniform(rng, [libm::log(low), libm::log(high)]))
}

/// A share of packets as it is stored: in whole billionths, so that nine decimals are all of it. A queue knows it in
/// units of 2^-32 anyway.
fn billionths(share: f64) -> f64 {
    (share * 1e9).round() / 1e9
}

/// Both ends of a range that were read, in order.
fn range(key: &str, ends: [Result<u64, String>; 2]) -> Result<[f64; 2], String> {
    let [low, high] = ends;
    let (low, high) = (low?, high?);
    if low > high {
        return Err(format!("`{key}` goes from {low} to {high}: write the smaller one first"));
    }
    Ok([low as f64, high as f64])
}

/// Bit/s in whole bytes a second.
fn whole(rate: f64) -> u64 {
    rate as u64 / 8 * 8
}

/// Rate, round trip and loss, each uniform within its range, again every so often from the beginning on.
pub(super) fn changes(table: &ChangesTable, seed: u64, duration: u64) -> Result<Vec<Change>, String> {
    let every = nanos("changes.every", &table.every)?;
    if every < 10_000_000 {
        return Err(format!("`changes.every` is {}: 10ms is the least", table.every));
    }
    let both = |key: &str, texts: &[String; 2], read: fn(&str, &str) -> Result<u64, String>| {
        range(key, [read(key, &texts[0]), read(key, &texts[1])])
    };
    let rates = table.rate.as_ref().map(|texts| both("changes.rate", texts, rate)).transpose()?;
    let rtts = table.rtt.as_ref().map(|texts| both("changes.rtt", texts, round_trip)).transpose()?;
    let losses = match table.loss {
        Some([low, high]) if low > high => return Err(format!("`changes.loss` goes from {low} to {high}")),
        Some([low, high]) => Some([share("changes.loss", low, true)?, share("changes.loss", high, true)?]),
        None => None,
    };
    let mut rng = Rng::new(seed ^ CHANGES);
    let draw = |at| Change {
        at,
        rate: rates.map(|range| whole(uniform(&mut rng, range))),
        rtt: rtts.map(|range| uniform(&mut rng, range) as u64),
        loss: losses.map(|range| billionths(uniform(&mut rng, range))),
        reverse_loss: None,
    };
    Ok((0..duration.div_ceil(every)).map(|number| number * every).map(draw).collect())
}

/// A standard normal number (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - rng.unit())).sqrt();
    radius * libm::cos(std::f64::consts::TAU * rng.unit())
}

/// The rates of a radio link.
///
/// Generated, it is the model of Sprout (Winstein, Sivaraman, Balakrishnan, NSDI 2013, section 3.1): the rate is a
/// Brownian motion of standard deviation `wander` over a second, kept between 0 and `most`; where it reaches 0 an outage
/// begins, which lasts for an exponential time of mean `outage`. The paper's values are 1000 packets a second at the most
/// (11 Mbit/s), 200 packets a second (2.4 Mbit/s) and 1 s. Deviates: within `every` the rate is constant, and packets
/// leave evenly instead of as a Poisson process.
pub(super) fn cellular(table: &CellularTable, seed: u64, duration: u64, dir: &Path) -> Result<Vec<Change>, String> {
    let every = nanos("cellular.every", &table.every)?;
    if !(20_000_000..=10_000_000_000).contains(&every) {
        return Err(format!("`cellular.every` is {}: it must lie between 20ms and 10s", table.every));
    }
    let count = duration.div_ceil(every);
    let rates = match &table.file {
        Some(name) => {
            let path = dir.join(name);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("could not read the trace {}: {error}", path.display()))?;
            mahimahi(&text, every, count).map_err(|problem| format!("the trace {}: {problem}", path.display()))?
        }
        None => {
            let missing = |key: &str| format!("`cellular.{key}` is missing: give most, wander and outage, or a file");
            let read = |key: &str, text: &Option<String>| match text {
                Some(text) => rate(key, text),
                None => Err(missing(key)),
            };
            let most = read("most", &table.most)? as f64;
            let wander = read("wander", &table.wander)? as f64;
            let outage = nanos("outage", table.outage.as_deref().ok_or_else(|| missing("outage"))?)? as f64;
            wandering(Rng::new(seed ^ CELLULAR), [most, wander, outage], every as f64, count)
        }
    };
    let mut changes: Vec<Change> = Vec::new();
    for (number, rate) in rates.into_iter().enumerate() {
        let rate = Some(whole(rate.max(OUTAGE_RATE)));
        // Each change gives the bottleneck a packet's worth of tokens, so none is made for nothing.
        if changes.last().is_none_or(|last| last.rate != rate) {
            changes.push(Change { at: number as u64 * every, rate, ..Change::default() });
        }
    }
    Ok(changes)
}

fn wandering(mut rng: Rng, [most, wander, outage]: [f64; 3], every: f64, count: u64) -> Vec<f64> {
    let (mut rate, mut dark) = (most / 2.0, 0.0);
    let step = wander * (every / 1e9).sqrt();
    let mut next = || {
        if dark > 0.0 {
            dark -= every;
            return 0.0;
        }
        rate += step * normal(&mut rng);
        // At the top it turns back.
        rate = if rate > most { (2.0 * most - rate).max(0.0) } else { rate };
        if rate <= 0.0 {
            rate = 0.0;
            dark = -outage * libm::log(1.0 - rng.unit());
        }
        rate
    };
    (0..count).map(|_| next()).collect()
}

/// Reads a trace of mahimahi: a line for each chance to deliver 1504 bytes, with its time in ms; it repeats at its end.
fn mahimahi(text: &str, every: u64, count: u64) -> Result<Vec<f64>, String> {
    const CHANCE_BITS: f64 = 1504.0 * 8.0;
    let mut chances = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at: u64 = line.parse().map_err(|_| format!("line {} is `{line}`, not a time in ms", number + 1))?;
        if chances.last().is_some_and(|&last| at < last) {
            return Err(format!("line {} goes back in time", number + 1));
        }
        chances.push(at);
    }
    let period = chances.last().copied().filter(|&last| last > 0).ok_or("it holds no time above 0")?;
    let mut rates = vec![0.0; count as usize];
    let end = count * every / 1_000_000;
    for round in 0..=end / period {
        for at in chances.iter().map(|at| round * period + at) {
            if let Some(rate) = rates.get_mut((at * 1_000_000 / every) as usize) {
                *rate += CHANCE_BITS * 1e9 / every as f64;
            }
        }
    }
    Ok(rates)
}

/// Draws the path of that number; whether others are drawn makes no difference.
pub(super) fn path(table: &SampleTable, number: u32) -> Result<PathSpec, String> {
    let both = |key: &str, texts: &[String; 2], read: fn(&str, &str) -> Result<u64, String>| {
        range(key, [read(key, &texts[0]), read(key, &texts[1])])
    };
    let rates = both("sample.rate", &table.rate, rate)?;
    let rtts = both("sample.rtt", &table.rtt, round_trip)?;
    let bdps = both("sample.bdp", &table.bdp, bytes)?;
    let ordered = |[low, high]: [f64; 2]| low > 0.0 && low <= high;
    if !ordered(table.buffer) || !ordered(table.loss) || table.loss[1] >= 1.0 || rtts[0] <= 0.0 {
        return Err("`sample` needs ranges above 0 that begin with the smaller end, and losses below 1".into());
    }
    let lossless = share("sample.lossless", table.lossless, true)?;
    // The number's own stream: multiplying spreads neighbours apart (Knuth).
    let mut rng = Rng::new(table.seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    /// Ranges of rate and RTT that hardly meet the wanted products are a mistake.
    const TRIES: u32 = 10_000;
    for _ in 0..TRIES {
        let (rate, rtt) = (whole(log_uniform(&mut rng, rates)), log_uniform(&mut rng, rtts) as u64);
        let bdp = rate as f64 / 8.0 * rtt as f64 / 1e9;
        if !(bdps[0]..=bdps[1]).contains(&bdp) {
            continue;
        }
        let buffer = ((bdp * log_uniform(&mut rng, table.buffer)) as u64).max(2 * PACKET);
        let is_lossless = rng.unit() < lossless;
        let loss = billionths(log_uniform(&mut rng, table.loss));
        let loss = if is_lossless { 0.0 } else { loss };
        return Ok(PathSpec { rate, rtt, buffer, loss, ..PathSpec::default() });
    }
    Err("`sample`: hardly any rate and RTT have such a bandwidth-delay product".into())
}

/// When a flow starts that starts at any time from the first to the last.
pub(super) fn start(seed: u64, [first, last]: [u64; 2]) -> u64 {
    uniform(&mut Rng::new(seed ^ STARTS), [first as f64, last as f64]) as u64
}

/// When a busy host lets nothing of a sender run between two moments: for times uniform up to `longest`, which add up to
/// the share `busy`, between exponential times in which it runs.
pub(super) fn pauses(seed: u64, busy: f64, longest: f64, start: u64, stop: u64) -> Vec<(u64, u64)> {
    let mut rng = Rng::new(seed ^ PAUSES);
    let running = longest / 2.0 * (1.0 - busy) / busy;
    let mut all = Vec::new();
    let mut at = start as f64;
    loop {
        let from = at - running * libm::log(1.0 - rng.unit());
        at = from + uniform(&mut rng, [0.0, longest]);
        if at >= stop as f64 {
            return all;
        }
        all.push((from as u64, at as u64));
    }
}

/// Moments at which short flows arrive, with exponential gaps of mean `gap`, from `start` to `stop`.
pub(super) fn arrivals(seed: u64, gap: f64, start: u64, stop: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed ^ ARRIVALS);
    let mut all = Vec::new();
    let mut at = start as f64;
    loop {
        at += -gap * libm::log(1.0 - rng.unit());
        if at >= stop as f64 {
            return all;
        }
        all.push(at as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_changing_path_is_uniform_and_follows_from_the_seed() {
        let table = ChangesTable {
            every: "5s".into(),
            rate: Some(["10Mbit".into(), "100Mbit".into()]),
            rtt: Some(["10ms".into(), "100ms".into()]),
            loss: Some([0.0, 0.01]),
        };
        let drawn = changes(&table, 1, 500_000 * MS).unwrap();
        assert_eq!(drawn.len(), 100);
        assert_eq!(drawn, changes(&table, 1, 500_000 * MS).unwrap());
        assert_ne!(drawn, changes(&table, 2, 500_000 * MS).unwrap());
        let mean = drawn.iter().filter_map(|change| change.rate).sum::<u64>() as f64 / 100.0;
        assert!((45e6..65e6).contains(&mean), "{mean}");
        assert!(drawn.iter().all(|change| change.loss.unwrap() <= 0.01 && change.rtt.unwrap() >= 10 * MS));
    }

    #[test]
    fn a_generated_radio_link_wanders_between_outage_and_its_most() {
        let rates = wandering(Rng::new(3), [11e6, 2.4e6, 1e9], 250e6, 4000);
        assert!(rates.iter().all(|rate| (0.0..=11e6).contains(rate)));
        let dark = rates.iter().filter(|rate| **rate == 0.0).count();
        assert!((20..2000).contains(&dark), "{dark} of 4000 in the dark");
        let mean = rates.iter().sum::<f64>() / 4000.0;
        assert!((3e6..7e6).contains(&mean), "{mean}");
    }

    #[test]
    fn a_trace_of_mahimahi_becomes_rates_and_repeats() {
        // Two chances in the first 100 ms, one in the second; the trace is 200 ms long.
        let rates = mahimahi("10\n50\n\n200\n", 100 * MS, 5).unwrap();
        let chances: Vec<_> = rates.iter().map(|rate| (rate / 120_320.0).round() as u32).collect();
        assert_eq!(chances, [2, 0, 3, 0, 3]);
        for (text, expected) in [("x", "line 1 is `x`"), ("5\n4", "line 2 goes back"), ("# nothing\n", "no time")] {
            assert!(mahimahi(text, MS, 1).unwrap_err().contains(expected), "{text}");
        }
    }

    #[test]
    fn arrivals_have_the_mean_gap_that_was_asked_for() {
        let all = arrivals(1, 100e6, 0, 1000 * 1000 * MS);
        assert!((9_500..10_500).contains(&all.len()), "{}", all.len());
        assert!(all.is_sorted());
    }

    #[test]
    fn what_is_drawn_is_the_same_on_every_machine() {
        let table = SampleTable {
            count: 510,
            seed: 1,
            rate: ["2Mbit".into(), "500Mbit".into()],
            rtt: ["10ms".into(), "300ms".into()],
            buffer: [0.02, 2.0],
            loss: [1e-5, 1e-2],
            lossless: 0.5,
            bdp: ["14.3kB".into(), "18MB".into()],
        };
        let paths: Vec<_> = (0..510).map(|number| path(&table, number).unwrap()).collect();
        let rates = wandering(Rng::new(3), [11e6, 2.4e6, 1e9], 250e6, 4000);
        let moments = arrivals(1, 100e6, 0, 1000 * 1000 * MS);
        let drawn = serde_json::to_string(&(&paths, rates, moments)).unwrap();
        assert_eq!(&blake3::hash(drawn.as_bytes()).to_hex()[..16], "370a10892ef2d64a");
        // A loss stands in the specification as a decimal number of nine places at the most.
        for loss in paths.iter().map(|path| path.loss.to_string()) {
            assert!(loss.len() <= "0.123456789".len(), "{loss}");
        }
    }

    #[test]
    fn a_busy_host_stands_still_for_its_share_in_short_stops() {
        let all = pauses(1, 0.4, 10e6, 5000 * MS, 105_000 * MS);
        let still: u64 = all.iter().map(|(from, to)| to - from).sum();
        assert!((0.38..0.42).contains(&(still as f64 / 100e9)), "{still}");
        assert!(all.iter().all(|(from, to)| *from >= 5000 * MS && from <= to && to - from <= 10 * MS));
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        assert_ne!(all, pauses(2, 0.4, 10e6, 5000 * MS, 105_000 * MS));
    }

    #[test]
    fn a_sampled_path_does_not_depend_on_the_others() {
        let table = SampleTable {
            count: 510,
            seed: 1,
            rate: ["2Mbit".into(), "500Mbit".into()],
            rtt: ["10ms".into(), "300ms".into()],
            buffer: [0.02, 2.0],
            loss: [1e-5, 1e-2],
            lossless: 0.5,
            bdp: ["14.3kB".into(), "18MB".into()],
        };
        let all: Vec<_> = (0..510).map(|number| path(&table, number).unwrap()).collect();
        assert_eq!(all[17], path(&table, 17).unwrap());
        let bdp = |path: &PathSpec| path.rate as f64 / 8.0 * path.rtt as f64 / 1e9;
        assert!(all.iter().all(|path| (14.2e3..=18e6).contains(&bdp(path)) && path.buffer >= 2 * PACKET));
        let lossless = all.iter().filter(|path| path.loss == 0.0).count();
        assert!((205..305).contains(&lossless), "{lossless}");
    }
}
