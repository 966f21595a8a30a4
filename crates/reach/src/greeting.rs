//! The first words on each connection, before HTTP/3 begins: the receiver asks for one of the things that are sent, and the sender
//! says what they are. Each says one line of JSON on the first stream.

use crate::words::{Answer, LONGEST, Wish};
use core::time::Duration;
use iroh::endpoint::{Connection, RecvStream, SendStream};
use serde::Serialize;
use tokio::time::timeout;

/// The protocol's name in the handshake.
pub(crate) const ALPN: &[u8] = b"pcc-reach/1";

/// A greeting that takes longer does not come any more.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there was no greeting.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoGreeting {
    #[error("it said nothing")]
    Silent,
    #[error("{0}")]
    Lost(#[from] iroh::endpoint::ConnectionError),
    #[error("{0}")]
    Other(String),
}

impl NoGreeting {
    fn of(error: impl core::fmt::Display) -> Self {
        Self::Other(pcc_net::escape_for_terminal(&error.to_string()))
    }
}

/// The receiver's part. The first value is the connection for HTTP/3.
pub(crate) async fn ask(connection: &Connection, wish: &Wish) -> Result<(noq::Connection, Answer), NoGreeting> {
    let words = async {
        let (mut send, mut receive) = connection.open_bi().await?;
        say(&mut send, wish).await?;
        let answer = Answer::read(&hear(&mut receive).await?, wish).map_err(NoGreeting::of)?;
        Ok((send.connection(), answer))
    };
    timeout(PATIENCE, words).await.unwrap_or(Err(NoGreeting::Silent))
}

/// The sender's part: hears the wish.
pub(crate) async fn wish(connection: &Connection) -> Result<(SendStream, Wish), NoGreeting> {
    let words = async {
        let (send, mut receive) = connection.accept_bi().await?;
        let wish = Wish::read(&hear(&mut receive).await?).map_err(NoGreeting::of)?;
        Ok((send, wish))
    };
    timeout(PATIENCE, words).await.unwrap_or(Err(NoGreeting::Silent))
}

/// Says one line, which is all that the stream has.
pub(crate) async fn say(send: &mut SendStream, words: &impl Serialize) -> Result<(), NoGreeting> {
    let text = serde_json::to_vec(words).map_err(NoGreeting::of)?;
    send.write_all(&text).await.map_err(NoGreeting::of)?;
    send.finish().map_err(NoGreeting::of)
}

async fn hear(receive: &mut RecvStream) -> Result<Vec<u8>, NoGreeting> {
    receive.read_to_end(LONGEST).await.map_err(NoGreeting::of)
}
