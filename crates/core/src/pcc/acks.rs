//! How often a sender needs to hear of its packets.

use core::time::Duration;

/// Acknowledgements of an interval. Each is a sample of the RTT, and with fewer the queue's growth is less certain. A CUBIC beside PCC
/// on 100 Mbit/s and 30 ms with a tenth of a BDP has .46 with 32, .41 with 16 and .22 with 8. That is
/// `pcc-lab sim rate=100Mbit,rtt=30ms,buffer=0.1bdp --flows 'pcc:ackevery=4 cubic'`: an interval has 125 packets.
const MOST: f64 = 32.0;
/// At the least, where they wait, and where nobody says whether they do. On a way back of a hundredth of the forward rate more would
/// fill its queue.
const FEWEST: f64 = 8.0;
/// An interval that is longer than half a base RTT has as many in that time.
const FEWEST_OF_RTT: f64 = 2.0 * FEWEST;
/// Each interval in which they did not wait has so many times more in the next: twofold in 35. With
/// 1.05 nothing differs by more than seeds do. Neither this nor [`WAITING`] was swept.
const GROWTH: f64 = 1.02;
/// They wait where the least that one of an interval was under way is longer than the least of all by this part of the base RTT.
const WAITING: u32 = 8;

/// Packets of an acknowledgement by default (RFC 9000 §13.2.2). Start-up needs them: it reads the bottleneck's rate off neighbours.
const OFTEN: u32 = 2;

/// No more packets wait for one: a receiver takes as many from its socket at a time.
const SELDOM: u32 = 64;

/// The acknowledgements that a sender asks its receiver for.
///
/// Acknowledgements are a flow of their own: more and more of them until they queue, then half as many. It begins with few, since
/// start-up's may have filled a slow way back, and a queue that always stood there is not seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acks {
    /// Packets that one should tell of.
    packets: u32,
    /// The number wanted of an interval.
    wanted: f64,
    /// The least wait on their way back of those that came in this interval. `None` if none came.
    waited: Option<Duration>,
    /// The peer says when they leave.
    timed: bool,
}

impl Acks {
    pub(super) const fn new() -> Self {
        Self { packets: OFTEN, wanted: FEWEST, waited: None, timed: false }
    }

    /// Packets that an acknowledgement should tell of.
    pub(super) const fn packets(&self) -> u32 {
        self.packets
    }

    /// The peer says when one left.
    pub(super) const fn on_left(&mut self) {
        self.timed = true;
    }

    /// One came that had waited so long on its way back, as far as that is known.
    pub(super) fn on_ack(&mut self, waited: Duration) {
        self.waited = Some(self.waited.map_or(waited, |least| least.min(waited)));
    }

    /// An interval of so many base RTTs begins. `packets` leave in a base RTT, `train` of them back to back.
    pub(super) fn begin_interval(&mut self, rtts: f64, packets: f64, train: u64, base: Duration) {
        let wanted = match self.waited.take() {
            _ if !self.timed => FEWEST,
            Some(waited) if waited > base / WAITING => self.wanted / 2.0,
            Some(_) => self.wanted * GROWTH,
            None => self.wanted,
        };
        self.wanted = wanted.clamp(FEWEST, MOST);
        let packets = packets / (self.wanted / rtts).max(FEWEST_OF_RTT);
        // A train's packets say the same.
        let packets = (packets as u64).max(train).clamp(OFTEN.into(), SELDOM.into()) as u32;
        // Asking costs a frame.
        if packets >= 2 * self.packets || 2 * packets <= self.packets {
            self.packets = packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(30);
    const HALF_RTT: f64 = 0.5;

    /// Packets of an acknowledgement after so many intervals of so many base RTTs, each of whose acknowledgements waited so long.
    fn after(acks: &mut Acks, intervals: u32, (rtts, packets): (f64, f64), waited: Option<Duration>) -> u32 {
        for _ in 0..intervals {
            if let Some(waited) = waited {
                acks.on_left();
                // The least of two counts.
                acks.on_ack(waited + BASE);
                acks.on_ack(waited);
            }
            acks.begin_interval(rtts, packets, 1, BASE);
        }
        acks.packets()
    }

    #[test]
    fn who_is_not_told_when_they_leave_asks_for_few() {
        for (packets, per_ack) in [(0.0, 2), (10.0, 2), (63.0, 2), (64.0, 4), (312.0, 19), (1e9, 64), (f64::NAN, 2)] {
            assert_eq!(after(&mut Acks::new(), 200, (HALF_RTT, packets), None), per_ack, "{packets}");
        }
    }

    #[test]
    fn more_and_more_are_asked_for_until_they_wait() {
        let (mut acks, probes) = (Acks::new(), (HALF_RTT, 250.0));
        let found = [1, 32, 1, 34, 1].map(|intervals| after(&mut acks, intervals, probes, Some(BASE / WAITING)));
        assert_eq!(found, [15, 15, 7, 7, 3], "twofold in 35 intervals");
        assert_eq!(after(&mut acks, 100, probes, Some(BASE / WAITING)), 3, "and no more than 32 of an interval");
        let waiting = Some(BASE / WAITING + Duration::from_nanos(1));
        assert_eq!([1, 1, 50].map(|intervals| after(&mut acks, intervals, probes, waiting)), [7, 15, 15]);
    }

    #[test]
    fn short_probes_of_a_long_path_have_as_many() {
        // A thirtieth of an RTT each, of 2800 packets an RTT.
        let satellite = (1.0 / 30.0, 2800.0);
        assert_eq!(after(&mut Acks::new(), 1, satellite, None), 11);
        assert_eq!(after(&mut Acks::new(), 100, satellite, Some(Duration::ZERO)), 2);
    }

    #[test]
    fn a_long_interval_has_sixteen_of_each_rtt() {
        for rtts in [0.5, 1.0, 2.0] {
            assert_eq!(after(&mut Acks::new(), 1, (rtts, 320.0), None), 20);
        }
    }

    #[test]
    fn an_interval_without_acks_changes_nothing() {
        let mut acks = Acks::new();
        let before = after(&mut acks, 100, (HALF_RTT, 512.0), Some(Duration::ZERO));
        assert_eq!(after(&mut acks, 100, (HALF_RTT, 512.0), None), before);
    }

    #[test]
    fn a_train_has_one_acknowledgement() {
        let mut acks = Acks::new();
        acks.begin_interval(HALF_RTT, 320.0, 40, BASE);
        assert_eq!(acks.packets(), 40);
    }

    #[test]
    fn it_asks_again_only_for_twice_as_many_or_half() {
        let mut acks = Acks::new();
        let mut ask = |packets| after(&mut acks, 1, (HALF_RTT, packets), None);
        assert_eq!([312.0, 200.0, 300.0, 350.0, 650.0, 100.0].map(&mut ask), [19, 19, 19, 19, 40, 6]);
    }
}
