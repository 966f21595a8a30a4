use super::*;
use futures_util::task::{ArcWake, waker};
use std::sync::Mutex as StdMutex;

/// Notes when it was woken.
#[derive(Default)]
struct Woken(StdMutex<Vec<Timestamp>>);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.lock().unwrap().push(clock::now());
    }
}

impl Woken {
    fn times(&self) -> Vec<Timestamp> {
        self.0.lock().unwrap().clone()
    }
}

/// Waits until `count` wake-ups of `woken` have happened.
async fn seen(woken: &Arc<Woken>, count: usize) -> Vec<Timestamp> {
    for _ in 0..2000 {
        if woken.times().len() >= count {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    woken.times()
}

fn in_ms(ms: u64) -> Timestamp {
    clock::now() + Duration::from_millis(ms)
}

#[tokio::test]
async fn nobody_is_woken_early_and_everybody_once() {
    let timer = Timer::start().unwrap();
    let woken: Vec<_> = (0..200).map(|_| Arc::new(Woken::default())).collect();
    // Neither sorted nor distinct.
    let deadlines: Vec<_> = (0..200).map(|index| in_ms(1 + index * 37 % 60)).collect();
    for (woken, &at) in woken.iter().zip(&deadlines) {
        timer.wake_at(at, waker(Arc::clone(woken)));
    }
    for (woken, &at) in woken.iter().zip(&deadlines) {
        let times = seen(woken, 1).await;
        assert!(times[0] + TOGETHER >= at, "{:?} early", at.since(times[0]));
    }
    assert!(woken.iter().all(|woken| woken.times().len() == 1));
}

#[tokio::test]
async fn an_earlier_deadline_overtakes_a_later_one() {
    let timer = Timer::start().unwrap();
    let (late, early) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    timer.wake_at(in_ms(600_000), waker(Arc::clone(&late)));
    timer.wake_at(in_ms(5), waker(Arc::clone(&early)));
    assert_eq!(seen(&early, 1).await.len(), 1);
    assert!(late.times().is_empty());
}

#[tokio::test]
async fn a_deadline_in_the_past_is_due_at_once() {
    let timer = Timer::start().unwrap();
    let woken = Arc::new(Woken::default());
    timer.wake_at(Timestamp::ZERO, waker(Arc::clone(&woken)));
    assert_eq!(seen(&woken, 1).await.len(), 1);
}

#[tokio::test]
async fn deadlines_set_from_other_threads_are_served() {
    let timer = Arc::new(Timer::start().unwrap());
    let woken = Arc::new(Woken::default());
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let (timer, woken) = (Arc::clone(&timer), Arc::clone(&woken));
            std::thread::spawn(move || {
                for step in 0..100 {
                    timer.wake_at(in_ms(step * (thread + 1) % 17), waker(Arc::clone(&woken)));
                }
            })
        })
        .collect();
    assert_eq!(seen(&woken, 400).await.len(), 400);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[tokio::test]
async fn the_serving_task_ends_with_the_timer() {
    let timer = Timer::start().unwrap();
    let queue = Arc::downgrade(&timer.queue);
    drop(timer);
    for _ in 0..1000 {
        if queue.strong_count() == 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("still served");
}

#[test]
fn outside_a_runtime_it_is_refused_and_does_not_panic() {
    let error = Timer::start().unwrap_err();
    assert!(error.to_string().contains("no reactor running") || error.to_string().contains("runtime"), "{error}");
}
