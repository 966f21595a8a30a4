//! Simulations beside each other: one a processor.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The results of `work` for each, in their order.
pub fn each_at_once<T: Sync, R: Send>(tasks: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..processors.min(tasks.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(place) else { break };
                    let result = work(task);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let tasks: Vec<u64> = (0..100).collect();
        assert_eq!(super::each_at_once(&tasks, |task| task * 2), tasks.iter().map(|task| task * 2).collect::<Vec<_>>());
        assert!(super::each_at_once(&[] as &[u64], |task| *task).is_empty());
    }
}
