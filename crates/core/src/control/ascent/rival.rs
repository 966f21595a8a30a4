//! Beside a sender that fills the queue until packets are lost: what such a sender does, so that it leaves us our part.
//!
//! A sender that wants a short queue gets nothing beside one that wants a long queue. A rival is known if the queue is longer than
//! a crowd of our kind would keep it, most of the time, and certainly not ours alone. Then a floor under the rate grows and falls
//! as CUBIC's window does (RFC 9438 §4), towards twice the rate that it began at. At each loss, ours or another's, it falls as CUBIC's, and
//! yields until the queue could have drained. If the queue drains, nobody fills it, and the floor goes.
//!
//! Senders of our kind that take each other for a rival must give way together to find out, and each hears of other losses. Between
//! losses floors only grow: a queue that falls shows that somebody gave way. So who sees it fall gives way too, and who sees it grow
//! while it does returns. That costs none of the window. One that gives way brings all of our kind along, and the queue drains; a
//! rival does not follow, and the queue grows again. Source: the mode that competes with TCP of Copa (`NSDI 2018` §2.2) and Nimbus
//! (`SIGCOMM 2022`).

/// CUBIC's constant C, in packets/s³, and its decrease β (RFC 9438 §4.1.2, §4.6).
const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// Memory of how often the queue is too long, in RTT, and at least this many seconds. RTTs have the queue in them: twenty behind a
/// full deep buffer are ten seconds and more. With five a radio's outages are taken for a rival (`sweep links`).
const MEMORY_RTTS: f64 = 10.0;
const MEMORY: f64 = 0.5;
/// The floor comes when the queue is too long for more than this part of the time, and goes below the other. A crowd of our kind
/// swings, and empties the queue in between. Other values: `docs/sweeps/constants.md`.
const ENTER: f64 = 0.7;
const LEAVE: f64 = 0.05;
/// After a loss or a fall we give way for so many RTT and twice the time that the queue is long: half of the rate drains it in that.
const YIELD_RTTS: f64 = 4.0;
/// A queue has fallen that is shorter than this part of its longest, and grown that is as much longer than its shortest.
const FELL: f64 = 0.9;
/// So many RTT after we began to give way the queue is what others make of it.
const ANSWERED: f64 = 2.0;
/// The floor aims at so many times the window that it began at, and grows slowest there, until a loss tells better. A floor that aims
/// at the most that was ever carried holds up a crowd of our kind that takes itself for a rival. On 50 Mbit/s and 40 ms 32 senders start
/// within 10 s, in half a BDP: six of 140 runs then lose more than 7 % of their packets, up to 20 %. With this it is three, up to 12 %. If
/// 16 start 1 s apart in 8 BDP, 1.8 % are lost then, and none with this.
const DOUBLED: f64 = 2.0;
crate::shared::shared_with_c!("RIVAL_" [] C, BETA, MEMORY_RTTS, MEMORY, ENTER, LEAVE, YIELD_RTTS, FELL, ANSWERED, DOUBLED);

/// A window that grows as CUBIC's. Windows in packets, times in seconds.
#[derive(Clone, Copy, Debug)]
struct Cubic {
    /// Where it grows slowest: the window of the latest loss.
    largest: f64,
    /// Where it began to grow.
    low: f64,
    /// How long it has grown, without the time in which nothing was sent (RFC 9438 §5.8).
    age: f64,
    /// Below this age we give way.
    yields: f64,
}

impl Cubic {
    fn window(&self) -> f64 {
        let k = ((self.largest - self.low).max(0.0) / C).cbrt();
        C * (self.age - k).powi(3) + self.largest
    }

    /// Gives way to a queue of this length, and then grows on; after a loss from a smaller window.
    fn yielding(&self, rtt: f64, queue: f64, lost: bool) -> Self {
        let largest = self.window();
        let low = if lost { largest * BETA } else { largest };
        Self { largest, low, age: 0.0, yields: YIELD_RTTS * rtt + 2.0 * queue }
    }
}

/// Whether somebody fills the queue, and the floor under the rate if so.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rival {
    /// How often the queue was too long of late, 0 to 1.
    crowded: f64,
    /// The longest queue since the floor came or returned, or the shortest since it yields. Unit: s.
    extreme: f64,
    cubic: Option<Cubic>,
}

impl Rival {
    /// Whether somebody is known to fill the queue.
    pub(super) const fn is_there(&self) -> bool {
        self.cubic.is_some()
    }

    /// The floor under the rate, if there is one, in packets an RTT.
    pub(super) fn update(&mut self, sample: Sample) -> Option<f64> {
        let Sample { since, rtt, queue, is_long, shared, lost, window } = sample;
        let crowded = is_long && shared;
        let weight = (since / (MEMORY_RTTS * rtt).max(MEMORY)).clamp(0.0, 1.0);
        self.crowded += weight * (f64::from(u8::from(crowded)) - self.crowded);
        self.cubic = match self.cubic.map(|cubic| Cubic { age: cubic.age + since, ..cubic }) {
            None if self.crowded > ENTER => {
                self.extreme = queue;
                Some(Cubic { largest: DOUBLED * window, low: window, age: 0.0, yields: 0.0 })
            }
            Some(_) if self.crowded < LEAVE => None,
            Some(cubic) if cubic.age < cubic.yields => {
                // What was sent before is still on its way for an RTT.
                let drained = !is_long && cubic.age > rtt;
                if drained {
                    self.crowded = 0.0;
                }
                self.extreme = self.extreme.min(queue);
                let grew = cubic.age > ANSWERED * rtt && FELL * queue > self.extreme;
                let yields = if grew { 0.0 } else { cubic.yields };
                (!drained).then_some(Cubic { yields, ..cubic })
            }
            Some(cubic) if lost || queue < FELL * self.extreme => {
                self.extreme = queue;
                Some(cubic.yielding(rtt, queue, lost))
            }
            unchanged => {
                self.extreme = self.extreme.max(queue);
                unchanged
            }
        };
        self.cubic.filter(|cubic| cubic.age >= cubic.yields).map(|cubic| cubic.window())
    }
}

/// A moment of the path. Times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// How long after the one before it; 0 after a pause.
    pub(super) since: f64,
    pub(super) rtt: f64,
    /// The level of the queue.
    pub(super) queue: f64,
    /// It is longer than senders of our kind would keep it.
    pub(super) is_long: bool,
    /// It certainly is not ours alone.
    pub(super) shared: bool,
    /// Packets were lost that are likelier somebody's than nobody's.
    pub(super) lost: bool,
    /// So many packets an RTT are sent.
    pub(super) window: f64,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const RTT: f64 = 0.03;

    fn sample(since: f64, is_long: bool, lost: bool) -> Sample {
        Sample { since, rtt: RTT, queue: 0.01, is_long, shared: true, lost, window: 50.0 }
    }

    /// One that is known.
    pub(in crate::control::ascent) fn there() -> Rival {
        let mut rival = Rival::default();
        pairs(&mut rival, 60, true);
        rival
    }

    /// Pairs of an RTT each.
    fn pairs(rival: &mut Rival, pairs: u32, crowded: bool) -> Option<f64> {
        (0..pairs).map(|_| rival.update(sample(RTT, crowded, false))).last().flatten()
    }

    #[test]
    fn a_long_queue_brings_a_floor_and_a_short_one_ends_it() {
        let mut rival = Rival::default();
        assert_eq!(pairs(&mut rival, 19, true), None, "not after half a second");
        assert!(pairs(&mut rival, 13, true).is_some_and(|floor| (50.0..70.0).contains(&floor)));
        assert!(pairs(&mut rival, 20, false).is_some(), "a loss drains the queue for a while");
        assert_eq!(pairs(&mut rival, 60, false), None);
    }

    #[test]
    fn a_crowd_s_queue_swings_and_a_rival_s_hardly_empties() {
        for (of_twenty, is_rival) in [(11, false), (19, true)] {
            let mut rival = Rival::default();
            let floors = (0..1000).map(|i| rival.update(sample(RTT, i % 20 < of_twenty, false)));
            assert_eq!(floors.flatten().count() > 0, is_rival, "{of_twenty} of twenty");
        }
    }

    #[test]
    fn a_queue_that_is_too_long_now_and_then_is_nobody_s() {
        let mut rival = Rival::default();
        let floors = (0..1000).map(|i| rival.update(sample(RTT, i % 3 == 0, true)));
        assert_eq!(floors.flatten().count(), 0);
    }

    #[test]
    fn the_floor_falls_at_a_loss_and_returns_with_the_queue() {
        let mut rival = Rival::default();
        let before = pairs(&mut rival, 60, true).unwrap();
        assert_eq!(rival.update(sample(RTT, true, true)), None, "we give way");
        assert_eq!(rival.update(sample(0.1, true, true)), None, "the same loss");
        let after = rival.update(sample(0.05, true, false)).unwrap();
        assert!((0.68..0.80).contains(&(after / before)), "{before} became {after}");
        assert!(rival.update(sample(1.55, true, false)).unwrap() > after * 1.1);
    }

    #[test]
    fn who_is_alone_finds_out_by_giving_way() {
        let mut rival = Rival::default();
        assert!(pairs(&mut rival, 60, true).is_some());
        assert_eq!(rival.update(sample(RTT, true, true)), None);
        assert_eq!(rival.update(sample(2.0 * RTT, false, false)), None);
        assert_eq!(pairs(&mut rival, 8, true), None, "and it does not come back at once");
    }

    #[test]
    fn unknown_time_does_not_change_the_floor() {
        let mut rival = Rival::default();
        assert_eq!(rival.update(sample(0.0, true, false)), None);
        assert!(!rival.is_there() && rival.crowded < 1e-9, "{rival:?}");

        let mut rival = there();
        let before = pairs(&mut rival, 5, true).unwrap();
        let after = rival.update(sample(0.0, false, false)).unwrap();
        assert!((after / before - 1.0).abs() < 1e-9, "{before} became {after}");
        // Nor is a time to give way over.
        assert_eq!(rival.update(sample(RTT, true, true)), None);
        assert_eq!(rival.update(sample(0.0, true, false)), None);
        assert!(rival.update(sample(0.2, true, false)).is_some());
    }

    #[test]
    fn the_window_is_rfc_9438_s() {
        let window = |age| Cubic { largest: 100.0, low: 70.0, age, yields: 0.0 }.window();
        // K = ∛(30 / 0.4) = 4.217 s: flat there, and convex beyond.
        assert!((window(4.217) - 100.0).abs() < 0.01);
        assert!((window(6.217) - 103.2).abs() < 0.01);
    }

    #[test]
    fn a_loss_takes_three_tenths_of_the_window_and_a_fall_none() {
        // RFC 9438 §4.6. After a loss at 100 packets it begins at 70, and is at 103.2 two seconds after K.
        let k = (30.0_f64 / C).cbrt();
        for (age, lost, largest, low) in
            [(0.0, true, 70.0, 0.7 * 70.0), (k + 2.0, true, 103.2, 0.7 * 103.2), (k + 2.0, false, 103.2, 103.2)]
        {
            let yielding = Cubic { largest: 100.0, low: 70.0, age, yields: 0.0 }.yielding(1.0, 0.1, lost);
            assert!((yielding.largest - largest).abs() < 1e-9 && (yielding.low - low).abs() < 1e-9, "{yielding:?}");
            assert!(yielding.age == 0.0 && (yielding.yields - 4.2).abs() < 1e-9, "{yielding:?}");
        }
    }

    #[test]
    fn who_begins_aims_at_twice_what_it_sends() {
        let mut rival = Rival { crowded: 0.9, ..Rival::default() };
        rival.update(sample(RTT, true, false));
        assert!(rival.cubic.is_some_and(|cubic| (cubic.largest - 100.0).abs() < 1e-9), "{rival:?}");
    }

    #[test]
    fn a_short_queue_counts_as_drained_an_rtt_after_yielding() {
        for (rtts, is_there) in [(0.5, true), (0.9, true), (1.1, false)] {
            let mut rival = there();
            rival.update(sample(RTT, true, true));
            rival.update(sample(rtts * RTT, false, false));
            assert_eq!(rival.cubic.is_some(), is_there, "{rtts} RTT after");
        }
    }

    /// A moment behind a queue of this length, so many RTT after the one before it.
    fn behind(rival: &mut Rival, queue: f64, rtts: f64) -> Option<f64> {
        rival.update(Sample { queue, ..sample(rtts * RTT, true, false) })
    }

    #[test]
    fn a_queue_that_falls_is_followed() {
        let mut rival = there();
        assert!(behind(&mut rival, 0.02, 1.0).is_some() && behind(&mut rival, 0.0181, 1.0).is_some());
        assert_eq!(behind(&mut rival, 0.0179, 1.0), None, "somebody gave way");
    }

    #[test]
    fn who_sees_the_queue_grow_again_returns() {
        for (rtts, queue, returns) in [(2.1, 0.0101, true), (2.1, 0.0099, false), (1.9, 0.02, false)] {
            let mut rival = there();
            let before = behind(&mut rival, 0.02, 1.0).unwrap();
            assert_eq!(behind(&mut rival, 0.009, 0.1), None);
            let after = behind(&mut rival, queue, rtts);
            assert_eq!(after.is_some(), returns, "{queue} s after {rtts} RTT");
            assert!(after.is_none_or(|after| (0.99..1.1).contains(&(after / before))), "{before} became {after:?}");
        }
    }

    #[test]
    fn who_returns_has_the_whole_window_unless_packets_were_lost() {
        for (lost, parts) in [(true, 0.7..0.75), (false, 0.99..1.1)] {
            let mut rival = there();
            let before = behind(&mut rival, 0.02, 1.0).unwrap();
            assert_eq!(rival.update(Sample { queue: 0.009, ..sample(0.1 * RTT, true, lost) }), None);
            let after = behind(&mut rival, 0.02, 2.1).unwrap();
            assert!(parts.contains(&(after / before)), "{before} became {after}, lost {lost}");
        }
    }
}
