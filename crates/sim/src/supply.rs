//! The application: when there is data to send, and whether all of it has arrived.

use crate::media::Media;
use crate::scenario::Source;
use pcc::units::{Bytes, Timestamp};

/// There will be nothing more.
const NEVER: Timestamp = Timestamp::from_nanos(u64::MAX);

/// A source and what was taken from it.
#[derive(Clone, Debug)]
pub(crate) struct Supply {
    source: Source,
    started: Timestamp,
    /// Bytes handed to the network, less those declared lost.
    taken: u64,
    acked: u64,
    /// The latest moment asked about.
    now: Timestamp,
    /// The call, if the source is one.
    media: Option<Box<Media>>,
}

impl Supply {
    /// For packets of at most so many bytes.
    pub(crate) fn new(source: Source, started: Timestamp, largest: Bytes) -> Self {
        let media = (source == Source::Media).then(|| Box::new(Media::new(largest)));
        Self { source, started, taken: 0, acked: 0, now: started, media }
    }

    /// The call, if the source is one.
    pub(crate) fn media(&mut self) -> Option<&mut Media> {
        self.media.as_deref_mut()
    }

    /// The next packet leaves, with new data or what was lost: the bytes of it, full ones but for a call.
    pub(crate) fn send(&mut self, size: Bytes) -> Bytes {
        self.take(size);
        self.media().map_or(size, Media::send)
    }

    pub(crate) const fn take(&mut self, size: Bytes) {
        self.taken += size.get();
    }

    /// What was lost is to be sent again.
    pub(crate) const fn give_back(&mut self, size: Bytes) {
        self.taken = self.taken.saturating_sub(size.get());
    }

    pub(crate) const fn arrived(&mut self, size: Bytes) {
        self.acked += size.get();
    }

    /// Time goes on, which matters to sources that pause.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        if let Some(media) = &mut self.media {
            media.make(now);
        }
    }

    /// Since or from when there is another packet.
    pub(crate) fn next(&self, size: Bytes) -> Timestamp {
        match self.source {
            Source::Greedy => Timestamp::ZERO,
            Source::Media => self.media.as_ref().and_then(|media| media.next()).unwrap_or(NEVER),
            Source::Volume(volume) if self.taken < volume.get() => Timestamp::ZERO,
            Source::Volume(_) => NEVER,
            Source::At(rate) => self.started + rate.time_for(Bytes::new(self.taken) + size),
            Source::OnOff { on, off } => {
                let (period, since) = ((on + off).as_nanos().max(1), self.now.since(self.started).as_nanos());
                if since % period < on.as_nanos() {
                    return Timestamp::ZERO;
                }
                let nanos = (since / period + 1) * period;
                self.started + core::time::Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }

    /// Whether all of a finite volume has arrived.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.source, Source::Volume(volume) if self.acked >= volume.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use pcc::units::Rate;

    const SIZE: Bytes = Bytes::new(1000);

    const fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_source_that_pauses_has_data_in_its_time_only() {
        let on_off = Source::OnOff { on: Duration::from_secs(1), off: Duration::from_secs(2) };
        let mut supply = Supply::new(on_off, at(500), SIZE);
        for (now, next) in [(500, 0), (1400, 0), (1600, 3500), (3400, 3500), (3600, 0)] {
            supply.tick(at(now));
            assert_eq!(supply.next(SIZE), at(next), "{now}");
        }
    }

    #[test]
    fn a_limited_source_makes_data_at_its_rate() {
        let mut supply = Supply::new(Source::At(Rate::from_mbit(8.0)), at(100), SIZE);
        assert_eq!(supply.next(SIZE), at(101));
        supply.take(SIZE);
        assert_eq!(supply.next(SIZE), at(102));
        supply.give_back(SIZE);
        assert_eq!(supply.next(SIZE), at(101), "what was lost is still there to be sent");
    }

    #[test]
    fn a_volume_is_done_when_all_of_it_has_arrived() {
        let mut supply = Supply::new(Source::Volume(Bytes::new(1500)), at(0), SIZE);
        supply.take(SIZE);
        supply.take(SIZE);
        assert_eq!(supply.next(SIZE), NEVER);
        supply.arrived(SIZE);
        assert!(!supply.is_done());
        supply.arrived(SIZE);
        assert!(supply.is_done());
    }
}
