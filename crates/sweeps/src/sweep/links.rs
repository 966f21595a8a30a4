//! Radio links drawn at random, and what senders make of them: the page `docs/sweeps/links.md`.

use crate::each::each;
use crate::measure::Variant;
use core::time::Duration;
use pcc::control::{Law, ascent};
use pcc::units::Rate;
use pcc::utility::Fair;
use pcc_link::{Change, Path, Rng, Rule};
use pcc_sim::{Control, Flow, Results, Scenario, run};
use std::sync::Arc;

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

pub(crate) fn link(seed: u64) -> Result<Path, String> {
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

fn once(sender: &Sender, seed: u64) -> Result<Results, String> {
    let flow = match sender {
        Sender::Pcc(variant) => {
            let mut flow = Flow::of(Control::Pcc);
            (flow.config.law, flow.config.utility) = (Some(variant.law.clone()), variant.utility.clone());
            flow
        }
        Sender::Peer(control) => Flow::of(control.clone()),
    };
    let scenario = Scenario::new(link(seed)?, vec![flow], seed, EVERY * CHANGES);
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

/// The price of a queue: A of `fair`, from a twelfth of its default to thirty-three times it. The frontier of rate and delay.
const LEVELS: [&str; 8] = [
    "fair,level=0.0005",
    "fair,level=0.002",
    "fair,level=0.005",
    "fair,level=0.01",
    "fair,level=0.02",
    "fair,level=0.05",
    "fair,level=0.1",
    "fair,level=0.2",
];

enum Sender {
    Pcc(Variant),
    Peer(Control),
}

const HEAD: &str = "\
# Radio links

Sixty radio links of 200 s, drawn as the lab draws its cellular link after Sprout (NSDI 2013 §3.1): up to 11 Mbit/s, with outages of
one second in the mean. The RTT is 50 ms, the buffer 750 KB, and the sender is alone. Made by

```sh
cargo run --release -p pcc-sweeps --bin sweep links >docs/sweeps/links.md
```

Virtual time; BBR and CUBIC are the simulator's models. The error of a share is the standard error over the links.
";

const TAIL: &str = "
* `level` is what a standing queue costs in `fair`: a larger one buys more of the link with a longer queue.
* BBR keeps the rate of before an outage. PCC climbs again from the rate that it found in the outage.
* In an outage the window holds what is in flight, so the queue stands at half of the rate too. A base-RTT test in which less was sent
  than was asked for therefore proves nothing, nor does a queue that was gone before the test ended (`control/ascent/level.rs`).
* The window is bounded by the law's own base RTT, which only a test makes longer. The least RTT of the last seconds would forget the
  path behind a queue that a dark link keeps for longer.
";

/// The whole page.
pub(crate) fn page() -> Result<String, String> {
    Ok(format!("{HEAD}\n{}\n{}", table(&[])?, TAIL.trim_end()))
}

/// PCC's defaults, then each variant instead of them, then the peers.
pub(crate) fn table(asked: &[String]) -> Result<String, String> {
    let base =
        Variant { name: "PCC".into(), law: Law::Ascent(ascent::Config::default()), utility: Arc::new(Fair::default()) };
    let variants = if asked.is_empty() { LEVELS.map(str::to_owned).to_vec() } else { asked.to_vec() };
    let variants = variants.iter().map(|written| Variant::of(&base, written)).collect::<Result<Vec<_>, _>>()?;
    let ours = core::iter::once(base).chain(variants).map(|variant| (variant.name.clone(), Sender::Pcc(variant)));
    let peers = [("BBR", Control::Bbr), ("CUBIC", Control::Cubic)];
    let senders = ours.chain(peers.map(|(name, control)| (name.to_owned(), Sender::Peer(control))));
    let seeds: Vec<_> = (1..=LINKS).collect();
    let lines = senders.map(|(name, sender)| Ok(line(&name, &each(&seeds, |seed| once(&sender, *seed))?)));
    let lines = lines.collect::<Result<Vec<_>, String>>()?.join("\n");
    Ok(format!(
        "| {LINKS} links of {} s | share | RTT added p50, ms | p95, geometric mean | p95, mean | p95, worst link | loss, % |\n\
         |---|--:|--:|--:|--:|--:|--:|\n{lines}",
        (EVERY * CHANGES).as_secs(),
    ))
}
