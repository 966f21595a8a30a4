//! A congestion control of somebody else: its name, and a factory.

use super::control::CongestionControl;
use crate::scenario::Flow;
use core::fmt;
use std::sync::Arc;

type Make = dyn Fn(&Flow) -> Box<dyn CongestionControl> + Send + Sync;

/// A congestion control that is not of this crate, as [`Control::own`](crate::Control::own) makes it. Two are equal if one is
/// a clone of the other.
#[derive(Clone)]
pub struct Own {
    name: &'static str,
    make: Arc<Make>,
}

impl Own {
    pub(crate) fn new<C: CongestionControl + 'static>(
        name: &'static str,
        make: impl Fn(&Flow) -> C + Send + Sync + 'static,
    ) -> Self {
        Self { name, make: Arc::new(move |flow| Box::new(make(flow))) }
    }

    /// The name that its author gave it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn make(&self, flow: &Flow) -> Box<dyn CongestionControl> {
        (self.make)(flow)
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("name", &self.name).finish_non_exhaustive()
    }
}
