//! Two ends on this computer.

use core::num::NonZeroU32;
use core::time::Duration;
use pcc_files::get::{self, Target};
use pcc_files::{Choice, Silent, Source, Tally};
use pcc_net::tls::Identity;
use pcc_quic::Algorithm;
use pcc_reach::{Code, Event, Fetch, Limits, Offer, Options, ReachError, Relay, RelayServer};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

/// How long a test waits for what should happen: far longer than it takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A relay on loopback.
pub(crate) async fn relay() -> (RelayServer, Relay) {
    relay_for(64).await
}

/// The same, with room for so many computers.
pub(crate) async fn relay_for(clients: u32) -> (RelayServer, Relay) {
    let identity = Identity::generate().unwrap();
    let limits = Limits { clients, rate: NonZeroU32::new(100_000_000).unwrap() };
    let server = RelayServer::start("127.0.0.1:0".parse().unwrap(), &identity, limits).await.unwrap();
    let relay = format!("https://{}", server.tcp).parse().unwrap();
    (server, relay)
}

/// A sender that runs.
pub(crate) struct Sending {
    pub(crate) code: Code,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) done: JoinHandle<Result<(), ReachError>>,
}

/// Starts one.
pub(crate) async fn send(paths: &[PathBuf], relay: &Relay, within: Duration) -> Sending {
    let options = Options { paths: paths.to_vec(), relay: Some(relay.clone()), algorithm: Algorithm::default() };
    let (offer, happenings) = Offer::open(options).await.unwrap();
    let (code, events) = (offer.code().clone(), Arc::<Mutex<Vec<Event>>>::default());
    let told = events.clone();
    let serve = async move { offer.serve(happenings, within, |event| told.lock().unwrap().push(event.clone())).await };
    Sending { code, events, done: tokio::spawn(serve) }
}

/// Fetches all that a code is for into `dir`, and says so.
pub(crate) async fn fetch(code: &Code, dir: &Path) -> Result<Vec<Tally>, String> {
    let fetch =
        Fetch::open(code.clone(), &Algorithm::default(), Arc::new(|_| ())).await.map_err(|error| error.to_string())?;
    let outcome = fetch_parts(&fetch, dir).await;
    if outcome.is_ok() {
        fetch.finish().await.map_err(|error| error.to_string())?;
    }
    fetch.close().await;
    outcome
}

async fn fetch_parts(fetch: &Arc<Fetch>, dir: &Path) -> Result<Vec<Tally>, String> {
    let mut tallies = Vec::new();
    for part in fetch.parts() {
        let url = part.url().map_err(|error| error.to_string())?;
        let (item, peer) = (part.item().unwrap().clone(), part.peer());
        let source = Source::over(Arc::new(part), peer, PATIENCE, Arc::new(Silent));
        let to = dir.join(&item.name);
        if item.directory {
            let tally = get::directory(&source, &url, &to, &Choice::default(), &|_| ()).await;
            tallies.push(tally.map_err(|error| error.to_string())?);
        } else {
            get::file(&source, &url, &Target::File(to)).await.map_err(|error| error.to_string())?;
        }
    }
    Ok(tallies)
}
