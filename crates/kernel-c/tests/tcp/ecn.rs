//! A receiver's words on marks: by RFC 3168 that there was one, until it is answered; by RFC 9768 how many.

/// Both ends' part in it.
#[derive(Default)]
pub(crate) struct Ecn {
    /// The receiver tells until an answer arrives.
    echoes: bool,
    /// The next packet takes one with it, and until that is acknowledged there is no other.
    queued: bool,
    awaited: bool,
    /// Since the latest acknowledgement.
    arrived: u32,
    marks: u32,
}

impl Ecn {
    /// Whether the packet that leaves now is an answer.
    pub(crate) fn on_sent(&mut self) -> bool {
        core::mem::take(&mut self.queued)
    }

    pub(crate) fn on_arrival(&mut self, is_answer: bool, is_marked: bool) {
        self.echoes = (self.echoes && !is_answer) || is_marked;
        self.awaited &= !is_answer;
        self.arrived += 1;
        self.marks += u32::from(is_marked);
    }

    /// The packets that Linux counts as marked with an acknowledgement.
    pub(crate) fn on_ack(&mut self, accurate: bool) -> u32 {
        let (arrived, marks) = (core::mem::take(&mut self.arrived), core::mem::take(&mut self.marks));
        let tells = if accurate { marks > 0 } else { self.echoes };
        if tells && !self.awaited {
            (self.queued, self.awaited) = (true, true);
        }
        if accurate { marks } else { arrived * u32::from(self.echoes) }
    }
}
