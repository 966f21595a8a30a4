//! A body of HTTP/3 goes to noq as it is, and noq keeps it until it is acknowledged: nobody copies it.

mod loopback;

use bytes::{Buf, Bytes};
use core::time::Duration;
use http::Request;
use loopback::{PATIENCE, Paced, Pair, pair, pattern};
use pcc_quic::{Algorithm, http3};
use std::sync::{Arc, Weak};
use tokio::time::timeout;

/// The content of a part, which tells by its end who holds it.
struct Part(Arc<Vec<u8>>);

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn part(content: Vec<u8>) -> (Bytes, Weak<Vec<u8>>) {
    let content = Arc::new(content);
    let held = Arc::downgrade(&content);
    (Bytes::from_owner(Part(content)), held)
}

/// On one thread nothing is sent, let alone acknowledged, before this test waits for something.
#[tokio::test]
async fn a_body_is_handed_over_without_a_copy() {
    let Pair { client, server, endpoints: _endpoints } = pair(&Algorithm::default(), Paced::ByUs).await;
    let receiver = tokio::spawn(async move {
        let mut server = http3::server(server).await.unwrap();
        let (_, mut stream) = server.accept().await.unwrap().unwrap().resolve_request().await.unwrap();
        let mut received = Vec::new();
        while let Some(mut part) = stream.recv_data().await.unwrap() {
            received.extend_from_slice(&part.copy_to_bytes(part.remaining()));
        }
        stream.send_response(http::Response::new(())).await.unwrap();
        stream.finish().await.unwrap();
        while server.accept().await.is_ok_and(|request| request.is_some()) {}
        received
    });
    let (driver, mut requests) = http3::client(client.clone()).await.unwrap();
    let driver = tokio::spawn(driver);
    let mut stream = requests.send_request(Request::put("https://localhost/").body(()).unwrap()).await.unwrap();
    let content = pattern(30_000);
    let (body, held) = part(content.clone());
    stream.send_data(body).await.unwrap();
    assert!(held.upgrade().is_some(), "noq holds what it was given");
    stream.finish().await.unwrap();
    timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    // The answer may overtake the last acknowledgement.
    let acknowledged = async {
        while held.upgrade().is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, acknowledged).await.expect("what is acknowledged is not held any more");
    client.close(0_u32.into(), b"");
    drop((stream, requests));
    let _ = driver.await;
    assert!(timeout(PATIENCE, receiver).await.unwrap().unwrap() == content);
}
