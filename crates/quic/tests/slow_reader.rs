//! A receiver that reads late, or waits for one lost packet, is no attacker.

mod loopback;

use loopback::{PATIENCE, Paced, connect, endpoint_of, pattern};
use noq::VarInt;
use pcc_quic::Algorithm;
use pcc_quic::transport::{self, Windows};
use std::time::Duration;
use tokio::time::timeout;

/// Some 39,000 packets, nearly the whole window: more than a receiver keeps apart (see vendor/README.md).
const BYTES: usize = 55_000_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fits_the_window_may_wait_for_its_reader() {
    let data = pattern(BYTES);
    // A reader that waits for a lost packet has read before, and so has the widest window.
    let ends = [(); 2].map(|()| {
        let mut transport = transport::config(&Algorithm::Cubic, &Windows::default());
        transport.initial_stream_receive_window(VarInt::MAX);
        endpoint_of(transport, Paced::ByNoq.runtime())
    });
    let (client, server) = connect(&ends[0], &ends[1]).await;
    let send = async {
        let mut stream = client.open_uni().await.unwrap();
        stream.write_all(&data).await.unwrap();
        stream.finish().unwrap();
        stream.stopped().await
    };
    let receive = async {
        let mut stream = server.accept_uni().await.unwrap();
        while server.stats().udp_rx.bytes < BYTES as u64 && server.close_reason().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stream.read_to_end(BYTES).await
    };
    let (sent, received) = timeout(PATIENCE, async { tokio::join!(send, receive) }).await.expect("arrives in time");
    assert!(received.expect("the connection lives") == data, "what arrives is what was sent");
    assert_eq!(sent, Ok(None));
}
