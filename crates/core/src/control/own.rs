//! A control law of somebody else: its name, and a factory.

use super::path::Path;
use super::rate_control::RateControl;
use crate::units::Rate;
use core::fmt;
use std::sync::Arc;

type Begin = dyn Fn(Rate, &Path) -> Box<dyn RateControl> + Send + Sync;

/// A control law that is not of this crate, as [`Law::own`](super::Law::own) makes it. Two are equal if one is a clone of the
/// other.
#[derive(Clone)]
pub struct Own {
    name: &'static str,
    begin: Arc<Begin>,
}

impl Own {
    pub(super) fn new<L: RateControl + 'static>(
        name: &'static str,
        begin: impl Fn(Rate, &Path) -> L + Send + Sync + 'static,
    ) -> Self {
        Self { name, begin: Arc::new(move |rate, path| Box::new(begin(rate, path))) }
    }

    /// The name that its author gave it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The law at work, from this rate on.
    pub(super) fn begin(&self, rate: Rate, path: &Path) -> Box<dyn RateControl> {
        (self.begin)(rate, path)
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.begin, &other.begin)
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("name", &self.name).finish_non_exhaustive()
    }
}
