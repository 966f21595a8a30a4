//! One train: packets that leave back to back, and when what arrived of them was acknowledged.

use crate::interval::TRAIN;
use crate::units::{Bytes, Timestamp};

/// Packets of a train: of three acknowledgements of two packets the first does not count.
pub(super) const PACKETS: u32 = 6;

/// One train, and sums over its acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    first: u64,
    pub(super) left: Timestamp,
    packets: u32,
    acked: u32,
    pub(super) bytes: u64,
    arrived: u64,
    /// Its newest packet in the acknowledgement being read.
    newest: Option<u64>,
    /// Packets of it in that, and in the one before.
    batch: u32,
    batch_before: u32,
    /// When the first acknowledgement came.
    pub(super) answered: Option<Timestamp>,
    /// Nothing more can be learned from it.
    is_cut: bool,
    /// The newest acknowledgement that counts: seconds after the first, and the bytes that had arrived.
    newest_point: Option<(f64, f64)>,
    points: u32,
    sum_t: f64,
    sum_b: f64,
    sum_tb: f64,
    sum_bb: f64,
}

impl Train {
    pub(super) const fn new(now: Timestamp, first: u64) -> Self {
        Self {
            first,
            left: now,
            packets: 0,
            acked: 0,
            bytes: 0,
            arrived: 0,
            newest: None,
            batch: 0,
            batch_before: 0,
            answered: None,
            is_cut: false,
            newest_point: None,
            points: 0,
            sum_t: 0.0,
            sum_b: 0.0,
            sum_tb: 0.0,
            sum_bb: 0.0,
        }
    }

    /// Whether it waits for packets of its own.
    pub(super) fn is_leaving(&self) -> bool {
        !self.is_whole() && !self.is_cut
    }

    pub(super) fn is_whole(&self) -> bool {
        self.packets == PACKETS
    }

    /// Whether the path let all of it pass.
    pub(super) fn passed_whole(&self) -> bool {
        self.is_whole() && self.acked == self.packets && !self.is_cut
    }

    /// Whether this packet is the train's next one. A packet that leaves later than a host's timer can be late belongs
    /// to the next train.
    pub(super) fn goes_on_with(&self, now: Timestamp, packet: u64) -> bool {
        self.is_leaving()
            && now.since(self.left) <= TRAIN
            && packet.checked_sub(self.first) == Some(u64::from(self.packets))
    }

    pub(super) fn on_packet_sent(&mut self, bytes: Bytes) {
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(bytes.get());
    }

    pub(super) fn has(&self, packet: u64) -> bool {
        packet.checked_sub(self.first).is_some_and(|place| place < u64::from(self.packets))
    }

    pub(super) fn on_ack(&mut self, packet: u64, bytes: Bytes) {
        self.acked += 1;
        self.batch += 1;
        self.arrived = self.arrived.saturating_add(bytes.get());
        self.newest = self.newest.max(Some(packet));
    }

    /// The acknowledgement was read; `latest` is the newest packet in it, whosesoever.
    pub(super) fn on_end_acks(&mut self, now: Timestamp, latest: Option<u64>) {
        let Some(newest) = self.newest.take() else { return };
        // Beyond a gap, what arrived is not what the bottleneck passed.
        self.is_cut |= u64::from(self.acked) != (newest - self.first).saturating_add(1);
        let batch = core::mem::take(&mut self.batch);
        let is_late = core::mem::replace(&mut self.batch_before, batch) > batch;
        // Acknowledged together with what left later, or after it was held back for want of a second one, nobody knows
        // when it came.
        if latest == Some(newest) && !is_late && !self.is_cut {
            self.add(now);
        }
    }

    /// One of its packets is lost.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Nothing more will be heard of packets below this number.
    pub(super) fn discard_below(&mut self, packet: u64) {
        self.is_cut |= self.first < packet && self.acked < self.packets;
    }

    /// Notes the bytes of it that had arrived by now. The first packet of a train finds hosts asleep, which take 50 to
    /// 200 µs to wake up: its time would make trains shorter than they are. Of packets read at once, only the last did
    /// not wait to be read.
    fn add(&mut self, now: Timestamp) {
        let Some(answered) = self.answered else {
            self.answered = Some(now);
            return;
        };
        let t = now.since(answered).as_secs_f64();
        if self.newest_point.is_none_or(|(before, _)| before < t) {
            self.count();
        }
        self.newest_point = Some((t, self.arrived as f64)).filter(|(t, _)| *t > 0.0);
    }

    /// The newest acknowledgement is followed by a later one, or by none.
    fn count(&mut self) {
        let Some((t, b)) = self.newest_point.take() else { return };
        self.points += 1;
        self.sum_t += t;
        self.sum_b += b;
        self.sum_tb += t * b;
        self.sum_bb += b * b;
    }

    /// Seconds a byte, by a line through its acknowledgements; `None` before there are two.
    pub(super) fn slope(&self) -> Option<f64> {
        let mut all = *self;
        all.count();
        let n = f64::from(all.points);
        let slope = (all.sum_tb - all.sum_t * all.sum_b / n) / (all.sum_bb - all.sum_b * all.sum_b / n);
        (all.points >= 2).then_some(slope).filter(|slope| slope.is_finite())
    }

    /// Nothing more will be heard of it. The acknowledged packets left a round trip ago, and no more follow.
    pub(super) fn is_settled(&self) -> bool {
        self.is_cut || self.acked == self.packets
    }
}
