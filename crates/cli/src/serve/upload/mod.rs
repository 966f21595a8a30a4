//! Takes uploads that survive interruptions; `docs/http.md` describes the protocol.

mod partial;
mod receive;
mod token;

pub(crate) use token::Token;

use super::answer::{self, Broken, Outcome, response};
use super::path::SafePath;
use super::server::Service;
use crate::wire;
use blake3::{Hash, Hasher};
use core::time::Duration;
use http::{Method, Request, StatusCode, header};
use partial::{FinishError, Partial};
use pcc_quic::http3::ResponseStream;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::watch;

/// Uploads under way at a time, unfinished ones that wait for their client included.
const MOST: usize = 1024;

/// How long an unfinished upload without a client counts.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Between looks for old unfinished uploads in a directory.
const SWEEP: Duration = Duration::from_secs(3600);

/// Directories whose last look is remembered.
const SWEPT: usize = 4096;

/// A wrong token is answered after this, so that guessing takes for ever.
const GUESSING: Duration = Duration::from_millis(300);

/// The uploads of a server.
#[derive(Debug)]
pub(crate) struct Uploads {
    token: Token,
    slots: Mutex<HashMap<(SafePath, String), Arc<Slot>>>,
    swept: Mutex<HashMap<PathBuf, Instant>>,
}

/// One upload.
#[derive(Debug)]
struct Slot {
    /// Held by the request that writes; the hash of what is there passes from one to the next.
    turn: tokio::sync::Mutex<Option<Hasher>>,
    /// Counts the requests: each ends the one before it, whose connection may be long dead without our knowing.
    latest: watch::Sender<u64>,
    used: Mutex<Instant>,
}

impl Uploads {
    /// Open to whoever bears the token.
    pub(crate) fn new(token: Token) -> Self {
        Self { token, slots: Mutex::default(), swept: Mutex::default() }
    }

    /// The slot of an upload; `None` if there are too many.
    fn slot(&self, path: &SafePath, id: &str) -> Option<Arc<Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (path.clone(), id.to_owned());
        if !slots.contains_key(&key) && slots.len() >= MOST {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.idle() < REMEMBERED);
            if slots.len() >= MOST {
                return None;
            }
        }
        let slot = slots.entry(key).or_insert_with(|| {
            let (turn, latest) = (tokio::sync::Mutex::new(None), watch::Sender::new(0));
            Arc::new(Slot { turn, latest, used: Mutex::new(Instant::now()) })
        });
        *slot.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Some(slot.clone())
    }

    fn forget(&self, path: &SafePath, id: &str) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(&(path.clone(), id.to_owned()));
    }

    /// Whether it is time to look for old unfinished uploads in that directory.
    fn is_sweep_due(&self, dir: PathBuf) -> bool {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.len() >= SWEPT {
            swept.clear();
        }
        let now = Instant::now();
        let last = swept.insert(dir, now);
        last.is_none_or(|last| now - last > SWEEP)
    }
}

impl Slot {
    /// Ends the requests for this upload that came earlier.
    fn supersede(&self) -> Superseded {
        let mut number = 0;
        self.latest.send_modify(|latest| {
            *latest += 1;
            number = *latest;
        });
        Superseded { number, latest: self.latest.subscribe() }
    }

    fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

/// Tells a request that a later one took over.
struct Superseded {
    number: u64,
    latest: watch::Receiver<u64>,
}

impl Superseded {
    async fn wait(&mut self) {
        if self.latest.wait_for(|latest| *latest != self.number).await.is_err() {
            core::future::pending::<()>().await; // the slot is gone, and with it whoever could take over
        }
    }
}

/// What a request says about its body.
struct Part {
    id: String,
    /// Whether the client can continue if it is interrupted.
    resumable: bool,
    offset: u64,
    complete: bool,
    length: Option<u64>,
    digest: Option<Hash>,
}

impl Part {
    fn of(request: &Request<()>) -> Option<Self> {
        let headers = request.headers();
        let digest = wire::digest_of(headers);
        if let Some(id) = id(request) {
            let complete = headers.get(wire::UPLOAD_COMPLETE).is_some_and(|value| value == "?1");
            let length = wire::number(headers, wire::UPLOAD_LENGTH);
            let offset = wire::number(headers, wire::UPLOAD_OFFSET)?;
            return Some(Self { id: id.to_owned(), resumable: true, offset, complete, length, digest });
        }
        // An ordinary PUT (RFC 9110 §9.3.4): all of the file, under an identity of its own.
        let (_, id) = Token::generate().ok()?;
        let length = wire::number(headers, header::CONTENT_LENGTH);
        Some(Self { id, resumable: false, offset: 0, complete: true, length, digest })
    }
}

/// The identity of an upload: `?upload=<letters, digits, - and _>`, chosen by the client.
pub(super) fn id(request: &Request<()>) -> Option<&str> {
    let id = request.uri().query()?.split('&').find_map(|pair| pair.strip_prefix("upload="))?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    ((1..=64).contains(&id.len()) && id.bytes().all(plain)).then_some(id)
}

/// Answers what concerns uploads.
pub(super) async fn answer(
    service: &Service,
    request: &Request<()>,
    path: SafePath,
    stream: &mut ResponseStream,
) -> Result<Outcome, Broken> {
    let Some(uploads) = &service.uploads else {
        let why = "this server takes no uploads; it would have to be started with --writable";
        return answer::refuse(stream, StatusCode::FORBIDDEN, why).await;
    };
    if !uploads.token.is_borne_by(request.headers()) {
        tokio::time::sleep(GUESSING).await;
        let builder = response(StatusCode::UNAUTHORIZED).header(header::WWW_AUTHENTICATE, "Bearer");
        return answer::refuse_with(stream, builder, "uploads need the token that the server was given").await;
    }
    if request.method() == Method::PUT && path.directory {
        return make_directory(service, path, stream).await;
    }
    if path.directory {
        return answer::refuse(stream, StatusCode::BAD_REQUEST, "a file's name is missing").await;
    }
    match (request.method(), id(request)) {
        (&Method::HEAD, Some(id)) => offset(service, uploads, &path, id, stream).await,
        (&Method::PATCH, Some(_)) | (&Method::PUT, None) => match Part::of(request) {
            Some(part) => receive::receive(service, uploads, path, part, stream).await,
            None => answer::refuse(stream, StatusCode::BAD_REQUEST, "Upload-Offset is missing").await,
        },
        _ => answer::refuse(stream, StatusCode::BAD_REQUEST, "PATCH goes with ?upload=, PUT without").await,
    }
}

async fn make_directory(service: &Service, path: SafePath, stream: &mut ResponseStream) -> Result<Outcome, Broken> {
    let root = service.root.clone();
    let made = blocking(move || root.dir().create_dir_all(path.to_path())).await;
    match made {
        Ok(()) => answer::send(stream, response(StatusCode::CREATED), bytes::Bytes::new(), false).await,
        Err(error) => refuse_disk(stream, &error).await,
    }
}

/// How much of an upload is there. Whoever asks is about to continue, so an earlier request of it ends.
async fn offset(
    service: &Service,
    uploads: &Uploads,
    path: &SafePath,
    id: &str,
    stream: &mut ResponseStream,
) -> Result<Outcome, Broken> {
    let Some(slot) = uploads.slot(path, id) else { return crowded(stream).await };
    slot.supersede();
    let _turn = slot.turn.lock().await;
    let (root, sought, sought_id) = (service.root.clone(), path.clone(), id.to_owned());
    match blocking(move || Partial::find(&root, &sought, &sought_id)).await {
        Ok(Some(partial)) => {
            let builder = offset_fields(StatusCode::OK, partial.size());
            answer::send(stream, builder, bytes::Bytes::new(), true).await
        }
        Ok(None) => {
            uploads.forget(path, id);
            answer::send(stream, response(StatusCode::NOT_FOUND), bytes::Bytes::new(), true).await
        }
        Err(error) => refuse_disk(stream, &error).await,
    }
}

fn offset_fields(status: StatusCode, offset: u64) -> http::response::Builder {
    response(status)
        .header(wire::UPLOAD_OFFSET, offset)
        .header(wire::UPLOAD_COMPLETE, "?0")
        .header(header::CACHE_CONTROL, "no-store")
}

async fn crowded(stream: &mut ResponseStream) -> Result<Outcome, Broken> {
    answer::refuse(stream, StatusCode::SERVICE_UNAVAILABLE, "too many unfinished uploads; try again in an hour").await
}

async fn refuse_disk(stream: &mut ResponseStream, error: &io::Error) -> Result<Outcome, Broken> {
    let (status, why) = answer::status_of(error);
    tracing::info!(%error, %status, "an upload failed");
    answer::refuse(stream, status, why).await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await?
}
