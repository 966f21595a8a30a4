//! The receiver: finds the sender of a code, and is a way to its files.

use crate::code::Code;
use crate::endpoint::{self, Side};
use crate::error::ReachError;
use crate::greeting::{self, ALPN, NoGreeting};
use crate::offer::REFUSALS;
use crate::route::{Route, follow};
use crate::words::{Item, Wish};
use core::time::Duration;
use iroh::endpoint::{Connection, ConnectionError, VarInt};
use iroh::{Endpoint, EndpointAddr};
use pcc_files::{Connecting, NoWay, Url, Way, get};
use pcc_net::alias::{Alias, CopyName};
use pcc_net::percent::encode_segment;
use pcc_net::url::Peer;
use pcc_quic::Algorithm;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::timeout;

/// A sender that is there is found within this time, also in the local network and through a relay.
const SEARCH: Duration = Duration::from_secs(20);

/// Closing the endpoint may take this long.
const GOODBYE: Duration = Duration::from_secs(3);

/// The sender of a code, found.
pub struct Fetch {
    code: Code,
    endpoint: Endpoint,
    run: u64,
    items: Vec<Item>,
    tell: Arc<dyn Fn(&Route) + Send + Sync>,
    /// The connection by which the sender was found, until the first part uses it.
    first: Mutex<Option<noq::Connection>>,
}

/// One of the things that a code is for.
pub struct Part {
    fetch: Arc<Fetch>,
    item: usize,
}

impl Fetch {
    /// Finds the sender, and hears what it has. `tell` hears the way that packets take, and each change of it.
    ///
    /// Errors: nobody answers to the code, or the sender refuses.
    pub async fn open(
        code: Code,
        algorithm: &Algorithm,
        tell: Arc<dyn Fn(&Route) + Send + Sync>,
    ) -> Result<Arc<Self>, ReachError> {
        let mut run = [0; 8];
        aws_lc_rs::rand::fill(&mut run)?;
        let endpoint = endpoint::open(&code, Side::Receiver, algorithm).await?;
        let run = u64::from_le_bytes(run);
        let mut fetch = Self { code, endpoint, run, items: Vec::new(), tell, first: Mutex::default() };
        match fetch.connect(Some(0)).await {
            Ok((connection, items)) => {
                fetch.items = items;
                fetch.first = Mutex::new(Some(connection));
                Ok(Arc::new(fetch))
            }
            Err(error) => {
                fetch.endpoint.close().await;
                Err(error)
            }
        }
    }

    /// The sender's things, in its own words.
    pub fn parts(self: &Arc<Self>) -> Vec<Part> {
        (0..self.items.len()).map(|item| Part { fetch: self.clone(), item }).collect()
    }

    /// Tells the sender that everything has arrived, so that the code is used.
    ///
    /// Errors: the sender cannot be told, and goes on waiting.
    pub async fn finish(&self) -> Result<(), ReachError> {
        self.connect(None).await.map(drop)
    }

    /// Ends. A sender that was not told that everything has arrived goes on waiting.
    pub async fn close(&self) {
        let _ = timeout(GOODBYE, self.endpoint.close()).await;
    }

    async fn connect(&self, item: Option<usize>) -> Result<(noq::Connection, Vec<Item>), ReachError> {
        let places = self.code.places();
        let to = EndpointAddr::from_parts(self.code.sender().public(), places.iter().map(Into::into));
        let no_answer = || ReachError::NoAnswer { places: places.to_vec() };
        let connection = match timeout(SEARCH, self.endpoint.connect(to, ALPN)).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => {
                tracing::debug!(error = format!("{error:#}"), "no connection");
                return Err(no_answer());
            }
            Err(_) => return Err(no_answer()),
        };
        let wish = Wish { run: self.run, item };
        let (files, answer) = greeting::ask(&connection, &wish).await.map_err(|error| explained(&connection, error))?;
        if item.is_some() {
            let tell = self.tell.clone();
            tokio::spawn(follow(connection, move |route| tell(&route)));
        }
        Ok((files, answer.items))
    }
}

/// A sender that refuses closes the connection, which the greeting meets as an error of its own.
fn explained(connection: &Connection, error: NoGreeting) -> ReachError {
    match connection.close_reason() {
        Some(ConnectionError::ApplicationClosed(close)) if REFUSALS.contains(&close.error_code) => {
            ReachError::Refused(pcc_net::escape_for_terminal(&String::from_utf8_lossy(&close.reason)))
        }
        _ => {
            connection.close(VarInt::from_u32(0), b"");
            ReachError::Greeting(error.to_string())
        }
    }
}

impl Part {
    /// Its name there, and whether it is a directory.
    pub fn item(&self) -> Option<&Item> {
        self.fetch.items.get(self.item)
    }

    /// The name by which requests and messages call the sender.
    pub fn peer(&self) -> Peer {
        Peer { host: "sender".to_owned(), port: 443 }
    }

    /// Where it is at the sender. The copy is called as the sender says, and may replace nothing.
    ///
    /// Errors: the name cannot be one.
    pub fn url(&self) -> Result<Url, ReachError> {
        let wrong = |name: &str| {
            ReachError::Greeting(format!("`{}` is no name for a copy", pcc_net::escape_for_terminal(name)))
        };
        let item = self.item().ok_or_else(|| wrong(""))?;
        let path = if item.directory { "/".to_owned() } else { format!("/{}", encode_segment(&item.name)) };
        let parsed = path.parse().map_err(|_| wrong(&item.name))?;
        let written = format!("{}-…", self.fetch.code.short());
        let alias = Alias { path, written, name: CopyName::Offered(item.name.clone()) };
        let url = Url { peer: self.peer(), path: parsed, pin: None, alias: Some(Arc::new(alias)) };
        get::name_of(&url).map_err(|_| wrong(&item.name))?;
        Ok(url)
    }
}

impl Way for Part {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async move {
            let first = self.fetch.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(connection) = first.filter(|first| self.item == 0 && first.close_reason().is_none()) {
                return Ok(connection);
            }
            let (connection, items) = self.fetch.connect(Some(self.item)).await.map_err(no_way)?;
            if items == self.fetch.items {
                Ok(connection)
            } else {
                Err(no_way(ReachError::Greeting("it has other things than before".to_owned())))
            }
        })
    }
}

fn no_way(error: ReachError) -> NoWay {
    let may_pass = matches!(error, ReachError::NoAnswer { .. } | ReachError::Greeting(_));
    NoWay { error: error.into(), may_pass }
}

#[cfg(test)]
mod tests;
