//! Takes uploads that survive interruptions; `docs/http.md` describes the protocol.
//!
//! | file | what it answers |
//! |---|---|
//! | `part` | what a request says about the bytes it brings |
//! | `slots` | who writes to which upload |
//! | `receive` | how a body becomes a part of a file |
//! | `partial` | what there is of a file before it is complete |
//! | `condition` | what a request demands of what it changes |
//! | `unfinished` | how many there may be |
//! | `refused` | why one is refused |
//! | `transient_upload` | what becomes of an upload that nobody comes back for |
//! | `link` | how links are made, and further names of files |
//! | `delete` | what a client may delete, and how |
//! | `finished` | which uploads are done |
//! | `uploads` | what a server knows of all of them |

mod condition;
mod delete;
mod finished;
mod link;
mod part;
mod partial;
mod receive;
mod refused;
mod slots;
mod transient_upload;
mod unfinished;
pub(super) mod uploads;

pub(super) use part::id;
pub(crate) use uploads::Uploads;

use super::answer::{self, Outcome, response};
use super::broken::Broken;
use super::path::SafePath;
use super::request::Arrived;
use super::root::{Found, Opened};
use super::service::Asker;
use super::service::Service;
use super::stream::Stream;
use crate::attributes::Attributes;
use crate::delta::{LEAST, OFFERED_CHUNKS};
use crate::permissions::Permissions;
use crate::version::Version;
use crate::wire;
use blake3::Hash;
use condition::Condition;
use http::response::Builder;
use http::{HeaderMap, Method, Request, StatusCode, header};
use part::{Malformed, Part};
use partial::Partial;
use refused::Refused;
use slots::{Claim, NoClaim};
use std::io;
use std::time::Instant;

/// To a request that another one came after.
const SUPERSEDED: &str = "another upload of the same file took over: this one can end";

/// Answers what concerns uploads.
pub(super) async fn answer(
    service: &Service,
    asker: &Asker,
    request: &Request<()>,
    path: SafePath,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let Some(uploads) = &service.uploads else {
        let why = "this server takes no uploads; it would have to be started with --writable";
        return answer::refuse(stream, StatusCode::FORBIDDEN, why).await;
    };
    if !uploads.token.opens(request.headers()).await {
        let builder = response(StatusCode::UNAUTHORIZED).header(header::WWW_AUTHENTICATE, "Bearer");
        return answer::refuse_with(stream, builder, "uploads need the token that the server was given").await;
    }
    asker.may_upload(&service.unwritten);
    change(service, asker, uploads, request, path, stream).await
}

/// Does what somebody asks for who may upload.
async fn change(
    service: &Service,
    asker: &Asker,
    uploads: &Uploads,
    request: &Request<()>,
    path: SafePath,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let condition = Condition::of(request.headers(), &path, service, uploads);
    if request.method() == Method::OPTIONS {
        let builder = response(StatusCode::NO_CONTENT).header(wire::FILE_FEATURES, wire::FEATURES);
        return answer::send(stream, builder, bytes::Bytes::new(), true).await;
    }
    if request.method() == Method::DELETE {
        return delete::delete(service, uploads, path, condition, stream).await;
    }
    if let Err(refused) = part::is_plain(request.headers()) {
        return refuse(stream, refused).await;
    }
    if request.method() == Method::PUT && path.directory {
        return make_directory(service, request, path, condition, stream).await;
    }
    if request.method() == Method::PATCH && id(request).is_none() {
        return describe(service, request, path, condition, stream).await;
    }
    if path.directory {
        return answer::refuse(stream, StatusCode::BAD_REQUEST, "a file's name is missing").await;
    }
    match (request.method(), id(request)) {
        (&Method::HEAD, Some(id)) => offset(service, asker, uploads, request, (&path, id), stream).await,
        (&Method::PATCH, Some(_)) | (&Method::PUT, None) => {
            take(service, uploads, request, path, condition, stream).await
        }
        _ => {
            answer::refuse(
                stream,
                StatusCode::BAD_REQUEST,
                "?upload= goes with HEAD and PATCH, and names an upload by 1 to 64 letters, digits, - and _",
            )
            .await
        }
    }
}

/// Takes what a request brings of a file.
async fn take(
    service: &Service,
    uploads: &Uploads,
    request: &Request<()>,
    path: SafePath,
    condition: Condition,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let part = match Part::of(request) {
        Ok(part) => part,
        Err(malformed) => return refuse_malformed(stream, &malformed).await,
    };
    // A request that would be refused in the end takes nothing from an upload that is under way.
    if let Err(error) = condition.look().await {
        return refuse_disk(stream, &error).await;
    }
    match claim(uploads, request, &path, &part.id) {
        Ok(claim) => receive::receive(service, uploads, path.clone(), part, condition, claim, stream).await,
        Err(why) => refuse_claim(stream, why).await,
    }
}

fn claim<'a>(uploads: &'a Uploads, request: &Request<()>, path: &SafePath, id: &str) -> Result<Claim<'a>, NoClaim> {
    let arrived = request.extensions().get::<Arrived>().map_or_else(Instant::now, |arrived| arrived.0);
    uploads.slots.claim(path, id, arrived)
}

/// 201 says that the directory is new, so that its client need not ask what is there of each file. A new one has the permissions that the
/// request names, less those of the umask: nobody else may look in before its client has put in everything.
async fn make_directory(
    service: &Service,
    request: &Request<()>,
    path: SafePath,
    condition: Condition,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let new = match part::attributes(request) {
        Ok(attributes) => Permissions::named(attributes.mode),
        Err(malformed) => return refuse_malformed(stream, &malformed).await,
    };
    let (root, is_no_link) = (service.root.clone(), wire::wants_links(request.headers()));
    let make = move || {
        if is_no_link && root.link_at(&path).is_some() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let path = path.to_path();
        if let Some(above) = path.parent() {
            root.dir().create_dir_all(above)?;
        }
        match new.make_dir_within(root.dir(), &path) {
            Ok(()) => Ok(StatusCode::CREATED),
            // Whatever is there is a directory, or the error says what it is.
            Err(_) => root.dir().create_dir_all(&path).map(|()| StatusCode::NO_CONTENT),
        }
    };
    let made = blocking(move || condition.change(make));
    match made.await {
        Ok(status) => answer::send(stream, response(status), bytes::Bytes::new(), false).await,
        Err(error) => refuse_disk(stream, &error).await,
    }
}

/// Gives the file or the directory that is there other attributes: its content need not be sent for that.
async fn describe(
    service: &Service,
    request: &Request<()>,
    path: SafePath,
    condition: Condition,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    if path.name().is_none() {
        return refuse(stream, Refused::Root).await;
    }
    let attributes = match part::attributes(request) {
        Ok(attributes) => attributes,
        Err(malformed) => return refuse_malformed(stream, &malformed).await,
    };
    match link::Wanted::of(request.headers(), service) {
        Some(Ok(wanted)) => return make_link(service, request, path, (wanted, attributes), condition, stream).await,
        Some(Err(why)) => return answer::refuse(stream, StatusCode::BAD_REQUEST, why).await,
        None => {}
    }
    if attributes.is_empty() {
        let why = "PATCH goes with ?upload=, or has file-mode or file-modified, file-link or file-same-as";
        return answer::refuse(stream, StatusCode::BAD_REQUEST, why).await;
    }
    let root = service.root.clone();
    let give = move || match root.find(&path)? {
        Found::File(opened) if !path.directory => {
            attributes.give(&opened.file.try_clone()?.into_std(), &path.to_path())
        }
        // A handle that only names a directory cannot change it.
        Found::Directory(dir) if path.directory => attributes.give(&dir.open(".")?.into_std(), &path.to_path()),
        Found::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        Found::File(_) | Found::Unmeasured(_) | Found::Other => Err(io::ErrorKind::NotADirectory.into()),
    };
    let described = blocking(move || condition.change(give));
    match described.await {
        Ok(()) => answer::send(stream, response(StatusCode::NO_CONTENT), bytes::Bytes::new(), true).await,
        Err(error) => refuse_disk(stream, &error).await,
    }
}

async fn make_link(
    service: &Service,
    request: &Request<()>,
    path: SafePath,
    (wanted, attributes): (link::Wanted, Attributes),
    condition: Condition,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    match part::backup(request.headers()) {
        Ok(backup) => link::make(service, path, link::Wish { wanted, attributes, backup }, condition, stream).await,
        Err(malformed) => refuse_malformed(stream, &malformed).await,
    }
}

/// How much of an upload is there. A client that asks is about to continue, so an earlier request of it ends.
async fn offset(
    service: &Service,
    asker: &Asker,
    uploads: &Uploads,
    request: &Request<()>,
    (path, id): (&SafePath, &str),
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let length = match part::length(request) {
        Ok(length) => length,
        Err(malformed) => return refuse_malformed(stream, &malformed).await,
    };
    let claim = match claim(uploads, request, path, id) {
        Ok(claim) => claim,
        Err(why) => return refuse_claim(stream, why).await,
    };
    let asked = request.headers();
    let (root, sought, sought_id) = (service.root.clone(), path.clone(), id.to_owned());
    let found = {
        let _turn = claim.turn().await;
        blocking(move || Partial::find(&root, &sought, &sought_id)).await
    };
    drop(claim);
    let base = base(service, path, asked).await;
    let with_base = |builder: Builder| match &base {
        Some(tag) => builder.header(header::ETAG, tag).header(wire::FILE_CHUNKS, OFFERED_CHUNKS),
        None => builder,
    };
    let there = match found {
        Ok(Some(partial)) => Ok(Some(with_base(offset_fields(StatusCode::OK, partial.size())))),
        Ok(None) if wire::wants_links(asked) && is_link(service, path).await => Ok(None),
        Ok(None) => whole(service, asker, uploads, path, id, length).await.map(|whole| {
            let (opened, digest) = whole?;
            let fields = whole_fields(StatusCode::OK, opened.size, &digest);
            Some(with_base(answer::with_attributes(fields, asked, |wanted| opened.attributes(wanted))))
        }),
        Err(error) => Err(error),
    };
    match there {
        Ok(Some(builder)) => answer::send(stream, builder, bytes::Bytes::new(), true).await,
        Ok(None) => answer::send(stream, with_base(response(StatusCode::NOT_FOUND)), bytes::Bytes::new(), true).await,
        Err(error) => refuse_disk(stream, &error).await,
    }
}

/// The tag of the file that is there, if an upload may copy from it.
async fn base(service: &Service, path: &SafePath, asked: &HeaderMap) -> Option<String> {
    let (root, path, as_link) = (service.root.clone(), path.clone(), wire::wants_links(asked));
    let found = blocking(move || {
        if as_link && root.link_at(&path).is_some() {
            return Ok(Found::Other);
        }
        root.find(&path)
    });
    match found.await {
        Ok(Found::File(opened)) if opened.size >= LEAST => opened.version.map(|version| version.etag()),
        _ => None,
    }
}

/// Whether a link has the name.
async fn is_link(service: &Service, path: &SafePath) -> bool {
    let (root, path) = (service.root.clone(), path.clone());
    blocking(move || Ok(root.link_at(&path).is_some())).await.unwrap_or(false)
}

/// The file that is there, and its digest, if its size is the one that was asked about.
///
/// Errors: of the file system; `IsADirectory` if a directory has the name.
async fn whole(
    service: &Service,
    asker: &Asker,
    uploads: &Uploads,
    path: &SafePath,
    id: &str,
    length: Option<u64>,
) -> io::Result<Option<(Opened, Hash)>> {
    let (root, sought) = (service.root.clone(), path.clone());
    let opened = match blocking(move || root.find(&sought)).await {
        Ok(Found::File(opened)) => opened,
        Ok(Found::Directory(_)) => return Err(io::ErrorKind::IsADirectory.into()),
        // A file that cannot be read may still be replaced.
        Ok(Found::Unmeasured(_) | Found::Other) | Err(_) => return Ok(None),
    };
    if length != Some(opened.size) {
        return Ok(None);
    }
    let now = Version::of(&opened.file)?;
    if let Some(digest) = uploads.finished.digest(path, id, &now) {
        return Ok(Some((opened, digest)));
    }
    let digest = tokio::select! {
        digest = service.digests.of(&opened, asker.network()) => digest?,
        () = asker.gone() => None, // nobody waits for it any more
    };
    Ok(digest.map(|digest| (opened, digest)))
}

fn offset_fields(status: StatusCode, offset: u64) -> http::response::Builder {
    response(status)
        .header(wire::UPLOAD_OFFSET, offset)
        .header(wire::UPLOAD_COMPLETE, "?0")
        .header(header::CACHE_CONTROL, "no-store")
}

fn whole_fields(status: StatusCode, size: u64, digest: &Hash) -> http::response::Builder {
    response(status)
        .header(wire::UPLOAD_OFFSET, size)
        .header(wire::UPLOAD_COMPLETE, "?1")
        .header(wire::REPR_DIGEST, wire::digest_field(digest))
        .header(header::CACHE_CONTROL, "no-store")
}

async fn refuse_claim(stream: &mut Stream, why: NoClaim) -> Result<Outcome, Broken> {
    match why {
        NoClaim::Crowded => answer::refuse_for_now(stream, "too many uploads at a time").await,
        NoClaim::Superseded => answer::refuse(stream, StatusCode::CONFLICT, SUPERSEDED).await,
    }
}

async fn refuse_malformed(stream: &mut Stream, malformed: &Malformed) -> Result<Outcome, Broken> {
    answer::refuse(stream, StatusCode::BAD_REQUEST, &malformed.to_string()).await
}

async fn refuse(stream: &mut Stream, why: Refused) -> Result<Outcome, Broken> {
    let builder = response(why.status());
    // RFC 9110 §15.5.16.
    let builder = if why == Refused::Encoded { builder.header(header::ACCEPT_ENCODING, "identity") } else { builder };
    answer::refuse_with(stream, builder, &why.to_string()).await
}

async fn refuse_disk(stream: &mut Stream, error: &io::Error) -> Result<Outcome, Broken> {
    if let Some(why) = Refused::within(error) {
        return refuse(stream, why).await;
    }
    let (status, why) = match error.kind() {
        io::ErrorKind::IsADirectory => {
            (StatusCode::CONFLICT, "a directory of that name exists: end the path with / to upload into it")
        }
        io::ErrorKind::NotADirectory => (StatusCode::CONFLICT, "a file is where a directory is needed"),
        _ => answer::status_of(error),
    };
    tracing::info!(%error, %status, "an upload failed");
    answer::refuse(stream, status, why).await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await?
}
