//! From which loss on, and up to which level, losses tell what a test does not: the page `docs/sweeps/loss-tells.md`.
#![expect(clippy::print_stderr, reason = "it says how far it is")]

use crate::copy::{Copy, root};
use crate::measure::Metric::{JainLate, Lost, Of};
use crate::measure::{Case, Figure, names};
use crate::page::columns;
use crate::parts::OFF;
use pcc_sim::score::Measure::{LastPart, Share};

const SEEDS: u64 = 14;

/// Those who tell a path's delay from a queue worst: one on paths whose delay changes, and crowds of few packets each.
pub(crate) const CASES: [Case; 6] = [
    Case {
        path: "changing",
        flows: "pcc",
        seconds: 100,
        seeds: SEEDS,
        figures: &[("changing path: share", Of(Share))],
    },
    Case {
        path: "rate=20Mbit,rtt=10ms,buffer=1MB,wifi=2ms",
        flows: "pcc",
        seconds: 30,
        seeds: SEEDS,
        figures: &[("Wi-Fi, 20 Mbit/s: share", Of(Share))],
    },
    Case {
        path: "rate=50Mbit,rtt=40ms,buffer=.5bdp",
        flows: "pcc*32:start=random:0..10s",
        seconds: 60,
        seeds: SEEDS,
        figures: &[("32 on 50 Mbit/s: loss, %", Lost), ("32 on 50 Mbit/s: Jain", JainLate(30))],
    },
    Case {
        path: "rate=10Mbit,rtt=50ms,buffer=62KB",
        flows: "pcc*20:start=random:0..5s",
        seconds: 60,
        seeds: SEEDS,
        figures: &[("20 on 10 Mbit/s: loss, %", Lost)],
    },
    Case {
        path: "rate=5Mbit,rtt=40ms,buffer=50KB",
        flows: "pcc*8:start=random:0..5s",
        seconds: 60,
        seeds: SEEDS,
        figures: &[("8 on 5 Mbit/s: loss, %", Lost)],
    },
    Case {
        path: "rate=30Mbit,rtt=30ms,buffer=112KB",
        flows: "cubic pcc:start=5s",
        seconds: 60,
        seeds: SEEDS,
        figures: &[("after a CUBIC, 1 BDP: part", Of(LastPart))],
    },
];

const FILE: &str = "control/ascent/level.rs";

/// The constants as `level.rs` has them, and what they are instead. No loss rate is above 1.
const OVERFLOWS: (&str, &[&str]) = ("OVERFLOWS: f64 = 0.01", &["1.0", "0.015", "0.006", "0.003"]);
const TELLABLE: (&str, &[&str]) = ("TELLABLE: f64 = 12.0", &["6.0", "24.0", "f64::MAX"]);

const HEAD: &str = "\
# Losses that tell where a test does not

Made by

```sh
cargo run --release -p pcc-sweeps --bin sweep loss-tells >docs/sweeps/loss-tells.md
```

Where the rate fell and the queueing delay did not, one pair is sent at half of the rate: a delay that stays is the path's. Of a delay
below `TELLABLE` errors of a reading a test tells nothing. There a loss rate above `OVERFLOWS` shows that it is a queue. Each column is
one value of one of them; the first is the law's. Medians of fourteen seeds, and their range. Virtual time.

`OVERFLOWS`: below 0.01 crowds gain little more, and one sender loses on a path that changes and on Wi-Fi. `TELLABLE`: with 6 more is lost
by 32 senders, and without an end the changing path has less. 12 and 24 differ by no more than their seeds.
";

/// The median, and all seeds' range.
fn cell(figure: &Figure) -> String {
    let (low, high) = figure.range();
    format!("{:.3} ({low:.3} to {high:.3})", figure.median())
}

/// The law's figures, and those of these values in its place.
fn table(copy: &Copy, usual: &[Figure], (constant, values): (&str, &[&str])) -> Result<String, String> {
    let names = names(&CASES);
    let (name, today) = constant.split_once(": f64 = ").ok_or("a constant has a name and a value")?;
    let mut found = vec![(today, usual.to_vec())];
    for value in values {
        eprintln!("{name} = {value}");
        let other = format!("{name}: f64 = {value}");
        copy.replace(FILE, constant, &other)?;
        let figures = copy.build().and_then(|program| program.ask(&["loss-tells-figures"], names.len(), OFF, ""));
        copy.replace(FILE, &other, constant)?;
        found.push((value, figures?));
    }
    Ok(format!("## `{name}`\n\n{}", columns(&CASES, &found, cell)))
}

/// The whole page.
pub(crate) fn page() -> Result<String, String> {
    let copy = Copy::of(&root()?, "loss-tells")?;
    let usual = copy.build()?.ask(&["loss-tells-figures"], names(&CASES).len(), OFF, "")?;
    Ok(format!("{HEAD}\n{}\n\n{}", table(&copy, &usual, OVERFLOWS)?, table(&copy, &usual, TELLABLE)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_has_the_constants_that_are_turned() {
        let level = std::fs::read_to_string(root().unwrap().join("crates/core/src").join(FILE)).unwrap();
        for (constant, _) in [OVERFLOWS, TELLABLE] {
            assert_eq!(level.matches(constant).count(), 1, "{constant}");
        }
    }
}
