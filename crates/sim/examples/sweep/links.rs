//! Radio links drawn at random, and what senders make of them: the page `docs/sweeps/links.md`.

use crate::measure::each;
use core::time::Duration;
use pcc::units::Rate;
use pcc_link::{Change, Path, Rng, Rule};
use pcc_sim::{Control, Flow, Results, Scenario, run};

const LINKS: u64 = 60;
/// As the lab draws them (`scenarios/cellular.toml`), after Sprout (NSDI 2013 §3.1): a Brownian motion between these rates, with
/// this standard deviation after a second, and an outage of a second in the mean where it reaches zero. Unit: Mbit/s.
const MOST: f64 = 11.0;
const WANDER: f64 = 2.4;
/// A queue cannot have no rate at all.
const OUTAGE: f64 = 0.08;
const EVERY: Duration = Duration::from_millis(200);
/// So often it changes: 200 s.
const CHANGES: u32 = 1000;

/// About normal, of mean zero and standard deviation one: a sum of uniform numbers is the same on every platform.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// About exponential, of mean one: the time to the first success of one in fifty.
fn exponential(rng: &mut Rng) -> f64 {
    let tries = core::iter::from_fn(|| (!rng.chance(0.02)).then_some(())).take(1000).count();
    (tries as f64 + 0.5) / 50.0
}

fn link(seed: u64) -> Result<Path, String> {
    let mut path: Path = "rate=5.5Mbit,rtt=50ms,buffer=750kB".parse().map_err(|error| format!("{error}"))?;
    let (mut rng, mut rate, mut dark) = (Rng::new(seed), MOST / 2.0, 0.0);
    let step = WANDER * EVERY.as_secs_f64().sqrt();
    for number in 0..CHANGES {
        let now = if dark > 0.0 {
            dark -= EVERY.as_secs_f64();
            0.0
        } else {
            rate += step * normal(&mut rng);
            rate = if rate > MOST { (2.0 * MOST - rate).max(0.0) } else { rate };
            if rate <= 0.0 {
                (rate, dark) = (0.0, exponential(&mut rng));
            }
            rate
        };
        let change = Change { rate: Some(Rate::from_mbit(now.max(OUTAGE))), ..Change::default() };
        path.down.schedule.rules.push(Rule::At(EVERY * number, change));
    }
    Ok(path)
}

fn once(control: Control, seed: u64) -> Result<Results, String> {
    let scenario = Scenario::new(link(seed)?, vec![Flow::of(control)], seed, EVERY * CHANGES);
    run(&scenario).map_err(|error| format!("{error}"))
}

fn line(name: &str, results: &[Results]) -> String {
    let n = results.len() as f64;
    let mean = |of: &dyn Fn(&Results) -> f64| results.iter().map(of).sum::<f64>() / n;
    let share = |one: &Results| one.share_after(Duration::ZERO);
    let queue = |quantile| move |one: &Results| one.flows[0].added_rtt(quantile).as_secs_f64() * 1e3;
    let average = mean(&share);
    let error = (mean(&|one| (share(one) - average).powi(2)) / (n - 1.0)).sqrt();
    let worst = results.iter().map(queue(0.95)).fold(0.0, f64::max);
    format!(
        "| {name} | {average:.3} ± {error:.3} | {:.0} | {:.0} | {:.0} | {worst:.0} | {:.2} |",
        mean(&queue(0.5)),
        mean(&|one| queue(0.95)(one).max(1.0).ln()).exp(),
        mean(&queue(0.95)),
        100.0 * mean(&|one| one.flows[0].loss()),
    )
}

pub(crate) fn table() -> Result<String, String> {
    let seeds: Vec<_> = (1..=LINKS).collect();
    let senders = [("PCC", Control::Pcc), ("BBR", Control::Bbr), ("CUBIC", Control::Cubic)];
    let lines = senders.iter().map(|(name, control)| Ok(line(name, &each(&seeds, |seed| once(*control, *seed))?)));
    let lines = lines.collect::<Result<Vec<_>, String>>()?.join("\n");
    Ok(format!(
        "| {LINKS} links of {} s | share | RTT added p50, ms | p95, geometric mean | p95, mean | p95, worst link | loss, % |\n\
         |---|--:|--:|--:|--:|--:|--:|\n{lines}",
        (EVERY * CHANGES).as_secs(),
    ))
}
