//! Acts that clients are refused, and the cost of their tries.

use super::*;

/// Paths that lead nowhere, upwards, outside, or to what is hidden.
const HOSTILE: &[&str] = &[
    "/../secret",
    "/%2e%2e/secret",
    "/%2E%2e/secret",
    "/..%2fsecret",
    "/%2e%2e%2fsecret",
    "/..%5csecret",
    "/....//secret",
    "//secret",
    "///../secret",
    "/./../secret",
    "/inside/../../secret",
    "/inside/%2e%2e/%2e%2e/secret",
    "/%252e%252e/secret",
    "/%c0%ae%c0%ae/secret",
    "/%u002e%u002e/secret",
    "/out/secret",
    "/out",
    "/up/secret",
    "/secret%00",
    "/file%00.txt",
    "/file/",
    "/file/x",
    "/%ff",
    "/%",
    "/%4",
    "/.pcc-upload-x",
    "/.PCC-UPLOAD-x",
    "/inside/.pcc-upload-x",
    "/proc/self/environ",
    "/dev/null",
    "/missing",
    "/?upload=../x",
    "/new?upload=%2e%2e",
    "/%0d%0aset-cookie:x",
    "/%e2%80%ae",
    "/;/../secret",
    "/~root",
    "/$HOME",
];

const METHODS: &[&str] = &["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "TRACE", "MKCOL", "X"];

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_path_and_no_method_leads_outside_or_writes() {
    let bench = Bench::new();
    bench.write("file", 10);
    std::fs::create_dir(bench.path("inside")).unwrap();
    std::os::unix::fs::symlink(bench.dir.path().join("secret"), bench.path("out")).unwrap();
    std::os::unix::fs::symlink("..", bench.path("up")).unwrap();
    std::fs::write(bench.path(".pcc-upload-x"), "hidden").unwrap();
    let names = |dir: &Path| {
        let mut names: Vec<_> = dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = [names(bench.dir.path()), names(&bench.path(""))];
    let mut client = bench.client().await;
    let long = format!("/{}", "a/".repeat(4000));
    let mut waiting = tokio::task::JoinSet::new();
    for path in HOSTILE.iter().copied().chain([&*long]) {
        for method in METHODS {
            // Without the token, which is refused late; so the requests run side by side.
            let uri = format!("https://localhost{path}");
            let Ok(request) = Request::builder().method(*method).uri(uri).body(()) else { continue };
            let mut requests = client.requests.clone();
            let what = format!("{method} {path}");
            waiting.spawn(async move {
                let mut stream = requests.send_request(request).await.unwrap();
                let _ = stream.finish().await;
                (what, timeout(PATIENCE, read(&mut stream)).await.expect("an answer"))
            });
        }
    }
    while let Some(done) = waiting.join_next().await {
        let (what, answer) = done.unwrap();
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        // `/..` and its like may be shortened by the client's own library.
        assert!(!answer.body.windows(6).any(|text| text == b"secret" || text == b"hidden"), "{what}: {answer:?}");
        let is_refused = answer.status.is_client_error() || answer.status.is_redirection();
        assert!(is_refused || what.ends_with(" /") || what.contains("/?"), "{what}: {answer:?}");
    }
    assert_eq!(before, [names(bench.dir.path()), names(&bench.path(""))], "nothing was written");
    assert_eq!(client.ask("GET", "/file", &[]).await.unwrap().body.len(), 10, "and the server serves");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_the_token_allows_an_upload() {
    let bench = Bench::new();
    let client = bench.client().await;
    let mut waiting = tokio::task::JoinSet::new();
    let basic = format!("Basic {TOKEN}");
    let (longer, shorter, quoted) =
        (format!("Bearer {TOKEN}x"), format!("Bearer {}", &TOKEN[1..]), format!("Bearer \"{TOKEN}\""));
    let (twice, upper) = (format!("Bearer {TOKEN} {TOKEN}"), format!("Bearer {}", TOKEN.to_uppercase()));
    for wrong in ["", "Bearer", "Bearer ", TOKEN, &basic, &longer, &shorter, &quoted, &twice, &upper, "Bearer \u{1}"] {
        for (method, path) in [("PUT", "/new"), ("PATCH", "/new?upload=1"), ("HEAD", "/new?upload=1"), ("PUT", "/dir/")]
        {
            let uri = format!("https://localhost{path}");
            let request = Request::builder().method(method).uri(uri).header("authorization", wrong).body(());
            let Ok(request) = request else { continue };
            let (mut requests, what) = (client.requests.clone(), format!("{method} {wrong:?}"));
            waiting.spawn(async move {
                let mut stream = requests.send_request(request).await.unwrap();
                let _ = stream.finish().await;
                (what, timeout(PATIENCE, read(&mut stream)).await.expect("an answer").unwrap().status)
            });
        }
    }
    while let Some(done) = waiting.join_next().await {
        let (what, status) = done.unwrap();
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{what}");
    }
    assert_eq!(bench.path("").read_dir().unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_upload_that_cannot_get_its_name_nothing_is_left() {
    let bench = Bench::new();
    let mut client = bench.client().await;
    let request = Request::put("https://localhost/name").header("authorization", format!("Bearer {TOKEN}"));
    let mut stream = client.requests.send_request(request.body(()).unwrap()).await.unwrap();
    stream.send_data(Bytes::from_static(b"hello")).await.unwrap();
    let begun = timeout(PATIENCE, async {
        while bench.path("").read_dir().unwrap().count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    begun.await.expect("the upload begins");
    std::fs::create_dir(bench.path("name")).unwrap();
    stream.finish().await.unwrap();
    let answer = timeout(PATIENCE, read(&mut stream)).await.expect("an answer").unwrap();
    assert!(!answer.status.is_success(), "{answer:?}");
    let names = bench.path("").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["name"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_range_is_asked_for_the_answer_is_right() {
    let bench = Bench::new();
    let data = bench.write("file", 1000);
    let mut client = bench.client().await;
    for (range, expected) in [
        ("bytes=0-0", Some(0..1)),
        ("bytes=999-", Some(999..1000)),
        ("bytes=-1", Some(999..1000)),
        ("bytes=-18446744073709551616", Some(0..1000)),
        ("bytes=0-18446744073709551615", Some(0..1000)),
        ("bytes=18446744073709551615-", None),
        ("bytes=1000-", None),
        ("bytes=-0", None),
    ] {
        let answer = client.ask("GET", "/file", &[("range", range)]).await.unwrap();
        match expected {
            Some(part) => {
                assert_eq!(answer.status, StatusCode::PARTIAL_CONTENT, "{range}");
                assert_eq!(answer.body, &data[part.clone()], "{range}");
                let says = format!("bytes {}-{}/1000", part.start, part.end - 1);
                assert_eq!(answer.headers["content-range"], *says);
            }
            None => assert_eq!(answer.status, StatusCode::RANGE_NOT_SATISFIABLE, "{range}"),
        }
    }
    for ignored in
        ["bytes=5-1", "bytes=--1", "bytes=a-b", "bytes=0-1,5-6", "bytes 0-1", "bytes=", "", "0-1", "bytes=- 1 -"]
    {
        let answer = client.ask("GET", "/file", &[("range", ignored)]).await.unwrap();
        assert!(answer.status == StatusCode::OK && answer.body == data, "{ignored}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_end_at_the_most_their_own_connection() {
    let bench = Bench::new();
    bench.write("file", 10);
    let headers = |block: &[u8]| [&[0x01, block.len() as u8], block].concat();
    for (what, bytes) in [
        ("nothing", vec![]),
        ("half a frame", vec![0x01]),
        ("a frame without its content", vec![0x01, 0x20, 0x00]),
        ("data first", vec![0x00, 0x01, 0xff]),
        ("settings on a request", vec![0x04, 0x00]),
        ("a frame of HTTP/2", vec![0x02, 0x00]),
        ("an unknown frame only", vec![0x21, 0x03, 1, 2, 3]),
        ("no fields", headers(&[0x00, 0x00])),
        ("a reference to a table that is not there", headers(&[0x05, 0x00, 0x80])),
        ("an index beyond the static table", headers(&[0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])),
        ("a string longer than the frame", headers(&[0x00, 0x00, 0x51, 0x7f, 0x20])),
        ("a method without a path", headers(&[0x00, 0x00, 0xd1])),
        ("noise", (0..200u8).map(|byte| byte.wrapping_mul(37)).collect()),
    ] {
        let dialed = bench.enter(Windows::default()).await.expect("a place");
        let (mut send, mut recv) = dialed.connection.open_bi().await.unwrap();
        let _ = send.write_all(&bytes).await;
        let _ = send.finish();
        // Whatever it says: a reset, an answer, the end of the connection.
        let answered = timeout(PATIENCE, recv.read_to_end(10_000)).await;
        assert!(answered.is_ok(), "{what} has no end");
    }
    assert_eq!(bench.client().await.ask("GET", "/file", &[]).await.unwrap().body.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_taken_back_at_once_cost_nothing_that_lasts() {
    let bench = Bench::new();
    bench.write("file", 1_000_000);
    let mut client = bench.client().await;
    for round in 0..1000 {
        let begun = timeout(PATIENCE, client.begin("GET", "/file", &[])).await.expect("a stream");
        let mut stream = begun.unwrap_or_else(|error| panic!("{round}: {error}"));
        stream.stop_sending(Code::H3_REQUEST_CANCELLED);
    }
    assert_eq!(client.ask("GET", "/file", &[]).await.unwrap().body.len(), 1_000_000);
}

/// A HEADERS frame of these fields, each a literal without Huffman's code (RFC 9204 §4.5.6).
fn headers_frame(fields: &[(&str, &str)]) -> Vec<u8> {
    let number = |first: u8, most: usize, length: usize| match length.checked_sub(most) {
        None => vec![first | length as u8],
        Some(rest) => vec![first | most as u8, u8::try_from(rest).unwrap()],
    };
    let literal = |(name, value): &(&str, &str)| {
        [number(0x20, 7, name.len()), name.as_bytes().to_vec(), number(0, 127, value.len()), value.as_bytes().to_vec()]
            .concat()
    };
    let block: Vec<u8> = [0, 0].into_iter().chain(fields.iter().flat_map(literal)).collect();
    [&[0x01, 0x40 | (block.len() >> 8) as u8, block.len() as u8], &block[..]].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_are_reset_and_told() {
    const GET: [(&str, &str); 4] = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/file")];
    let mut bench = Bench::new();
    bench.write("file", 10);
    let dialed = bench.enter(Windows::default()).await.expect("a place");
    let with = |more: &[(&'static str, &'static str)]| [&GET[..], more].concat();
    for (fields, is_right) in [
        (with(&[("te", "trailers")]), true),
        (with(&[(":path", "/other")]), false),
        (vec![GET[0], GET[1], GET[2], ("accept", "x"), GET[3]], false),
        (with(&[("connection", "close")]), false),
        (with(&[("transfer-encoding", "chunked")]), false),
        (with(&[("te", "gzip")]), false),
        (GET[..3].to_vec(), false),
        (vec![(":method", "CONNECT"), GET[1], (":authority", "a:22"), GET[3]], false),
    ] {
        let (mut send, mut recv) = dialed.connection.open_bi().await.unwrap();
        send.write_all(&headers_frame(&fields)).await.unwrap();
        let _ = send.finish();
        let answer = timeout(PATIENCE, recv.read_to_end(10_000)).await.expect("an end");
        match answer {
            Ok(bytes) => assert!(is_right && !bytes.is_empty(), "{fields:?}"),
            Err(noq::ReadToEndError::Read(noq::ReadError::Reset(code))) => {
                assert!(!is_right && code.into_inner() == Code::H3_MESSAGE_ERROR.value(), "{fields:?}: {code}");
            }
            Err(error) => panic!("{fields:?}: {error}"),
        }
        let line = bench.logged().await;
        let (status, method) = if is_right { (200, "GET") } else { (0, "-") };
        assert_eq!((&line["status"], &line["method"]), (&status.into(), &method.into()), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_has_the_length_that_it_announces() {
    let bench = Bench::new();
    bench.write("file", 10);
    let mut client = bench.client().await;
    for method in ["GET", "HEAD", "DELETE"] {
        let answer = client.ask(method, "/file", &[("content-length", "5")]).await.unwrap();
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{method}");
    }
    assert_eq!(client.ask("GET", "/file", &[("content-length", "0")]).await.unwrap().status, StatusCode::OK);
    for (pieces, status) in [(&[2, 3][..], 201), (&[], 400), (&[4], 400), (&[4, 2], 400)] {
        let request = Request::put("https://localhost/new").header("authorization", format!("Bearer {TOKEN}"));
        let request = request.header("content-length", "5").body(()).unwrap();
        let mut stream = client.requests.send_request(request).await.unwrap();
        for bytes in pieces {
            let _ = stream.send_data(Bytes::from(vec![b'x'; *bytes])).await;
        }
        let _ = stream.finish().await;
        let answer = timeout(PATIENCE, read(&mut stream)).await.expect("an answer").unwrap();
        assert_eq!(answer.status.as_u16(), status, "{pieces:?}");
    }
    assert_eq!(std::fs::read(bench.path("new")).unwrap(), b"xxxxx");
    assert_eq!(bench.path("").read_dir().unwrap().count(), 2, "nothing is left of the others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_are_too_long_are_said_to_be() {
    let bench = Bench::new();
    let mut client = bench.client().await;
    let bearer = format!("Bearer {TOKEN}");
    for (method, path) in
        [("PUT", format!("/{}", "a".repeat(256))), ("GET", "/aaaa".repeat(1000)), ("GET", "/%41".repeat(1025 * 2))]
    {
        let answer = client.ask(method, &path, &[("authorization", &bearer)]).await.unwrap();
        assert_eq!(answer.status, StatusCode::URI_TOO_LONG, "{method}");
    }
}
