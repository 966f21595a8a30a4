//! Many simulations at a time.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The result for each, in their order; as many at a time as there are processors.
pub(crate) fn each<T: Sync, R: Send>(
    tasks: &[T],
    simulate: impl Fn(&T) -> Result<R, String> + Sync,
) -> Result<Vec<R>, String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mine = core::iter::from_fn(|| {
            let number = next.fetch_add(1, Ordering::Relaxed);
            Some((number, tasks.get(number)?))
        });
        mine.map(|(number, task)| Ok((number, simulate(task)?))).collect::<Result<Vec<_>, String>>()
    };
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let parts = workers.into_iter().map(|one| one.join().map_err(|_| "a simulation panicked".to_owned())?);
        Ok::<_, String>(parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect::<Vec<_>>())
    })?;
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
