//! Start-up with and without trains: the page `docs/sweeps/trains.md`.

use crate::measure::{Case, Figure, Metric};
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
cargo run --release -p pcc-sim --example sweep trains >docs/sweeps/trains.md
```

Doubling finds the rate of a path of 42 Mbit/s and 800 ms after eight round trips, and by exceeding it up to fourfold. Packets that
leave back to back arrive as far apart as the bottleneck takes for each: so the first ones leave in trains of six, and tell its
rate, with an error, in the first round trip or while it doubles (`crates/core/src/trains.rs`). From there start-up steps eightfold for a quarter of a
round trip, doubles until that is answered for, and ends, without a queue, once 95 % of that rate has passed for a round trip
(`control/approach.rs`). Where trains tell nothing it doubles as ever: with jitter, aggregates, others' packets between ours, a
passing time shorter than a host's timers, lost packets.

Virtual time, the default law and utility; means of sixteen seeds and their standard errors. Names of paths are presets of
`pcc emulate --list`.
";

const TAIL: &str = "
Behind a policer the first trains tell the line's rate, and more is lost until the bucket is known: of the first three seconds
11.6 % instead of 8.5 % with 20 Mbit/s and 64 KB, 13.6 % instead of 13.5 % with 5 Mbit/s and 15 KB
(`cargo run --release -p pcc-sim --example flow -- --path clean --policer 20Mbit:64KB --seconds 3`, eight seeds).

## What it takes

* Who begins among others measures them too. Where a train waited longer than it takes to pass, nothing is told, then or later.
* Crowds that begin at once end in one of two states, whatever they begin with: a short queue, or a full one in which a few of them
  compete with the others as if these were CUBIC. Trains of six send 33 of them into the second; trains of four sent none of 33, but
  two of three crowds of 20; doubling alone sends all crowds of 50.
* A train must take longer than 100 µs to pass: on a gigabit the gap between packets is nothing that a host could see (8 to 13 % lost
  by the 33).
* A step lasts a quarter of a round trip. A whole one loses 13 % behind a policer of 20 Mbit/s and 26 % behind one of 5; an eighth of
  one 2.8 % with two flows; steps of four fill the satellite path a round trip later.
* A receiver holds back the odd packet of a train by up to 25 ms, always by the same: a sure sign of a path of half a megabit. An
  acknowledgement of fewer packets than the one before it does not count, nor one that comes with the next train's.
* A sleeping host takes 50 to 200 µs to wake up, and so does the emulator of `pcc race`: the first acknowledgement of a train is late
  by as much, the others by 10. With it, two packets of 1228 bytes seemed to pass within 260 to 400 µs that take 470, always too few:
  start-up went beyond the path by a third, and lost 13 % of 20 MB over `satellite` (`pcc race satellite --size 20MB -C pcc`, four
  seeds beside other work: 12.0 s, 13.4 % lost; without it 10.9 s and 1.3 %).
* Noise of the times besides, satellite path, first 15 s (`flow --path satellite,jitter=200us`, 24 seeds): 0.630 of the path; where the
  first sixteen packets had to tell, 0.611; doubling has 0.567.
* A real host is late now and then by more than a train takes, and reads two acknowledgements at once: one such train of twelve made a
  line through all of them unsure or wrong. So of each five trains the longest and the shortest do not count. 20 MB over `satellite`
  (`pcc race satellite --size 20MB -C pcc`, seven runs each, two cores): 10 to 14 s and 1.3 to 4.1 % lost, 2.2 % in the mean; with a
  line through all of them 10 to 12 s and 1.3 to 12 % lost, 7.5 % in the mean.
* Beyond a gap a train does not count: with one packet of buffer the second and the fourth arrive. What arrived before it does. Where
  none of three trains tells anything no more are sent.
* Trains of eight tell more each, but do not fit into 7.5 KB: 0.666 of the satellite path instead of 0.695.
* The first interval's losses are the trains' doing unless a queue stands: else one packet of buffer ends start-up at once, at 0.3 % of
  the path. And its RTTs are too noisy to tell that a queue grows: where one stands, as much must pass as after a doubling, or a
  modem is flooded.
* The window that bounds start-up on a path that does not answer has room for all trains, and none is needed once they told.
";

/// The whole page.
pub(crate) fn page() -> Result<String, String> {
    let program = program()?;
    let ask = |off| program.ask(("train-figures", &CASES), OFF, off);
    let rows = [("doubling", ask("trains")?), ("trains", ask("")?)];
    Ok(format!("{HEAD}\n{}\n{}", columns(&CASES, &rows, Figure::mean_and_error), TAIL.trim_end()))
}
