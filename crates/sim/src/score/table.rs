//! The promises. Numbers of rows are those of `pcc-lab check`; a figure that is missed is told as missed.

use super::measure::Measure::{
    Added, AddedP95, Completion, CompletionP95, Convergence, DarkRate, Deviation, FairPart, FirstShare, Headroom,
    Imbalance, Incast, Jain, LastPart, Loss, Power, Recovered, Share, Waste,
};
use super::{Row, Statistic};
use pcc_link::Queue;

pub(super) const fn row(
    number: &'static str,
    case: &'static str,
    path: &'static str,
    flows: &'static str,
    measure: super::Measure,
    [must, goal]: [f64; 2],
) -> Row {
    Row {
        number,
        case,
        path,
        flows,
        queue: Queue::DropTail,
        ecn: false,
        policer: None,
        seconds: [12, 60],
        seeds: [2, 5],
        measure,
        statistic: Statistic::Median,
        trace: None,
        over: None,
        over_behind: None,
        must,
        goal,
        at_most: false,
        today: None,
    }
}

impl Row {
    pub(super) const fn most(self) -> Self {
        Self { at_most: true, ..self }
    }

    /// Seconds and seeds of the short form and of the whole one.
    pub(super) const fn long(self, seconds: [u64; 2], seeds: [u64; 2]) -> Self {
        Self { seconds, seeds, ..self }
    }

    pub(super) const fn over(self, peer: &'static str) -> Self {
        Self { over: Some(peer), ..self }
    }

    pub(super) const fn behind(self, queue: Queue) -> Self {
        Self { queue, ..self }
    }

    /// The peer is behind this queue.
    pub(super) const fn over_behind(self, peer: &'static str, queue: Queue) -> Self {
        Self { over_behind: Some(queue), ..self.over(peer) }
    }

    pub(super) const fn worst(self) -> Self {
        Self { statistic: Statistic::Worst, ..self }
    }

    pub(super) const fn worst_over_median(self) -> Self {
        Self { statistic: Statistic::WorstOverMedian, ..self }
    }

    pub(super) const fn marks(self, queue: Queue) -> Self {
        Self { queue, ecn: true, ..self }
    }

    pub(super) const fn policed(self, rate: &'static str, burst: &'static str) -> Self {
        Self { policer: Some((rate, burst)), ..self }
    }

    pub(super) const fn today(self, value: f64) -> Self {
        Self { today: Some(value), ..self }
    }
}

const FOUR: &str = "pcc*4:stagger=5s";
const WIFI: &str = "pcc:bursts=4ms:ackbursts=4ms";
const TWO: &str = "pcc pcc:start=2s";
/// For two flows of unlike RTTs.
const SHORT: &str = "rate=100Mbit,rtt=10ms,buffer=125KB";
const LONGER: [&str; 3] = ["pcc:rtt=+10ms pcc:start=5s", "pcc:rtt=+40ms pcc:start=5s", "pcc:rtt=+90ms pcc:start=5s"];
const LATER: &str = "pcc pcc:start=5s";
const CUBIC: &str = "pcc cubic";
/// Files of 100 KB at half and three quarters of 15 Mbit/s.
const HALF_LOAD: &str = "pcc*150:size=100kB:stagger=107ms";
const HIGH_LOAD: &str = "pcc*200:size=100kB:stagger=71ms";
const INTERACTIVE: &str = "pcc/interactive*2";
const SCAVENGERS: [&str; 3] = ["pcc/scavenger", "cubic pcc/scavenger:start=5s", "pcc pcc/scavenger:start=5s"];
const PROTEUS: [&str; 3] = [
    "pcc/scavenger,d=1500,jitter=1ms:law=vivace+proteus+pairs=2",
    "cubic pcc/scavenger,d=1500,jitter=1ms:start=5s:law=vivace+proteus+pairs=2",
    "pcc/proteus:law=vivace+proteus pcc/scavenger,d=1500,jitter=1ms:start=5s:law=vivace+proteus+pairs=2",
];
const CODEL: &str = "rate=40Mbit,rtt=40ms,buffer=1MB";

/// The papers' paths, and those of this project.
pub(super) const ROWS: &[Row] = &[
    row("1", "no loss", "clean", "pcc", Share, [0.95, 0.95]),
    row("1", "loss 0.1 %", "clean,loss=0.1%", "pcc", Share, [0.95, 0.95]),
    row("1", "loss 1 %", "clean,loss=1%", "pcc", Share, [0.95, 0.95]),
    row("1", "loss 2 %", "clean,loss=2%", "pcc", Share, [0.85, 0.95]),
    row("1", "loss 4 %", "clean,loss=4%", "pcc", Share, [0.85, 0.95]),
    row("1", "loss 8 %, safe", "clean,loss=8%", "pcc/safe", Share, [0.2, 0.2]).most().today(0.24),
    row("1k", "60 ms, 750 KB, loss 1 %", "rate=100Mbit,rtt=60ms,buffer=750KB,loss=1%", "pcc", Share, [0.85, 0.95]),
    row("1k", "60 ms, 750 KB, loss 5 %", "rate=100Mbit,rtt=60ms,buffer=750KB,loss=5%", "pcc", Share, [0.88, 0.95])
        .long([12, 60], [6, 6]),
    row("2", "satellite, 7.5 KB", "satellite,loss=0%,down.loss=0.74%", "pcc", Share, [0.90, 0.95])
        .long([100, 100], [2, 5]),
    row("2", "satellite, 1 MB", "satellite,loss=0%,down.loss=0.74%,buffer=1MB", "pcc", Share, [0.90, 0.95])
        .long([100, 100], [2, 5]),
    row("3", "1 packet of buffer", "shallow,buffer=1.5KB", "pcc", Share, [0.50, 0.80]),
    row("3", "2 packets", "shallow,buffer=3KB", "pcc", Share, [0.50, 0.90]),
    row("3", "6 packets", "shallow,buffer=9KB", "pcc", Share, [0.90, 0.90]),
    row("4", "10 against 20 ms", SHORT, LONGER[0], Imbalance, [1.3, 1.1]).most().long([40, 120], [6, 6]),
    row("4", "that, of CUBIC's", SHORT, LONGER[0], Imbalance, [1.0, 1.0]).most().over("cubic").long([40, 120], [6, 6]),
    row("4", "10 against 50 ms", SHORT, LONGER[1], Imbalance, [1.3, 1.1]).most().long([40, 120], [8, 8]).today(1.35),
    row("4", "that, of CUBIC's", SHORT, LONGER[1], Imbalance, [1.0, 1.0]).most().over("cubic").long([40, 120], [8, 8]),
    row("4", "10 against 100 ms", SHORT, LONGER[2], Imbalance, [1.3, 1.1]).most().long([40, 120], [6, 6]),
    row("4", "that, of CUBIC's", SHORT, LONGER[2], Imbalance, [1.0, 1.0]).most().over("cubic").long([40, 120], [6, 6]),
    row("5", "changing every 5 s", "changing", "pcc", Share, [0.90, 0.94]).long([100, 500], [6, 10]).today(0.89),
    row("5", "loss there", "changing", "pcc", Loss, [0.02, 0.01]).most().long([100, 500], [6, 10]),
    row("6", "10 senders of 256 KB", "datacentre", "pcc*10:size=256kB", Incast, [0.60, 0.85]).long([2, 5], [20, 20]),
    row("6", "20 senders of 256 KB", "datacentre", "pcc*20:size=256kB", Incast, [0.60, 0.85]).long([2, 5], [20, 20]),
    row("6", "33 senders of 256 KB", "datacentre", "pcc*33:size=256kB", Incast, [0.60, 0.85]).long([2, 5], [20, 20]),
    row("7", "4 flows, 5 s apart", "clean", FOUR, Jain(1), [0.95, 0.98]).long([45, 120], [6, 8]),
    row("7", "the same at 5 s", "clean", FOUR, Jain(5), [0.98, 0.99]).long([45, 120], [6, 8]).today(0.97),
    row("7", "the same at 20 s", "clean", FOUR, Jain(20), [0.99, 0.995]).long([45, 120], [6, 8]).today(0.985),
    row("8", "converging, of CUBIC's", "clean", LATER, Convergence, [1.0, 1.0])
        .most()
        .over("cubic")
        .long([40, 200], [6, 15]),
    row("8", "deviation then", "clean", LATER, Deviation, [0.238, 0.125])
        .most()
        .over("cubic")
        .long([40, 200], [6, 15])
        .today(0.67),
    row("10", "100 KB at half load", "rate=15Mbit,rtt=60ms,buffer=112KB", HALF_LOAD, Completion, [1.0, 1.0])
        .most()
        .over("cubic")
        .long([20, 20], [2, 5]),
    row("10", "p95 there", "rate=15Mbit,rtt=60ms,buffer=112KB", HALF_LOAD, CompletionP95, [1.2, 1.0])
        .most()
        .over("cubic")
        .long([20, 20], [2, 5]),
    row("10", "p95 at three quarters", "rate=15Mbit,rtt=60ms,buffer=112KB", HIGH_LOAD, CompletionP95, [1.2, 1.0])
        .most()
        .over("cubic")
        .long([20, 20], [2, 5]),
    row("11", "interactive, of CUBIC + CoDel", "rate=40Mbit,rtt=20ms,buffer=1MB", INTERACTIVE, Power, [1.5, 2.0])
        .behind(Queue::Fair)
        .over_behind("cubic", Queue::FqCodel)
        .long([15, 100], [2, 3])
        .today(1.0),
    row("12", "loss 10 %, loss-resilient", "clean,down.loss=10%", "pcc/loss-resilient", Share, [0.95, 0.98])
        .long([12, 60], [6, 6]),
    row("12", "loss 50 %, loss-resilient", "clean,down.loss=50%", "pcc/loss-resilient", Share, [0.95, 0.98])
        .long([12, 60], [6, 6])
        .today(0.89),
    row("13", "800 Mbit/s, 9 ms", "rate=800Mbit,rtt=9ms,buffer=100KB", "pcc", Share, [0.90, 0.97]),
    row("13", "800 Mbit/s, 38 ms", "rate=800Mbit,rtt=38ms,buffer=100KB", "pcc", Share, [0.90, 0.97]),
    row("13", "1 Gbit/s, 5 ms, 64 KB", "rate=1Gbit,rtt=5ms,buffer=64KB", "pcc", Share, [0.967, 0.98])
        .long([6, 20], [2, 5]),
    row("13", "300 Mbit/s, 90 ms, 0.3 %", "rate=300Mbit,rtt=90ms,buffer=30KB,loss=0.3%", "pcc", Share, [0.956, 0.97])
        .long([30, 60], [2, 5]),
    row("14", "vivace, 2 KB", "clean,buffer=2KB", "pcc/vivace", Share, [0.90, 0.95]),
    row("14", "vivace, 1 MB", "clean,buffer=1MB", "pcc/vivace", Share, [0.90, 0.95]),
    row("14", "RTT added there", "clean,buffer=1MB", "pcc/vivace", Added, [2.0, 1.0]).most(),
    row("14", "its 95th percentile", "clean,buffer=1MB", "pcc/vivace", AddedP95, [5.0, 5.0]).most(),
    row("15", "2 flows, 750 KB", "clean,buffer=750KB", "pcc*2", Loss, [0.005, 0.005]).most().long([20, 100], [2, 5]),
    row("15", "10 flows, 750 KB", "clean,buffer=750KB", "pcc*10", Loss, [0.05, 0.01]).most().long([20, 100], [2, 5]),
    row("17", "wandering rate, against BBR", "lte", "pcc", Share, [1.0, 1.1])
        .over("bbr")
        .long([60, 200], [6, 6])
        .today(0.888),
    row("17", "p95 of RTT added, of BBR's", "lte", "pcc", AddedP95, [0.5, 0.3])
        .most()
        .over("bbr")
        .long([60, 200], [6, 6]),
    row("18", "scavenger, alone", "clean", SCAVENGERS[0], Share, [0.85, 0.95]).long([20, 60], [2, 5]),
    row("18", "CUBIC beside it", "clean", SCAVENGERS[1], FirstShare, [0.90, 0.95]).long([30, 60], [2, 5]),
    row("18", "PCC beside it", "clean", SCAVENGERS[2], FirstShare, [0.90, 0.95]).long([30, 60], [6, 6]),
    row("18", "Proteus' scavenger, alone", "clean", PROTEUS[0], Share, [0.85, 0.95]).long([20, 60], [2, 5]),
    row("18", "CUBIC beside it", "clean", PROTEUS[1], FirstShare, [0.90, 0.95]).long([30, 60], [2, 5]),
    row("18", "Proteus beside it", "clean", PROTEUS[2], FirstShare, [0.90, 0.95]).long([30, 60], [6, 6]).today(0.67),
    row("19", "black-out of 2 s", "clean,blackout=8s/2s", "pcc", DarkRate, [2.0, 2.0]).most().long([16, 16], [2, 5]),
    row("19", "its end", "clean,blackout=8s/2s", "pcc", Recovered, [20.0, 20.0]).most().long([16, 16], [2, 5]),
    row("19", "20 Mbit/s of data", "clean", "pcc:rate=20Mbit", Headroom, [2.0, 2.0]).most().long([20, 60], [2, 5]),
    row("19", "1 % out of order", "clean,reorder=1%:5ms", "pcc", Share, [0.9, 0.95]),
    row("19", "5 ms of jitter", "clean,jitter=5ms", "pcc", Share, [0.9, 0.95]),
    row("20", "loss 5 %", "clean,down.loss=5%", "pcc", Waste, [1.15, 1.08]).most(),
    row("21", "2 flows, 1 MB", "clean,buffer=1MB", TWO, Added, [5.0, 2.0]).most().long([30, 60], [2, 5]),
    row("21", "waste there", "clean,buffer=1MB", TWO, Waste, [1.035, 1.028]).most().long([30, 60], [2, 5]),
    row("22", "CoDel with marks, alone", CODEL, "pcc", Added, [5.0, 2.0])
        .most()
        .marks(Queue::Codel)
        .long([20, 60], [2, 5]),
    row("22", "share there", CODEL, "pcc", Share, [0.95, 0.95]).marks(Queue::Codel).long([20, 60], [2, 5]),
    row("22", "FQ-CoDel with marks, alone", CODEL, "pcc", Added, [5.0, 2.0])
        .most()
        .marks(Queue::FqCodel)
        .long([20, 60], [2, 5]),
    row("22", "share there", CODEL, "pcc", Share, [0.95, 0.95]).marks(Queue::FqCodel).long([20, 60], [2, 5]),
    row("22", "CoDel beside CUBIC", CODEL, CUBIC, FairPart, [0.95, 0.95])
        .marks(Queue::Codel)
        .long([20, 60], [6, 6])
        .today(0.78),
    row("22", "FQ-CoDel beside CUBIC", CODEL, CUBIC, FairPart, [0.95, 0.95])
        .marks(Queue::FqCodel)
        .long([20, 60], [2, 5]),
    row("23", "4 busy processes, of CUBIC's", "clean", "pcc:burners=4", Share, [0.9, 1.0])
        .over("cubic")
        .long([20, 60], [6, 8])
        .today(0.86),
    row("23", "loss there", "clean", "pcc:burners=4", Loss, [0.03, 0.01]).most().long([20, 60], [6, 8]),
    row("24", "jitter 5 ms, of BBR's", "rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=5ms", "pcc", Share, [0.9, 1.0])
        .over("bbr")
        .long([10, 10], [2, 8]),
    row("24", "jitter 20 ms, of BBR's", "rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=20ms", "pcc", Share, [0.9, 1.0])
        .over("bbr")
        .long([10, 10], [2, 8]),
    row("24", "jitter 40 ms, of BBR's", "rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=40ms", "pcc", Share, [0.9, 1.0])
        .over("bbr")
        .long([10, 10], [6, 8]),
    row("24", "jitter 60 ms, of BBR's", "rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=60ms", "pcc", Share, [0.9, 1.0])
        .over("bbr")
        .long([10, 10], [6, 8]),
    row("24", "the worst seed there", "rate=100Mbit,rtt=100ms,buffer=1.25MB,jitter=60ms", "pcc", Share, [0.9, 1.0])
        .over("bbr")
        .worst()
        .long([10, 10], [6, 8]),
    row("25", "policer, 1 ms", "rate=100Mbit,rtt=1ms,buffer=375KB", "pcc", Share, [0.85, 0.85])
        .policed("10Mbit", "64kB"),
    row("25", "loss there", "rate=100Mbit,rtt=1ms,buffer=375KB", "pcc", Loss, [0.05, 0.02])
        .most()
        .policed("10Mbit", "64kB")
        .long([12, 60], [6, 6])
        .today(0.15),
    row("25", "policer, 30 ms", "clean", "pcc", Share, [0.85, 0.85]).policed("10Mbit", "64kB"),
    row("25", "loss there", "clean", "pcc", Loss, [0.05, 0.02])
        .most()
        .policed("10Mbit", "64kB")
        .long([12, 60], [6, 6])
        .today(0.082),
    row("26", "Wi-Fi: bursts of 4 ms", "rate=50Mbit,rtt=20ms,buffer=250KB", WIFI, Share, [0.93, 0.95])
        .long([20, 60], [2, 5]),
    row("26", "RTT added there", "rate=50Mbit,rtt=20ms,buffer=250KB", WIFI, AddedP95, [30.0, 15.0])
        .most()
        .long([20, 60], [2, 5]),
    row("27", "CUBIC beside, 1/4 BDP", "clean,buffer=94KB", CUBIC, LastPart, [0.25, 0.40]).long([30, 60], [8, 8]),
    row("27", "CUBIC beside, 1 BDP", "clean", CUBIC, LastPart, [0.25, 0.40]).long([30, 60], [6, 6]),
    row("27", "CUBIC beside, 4 BDP", "clean,buffer=1.5MB", CUBIC, LastPart, [0.25, 0.40]).long([30, 60], [12, 12]),
    row("27", "no more, 4 BDP", "clean,buffer=1.5MB", CUBIC, LastPart, [0.60, 0.60])
        .most()
        .long([30, 60], [12, 12])
        .today(0.79),
    row("27", "no more, 1 BDP", "clean", CUBIC, LastPart, [0.60, 0.60]).most().long([30, 60], [6, 6]).today(0.72),
    row("27", "no more, 1/4 BDP", "clean,buffer=94KB", CUBIC, LastPart, [0.60, 0.60])
        .most()
        .long([30, 60], [8, 8])
        .today(0.71),
];
