//! Requests that change files do so only where their conditions are met, and only as a whole.

use super::*;

/// 10 bytes.
const BEFORE: &[u8] = b"0123456789";
const LONG_AGO: &str = "Mon, 01 Jan 2001 00:00:00 GMT";

impl Client {
    /// Sends a body with the token.
    async fn put(&mut self, method: &str, path: &str, fields: &[(&str, &str)], body: &'static [u8]) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        request = request.header("authorization", format!("Bearer {TOKEN}"));
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut stream = self.requests.send_request(request.body(()).unwrap()).await.unwrap();
        // An answer may come before the end.
        if !body.is_empty() {
            let _ = stream.send_data(Bytes::from_static(body)).await;
        }
        let _ = stream.finish().await;
        timeout(PATIENCE, read(&mut stream)).await.expect("an answer").unwrap()
    }
}

impl Bench {
    fn with_deleting() -> Self {
        Self::with_options(Guests::new(256, 64), Privacy::Public, &Algorithm::default(), |options| {
            options.may_delete = true
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_changes_if_a_condition_is_not_met() {
    let bench = Bench::with_deleting();
    std::fs::write(bench.path("q"), BEFORE).unwrap();
    std::fs::create_dir(bench.path("dir")).unwrap();
    let mut client = bench.client().await;
    let last = [("upload-offset", "0"), ("upload-complete", "?1")];
    let (any, none, other, old) =
        (("if-match", "*"), ("if-none-match", "*"), ("if-match", "\"nope\""), ("if-unmodified-since", LONG_AGO));
    for (method, path, fields) in [
        ("PUT", "/q", &[none][..]),
        ("PUT", "/q", &[other]),
        ("PUT", "/q", &[old]),
        ("PUT", "/new", &[any]),
        ("PUT", "/dir/", &[none]),
        ("PUT", "/other/", &[any]),
        ("DELETE", "/q", &[other]),
        ("DELETE", "/q", &[old]),
        ("DELETE", "/dir/", &[other]),
        ("PATCH", "/q", &[other, ("file-mode", "600")]),
        ("PATCH", "/dir/", &[other, ("file-mode", "700")]),
        ("PATCH", "/q?upload=1", &[last[0], last[1], other]),
        ("PATCH", "/q?upload=1", &[last[0], last[1], none]),
        ("PATCH", "/q?upload=1", &[last[0], last[1], old]),
        ("PATCH", "/new?upload=1", &[last[0], last[1], any]),
    ] {
        let body =
            if path.ends_with('/') || fields.iter().any(|(name, _)| *name == "file-mode") { b"" } else { &b"567"[..] };
        let answer = client.put(method, path, fields, body).await;
        assert_eq!(answer.status, StatusCode::PRECONDITION_FAILED, "{method} {path} {fields:?}");
    }
    let mut names: Vec<_> = bench.path("").read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["dir", "q"]);
    assert_eq!(std::fs::read(bench.path("q")).unwrap(), BEFORE);
    assert_eq!(client.put("PUT", "/dir/", &[any], b"").await.status, StatusCode::NO_CONTENT);
    assert_eq!(client.put("PUT", "/other/", &[none], b"").await.status, StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_version_that_is_named_is_replaced() {
    let bench = Bench::with_deleting();
    let mut client = bench.client().await;
    assert_eq!(client.put("PUT", "/q", &[("if-none-match", "*")], BEFORE).await.status, StatusCode::CREATED);
    let mut tags = Vec::new();
    let last = [("upload-offset", "0"), ("upload-complete", "?1")];
    for (method, path, content) in [("PUT", "/q", "one"), ("PATCH", "/q?upload=2", "two")] {
        let head = client.ask("HEAD", "/q", &[]).await.unwrap();
        let etag = head.headers["etag"].to_str().unwrap().to_owned();
        // One of two lines is enough.
        let fields = [("if-match", "\"nope\""), ("if-match", etag.as_str()), last[0], last[1]];
        assert_eq!(client.put(method, path, &fields, content.as_bytes()).await.status, StatusCode::OK, "{method}");
        assert_eq!(std::fs::read(bench.path("q")).unwrap(), content.as_bytes());
        assert!(!tags.contains(&etag));
        tags.push(etag);
    }
    let gone = client.put("DELETE", "/q", &[("if-match", &tags[1])], b"").await;
    assert_eq!(gone.status, StatusCode::PRECONDITION_FAILED, "that was the version before");
    let head = client.ask("HEAD", "/q", &[]).await.unwrap();
    let etag = head.headers["etag"].to_str().unwrap();
    assert_eq!(client.put("DELETE", "/q", &[("if-match", etag)], b"").await.status, StatusCode::NO_CONTENT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_uploads_that_want_no_file_one_wins() {
    let bench = Bench::new();
    let client = bench.client().await;
    for round in 0..20 {
        let path = format!("/{round}");
        let mut streams = Vec::new();
        for body in [&b"one"[..], b"two"] {
            let request = Request::put(format!("https://localhost{path}")).header("if-none-match", "*");
            let request = request.header("authorization", format!("Bearer {TOKEN}")).body(()).unwrap();
            let mut stream = client.requests.clone().send_request(request).await.unwrap();
            stream.send_data(Bytes::from_static(body)).await.unwrap();
            streams.push((stream, body));
        }
        // Both have been let in by now, and end at once.
        let begun = || bench.path("").read_dir().unwrap().count() == round + 2;
        timeout(PATIENCE, async {
            while !begun() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await
        .expect("both begin");
        let ended = streams.into_iter().map(|(mut stream, body)| async move {
            stream.finish().await.unwrap();
            (timeout(PATIENCE, read(&mut stream)).await.expect("an answer").unwrap().status, body)
        });
        let mut ended = futures_util::future::join_all(ended).await;
        ended.sort_by_key(|(status, _)| *status);
        assert_eq!([ended[0].0, ended[1].0].map(|status| status.as_u16()), [201, 412]);
        assert_eq!(std::fs::read(bench.path(&path[1..])).unwrap(), ended[0].1, "what was confirmed is there");
        assert_eq!(bench.path("").read_dir().unwrap().count(), round + 1, "nothing is left of the other");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_not_the_file_is_refused() {
    let bench = Bench::new();
    std::fs::write(bench.path("q"), BEFORE).unwrap();
    let mut client = bench.client().await;
    let last = [("upload-offset", "0"), ("upload-complete", "?1")];
    for (path, method) in [("/q", "PUT"), ("/q?upload=1", "PATCH")] {
        let answer = client.put(method, path, &[last[0], last[1], ("content-range", "bytes 5-9/10")], b"56789").await;
        let said = String::from_utf8_lossy(&answer.body);
        assert!(answer.status == StatusCode::BAD_REQUEST && said.contains("?upload="), "{said}");
        for coding in ["gzip", "identity, br", "x"] {
            let answer = client.put(method, path, &[last[0], last[1], ("content-encoding", coding)], b"56789").await;
            assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{coding}");
            assert_eq!(answer.headers["accept-encoding"], "identity");
        }
    }
    assert_eq!(std::fs::read(bench.path("q")).unwrap(), BEFORE);
    let plain = client.put("PUT", "/q", &[("content-encoding", "Identity")], b"56789").await;
    assert_eq!((plain.status, std::fs::read(bench.path("q")).unwrap()), (StatusCode::OK, b"56789".to_vec()));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_pipe_nor_served_directory_is_changed() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let bench = Bench::new();
    let (fifo, rights) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, bench.path("pipe"), fifo, rights, 0).unwrap();
    let mode = || bench.path("").metadata().unwrap().permissions().mode();
    let before = mode();
    let mut client = bench.client().await;
    assert_eq!(client.put("PUT", "/pipe", &[], b"content").await.status, StatusCode::CONFLICT);
    assert!(bench.path("pipe").metadata().unwrap().file_type().is_fifo());
    for closed in ["000", "777"] {
        assert_eq!(client.put("PATCH", "/", &[("file-mode", closed)], b"").await.status, StatusCode::FORBIDDEN);
        assert_eq!(mode(), before);
    }
}
