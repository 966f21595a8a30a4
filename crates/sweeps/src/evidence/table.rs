//! The page: a row a path, for each law how often it went the right way and after how many pairs.

use crate::passage::{Change, Passage, Place, Sender, observe};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const SENDERS: [Sender; 4] = [
    Sender { law: "ascent", utility: "fair" },
    Sender { law: "allegro", utility: "safe" },
    Sender { law: "vivace", utility: "vivace" },
    Sender { law: "vivace,proteus", utility: "vivace" },
];
const LOSSES: [f64; 4] = [0.0, 0.01, 0.02, 0.04];
const JITTERS: [u32; 4] = [0, 5, 20, 40];
const FLOWS: [u64; 4] = [1, 2, 4, 10];
/// More than any objective here bears at 100 Mbit/s.
const TOO_MUCH: f64 = 0.08;
/// The number of seeds of a lone sender; several senders are several observations.
const SEEDS: u64 = 16;

/// Places, and what changes there.
fn cells() -> Vec<(Place, Change)> {
    let mut cells = Vec::new();
    for flows in FLOWS {
        for loss in LOSSES {
            for jitter_ms in JITTERS {
                let place = Place { loss, jitter_ms, flows };
                if flows == 1 || loss == 0.0 || jitter_ms == 0 {
                    cells.extend([(place, Change::More), (place, Change::Less)]);
                }
            }
        }
        for jitter_ms in JITTERS {
            if flows == 1 || jitter_ms == 0 {
                cells.push((Place { loss: 0.0, jitter_ms, flows }, Change::Loss(TOO_MUCH)));
            }
        }
    }
    cells
}

/// The results of a law in a cell.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// Pairs that each right decision took.
    right: Vec<f64>,
    wrong: u32,
    never: u32,
}

impl Tally {
    fn add(&mut self, passage: Passage) {
        match passage {
            Passage::Right { pairs } => self.right.push(pairs),
            Passage::Wrong => self.wrong += 1,
            Passage::Never => self.never += 1,
        }
    }

    fn all(&self) -> f64 {
        self.right.len() as f64 + f64::from(self.wrong + self.never)
    }

    fn chance(&self) -> f64 {
        self.right.len() as f64 / self.all()
    }

    /// In the median of those that went the right way.
    fn pairs(&self) -> Option<f64> {
        let mut sorted = self.right.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }

    fn text(&self) -> String {
        match self.pairs() {
            _ if self.all() == 0.0 => "–".to_owned(),
            None => "0, never".to_owned(),
            Some(pairs) => format!("{:.2}, {pairs:.1}", self.chance()),
        }
    }

    /// Whether the other one goes the right way more often, by two standard errors of the difference, with one success and one
    /// failure added to each (Agresti and Caffo, 2000).
    fn is_surely_below(&self, other: &Self) -> bool {
        let shrunk = |tally: &Self| ((tally.right.len() as f64 + 1.0) / (tally.all() + 2.0), tally.all() + 2.0);
        let ((p, n), (q, m)) = (shrunk(self), shrunk(other));
        self.all() > 0.0 && other.all() > 0.0 && q - p > 2.0 * (p * (1.0 - p) / n + q * (1.0 - q) / m).sqrt()
    }
}

fn tallies(cells: &[(Place, Change)]) -> Result<Vec<[Tally; SENDERS.len()]>, String> {
    let mut tasks = Vec::new();
    for (cell, (place, _)) in cells.iter().enumerate() {
        for sender in 0..SENDERS.len() {
            let seeds = (SEEDS / place.flows).max(4);
            tasks.extend((1..=seeds).map(|seed| (cell, sender, seed)));
        }
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mine = core::iter::from_fn(|| tasks.get(next.fetch_add(1, Ordering::Relaxed)));
        let observed = mine.map(|&(cell, sender, seed)| {
            let (place, change) = cells[cell];
            Ok((cell, sender, observe(SENDERS[sender], place, change, seed)?))
        });
        observed.collect::<Result<Vec<_>, String>>()
    };
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let done = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let join = |one: thread::ScopedJoinHandle<'_, _>| one.join().map_err(|_| "a simulation panicked".to_owned())?;
        workers.into_iter().map(join).collect::<Result<Vec<_>, String>>()
    })?;
    let mut all: Vec<[Tally; SENDERS.len()]> = vec![Default::default(); cells.len()];
    for (cell, sender, passages) in done.into_iter().flatten() {
        passages.into_iter().for_each(|passage| all[cell][sender].add(passage));
    }
    Ok(all)
}

const HEAD: &str = "\
# How often each law moves the right way, and how soon

Made, whole, by

```sh
cargo run --release -p pcc-sweeps --bin evidence >docs/sweeps/evidence.md
```

Equal senders share 100 Mbit/s, 30 ms and a buffer of 375 KB for five seconds. Then the capacity becomes 125 or 80 Mbit/s, or the
path begins to lose 8 % at random, more than any of these utilities bears. A sender whose rate is 7 % or more below its part of the
new capacity should go up, one as far above it down. The others have no right direction; a cell with nobody else has `–`. After 8 %
of loss down is right.

Each cell has two figures:

* the share of cases in which the rate moved the right way: when it first differed by 5 % from its mean of the second before the
  change, within four seconds;
* the median number of pairs of judged intervals from the change to that moment.

A rate is the mean over four RTT, since a law may take back its last step at once. It is looked at from five RTT after the change on.
Intervals differ: half an RTT each for Ascent, an RTT for Vivace, 1 to 1.4 for Allegro. A lone sender has 16 cases, several have up
to 16 to 40.
";

fn change_text(change: Change) -> &'static str {
    match change {
        Change::More => "more",
        Change::Less => "less",
        Change::Loss(_) => "loses 8 %",
    }
}

pub(crate) fn page() -> Result<String, String> {
    let cells = cells();
    let all = tallies(&cells)?;
    let mut text = vec![HEAD.to_owned()];
    for flows in FLOWS {
        text.push(format!("## {}\n", if flows == 1 { "A lone sender".to_owned() } else { format!("{flows} senders") }));
        let heads = SENDERS.map(|sender| format!("{} / {}", sender.law, sender.utility));
        text.push(format!("| loss | jitter, ms | then | {} |", heads.join(" | ")));
        text.push(format!("|--:|--:|---|{}", "--:|".repeat(SENDERS.len())));
        for ((place, change), tallies) in cells.iter().zip(&all).filter(|((place, _), _)| place.flows == flows) {
            let figures: Vec<_> = tallies.iter().map(Tally::text).collect();
            text.push(format!(
                "| {} % | {} | {} | {} |",
                100.0 * place.loss,
                place.jitter_ms,
                change_text(*change),
                figures.join(" | ")
            ));
        }
        text.push(String::new());
    }
    text.push("## Where Ascent is below Allegro\n".into());
    text.push("By two standard errors in the share of right directions:\n".into());
    let below = cells.iter().zip(&all).filter(|(_, [ascent, allegro, ..])| ascent.is_surely_below(allegro));
    let mut lines: Vec<_> =
        below.map(|((place, change), [ascent, allegro, ..])| line(*place, *change, ascent, allegro)).collect();
    if lines.is_empty() {
        lines.push("nowhere.".to_owned());
    }
    text.extend(lines);
    let above = all.iter().filter(|[ascent, allegro, ..]| allegro.is_surely_below(ascent)).count();
    text.push(format!("\nAllegro is below Ascent in {above} of {} cells.", cells.len()));
    Ok(text.join("\n"))
}

fn line(place: Place, change: Change, ascent: &Tally, allegro: &Tally) -> String {
    format!(
        "* {} % of loss, {} ms of jitter, {} {}, then {}: {} against {}; Ascent went the wrong way in {} of {} cases and \
         nowhere in {}",
        100.0 * place.loss,
        place.jitter_ms,
        place.flows,
        if place.flows == 1 { "sender" } else { "senders" },
        change_text(change),
        ascent.text(),
        allegro.text(),
        ascent.wrong,
        ascent.all(),
        ascent.never
    )
}
