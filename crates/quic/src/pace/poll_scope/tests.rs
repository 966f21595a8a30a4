use super::*;
use core::future::{pending, poll_fn};
use core::time::Duration;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use tokio::time::timeout;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn turns(task: impl Future<Output = ()> + Send + 'static) -> PollScope {
    PollScope::new(Box::pin(task), Arc::new(Timer::start().unwrap()))
}

#[tokio::test]
async fn a_turn_is_on_while_the_task_is_polled_and_only_then() {
    assert!(!is_ours());
    turns(async { assert!(is_ours()) }).await;
    assert!(!is_ours());
}

#[tokio::test]
async fn a_turn_that_panics_is_over_too() {
    let task = tokio::spawn(turns(async { panic!("as planned") }));
    assert!(task.await.unwrap_err().is_panic());
    assert!(!is_ours(), "the test runs on the thread that panicked");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn time_stands_still_in_a_turn_until_io() {
    const WORK: Duration = Duration::from_millis(2);
    turns(async {
        let began = now();
        std::thread::sleep(WORK);
        assert_eq!(now(), began);
        time_passes();
        assert!(now() >= began + WORK);
    })
    .await;
}

#[tokio::test]
async fn each_turn_reads_the_clock_anew() {
    const WORK: Duration = Duration::from_millis(2);
    let mut earlier = None;
    turns(poll_fn(move |cx| match earlier {
        None => {
            earlier = Some(now());
            std::thread::sleep(WORK);
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        Some(earlier) => {
            assert!(now() >= earlier + WORK);
            Poll::Ready(())
        }
    }))
    .await;
    let before = now();
    std::thread::sleep(WORK);
    assert!(now() >= before + WORK);
}

#[tokio::test]
async fn a_task_is_woken_when_it_asked_to_be() {
    let due = clock::now() + Duration::from_millis(30);
    let task = poll_fn(move |_| {
        if clock::now() + Duration::from_micros(5) >= due {
            return Poll::Ready(());
        }
        wake_at(due);
        Poll::Pending
    });
    timeout(PATIENCE, turns(task)).await.expect("woken");
}

#[tokio::test]
async fn the_earliest_of_several_times_counts() {
    let early = clock::now() + Duration::from_millis(20);
    let task = poll_fn(move |_| {
        if clock::now() + Duration::from_micros(5) >= early {
            return Poll::Ready(());
        }
        wake_at(early + PATIENCE * 2);
        wake_at(early);
        wake_at(early + PATIENCE * 3);
        Poll::Pending
    });
    timeout(PATIENCE, turns(task)).await.expect("woken");
}

#[tokio::test]
async fn a_task_polled_before_its_time_keeps_its_deadline() {
    let polls = Arc::new(AtomicU32::new(0));
    let due = clock::now() + Duration::from_millis(50);
    let counted = Arc::clone(&polls);
    let task = poll_fn(move |cx| {
        if clock::now() + Duration::from_micros(5) >= due {
            return Poll::Ready(());
        }
        wake_at(due);
        // Acknowledgements wake a connection while its gate is closed.
        if counted.fetch_add(1, SeqCst) < 20 {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    });
    timeout(PATIENCE, turns(task)).await.expect("woken");
    assert!(polls.load(SeqCst) >= 20);
}

#[tokio::test]
async fn a_task_that_asked_for_nothing_is_left_alone() {
    let polls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&polls);
    let task = turns(poll_fn(move |_| {
        counted.fetch_add(1, SeqCst);
        Poll::Pending
    }));
    let _ = timeout(Duration::from_millis(50), task).await;
    assert!(polls.load(SeqCst) <= 2, "once, and once for the time-out at most");
}

#[tokio::test]
async fn a_dropped_task_does_not_disturb_the_others() {
    let timer = Arc::new(Timer::start().unwrap());
    let soon = clock::now() + Duration::from_millis(20);
    let asks = |at| {
        move |_: &mut Context<'_>| {
            if clock::now() + Duration::from_micros(5) >= at {
                return Poll::Ready(());
            }
            wake_at(at);
            Poll::Pending
        }
    };
    let dropped = tokio::spawn(PollScope::new(Box::pin(poll_fn(asks(soon))), Arc::clone(&timer)));
    tokio::task::yield_now().await;
    dropped.abort();
    let later = soon + Duration::from_millis(20);
    timeout(PATIENCE, PollScope::new(Box::pin(poll_fn(asks(later))), timer)).await.expect("woken");
    let _ = timeout(Duration::ZERO, pending::<()>()).await;
}
