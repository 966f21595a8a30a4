//! Start-up with and without trains: the page `docs/sweeps/trains.md`.

use crate::measure::{Case, Figure, Metric, names};
use crate::page::columns;
use crate::parts::{OFF, program};
use Metric::{Lost, Of};
use pcc_sim::score::Measure::{Completion, LastPart, Share};

const SEEDS: u64 = 16;

const fn case(
    path: &'static str,
    flows: &'static str,
    seconds: u64,
    figures: &'static [(&'static str, Metric)],
) -> Case {
    Case { path, flows, seconds, seeds: SEEDS, figures }
}

pub(crate) const CASES: [Case; 23] = [
    case(
        "satellite",
        "pcc",
        15,
        &[("satellite, 7.5 KB, first 15 s: share", Of(Share)), ("satellite, 7.5 KB, first 15 s: loss, %", Lost)],
    ),
    case(
        "satellite,buffer=1.5KB",
        "pcc",
        15,
        &[("satellite, one packet: share", Of(Share)), ("satellite, one packet: loss, %", Lost)],
    ),
    case(
        "satellite,buffer=1MB",
        "pcc",
        15,
        &[("satellite, 1 MB: share", Of(Share)), ("satellite, 1 MB: loss, %", Lost)],
    ),
    case("satellite,buffer=1MB,loss=0", "pcc:size=10MB", 40, &[("10 MB over 42 Mbit/s, 800 ms: ms", Of(Completion))]),
    case(
        "rate=50Mbit,rtt=100ms,buffer=625KB",
        "pcc:size=1MB",
        10,
        &[("1 MB over 50 Mbit/s, 100 ms: ms", Of(Completion))],
    ),
    case("clean", "pcc:size=100kB", 10, &[("100 KB over 100 Mbit/s, 30 ms: ms", Of(Completion))]),
    case(
        "rate=15Mbit,rtt=60ms,buffer=112KB",
        "pcc:size=100kB",
        10,
        &[("100 KB over 15 Mbit/s, 60 ms: ms", Of(Completion))],
    ),
    case(
        "rate=300Mbit,rtt=90ms,buffer=3.4MB,loss=0.3%",
        "pcc",
        8,
        &[("300 Mbit/s, 90 ms, 0.3 %, first 8 s: share", Of(Share)), ("300 Mbit/s, 90 ms, 0.3 %: loss, %", Lost)],
    ),
    case(
        "clean",
        "pcc",
        3,
        &[("100 Mbit/s, 30 ms, first 3 s: share", Of(Share)), ("100 Mbit/s, 30 ms: loss, %", Lost)],
    ),
    case(
        "clean,buffer=9KB",
        "pcc",
        3,
        &[("the same with 9 KB: share", Of(Share)), ("the same with 9 KB: loss, %", Lost)],
    ),
    case("clean", "pcc*2", 5, &[("two flows at once, first 5 s: loss, %", Lost)]),
    case("clean", "pcc*10:stagger=1s", 20, &[("ten flows, one a second: loss, %", Lost)]),
    case("clean", "pcc*33", 3, &[("33 flows at once, first 3 s: loss, %", Lost)]),
    case(
        "rate=1Gbit,rtt=10ms,buffer=64KB",
        "pcc*33",
        3,
        &[("33 flows at once, 1 Gbit/s, 10 ms, 64 KB: loss, %", Lost)],
    ),
    case(
        "rate=30Mbit,rtt=30ms,buffer=112KB",
        "cubic pcc:start=5s",
        40,
        &[("beside a CUBIC that came first: our part", Of(LastPart))],
    ),
    case(
        "clean",
        "pcc:burners=4",
        5,
        &[("busy host, first 5 s: share", Of(Share)), ("busy host, first 5 s: loss, %", Lost)],
    ),
    case("modem", "pcc", 20, &[("modem, first 20 s: share", Of(Share)), ("modem, first 20 s: loss, %", Lost)]),
    case(
        "rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=5ms",
        "pcc",
        10,
        &[("jitter of 5 ms, first 10 s: share", Of(Share))],
    ),
    case("rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=20ms", "pcc", 10, &[("jitter of 20 ms: share", Of(Share))]),
    case("rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=40ms", "pcc", 10, &[("jitter of 40 ms: share", Of(Share))]),
    case("rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=60ms", "pcc", 10, &[("jitter of 60 ms: share", Of(Share))]),
    case("lte", "pcc", 8, &[("LTE, first 8 s: share", Of(Share))]),
    case(
        "rate=50Mbit,rtt=20ms,buffer=250KB",
        "pcc:bursts=4ms:ackbursts=4ms",
        5,
        &[("Wi-Fi, first 5 s: share", Of(Share))],
    ),
];

const HEAD: &str = "\
# Start-up by trains, and by doubling alone

Made by

```sh
cargo run --release -p pcc-sweeps --bin sweep trains >docs/sweeps/trains.md
```

Doubling finds the rate of a path of 42 Mbit/s and 800 ms after eight round trips, and by exceeding it up to fourfold. Trains find
it sooner (`crates/core/src/trains.rs`). Packets that leave back to back arrive as far apart as the bottleneck takes for each. The
first packets leave in trains of six, and tell the bottleneck's rate, with an error. From there start-up steps eightfold for a
quarter of a round trip, and doubles until the results are there. It ends without a queue, once 95 % of that rate has passed for a
round trip (`control/approach.rs`). Trains tell nothing with jitter, aggregates, others' packets between ours, lost packets, or a
passing time shorter than a host's timers; then start-up doubles.

Virtual time, the default law and utility; means of sixteen seeds and their standard errors. Names of paths are presets of
`pcc emulate --list`.
";

const TAIL: &str = "
Behind a policer the first trains tell the line's rate, and more is lost until the bucket is known. Loss of the first three seconds,
eight seeds (`cargo run --release -p pcc-sim --example flow -- --path clean --policer 20Mbit:64KB --seconds 3`):

| policer | doubling | trains |
|---|--:|--:|
| 20 Mbit/s, 64 KB | 8.5 % | 11.6 % |
| 5 Mbit/s, 15 KB | 13.5 % | 13.6 % |

## Conditions

* A sender that begins among others measures them too. If a train waited longer than it takes to pass, nothing is told, then or later.
* Crowds that begin at once end in one of two states: a short queue, or a full one in which a few compete with the others as if these
  were CUBIC. Trains of six send 33 senders into the second state. Trains of four sent none of 33, but two of three crowds of 20.
  Doubling alone sends all crowds of 50.
* A train must take longer than 100 µs to pass. On a gigabit no host could see the gap between packets, and the 33 lose 8 to 13 %.
* A step lasts a quarter of a round trip. A whole one loses 13 % behind a policer of 20 Mbit/s and 26 % behind one of 5. An eighth of
  one loses 2.8 % with two flows. Steps of four fill the satellite path a round trip later.
* A receiver holds back the odd packet of a train by up to 25 ms, always by the same time: a sure sign of a path of half a megabit. An
  acknowledgement of fewer packets than the one before it does not count, nor one that comes with the next train's.
* A sleeping host takes 50 to 200 µs to wake up, and so does the emulator of `pcc-lab race`. The first acknowledgement of a train is late by
  as much, the others by 10 µs. With it, two packets of 1228 bytes that take 470 µs seemed to pass within 260 to 400. Start-up then
  exceeded the path by a third, and lost 13 % of 20 MB over `satellite` (`pcc-lab race satellite --size 20MB -C pcc`, four seeds beside
  other work: 12.0 s and 13.4 % lost, without it 10.9 s and 1.3 %).
* With noise of the times (`flow --path satellite,jitter=200us`, first 15 s, 24 seeds) trains have 0.630 of the satellite path. With the
  first sixteen packets alone they have 0.611, and doubling has 0.567.
* A real host is late now and then by more than a train takes, and reads two acknowledgements at once. One such train of twelve made a
  line through all of them unsure or wrong. So the longest and the shortest of each five trains do not count. 20 MB over `satellite` then
  lost 2.2 % in the mean (1.3 to 4.1, 10 to 14 s), and with a line through all of them 7.5 % (1.3 to 12, 10 to 12 s; `pcc-lab race satellite
  --size 20MB -C pcc`, seven runs each, two cores).
* A train counts up to a gap: with one packet of buffer the second and the fourth packet arrive. If none of three trains tells anything,
  no more are sent.
* Trains of eight tell more each, but do not fit into 7.5 KB: 0.666 of the satellite path instead of 0.695.
* The first interval's losses are the trains' unless a queue stands. Otherwise one packet of buffer would end start-up at once, at 0.3 %
  of the path. Its RTTs are too noisy to show a growing queue. Where one stands, as much must pass as after a doubling, or a modem is
  flooded.
* The window that bounds start-up on a silent path has room for all trains, and needs none once they told.
";

/// The whole page.
pub(crate) fn page() -> Result<String, String> {
    let program = program()?;
    let ask = |off| program.ask(&["train-figures"], names(&CASES).len(), OFF, off);
    let rows = [("doubling", ask("trains")?), ("trains", ask("")?)];
    Ok(format!("{HEAD}\n{}\n{}", columns(&CASES, &rows, Figure::mean_and_error), TAIL.trim_end()))
}
