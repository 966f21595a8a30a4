//! The sender: shows a code, waits for whoever knows it, and serves what was offered, once.

use crate::code::{Code, MOST_PLACES};
use crate::endpoint::{self, Side};
use crate::error::ReachError;
use crate::greeting;
use crate::place::{Place, Relay};
use crate::route::{Route, follow};
use crate::words::{Answer, Item, MOST_ITEMS, Wish};
use core::time::Duration;
use iroh::endpoint::{Connection, ConnectionError, Incoming, VarInt};
use iroh::{Endpoint, Watcher};
use pcc_files::serve::Carried;
use pcc_quic::Algorithm;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

/// Strangers who may connect without knowing the code. Nobody can guess a code by that, since the sender's own key follows from it:
/// whoever connects at all was told the key by a relay or by the local network. The next one makes the code void.
pub const STRANGERS: u32 = 16;

/// Handshakes at a time; further ones wait in the socket.
const HANDSHAKES: usize = 16;

/// A handshake takes no longer.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a relay, or the first address of this computer, is waited for.
const READY: Duration = Duration::from_secs(10);

/// Said to those who do not know the code.
const STRANGER: (VarInt, &[u8]) = (VarInt::from_u32(1), b"this is not the code");

/// Said to a second receiver, and to a connection that a newer one of the same receiver replaces.
const IN_USE: (VarInt, &[u8]) = (VarInt::from_u32(2), b"the code is in use");

/// The error codes by which the sender refuses for good.
pub(crate) const REFUSALS: [VarInt; 3] = [STRANGER.0, IN_USE.0, UNHEARD.0];

/// Said to a receiver whose greeting does not make sense.
const UNHEARD: (VarInt, &[u8]) = (VarInt::from_u32(3), b"the greeting was not understood");

/// The sender's orders.
#[derive(Debug)]
pub struct Options {
    /// The files and directories.
    pub paths: Vec<PathBuf>,
    /// The relay at which the receiver finds this computer; without one it is found in the local network or by its address.
    pub relay: Option<Relay>,
    /// How to send.
    pub algorithm: Algorithm,
}

/// News of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The receiver is connected, and asks for the one of this name.
    Connected {
        /// The name.
        name: String,
    },
    /// The way that the packets to the receiver take from now on.
    Route(Route),
    /// The receiver's connection was lost; it may come again.
    Lost {
        /// Why.
        reason: String,
    },
    /// Somebody connected without knowing the code.
    Stranger {
        /// How many more may, before the code is void.
        left: u32,
    },
}

/// The things that one code is for, ready to be fetched.
#[derive(Debug)]
pub struct Offer {
    endpoint: Endpoint,
    code: Code,
    desk: Arc<Desk>,
}

/// The common ground of all connections of an offer.
#[derive(Debug)]
struct Desk {
    receiver: iroh::EndpointId,
    items: Vec<(Item, Carried)>,
    /// The receiver's run, and its connection.
    present: Mutex<Option<(u64, Connection)>>,
    events: mpsc::Sender<Happened>,
}

#[derive(Debug)]
enum Happened {
    Told(Event),
    Stranger,
    Fetched,
}

impl Offer {
    /// Opens what is to be sent, and reaches the relay if there is one.
    ///
    /// Errors: a file cannot be read, or two have one name; the relay does not answer; this computer has no socket.
    pub async fn open(options: Options) -> Result<(Self, Happenings), ReachError> {
        let items = items(&options.paths)?;
        let relay = options.relay.map(Place::Relay);
        let code = Code::new(relay.into_iter().collect())?;
        let endpoint = endpoint::open(&code, Side::Sender, &options.algorithm).await?;
        let (events, happened) = mpsc::channel(STRANGERS as usize);
        let desk = Desk { receiver: code.receiver().public(), items, present: Mutex::default(), events };
        let offer = Self { endpoint, code, desk: Arc::new(desk) };
        offer.wait_until_ready().await?;
        Ok((offer, Happenings(happened)))
    }

    async fn wait_until_ready(&self) -> Result<(), ReachError> {
        let Some(relay) = self.code.places().first() else {
            let mut addresses = self.endpoint.watch_addr();
            let has_one = async { while addresses.get().addrs.is_empty() && addresses.updated().await.is_ok() {} };
            // A computer without any address may get one later.
            let _ = timeout(READY, has_one).await;
            return Ok(());
        };
        let no_relay = || ReachError::NoRelay { relay: relay.to_string(), within: READY };
        timeout(READY, self.endpoint.online()).await.map_err(|_| no_relay())
    }

    /// The code that is told to the receiver.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The same with this computer's own addresses, for a network that passes no multicast. `None` if it has none.
    pub fn code_with_addresses(&self) -> Option<Code> {
        let mut addresses: Vec<SocketAddr> = self.endpoint.addr().ip_addrs().copied().collect();
        addresses.retain(|address| is_told(address.ip()));
        addresses.sort_by_key(|address| (!is_global(address.ip()), address.is_ipv6(), *address));
        addresses.truncate(MOST_PLACES);
        let places: Vec<_> = addresses.into_iter().map(Place::Address).collect();
        (!places.is_empty()).then(|| self.code.at(places))
    }

    /// Serves whoever knows the code, until it was fetched. `tell` hears what happens.
    ///
    /// Errors: nobody fetched it `within` the time; too many tried who do not know the code.
    pub async fn serve(
        self,
        mut happenings: Happenings,
        within: Duration,
        mut tell: impl FnMut(&Event),
    ) -> Result<(), ReachError> {
        let mut strangers = 0;
        let until_fetched = async {
            while let Some(happened) = happenings.0.recv().await {
                match happened {
                    Happened::Told(event) => tell(&event),
                    Happened::Fetched => return Ok(()),
                    Happened::Stranger => {
                        strangers += 1;
                        let left = STRANGERS.checked_sub(strangers).ok_or(ReachError::Guessed(strangers))?;
                        tell(&Event::Stranger { left });
                    }
                }
            }
            Err(ReachError::Closed)
        };
        let outcome = tokio::select! {
            outcome = until_fetched => outcome,
            () = self.accept() => Err(ReachError::Closed),
            () = self.desk.is_too_old(within) => Err(ReachError::Old(within)),
        };
        self.endpoint.close().await;
        outcome
    }

    /// Lets them in, some at a time. It ends with the endpoint.
    async fn accept(&self) {
        let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
        loop {
            let Ok(permit) = handshakes.clone().acquire_owned().await else { return };
            let Some(incoming) = self.endpoint.accept().await else { return };
            let desk = self.desk.clone();
            tokio::spawn(async move {
                let welcome = timeout(HANDSHAKE, desk.welcome(incoming)).await;
                drop(permit);
                if let Ok(Some((connection, item, files))) = welcome {
                    desk.serve(connection, item, files).await;
                }
            });
        }
    }
}

/// The source of an offer's news, for [`Offer::serve`].
#[derive(Debug)]
pub struct Happenings(mpsc::Receiver<Happened>);

impl Desk {
    async fn tell(&self, happened: Happened) {
        // Without a listener the offer has ended.
        let _ = self.events.send(happened).await;
    }

    /// Hears who it is and what they want; `None` if there is nothing to serve.
    async fn welcome(&self, incoming: Incoming) -> Option<(Connection, usize, noq::Connection)> {
        let connection = incoming.accept().ok()?.await.ok()?;
        if connection.remote_id() != self.receiver {
            connection.close(STRANGER.0, STRANGER.1);
            self.tell(Happened::Stranger).await;
            return None;
        }
        let (mut send, wish) = match greeting::wish(&connection).await {
            Ok((send, wish)) if wish.item < Some(self.items.len()) => (send, wish),
            unheard => {
                tracing::debug!(?unheard, "no greeting");
                connection.close(UNHEARD.0, UNHEARD.1);
                return None;
            }
        };
        if !self.is_its_turn(&wish, &connection) {
            connection.close(IN_USE.0, IN_USE.1);
            return None;
        }
        let answer = Answer { items: self.items.iter().map(|(item, _)| item.clone()).collect() };
        greeting::say(&mut send, &answer).await.ok()?;
        let Some(item) = wish.item else {
            // The receiver has heard that the sender knows.
            let _ = send.stopped().await;
            self.tell(Happened::Fetched).await;
            return None;
        };
        Some((connection, item, send.connection()))
    }

    /// Whether nobody else uses the code. A newer connection of the same receiver replaces the older one, which may be lost without
    /// anybody having noticed.
    fn is_its_turn(&self, wish: &Wish, connection: &Connection) -> bool {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((run, other)) = present.as_ref().filter(|(_, other)| other.close_reason().is_none()) {
            if *run != wish.run {
                return false;
            }
            other.close(IN_USE.0, IN_USE.1);
        }
        *present = Some((wish.run, connection.clone()));
        true
    }

    /// Serves one of the things, and notes how that ended.
    async fn serve(&self, connection: Connection, item: usize, files: noq::Connection) {
        let Some((item, carried)) = self.items.get(item) else { return };
        self.tell(Happened::Told(Event::Connected { name: item.name.clone() })).await;
        let events = self.events.clone();
        // A change that finds the channel full is followed by another, or is not worth waiting for.
        let tell = move |route| drop(events.try_send(Happened::Told(Event::Route(route))));
        let follow = follow(connection.clone(), tell);
        tokio::join!(carried.serve(files), follow);
        let reason = connection.closed().await;
        if !matches!(reason, ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed) {
            self.tell(Happened::Told(Event::Lost { reason: reason.to_string() })).await;
        }
    }

    /// Ends when the code is too old and nobody is connected.
    async fn is_too_old(&self, within: Duration) {
        tokio::time::sleep(within).await;
        loop {
            let present = self.present.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match present {
                Some((_, connection)) if connection.close_reason().is_none() => drop(connection.closed().await),
                _ => return,
            }
        }
    }
}

/// The things to be sent, opened.
fn items(paths: &[PathBuf]) -> Result<Vec<(Item, Carried)>, ReachError> {
    if paths.len() > MOST_ITEMS {
        return Err(ReachError::Many { found: paths.len(), most: MOST_ITEMS });
    }
    let mut items: Vec<(Item, Carried)> = Vec::new();
    for path in paths {
        let name = name(path)?;
        if items.iter().any(|(item, _)| item.name == name) {
            return Err(ReachError::SameName(name));
        }
        items.push((Item { name, directory: path.is_dir() }, Carried::open(path)?));
    }
    Ok(items)
}

/// The last name of a path, also of one that ends in `.` or `..`.
fn name(path: &Path) -> Result<String, ReachError> {
    let nameless = || ReachError::Nameless(path.to_owned());
    let named = if path.file_name().is_some() { path.to_owned() } else { path.canonicalize()? };
    named.file_name().and_then(|name| name.to_str()).map(str::to_owned).ok_or_else(nameless)
}

/// Whether another computer could use it.
fn is_told(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_loopback() || address.is_unspecified() || is_link_local)
}

/// Whether it is one of the whole Internet.
fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !address.is_private(),
        IpAddr::V6(address) => !address.is_unique_local(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
