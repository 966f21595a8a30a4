//! Files and lists of them go out whole, and their ends are told.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_digest_of_what_was_sent_follows_the_file() {
    let bench = Bench::new();
    let data = bench.write("file", 3_000_000);
    let mut client = bench.client().await;
    let plain = client.ask("GET", "/file", &[]).await.unwrap();
    assert!(plain.body == data && plain.trailers.is_empty());
    std::fs::write(bench.path("file"), &data).unwrap(); // another version, whose digest is not known yet
    let verified = client.ask("GET", "/file", &WANTS_DIGEST).await.unwrap();
    assert!(verified.body == data && !verified.headers.contains_key("repr-digest"));
    assert_eq!(verified.trailers["repr-digest"], digest_field(&data));
    assert_eq!(verified.trailers.len(), 1, "one digest in one form: {:?}", verified.trailers);
    // By now it is known, and stands in front.
    let part = client.ask("GET", "/file", &[("range", "bytes=5-9"), WANTS_DIGEST[0]]).await.unwrap();
    assert_eq!((part.status, &*part.body), (StatusCode::PARTIAL_CONTENT, &data[5..10]));
    assert_eq!(part.headers["repr-digest"], digest_field(&data));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_tells_its_client_what_the_path_was() {
    // For a dozen looks at the path, one each 50 ms.
    let bench = Bench::limited(Rate::from_mbit(80.0));
    bench.write("file", 6_000_000);
    let mut client = bench.client().await;
    let asks = [("want-path-figures", "?1")];
    let early = client.ask("OPTIONS", "/", &asks).await.unwrap();
    assert!(early.status == StatusCode::NO_CONTENT && !early.headers.contains_key("path-figures"), "{early:?}");
    client.ask("GET", "/file", &[]).await.unwrap();
    let later = client.ask("OPTIONS", "/nowhere", &asks).await.unwrap();
    let figures = crate::figures::of(&later.headers).expect("figures, though it has no token");
    assert!(figures.loss < 0.5 && figures.rtt < PATIENCE, "{figures:?}");
    assert_eq!(client.ask("OPTIONS", "/", &[]).await.unwrap().status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_content_ends_a_download_another_name_does_not() {
    let bench = Bench::new();
    let data = bench.write("file", 12_000_000);
    for (what, is_whole) in [("linked", true), ("longer", true), ("rewritten", false)] {
        let mut client = bench.slow_client().await;
        let mut stream = client.begin("GET", "/file", &WANTS_DIGEST).await.unwrap();
        let begun = timeout(PATIENCE, async {
            stream.recv_response().await?;
            stream.recv_data().await.map(|part| take(part.unwrap()))
        });
        let mut body = begun.await.unwrap().unwrap().to_vec();
        match what {
            "linked" => std::fs::hard_link(bench.path("file"), bench.path("link")).unwrap(),
            _ => {
                use std::io::Seek;
                let mut file = std::fs::File::options().write(true).open(bench.path("file")).unwrap();
                let end = if what == "longer" { io::SeekFrom::End(0) } else { io::SeekFrom::End(-5) };
                file.seek(end).unwrap();
                file.write_all(b"other").unwrap();
            }
        }
        let rest = timeout(PATIENCE, async {
            while let Some(part) = stream.recv_data().await? {
                body.extend_from_slice(&take(part));
            }
            stream.recv_trailers().await
        });
        match rest.await.expect("an end") {
            Ok(trailers) => {
                assert!(is_whole && body == data, "{what}: {} bytes", body.len());
                assert_eq!(trailers.unwrap()["repr-digest"], digest_field(&data), "{what}");
            }
            Err(error) => assert!(!is_whole && body.len() < data.len(), "{what}: {error}"),
        }
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_goes_out_whole_only_as_one_of_the_version_it_names() {
    use std::os::unix::fs::{FileExt, PermissionsExt};
    let bench = Bench::new();
    let data = bench.write("file", 12_000_000);
    let path = bench.path("file");
    // With the digest known, other permissions are no other content; without it nobody can tell.
    for (known, rewritten, is_whole) in [(true, false, true), (false, false, false), (true, true, false)] {
        let mut client = bench.slow_client().await;
        let asked: &[(&str, &str)] = if known { &WANTS_DIGEST } else { &[] };
        let etag = client.ask("HEAD", "/file", asked).await.unwrap().headers["etag"].to_str().unwrap().to_owned();
        let fields = [("range", "bytes=2000000-"), ("if-range", etag.as_str())];
        let mut stream = client.begin("GET", "/file", &fields).await.unwrap();
        let head = timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
        assert_eq!(head.status(), StatusCode::PARTIAL_CONTENT);
        if rewritten {
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            let modified = file.metadata().unwrap().modified().unwrap();
            file.write_all_at(b"in front of the part", 0).unwrap();
            file.set_modified(modified).unwrap();
        } else {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        }
        let rest = timeout(PATIENCE, async {
            let mut body = Vec::new();
            while let Some(part) = stream.recv_data().await? {
                body.extend_from_slice(&take(part));
            }
            Ok::<_, StreamError>(body)
        });
        let rest = rest.await.expect("an end");
        assert_eq!(rest.is_ok(), is_whole, "{known}, {rewritten}");
        assert!(rest.is_err() || rest.unwrap() == data[2_000_000..]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_left_leaves_its_place_whatever_it_asked_for() {
    let bench = Bench::with(Guests::new(1, 1), Privacy::Public, &Algorithm::default());
    bench.write("file", 10);
    std::fs::File::create(bench.path("endless")).unwrap().set_len(1 << 40).unwrap();
    let (bearer, size) = (format!("Bearer {TOKEN}"), (1u64 << 40).to_string());
    let about_an_upload = [("authorization", bearer.as_str()), ("upload-length", size.as_str())];
    for (path, fields) in [("/endless", &WANTS_DIGEST[..]), ("/endless?upload=1", &about_an_upload)] {
        let mut first = timeout(PATIENCE, bench.client_with_place()).await.expect("a free place");
        let mut asked = first.begin("HEAD", path, fields).await.unwrap();
        assert!(timeout(Duration::from_millis(300), asked.recv_response()).await.is_err(), "{path} takes long");
        first.connection.close(0u32.into(), b"");
    }
    timeout(PATIENCE, bench.client_with_place()).await.expect("the place is free");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_lets_what_it_sent_arrive() {
    let mut bench = Bench::limited(Rate::from_mbit(16.0));
    let data = bench.write("file", 700_000);
    let mut client = bench.client().await;
    let mut stream = client.begin("GET", "/file", &[]).await.unwrap();
    // For the server the request is done as soon as the last of it is in its buffers.
    assert_eq!(bench.logged().await["bytes"], 700_000);
    let Bench { mut server, dir: _dir, .. } = bench;
    let ended = tokio::spawn(async move { server.finish().await });
    let answer = timeout(PATIENCE, read(&mut stream)).await.expect("an end").expect("all of it");
    assert!(answer.body == data);
    client.connection.close(0u32.into(), b"");
    timeout(PATIENCE, ended).await.expect("the server ends").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_streams_does_not_keep_a_server_running() {
    let bench = Bench::new();
    let mut transport = transport::config(&Algorithm::default(), &Windows::default());
    transport.max_concurrent_uni_streams(0u32.into());
    let dialed = bench.enter_with(transport).await.expect("a place");
    let Bench { mut server, dir: _dir, .. } = bench;
    timeout(PATIENCE, server.finish()).await.expect("the server ends");
    timeout(PATIENCE, dialed.connection.closed()).await.expect("and says so");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_that_is_cut_off_is_told_as_far_as_it_went() {
    let mut bench = Bench::new();
    bench.write("file", 100_000_000);
    let mut client = bench.slow_client().await;
    let mut stream = client.begin("GET", "/file", &[]).await.unwrap();
    timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    stream.stop_sending(Code::H3_REQUEST_CANCELLED);
    let line = bench.logged().await;
    assert_eq!((&line["status"], &line["path"]), (&200.into(), &"/file".into()), "{line}");
    let bytes = line["bytes"].as_u64().unwrap();
    assert!(bytes < 100_000_000 && line["error"].is_string(), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_are_listed_in_the_form_that_was_asked_for() {
    let bench = Bench::new();
    bench.write("a", 5);
    let mut client = bench.client().await;
    for media_type in ["application/vnd.pcc.listing+json", "application/json"] {
        let answer = client.ask("GET", "/", &[("accept", media_type)]).await.unwrap();
        assert_eq!(answer.headers["content-type"], media_type);
        let listing: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((&listing["entries"][0]["size"], &listing["omitted"]), (&5.into(), &0.into()), "{listing}");
    }
    let page = client.ask("GET", "/", &[("accept", "text/html")]).await.unwrap();
    assert!(page.headers["content-type"] == "text/html; charset=utf-8" && page.body.starts_with(b"<!doctype html>"));
    let head = client.ask("HEAD", "/", &[]).await.unwrap();
    assert!(head.status == StatusCode::OK && head.body.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_directory_is_there_only_for_who_knows_its_address() {
    let mut bench = Bench::with(Guests::new(9, 9), Privacy::below("guess-me"), &Algorithm::default());
    bench.write("file", 5);
    let mut client = bench.client().await;
    let bearer = format!("Bearer {TOKEN}");
    for (method, path, status) in [
        ("GET", "/guess-me/file", 200),
        ("GET", "/guess-me/", 200),
        ("GET", "/file", 404),
        ("GET", "/", 404),
        ("HEAD", "/guess-me2/file", 404),
        ("PUT", "/new", 404),
        ("PUT", "/guess-me/new", 201),
    ] {
        let answer = client.ask(method, path, &[("authorization", &bearer)]).await.unwrap();
        assert_eq!(answer.status.as_u16(), status, "{method} {path}");
        let line = bench.logged().await.to_string();
        assert!(!line.contains("guess-me"), "{line}");
    }
    assert!(bench.path("new").exists());
}
