//! HTTP/3 between a client and a server of this crate, over loopback.

mod loopback;

use bytes::{Buf, Bytes};
use h3::error::{Code, StreamError};
use http::{Request, Response, StatusCode};
use loopback::{PATIENCE, Paced, Pair, pair, pattern};
use noq::Endpoint;
use pcc_quic::http3::{self, RequestStream, Requests, ResponseStream};
use pcc_quic::{Algorithm, http3::MAX_HEADER_BYTES};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A client, and a server that answers by path.
struct Session {
    requests: Requests,
    driver: JoinHandle<h3::error::ConnectionError>,
    client: noq::Connection,
    _endpoints: [Endpoint; 2],
}

const FILE: usize = 3_000_000;

impl Session {
    async fn start() -> Self {
        let Pair { client, server, endpoints } = pair(&Algorithm::default(), Paced::ByUs).await;
        tokio::spawn(async move {
            let mut server = http3::server(server).await?;
            while let Some(request) = server.accept().await? {
                tokio::spawn(async move {
                    let (request, stream) = request.resolve_request().await?;
                    answer(request.uri().path(), stream).await
                });
            }
            anyhow::Ok(())
        });
        let (driver, requests) = http3::client(client.clone()).await.unwrap();
        Self { requests, driver: tokio::spawn(driver), client, _endpoints: endpoints }
    }

    async fn ask(&mut self, path: &str) -> RequestStream {
        let request = Request::get(format!("https://localhost{path}")).body(()).unwrap();
        self.requests.send_request(request).await.unwrap()
    }
}

async fn answer(path: &str, mut stream: ResponseStream) -> anyhow::Result<()> {
    match path {
        "/file" => {
            stream.send_response(Response::new(())).await?;
            for part in pattern(FILE).chunks(100_000) {
                stream.send_data(Bytes::copy_from_slice(part)).await?;
            }
        }
        "/echo" => {
            stream.send_response(Response::new(())).await?;
            while let Some(mut part) = stream.recv_data().await? {
                let part = part.copy_to_bytes(part.remaining());
                stream.send_data(part).await?;
            }
        }
        "/broken" => {
            stream.send_response(Response::new(())).await?;
            stream.send_data(Bytes::from_static(b"the beginning")).await?;
            stream.stop_stream(Code::H3_INTERNAL_ERROR);
            return Ok(());
        }
        "/refuses-body" => {
            stream.stop_sending(Code::H3_NO_ERROR);
            stream.send_response(Response::builder().status(StatusCode::FORBIDDEN).body(())?).await?;
        }
        _ => stream.send_response(Response::builder().status(StatusCode::NOT_FOUND).body(())?).await?,
    }
    stream.finish().await?;
    Ok(())
}

/// Ends the request. A server that has answered by now may not want to hear it (RFC 9114 §4.1).
async fn end(stream: &mut RequestStream) {
    match stream.finish().await {
        Ok(()) | Err(StreamError::RemoteTerminate { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

async fn body(stream: &mut RequestStream) -> Result<Vec<u8>, StreamError> {
    let mut body = Vec::new();
    while let Some(mut part) = stream.recv_data().await? {
        while part.has_remaining() {
            let chunk = part.chunk();
            body.extend_from_slice(chunk);
            part.advance(chunk.len());
        }
    }
    Ok(body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_arrives_as_it_is() {
    let mut session = Session::start().await;
    let mut stream = session.ask("/file").await;
    end(&mut stream).await;
    let response = timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(timeout(PATIENCE, body(&mut stream)).await.unwrap().unwrap() == pattern(FILE));
}

/// Bytes that arrive of a stream before anybody reads it, with room for headers: its first window has 977 kB.
const UNREAD: usize = 700_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_that_are_there_are_read_in_large_pieces() {
    let mut session = Session::start().await;
    let mut stream = session.ask("/file").await;
    end(&mut stream).await;
    timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    let arrived = async {
        while session.client.stats().udp_rx.bytes < UNREAD as u64 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, arrived).await.unwrap();
    let packets = session.client.stats().udp_rx.datagrams;
    let (mut received, mut pieces) = (Vec::new(), 0);
    while let Some(mut piece) = timeout(PATIENCE, stream.recv_data()).await.unwrap().unwrap() {
        pieces += u64::from(received.len() < UNREAD);
        received.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
    }
    assert!(pieces * 8 < packets, "{pieces} pieces of {packets} packets");
    assert!(received == pattern(FILE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_halves_of_a_request_run_at_the_same_time() {
    let mut session = Session::start().await;
    let (mut send, mut recv) = session.ask("/echo").await.split();
    let sent = pattern(1_000_000);
    let upload = async {
        for part in sent.chunks(70_000) {
            send.send_data(Bytes::copy_from_slice(part)).await.unwrap();
        }
        send.finish().await.unwrap();
    };
    let download = async {
        recv.recv_response().await.unwrap();
        let mut received = Vec::new();
        while let Some(mut part) = recv.recv_data().await.unwrap() {
            received.extend_from_slice(&part.copy_to_bytes(part.remaining()));
        }
        received
    };
    let ((), received) = timeout(PATIENCE, async { tokio::join!(upload, download) }).await.unwrap();
    assert!(received == sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_requests_than_streams_wait_their_turn() {
    let session = Session::start().await;
    let tasks: Vec<_> = (0..400)
        .map(|index| {
            let mut requests = session.requests.clone();
            tokio::spawn(async move {
                let request = Request::get(format!("https://localhost/missing/{index}")).body(()).unwrap();
                let mut stream = requests.send_request(request).await.unwrap();
                end(&mut stream).await;
                stream.recv_response().await.unwrap().status()
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(timeout(PATIENCE, task).await.unwrap().unwrap(), StatusCode::NOT_FOUND);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_response_is_an_error_with_its_code() {
    let mut session = Session::start().await;
    let mut stream = session.ask("/broken").await;
    end(&mut stream).await;
    // The reset may overtake the response that it ends.
    let result = timeout(PATIENCE, async {
        stream.recv_response().await?;
        body(&mut stream).await
    });
    match result.await.unwrap() {
        Err(StreamError::RemoteTerminate { code, .. }) => assert_eq!(code, Code::H3_INTERNAL_ERROR),
        other => panic!("{other:?}"),
    }
    // Other requests of the connection are not concerned.
    let mut stream = session.ask("/file").await;
    end(&mut stream).await;
    timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_is_refused_stops_and_the_answer_is_still_read() {
    let mut session = Session::start().await;
    let (mut send, mut recv) = session.ask("/refuses-body").await.split();
    let upload = async {
        loop {
            match send.send_data(Bytes::from_static(&[0; 50_000])).await {
                Ok(()) => tokio::task::yield_now().await,
                Err(StreamError::RemoteTerminate { code, .. }) => break code,
                Err(other) => panic!("{other:?}"),
            }
        }
    };
    let answer = async { recv.recv_response().await.unwrap().status() };
    let (code, status) = timeout(PATIENCE, async { tokio::join!(upload, answer) }).await.unwrap();
    assert_eq!((code, status), (Code::H3_NO_ERROR, StatusCode::FORBIDDEN));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_go_on_with_refused_upload_fails_that_request_and_no_other() {
    let mut session = Session::start().await;
    let mut stream = session.ask("/refuses-body").await;
    let refused = async { while stream.send_data(Bytes::from_static(&[0; 50_000])).await.is_ok() {} };
    timeout(PATIENCE, refused).await.unwrap();
    let more = stream.send_data(Bytes::from_static(b"more")).await;
    assert!(matches!(more, Err(StreamError::RemoteTerminate { code: Code::H3_NO_ERROR, .. })), "{more:?}");
    let _ = stream.finish().await; // as well as may be
    let response = timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    let mut stream = session.ask("/file").await;
    end(&mut stream).await;
    timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    assert_eq!(session.client.close_reason(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_loses_interest_stops_the_server() {
    let mut session = Session::start().await;
    let mut stream = session.ask("/file").await;
    end(&mut stream).await;
    timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    stream.stop_sending(Code::H3_REQUEST_CANCELLED);
    drop(stream);
    // What is left of the connection works.
    let mut stream = session.ask("/nothing").await;
    end(&mut stream).await;
    let response = timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_beyond_the_limit_are_refused() {
    let mut session = Session::start().await;
    // The server's limit arrives on a stream of its own: some answers may be faster.
    let refused = async {
        loop {
            let mut stream = session.ask("/nothing").await;
            end(&mut stream).await;
            stream.recv_response().await.unwrap();
            let long = "x".repeat(MAX_HEADER_BYTES as usize);
            let request = Request::get("https://localhost/file").header("x-long", long).body(()).unwrap();
            match session.requests.send_request(request).await {
                Err(StreamError::HeaderTooBig { max_size, .. }) => return max_size,
                Err(other) => panic!("{other:?}"),
                Ok(_) => {}
            }
        }
    };
    assert_eq!(timeout(PATIENCE, refused).await.unwrap(), MAX_HEADER_BYTES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_ends_with_the_connection() {
    let Session { requests, driver, client, _endpoints } = Session::start().await;
    drop(requests);
    let reason = timeout(PATIENCE, driver).await.expect("the last sender of requests is gone").unwrap();
    assert!(reason.is_h3_no_error(), "{reason:?}");
    timeout(PATIENCE, client.closed()).await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_an_error_for_every_request() {
    let mut session = Session::start().await;
    let mut stream = session.ask("/echo").await;
    timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    session.client.close(7_u32.into(), b"gone");
    let error = timeout(PATIENCE, body(&mut stream)).await.unwrap().unwrap_err();
    assert!(matches!(error, StreamError::ConnectionError { .. }), "{error:?}");
    timeout(PATIENCE, session.driver).await.expect("ended").unwrap();
}
