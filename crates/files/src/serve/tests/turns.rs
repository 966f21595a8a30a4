//! Requests that wait for their turn keep no credit from those that have one.

use super::*;
use tokio::task::JoinSet;

/// Requests that are answered side by side.
const AT_A_TIME: usize = 16;

/// More of them hold all credit of a connection that has no more than everybody.
const WAITING: usize = 24;

const SIZE: usize = 60_000;

impl Client {
    /// Begins to upload a file.
    async fn upload(&mut self, name: &str) -> RequestStream {
        let request =
            Request::put(format!("https://localhost/{name}")).header("authorization", format!("Bearer {TOKEN}"));
        self.requests.send_request(request.body(()).unwrap()).await.unwrap()
    }
}

/// Sends a file, as far as the server takes it, and answers the status.
async fn send(mut stream: RequestStream) -> StatusCode {
    stream.send_data(Bytes::from(vec![b'x'; SIZE])).await.unwrap();
    stream.finish().await.unwrap();
    read(&mut stream).await.unwrap().status
}

/// Clients that have shown the token, until their network gets no more than everybody.
async fn others(bench: &Bench) -> Vec<Client> {
    let mut others = Vec::new();
    for _ in 0..10 {
        let mut client = bench.client().await;
        let bearer = format!("Bearer {TOKEN}");
        let answer = client.ask("OPTIONS", "/", &[("authorization", &bearer)]).await.unwrap();
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
        others.push(client);
    }
    others
}

/// Waits until that is so.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = timeout(PATIENCE, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waiting.await.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_go_on_while_waiting_bodies_hold_all_credit() {
    let bench = Bench::new();
    let _others = others(&bench).await;
    let mut client = bench.client().await;
    let mut with_turns = Vec::new();
    for number in 0..AT_A_TIME {
        with_turns.push(client.upload(&format!("{number}")).await);
    }
    let begun = || bench.path("").read_dir().unwrap().count();
    until("each has a turn", || begun() == AT_A_TIME).await;
    let mut sending = JoinSet::new();
    for number in 0..WAITING {
        sending.spawn(send(client.upload(&format!("waiting-{number}")).await));
    }
    until("they send all that may be sent", || client.connection.stats().udp_tx.bytes > 256 << 10).await;
    with_turns.into_iter().for_each(|stream| drop(sending.spawn(send(stream))));
    let all = async {
        while let Some(status) = sending.join_next().await {
            assert_eq!(status.unwrap(), StatusCode::CREATED);
        }
    };
    timeout(PATIENCE, all).await.expect("all uploads end");
    assert_eq!(begun(), AT_A_TIME + WAITING);
}
