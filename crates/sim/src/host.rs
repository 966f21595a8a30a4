//! The sender's host, which may have other things to do: timers and acknowledgements are attended to late.

use crate::scenario::Flow;
use core::time::Duration;
use pcc::rng::Rng;
use pcc::units::Timestamp;

/// For so long Linux lets a process run before another one gets its turn (EEVDF, two processors: 3 ms).
const SLICE: Duration = Duration::from_millis(3);
/// One wake-up in so many finds the processor owed to all of the others first.
const LAST_IN_TURN: f64 = 1.0 / 16.0;

/// A processor that the sender shares with processes that never sleep, or that stands still at times.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    burners: u32,
    /// The most that it takes for anything, even alone.
    delay: Duration,
    rng: Rng,
    /// From when to when it stands still, in the order of time.
    pauses: Vec<(Timestamp, Timestamp)>,
    /// The first pause that is not over.
    pause: usize,
    /// When the sender runs, or last ran.
    runs_at: Timestamp,
    late: Duration,
}

impl Host {
    pub(crate) fn new(flow: &Flow, seed: u64) -> Self {
        let moment = |time: Duration| Timestamp::ZERO + time;
        Self {
            burners: flow.burners,
            delay: flow.host_delay,
            rng: Rng::new(seed ^ 0x686f_7374),
            pauses: flow.pauses.iter().map(|(from, to)| (moment(*from), moment(*to))).collect(),
            pause: 0,
            runs_at: Timestamp::ZERO,
            late: Duration::ZERO,
        }
    }

    /// When the sender gets to what happens now; `None` if at once.
    pub(crate) fn delays(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.runs_at == now {
            return None;
        }
        if self.runs_at < now {
            let late = self.until_a_turn().max(self.until_it_goes_on(now));
            if late.is_zero() {
                return None;
            }
            (self.late, self.runs_at) = (late, now + late);
        }
        (self.runs_at > now).then_some(self.runs_at)
    }

    fn until_a_turn(&mut self) -> Duration {
        if self.burners == 0 {
            return if self.delay.is_zero() { self.delay } else { self.delay.mul_f64(self.rng.unit()) };
        }
        let turns = if self.rng.unit() < LAST_IN_TURN { self.burners } else { 1 };
        (SLICE * turns).mul_f64(self.rng.unit())
    }

    fn until_it_goes_on(&mut self, now: Timestamp) -> Duration {
        while self.pauses.get(self.pause).is_some_and(|(_, to)| *to <= now) {
            self.pause += 1;
        }
        let pause = self.pauses.get(self.pause).filter(|(from, _)| *from <= now);
        pause.map_or(Duration::ZERO, |(_, to)| to.since(now))
    }

    /// By how much the sender runs late now.
    pub(crate) fn late(&self, now: Timestamp) -> Duration {
        if self.runs_at == now { self.late } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_in_a_pause_is_attended_to_at_its_end() {
        let ms = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        let pauses = [(10, 20), (30, 35)].map(|(from, to)| (Duration::from_millis(from), Duration::from_millis(to)));
        let mut host = Host::new(&Flow { pauses: pauses.into(), ..Flow::default() }, 1);
        for (now, until) in [(5, None), (12, Some(20)), (15, Some(20)), (20, None), (25, None), (31, Some(35))] {
            assert_eq!(host.delays(ms(now)), until.map(ms), "{now}");
        }
        assert_eq!(host.late(ms(35)), Duration::from_millis(4));
    }
}
