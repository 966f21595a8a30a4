//! What single readings do to the level, to its noise, to its doubts.

use super::super::pair::tests::{RTT, pair};
use super::tests::pairs;
use super::*;
use crate::units::Rate;

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-8, "{found}, not {expected}");
}

/// Takes in a pair at this rate in Mbit/s behind this queue.
fn read(level: &mut Level, at: u64, mbit: f64, queue: f64) -> Pair {
    let pair = pair(at, mbit, |_| 0.0, |_| queue);
    level.read(&pair, 0.0);
    pair
}

#[test]
fn what_is_read_is_what_is_above_the_path_s_own_noise_and_all() {
    let mut level = Level::above(RTT);
    near(level.raw(), 0.0);
    for (above, base_offset, left) in [(0.02, 0.0, 0.02), (0.02, 0.005, 0.015), (0.02, 0.03, 0.0)] {
        (level.last, level.base_offset) = (above, base_offset);
        near(level.raw(), left);
    }
}

#[test]
fn a_queue_that_grows_as_it_is_known_to_is_no_noise() {
    let mut level = Level::above(RTT);
    for at in 0..10 {
        level.read(&pair(at, 100.0, |_| 0.0, |at| 0.1 * at), 0.1);
    }
    near(level.noise, 0.0);
}

#[test]
fn a_fallen_level_is_the_next_one_to_compare_with() {
    let mut level = Level::above(RTT);
    (level.base_offset, level.reference) = (0.02, (20e6, 0.0));
    let slower = read(&mut level, 0, 80.0, 0.02);
    level.request_test(&slower);
    assert!(level.doubt == Doubt::None && level.reference.0 == slower.rate() && level.reference.1 < 1e-12, "{level:?}");
    // Of 20 ms 13 are left.
    level = Level { reference: (20e6, 0.02), ..Level::above(RTT) };
    let pair = read(&mut level, 0, 80.0, 0.013);
    level.request_test(&pair);
    assert!(level.doubt == Doubt::None && level.reference.0 == pair.rate(), "{level:?}");
    near(level.reference.1, 0.013);
}

#[test]
fn a_level_of_a_few_packets_that_stays_is_the_path_s() {
    // Three packets of 100 bytes take 24 µs.
    for (queue, is_raised) in [(0.0004, true), (0.0001, true), (0.00002, false)] {
        let (mut level, mut at) = (Level::above(RTT), 0);
        pairs(&mut level, &mut at, 100.0, queue, |queue| queue);
        pairs(&mut level, &mut at, 80.0, queue, |queue| queue);
        assert_eq!(level.is_raised(), is_raised, "{queue} s: {level:?}");
    }
}

#[test]
fn a_queue_is_compared_with_what_its_test_left() {
    let (mut level, mut at) = (Level::above(RTT), 0);
    pairs(&mut level, &mut at, 100.0, 0.02, |queue| queue);
    for rate in [80.0, 70.0, 60.0, 50.0] {
        pairs(&mut level, &mut at, rate, 0.02, |queue| queue - 0.0075);
        // By the test's own rate, twice.
        let (reference, left) = level.reference;
        assert!((reference * 8e-6 / rate - 1.0).abs() < 1e-3 && (left - 0.0125).abs() < 1e-3, "{level:?}");
    }
}

#[test]
fn a_level_certainly_below_the_base_lowers_the_base() {
    let mut level = Level::above(RTT);
    level.base_offset = 0.02;
    let reading = level.read(&pair(0, 100.0, |_| 0.0, |_| 0.005), 0.0).unwrap();
    assert!(level.base() - RTT < 0.005 + reading.noise + 1e-9, "{level:?}");
}

#[test]
fn a_level_that_a_window_keeps_is_not_the_path_s() {
    for (held_back_to, is_the_path_s) in [(0.85, false), (0.95, true)] {
        let mut level = Level::above(RTT);
        let mut at = 0;
        pairs(&mut level, &mut at, 100.0, 0.02, |queue| queue);
        for _ in 0..40 {
            let probe = 2 * at as u8;
            let share = level.begin_pair(probe);
            let mut pair = pair(at, 80.0 * share, |_| 0.0, |_| 0.02);
            for report in [&mut pair.first, &mut pair.second] {
                report.achieved = Rate::from_mbit(held_back_to * report.target.mbit());
            }
            at += 1;
            level.read(&pair, 0.0);
            if !level.on_tested(probe, &pair, 0.0) {
                level.request_test(&pair);
            }
        }
        assert_eq!(level.is_raised(), is_the_path_s, "{held_back_to} of what was asked for: {level:?}");
    }
}

#[test]
fn what_a_queue_became_in_a_pause_is_no_noise() {
    for (interrupted, expected) in [(true, 0.0), (false, 0.01)] {
        let mut level = Level::above(RTT);
        (0..10).for_each(|at| drop(read(&mut level, at, 100.0, 0.01)));
        if interrupted {
            level.interrupt();
        }
        // Long after: the queue emptied by itself.
        read(&mut level, 1000, 100.0, 0.0);
        near(level.noise, expected / 10.0);
        read(&mut level, 1001, 100.0, 0.01);
        assert!(level.noise > 0.0009, "the next one follows it: {level:?}");
    }
}

#[test]
fn a_test_of_which_nothing_is_heard_is_forgotten() {
    for (later, in_doubt) in [(250, true), (252, true), (0, false), (2, false)] {
        let mut level = Level::above(RTT);
        level.doubt = Doubt::Wanted(0.02);
        level.begin_pair(254);
        assert!(!level.on_tested(later, &pair(0, 80.0, |_| 0.0, |_| 0.02), 0.0));
        assert_eq!(level.doubt != Doubt::None, in_doubt, "probe {later}");
    }
}

#[test]
fn fullness_is_of_the_longest_queue_above_the_least_rtt() {
    let mut level = Level::above(RTT);
    near(level.fullness(), 0.5);
    read(&mut level, 0, 50.0, 0.016);
    near(level.fullness(), 18.0 / 20.0);
    level.base_offset = 0.016;
    near(level.fullness(), 18.0 / 20.0);
    read(&mut level, 1, 50.0, 0.0);
    near(level.fullness(), 2.0 / (0.999 * 16.0 + 4.0));
}
