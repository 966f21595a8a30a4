//! Time in bins of a second, and of more where a trace is long.

/// The number of bins that are kept: an hour of seconds. For more time they become twice as long.
pub(crate) const MOST: usize = 3600;

/// Parts of a bin, for the rates at which packets were lost.
pub(crate) const PARTS: usize = 10;

/// The activity of a sender, or the thing that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It sent as its congestion control let it.
    Network,
    /// Nothing was under way, for want of data.
    Idle,
    /// Less was under way than was allowed, for want of data.
    Thin,
    /// The peer took no more.
    ReceiverWindow,
    /// It did not run.
    Host,
    /// Nothing came back.
    Outage,
}

/// Bytes that were sent in a part of a bin, and those of them that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) sent: f32,
    pub(crate) lost: f32,
}

/// A stretch of time. Bytes, and times in s.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bin {
    /// In each [`State`].
    pub(crate) times: [f64; 6],
    /// Intervals of PCC's by their limit: network, application, receiver window, host.
    pub(crate) intervals: [f64; 4],
    pub(crate) sent: f64,
    pub(crate) packets: u32,
    pub(crate) delivered: f64,
    pub(crate) lost: u32,
    /// Lost packets that met a long queue.
    pub(crate) lost_in_queue: u32,
    /// Declared lost in error.
    pub(crate) late: u32,
    pub(crate) rtts: u32,
    pub(crate) rtt_sum: f64,
    pub(crate) rtt_least: Option<f64>,
    pub(crate) rtt_most: f64,
    pub(crate) in_flight: f64,
    /// The latest congestion window.
    pub(crate) window: Option<f64>,
    pub(crate) parts: [Part; PARTS],
}

impl Bin {
    pub(crate) fn rtt(&mut self, rtt: f64) {
        self.rtts += 1;
        self.rtt_sum += rtt;
        self.rtt_least = Some(self.rtt_least.map_or(rtt, |least| least.min(rtt)));
        self.rtt_most = self.rtt_most.max(rtt);
    }

    pub(crate) fn rtt_mean(&self) -> Option<f64> {
        (self.rtts > 0).then(|| self.rtt_sum / f64::from(self.rtts))
    }

    /// With the one behind it.
    fn merged(&self, next: &Self) -> Self {
        let mut merged = self.clone();
        merged.times.iter_mut().zip(next.times).for_each(|(time, next)| *time += next);
        merged.intervals.iter_mut().zip(next.intervals).for_each(|(time, next)| *time += next);
        merged.sent += next.sent;
        merged.packets = self.packets.saturating_add(next.packets);
        merged.delivered += next.delivered;
        merged.lost = self.lost.saturating_add(next.lost);
        merged.lost_in_queue = self.lost_in_queue.saturating_add(next.lost_in_queue);
        merged.late = self.late.saturating_add(next.late);
        merged.rtts = self.rtts.saturating_add(next.rtts);
        merged.rtt_sum += next.rtt_sum;
        merged.rtt_least = [self.rtt_least, next.rtt_least].into_iter().flatten().reduce(f64::min);
        merged.rtt_most = self.rtt_most.max(next.rtt_most);
        merged.in_flight = self.in_flight.max(next.in_flight);
        merged.window = next.window.or(self.window);
        let all: Vec<_> = self.parts.iter().chain(&next.parts).collect();
        for (part, pair) in merged.parts.iter_mut().zip(all.chunks(2)) {
            *part = Part { sent: pair[0].sent + pair[1].sent, lost: pair[0].lost + pair[1].lost };
        }
        merged
    }
}

/// All of the time since data was first sent.
#[derive(Debug)]
pub(crate) struct Bins {
    /// Unit: s.
    pub(crate) width: f64,
    pub(crate) all: Vec<Bin>,
}

impl Default for Bins {
    fn default() -> Self {
        Self { width: 1.0, all: Vec::new() }
    }
}

impl Bins {
    /// The bin of this time, in s.
    pub(crate) fn at(&mut self, time: f64) -> &mut Bin {
        while time >= self.width * MOST as f64 {
            let merged = |pair: &[Bin]| pair.get(1).map_or_else(|| pair[0].clone(), |next| pair[0].merged(next));
            self.all = self.all.chunks(2).map(merged).collect();
            self.width *= 2.0;
        }
        let place = (time.max(0.0) / self.width) as usize;
        if self.all.len() <= place {
            self.all.resize_with(place + 1, Bin::default);
        }
        &mut self.all[place]
    }

    /// The part of a bin at this time.
    pub(crate) fn part(&mut self, time: f64) -> &mut Part {
        self.at(time); // it may change the width
        let within = (time.max(0.0) / self.width).fract();
        &mut self.at(time).parts[((within * PARTS as f64) as usize).min(PARTS - 1)]
    }

    /// A time in this state, from one time to the other.
    pub(crate) fn spend(&mut self, state: State, from: f64, to: f64) {
        if to <= from {
            return;
        }
        self.at(to);
        let width = self.width;
        let mut from = from.max(0.0);
        while from < to {
            // A rounded border must not hold it up.
            let end = ((from / width).floor() * width + width).min(to).max(from.next_up());
            self.at(from).times[state as usize] += end - from;
            from = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_spent_in_the_bins_that_it_passes() {
        let mut bins = Bins::default();
        bins.spend(State::Outage, 0.25, 2.5);
        let spent: Vec<_> = bins.all.iter().map(|bin| bin.times[State::Outage as usize]).collect();
        assert_eq!(spent, [0.75, 1.0, 0.5]);
    }

    #[test]
    fn bins_are_bounded_and_nothing_is_lost_when_they_grow() {
        let mut bins = Bins::default();
        for second in 0..MOST * 3 {
            let time = second as f64 + 0.5;
            bins.at(time).sent += 1.0;
            bins.at(time).rtt(time);
            bins.part(time).sent += 2.0;
            bins.spend(State::Network, second as f64, time);
        }
        assert!(bins.width == 4.0 && bins.all.len() <= MOST);
        let sum = |value: fn(&Bin) -> f64| bins.all.iter().map(value).sum::<f64>();
        let all = (MOST * 3) as f64;
        assert_eq!(
            (sum(|bin| bin.sent), sum(|bin| bin.times[0]), sum(|bin| f64::from(bin.rtts))),
            (all, all / 2.0, all)
        );
        assert_eq!(sum(|bin| bin.parts.iter().map(|part| f64::from(part.sent)).sum()), 2.0 * all);
        assert_eq!((bins.all[0].rtt_least, bins.all[0].rtt_most), (Some(0.5), 3.5));
    }

    #[test]
    fn a_time_far_away_costs_no_memory() {
        let mut bins = Bins::default();
        bins.at(1e12).sent = 1.0;
        assert!(bins.all.len() <= MOST);
    }
}
