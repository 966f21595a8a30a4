//! The search for states that hold themselves up: it finds no more of them than it did.

use crate::draw::{Draw, Ranges};
use crate::each;
use crate::verdict::Verdict;
use pcc_sim::Control;
use std::collections::BTreeSet;

/// Bad draws among those of the test: ten today, and one more for another system's logarithms.
const BAD: usize = 11;
const SEEDS: core::ops::RangeInclusive<u64> = 1..=16;

#[test]
fn no_more_crowds_end_in_a_bad_state_than_today() {
    let draws: Vec<Draw> = SEEDS.map(|seed| Draw::of(seed, &Ranges::SHORT)).collect();
    let verdicts = each::each(&draws, Verdict::of).unwrap();
    let bad = verdicts.iter().filter(|verdict| !verdict.faults().is_empty());
    let bad: Vec<_> = bad.map(|verdict| format!("{}   # {}", verdict.draw, verdict.faults().join("; "))).collect();
    assert!(bad.len() <= BAD, "{} of {}:\n{}", bad.len(), draws.len(), bad.join("\n"));
}

#[test]
fn draws_cover_queues_departures_and_both_ends() {
    let draws: Vec<Draw> = (1..=400).map(|seed| Draw::of(seed, &Ranges::WHOLE)).collect();
    assert!(draws.iter().all(|draw| (2..=64).contains(&draw.senders) && draw.buffer >= 0.49));
    for senders in [2..=3, 50..=64] {
        assert!(draws.iter().any(|draw| senders.contains(&draw.senders)), "{senders:?}");
    }
    let scenarios: Vec<_> = draws.iter().map(|draw| draw.scenario(Control::Pcc).unwrap()).collect();
    let queues: BTreeSet<_> = scenarios.iter().filter_map(|scenario| scenario.queue.name()).collect();
    assert_eq!(queues, ["codel", "droptail", "fq", "fq_codel", "red"].into());
    for (draw, scenario) in draws.iter().zip(&scenarios) {
        let (half, flows) = (scenario.duration / 2, &scenario.flows);
        assert_eq!(flows.len() as u64, draw.senders, "{draw}");
        assert!(flows.iter().all(|flow| flow.latest_start() * 2 <= half && flow.stop.is_none_or(|stop| stop <= half)));
        assert!(flows.iter().filter(|flow| flow.stop.is_none()).count() > 1, "{draw}");
    }
    assert!(scenarios.iter().any(|scenario| scenario.flows.iter().any(|flow| flow.stop.is_some())));
}
