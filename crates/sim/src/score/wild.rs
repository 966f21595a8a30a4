//! Paths that others drew: bad Wi-Fi, bursts of losses, recorded traces, rivals in deep buffers, marks that tell nothing,
//! heavy loss, crowds, capacity that comes, and start-up with jitter.

use super::Row;
use super::measure::Measure::{AddedP95, FirstDone, Imbalance, LastPart, Loss, Share};
use super::table::row;
use pcc_link::Queue;

impl Row {
    /// The path replays this recording.
    const fn replays(self, trace: &'static str) -> Self {
        Self { trace: Some(trace), ..self }
    }
}

const BAD_WIFI: &str = "rate=10Mbit,rtt=2ms,buffer=250ms,wifi=7ms";
const WIFI: [&str; 4] = [
    "rate=20Mbit,rtt=10ms,buffer=1MB,wifi=2ms",
    "rate=20Mbit,rtt=10ms,buffer=1MB,wifi=7ms",
    "rate=50Mbit,rtt=30ms,buffer=1MB,wifi=2ms",
    "rate=50Mbit,rtt=120ms,buffer=1MB,wifi=2ms",
];
const BURSTS: [&str; 3] = [
    "up.rate=3Mbit,down.rate=12Mbit,rtt=500ms,buffer=900KB,down.loss=2.44%,down.burst=12",
    "satellite,burst=16",
    "clean,loss=1%,burst=8",
];
/// The rate of a recorded path is its trace's.
const RECORDED: &str = "up.rate=100Mbit,rtt=40ms,buffer=1MB";
const TRACES: [&str; 3] = ["Verizon-LTE-short.down", "TMobile-LTE-short.down", "ATT-LTE-driving.down"];
const DEEP: [&str; 3] =
    ["rate=20Mbit,rtt=40ms,buffer=1MB", "rate=100Mbit,rtt=30ms,buffer=4MB", "rate=10Mbit,rtt=30ms,buffer=250KB"];
/// A rival that came first, and one that comes later.
const AFTER: [&str; 3] = ["cubic pcc:start=2s", "bbr pcc:start=2s", "reno pcc:start=2s"];
const BEFORE: [&str; 3] = ["pcc cubic:start=2s", "pcc bbr:start=2s", "pcc reno:start=2s"];
const MARKED: &str = "rate=20Mbit,rtt=30ms";
const LOSSY: [[&str; 4]; 2] = [
    ["clean,loss=8%", "clean,loss=10%", "clean,loss=20%", "clean,loss=30%"],
    [
        "rate=20Mbit,rtt=20ms,loss=8%",
        "rate=20Mbit,rtt=20ms,loss=10%",
        "rate=20Mbit,rtt=20ms,loss=20%",
        "rate=20Mbit,rtt=20ms,loss=30%",
    ],
];
const GROWS: &str = "rate=5Mbit,rtt=100ms,buffer=80ms,at=2.5s:rate=10Mbit:buffer=80ms";
const COMES_BACK: &str =
    "rate=10Mbit,rtt=100ms,buffer=80ms,at=1.5s:rate=5Mbit:buffer=80ms,at=3.5s:rate=10Mbit:buffer=80ms";
const JITTER: [&str; 2] = ["rate=144Mbit,rtt=600ms,jitter=15ms", "satellite,jitter=10ms"];

pub(super) const ROWS: &[Row] = &[
    row("28", "4 MB on bad Wi-Fi, of CUBIC's", BAD_WIFI, "pcc:size=4MB", FirstDone, [1.1, 0.8])
        .most()
        .over("cubic")
        .long([30, 30], [20, 20]),
    row("28", "the worst seed there", BAD_WIFI, "pcc:size=4MB", FirstDone, [7500.0, 5000.0])
        .most()
        .worst()
        .long([30, 30], [20, 20]),
    wifi("20 Mbit/s, 10 ms, 2 ms more", WIFI[0], [0.9, 1.0]).today(0.85),
    wifi("the same, 7 ms more", WIFI[1], [0.85, 1.0]),
    wifi("50 Mbit/s, 30 ms, 2 ms more", WIFI[2], [1.1, 1.1]).today(1.09),
    wifi("50 Mbit/s, 120 ms, 2 ms more", WIFI[3], [1.05, 1.05]).today(0.98),
    row("28a", "two PCC, 20 Mbit/s, 7 ms more", WIFI[1], "pcc*2", Imbalance, [2.0, 1.25])
        .most()
        .long([30, 60], [3, 5])
        .today(2.9),
    bursts("12 Mbit/s, 500 ms, bursts of 12", BURSTS[0], [0.86, 0.93]),
    bursts("satellite, bursts of 16", BURSTS[1], [0.85, 0.92]).today(0.76),
    bursts("100 Mbit/s, 1 %, bursts of 8", BURSTS[2], [0.95, 0.99]).long([12, 60], [2, 5]),
    recorded("Verizon LTE, of BBR's", TRACES[0]),
    recorded_queue("p95 of RTT added, of BBR's", TRACES[0]),
    recorded("T-Mobile LTE, of BBR's", TRACES[1]),
    recorded_queue("p95 of RTT added, of BBR's", TRACES[1]),
    recorded("AT&T LTE, of BBR's", TRACES[2]),
    recorded_queue("p95 of RTT added, of BBR's", TRACES[2]),
    second("after CUBIC, 20 Mbit/s, 1 MB", DEEP[0], AFTER[0]),
    second("after BBR, 20 Mbit/s, 1 MB", DEEP[0], AFTER[1]).today(0.32),
    second("after Reno, 20 Mbit/s, 1 MB", DEEP[0], AFTER[2]).today(0.71),
    second("after CUBIC, 100 Mbit/s, 4 MB", DEEP[1], AFTER[0]).long([30, 30], [2, 5]).today(0.63),
    second("after BBR, 100 Mbit/s, 4 MB", DEEP[1], AFTER[1]).long([30, 30], [0, 5]),
    second("after Reno, 100 Mbit/s, 4 MB", DEEP[1], AFTER[2]).long([30, 30], [0, 5]),
    second("after CUBIC, 10 Mbit/s, 250 KB", DEEP[2], AFTER[0]).today(0.36),
    second("after BBR, 10 Mbit/s, 250 KB", DEEP[2], AFTER[1]).today(0.58),
    second("after Reno, 10 Mbit/s, 250 KB", DEEP[2], AFTER[2]).today(0.36),
    first("before CUBIC, 20 Mbit/s, 1 MB", DEEP[0], BEFORE[0]),
    first_leaves("CUBIC's part there", DEEP[0], BEFORE[0]),
    first("before BBR, 20 Mbit/s, 1 MB", DEEP[0], BEFORE[1]).today(0.77),
    first_leaves("BBR's part there", DEEP[0], BEFORE[1]),
    first("before Reno, 20 Mbit/s, 1 MB", DEEP[0], BEFORE[2]),
    first_leaves("Reno's part there", DEEP[0], BEFORE[2]),
    first("before CUBIC, 100 Mbit/s, 4 MB", DEEP[1], BEFORE[0]).long([30, 30], [2, 5]).today(0.87),
    first_leaves("CUBIC's part there", DEEP[1], BEFORE[0]).long([30, 30], [2, 5]),
    first("before BBR, 100 Mbit/s, 4 MB", DEEP[1], BEFORE[1]).long([30, 30], [0, 5]),
    first_leaves("BBR's part there", DEEP[1], BEFORE[1]).long([30, 30], [0, 5]),
    first("before Reno, 100 Mbit/s, 4 MB", DEEP[1], BEFORE[2]).long([30, 30], [0, 5]),
    first_leaves("Reno's part there", DEEP[1], BEFORE[2]).long([30, 30], [0, 5]),
    first("before CUBIC, 10 Mbit/s, 250 KB", DEEP[2], BEFORE[0]),
    first_leaves("CUBIC's part there", DEEP[2], BEFORE[0]),
    first("before BBR, 10 Mbit/s, 250 KB", DEEP[2], BEFORE[1]),
    first_leaves("BBR's part there", DEEP[2], BEFORE[1]),
    first("before Reno, 10 Mbit/s, 250 KB", DEEP[2], BEFORE[2]).today(0.76),
    first_leaves("Reno's part there", DEEP[2], BEFORE[2]),
    row("32", "a mark on every packet", MARKED, "pcc", Share, [0.8, 0.95])
        .marks(Queue::MarkingEvery(1))
        .long([60, 60], [2, 5]),
    row("32", "a mark on every second packet", MARKED, "pcc", Share, [0.8, 0.95])
        .marks(Queue::MarkingEvery(2))
        .long([60, 60], [2, 5]),
    lossy("8 %, 100 Mbit/s, of BBR's", LOSSY[0][0], 0.9),
    lossy("10 %, 100 Mbit/s, of BBR's", LOSSY[0][1], 0.85),
    lossy("20 %, 100 Mbit/s, of BBR's", LOSSY[0][2], 0.8),
    lossy("30 %, 100 Mbit/s, of BBR's", LOSSY[0][3], 1.0).today(0.4),
    lossy("8 %, 20 Mbit/s, of BBR's", LOSSY[1][0], 0.9),
    lossy("10 %, 20 Mbit/s, of BBR's", LOSSY[1][1], 0.85),
    lossy("20 %, 20 Mbit/s, of BBR's", LOSSY[1][2], 0.8),
    lossy("30 %, 20 Mbit/s, of BBR's", LOSSY[1][3], 1.0),
    crowd("33 at once", "pcc*33", [0.015, 0.015]),
    crowd("50 at once", "pcc*50", [0.03, 0.016]),
    crowd("33, each 50 ms later", "pcc*33:stagger=50ms", [0.05, 0.02]),
    crowd("50, each 50 ms later", "pcc*50:stagger=50ms", [0.06, 0.03]),
    row("34", "7 MB, capacity 5 to 10 Mbit/s", GROWS, "pcc:size=7MB", FirstDone, [7700.0, 7300.0])
        .most()
        .long([20, 20], [3, 20])
        .today(8000.0),
    row("34", "7 MB, 10, 5, 10 Mbit/s", COMES_BACK, "pcc:size=7MB", FirstDone, [7500.0, 7300.0])
        .most()
        .long([20, 20], [3, 20])
        .today(7900.0),
    row("35", "144 Mbit/s, 600 ms, jitter 15 ms", JITTER[0], "pcc", Share, [0.9, 0.95])
        .worst_over_median()
        .long([20, 20], [10, 10]),
    row("35", "satellite, jitter 10 ms", JITTER[1], "pcc", Share, [0.8, 0.9])
        .worst_over_median()
        .long([20, 20], [10, 10])
        .today(0.68),
];

const fn wifi(case: &'static str, path: &'static str, limits: [f64; 2]) -> Row {
    row("28a", case, path, "pcc", Share, limits).over("cubic").long([30, 60], [3, 5])
}

const fn bursts(case: &'static str, path: &'static str, limits: [f64; 2]) -> Row {
    row("29", case, path, "pcc", Share, limits).worst().long([60, 60], [5, 5])
}

const fn recorded(case: &'static str, trace: &'static str) -> Row {
    row("30", case, RECORDED, "pcc", Share, [0.9, 0.97]).over("bbr").replays(trace).long([60, 60], [2, 5])
}

const fn recorded_queue(case: &'static str, trace: &'static str) -> Row {
    row("30", case, RECORDED, "pcc", AddedP95, [0.8, 0.5]).most().over("bbr").replays(trace).long([60, 60], [2, 5])
}

const fn second(case: &'static str, path: &'static str, flows: &'static str) -> Row {
    row("31", case, path, flows, LastPart, [0.9, 1.1]).over("cubic").long([30, 30], [3, 5])
}

/// What PCC leaves a rival is at most this, so that PCC has the rest.
const fn first(case: &'static str, path: &'static str, flows: &'static str) -> Row {
    row("31", case, path, flows, LastPart, [0.75, 0.6]).most().long([30, 30], [3, 5])
}

const fn first_leaves(case: &'static str, path: &'static str, flows: &'static str) -> Row {
    row("31", case, path, flows, LastPart, [0.25, 0.4]).long([30, 30], [3, 5])
}

const fn lossy(case: &'static str, path: &'static str, must: f64) -> Row {
    row("33", case, path, "pcc", Share, [must, 1.0]).over("bbr").long([30, 60], [2, 5])
}

const fn crowd(case: &'static str, flows: &'static str, limits: [f64; 2]) -> Row {
    row("33a", case, "clean", flows, Loss, limits).most().long([30, 30], [1, 3])
}
