use super::*;
use crate::offer::tests::relay;
use crate::place::Place;
use crate::words::{Answer, MOST_ITEMS};

/// The outcome with a sender that this test plays, which says these words.
async fn answered(words: Vec<u8>) -> Result<Arc<Fetch>, ReachError> {
    let (_server, relay) = relay().await;
    let code = Code::new(vec![Place::Relay(relay)]).unwrap();
    let sender = endpoint::open(&code, Side::Sender, &Algorithm::default()).await.unwrap();
    sender.online().await;
    let play = sender.clone();
    let playing = tokio::spawn(async move {
        while let Some(incoming) = play.accept().await {
            let Ok(connection) = incoming.await else { continue };
            let Ok((mut send, _)) = greeting::wish(&connection).await else { continue };
            let _ = send.write_all(&words).await;
            let _ = send.finish();
            connection.closed().await;
        }
    });
    let fetch = Fetch::open(code, &Algorithm::default(), Arc::new(|_| ())).await;
    if let Ok(fetch) = &fetch {
        fetch.close().await;
    }
    playing.abort();
    sender.close().await;
    fetch
}

fn items(names: &[&str]) -> Vec<u8> {
    let item = |name: &&str| Item { name: (*name).to_owned(), directory: false };
    serde_json::to_vec(&Answer { items: names.iter().map(item).collect() }).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_talks_nonsense_is_told_of() {
    let many = vec!["x"; MOST_ITEMS + 1];
    for words in [b"garbage".to_vec(), Vec::new(), items(&[]), items(&many), vec![b'['; 1 << 20]] {
        let size = words.len();
        let error = answered(words).await.map(|_| ()).unwrap_err();
        assert!(matches!(error, ReachError::Greeting(_)), "{size} bytes: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leaves_the_directory_is_refused() {
    let wrong = ["..", ".", "", "../x", "/etc/passwd", "a/b", ".ssh", "a\0b"];
    let fetch = answered(items(&[&["good name"], &wrong[..]].concat())).await.unwrap();
    let urls: Vec<_> = fetch.parts().iter().map(Part::url).collect();
    assert!(urls[0].is_ok());
    for (name, url) in wrong.iter().zip(&urls[1..]) {
        assert!(url.is_err(), "{name:?}");
    }
}
