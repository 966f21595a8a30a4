//! HTTP/3 with a peer that speaks QUIC and writes to the streams whatever it likes.

mod loopback;

use bytes::Bytes;
use core::future::poll_fn;
use core::time::Duration;
use h3::error::Code;
use h3::quic::{self, RecvStream as _};
use http::Request;
use loopback::{PATIENCE, Paced, Pair, pair};
use noq::{Connection, ConnectionError, SendStream};
use pcc_quic::Algorithm;
use pcc_quic::http3;
use tokio::time::timeout;

const HEADERS: u8 = 0x01;
const SETTINGS: u8 = 0x04;
/// Reserved to exercise that unknown frames are ignored (RFC 9114 §7.2.8).
const UNKNOWN: u8 = 0x21;
const CONTROL: u8 = 0x00;

/// A frame's header that declares 2^40 bytes.
fn endless(kind: u8) -> Vec<u8> {
    [&[kind], (1u64 << 40 | 3 << 62).to_be_bytes().as_slice()].concat()
}

/// Writes `beginning`, and then as much as the peer takes.
async fn flood(mut stream: SendStream, beginning: Vec<u8>) {
    let _ = stream.write_all(&beginning).await;
    while stream.write_all(&[0; 16 << 10]).await.is_ok() {}
}

/// Whether `attacker` hears that it asked too much, or that its peer has forgotten it. A closed connection is remembered for
/// three probe time-outs, here some milliseconds: who slept through them, as on a busy host one may, is answered by a reset
/// (RFC 9000 §10.2 and §10.3).
async fn is_turned_away(attacker: &Connection) -> Result<(), String> {
    match timeout(PATIENCE, attacker.closed()).await {
        Ok(ConnectionError::ApplicationClosed(close)) if close.error_code == code() => Ok(()),
        Ok(ConnectionError::Reset) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

fn code() -> noq::VarInt {
    noq::VarInt::from_u64(Code::H3_EXCESSIVE_LOAD.value()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_keeps_no_frame_of_a_length_that_nobody_needs() {
    for (what, request, beginning) in [
        ("headers", true, endless(HEADERS)),
        ("an unknown frame", true, endless(UNKNOWN)),
        ("settings", false, [vec![CONTROL], endless(SETTINGS)].concat()),
        ("an unknown frame after the settings", false, [vec![CONTROL, SETTINGS, 0], endless(UNKNOWN)].concat()),
    ] {
        let Pair { client, server, endpoints: _endpoints } = pair(&Algorithm::default(), Paced::ByNoq).await;
        tokio::spawn(async move {
            let mut server = http3::server(server).await?;
            while let Some(request) = server.accept().await? {
                tokio::spawn(request.resolve_request());
            }
            anyhow::Ok(())
        });
        let stream = if request { client.open_bi().await.unwrap().0 } else { client.open_uni().await.unwrap() };
        tokio::spawn(flood(stream, beginning));
        assert_eq!(is_turned_away(&client).await, Ok(()), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_keeps_no_frame_of_a_length_that_nobody_needs() {
    for kind in [HEADERS, UNKNOWN] {
        let Pair { client, server, endpoints: _endpoints } = pair(&Algorithm::default(), Paced::ByNoq).await;
        let (driver, mut requests) = http3::client(client).await.unwrap();
        tokio::spawn(driver);
        let attacker = server.clone();
        tokio::spawn(async move {
            let (send, _recv) = server.accept_bi().await?;
            flood(send, endless(kind)).await;
            anyhow::Ok(())
        });
        let request = Request::get("https://localhost/").body(()).unwrap();
        let mut stream = requests.send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        let answer = timeout(PATIENCE, stream.recv_response()).await.expect("an end");
        assert!(answer.is_err(), "{answer:?}");
        assert_eq!(is_turned_away(&attacker).await, Ok(()), "{kind:#x}");
    }
}

/// The pieces in which a frame is handed on that comes byte by byte.
async fn pieces_of(frame: &'static [u8]) -> Vec<usize> {
    let Pair { client, server, endpoints: _endpoints } = pair(&Algorithm::default(), Paced::ByUs).await;
    let sending = tokio::spawn(async move {
        let mut stream = client.open_bi().await.unwrap().0;
        for byte in frame.chunks(1) {
            stream.write_all(byte).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
    });
    let mut server = http3::Connection::new(server);
    let accepted = poll_fn(|cx| quic::Connection::<Bytes>::poll_accept_bidi(&mut server, cx)).await;
    let mut stream = accepted.unwrap();
    let mut pieces = Vec::new();
    while let Some(piece) = poll_fn(|cx| stream.poll_data(cx)).await.unwrap() {
        pieces.push(piece.len());
    }
    sending.await.unwrap();
    pieces
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_comes_byte_by_byte_is_held_in_one_piece() {
    const HEAD: [u8; 62] = {
        let mut head = [0xff; 62];
        head[0] = HEADERS;
        head[1] = 60;
        head
    };
    let pieces = timeout(PATIENCE, pieces_of(&HEAD)).await.unwrap();
    assert_eq!(pieces.iter().sum::<usize>(), HEAD.len());
    assert!(pieces.len() <= 3, "{pieces:?}");
    // Cut off, all of it is handed on.
    assert_eq!(timeout(PATIENCE, pieces_of(&HEAD[..50])).await.unwrap().iter().sum::<usize>(), 50);
}
