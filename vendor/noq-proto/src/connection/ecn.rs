//! PCC: whether packets of a path are marked ECT(0), and what a path that drops marked packets is
//! found out by.
//!
//! Some networks drop every marked packet. Acknowledgements do not tell, since there are none. So
//! a time-out casts doubt on the marks: packets are unmarked until one of them is acknowledged,
//! and then marked ones are tried one at a time, among unmarked ones. One that is acknowledged
//! ends the doubt. If [`TRIALS`] in a row are not, while unmarked packets sent after each of them
//! are, the path drops marked packets, and is sent none any more (RFC 9000 §13.4.2 and A.4).

use tracing::{info, trace};

/// Marked packets that must fail in a row before a path is taken to drop them: as many as RFC 9000
/// §13.4.2 suggests to mark at first. At a loss rate of 30 % ten are lost by chance in six of a
/// million doubts, and a doubt takes a time-out.
const TRIALS: u8 = 10;

/// The marks of one path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ecn {
    /// Everything that asks for an acknowledgement is marked.
    #[default]
    On,
    /// Unmarked but for trials, `failed` of which were not acknowledged.
    Doubted { failed: u8, trial: Trial },
    /// Nothing is marked.
    Off,
}

/// What is known of marked packets while they are doubted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trial {
    /// Not even unmarked packets are known to arrive.
    Pointless,
    /// The next packet is marked.
    Due,
    /// A packet of a lower number than this one was marked.
    Underway(u64),
}

impl Ecn {
    /// Whether the next packet is marked, if it asks for an acknowledgement. Others are not: no
    /// time-out would tell that they are dropped.
    pub(super) fn marks(&self) -> bool {
        match self {
            Self::On => true,
            Self::Doubted { trial, .. } => *trial == Trial::Due,
            Self::Off => false,
        }
    }

    /// Whether the next packet is marked to find out what becomes of it; it leaves alone.
    pub(super) fn is_trial_due(&self) -> bool {
        *self != Self::On && self.marks()
    }

    /// A marked datagram left; the next packet of 1-RTT has this number.
    pub(super) fn on_marked_sent(&mut self, next: u64) {
        if let Self::Doubted { trial, .. } = self {
            *trial = Trial::Underway(next);
        }
    }

    /// Nothing was acknowledged for a probe time-out, or no response came to a PATH_CHALLENGE.
    pub(super) fn on_timeout(&mut self) {
        if *self == Self::On {
            trace!("sending without ECN, to see whether it is the marks that are lost");
            *self = Self::Doubted {
                failed: 0,
                trial: Trial::Pointless,
            };
        }
    }

    /// A marked packet was acknowledged.
    pub(super) fn on_marked_acked(&mut self) {
        if matches!(self, Self::Doubted { .. }) {
            trace!("marked packets arrive");
            *self = Self::On;
        }
    }

    /// An unmarked packet of 1-RTT was acknowledged.
    pub(super) fn on_unmarked_acked(&mut self, number: u64) {
        let Self::Doubted { failed, trial } = self else {
            return;
        };
        match *trial {
            Trial::Pointless => *trial = Trial::Due,
            Trial::Underway(next) if number >= next => {
                *failed += 1;
                *trial = Trial::Due;
            }
            Trial::Due | Trial::Underway(_) => {}
        }
        if *failed == TRIALS {
            info!("this path drops packets that are marked for ECN: sending without");
            *self = Self::Off;
        }
    }

    /// The acknowledgements of this path do not tell what was marked.
    pub(super) fn on_invalid(&mut self) {
        *self = Self::Off;
    }

    /// For a path that is likely to be the same one behind another address: what was found out is
    /// tried anew, but not believed in.
    pub(super) fn anew(&self) -> Self {
        match self {
            Self::On => Self::On,
            Self::Doubted { .. } | Self::Off => Self::Doubted {
                failed: 0,
                trial: Trial::Pointless,
            },
        }
    }
}
