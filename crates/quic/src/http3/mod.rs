//! HTTP/3 over noq: the traits of [`h3::quic`], and builders with the limits a public server needs.
//!
//! A client:
//!
//! ```no_run
//! # async fn get(connection: noq::Connection) -> Result<(), Box<dyn std::error::Error>> {
//! let (driver, mut requests) = pcc_quic::http3::client(connection).await?;
//! let driver = tokio::spawn(driver);
//! let mut stream = requests.send_request(http::Request::get("https://host/file").body(())?).await?;
//! stream.finish().await?;
//! let response = stream.recv_response().await?;
//! # Ok(())
//! # }
//! ```

mod connection;
mod delivery;
mod error;
mod frames;
mod recv;
mod send;

pub use connection::{Connection, OpenStreams};
pub use delivery::Deliveries;
pub use recv::RecvStream;
pub use send::{BidiStream, SendStream};

use bytes::Bytes;
use h3::error::ConnectionError;

/// The protocol's name in the TLS handshake (RFC 9114 §3.1).
pub const ALPN: &[u8] = b"h3";

/// Bytes of header fields accepted in one message, counted by RFC 9114 §4.2.2: far more than browsers and file tools
/// send, and than other servers accept. The received part of a message's head is held, up to twice this.
pub const MAX_HEADER_BYTES: u64 = 32 << 10;

/// Sends requests on a connection; cloneable, so that requests run side by side.
pub type Requests = h3::client::SendRequest<OpenStreams, Bytes>;

/// A client's request while it is under way.
pub type RequestStream = h3::client::RequestStream<BidiStream, Bytes>;

/// The server's side of a connection.
pub type Server = h3::server::Connection<Connection, Bytes>;

/// The server's side of a request while it is under way.
pub type ResponseStream = h3::server::RequestStream<BidiStream, Bytes>;

/// Opens HTTP/3 on a client's connection.
///
/// The first value is a future to be spawned: it reads what the server says about the connection as a whole, and
/// ends, with the reason, when the connection does. The second sends requests; the connection closes when it and all
/// its clones are dropped.
///
/// Errors: the connection was lost.
pub async fn client(
    connection: noq::Connection,
) -> Result<(impl Future<Output = ConnectionError> + Send + use<>, Requests), ConnectionError> {
    let (mut connection, requests) = h3::client::builder()
        .max_field_section_size(MAX_HEADER_BYTES)
        .build::<_, _, Bytes>(Connection::new(connection))
        .await?;
    Ok((async move { connection.wait_idle().await }, requests))
}

/// Opens HTTP/3 on a server's connection. It closes when the value is dropped, and what is still on its way then is lost:
/// [`server_with_deliveries`] tells when nothing is.
///
/// Errors: the connection was lost.
pub async fn server(connection: noq::Connection) -> Result<Server, ConnectionError> {
    server_with_deliveries(connection).await.map(|(server, _)| server)
}

/// As [`server`], for those who end connections in their own time.
///
/// Errors: the connection was lost.
pub async fn server_with_deliveries(connection: noq::Connection) -> Result<(Server, Deliveries), ConnectionError> {
    let connection = Connection::new(connection);
    let deliveries = connection.deliveries();
    let server = h3::server::builder().max_field_section_size(MAX_HEADER_BYTES).build(connection).await?;
    Ok((server, deliveries))
}
