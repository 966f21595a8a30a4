//! Uploads to our server, whose answers get lost, and to servers that do what `pcc serve` never would.

#[cfg(unix)]
mod private;

use super::content::Content;
use super::directory::{below, directory, name_of};
use super::look::look;
use super::once::Once;
use super::target::Target;
use super::upload::{One, make_directory, upload};
use crate::client::source::Source;
use crate::client::watch::{Missing, Watch};
use crate::delta::Deltas;
use crate::failure::{Failure, failure_of};
use crate::keeps::Keeps;
use crate::moved::Moved;
use crate::serve::{Guests, Log, Metrics, Options, Privacy, Server, Token, start};
use crate::wire;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use http::{Method, Request, Response, StatusCode};
use noq::{Endpoint, EndpointConfig, ServerConfig};
use pcc_net::tls::{self, Identity, Trust};
use pcc_net::url::Url;
use pcc_quic::http3::ResponseStream;
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, http3, socket};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

/// Longer than any test takes on a busy machine; what never ends is found out by it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Counts what moved, and notes what did not.
#[derive(Default)]
struct Count(AtomicU64, Mutex<Vec<PathBuf>>);

impl Watch for Count {
    fn moved(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn missing(&self, missing: Missing<'_>) {
        self.1.lock().unwrap().push(missing.file.to_owned());
    }
}

fn source(url: &Url, give_up: Duration, count: &Arc<Count>) -> Source {
    watched(url, give_up, count.clone())
}

fn watched(url: &Url, give_up: Duration, watch: Arc<dyn Watch>) -> Source {
    let transport = Arc::new(transport::config(&Algorithm::default(), &Windows::default()));
    let dialer = crate::client::dialer::dialer(Trust::Pinned(url.pin.unwrap()), transport);
    Source::new(dialer, url.peer.clone(), give_up, watch)
}

fn target(url: &Url) -> Target {
    Target { url: url.clone(), token: "token".to_owned(), is_new: false, backup: None }
}

/// `pcc serve --writable` of that directory, and the URL of `file` in it.
fn served(dir: &Path) -> (Server, Url) {
    let options = Options {
        root: dir.to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        identity: Identity::generate().unwrap(),
        token: Some(Token::new("token")),
        may_delete: true,
        same_user: true,
        tunnels: None,
        transport: Arc::new(|_, windows| transport::config(&Algorithm::default(), windows)),
        guests: Guests::new(16, 16),
        privacy: Privacy::Public,
        log: Log::default(),
        metrics: Metrics::default(),
        http: None,
    };
    let server = start(options).unwrap();
    let url = format!("https://{}/file#{}", server.address, server.fingerprint).parse().unwrap();
    (server, url)
}

fn data(size: usize) -> Vec<u8> {
    (0..size as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_last_answer_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (served_dir, sent) = (dir.path().join("served"), data(3_000_000));
    std::fs::create_dir(&served_dir).unwrap();
    std::fs::write(dir.path().join("source"), &sent).unwrap();
    let (_server, url) = served(&served_dir);
    for content in [
        Content::file(&dir.path().join("source"), &url).unwrap(),
        Content::Once(Once::reading(&sent.clone().leak()[..]).into()),
    ] {
        let _ = std::fs::remove_file(served_dir.join("file"));
        let (count, target) = (Arc::new(Count::default()), target(&url));
        let source = source(&url, PATIENCE, &count);
        let mut one = One::new(&source, content, &target);
        let session = source.session().await.unwrap();
        let first = one.attempt(&session).await.unwrap();
        // As if the answer had not come: the client asks again.
        let again = one.attempt(&session).await.unwrap();
        assert_eq!((first, first), (again, (sent.len() as u64, blake3::hash(&sent))));
        assert_eq!(count.0.load(Ordering::Relaxed), sent.len() as u64, "nothing was sent twice");
        assert!(std::fs::read(served_dir.join("file")).unwrap() == sent);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_there_already_is_not_sent() {
    let dir = tempfile::tempdir().unwrap();
    let (served_dir, sent) = (dir.path().join("served"), data(1_000_000));
    std::fs::create_dir(&served_dir).unwrap();
    std::fs::write(dir.path().join("source"), &sent).unwrap();
    let (_server, url) = served(&served_dir);
    let mut other = sent.clone();
    other[500_000] ^= 1;
    for (there, moved) in [(&sent, 0), (&other, 1_000_000)] {
        std::fs::write(served_dir.join("file"), there).unwrap();
        let count = Arc::new(Count::default());
        let content = Content::file(&dir.path().join("source"), &url).unwrap();
        let source = source(&url, PATIENCE, &count).keeping(Keeps { deltas: Deltas::Never, ..Keeps::default() });
        let uploaded = upload(&source, content, &target(&url)).await.unwrap();
        assert_eq!((uploaded.bytes, uploaded.bytes - uploaded.resumed_from), (1_000_000, moved));
        assert_eq!(count.0.load(Ordering::Relaxed), moved);
        assert!(std::fs::read(served_dir.join("file")).unwrap() == sent);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_kernel_arrive_whole_both_ways() {
    let (dir, content) = (tempfile::tempdir().unwrap(), std::fs::read("/proc/version").unwrap());
    let (_server, url) = served(dir.path());
    let source_of = |url: &Url| source(url, PATIENCE, &Arc::default());
    let uploaded = super::file(&source_of(&url), Path::new("/proc/version"), &url, "token").await.unwrap();
    assert_eq!((uploaded.bytes, uploaded.digest), (content.len() as u64, blake3::hash(&content)));
    assert!(std::fs::read(dir.path().join("file")).unwrap() == content);
    let (_server, url) = served(Path::new("/proc"));
    let (url, back) = (url.with_path("/version".parse().unwrap()), dir.path().join("back"));
    let fetched = crate::get::file(&source_of(&url), &url, &crate::get::Target::File(back.clone())).await.unwrap();
    assert!(fetched.verified && std::fs::read(&back).unwrap() == content);
    let unreadable = url.with_path("/self/mem".parse().unwrap());
    let error = crate::get::file(&source_of(&url), &unreadable, &crate::get::Target::File(back)).await.unwrap_err();
    assert!(error.to_string().contains("403"), "{error}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attributes_go_with_the_file_and_later_without_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (served_dir, path) = (dir.path().join("served"), dir.path().join("source"));
    std::fs::create_dir(&served_dir).unwrap();
    std::fs::write(&path, data(1_000_000)).unwrap();
    let (_server, url) = served(&served_dir);
    let other = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    for (mode, modified, kept, moved) in [
        (0o600, other, true, 1_000_000),
        (0o4751, other + Duration::from_nanos(1), true, 0),
        (0o444, other - Duration::from_secs(1 << 31), true, 0),
        (0o640, other, false, 0),
    ] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let count = Arc::new(Count::default());
        let source = source(&url, PATIENCE, &count).keeping(if kept {
            crate::Keeps::archive()
        } else {
            crate::Keeps::default()
        });
        let content = Content::file(&path, &url).unwrap();
        upload(&source, content, &target(&url)).await.unwrap();
        assert_eq!(count.0.load(Ordering::Relaxed), moved, "{mode:o}");
        let there = served_dir.join("file").metadata().unwrap();
        let same = there.modified().unwrap() == modified && there.permissions().mode() & 0o7777 == mode & 0o777;
        assert_eq!(same, kept, "{mode:o}: {there:?}");
        let found = look(&source, &Content::file(&path, &url).unwrap(), &target(&url)).await.unwrap();
        assert!(matches!(found, crate::Look::There(_)), "{mode:o}: a dry run has nothing to do");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_of_a_file_that_changes_under_way() {
    let dir = tempfile::tempdir().unwrap();
    let (served_dir, path) = (dir.path().join("served"), dir.path().join("source"));
    std::fs::create_dir(&served_dir).unwrap();
    let (_server, url) = served(&served_dir);
    // The one is found out at its end, the other while its body is sent.
    for (what, now) in [("rewritten", data(3_000_000)), ("truncated", data(2_000_000))] {
        std::fs::write(&path, data(3_000_000)).unwrap();
        let content = Content::file(&path, &url).unwrap();
        std::fs::write(&path, now).unwrap();
        let later = SystemTime::now() + Duration::from_secs(10); // in whatever steps the clock goes
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        let source = source(&url, PATIENCE, &Arc::default());
        let error = upload(&source, content, &target(&url)).await.expect_err(what);
        assert!(error.to_string().contains("changed under way"), "{what}: {error:#}");
        let asked = Instant::now();
        while std::fs::read_dir(&served_dir).unwrap().count() > 0 {
            assert!(asked.elapsed() < PATIENCE, "{what}: it stays, and nobody can go on with it");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_of_a_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (served_dir, tree) = (dir.path().join("served"), dir.path().join("tree"));
    std::fs::create_dir_all(served_dir.join("file/taken")).unwrap();
    std::fs::create_dir(&tree).unwrap();
    for name in ["good", "taken"] {
        std::fs::write(tree.join(name), name).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("good", tree.join("link")).unwrap();
    let (_server, url) = served(&served_dir);
    let count = Arc::new(Count::default());
    let source = source(&url, PATIENCE, &count);
    let sent = directory(&source, &tree, &url, "token", &crate::Choice::default(), &|_| ()).await.unwrap();
    let missing = if cfg!(unix) { &["link", "taken"][..] } else { &["taken"] };
    assert_eq!((sent.files, sent.failed, sent.damaged), (1, missing.len() as u64, false));
    assert_eq!(*count.1.lock().unwrap(), missing.iter().map(|name| tree.join(name)).collect::<Vec<_>>());
    assert_eq!(std::fs::read(served_dir.join("file/good")).unwrap(), b"good");
}

/// A tree here and another there, in which files, directories and links have each other's names.
#[cfg(unix)]
fn crossed(dir: &Path) -> (PathBuf, PathBuf) {
    let (here, there) = (dir.join("here"), dir.join("served/file"));
    for (root, files) in [
        (&here, &["good", "sub/a", "sub/deep/b", "out/c", "was", "z"][..]),
        (&there, &["sub", "was/old", "was/in/older", "surplus"]),
    ] {
        for file in files {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), file).unwrap();
        }
    }
    std::fs::create_dir(dir.join("elsewhere")).unwrap();
    std::fs::write(dir.join("elsewhere/precious"), "precious").unwrap();
    std::os::unix::fs::symlink("../../elsewhere", there.join("out")).unwrap();
    (here, there)
}

/// The names below `dir`, with the contents of files.
#[cfg(unix)]
fn tree_of(dir: &Path) -> std::collections::BTreeMap<PathBuf, Option<Vec<u8>>> {
    let (mut found, mut open) = (std::collections::BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in next.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let is_directory = path.symlink_metadata().unwrap().is_dir();
            open.extend(Some(path.clone()).filter(|_| is_directory));
            found.insert(path.strip_prefix(dir).unwrap().to_owned(), std::fs::read(&path).ok());
        }
    }
    found
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_the_name_of_another_kind_ends_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (here, there) = crossed(dir.path());
    let (_server, url) = served(&dir.path().join("served"));
    let count = Arc::new(Count::default());
    let source = source(&url, PATIENCE, &count);
    let put = async |choice: &crate::Choice| directory(&source, &here, &url, "token", choice, &|_| ()).await.unwrap();
    let sent = put(&crate::Choice::default()).await;
    assert_eq!((sent.files, sent.failed), (2, 4), "two below sub, one below out, and was");
    let mut missing = std::mem::take(&mut *count.1.lock().unwrap());
    missing.sort();
    assert_eq!(missing, ["out", "sub", "was"].map(|name| here.join(name)));
    let before = tree_of(&there);
    let delete = crate::Choice { delete: true, ..Default::default() };
    let spared = put(&crate::Choice { max_delete: Some(5), ..delete.clone() }).await;
    assert_eq!((spared.spared, spared.failed, spared.deleted), (7, 4, 0));
    let dry = put(&crate::Choice { dry_run: true, ..delete.clone() }).await;
    assert_eq!((dry.due, dry.failed, dry.deleted), (4, 0, 7));
    assert!(tree_of(&there) == before, "nothing was deleted yet");
    let replaced = put(&delete).await;
    assert_eq!((replaced.files, replaced.failed, replaced.deleted), (6, 0, 7));
    assert_eq!(tree_of(&there), tree_of(&here));
    assert!(dir.path().join("elsewhere/precious").exists(), "a link goes, and nothing behind it");
    let again = put(&delete).await;
    assert_eq!((again.files, again.failed, again.deleted), (6, 0, 0));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_replaces_what_is_in_its_way_with_delete_only() {
    let dir = tempfile::tempdir().unwrap();
    let (there, here) = crossed(dir.path());
    let (_server, url) = served(&there);
    let (url, count) = (url.with_path("/".parse().unwrap()), Arc::new(Count::default()));
    let source = source(&url, PATIENCE, &count);
    let get =
        async |choice: &crate::Choice| crate::get::directory(&source, &url, &here, choice, &|_| ()).await.unwrap();
    let got = get(&crate::Choice::default()).await;
    assert_eq!((got.files, got.failed), (2, 4), "two in sub, one in out, and was");
    let mut missing = std::mem::take(&mut *count.1.lock().unwrap());
    missing.sort();
    assert_eq!(missing, ["out", "sub", "was"].map(|name| here.join(name)));
    let before = tree_of(&here);
    let delete = crate::Choice { delete: true, ..Default::default() };
    let spared = get(&crate::Choice { max_delete: Some(5), ..delete.clone() }).await;
    assert_eq!((spared.spared, spared.failed, spared.deleted), (7, 4, 0));
    let dry = get(&crate::Choice { dry_run: true, ..delete.clone() }).await;
    assert_eq!((dry.due, dry.failed, dry.deleted), (4, 0, 7));
    assert!(tree_of(&here) == before, "nothing was deleted yet");
    let replaced = get(&delete).await;
    assert_eq!((replaced.files, replaced.failed, replaced.deleted), (6, 0, 7));
    assert_eq!(tree_of(&here), tree_of(&there));
    assert!(dir.path().join("elsewhere/precious").exists(), "a link goes, and nothing behind it");
    let again = get(&delete).await;
    assert_eq!((again.files, again.failed, again.deleted), (6, 0, 0));

    std::fs::remove_file(here.join("was")).unwrap();
    for name in ["was/gone", "was/kept.bak"] {
        std::fs::create_dir_all(here.join("was")).unwrap();
        std::fs::write(here.join(name), "x").unwrap();
    }
    let excluded = crate::Excluded::new(["*.bak"]).unwrap();
    let kept = get(&crate::Choice { excluded, ..delete }).await;
    assert_eq!((kept.files, kept.failed, kept.deleted), (5, 1, 1));
    assert!(here.join("was/kept.bak").exists(), "what is excluded stays");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_in_the_place_of_a_directory_is_named_as_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let (served_dir, path) = (dir.path().join("served"), dir.path().join("source"));
    std::fs::create_dir(&served_dir).unwrap();
    for path in [&path, &served_dir.join("file")] {
        std::fs::write(path, "x").unwrap();
    }
    let (_server, url) = served(&served_dir);
    let source = source(&url, PATIENCE, &Arc::default());
    let below = below(&url, "new").unwrap();
    let content = Content::file(&path, &below).unwrap();
    for error in [
        make_directory(&source, &target(&below), true).await.unwrap_err(),
        upload(&source, content, &target(&below)).await.expect_err("there is no room for it"),
    ] {
        let error = format!("{error:#}");
        assert!(error.contains("/file/new") && error.contains("a file is where a directory is needed"), "{error}");
    }
}

/// The server's faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    SilentHead,
    SilentPatch,
    SilentEnd,
    /// Takes no byte of the body.
    Deaf,
    /// Says each time that the upload goes on elsewhere.
    AlwaysElsewhere,
    /// Takes all, and has nothing.
    Loses,
    /// Takes all, and does not say how much it has, like any server that knows nothing of resumable uploads.
    SaysNothing,
    EndlessReason,
    DrippingReason,
    OnlyInforms,
}

fn moody(mood: Mood) -> (Endpoint, Url) {
    let identity = Identity::generate().unwrap();
    let tls = tls::server(&identity, &[http3::ALPN]).unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(Arc::new(transport::config(&Algorithm::default(), &Windows::default())));
    let bound = socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let runtime = PacedRuntime::new().unwrap();
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), bound.socket, runtime).unwrap();
    let url = format!("https://{}/file#{}", endpoint.local_addr().unwrap(), identity.fingerprint());
    let accepting = endpoint.clone();
    tokio::spawn(async move {
        while let Some(incoming) = accepting.accept().await {
            tokio::spawn(async move {
                let mut server = http3::server(incoming.await?).await?;
                while let Some(resolver) = server.accept().await? {
                    tokio::spawn(async move {
                        let (request, stream) = resolver.resolve_request().await?;
                        answer(mood, &request, stream).await
                    });
                }
                anyhow::Ok(())
            });
        }
    });
    (endpoint, url.parse().unwrap())
}

async fn answer(mood: Mood, request: &Request<()>, mut stream: ResponseStream) -> anyhow::Result<()> {
    let last = request.headers().get(wire::UPLOAD_COMPLETE).is_some_and(|value| value == "?1");
    let patch = request.method() == Method::PATCH;
    let silent = match mood {
        Mood::SilentHead => !patch,
        Mood::SilentPatch => patch && !last,
        Mood::SilentEnd => patch && last,
        Mood::Deaf => patch,
        _ => false,
    };
    let mut arrived = wire::number(request.headers(), wire::UPLOAD_OFFSET).unwrap_or(0);
    if patch && mood != Mood::Deaf {
        while let Some(piece) = stream.recv_data().await? {
            arrived += bytes::Buf::remaining(&piece) as u64;
        }
    }
    if silent {
        core::future::pending::<()>().await;
    }
    let (status, offset) = match mood {
        _ if !patch => (StatusCode::NOT_FOUND, None),
        Mood::AlwaysElsewhere => (StatusCode::CONFLICT, Some(0)),
        Mood::Loses => (StatusCode::NO_CONTENT, Some(0)),
        Mood::SaysNothing => (StatusCode::CREATED, None),
        Mood::EndlessReason | Mood::DrippingReason => (StatusCode::FORBIDDEN, None),
        Mood::OnlyInforms => (StatusCode::PROCESSING, None),
        _ => (StatusCode::NO_CONTENT, Some(arrived)),
    };
    let mut response = Response::builder().status(status);
    if let Some(offset) = offset {
        response = response.header(wire::UPLOAD_OFFSET, offset);
    }
    stream.send_response(response.body(())?).await?;
    match mood {
        Mood::EndlessReason | Mood::DrippingReason if patch => loop {
            let dripping = mood == Mood::DrippingReason;
            stream.send_data(if dripping { "x".into() } else { "no ".repeat(1000).into() }).await?;
            tokio::time::sleep(Duration::from_millis(if dripping { 100 } else { 0 })).await;
        },
        Mood::OnlyInforms if patch => loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.send_response(Response::builder().status(status).body(())?).await?;
        },
        _ => {}
    }
    Ok(stream.finish().await?)
}

async fn put_to(mood: Mood, give_up: Duration) -> anyhow::Result<Moved> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, data(2_000_000)).unwrap();
    let (_endpoint, url) = moody(mood);
    let source = source(&url, give_up, &Arc::default());
    let put = upload(&source, Content::file(&path, &url).unwrap(), &target(&url)).await;
    source.close().await;
    put
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_longer_for_a_server_than_the_user_wants_to() {
    use Mood::{
        AlwaysElsewhere, Deaf, DrippingReason, EndlessReason, Loses, OnlyInforms, SaysNothing, SilentEnd, SilentHead,
        SilentPatch,
    };
    let moods = [
        (SilentHead, Failure::Unreachable),
        (SilentPatch, Failure::Unreachable),
        (SilentEnd, Failure::Unreachable),
        (Deaf, Failure::Unreachable),
        (AlwaysElsewhere, Failure::Error),
        (Loses, Failure::Error),
        (SaysNothing, Failure::Error),
        (OnlyInforms, Failure::Unreachable),
        (EndlessReason, Failure::Error),
        (DrippingReason, Failure::Error),
    ];
    let puts = moods.map(|(mood, failure)| {
        // A client that was refused need not wait at all.
        let refuses = failure == Failure::Error && mood != AlwaysElsewhere;
        let give_up = if refuses { PATIENCE } else { Duration::from_millis(1500) };
        let put = tokio::spawn(async move { tokio::time::timeout(PATIENCE, put_to(mood, give_up)).await });
        (mood, failure, put)
    });
    for (mood, failure, put) in puts {
        let error = match put.await.unwrap() {
            Ok(Err(error)) => error,
            Ok(Ok(_)) => panic!("{mood:?}: the upload succeeded"),
            Err(_) => panic!("{mood:?}: the upload does not end"),
        };
        assert_eq!(failure_of(&error), failure, "{mood:?}: {error:#}");
        let text = format!("{error:#}");
        assert!(!text.contains("None") && !text.contains("Some(") && !text.contains(": ;"), "{mood:?}: {text}");
        let told = match mood {
            AlwaysElsewhere => "it gives no reason",
            Loses => "2000000 bytes were sent, and the server has 0",
            SaysNothing => "does not say how many it has",
            _ => "",
        };
        assert!(text.contains(told), "{mood:?}: {text}");
    }
}

#[test]
fn a_name_is_encoded_for_the_url_it_goes_into() {
    let url: Url = "https://host/dir/".parse().unwrap();
    assert_eq!(below(&url, "a b?#%ä").unwrap().short(), "https://host:443/dir/a%20b%3F%23%25%C3%A4");
    assert_eq!(name_of(Path::new("/tmp/x/")).unwrap(), "x");
    assert!(name_of(Path::new("/")).is_err());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_too_old_is_told_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    std::os::unix::fs::symlink("file", dir.path().join("link")).unwrap();
    let (_endpoint, url) = moody(Mood::Deaf); // it knows no OPTIONS, and whatever is sent would wait for ever
    let backup = Some(crate::Backup::new("~").unwrap());
    for (choice, keeps, named) in [
        (crate::Choice { backup, ..Default::default() }, crate::Keeps::default(), "too old for --backup"),
        (crate::Choice::default(), crate::Keeps { links: true, ..Default::default() }, "too old for links"),
    ] {
        let source = source(&url, PATIENCE, &Arc::default()).keeping(keeps);
        let refused = directory(&source, dir.path(), &url, "token", &choice, &|_| ()).await.unwrap_err();
        assert!(
            format!("{refused:#}").contains(named) && format!("{refused:#}").contains("renew it there"),
            "{refused:#}"
        );
        source.close().await;
    }
}
