//! Ascent with the utility `fair`: the page `docs/sweeps/ascent.md`.

use crate::measure::{Case, Figure, Metric, Variant, measure, names};
use crate::page::{columns, moves, number};
use Metric::{Lost, Of};
use pcc::control::Law;
use pcc::utility::Fair;
use pcc_sim::score::Measure::{Added, AddedP95, Imbalance, Jain, LastPart, Share, Waste};
use std::sync::Arc;

const SEEDS: u64 = 4;

pub(crate) const CASES: [Case; 19] = [
    Case {
        path: "clean",
        flows: "pcc",
        seconds: 20,
        seeds: SEEDS,
        figures: &[("alone: share", Of(Share)), ("alone: RTT added p95, ms", Of(AddedP95))],
    },
    Case { path: "lossy", flows: "pcc", seconds: 20, seeds: SEEDS, figures: &[("1 % loss: share", Of(Share))] },
    Case { path: "lossy,loss=4%", flows: "pcc", seconds: 20, seeds: SEEDS, figures: &[("4 % loss: share", Of(Share))] },
    Case { path: "lossy,loss=8%", flows: "pcc", seconds: 20, seeds: SEEDS, figures: &[("8 % loss: share", Of(Share))] },
    Case { path: "satellite", flows: "pcc", seconds: 60, seeds: SEEDS, figures: &[("satellite: share", Of(Share))] },
    Case {
        path: "shallow,buffer=1.5KB",
        flows: "pcc",
        seconds: 15,
        seeds: SEEDS,
        figures: &[("one packet: share", Of(Share)), ("one packet: loss, %", Lost)],
    },
    Case {
        path: "changing",
        flows: "pcc",
        seconds: 150,
        seeds: SEEDS,
        figures: &[("changing: share", Of(Share)), ("changing: loss, %", Lost)],
    },
    Case {
        path: "clean,buffer=1MB",
        flows: "pcc pcc:start=2s",
        seconds: 30,
        seeds: SEEDS,
        figures: &[
            ("two flows, 1 MB: RTT added p50, ms", Of(Added)),
            ("two flows, 1 MB: waste", Of(Waste)),
            ("two flows, 1 MB: Jain over 1 s", Of(Jain(1))),
        ],
    },
    Case {
        path: "clean,buffer=1MB",
        flows: "pcc*4:stagger=3s",
        seconds: 40,
        seeds: SEEDS,
        figures: &[
            ("four flows, 1 MB: Jain over 1 s", Of(Jain(1))),
            ("four flows, 1 MB: loss, %", Lost),
            ("four flows, 1 MB: RTT added p50, ms", Of(Added)),
        ],
    },
    Case {
        path: "clean,buffer=750KB",
        flows: "pcc*10",
        seconds: 30,
        seeds: SEEDS,
        figures: &[
            ("ten flows, 750 KB: loss, %", Lost),
            ("ten flows, 750 KB: Jain over 5 s", Of(Jain(5))),
            ("ten flows, 750 KB: RTT added p50, ms", Of(Added)),
        ],
    },
    Case {
        path: "lte",
        flows: "pcc",
        seconds: 60,
        seeds: SEEDS,
        figures: &[("LTE: share", Of(Share)), ("LTE: RTT added p95, ms", Of(AddedP95))],
    },
    Case {
        path: "rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=20ms",
        flows: "pcc",
        seconds: 15,
        seeds: SEEDS,
        figures: &[("jitter 20 ms: share", Of(Share))],
    },
    Case {
        path: "rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=60ms",
        flows: "pcc",
        seconds: 15,
        seeds: SEEDS,
        figures: &[("jitter 60 ms: share", Of(Share))],
    },
    Case {
        path: "clean,buffer=94KB",
        flows: "pcc cubic",
        seconds: 40,
        seeds: SEEDS,
        figures: &[("beside CUBIC, 1/4 BDP: CUBIC's part", Of(LastPart))],
    },
    Case {
        path: "clean",
        flows: "pcc cubic",
        seconds: 40,
        seeds: SEEDS,
        figures: &[("beside CUBIC, 1 BDP: CUBIC's part", Of(LastPart))],
    },
    Case {
        path: "clean,buffer=1.5MB",
        flows: "pcc cubic",
        seconds: 40,
        seeds: SEEDS,
        figures: &[("beside CUBIC, 4 BDP: CUBIC's part", Of(LastPart))],
    },
    Case {
        path: "rate=100Mbit,rtt=10ms,buffer=125KB",
        flows: "pcc:rtt=+90ms pcc:start=5s",
        seconds: 40,
        seeds: SEEDS,
        figures: &[("RTT 10 and 100 ms: faster by slower", Of(Imbalance))],
    },
    Case {
        path: "clean",
        flows: "pcc:burners=4",
        seconds: 20,
        seeds: SEEDS,
        figures: &[("busy host: share", Of(Share)), ("busy host: loss, %", Lost)],
    },
    Case {
        path: "rate=50Mbit,rtt=20ms,buffer=250KB",
        flows: "pcc:bursts=4ms:ackbursts=4ms",
        seconds: 20,
        seeds: SEEDS,
        figures: &[("Wi-Fi: share", Of(Share)), ("Wi-Fi: RTT added p95, ms", Of(AddedP95))],
    },
];

/// A parameter: its name, its default, other values of it, and why the default is what it is.
struct Parameter {
    of: &'static str,
    name: &'static str,
    default: &'static str,
    others: &'static [&'static str],
    why: &'static str,
}

const fn law(
    name: &'static str,
    default: &'static str,
    others: &'static [&'static str],
    why: &'static str,
) -> Parameter {
    Parameter { of: "", name, default, others, why }
}

const fn fair(
    name: &'static str,
    default: &'static str,
    others: &'static [&'static str],
    why: &'static str,
) -> Parameter {
    Parameter { of: "fair,", name, default, others, why }
}

const PARAMETERS: [Parameter; 11] = [
    law(
        "epsilon",
        "0.02",
        &["0.01", "0.03", "0.05"],
        "A smaller probe loses less in a buffer of one packet and lets queues swing less; 0.05 costs a lone flow \
         two hundredths of the path. With 0.01 four flows share less evenly.",
    ),
    law(
        "step_max",
        "0.25",
        &["0.05", "0.1", "0.5", "1"],
        "Steps up double from ε while all is carried. Steps of at most 0.05 miss the rises of a cellular \
         path. Steps beyond 0.25 gain nothing.",
    ),
    law("back_off_max", "0.5", &["0.3", "0.7"], "The largest step down moves only the shares of unlike RTTs here."),
    law(
        "interval_rtts",
        "0.5",
        &["0.25", "1"],
        "Shorter probes know less, and lose more of one packet of buffer; with longer ones four flows lose more.",
    ),
    law(
        "interval_packets",
        "40",
        &["20", "80"],
        "Half as many packets do as well here. Twice as many make the queue of four flows a little longer, \
         and a queue behind Wi-Fi shorter.",
    ),
    law(
        "horizon_rtts",
        "1",
        &["0.5", "2"],
        "Half an RTT does as well here. Beyond one RTT ten flows share less evenly.",
    ),
    law(
        "price_gain",
        "0.03",
        &["0.01", "0.02", "0.045", "0.06"],
        "With 0.01 ten flows keep a longer queue. Values above 0.03 make nothing worse here.",
    ),
    fair(
        "level",
        "0.006",
        &["0.003", "0.005", "0.0075", "0.01", "0.02"],
        "This is the wanted queue: 0.6 ms for one flow on 100 Mbit/s, times the root of the number of flows. \
         Shorter queues are below the error of the base RTT. Longer queues favour the longer of two paths.",
    ),
    fair(
        "loss_price",
        "0.1",
        &["0.03", "0.3"],
        "With a larger price random loss takes more of the rate until it is known to be nobody's: a satellite path is \
         used less. A smaller price moves only the shares of unlike RTTs here.",
    ),
    fair(
        "loss_cap",
        "0.05",
        &["0.03", "0.08"],
        "The cap is that of the paper's safe utility. It holds only in start-up, while nobody knows whose losses are.",
    ),
    fair(
        "sureness",
        "1000",
        &["0", "30", "300", "3000"],
        "Own losses must count at once where a buffer is too small for any queue. Their price hardly matters.",
    ),
];

impl Parameter {
    fn variants(&self) -> Vec<String> {
        self.others.iter().map(|value| format!("{}{}={value}", self.of, self.name)).collect()
    }
}

pub(crate) fn base() -> Result<Variant, String> {
    let law: Law = "ascent".parse().map_err(|error| format!("{error}"))?;
    Ok(Variant { name: "defaults".into(), law, utility: Arc::new(Fair::default()) })
}

/// The defaults and these, figure by figure.
pub(crate) fn table(asked: &[String]) -> Result<String, String> {
    let base = base()?;
    let mut variants = vec![base.clone()];
    variants.extend(asked.iter().map(|written| Variant::of(&base, written)).collect::<Result<Vec<_>, _>>()?);
    let rows = measure(&CASES, &variants)?;
    let rows: Vec<_> = variants.iter().map(|variant| variant.name.as_str()).zip(rows).collect();
    Ok(columns(&CASES, &rows, |figure| number(figure.median())))
}

const HEAD: &str = "\
# Where the constants of Ascent and of `fair` come from

Made, whole, by

```sh
cargo run --release -p pcc-sweeps --bin sweep ascent >docs/sweeps/ascent.md
```

Senders with the law `ascent` and the utility `fair` over paths in virtual time, from the first packet on, so the figures are
the same on every machine. Each is the median of four seeds. Names of paths are presets of `pcc emulate --list`; `clean` is
100 Mbit/s, 30 ms and a buffer of one bandwidth-delay product, 375 KB. A second, third and fourth flow come two or three seconds
after the one before, CUBIC at once.

A table has the figures that a value moves: out of the range of the defaults' seeds by half of that range, and by a
hundredth; those are in bold.
";

/// The whole page.
pub(crate) fn page() -> Result<String, String> {
    let base = base()?;
    let mut variants = vec![base.clone()];
    for parameter in &PARAMETERS {
        for written in parameter.variants() {
            variants.push(Variant::of(&base, &written)?);
        }
    }
    let (rows, names) = (measure(&CASES, &variants)?, names(&CASES));
    let usual = (rows[0].as_slice(), names.as_slice());
    let mut text = vec![HEAD.to_owned(), "## The defaults\n".into(), defaults(usual), String::new()];
    let mut others = variants[1..].iter().map(|variant| variant.name.as_str()).zip(rows[1..].iter().map(Vec::as_slice));
    text.push("## Parameters\n".into());
    for parameter in &PARAMETERS {
        let found: Vec<_> = others.by_ref().take(parameter.others.len()).collect();
        text.push(format!("### `{}{}`: {}\n\n{}\n", parameter.of, parameter.name, parameter.default, parameter.why));
        text.push(format!("{}\n", moves(&names, (parameter.default, usual.0), &found)));
    }
    Ok(text.join("\n").trim_end().to_owned())
}

fn defaults((figures, names): (&[Figure], &[&str])) -> String {
    let mut lines = vec!["| | median | seeds |".to_owned(), "|---|--:|--:|".to_owned()];
    for (name, figure) in names.iter().zip(figures) {
        let (low, high) = figure.range();
        lines.push(format!("| {name} | {} | {} to {} |", number(figure.median()), number(low), number(high)));
    }
    lines.join("\n")
}
