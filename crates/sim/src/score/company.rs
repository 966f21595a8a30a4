//! PCC in company: several of its own kind, beside CUBIC and BBR, in small buffers, behind queues that drop early.
//!
//! The seed draws every start, so that no two seeds of deterministic senders are alike: within an RTT where senders come
//! at fixed times, within seconds else. Of most rows the worst seed counts. Whether two sides bound a figure or one, each
//! side is a row.

use super::Row;
use super::measure::Measure::{
    Completion, CompletionP95, FrameMean, Imbalance, JainLate, LastFair, LastPart, Loss, Others, QueueP95,
};
use super::table::row;
use pcc_link::Queue;

/// So many senders, the goal of their queue in ms, and seconds: A·√(n/C), as docs/algorithm.md has it for n equal ones.
macro_rules! among_pcc {
    ($($count:literal $goal:literal $seconds:literal),*) => {
        [$(
            among_pcc!(@buffer $count, $goal, $seconds, "0.5", 10.0),
            among_pcc!(@buffer $count, $goal, $seconds, "1", 20.0),
            among_pcc!(@buffer $count, $goal, $seconds, "2", 20.0),
            among_pcc!(@buffer $count, $goal, $seconds, "4", 20.0),
            among_pcc!(@buffer $count, $goal, $seconds, "8", 20.0),
        )*]
    };
    (@buffer $count:literal, $goal:literal, $seconds:literal, $buffer:literal, $must:literal) => {
        [
            settled(
                concat!($count, " PCC 1 s apart, ", $buffer, " BDP"),
                concat!("rate=50Mbit,rtt=40ms,buffer=", $buffer, "bdp"),
                concat!("pcc*", $count, ":stagger=1s:start=random:0..40ms"),
                [$must, $goal],
                $seconds,
            ),
            settled(
                concat!($count, " PCC at random, ", $buffer, " BDP"),
                concat!("rate=50Mbit,rtt=40ms,buffer=", $buffer, "bdp"),
                concat!("pcc*", $count, ":start=random:0..10s"),
                [$must, $goal],
                $seconds,
            ),
        ]
    };
}

/// On 50 Mbit/s, 40 ms.
const AMONG_PCC: &[[[Row; 3]; 2]] = &among_pcc!(2 1.2 40, 3 1.5 40, 5 1.9 40, 8 2.4 60, 12 2.9 60);

/// More of them: their queue is not promised.
const CROWDS: &[[[Row; 3]; 2]] = &among_pcc!(20 3.8 60, 32 4.8 80);

/// What the short form has of them.
const SHORT: &[[Row; 3]] = &[
    short("5 PCC 1 s apart, 4 BDP", DEEP, "pcc*5:stagger=1s:start=random:0..40ms", 1.9),
    short("8 PCC 1 s apart, 4 BDP", DEEP, "pcc*8:stagger=1s:start=random:0..40ms", 2.4),
    today_losing(short("8 PCC 1 s apart, 1 BDP", SHALLOW, "pcc*8:stagger=1s:start=random:0..40ms", 2.4), 0.006),
];

const DEEP: &str = "rate=50Mbit,rtt=40ms,buffer=4bdp";
const SHALLOW: &str = "rate=50Mbit,rtt=40ms,buffer=1bdp";

/// The same on other paths.
const ELSEWHERE: &[[Row; 3]] = &[
    settled("10 PCC 2 s apart, 20 Mbit/s", "rate=20Mbit,rtt=30ms,buffer=250KB", TEN, [20.0, 4.2], 60),
    settled("8 PCC, 20 Mbit/s 200 ms", "rate=20Mbit,rtt=200ms,buffer=2bdp", EIGHT, [20.0, 3.8], 90),
    settled("8 PCC, 100 Mbit/s 5 ms", "rate=100Mbit,rtt=5ms,buffer=4bdp", EIGHT, [10.0, 1.7], 40),
    settled("8 PCC, 100 Mbit/s 30 ms", "rate=100Mbit,rtt=30ms,buffer=4bdp", EIGHT, [20.0, 1.7], 40),
    settled("8 PCC, 200 Mbit/s 60 ms", "rate=200Mbit,rtt=60ms,buffer=2bdp", EIGHT, [20.0, 1.2], 40),
    settled("10 PCC, 500 Mbit/s 20 ms", "rate=500Mbit,rtt=20ms,buffer=2bdp", TEN, [20.0, 0.8], 40),
];

const EIGHT: &str = "pcc*8:start=random:0..10s";
const TEN: &str = "pcc*10:stagger=2s:start=random:0..40ms";
const FEW: &str = "rate=50Mbit,rtt=40ms,buffer=1MB";
const CALL: &str = "media pcc*6:stagger=1s:start=random:0..40ms";

/// One CUBIC, then one PCC.
const ONE_EACH: &str = "cubic:start=random:0..40ms pcc:start=random:1s..2s";
const AFTER_BBR: &str = "bbr:start=random:0..40ms pcc:start=random:2s..3s";
const TOGETHER: [&str; 2] =
    ["cubic:start=random:0..2s pcc:start=random:0..2s", "cubic*4:start=random:0..2s pcc*4:start=random:0..2s"];
const AMONG_CUBIC: [&str; 3] = [
    "cubic*3:start=random:0..1s pcc:start=random:1s..2s",
    "cubic*10:start=random:0..1s pcc:start=random:1s..2s",
    "cubic*30:start=random:0..1s pcc:start=random:1s..2s",
];

/// Files at a load of 0.3, beside a bulk transfer.
const WEB: &str = "cubic*360:size=100kB:start=random:1s..20s pcc:start=random:0..40ms";

const TENTH: &str = "clean,buffer=37KB";
const LOSSY: [&str; 2] = ["clean,loss=9%", "clean,loss=4%"];

const OTHERS: &[Row] = &[
    behind("8 PCC behind CoDel", Queue::Codel, QueueP95, [15.0, 8.0]).long([30, 60], [2, 10]),
    behind("loss there", Queue::Codel, Loss, [0.01, 0.003]).long([30, 60], [2, 10]),
    behind("8 PCC behind FQ-CoDel", Queue::FqCodel, QueueP95, [15.0, 8.0]),
    behind("loss there", Queue::FqCodel, Loss, [0.01, 0.003]),
    row("41a", "a call beside 6 PCC, 4 BDP", "rate=50Mbit,rtt=40ms,buffer=4bdp", CALL, FrameMean(200), [80.0, 60.0])
        .most()
        .worst()
        .long([30, 60], [2, 10]),
    harm("CUBIC beside PCC, 0.02 BDP", "clean,buffer=9KB", "bbr", [1.0, 1.0]),
    harm("CUBIC beside PCC, 0.05 BDP", "clean,buffer=18750", "cubic", [0.4, 0.8]).long([30, 60], [3, 10]).today(0.12),
    harm("CUBIC beside PCC, 0.07 BDP", "clean,buffer=26250", "cubic", [0.4, 0.8]),
    harm("CUBIC beside PCC, 0.1 BDP", "clean,buffer=37500", "cubic", [0.4, 0.8]),
    harm("that, 20 Mbit/s, 0.09 BDP", "rate=20Mbit,rtt=40ms,buffer=9KB", "cubic", [0.4, 0.8])
        .long([30, 60], [3, 10])
        .today(0.052),
    harm("that, 300 Mbit/s, 0.05 BDP", "rate=300Mbit,rtt=20ms,buffer=37500", "cubic", [0.4, 0.8])
        .long([20, 30], [0, 10]),
    part("1 PCC among 3 CUBIC, 1 BDP", "clean", AMONG_CUBIC[0]),
    part_at_least("no less", "clean", AMONG_CUBIC[0]),
    part("1 PCC among 10 CUBIC, 1 BDP", "clean", AMONG_CUBIC[1]).long([30, 60], [2, 10]),
    part_at_least("no less", "clean", AMONG_CUBIC[1]).long([30, 60], [2, 10]),
    part("1 PCC among 30 CUBIC, 1 BDP", "clean", AMONG_CUBIC[2]),
    part_at_least("no less", "clean", AMONG_CUBIC[2]),
    part("1 PCC among 3 CUBIC, 4 BDP", "clean,buffer=4bdp", AMONG_CUBIC[0]),
    part_at_least("no less", "clean,buffer=4bdp", AMONG_CUBIC[0]),
    part("1 PCC among 10 CUBIC, 4 BDP", "clean,buffer=4bdp", AMONG_CUBIC[1]),
    part_at_least("no less", "clean,buffer=4bdp", AMONG_CUBIC[1]),
    part("1 PCC among 30 CUBIC, 4 BDP", "clean,buffer=4bdp", AMONG_CUBIC[2]),
    part_at_least("no less", "clean,buffer=4bdp", AMONG_CUBIC[2]),
    beside_early("RED, 4 CUBIC + 4 PCC", TOGETHER[1], Queue::Red).long([30, 60], [2, 10]),
    beside_early("no more", TOGETHER[1], Queue::Red).no_more().long([30, 60], [2, 10]).today(1.41),
    beside_early("RED, 1 + 1", TOGETHER[0], Queue::Red),
    beside_early("no more", TOGETHER[0], Queue::Red).no_more(),
    beside_early("RED with marks, 4 + 4", TOGETHER[1], Queue::Red).marks(Queue::Red),
    beside_early("no more", TOGETHER[1], Queue::Red).marks(Queue::Red).no_more(),
    beside_early("RED with marks, 1 + 1", TOGETHER[0], Queue::Red).marks(Queue::Red),
    beside_early("no more", TOGETHER[0], Queue::Red).marks(Queue::Red).no_more(),
    beside_early("CoDel, 4 + 4", TOGETHER[1], Queue::Codel),
    beside_early("no more", TOGETHER[1], Queue::Codel).no_more(),
    beside_early("CoDel, 1 + 1", TOGETHER[0], Queue::Codel),
    beside_early("no more", TOGETHER[0], Queue::Codel).no_more(),
    beside_early("CoDel with marks, 4 + 4", TOGETHER[1], Queue::Codel).marks(Queue::Codel),
    beside_early("no more", TOGETHER[1], Queue::Codel).marks(Queue::Codel).no_more(),
    beside_early("CoDel with marks, 1 + 1", TOGETHER[0], Queue::Codel).marks(Queue::Codel).long([40, 120], [2, 10]),
    beside_early("no more", TOGETHER[0], Queue::Codel).marks(Queue::Codel).no_more().long([40, 120], [2, 10]),
    after_bbr("after BBR, 20 Mbit/s, 1 BDP", "rate=20Mbit,rtt=40ms,buffer=1bdp").long([30, 60], [2, 10]),
    after_bbr("after BBR, 100 Mbit/s, 1 BDP", "clean"),
    after_bbr("after BBR, 100 Mbit/s, 1/4 BDP", "clean,buffer=0.25bdp"),
    after_bbr("after BBR, 100 Mbit/s, 1/10 BDP", TENTH),
    losing("6 PCC, 1/10 BDP, of CUBIC's", TENTH, "pcc*6:start=random:0..1s"),
    losing("10 PCC, 1/10 BDP, of CUBIC's", TENTH, "pcc*10:start=random:0..1s").long([30, 60], [2, 10]).today(5.7),
    losing("15 PCC, 1/10 BDP, of CUBIC's", TENTH, "pcc*15:start=random:0..1s"),
    losing("20 on 10 Mbit/s, of CUBIC's", "rate=10Mbit,rtt=50ms,buffer=62KB", "pcc*20:start=random:0..1s")
        .long([30, 60], [2, 10])
        .today(5.8),
    web("files beside PCC, 1/4 BDP", "rate=50Mbit,rtt=40ms,buffer=0.25bdp", Completion)
        .long([22, 22], [2, 10])
        .today(2.4),
    web("p95 there", "rate=50Mbit,rtt=40ms,buffer=0.25bdp", CompletionP95).long([22, 22], [2, 10]).today(3.5),
    web("files beside PCC, 1 BDP", "rate=50Mbit,rtt=40ms,buffer=1bdp", Completion),
    web("p95 there", "rate=50Mbit,rtt=40ms,buffer=1bdp", CompletionP95),
    web("files beside PCC, 4 BDP", "rate=50Mbit,rtt=40ms,buffer=4bdp", Completion),
    web("p95 there", "rate=50Mbit,rtt=40ms,buffer=4bdp", CompletionP95),
    row("46", "2 PCC, loss 9 %", LOSSY[0], "pcc*2:start=random:0..2s", JainLate(1), [0.9, 0.95])
        .worst()
        .long([30, 60], [2, 10]),
    row("46", "10 PCC, loss 4 %", LOSSY[1], "pcc*10:start=random:0..2s", JainLate(1), [0.9, 0.95])
        .worst()
        .long([30, 60], [0, 10]),
    mixed("Allegro, Vivace, by safe", "pcc/safe:law=allegro:start=random:0..1s pcc/safe:law=vivace:start=random:0..1s"),
    mixed("Ascent, Allegro, by safe", "pcc/safe:start=random:0..1s pcc/safe:law=allegro:start=random:0..1s"),
    mixed(
        "Vivace, Ascent, by vivace",
        "pcc/vivace:law=vivace:start=random:0..1s pcc/vivace:law=ascent:start=random:0..1s",
    ),
    row(
        "47",
        "10 against 200 ms",
        "rate=50Mbit,rtt=10ms,buffer=125KB",
        "pcc:start=random:0..200ms pcc:rtt=+190ms:start=random:0..200ms",
        Imbalance,
        [1.5, 1.2],
    )
    .most()
    .worst()
    .long([60, 120], [2, 10])
    .today(1.97),
];

/// All of them.
pub(super) const ROWS: &[Row] = &joined();

const COUNT: usize = 3 * SHORT.len() + 6 * AMONG_PCC.len() + 4 * CROWDS.len() + 3 * ELSEWHERE.len() + OTHERS.len();

const fn joined() -> [Row; COUNT] {
    let (mut all, mut place) = ([OTHERS[0]; COUNT], 0);
    let among = AMONG_PCC.as_flattened().as_flattened();
    let tables = [SHORT.as_flattened(), among, ELSEWHERE.as_flattened(), OTHERS];
    let mut table = 0;
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            all[place] = tables[table][row];
            (row, place) = (row + 1, place + 1);
        }
        // Crowds stand behind the few.
        let mut crowd = 0;
        while table == 1 && crowd < CROWDS.as_flattened().len() {
            let [queue, loss, jain] = CROWDS.as_flattened()[crowd];
            all[place] = Row { case: queue.case, ..loss };
            all[place + 1] = jain;
            (crowd, place) = (crowd + 1, place + 2);
        }
        table += 1;
    }
    all
}

/// What several of PCC come to: their queue, what they lose, and how equal they are.
const fn settled(
    case: &'static str,
    path: &'static str,
    flows: &'static str,
    queue: [f64; 2],
    seconds: u64,
) -> [Row; 3] {
    let (seconds, seeds) = ([seconds; 2], [0, 10]);
    [
        row("41", case, path, flows, QueueP95, queue).most().worst().long(seconds, seeds),
        row("41", "loss there", path, flows, Loss, [0.003, 0.0]).most().worst().long(seconds, seeds),
        row("41", "Jain there", path, flows, JainLate(1), [0.85, 0.95]).worst().long(seconds, seeds),
    ]
}

/// The same in the short form alone, and its bounds.
const fn short(case: &'static str, path: &'static str, flows: &'static str, goal: f64) -> [Row; 3] {
    let [queue, loss, jain] = settled(case, path, flows, [20.0, goal], 30);
    [queue.long([30; 2], [2, 0]), loss.long([30; 2], [2, 0]), jain.long([30; 2], [2, 0])]
}

/// They lose so much today: of sixteen seeds half lose more than 0.4 %, most of it in start-up.
const fn today_losing([queue, loss, jain]: [Row; 3], today: f64) -> [Row; 3] {
    [queue, loss.today(today), jain]
}

const fn behind(case: &'static str, queue: Queue, measure: super::Measure, limits: [f64; 2]) -> Row {
    row("41a", case, FEW, "pcc*8:start=random:0..2s", measure, limits)
        .most()
        .worst()
        .behind(queue)
        .long([30, 60], [0, 10])
}

const fn harm(case: &'static str, path: &'static str, peer: &'static str, limits: [f64; 2]) -> Row {
    row("43", case, path, ONE_EACH, Others, limits).worst().over(peer).long([30, 60], [0, 10])
}

const fn part(case: &'static str, path: &'static str, flows: &'static str) -> Row {
    row("43a", case, path, flows, LastFair, [1.5, 1.2]).most().worst().long([30, 60], [0, 10])
}

const fn part_at_least(case: &'static str, path: &'static str, flows: &'static str) -> Row {
    row("43a", case, path, flows, LastFair, [0.5, 0.8]).worst().long([30, 60], [0, 10])
}

const fn beside_early(case: &'static str, flows: &'static str, queue: Queue) -> Row {
    row("43b", case, FEW, flows, Others, [0.7, 0.9]).worst().over("cubic").behind(queue).long([30, 60], [0, 10])
}

impl Row {
    /// The other side of [`beside_early`].
    const fn no_more(self) -> Self {
        Self { must: 1.3, goal: 1.1, ..self.most() }
    }
}

const fn after_bbr(case: &'static str, path: &'static str) -> Row {
    row("43c", case, path, AFTER_BBR, LastPart, [1.0, 1.0]).worst().over("cubic").long([30, 60], [0, 10])
}

const fn losing(case: &'static str, path: &'static str, flows: &'static str) -> Row {
    row("44", case, path, flows, Loss, [3.0, 1.0]).most().worst().over("cubic").long([30, 60], [0, 10])
}

const fn web(case: &'static str, path: &'static str, measure: super::Measure) -> Row {
    row("45", case, path, WEB, measure, [1.1, 0.6]).most().worst().over("cubic").long([22, 22], [0, 10])
}

const fn mixed(case: &'static str, flows: &'static str) -> Row {
    row("47", case, "clean", flows, Imbalance, [1.5, 1.2]).most().worst().long([40, 100], [0, 10])
}
