//! `pcc get` as its users run it: over bad paths, interrupted, killed, and twice at once.

mod bench;

use bench::{Bench, Relay, data, said};
use serde_json::json;
use std::process::Stdio;

/// Downloads through an emulated path and answers what it said last.
fn over(link: &str, bytes: usize) {
    let bench = Bench::new();
    let content = bench.write("served/file", bytes);
    let server = bench.serve(&[]);
    let relay = Relay::start(&bench, link, &server);
    let got = bench.run(&["get", &relay.url(&server, "file"), "--json"]);
    assert!(got.status.success(), "{link}: {}", said(&got));
    let done = bench::last_json(&got);
    assert_eq!((&done["verified"], &done["bytes"]), (&json!(true), &json!(bytes)), "{link}: {}", said(&got));
    assert!(std::fs::read(bench.path("client/file")).unwrap() == content, "{link}");
    assert_eq!(bench.names("client"), ["file"], "{link}");
}

#[test]
fn a_file_arrives_over_loss_and_reordering() {
    over("rate=50Mbit,rtt=40ms,loss=3%,reorder=5%:10ms", 2_000_000);
}

#[test]
fn a_file_arrives_over_jitter() {
    over("rate=20Mbit,rtt=30ms,jitter=20ms:reorder", 1_000_000);
}

#[test]
fn a_file_arrives_over_four_megabits() {
    over("rate=4Mbit,rtt=60ms", 1_000_000);
}

#[test]
fn a_file_arrives_after_a_black_out() {
    over("rate=8Mbit,rtt=20ms,blackout=1s/2s", 2_000_000);
}

#[test]
fn the_printed_command_puts_all_where_it_says() {
    let bench = Bench::new();
    bench.write("served/a", 1000);
    std::fs::create_dir(bench.path("served/sub")).unwrap();
    let b = bench.write("served/sub/b", 2000);
    let server = bench.serve(&[]);
    let got = bench.run(&["get", &server.url("")]);
    assert!(got.status.success(), "{}", said(&got));
    assert!(std::fs::read(bench.path("client/127.0.0.1/sub/b")).unwrap() == b);
    let again = bench.run(&["get", &server.url(""), "--json"]);
    assert_eq!(bench::last_json(&again)["resumed_from"], 3000, "{}", said(&again));
}

#[test]
fn several_downloads_go_on_when_one_fails() {
    let bench = Bench::new();
    let [a, b] = ["served/a", "served/b"].map(|name| bench.write(name, 1000));
    for name in ["served/sub", "client/into"] {
        std::fs::create_dir(bench.path(name)).unwrap();
    }
    let c = bench.write("served/sub/c", 2000);
    let server = bench.serve(&[]);
    let urls = ["a", "gone", "sub/", "b"].map(|name| server.url(name));
    let all = |more: &[&str]| bench.run(&[&["get"], &urls.each_ref().map(String::as_str)[..], more].concat());
    let got = all(&["-o", "into"]);
    assert_eq!(got.status.code(), Some(3), "{}", said(&got));
    assert!(said(&got).contains("1 of 4 transfers failed") && said(&got).contains("gone"), "{}", said(&got));
    for (name, content) in [("a", a), ("b", b), ("sub/c", c)] {
        assert!(std::fs::read(bench.path(&format!("client/into/{name}"))).unwrap() == content, "{name}");
    }
    assert_eq!(all(&["made/"]).status.code(), Some(3));
    assert_eq!(bench.names("client/made"), ["a", "b", "sub"]);
    let refused = all(&["-o", "-"]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("need a directory"), "{}", said(&refused));
}

#[cfg(unix)]
#[test]
fn interruption_ends_download_into_pipe_that_nobody_reads() {
    let bench = Bench::new();
    bench.write("served/file", 20_000_000);
    let server = bench.serve(&[]);
    let mut client = bench
        .pcc(&["get", &server.url("file"), "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let unread = client.stdout.take().unwrap();
    bench::until(|| rustix::io::ioctl_fionread(&unread).unwrap() >= 60_000); // of 64 KiB: what comes next waits
    bench::interrupt(&client);
    let (code, text) = bench::end_of(&mut client);
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("start anew") && !text.contains("where it stopped"), "{text}");
    drop(unread);
}

#[cfg(unix)]
#[test]
fn an_interruption_says_what_to_do_next() {
    let bench = Bench::new();
    bench.write("served/file", 20_000_000);
    let server = bench.serve(&["--limit", "8Mbit"]);
    let part = bench.path("client/.file.pcc-part");
    let mut client = bench.pcc(&["get", &server.url("file")]).stderr(Stdio::piped()).spawn().unwrap();
    bench::until(|| part.metadata().is_ok_and(|part| part.len() > 100_000));
    bench::interrupt(&client);
    let (code, text) = bench::end_of(&mut client);
    assert!(code == Some(130) && text.contains("go on where it stopped"), "{code:?}: {text}");

    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/file", silent.local_addr().unwrap());
    let mut client = bench.pcc(&["get", &url]).stderr(Stdio::piped()).spawn().unwrap();
    silent.recv(&mut [0; 2000]).unwrap();
    bench::interrupt(&client);
    let (code, text) = bench::end_of(&mut client);
    assert!(code == Some(130) && text.contains("before the server had answered"), "{code:?}: {text}");
    assert!(!text.contains("where it stopped"), "{text}");
}

#[test]
fn two_downloads_to_one_name_never_leave_a_mixture() {
    let bench = Bench::new();
    let (one, other) = (bench.write("served/one", 3_000_000), data(5_000_000, 2));
    std::fs::write(bench.path("served/other"), &other).unwrap();
    let server = bench.serve(&[]);
    for _ in 0..5 {
        let clients = ["one", "other"].map(|name| {
            bench.pcc(&["get", &server.url(name), "-q", "-o", "target"]).stderr(Stdio::piped()).spawn().unwrap()
        });
        let ended = clients.map(|client| client.wait_with_output().unwrap());
        assert!(ended.iter().any(|client| client.status.success()));
        for refused in ended.iter().filter(|client| !client.status.success()) {
            assert!(said(refused).contains("another pcc is downloading"), "{}", said(refused));
        }
        let found = std::fs::read(bench.path("client/target")).unwrap();
        assert!(found == one || found == other, "{} bytes", found.len());
        assert_eq!(bench.names("client"), ["target"]);
        std::fs::remove_file(bench.path("client/target")).unwrap();
    }
}

#[test]
fn an_equal_file_does_not_come_again_one_of_its_size_does() {
    let bench = Bench::new();
    let content = bench.write("served/file", 300_000);
    let server = bench.serve(&[]);
    let get = || bench::last_json(&bench.run(&["get", "-W", &server.url("file"), "--json"]));
    assert_eq!(get()["resumed_from"], 0);
    let again = get();
    assert_eq!((&again["resumed_from"], &again["verified"]), (&json!(300_000), &json!(true)));
    bench.write("client/file", 300_000 - 1);
    assert_eq!(get()["resumed_from"], 0, "another length");
    let mut other = content.clone();
    other[299_999] ^= 1;
    std::fs::write(bench.path("client/file"), &other).unwrap();
    assert_eq!(get()["resumed_from"], 0, "one bit is another");
    assert!(std::fs::read(bench.path("client/file")).unwrap() == content);
}

#[test]
fn a_directory_without_its_slash_is_one_all_the_same() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("served/a dir")).unwrap();
    let content = bench.write("served/a dir/b", 2000);
    let server = bench.serve(&[]);
    for _ in 0..2 {
        let got = bench.run(&["get", &server.url("a%20dir")]);
        assert!(got.status.success(), "{}", said(&got));
        assert!(std::fs::read(bench.path("client/a dir/b")).unwrap() == content);
    }
    bench.write("served/file", 10);
    std::fs::create_dir(bench.path("client/file")).unwrap();
    let file = bench.run(&["get", &server.url("file")]);
    assert!(
        file.status.code() == Some(2) && said(&file).contains("file is a directory: choose another"),
        "{}",
        said(&file)
    );
    for (from, to, path) in
        [("a%20dir", "into/", "into/a dir/b"), ("a%20dir/", "into", "into/b"), ("a%20dir", ".", "a dir/b")]
    {
        for _ in 0..2 {
            let got = bench.run(&["get", &server.url(from), to]);
            assert!(got.status.success() && bench.path("client").join(path).exists(), "{from} {to}: {}", said(&got));
        }
    }
    let spilled = bench.run(&["get", &server.url("a%20dir"), "-o", "into"]);
    assert!(spilled.status.code() == Some(2) && said(&spilled).contains("is a directory: write"), "{}", said(&spilled));
    let pattern = bench.run(&["get", &server.url("*.gz")]);
    assert!(pattern.status.code() == Some(1) && said(&pattern).contains("a URL has no patterns"), "{}", said(&pattern));
    let piped = bench.run(&["get", &server.url("a%20dir"), "-o", "-"]);
    assert_eq!(piped.status.code(), Some(2), "{}", said(&piped));
    assert!(said(&piped).contains("is a directory: give one with -o DIR"), "{}", said(&piped));
}

#[test]
fn a_full_server_is_waited_for_once_it_was_reached() {
    let bench = Bench::new();
    bench.write("served/file", 3_000_000);
    let server = bench.serve(&["--max-connections", "1", "--limit", "4Mbit"]);
    let mut first = bench::Ended(bench.pcc(&["get", &server.url("file"), "-q", "-o", "first"]).spawn().unwrap());
    bench::until(|| bench.path("client/.first.pcc-part").exists());
    let refused = bench.run(&["get", &server.url("file"), "-o", "second"]);
    let text = said(&refused);
    assert!(refused.status.code() == Some(1) && text.contains("full") && text.contains("--max-connections"), "{text}");
    assert!(first.0.wait().unwrap().success());
}

/// Paths in the lines of this event, without the directory of the test.
fn listed(bench: &Bench, output: &std::process::Output, event: &str) -> Vec<String> {
    let top = bench.path("client").canonicalize().unwrap();
    let lines = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let of_event = lines.filter(|line| line["event"] == event).map(|line| line["file"].as_str().unwrap().to_owned());
    let mut paths: Vec<_> = of_event.map(|path| path.replace(&format!("{}/", top.display()), "")).collect();
    paths.sort();
    paths
}

#[test]
fn a_dry_run_tells_what_the_real_one_does() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("served/site/sub")).unwrap();
    std::fs::create_dir_all(bench.path("client/site/old")).unwrap();
    let same = bench.write("served/site/same", 1000);
    std::fs::write(bench.path("client/site/same"), same).unwrap();
    for (name, size) in [("served/site/new", 2000), ("served/site/sub/other", 3000), ("served/site/sub/x.tmp", 10)] {
        bench.write(name, size);
    }
    for name in ["client/site/old/gone", "client/site/mine.tmp", "client/beside"] {
        std::fs::write(bench.path(name), "x").unwrap();
    }
    let server = bench.serve(&[]);
    let url = server.url("site/");
    let get = |more: &[&str]| bench.run(&[&["get", &url, "--delete", "--exclude", "*.tmp", "--json"], more].concat());
    let rehearsal = get(&["--dry-run"]);
    assert!(rehearsal.status.success(), "{}", said(&rehearsal));
    assert_eq!(listed(&bench, &rehearsal, "due"), ["site/new", "site/sub/other"]);
    assert_eq!(listed(&bench, &rehearsal, "deleted"), ["site/old", "site/old/gone"]);
    let done = bench::last_json(&rehearsal);
    let expected = json!({"event": "done", "dry_run": true, "due": 2, "due_bytes": 5000, "files": 1, "links": 0, "left": 0, "deleted": 2,
        "failed": 0, "file": "site"});
    assert_eq!(done, expected);
    assert_eq!(bench.names("client/site"), ["mine.tmp", "old", "same"], "a dry run changes nothing");
    let real = get(&[]);
    assert_eq!(listed(&bench, &real, "deleted"), listed(&bench, &rehearsal, "deleted"), "{}", said(&real));
    assert_eq!(bench.names("client/site"), ["mine.tmp", "new", "same", "sub"]);
    assert_eq!(bench.names("client/site/sub"), ["other"]);
    assert_eq!(bench.names("client"), ["beside", "site"]);
}

#[test]
fn people_read_the_list_of_a_dry_run_line_by_line() {
    let bench = Bench::new();
    bench.write("served/file", 2000);
    let server = bench.serve(&[]);
    let run = bench.run(&["get", &server.url("file"), "-n"]);
    assert_eq!(String::from_utf8(run.stdout.clone()).unwrap(), "get file (2.00 kB)\n");
    assert!(said(&run).contains("1 file, 2.00 kB would be moved, 0 there already"), "{}", said(&run));
    assert!(bench.names("client").is_empty());
    let refused = bench.run(&["get", &server.url("file"), "--exclude", "[a"]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("`[a` is no pattern"), "{}", said(&refused));
}
