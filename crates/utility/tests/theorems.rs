//! The papers' theorems on their utilities, and the tables that follow, as the analysis computes them.

use pcc::control::Law;
use pcc::units::Rate;
use pcc::utility::{Utility, parse};
use pcc_utility::{Bottleneck, Equilibria, Game};
use std::sync::Arc;
use std::time::Duration;

const CAPACITY: f64 = 100.0;

/// The papers' model: what exceeds the capacity is lost. So there is next to no buffer.
fn without_buffer() -> Bottleneck {
    Bottleneck {
        capacity: Rate::from_mbit(CAPACITY),
        base_rtt: Duration::from_millis(30),
        buffer: Duration::from_nanos(100),
        loss: 0.0,
    }
}

fn utility(written: &str) -> Arc<dyn Utility> {
    parse(written).unwrap_or_else(|error| panic!("{written}: {error}"))
}

fn settle(written: &str, senders: u32, path: Bottleneck) -> Equilibria {
    let utility = utility(written);
    Game::new(&*utility, &Law::suited_to(&*utility), path).settle(senders)
}

/// The slope that theorem 1 asks for with so many senders.
fn steepness(senders: u32) -> f64 {
    (2.2 * (f64::from(senders) - 1.0)).max(100.0)
}

/// `NSDI 2015`, theorem 1: there is one stable rate, it is fair, and all together send less than 20/19 of the capacity.
#[test]
fn safe_senders_settle_fairly_below_five_percent_of_loss() {
    for senders in [2, 3, 5, 10, 20, 46, 100, 200] {
        let settled = settle(&format!("safe,steepness={}", steepness(senders)), senders, without_buffer());
        assert!(settled.is_unique_and_fair() && !settled.undefined, "{settled:?}");
        let total = settled.stable[0].rate.mbit() * f64::from(senders);
        assert!((0.999 * CAPACITY..CAPACITY * 20.0 / 19.0).contains(&total), "{senders}: {total}");
    }
}

/// `NSDI 2015`, theorem 2: all at once compare 1 + ε and 1 − ε as though they alone changed, and take what is better. From
/// wherever they start all end within (1 ± ε)² of the fair rate.
#[test]
fn safe_senders_that_compare_two_rates_end_at_the_fair_one() {
    const EPSILON: f64 = 0.01;
    for (senders, first) in [(2, 9.0), (2, 0.1), (5, 30.0), (10, 100.0)] {
        let utility = utility(&format!("safe,steepness={}", steepness(senders)));
        let path = without_buffer();
        let game = Game::new(&*utility, &Law::suited_to(&*utility), path);
        let fair = game.settle(senders).stable[0].rate.mbit();
        let mut rates = vec![1.0; senders as usize];
        rates[0] = first;
        for _ in 0..20_000 {
            let total: f64 = rates.iter().sum();
            let value = |rate: f64, own: f64| {
                game.value(Rate::from_mbit(rate), Rate::from_mbit(total - own), path.buffer).unwrap()
            };
            for rate in &mut rates {
                let own = *rate;
                let rises = value(own * (1.0 + EPSILON), own) > value(own * (1.0 - EPSILON), own);
                *rate = own * if rises { 1.0 + EPSILON } else { 1.0 - EPSILON };
            }
        }
        let bounds = fair * (1.0 - EPSILON).powi(2)..fair * (1.0 + EPSILON).powi(2);
        assert!(rates.iter().all(|rate| bounds.contains(rate)), "{senders}: {rates:?} are not all in {bounds:?}");
    }
}

/// Solved by hand from the condition that a rate is best when all send it.
#[test]
fn safe_senders_lose_as_much_as_the_first_order_condition_says() {
    for (senders, gentle, sharp) in [
        (1, 0.0, 0.0),
        (2, 0.0, 0.0),
        (3, 0.004, 0.043),
        (5, 0.015, 0.044),
        (10, 0.025, 0.045),
        (20, 0.035, 0.046),
        (46, 0.047, 0.047),
    ] {
        for (alpha, expected) in [(steepness(senders), gentle), (1000.0, sharp)] {
            let settled = settle(&format!("safe,steepness={alpha}"), senders, without_buffer());
            let loss = settled.stable[0].loss;
            assert!((loss - expected).abs() < 0.0015, "{senders} with {alpha}: {loss}, not {expected}");
        }
    }
}

/// From 1 − 2L = (1 − L)/n·2: nothing with two, half of all with many.
#[test]
fn linear_senders_lose_more_the_more_they_are() {
    for senders in [3, 4, 10, 50] {
        let n = f64::from(senders);
        let expected = (n - 2.0) / (2.0 * (n - 1.0));
        let loss = settle("linear", senders, without_buffer()).stable[0].loss;
        assert!((loss - expected).abs() < 0.002, "{senders}: {loss}, not {expected}");
    }
}

#[test]
fn loss_resilient_collapses_without_fair_queueing() {
    for senders in [3, 10] {
        assert!(settle("loss-resilient", senders, without_buffer()).unbounded, "{senders}");
    }
    for random in [0.0, 0.1, 0.5] {
        let alone = settle("loss-resilient", 1, Bottleneck { loss: random, ..without_buffer() });
        assert!(!alone.unbounded && (alone.stable[0].rate.mbit() / CAPACITY - 1.0).abs() < 0.01, "{random}: {alone:?}");
    }
}

/// `NSDI 2018`, theorem 2: there is no standing queue if b is at least t·n^(2 − t)·C^(t − 1).
#[test]
fn vivace_senders_leave_no_queue_if_growth_costs_enough() {
    let path = Bottleneck { buffer: Duration::from_millis(30), ..without_buffer() };
    for senders in [1, 2, 10, 100] {
        let bound = 0.9 * f64::from(senders).powf(1.1) * CAPACITY.powf(-0.1);
        let emptiest = |b: f64| settle(&format!("x^0.9 - {b}*x*g - 11.35*x*L"), senders, path).stable[0];
        let (enough, short) = (emptiest(1.05 * bound), emptiest(0.95 * bound));
        assert!(enough.queue.0 < Duration::from_micros(300) && enough.loss < 1e-3, "{senders}: {enough:?}");
        assert!(short.queue.0 > path.buffer.mul_f64(0.99), "{senders}: {short:?}");
    }
}

/// `NSDI 2018`, theorem 3: n senders that bear the loss p lose L, of which p = (nL − L + 1)/((1 − L)^(1 − t)·n^(2 − t)).
#[test]
fn vivace_senders_pay_for_what_they_bear() {
    for (senders, bears) in [(10, 0.3), (25, 0.1), (50, 0.05), (100, 0.05)] {
        let (n, price) = (f64::from(senders), 0.9 * CAPACITY.powf(-0.1) / bears);
        let settled = settle(&format!("vivace-loss,c={price}"), senders, without_buffer());
        let loss: f64 = settled.stable[0].loss;
        let implied = (n * loss - loss + 1.0) / ((1.0 - loss).powf(0.1) * n.powf(1.1));
        assert!(
            settled.is_unique_and_fair() && (implied / bears - 1.0).abs() < 0.02,
            "{senders}: {settled:?}, {implied}"
        );
    }
}

/// Costs in proportion to C by the share that is to be had.
#[test]
fn weighted_senders_of_equal_weights_share_equally() {
    let settled = settle("weighted,share=20%", 5, without_buffer());
    assert!(settled.is_unique_and_fair(), "{settled:?}");
    assert!((settled.stable[0].rate.mbit() / (CAPACITY / 5.0) - 1.0).abs() < 0.2, "{settled:?}");
}

/// A text computes the same as the built-in function of that name, and so the same law suits it.
#[test]
fn a_text_suits_the_law_that_its_built_in_twin_suits() {
    for about in pcc::utility::built_in() {
        let written = match about.name {
            "weighted" => "weighted,share=0.5",
            "hybrid" => "hybrid,needed=20Mbit",
            "rate-limiter" => "rate-limiter,limit=20Mbit",
            name => name,
        };
        let (built_in, text) = (utility(written), utility(about.text));
        assert_eq!(Law::suited_to(&*built_in).name(), Law::suited_to(&*text).name(), "{}", about.name);
    }
}
