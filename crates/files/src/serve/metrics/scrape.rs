//! Answers those who ask for the figures, by HTTP/1.1.

use super::Metrics;
use bytes::Bytes;
use core::convert::Infallible;
use core::time::Duration;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pcc_report::prometheus::MEDIA_TYPE;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections at a time: Prometheus has one. Further ones are closed.
const CONNECTIONS: usize = 8;

/// From the connection to the end of its only answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of a request's head.
const HEAD: usize = 8 << 10;

/// A refused connection, or no descriptor for it, costs this time; a loop would cost a processor.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves the figures at `/metrics` until the runtime ends, and answers where.
///
/// Errors: the address is taken.
pub async fn expose(metrics: Metrics, at: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(at).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let accepted = listener.accept().await;
            let (Ok((connection, _)), Ok(place)) = (accepted, places.clone().try_acquire_owned()) else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let metrics = metrics.clone();
            tokio::spawn(async move {
                // A scrape that fails is asked for again.
                let _ = timeout(PATIENCE, answer(metrics, connection)).await;
                drop(place);
            });
        }
    });
    Ok(address)
}

async fn answer(metrics: Metrics, connection: TcpStream) -> hyper::Result<()> {
    let service = service_fn(|request| {
        let answer = respond(&metrics, &request);
        async move { Ok::<_, Infallible>(answer) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(connection), service)
        .await
}

fn respond(metrics: &Metrics, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let (status, media_type, text) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, MEDIA_TYPE, metrics.page()),
        (&Method::GET | &Method::HEAD, _) => (StatusCode::NOT_FOUND, "text/plain", "see /metrics\n".to_owned()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "GET and HEAD only\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
