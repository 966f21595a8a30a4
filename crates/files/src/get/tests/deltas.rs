//! Old files and servers that tell strange things of the new one, or nothing.

use super::*;
use crate::delta::{Chunk, Cuts, Deltas};
use crate::keeps::Keeps;
use crate::wire;

const SIZE: usize = 3 * MIB;

/// The list of chunks that a server would tell of this.
fn list(data: &[u8]) -> Vec<u8> {
    let mut list = Vec::new();
    Cuts::each(data, 4096, data.len(), |range| Chunk::of(&data[range]).put(&mut list));
    list
}

/// The page that answers the question for chunks of a file of [`SIZE`].
fn chunks(of: &Page, body: Vec<u8>) -> Page {
    let told = [("content-type", wire::CHUNKS_TYPE), ("file-chunks", "4096"), ("body-length", "3145728")];
    Page { fields: told.to_vec(), etag: of.etag.clone(), digest: None, ..Page::of(body) }
}

fn ranges(of: &Page, body: impl Into<bytes::Bytes>) -> Page {
    Page { etag: of.etag.clone(), ..Page::of(body) }
}

async fn fetched(server: &Fake, place: &Place) -> crate::moved::Moved {
    let url = server.url("/a");
    let source = server.source(&url).keeping(Keeps { deltas: Deltas::Always, ..Keeps::default() });
    let target = Target::File(place.file());
    let fetching = transfer(&source, &url, &target);
    tokio::time::timeout(Duration::from_secs(60), fetching).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_knows_no_chunks_sends_the_file() {
    let (server, place) = (Fake::new([("/a", Page::of(data(SIZE)))]), Place::new());
    std::fs::write(place.file(), &data(SIZE)[5..]).unwrap();
    let fetched = fetched(&server, &place).await;
    assert_eq!((fetched.resumed_from, fetched.verified), (0, true));
    assert!(place.read() == data(SIZE));
    assert_eq!(place.names(), ["file"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_server_tells_of_chunks_the_file_is_right() {
    let new = data(SIZE);
    let page = Page::of(new.clone());
    let old = [b"something else", &new[..]].concat();
    let right = list(&new);
    let lie = list(&old[..SIZE]);
    let small: Vec<u8> = (0..SIZE).flat_map(|_| [1, 0, 0, 0, 0, 0, 0, 0, 0]).collect();
    for (what, told, sent) in [
        ("nothing", Vec::new(), ""),
        ("no list", vec![0xff; 1000], ""),
        ("a list without its end", right[..right.len() - 9].to_vec(), ""),
        ("half a chunk", right[..right.len() - 1].to_vec(), ""),
        ("more than there is", [&right[..], &right].concat(), ""),
        ("crumbs", small, ""),
        ("another file", lie, ""),
        (
            "a gap of other bytes",
            right,
            "these bytes belong to nothing, and there are enough of them for the first chunk",
        ),
    ] {
        let (server, place) = (Fake::new([("/a", page.clone())]), Place::new());
        server.set("/a?chunks", chunks(&page, told));
        server.set("/a?ranges", ranges(&page, sent.repeat(1 << 16)));
        std::fs::write(place.file(), &old).unwrap();
        let fetched = fetched(&server, &place).await;
        assert!(fetched.verified && place.read() == new, "{what}");
        assert_eq!(place.names(), ["file"], "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_file_and_a_pipe_are_no_old_files() {
    let page = Page::of(data(SIZE));
    let (server, place) = (Fake::new([("/a", page.clone())]), Place::new());
    server.set("/a?chunks", chunks(&page, list(&data(SIZE))));
    std::fs::write(place.file(), &data(SIZE)[..1000]).unwrap();
    assert_eq!(fetched(&server, &place).await.resumed_from, 0);
    assert!(place.read() == data(SIZE));
}
