//! Many senders on one bottleneck, and one beside CUBIC: the page `docs/sweeps/crowd.md`.

use crate::ascent;
use crate::measure::{Case, Figure, Metric, measure};
use crate::page::columns;
use Metric::{JainLate, Lost, Of};
use pcc_sim::score::Measure::LastPart;

const SEEDS: u64 = 6;

const fn case(
    path: &'static str,
    flows: &'static str,
    seconds: u64,
    figures: &'static [(&'static str, Metric)],
) -> Case {
    Case { path, flows, seconds, seeds: SEEDS, figures }
}

/// Crowds of a sender, at once and 50 ms apart.
macro_rules! crowds {
    ($sender:literal) => {
        [
            case(
                "clean",
                concat!($sender, "*12"),
                30,
                &[("12 at once: loss, %", Lost), ("12 at once: Jain", JainLate(15))],
            ),
            case(
                "clean",
                concat!($sender, "*33"),
                30,
                &[("33 at once: loss, %", Lost), ("33 at once: Jain", JainLate(15))],
            ),
            case(
                "clean",
                concat!($sender, "*50"),
                30,
                &[("50 at once: loss, %", Lost), ("50 at once: Jain", JainLate(15))],
            ),
            case(
                "clean",
                concat!($sender, "*20:stagger=50ms"),
                20,
                &[("20, 50 ms apart: loss, %", Lost), ("20, 50 ms apart: Jain", JainLate(10))],
            ),
            case(
                "clean",
                concat!($sender, "*33:stagger=50ms"),
                20,
                &[("33, 50 ms apart: loss, %", Lost), ("33, 50 ms apart: Jain", JainLate(10))],
            ),
            case(
                "clean",
                concat!($sender, "*50:stagger=50ms"),
                20,
                &[("50, 50 ms apart: loss, %", Lost), ("50, 50 ms apart: Jain", JainLate(10))],
            ),
        ]
    };
}

const CROWDS: [(&str, [Case; 6]); 3] = [("PCC", crowds!("pcc")), ("BBR", crowds!("bbr")), ("CUBIC", crowds!("cubic"))];

/// One sender of ours beside a CUBIC, and a CUBIC instead of it: the first comes 5 s after the second where it says so.
macro_rules! besides {
    ($sender:literal) => {
        [
            case(
                "rate=30Mbit,rtt=30ms,buffer=28KB",
                concat!("cubic ", $sender),
                60,
                &[("at once, 28 KB (1/4 BDP)", Of(LastPart))],
            ),
            case("rate=30Mbit,rtt=30ms,buffer=112KB", concat!("cubic ", $sender), 60, &[("112 KB", Of(LastPart))]),
            case("rate=30Mbit,rtt=30ms,buffer=448KB", concat!("cubic ", $sender), 60, &[("448 KB", Of(LastPart))]),
            case(
                "rate=10Mbit,rtt=60ms,buffer=75KB",
                concat!("cubic ", $sender),
                60,
                &[("10 Mbit/s, 60 ms, 75 KB", Of(LastPart))],
            ),
            case(
                "rate=30Mbit,rtt=30ms,buffer=112KB",
                concat!("cubic ", $sender, ":start=5s"),
                100,
                &[("5 s later, 112 KB", Of(LastPart))],
            ),
            case(
                "rate=30Mbit,rtt=30ms,buffer=448KB",
                concat!("cubic ", $sender, ":start=5s"),
                100,
                &[("5 s later, 448 KB", Of(LastPart))],
            ),
        ]
    };
}

const BESIDES: [(&str, [Case; 6]); 3] =
    [("PCC", besides!("pcc")), ("BBR", besides!("bbr")), ("another CUBIC", besides!("cubic"))];

const HEAD: &str = "\
# Many senders, and one beside CUBIC

Made by

```sh
cargo run --release -p pcc-sweeps --bin sweep crowd >docs/sweeps/crowd.md
```

Virtual time, the default law and utility; BBR and CUBIC are the simulator's models. Means of six seeds and their standard errors.

## A crowd

Senders share `clean`, 100 Mbit/s and 30 ms. Loss is the mean over all senders from their start. Jain's index is that of the second
half of 30 s, or of 20 s where they come one by one.
";

const BESIDE: &str = "
## Beside a CUBIC

The sender's part of what both deliver, over 60 s, or from its start where it comes later. The path has 30 Mbit/s and 30 ms unless a
line says otherwise.
";

fn table(senders: &[(&'static str, [Case; 6])]) -> Result<String, String> {
    let figures = |cases: &[Case]| -> Result<Vec<Figure>, String> {
        Ok(measure(cases, &[ascent::base()?])?.into_iter().next().unwrap_or_default())
    };
    let rows = senders.iter().map(|(name, cases)| Ok((*name, figures(cases)?))).collect::<Result<Vec<_>, String>>()?;
    Ok(columns(&senders[0].1, &rows, Figure::mean_and_error))
}

/// The whole page.
pub(crate) fn page() -> Result<String, String> {
    Ok(format!("{HEAD}\n{}\n{BESIDE}\n{}", table(&CROWDS)?, table(&BESIDES)?))
}
