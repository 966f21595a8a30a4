//! Streams that nobody reads leave the connection's credit to others.

mod loopback;

use loopback::{PATIENCE, Paced, Pair, pair};
use noq::{Connection, RecvStream, VarInt};
use pcc_quic::Algorithm;
use pcc_quic::transport::Windows;
use std::time::Duration;
use tokio::time::timeout;

const UNREAD: usize = 8;

/// More than any window: a stream that nobody reads takes all the credit it can get.
const ENDLESS: usize = 200_000_000;

/// Streams from `sender` whose receiver holds them and does not read, once nothing moves any more.
async fn unread(sender: &Connection, receiver: &Connection) -> Vec<RecvStream> {
    let mut held = Vec::new();
    for _ in 0..UNREAD {
        let mut stream = sender.open_uni().await.unwrap();
        tokio::spawn(async move {
            let piece = vec![7; 1 << 20];
            for _ in 0..ENDLESS / piece.len() {
                if stream.write_all(&piece).await.is_err() {
                    return;
                }
            }
        });
        held.push(receiver.accept_uni().await.unwrap());
    }
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = receiver.stats().udp_rx.bytes;
        if now - before < 10_000 {
            return held;
        }
        before = now;
    }
}

/// Sends so many bytes, and reads them there.
async fn carried(sender: &Connection, receiver: &Connection, bytes: usize) {
    let send = async {
        let mut stream = sender.open_uni().await.unwrap();
        stream.write_all(&vec![5; bytes]).await.unwrap();
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
    };
    let receive = async {
        let mut stream = receiver.accept_uni().await.unwrap();
        assert_eq!(stream.read_to_end(bytes).await.unwrap().len(), bytes);
    };
    let both = async { tokio::join!(send, receive) };
    timeout(PATIENCE, both).await.expect("what nobody reads holds up nobody");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_nobody_reads_stop_no_other() {
    let Pair { client, server, endpoints: _endpoints } = pair(&Algorithm::Cubic, Paced::ByNoq).await;
    let held = timeout(PATIENCE, unread(&client, &server)).await.expect("each takes what it is given");
    let taken = server.stats().udp_rx.bytes;
    let connection = Windows::default().connection_bytes().get();
    assert!(taken < connection / 8, "{taken} of {connection} bytes are held");
    carried(&client, &server, 40).await;
    carried(&client, &server, 30_000_000).await;
    drop(held);
    client.close(VarInt::from_u32(0), b"");
}
