//! Look-ups of names for tunnels, which last half a minute where no name server answers: how many there are, and whose turn it is.

use super::budget::{Budget, Lease};
use core::net::IpAddr;
use std::sync::Arc;
use tokio::sync::Notify;

/// Look-ups at a time: each has a thread, and descriptors. A look-up that is answered takes milliseconds.
pub(super) const MOST: u64 = 32;

/// Look-ups that are under way, and others that wait for their turn.
#[derive(Debug)]
pub(super) struct LookUps {
    budget: Budget,
    done: Arc<Notify>,
}

/// The turn of one look-up, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    /// `None` while it is dropped.
    lease: Option<Lease>,
    done: Arc<Notify>,
}

impl Default for LookUps {
    fn default() -> Self {
        Self { budget: Budget::new(MOST), done: Arc::default() }
    }
}

impl LookUps {
    /// Waits until that network may have one look-up more.
    pub(super) async fn turn(&self, network: IpAddr) -> Turn {
        loop {
            // It hears of what ends from here on, so no turn is missed between the two looks.
            let done = self.done.notified();
            if let Some(lease) = self.budget.lease(network, 1) {
                return Turn { lease: Some(lease), done: self.done.clone() };
            }
            done.await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.lease.take());
        self.done.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use tokio::time::timeout;

    fn network(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[tokio::test(start_paused = true)]
    async fn look_ups_without_answer_leave_turns_to_other_networks() {
        let look_ups = LookUps::default();
        let mut silent = Vec::new();
        let mut taken = [0; 5];
        for (last, taken) in (0..).zip(&mut taken) {
            while let Ok(turn) = timeout(Duration::from_secs(1), look_ups.turn(network(last))).await {
                silent.push(turn);
                *taken += 1;
            }
        }
        assert_eq!(taken, [16, 8, 4, 2, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_up_that_ends_is_another_one_s_turn() {
        let look_ups = Arc::new(LookUps::default());
        let mut first = Vec::new();
        for _ in 0..MOST / 2 {
            first.push(look_ups.turn(network(1)).await);
        }
        let waiting = tokio::spawn({
            let look_ups = look_ups.clone();
            async move { look_ups.turn(network(1)).await }
        });
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert!(!waiting.is_finished());
        drop(first.pop());
        timeout(Duration::from_secs(1), waiting).await.expect("its turn").unwrap();
    }
}
