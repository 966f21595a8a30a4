//! When datagrams arrived.
//!
//! noq reads the clock once and takes all that it then receives for arrived at that moment. Where other processes have the
//! processor, a datagram has waited for ours by then, for as long as 16 ms; or it came later than that moment, when ours was
//! stopped after the reading. So the RTT would be too long or, which is worse, shorter than the path's. The kernel notes when
//! each one came. What came at another time than noq would take it for is kept for a turn of its own, which is told the truth.

use crate::pace;
use crate::sys;
use core::time::Duration;
use noq::udp::RecvMeta;
use pcc::units::Timestamp;
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::os::fd::AsFd;

/// Differences up to this one do not matter: the time of a train. It bounds what a turn's own work makes of a time, too.
const EXACT: Duration = Duration::from_micros(100);

/// What was received, and when it came.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// All that came before was received before.
    since: Timestamp,
    /// What waits for the next turn.
    kept: VecDeque<(RecvMeta, Vec<u8>)>,
}

impl Arrivals {
    /// Those of this socket, of whose datagrams the kernel takes note from now on.
    pub(super) fn at(socket: &impl AsFd) -> Self {
        _ = sys::age_of_last(socket);
        Self::default()
    }

    /// Before something is received: the time, and how many of so many buffers to receive into. What waits may have come at
    /// different times if the last look was long ago: then the kernel is asked about each.
    pub(super) fn before(&self, buffers: usize) -> (Timestamp, usize) {
        let now = pace::now();
        (now, if self.may_be_old(now) { buffers.min(1) } else { buffers })
    }

    /// Outside turns nobody is told the time of anything.
    fn may_be_old(&self, now: Timestamp) -> bool {
        pace::first().is_some() && now.since(self.since) > EXACT
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
        let mut came = pace::now();
        if self.may_be_old(came) {
            // The clock after the age: whoever is stopped between the two takes it for late, never for early.
            let age = sys::age_of_last(socket).unwrap_or_default();
            pace::time_passes();
            // The wall clock, by which the kernel tells, may be set at any time.
            came = (Timestamp::ZERO + pace::now().since(Timestamp::ZERO + age)).max(self.since);
            self.since = came;
        }
        self.since = self.since.max(emptied.unwrap_or_default());
        let taken_for = pace::first().unwrap_or(came);
        if came.since(taken_for).max(taken_for.since(came)) <= EXACT {
            return false;
        }
        self.kept.extend(meta.iter().zip(buffers).map(|(meta, buffer)| (*meta, buffer[..meta.len].to_vec())));
        pace::begin_next_at(came);
        true
    }

    /// What was kept for this turn, as much of it as there are buffers for.
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
