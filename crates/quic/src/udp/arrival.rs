//! When datagrams arrived.
//!
//! noq reads the clock once, and takes everything that it then receives for arrived at that moment. Where other
//! processes have the processor, a datagram may have waited for ours for 16 ms. Or it came later than that moment, if
//! our process was stopped after the reading. The RTT would be too long or, worse, shorter than the path's. The kernel
//! notes when each datagram came. A datagram of another time than noq would assume is kept for a turn of its own, which
//! is told the truth.

use crate::pace;
use crate::sys;
use core::time::Duration;
use noq::udp::RecvMeta;
use pcc::units::Timestamp;
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::os::fd::AsFd;

/// A turn that began longer ago than the time of a train receives nothing more: noq would take it for earlier than it came.
const SPENT: Duration = Duration::from_micros(100);
/// From this difference on a host stopped (`pace/schedule.rs`), and the kernel is asked; less is what any host does that has
/// work to do.
const STOP: Duration = Duration::from_millis(1);

/// Received datagrams, and when they came.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// All that came before was received before.
    since: Timestamp,
    /// The kernel put these datagrams together, since they were sent at once. They are data and not acknowledgements.
    /// Nothing is measured by them, and a receiver at full speed is always behind.
    is_stream: bool,
    /// Datagrams that may have waited and count as having come with the last of them: as many as come within a
    /// [`STOP`]. A question and a turn for each would cost a sender a fifth of its full speed.
    group: usize,
    /// Datagrams that wait for the next turn.
    kept: VecDeque<(RecvMeta, Vec<u8>)>,
}

impl Arrivals {
    /// The arrivals of this socket, whose datagrams the kernel notes from now on.
    pub(super) fn at(socket: &impl AsFd) -> Self {
        _ = sys::age_of_last(socket);
        Self { since: Timestamp::ZERO, is_stream: false, group: 1, kept: VecDeque::new() }
    }

    /// Whether what comes now is for the next turn, for which the task must be woken.
    pub(super) fn is_turn_spent(&self) -> bool {
        !self.is_stream && pace::first().is_some_and(|first| pace::now().since(first) > SPENT)
    }

    /// Called before a reception: the time, and the number of buffers to receive into. If the last look was long ago,
    /// waiting datagrams may have come at different times: then the kernel is asked about a few at a time.
    pub(super) fn before(&self, buffers: usize) -> (Timestamp, usize) {
        let now = pace::now();
        (now, if self.may_be_old(now) { buffers.min(self.group) } else { buffers })
    }

    /// Outside turns nobody is told the time of anything.
    fn may_be_old(&self, now: Timestamp) -> bool {
        !self.is_stream && pace::first().is_some() && now.since(self.since) > STOP
    }

    /// At that time nothing was there.
    pub(super) fn nothing_at(&mut self, before: Timestamp) {
        self.since = self.since.max(before);
    }

    /// Takes note of what was received just now. If it came at another time than noq takes it for, it is kept: true, and
    /// [`Self::take`] gives it in the next turn, for which the task must be woken. `emptied`: nothing more was there, as of then.
    pub(super) fn keep(
        &mut self,
        socket: &impl AsFd,
        meta: &[RecvMeta],
        buffers: &[IoSliceMut<'_>],
        emptied: Option<Timestamp>,
    ) -> bool {
        pace::time_passes();
        self.is_stream = meta.iter().any(|meta| meta.len > meta.stride);
        let mut came = pace::now();
        let taken_for = pace::first().filter(|_| !self.is_stream).unwrap_or(came);
        if self.may_be_old(came) || came.since(taken_for) > STOP {
            // The clock after the age: whoever is stopped between the two takes it for late, never for early.
            let age = sys::age_of_last(socket).unwrap_or_default();
            pace::time_passes();
            // The wall clock, by which the kernel tells, may be set at any time.
            came = (Timestamp::ZERO + pace::now().since(Timestamp::ZERO + age)).max(self.since);
            let few = came.since(self.since) > STOP;
            self.group = if few { (self.group / 2).max(1) } else { (2 * self.group).min(noq::udp::BATCH_SIZE) };
            self.since = came;
        }
        self.since = self.since.max(emptied.unwrap_or_default());
        if came.since(taken_for).max(taken_for.since(came)) <= STOP {
            return false;
        }
        self.kept.extend(meta.iter().zip(buffers).map(|(meta, buffer)| (*meta, buffer[..meta.len].to_vec())));
        pace::begin_next_at(came);
        true
    }

    /// The datagrams kept for this turn, as many as there are buffers.
    pub(super) fn take(&mut self, meta: &mut [RecvMeta], buffers: &mut [IoSliceMut<'_>]) -> usize {
        let mut taken = 0;
        for (meta, buffer) in meta.iter_mut().zip(buffers) {
            let Some((kept, bytes)) = self.kept.pop_front() else { break };
            // noq's buffers are alike from call to call.
            let length = bytes.len().min(buffer.len());
            buffer[..length].copy_from_slice(&bytes[..length]);
            *meta = kept;
            meta.len = length;
            taken += 1;
        }
        taken
    }
}
