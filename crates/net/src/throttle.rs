//! Keeps an application below a rate: what `pcc perf --source` offers, and what a download with `--limit` takes.

use pcc::units::{Bytes, Rate};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A rate that several streams share.
#[derive(Debug)]
pub struct Throttle {
    rate: Rate,
    /// When the next part may go.
    next: Mutex<Instant>,
}

/// Parts as long as this keep the offered load smooth next to any interval that is reported.
const PART: Duration = Duration::from_millis(10);
/// Not offered faster than this to catch up on a pause.
const CATCH_UP: Duration = Duration::from_millis(50);

impl Throttle {
    /// Lets `rate` pass, from now on.
    pub fn new(rate: Rate) -> Self {
        Self { rate, next: Mutex::new(Instant::now()) }
    }

    /// The rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Bytes to ask for at a time, at most `most`.
    pub fn chunk(&self, most: usize) -> usize {
        usize::try_from((self.rate * PART).get()).unwrap_or(usize::MAX).clamp(1000, most)
    }

    /// Waits for the turn of the next `bytes` bytes.
    pub async fn wait(&self, bytes: usize) {
        tokio::time::sleep_until(self.reserve(bytes)).await;
    }

    fn reserve(&self, bytes: usize) -> Instant {
        let now = Instant::now();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = (*next).max(now.checked_sub(CATCH_UP).unwrap_or(now));
        // An hour at most: a rate next to nothing must not overflow the clock.
        *next = turn + self.rate.time_for(Bytes::new(bytes as u64)).min(Duration::from_secs(3600));
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn streams_share_the_rate() {
        let throttle = Throttle::new(Rate::from_mbit(8.0));
        let began = Instant::now();
        for _ in 0..100 {
            futures_util::future::join(throttle.wait(5_000), throttle.wait(5_000)).await;
        }
        // 1 MB at 1 MB/s; the last part's turn comes when the others have passed.
        assert!((began.elapsed().as_secs_f64() - 0.995).abs() < 0.01, "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_not_made_up_for() {
        let throttle = Throttle::new(Rate::from_mbit(8.0));
        tokio::time::sleep(Duration::from_secs(100)).await;
        let began = Instant::now();
        for _ in 0..100 {
            throttle.wait(10_000).await;
        }
        assert!(began.elapsed() > Duration::from_millis(900), "{:?}", began.elapsed());
    }
}
