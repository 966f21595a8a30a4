//! What stands behind a `struct pcc`, and what becomes of a panic.

use crate::PccStatus;
use core::cell::Cell;
use pcc::units::{Rate, Timestamp};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One PCC sender, for one path of one connection. It may move between threads, and no two may use it at a time.
// After a defect its state may be half changed: nothing is asked of it any more.
#[derive(Debug)]
pub struct Sender {
    pcc: pcc::Pcc,
    poisoned: Cell<bool>,
    /// In bytes a second, as it was before the defect.
    rate: u64,
}

/// `None` for a panic, which must not unwind into C.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// At least one: a transport divides by it.
fn whole(rate: Rate) -> u64 {
    (rate.bytes_per_sec() as u64).max(1)
}

impl Sender {
    pub(crate) fn new(config: pcc::Config, now: Timestamp) -> Self {
        let pcc = pcc::Pcc::new(config, now);
        Self { rate: whole(pcc.rate()), pcc, poisoned: Cell::new(false) }
    }

    /// Something happened.
    pub(crate) fn tell(&mut self, event: impl FnOnce(&mut pcc::Pcc)) -> PccStatus {
        if self.poisoned.get() {
            return PccStatus::PccPoisoned;
        }
        let pcc = &mut self.pcc;
        match guarded(|| {
            event(pcc);
            whole(pcc.rate())
        }) {
            Some(rate) => {
                self.rate = rate;
                PccStatus::PccOk
            }
            None => {
                self.poisoned.set(true);
                PccStatus::PccPoisoned
            }
        }
    }

    /// `None` if it met a defect.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&pcc::Pcc) -> T) -> Option<T> {
        if self.poisoned.get() {
            return None;
        }
        let answer = guarded(|| question(&self.pcc));
        self.poisoned.set(answer.is_none());
        answer
    }

    pub(crate) const fn rate(&self) -> u64 {
        self.rate
    }
}
