//! The first words on each connection, before HTTP/3 begins: the receiver asks for one of the things that are sent, and the sender
//! says what they are. Each says one line of JSON on the first stream.

use core::time::Duration;
use iroh::endpoint::{Connection, RecvStream, SendStream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

/// The protocol's name in the handshake.
pub(crate) const ALPN: &[u8] = b"pcc-reach/1";

/// Things that one code is for.
pub const MOST_ITEMS: usize = 64;

/// Bytes of a greeting: [`MOST_ITEMS`] names of 255 bytes, each of which may be written in six characters.
const LONGEST: usize = 128 << 10;

/// A greeting that takes longer does not come any more.
const PATIENCE: Duration = Duration::from_secs(10);

/// The receiver's words.
#[derive(Debug, Deserialize, Serialize, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The same number for all connections of one run of the receiver.
    pub(crate) run: u64,
    /// Which of the things this connection is for; without one, all of them have arrived.
    pub(crate) item: Option<usize>,
}

/// The sender's words.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Answer {
    pub(crate) items: Vec<Item>,
}

/// A thing that is sent.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct Item {
    /// Its name there, which the receiver's side checks before it uses it.
    pub name: String,
    /// Whether it is a directory.
    pub directory: bool,
}

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
        Self::Other(pcc_net::shown(&error.to_string()))
    }
}

/// The receiver's part. The first value is the connection for HTTP/3.
pub(crate) async fn ask(connection: &Connection, wish: &Wish) -> Result<(noq::Connection, Answer), NoGreeting> {
    let words = async {
        let (mut send, mut receive) = connection.open_bi().await?;
        say(&mut send, wish).await?;
        let answer: Answer = hear(&mut receive).await?;
        let is_possible = (1..=MOST_ITEMS).contains(&answer.items.len()) && wish.item < Some(answer.items.len());
        if is_possible { Ok((send.connection(), answer)) } else { Err(NoGreeting::of("a wrong number of things")) }
    };
    timeout(PATIENCE, words).await.unwrap_or(Err(NoGreeting::Silent))
}

/// The sender's part: hears the wish.
pub(crate) async fn wish(connection: &Connection) -> Result<(SendStream, Wish), NoGreeting> {
    let words = async {
        let (send, mut receive) = connection.accept_bi().await?;
        Ok((send, hear(&mut receive).await?))
    };
    timeout(PATIENCE, words).await.unwrap_or(Err(NoGreeting::Silent))
}

/// Says one line, which is all that the stream has.
pub(crate) async fn say(send: &mut SendStream, words: &impl Serialize) -> Result<(), NoGreeting> {
    let text = serde_json::to_vec(words).map_err(NoGreeting::of)?;
    send.write_all(&text).await.map_err(NoGreeting::of)?;
    send.finish().map_err(NoGreeting::of)
}

async fn hear<T: DeserializeOwned>(receive: &mut RecvStream) -> Result<T, NoGreeting> {
    let text = receive.read_to_end(LONGEST).await.map_err(NoGreeting::of)?;
    serde_json::from_slice(&text).map_err(NoGreeting::of)
}
