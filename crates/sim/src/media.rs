//! A call: audio and video made frame by frame, and how late each frame is.
//!
//! The frames are those of draft-huitema-ccwg-c4-test: audio of 80 bytes each 20 ms; video of 30 frames a second, one
//! of 37,500 bytes at the head of each second and 3,750 bytes the others; and a better video of 62,500 and 6,250 bytes.
//! Audio goes before video and the plain video before the better one. The better video is given up until its next
//! second when one of its frames waits for 250 ms; its frames are not judged.
//!
//! The receiver asks for the audio once, and for each second of video at its beginning. The delay of a frame counts
//! from the moment at which the receiver awaits it, so the way of the question is part of it. Lost frames are sent
//! again.

use core::time::Duration;
use pcc::units::{Bytes, Timestamp};
use std::collections::VecDeque;

/// One second of video, which is asked for together.
pub(crate) const GROUP: Duration = Duration::from_secs(1);
/// A better frame that is not sent after so long is given up, with the rest of its second.
const PATIENCE: Duration = Duration::from_millis(250);

/// What a stream's frames are like.
#[derive(Clone, Copy, Debug)]
struct Kind {
    a_second: u32,
    first: u64,
    other: u64,
    /// It is asked for a second at a time, not once for all.
    is_grouped: bool,
    may_be_given_up: bool,
}

/// The streams, the most urgent first.
pub(crate) const STREAMS: usize = 3;
const KINDS: [Kind; STREAMS] = [
    Kind { a_second: 50, first: 80, other: 80, is_grouped: false, may_be_given_up: false },
    Kind { a_second: 30, first: 37_500, other: 3750, is_grouped: true, may_be_given_up: false },
    Kind { a_second: 30, first: 62_500, other: 6250, is_grouped: true, may_be_given_up: true },
];

/// Part of a frame, as a packet carries it.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    frame: usize,
    part: u32,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Frame {
    stream: usize,
    awaited: Timestamp,
    /// A bit for each part that has not arrived.
    missing: u64,
    arrived: Option<Timestamp>,
}

/// What was asked for and is not made yet.
#[derive(Clone, Copy, Debug)]
struct Group {
    asked: Timestamp,
    began: Timestamp,
    made: u32,
}

/// How late a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameDelay {
    /// When the receiver awaited it.
    pub awaited: Timestamp,
    /// How long after that all of it had arrived; the time until the end, if it had not.
    pub delay: Duration,
    /// Whether it ever arrived.
    pub arrived: bool,
}

/// The sender's and the receiver's side of a call.
#[derive(Clone, Debug)]
pub(crate) struct Media {
    largest: u64,
    groups: [Option<Group>; STREAMS],
    frames: Vec<Frame>,
    waiting: [VecDeque<Chunk>; STREAMS],
    /// What each packet carries, by its number; nothing, if it only probes.
    sent: Vec<Option<Chunk>>,
}

/// A packet that carries nothing.
const PROBE: Bytes = Bytes::new(40);

impl Media {
    /// In packets of at most so many bytes.
    pub(crate) fn new(largest: Bytes) -> Self {
        let (groups, waiting) = ([None; STREAMS], [(); STREAMS].map(|()| VecDeque::new()));
        // A part for each bit.
        let largest = largest.get().max(62_500 / 64 + 1);
        Self { largest, groups, frames: Vec::new(), waiting, sent: Vec::new() }
    }

    /// Whether a stream is asked for again each second.
    pub(crate) fn is_grouped(stream: usize) -> bool {
        KINDS.get(stream).is_some_and(|kind| kind.is_grouped)
    }

    /// A question that left at `asked` has arrived.
    pub(crate) fn begin(&mut self, now: Timestamp, stream: usize, asked: Timestamp) {
        self.make(now);
        if let Some(group) = self.groups.get_mut(stream) {
            *group = Some(Group { asked, began: now, made: 0 });
        }
    }

    /// Makes the frames that are due, and gives up what is too old.
    pub(crate) fn make(&mut self, now: Timestamp) {
        for (stream, kind) in KINDS.iter().enumerate() {
            while let Some(due) = self.due(stream).filter(|due| *due <= now) {
                self.make_one(stream, due);
            }
            let late = |chunk: &Chunk| self.frames[chunk.frame].awaited + PATIENCE < now;
            if kind.may_be_given_up && self.waiting[stream].front().is_some_and(late) {
                self.waiting[stream].clear();
                self.groups[stream] = None;
            }
        }
    }

    /// When a stream's next frame is made.
    fn due(&self, stream: usize) -> Option<Timestamp> {
        let (group, kind) = (self.groups[stream]?, KINDS[stream]);
        let is_over = kind.is_grouped && group.made >= kind.a_second;
        (!is_over).then(|| group.began + GROUP * group.made / kind.a_second)
    }

    fn make_one(&mut self, stream: usize, due: Timestamp) {
        let (Some(group), kind) = (&mut self.groups[stream], KINDS[stream]) else { return };
        let size = if group.made == 0 { kind.first } else { kind.other };
        let awaited = group.asked + due.since(group.began);
        group.made += 1;
        let parts = size.div_ceil(self.largest);
        let frame = self.frames.len();
        self.frames.push(Frame { stream, awaited, missing: u64::MAX >> (64 - parts), arrived: None });
        for part in 0..parts {
            let bytes = self.largest.min(size - part * self.largest);
            self.waiting[stream].push_back(Chunk { frame, part: part as u32, bytes });
        }
    }

    /// Since or from when there is something to send.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        if self.waiting.iter().any(|waiting| !waiting.is_empty()) {
            return Some(Timestamp::ZERO);
        }
        (0..STREAMS).filter_map(|stream| self.due(stream)).min()
    }

    /// A packet leaves, of the next number, with what is most urgent; its bytes.
    pub(crate) fn send(&mut self) -> Bytes {
        let chunk = self.waiting.iter_mut().find_map(VecDeque::pop_front);
        self.sent.push(chunk);
        chunk.map_or(PROBE, |chunk| Bytes::new(chunk.bytes))
    }

    /// A packet leaves, of the next number, with what another one carried; its bytes.
    pub(crate) fn send_again(&mut self, number: u64) -> Bytes {
        let chunk = self.carried(number);
        self.sent.push(chunk);
        chunk.map_or(PROBE, |chunk| Bytes::new(chunk.bytes))
    }

    fn carried(&self, number: u64) -> Option<Chunk> {
        *self.sent.get(usize::try_from(number).ok()?)?
    }

    /// Bytes of a packet.
    pub(crate) fn size(&self, number: u64) -> Bytes {
        self.carried(number).map_or(PROBE, |chunk| Bytes::new(chunk.bytes))
    }

    /// A packet was lost: what it carried waits again, before the rest of its stream.
    pub(crate) fn lost(&mut self, number: u64) {
        if let Some(chunk) = self.carried(number) {
            self.waiting[self.frames[chunk.frame].stream].push_front(chunk);
        }
    }

    /// A packet has arrived.
    pub(crate) fn arrived(&mut self, now: Timestamp, number: u64) {
        let Some(chunk) = self.carried(number) else { return };
        let frame = &mut self.frames[chunk.frame];
        frame.missing &= !(1 << chunk.part);
        if frame.missing == 0 && frame.arrived.is_none() {
            frame.arrived = Some(now);
        }
    }

    /// How late the frames were that count: audio, and the plain video.
    pub(crate) fn delays(&self, end: Timestamp) -> Vec<FrameDelay> {
        let counts = |frame: &&Frame| !KINDS[frame.stream].may_be_given_up;
        let delay = |frame: &Frame| FrameDelay {
            awaited: frame.awaited,
            delay: frame.arrived.unwrap_or(end).since(frame.awaited),
            arrived: frame.arrived.is_some(),
        };
        self.frames.iter().filter(counts).map(delay).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::new(1250);

    const fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Sends and delivers all that waits; the bytes.
    fn flush(media: &mut Media, now: Timestamp) -> u64 {
        let mut bytes = 0;
        while media.next().is_some_and(|next| next <= now) {
            let number = media.sent.len() as u64;
            bytes += media.send().get();
            media.arrived(now, number);
        }
        bytes
    }

    #[test]
    fn a_second_of_video_has_a_large_frame_and_29_small_ones() {
        let mut media = Media::new(SIZE);
        media.begin(at(0), 1, at(0));
        let bytes: u64 = (0..1000)
            .map(|ms| {
                media.make(at(ms));
                flush(&mut media, at(ms))
            })
            .sum();
        assert_eq!(bytes, 37_500 + 29 * 3750);
        assert_eq!(media.next(), None, "the next second is to be asked for");
        assert_eq!(media.delays(at(1000)).len(), 30);
    }

    #[test]
    fn audio_goes_on_and_goes_first() {
        let mut media = Media::new(SIZE);
        media.begin(at(0), 1, at(0));
        media.begin(at(0), 0, at(0));
        media.make(at(0));
        assert_eq!([media.send(), media.send()], [Bytes::new(80), SIZE]);
        (1..2000).for_each(|ms| media.make(at(ms)));
        assert_eq!(media.waiting[0].len(), 99);
    }

    #[test]
    fn delay_of_frame_counts_from_question_until_all_of_it_is_there() {
        let mut media = Media::new(SIZE);
        media.begin(at(15), 1, at(0));
        media.make(at(15));
        (0..30).for_each(|_| _ = media.send());
        (0..29).for_each(|number| media.arrived(at(30), number));
        media.lost(29);
        assert_eq!(media.send(), SIZE, "what was lost is sent again");
        media.arrived(at(80), 30);
        let delay = media.delays(at(90))[0];
        assert_eq!((delay.delay, delay.arrived), (Duration::from_millis(80), true));
    }

    #[test]
    fn the_better_video_is_given_up_until_its_next_second() {
        let mut media = Media::new(SIZE);
        media.begin(at(0), 2, at(0));
        media.make(at(251));
        assert_eq!(media.next(), None);
        media.begin(at(1000), 2, at(1000));
        media.make(at(1000));
        assert_eq!(media.waiting[2].len(), 50);
        assert!(media.delays(at(1000)).is_empty(), "it is not judged");
    }
}
