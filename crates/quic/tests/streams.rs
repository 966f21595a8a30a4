//! Streams of one connection share what it may send.

mod loopback;

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loopback::relay::Relay;
use loopback::{PATIENCE, Paced, connect_to, endpoint};
use noq::Connection;
use pcc_quic::Algorithm;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const STREAMS: usize = 8;

/// Far less than the streams want to have on their way: the window decides who may write.
const SEND_WINDOW: u64 = 64 << 10;

/// When the shares are looked at: more than fifty windows.
const BYTES: usize = 4_000_000;

fn way(_: u64) -> Duration {
    Duration::from_millis(5)
}

/// Bytes that arrived of each stream when [`BYTES`] had arrived in all, while every stream had more to send.
async fn shares() -> Vec<usize> {
    let ends = [(); 2].map(|()| endpoint(&Algorithm::Cubic, Paced::ByNoq.runtime()));
    let relay = Relay::new(ends[1].local_addr().unwrap(), way, way).await;
    let (client, server) = connect_to(&ends[0], &ends[1], relay.address).await;
    client.set_send_window(SEND_WINDOW);
    let enough = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..STREAMS).map(|_| tokio::spawn(write(client.clone(), enough.clone()))).collect();
    let counted = Arc::new([const { AtomicUsize::new(0) }; STREAMS]);
    let readers: Vec<_> =
        (0..STREAMS).map(|index| tokio::spawn(count(server.clone(), index, counted.clone()))).collect();
    let shares = || counted.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let seen = async {
        while shares().iter().sum::<usize>() < BYTES {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        shares()
    };
    let seen = timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("all stopped at {:?}", shares()));
    enough.store(true, Ordering::Relaxed);
    for task in writers.into_iter().chain(readers) {
        timeout(PATIENCE, task).await.expect("every stream comes to its end").unwrap();
    }
    seen
}

async fn write(connection: Connection, enough: Arc<AtomicBool>) {
    let mut stream = connection.open_uni().await.unwrap();
    while !enough.load(Ordering::Relaxed) {
        stream.write_all(&[7; 16 << 10]).await.unwrap();
    }
    stream.finish().unwrap();
}

async fn count(connection: Connection, index: usize, counted: Arc<[AtomicUsize; STREAMS]>) {
    let mut stream = connection.accept_uni().await.unwrap();
    while let Some(chunk) = stream.read_chunk(usize::MAX).await.unwrap() {
        counted[index].fetch_add(chunk.len(), Ordering::Relaxed);
    }
}

fn assert_alike(shares: &[usize]) {
    let equal = shares.iter().sum::<usize>() / STREAMS;
    assert!(shares.iter().all(|share| (equal / 2..equal * 2).contains(share)), "{shares:?}");
}

#[tokio::test]
async fn streams_that_wait_for_the_window_get_alike_on_one_thread() {
    assert_alike(&shares().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_wait_for_window_get_alike_on_several_threads() {
    assert_alike(&shares().await);
}

/// Of those that wait, some may have lost interest: the others get what there is.
#[tokio::test]
async fn who_waited_and_went_away_holds_up_nobody() {
    let ends = [(); 2].map(|()| endpoint(&Algorithm::Cubic, Paced::ByNoq.runtime()));
    let (client, server) = loopback::connect(&ends[0], &ends[1]).await;
    client.set_send_window(SEND_WINDOW);
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(client.open_uni().await.unwrap());
    }
    // The first fills the window, all but the last begin to wait and do not come back.
    let mut fleeting = streams.iter_mut().take(STREAMS - 1).map(|stream| Box::pin(stream.write_all(&[7; 1 << 20])));
    let all = core::future::poll_fn(|cx| {
        fleeting.by_ref().for_each(|mut write| assert!(write.as_mut().poll(cx).is_pending()));
        core::task::Poll::Ready(())
    });
    all.await;
    let mut last = streams.pop().unwrap();
    let write = async {
        last.write_all(&[7; 1 << 20]).await.unwrap();
        last.finish().unwrap();
        last.stopped().await
    };
    let read = async {
        loop {
            let mut stream = server.accept_uni().await.unwrap();
            tokio::spawn(async move { while let Ok(Some(_)) = stream.read_chunk(usize::MAX).await {} });
        }
    };
    let written = tokio::select! {
        written = timeout(PATIENCE, write) => written,
        () = read => unreachable!("connections do not end here"),
    };
    assert_eq!(written.expect("nothing but the window is in its way"), Ok(None));
}
