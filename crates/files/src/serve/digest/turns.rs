//! Whose turn it is to hash.

use core::net::IpAddr;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Turns at a time, since more would only make the disk seek and starve the transfers.
const AT_A_TIME: usize = 2;

/// Two queues, one behind the other: in the first each peer's own wait for one another, so that in the second there is
/// one of each peer, whatever it asked for. Both are first come, first served.
#[derive(Debug)]
pub(in crate::serve) struct Turns {
    all: Arc<Semaphore>,
    of_peers: Mutex<HashMap<IpAddr, Weak<Semaphore>>>,
}

/// Where a peer's own wait for one another.
#[derive(Debug)]
pub(in crate::serve) struct Queue {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// The first place in a peer's own queue.
#[derive(Debug)]
pub(in crate::serve) struct Place {
    own: Option<OwnedSemaphorePermit>,
    all: Arc<Semaphore>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(in crate::serve) struct Turn {
    _permits: [Option<OwnedSemaphorePermit>; 2],
}

impl Default for Turns {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(AT_A_TIME)), of_peers: Mutex::default() }
    }
}

impl Turns {
    /// The queue of that peer.
    pub(in crate::serve) fn queue(&self, peer: IpAddr) -> Queue {
        let mut of_peers = self.of_peers.lock().unwrap_or_else(PoisonError::into_inner);
        of_peers.retain(|_, queue| queue.strong_count() > 0);
        let own = of_peers.get(&peer).and_then(Weak::upgrade).unwrap_or_else(|| Arc::new(Semaphore::new(1)));
        of_peers.insert(peer, Arc::downgrade(&own));
        Queue { own, all: self.all.clone() }
    }

    #[cfg(test)]
    pub(in crate::serve) fn is_idle(&self) -> bool {
        self.all.available_permits() == AT_A_TIME
    }
}

impl Queue {
    pub(in crate::serve) async fn place(&mut self) -> Place {
        // Neither is ever closed, so there is always a permit to come.
        Place { own: self.own.clone().acquire_owned().await.ok(), all: self.all.clone() }
    }
}

impl Place {
    pub(in crate::serve) async fn turn(self) -> Turn {
        Turn { _permits: [self.own, self.all.acquire_owned().await.ok()] }
    }
}
