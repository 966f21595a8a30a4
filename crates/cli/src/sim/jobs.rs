//! Simulations beside each other: one a processor.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `work` makes of each, in their order.
pub(super) fn all<T: Sync, R: Send>(tasks: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..processors.min(tasks.len()) {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)).map(|task| (task, work(task))) {
                    let place = tasks.iter().position(|one| core::ptr::eq(one, task.0));
                    if let (Some(place), Ok(mut done)) = (place, done.lock()) {
                        done.push((place, task.1));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let tasks: Vec<u64> = (0..100).collect();
        assert_eq!(super::all(&tasks, |task| task * 2), tasks.iter().map(|task| task * 2).collect::<Vec<_>>());
        assert!(super::all(&[] as &[u64], |task| *task).is_empty());
    }
}
