//! Chunks are told, ranges are sent, and copies are made: of one version, and within bounds.

use super::*;
use crate::coding;
use crate::delta::{Chunk, Cuts, List, put_range};

const LIST: (&str, &str) = ("want-file-chunks", "4096");
const RANGES: (&str, &str) = ("content-type", "application/vnd.pcc.ranges");

impl Client {
    async fn send(
        &mut self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Answer, StreamError> {
        let mut request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut stream = self.requests.send_request(request.body(()).unwrap()).await?;
        // An answer may come before the end.
        let _ = stream.send_data(body.into()).await;
        let _ = stream.finish().await;
        timeout(PATIENCE, read(&mut stream)).await.expect("an answer")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_tells_all_chunks_and_the_digest() {
    let bench = Bench::new();
    let data = bench.write("file", 20_000_000);
    let mut client = bench.client().await;
    let head = client.ask("HEAD", "/file", &[]).await.unwrap();
    assert_eq!(head.headers["file-chunks"], "4096-65536");
    let answer = client.ask("GET", "/file", &[LIST]).await.unwrap();
    assert_eq!((answer.status, &answer.headers["body-length"]), (StatusCode::OK, &"20000000".parse().unwrap()));
    assert_eq!(answer.headers["etag"], head.headers["etag"]);
    assert_eq!(answer.trailers["repr-digest"], digest_field(&data));
    let (mut list, mut told, mut due) = (List::default(), Vec::new(), Vec::new());
    list.push(&answer.body);
    while let Some(chunk) = list.next().unwrap() {
        told.push(chunk);
    }
    Cuts::each(&data, 4096, data.len(), |range| due.push(Chunk::of(&data[range])));
    assert!(told == due && answer.body.len() < data.len() / 300, "{} bytes", answer.body.len());
    // Other lengths than there are, and other versions.
    for odd in ["0", "4095", "5000", "131072", "x"] {
        let answer = client.ask("GET", "/file", &[("want-file-chunks", odd)]).await.unwrap();
        assert!(answer.body == data, "{odd}");
    }
    let gone = client.ask("GET", "/file", &[LIST, ("if-match", "\"other\"")]).await.unwrap();
    assert_eq!(gone.status, StatusCode::PRECONDITION_FAILED);
    bench.write("small", 1000);
    let small = client.ask("GET", "/small", &[LIST]).await.unwrap();
    assert!(small.body.len() == 1000 && !small.headers.contains_key("file-chunks"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_come_in_their_order_and_none_behind_the_end() {
    let bench = Bench::new();
    let data = bench.write("file", 3_000_000);
    let mut client = bench.client().await;
    let (mut asked, mut due, mut last) = (Vec::new(), Vec::new(), 0);
    for range in [0..1, 1..200_000, 1_000_000..1_000_100, 2_999_999..3_000_000] {
        put_range(&mut asked, last, &range);
        last = range.end;
        due.extend_from_slice(&data[range.start as usize..range.end as usize]);
    }
    let answer = client.send("POST", "/file", &[RANGES], asked.clone()).await.unwrap();
    assert!(answer.body == due);
    let mut behind = asked.clone();
    put_range(&mut behind, 0, &(0..1));
    for (what, wrong) in
        [("behind the end", behind), ("no range", vec![0xff; 40]), ("half a range", asked[..1].to_vec())]
    {
        assert!(client.send("POST", "/file", &[RANGES], wrong).await.is_err(), "{what}");
    }
    for (path, fields, status) in [
        ("/file", &[][..], StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("/file", &[RANGES, ("if-match", "\"other\"")], StatusCode::PRECONDITION_FAILED),
        ("/", &[RANGES], StatusCode::NOT_FOUND),
        ("/nothing", &[RANGES], StatusCode::NOT_FOUND),
    ] {
        let answer = client.send("POST", path, fields, asked.clone()).await.unwrap();
        assert_eq!(answer.status, status, "{path} {fields:?}");
    }
    assert!(client.ask("GET", "/file", &[]).await.unwrap().body == data, "nothing of that harms others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_content_ends_ranges_and_another_name_does_not() {
    for is_rewritten in [false, true] {
        let bench = Bench::new();
        let data = bench.write("file", 3_000_000);
        let mut client = bench.client().await;
        let request = Request::builder().method("POST").uri("https://localhost/file").header(RANGES.0, RANGES.1);
        let mut stream = client.requests.send_request(request.body(()).unwrap()).await.unwrap();
        let mut asked = Vec::new();
        put_range(&mut asked, 0, &(0..1000));
        stream.send_data(asked.into()).await.unwrap();
        assert_eq!(timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap().status(), StatusCode::OK);
        let mut got = take(stream.recv_data().await.unwrap().unwrap()).to_vec();
        match is_rewritten {
            true => std::fs::write(bench.path("file"), vec![7; 3_000_000]).unwrap(),
            false => std::fs::hard_link(bench.path("file"), bench.path("link")).unwrap(),
        }
        let mut asked = Vec::new();
        put_range(&mut asked, 1000, &(2000..3000));
        stream.send_data(asked.into()).await.unwrap();
        stream.finish().await.unwrap();
        let rest = timeout(PATIENCE, async {
            while let Some(part) = stream.recv_data().await? {
                got.extend_from_slice(&take(part));
            }
            Ok::<_, StreamError>(())
        });
        let ended = rest.await.unwrap();
        assert_eq!(ended.is_err(), is_rewritten, "{ended:?}");
        assert!(is_rewritten || got == [&data[..1000], &data[2000..3000]].concat());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_of_the_named_version_and_within_the_length() {
    let bench = Bench::new();
    let data = bench.write("file", 1_000_000);
    let mut client = bench.client().await;
    let token = format!("Bearer {TOKEN}");
    let authorised = ("authorization", &*token);
    let head = client.ask("HEAD", "/file?upload=a", &[authorised, ("upload-length", "900")]).await.unwrap();
    assert_eq!((head.status, &head.headers["file-chunks"]), (StatusCode::NOT_FOUND, &"4096-65536".parse().unwrap()));
    let etag = head.headers["etag"].to_str().unwrap().to_owned();
    let new = [&data[500_000..999_000], b"new", &data[..1000]].concat();
    let body = [coding::copies(500_000..999_000), coding::plain(b"new"), coding::copies(0..1000)].concat();
    let fields = |etag, length| {
        [
            authorised,
            ("upload-offset", "0"),
            ("upload-complete", "?0"),
            ("upload-length", length),
            ("body-coding", "delta"),
            ("upload-base", etag),
        ]
    };
    let other = client.send("PATCH", "/file?upload=a", &fields("\"other\"", "500003"), body.clone()).await.unwrap();
    assert_eq!(other.status, StatusCode::PRECONDITION_FAILED);
    for (what, body) in [
        ("more than was announced", [body.clone(), coding::copies(0..1)].concat()),
        ("half a copy", body[..10].to_vec()),
        ("no frame", vec![0xff; 20]),
    ] {
        let answer = client.send("PATCH", "/file?upload=b", &fields(&etag, "500003"), body).await.unwrap();
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{what}");
        let gone = [
            authorised,
            ("upload-offset", "0"),
            ("upload-complete", "?0"),
            ("upload-keep", "?0"),
            ("upload-patience", "0"),
        ];
        let _ = client.send("PATCH", "/file?upload=b", &gone, Vec::new()).await;
        std::fs::read_dir(bench.path("")).unwrap().for_each(|entry| {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().contains("-b")
                || path.to_str().unwrap().contains("pcc-upload")
            {
                let _ = std::fs::remove_file(path);
            }
        });
    }
    let behind =
        client.send("PATCH", "/file?upload=c", &fields(&etag, "5000"), coding::copies(999_999..1_000_001)).await;
    assert_eq!(behind.unwrap().status, StatusCode::PRECONDITION_FAILED, "behind the end of the old file");
    let taken = client.send("PATCH", "/file?upload=a", &fields(&etag, "500003"), body).await.unwrap();
    assert_eq!((taken.status, &taken.headers["upload-offset"]), (StatusCode::NO_CONTENT, &"500003".parse().unwrap()));
    let digest = digest_field(&new);
    let last = [authorised, ("upload-offset", "500003"), ("upload-complete", "?1"), ("repr-digest", &*digest)];
    let done = client.send("PATCH", "/file?upload=a", &last, Vec::new()).await.unwrap();
    assert_eq!(done.status, StatusCode::OK);
    assert!(std::fs::read(bench.path("file")).unwrap() == new);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_request_does_not_wait_for_all_copies() {
    let bench = Bench::new();
    bench.write("file", 1_000_000);
    let mut client = bench.client().await;
    let token = format!("Bearer {TOKEN}");
    let authorised = ("authorization", &*token);
    let length = (200_000 * coding::MOST as u64).to_string(); // takes a minute and more to hash
    let told = ("upload-length", &*length);
    let head = client.ask("HEAD", "/file?upload=a", &[authorised, told]).await.unwrap();
    let mut request = Request::builder().method("PATCH").uri("https://localhost/file?upload=a");
    let etag = head.headers["etag"].to_str().unwrap();
    let sparse = ("upload-sparse", "?1"); // nobody looks whether there is room
    let about = [("upload-offset", "0"), ("upload-complete", "?0"), ("body-coding", "delta"), ("upload-base", etag)];
    for (name, value) in [authorised, told, sparse].into_iter().chain(about) {
        request = request.header(name, value);
    }
    let mut stream = client.requests.send_request(request.body(()).unwrap()).await.unwrap();
    let copies = coding::copies(0..coding::MOST as u64).repeat(200_000);
    let copying = tokio::spawn(async move { stream.send_data(copies.into()).await });
    // A request that comes before the upload has begun would take its place.
    while std::fs::read_dir(bench.path("")).unwrap().count() < 2 {
        tokio::time::sleep(core::time::Duration::from_millis(5)).await;
    }
    let head = client.ask("HEAD", "/file?upload=a", &[authorised, told]).await.unwrap();
    let there = head.headers["upload-offset"].to_str().unwrap().parse::<u64>().unwrap();
    assert!(there < 3_000 * coding::MOST as u64, "{there} bytes");
    copying.abort();
}
