//! Changes the utility of live connections from outside.

use pcc::control::Law;
use pcc::utility::Utility;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Changes what connections strive for while they are open: utility, law and their parameters.
///
/// It belongs to an adapter's configuration, and steers every connection that was or will be made with that; for a
/// connection of its own, give it a configuration of its own. Clones steer the same.
///
/// A connection looks at a counter with each acknowledgement, and takes what changed from there on: there is no lock in
/// the way of its packets. The rate stays what it was, and is probed from there ([`pcc::Pcc::steer`]).
#[derive(Clone, Debug, Default)]
pub struct Handle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// How often something was changed.
    generation: AtomicU64,
    wanted: Mutex<Option<Wanted>>,
}

/// The latest request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Wanted {
    /// The utility.
    pub utility: Arc<dyn Utility>,
    /// The law, if it is not the one that suits the utility.
    pub law: Option<Law>,
}

impl Handle {
    /// From now on the connections strive for this, by the law that suits it.
    pub fn set_utility(&self, utility: Arc<dyn Utility>) {
        self.set(utility, None);
    }

    /// From now on the connections strive for this, by this law; `None` for the one that suits the utility.
    pub fn set(&self, utility: Arc<dyn Utility>, law: Option<Law>) {
        let mut wanted = self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        *wanted = Some(Wanted { utility, law });
        // Behind the lock, so that whoever sees the number finds what belongs to it, or what is newer.
        self.0.generation.fetch_add(1, Ordering::Release);
    }

    /// The changes since this generation, which is brought up to date.
    pub fn news(&self, seen: &mut u64) -> Option<Wanted> {
        let generation = self.0.generation.load(Ordering::Acquire);
        if generation == *seen {
            return None;
        }
        *seen = generation;
        self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_told_once_to_each_and_only_the_latest() {
        let (handle, mut one, mut other) = (Handle::default(), 0, 0);
        assert!(handle.news(&mut one).is_none());
        for name in ["safe", "scavenger"] {
            handle.clone().set_utility(pcc::utility::parse(name).unwrap());
        }
        for seen in [&mut one, &mut other] {
            assert_eq!(handle.news(seen).map(|wanted| wanted.utility.name().to_owned()).as_deref(), Some("scavenger"));
            assert!(handle.news(seen).is_none());
        }
    }
}
