use super::*;
use crate::relay::{Limits, RelayServer};
use core::num::NonZeroU32;
use iroh::{EndpointAddr, SecretKey};
use pcc_net::tls::Identity;
use std::sync::mpsc as told;
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(30);

/// A relay on loopback, at which both ends of a test meet.
pub(crate) async fn relay() -> (RelayServer, Relay) {
    let limits = Limits { clients: 64, rate: NonZeroU32::MAX };
    let server = RelayServer::start("127.0.0.1:0".parse().unwrap(), &Identity::generate().unwrap(), limits).await;
    let server = server.unwrap();
    let at = format!("https://{}", server.tcp).parse().unwrap();
    (server, at)
}

struct Bench {
    _relay: RelayServer,
    _files: tempfile::TempDir,
    code: Code,
    events: told::Receiver<Event>,
    done: JoinHandle<Result<(), ReachError>>,
}

/// An offer of one file.
async fn bench() -> Bench {
    let (server, relay) = relay().await;
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("file");
    std::fs::write(&path, "content").unwrap();
    let options = Options { paths: vec![path], relay: Some(relay), algorithm: Algorithm::default() };
    let (offer, happenings) = Offer::open(options).await.unwrap();
    let (code, (tell, events)) = (offer.code().clone(), told::channel());
    let serve = async move { offer.serve(happenings, PATIENCE, |event| drop(tell.send(event.clone()))).await };
    Bench { _relay: server, _files: files, code, events, done: tokio::spawn(serve) }
}

impl Bench {
    fn sender(&self) -> EndpointAddr {
        EndpointAddr::from_parts(self.code.sender().public(), self.code.places().iter().map(Into::into))
    }

    /// Connects as whoever has the code.
    async fn receiver(&self) -> (Endpoint, Connection) {
        let endpoint = endpoint::open(&self.code, Side::Receiver, &Algorithm::default()).await.unwrap();
        let connection = endpoint.connect(self.sender(), greeting::ALPN).await.unwrap();
        (endpoint, connection)
    }
}

/// Why the other side closed it.
async fn refusal(connection: &Connection) -> VarInt {
    match timeout(PATIENCE, connection.closed()).await.unwrap() {
        ConnectionError::ApplicationClosed(close) => close.error_code,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_refused_and_too_many_void_the_code() {
    let bench = bench().await;
    let key = SecretKey::from_bytes(&[7; 32]);
    let relay = bench.code.places()[0].to_string().parse().unwrap();
    let stranger = endpoint::bind(key, Some(&relay), &Algorithm::default()).await.unwrap();
    for left in (0..STRANGERS).rev() {
        let connection = stranger.connect(bench.sender(), greeting::ALPN).await.unwrap();
        assert_eq!(refusal(&connection).await, STRANGER.0);
        assert_eq!(bench.events.recv_timeout(PATIENCE), Ok(Event::Stranger { left }));
    }
    let _last = stranger.connect(bench.sender(), greeting::ALPN).await;
    let ended = timeout(PATIENCE, bench.done).await.unwrap().unwrap();
    assert!(matches!(ended, Err(ReachError::Guessed(tried)) if tried == STRANGERS + 1), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_that_makes_no_sense_is_refused() {
    let bench = bench().await;
    let garbage = [b"\x00\xff garbage".to_vec(), b"{\"run\":1,\"item\":1}".to_vec(), vec![b' '; 200 << 10]];
    for words in garbage {
        let (endpoint, connection) = bench.receiver().await;
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        let _ = send.write_all(&words).await; // which may be stopped
        let _ = send.finish();
        assert_eq!(refusal(&connection).await, UNHEARD.0, "{} bytes", words.len());
        endpoint.close().await;
    }
    assert!(!bench.done.is_finished(), "the offer stands");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_computer_uses_a_code_at_a_time() {
    let bench = bench().await;
    let (endpoint, first) = bench.receiver().await;
    greeting::ask(&first, &Wish { run: 1, item: Some(0) }).await.unwrap();
    let second = endpoint.connect(bench.sender(), greeting::ALPN).await.unwrap();
    assert!(greeting::ask(&second, &Wish { run: 2, item: Some(0) }).await.is_err());
    assert_eq!(refusal(&second).await, IN_USE.0);
    let again = endpoint.connect(bench.sender(), greeting::ALPN).await.unwrap();
    greeting::ask(&again, &Wish { run: 1, item: Some(0) }).await.expect("the first one may come again");
    assert_eq!(refusal(&first).await, IN_USE.0);
    endpoint.close().await;
}

#[test]
fn what_cannot_be_sent_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("a/x")).unwrap();
    std::fs::write(dir.path().join("x"), "").unwrap();
    let error = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|path| dir.path().join(path)).collect();
        items(&paths).map(|_| ()).unwrap_err()
    };
    assert!(matches!(error(&["x", "a/x"]), ReachError::SameName(name) if name == "x"));
    assert!(matches!(error(&["absent"]), ReachError::Open(_)));
    assert!(matches!(error(&["x"; MOST_ITEMS + 1]), ReachError::Many { .. }));
    let named = items(&[dir.path().join("a/x/..")]).unwrap();
    assert_eq!(named[0].0, Item { name: "a".to_owned(), directory: true });
}
