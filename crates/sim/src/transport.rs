//! A sender of whatever kind.

use crate::account::Account;
use crate::media::Media;
use crate::receiver::{Ack, USUAL};
use crate::scenario::{Control, Flow};
use crate::sender::Sender;
use crate::steering::Steering;
use crate::tcp::Tcp;
use core::time::Duration;
use pcc::Pcc;
use pcc::units::{Rate, Timestamp};

/// One like QUIC's, or a model of TCP.
pub(crate) enum Transport {
    Quic(Box<Sender>),
    Tcp(Box<Tcp>),
}

impl Transport {
    pub(crate) fn new(flow: &Flow) -> Self {
        let steering = match &flow.control {
            Control::Pcc => {
                let pcc = Pcc::new(flow.config.clone(), Timestamp::ZERO + flow.start);
                Steering::Pcc(Box::new(pcc))
            }
            Control::Fixed(rate) => Steering::Fixed(*rate),
            Control::Reno | Control::Cubic | Control::Bbr | Control::Prague | Control::Own(_) => {
                return Self::Tcp(Box::new(Tcp::new(flow)));
            }
        };
        Self::Quic(Box::new(Sender::new(flow, steering)))
    }

    /// The number of the packet that leaves now, if one may. The host is `late` by so much with all that it does now.
    pub(crate) fn next_packet(&mut self, now: Timestamp, late: Duration) -> Option<u64> {
        match self {
            Self::Quic(sender) => sender.next_packet(now, late),
            Self::Tcp(sender) => sender.next_packet(now),
        }
    }

    /// It asks for an acknowledgement for so many packets.
    pub(crate) fn packets_per_ack(&self) -> u32 {
        match self {
            Self::Quic(sender) => sender.steering().packets_per_ack(),
            Self::Tcp(_) => USUAL,
        }
    }

    /// When something is to be done next, after `now`.
    pub(crate) fn next_wake(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Quic(sender) => sender.next_wake(now),
            Self::Tcp(sender) => sender.next_wake(now),
        }
    }

    /// Does what is due by now.
    pub(crate) fn on_wake(&mut self, now: Timestamp) {
        match self {
            Self::Quic(sender) => sender.on_wake(now),
            Self::Tcp(sender) => sender.on_wake(now),
        }
    }

    pub(crate) fn on_ack(&mut self, now: Timestamp, ack: &Ack) {
        match self {
            Self::Quic(sender) => sender.on_ack(now, ack),
            Self::Tcp(sender) => sender.on_ack(now, ack),
        }
    }

    /// The call that it sends, if it sends one.
    pub(crate) fn media(&mut self) -> Option<&mut Media> {
        match self {
            Self::Quic(sender) => sender.supply().media(),
            Self::Tcp(sender) => sender.supply().media(),
        }
    }

    pub(crate) fn account(&self) -> &Account {
        match self {
            Self::Quic(sender) => &sender.account,
            Self::Tcp(sender) => &sender.account,
        }
    }

    pub(crate) fn take_account(&mut self) -> Account {
        core::mem::take(match self {
            Self::Quic(sender) => &mut sender.account,
            Self::Tcp(sender) => &mut sender.account,
        })
    }

    pub(crate) fn smoothed_rtt(&self) -> Option<Duration> {
        match self {
            Self::Quic(sender) => sender.smoothed_rtt(),
            Self::Tcp(sender) => sender.smoothed_rtt(),
        }
    }

    /// The rate it wants, what it is doing, and bytes in flight.
    pub(crate) fn glance(&self) -> (Rate, &'static str, u64) {
        match self {
            Self::Quic(sender) => (sender.steering().rate(), sender.steering().state(), sender.bytes_in_flight()),
            Self::Tcp(sender) => (sender.rate(), sender.state(), sender.bytes_in_flight()),
        }
    }
}
