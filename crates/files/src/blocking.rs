//! Work that blocks.

use anyhow::{Context, ensure};
use std::sync::{Arc, Weak};

/// Runs what blocks where it may.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("a thread for files failed")?
}

/// The same for what takes long, like reading a whole file: the program cannot end before it does, so it asks between two
/// pieces whether it still is [`Wanted`].
pub(crate) async fn while_wanted<T: Send + 'static>(
    work: impl FnOnce(&Wanted) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let waiting = Arc::new(());
    let wanted = Wanted(Arc::downgrade(&waiting));
    let done = off_thread(move || work(&wanted)).await;
    drop(waiting); // here, and wherever the caller stops to wait
    done
}

/// Whether anybody waits for what a piece of work comes to.
#[derive(Debug)]
pub(crate) struct Wanted(Weak<()>);

impl Wanted {
    /// Errors: nobody does any more, so nobody will read this either.
    pub(crate) fn still(&self) -> anyhow::Result<()> {
        ensure!(self.0.strong_count() > 0, "nobody waits for it any more");
        Ok(())
    }

    /// One that somebody always waits for.
    #[cfg(test)]
    pub(crate) fn always(test: impl FnOnce(&Self)) {
        let waiting = Arc::new(());
        test(&Self(Arc::downgrade(&waiting)));
    }
}

/// Runs `begun` for a moment, drops it, and sees that nothing of it holds up the end of the program.
///
/// For tests of work that would take an hour: whatever goes on with it is found by `patience`.
#[cfg(test)]
pub(crate) fn ends_when_nobody_waits<T: Send>(begun: impl Future<Output = T> + Send + 'static) -> bool {
    use core::time::Duration;
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(async { tokio::time::timeout(Duration::from_millis(100), begun).await.is_ok() });
        drop(runtime); // waits for what blocks
        tell.send(!ended)
    });
    told.recv_timeout(Duration::from_secs(60)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_nobody_waits_for_ends_and_other_work_does_not() {
        assert!(ends_when_nobody_waits(while_wanted(|wanted| -> anyhow::Result<()> {
            loop {
                wanted.still()?;
                std::thread::yield_now();
            }
        })));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(while_wanted(|wanted| wanted.still().map(|()| 7))).unwrap(), 7);
    }
}
