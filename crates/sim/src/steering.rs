//! The controller of a sender like QUIC's: PCC, or none.

use crate::receiver::USUAL;
use pcc::Pcc;
use pcc::interval::LimitedBy;
use pcc::units::{Bytes, Rate, Timestamp};

/// PCC, or a rate that never changes.
#[derive(Debug)]
pub(crate) enum Steering {
    Pcc(Box<Pcc>),
    Fixed(Rate),
}

impl Steering {
    pub(crate) fn rate(&self) -> Rate {
        match self {
            Self::Pcc(pcc) => pcc.rate(),
            Self::Fixed(rate) => *rate,
        }
    }

    pub(crate) fn state(&self) -> &'static str {
        match self {
            Self::Pcc(pcc) => pcc.state(),
            Self::Fixed(_) => "fixed",
        }
    }

    /// How much may be in flight; a fixed rate has no bound.
    pub(crate) fn window(&self) -> u64 {
        match self {
            Self::Pcc(pcc) => pcc.congestion_window().get(),
            Self::Fixed(_) => u64::MAX,
        }
    }

    /// So many packets leave back to back.
    pub(crate) fn train_packets(&self) -> u32 {
        match self {
            Self::Pcc(pcc) => pcc.train_packets(),
            Self::Fixed(_) => 1,
        }
    }

    /// It asks for an acknowledgement for so many packets.
    pub(crate) fn packets_per_ack(&self) -> u32 {
        match self {
            Self::Pcc(pcc) => pcc.packets_per_ack(),
            Self::Fixed(_) => USUAL,
        }
    }

    fn pcc(&mut self) -> Option<&mut Pcc> {
        match self {
            Self::Pcc(pcc) => Some(pcc),
            Self::Fixed(_) => None,
        }
    }

    pub(crate) fn on_packet_sent(&mut self, now: Timestamp, number: u64, size: Bytes) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_packet_sent(now, number, size));
    }

    pub(crate) fn on_ack(&mut self, now: Timestamp, number: u64) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_ack(now, number));
    }

    pub(crate) fn on_loss(&mut self, now: Timestamp, number: u64) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_loss(now, number));
    }

    pub(crate) fn on_marks(&mut self, packets: u32) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_congestion_experienced(packets));
    }

    pub(crate) fn on_ack_left(&mut self, now: Timestamp, left: Timestamp) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_ack_left(now, left));
    }

    pub(crate) fn on_end_acks(&mut self, now: Timestamp) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_end_acks(now));
    }

    pub(crate) fn on_persistent_congestion(&mut self, now: Timestamp) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_persistent_congestion(now));
    }

    pub(crate) fn on_limited(&mut self, now: Timestamp, by: LimitedBy) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_limited(now, by));
    }

    pub(crate) fn next_timer(&self) -> Option<Timestamp> {
        match self {
            Self::Pcc(pcc) => pcc.next_timer(),
            Self::Fixed(_) => None,
        }
    }

    pub(crate) fn on_timer(&mut self, now: Timestamp) {
        self.pcc().into_iter().for_each(|pcc| pcc.on_timer(now));
    }
}
