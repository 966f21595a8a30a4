//! Equal scenarios and seeds give equal results, to the last bit.

use crate::behaviour::s;
use pcc_sim::{Cast, Queue, Results, Scenario, run};
use std::thread;

/// All that draws from a generator or keeps a queue: paths, queue disciplines, hosts, and every kind of sender.
const EVERYTHING: [(&str, &str, Queue); 9] = [
    ("clean,loss=1%,jitter=5ms,reorder=1%:5ms", "pcc*2 cubic bbr reno", Queue::DropTail),
    ("lte", "pcc:burners=2:pause=1s/10ms", Queue::DropTail),
    ("clean", "pcc/scavenger cubic pcc/vivace:law=vivace+proteus:start=1s 20Mbit", Queue::Red),
    ("clean,buffer=1MB", "pcc/safe*3:law=allegro:bursts=4ms:ackbursts=4ms", Queue::Codel),
    ("changing", "pcc:ackloss=0.1 bbr:on=1s:off=1s", Queue::FqCodel),
    ("datacentre", "pcc*20:size=256kB", Queue::Fair),
    ("clean", "pcc cubic:back pcc:back cubic*2:ect0", Queue::Pie),
    ("clean", "pcc cubic prague pcc:ect1", Queue::DualPi2),
    ("clean,duplicate=1%", "bbr*2 media media:back cubic*8", Queue::Sfq),
];

fn scenarios(seed: u64) -> Vec<Scenario> {
    let of = |(path, flows, queue): (&str, &str, Queue)| {
        let Cast(mut flows) = flows.parse().unwrap();
        for (number, flow) in (0..).zip(&mut flows) {
            flow.config.seed = seed * 1000 + number;
            flow.ecn |= queue == Queue::Codel;
        }
        Scenario { queue, ..Scenario::new(path.parse().unwrap(), flows, seed, s(4)) }
    };
    EVERYTHING.into_iter().map(of).collect()
}

/// All that is known of a run: every sample of every flow, every RTT, every counter.
fn written(scenario: &Scenario) -> String {
    format!("{:?}", run(scenario).unwrap())
}

#[test]
fn equal_seeds_give_equal_results_to_the_last_bit() {
    let alone: Vec<String> = scenarios(1).iter().map(written).collect();
    let others = || scenarios(1).iter().rev().map(written).collect::<Vec<_>>();
    let beside: Vec<Vec<String>> = thread::scope(|scope| {
        let both = [scope.spawn(others), scope.spawn(others)];
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for again in beside {
        // Not `assert_eq`: they are megabytes.
        let differ = alone.iter().zip(again.iter().rev()).position(|(one, other)| one != other);
        assert_eq!(differ.map(|place| EVERYTHING[place]), None);
    }
    let other_seed: Vec<String> = scenarios(2).iter().map(written).collect();
    assert!(alone.iter().zip(&other_seed).all(|(one, other)| one != other), "the seed makes no difference");
}

/// Nothing in it takes a logarithm or a power, so these are the figures of every platform.
#[test]
fn fixed_rates_give_the_same_on_every_platform() {
    let Cast(flows) = "60Mbit 60Mbit:start=100ms 5Mbit:size=100kB".parse().unwrap();
    let path = "clean,loss=1%,jitter=2ms,reorder=1%:5ms".parse().unwrap();
    let results: Results = run(&Scenario::new(path, flows, 7, s(2))).unwrap();
    let counts: Vec<_> =
        results.flows.iter().map(|flow| [flow.sent.packets, flow.sent.lost, flow.delivered.packets]).collect();
    let expected = vec![[10_023, 1714, 8040], [9513, 1526, 7719], [69, 1, 68]];
    assert_eq!((counts, results.drops(), results.events), (expected, 3399, 55_330));
}
