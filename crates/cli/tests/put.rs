//! `pcc put` over bad networks, from slow inputs, interrupted, repeated and refused.

mod upload;

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;
use upload::{Bench, Running, lines, said, wait_until};

fn last(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    lines(output).pop().unwrap()
}

#[test]
fn what_is_shown_as_sent_has_arrived() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let data = bench.write("client/file", 2_500_000);
    let (_link, port) = bench.emulate("rate=4Mbit,rtt=40ms,buffer=60KB", &server);
    let put = bench.run(&["put", "file", &server.url_by(port, ""), "--json"]);
    last(&put);
    let progress: Vec<_> = lines(&put).into_iter().filter(|line| line["event"] == "progress").collect();
    for line in &progress {
        let (bytes, seconds) = (line["bytes"].as_f64().unwrap(), line["seconds"].as_f64().unwrap());
        assert!(bytes * 8.0 <= 4e6 * seconds, "{bytes} bytes after {seconds} s at 4 Mbit/s");
    }
    // Five seconds at least: what is on its way and not acknowledged is the end of it only.
    assert!(progress.iter().any(|line| (1..2_500_000).contains(&line["bytes"].as_u64().unwrap())), "{}", said(&put));
    assert!(std::fs::read(bench.path("served/file")).unwrap() == data);
}

#[test]
fn uploads_survive_bad_paths() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let data = bench.write("client/file", 3_000_000);
    let links = [
        ("lossy", "rate=40Mbit,rtt=20ms,loss=2%,buffer=100KB"),
        ("jittery", "rate=40Mbit,rtt=20ms,jitter=5ms:reorder,reorder=2%:5ms"),
        ("dark", "rate=20Mbit,rtt=20ms,blackout=500ms/2s/60s"),
    ];
    let puts = links.map(|(name, link)| {
        let (relay, port) = bench.emulate(link, &server);
        (name, relay, bench.pcc(&["put", "file", &server.url_by(port, name), "--json"]).spawn().unwrap())
    });
    for (name, _relay, put) in puts {
        let put = put.wait_with_output().unwrap();
        assert_eq!(last(&put)["verified"], true, "{name}");
        assert!(std::fs::read(bench.path("served").join(name)).unwrap() == data, "{name}");
    }
}

#[test]
fn the_last_line_says_what_the_path_was_both_ways() {
    let bench = Bench::new();
    let server = bench.serve(0);
    bench.write("client/file", 6_000_000);
    let (_link, port) = bench.emulate("rate=40Mbit,rtt=40ms,loss=2%,buffer=200KB", &server);
    let (to, there) = (server.url_by(port, ""), server.url_by(port, "file"));
    let last_line = |arguments: &[&str]| {
        let done = bench.run(arguments);
        assert!(done.status.success(), "{}", said(&done));
        String::from_utf8(done.stderr).unwrap().lines().last().unwrap_or_default().to_owned()
    };
    for line in [last_line(&["put", "file", &to]), last_line(&["get", &there, "copy"])] {
        let (_, told) = line.split_once("pcc: the path: ").unwrap_or_else(|| panic!("{line}"));
        let loss: f64 = told.split(' ').next().unwrap().parse().unwrap();
        assert!((1.0..4.0).contains(&loss) && told.contains("CUBIC would have taken"), "{line}");
    }
    assert_eq!(last_line(&["get", &there, "quiet", "-q"]), "");
    assert!(last_line(&["get", &there, "copy"]).contains("there already"), "nothing moved, and nothing is known");
}

#[test]
fn several_uploads_go_on_when_one_fails() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let [a, b] = ["a", "b"].map(|name| bench.write(&format!("client/{name}"), 1000));
    let put = bench.run(&["put", "a", "gone", "b", &server.url("")]);
    assert_eq!(put.status.code(), Some(3), "{}", said(&put));
    assert!(said(&put).contains("1 of 3 transfers failed"), "{}", said(&put));
    assert!(std::fs::read(bench.path("served/a")).unwrap() == a && std::fs::read(bench.path("served/b")).unwrap() == b);
    let refused = bench.run(&["put", "a", "b", &server.url("name")]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("need a directory"), "{}", said(&refused));
}

#[test]
fn a_directory_that_is_there_is_not_sent_again() {
    let bench = Bench::new();
    let server = bench.serve(0);
    std::fs::create_dir_all(bench.path("client/tree/sub")).unwrap();
    for (name, size) in [("a", 1_000_000), ("sub/b", 300_000), ("empty", 0)] {
        bench.write(&format!("client/tree/{name}"), size);
    }
    let put = || last(&bench.run(&["put", "-W", "tree", &server.url(""), "--json"]));
    assert_eq!(put()["resumed_from"].as_u64(), Some(0));
    wait_until("the log", || server.received() >= 1_300_000);
    let again = put();
    assert_eq!((again["files"].as_u64(), again["resumed_from"].as_u64()), (Some(3), Some(1_300_000)));
    assert_eq!(server.received(), 1_300_000, "nothing was sent the second time");
    bench.write("client/tree/sub/b", 300_001);
    assert_eq!(put()["resumed_from"].as_u64(), Some(1_000_000));
    wait_until("the log", || server.received() >= 1_600_001);
    assert_eq!(server.received(), 1_600_001, "only what changed");
}

#[test]
fn a_dry_run_of_an_upload_lists_and_sends_nothing() {
    let bench = Bench::new();
    let server = bench.serve(0);
    std::fs::create_dir_all(bench.path("client/site/cache")).unwrap();
    std::fs::create_dir_all(bench.path("served/site")).unwrap();
    let same = bench.write("client/site/same", 1000);
    std::fs::write(bench.path("served/site/same"), same).unwrap();
    for name in ["client/site/new", "client/site/cache/c", "client/site/x.tmp"] {
        bench.write(name, 2000);
    }
    let arguments = ["put", "site", &server.url(""), "--exclude", "cache/", "--exclude", "*.tmp", "--json"];
    let run = bench.run(&[&arguments[..], &["-n"]].concat());
    let done = last(&run);
    assert_eq!((&done["due"], &done["due_bytes"], &done["files"]), (&1.into(), &2000.into(), &1.into()), "{done}");
    let due: Vec<_> = lines(&run).into_iter().filter(|line| line["event"] == "due").collect();
    assert!(due.len() == 1 && due[0]["url"].as_str().unwrap().ends_with("/site/new"), "{due:?}");
    assert_eq!(std::fs::read_dir(bench.path("served/site")).unwrap().count(), 1);
    assert!(server.requests().iter().all(|request| request["method"] == "HEAD"), "{:?}", server.requests());
    last(&bench.run(&arguments));
    let mut names: Vec<_> =
        std::fs::read_dir(bench.path("served/site")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["new", "same"]);
    let piped = bench.run(&["put", "-", &server.url("x"), "-n"]);
    assert_eq!(piped.status.code(), Some(2), "{}", said(&piped));
}

#[test]
fn small_file_goes_with_its_digest() {
    let bench = Bench::new();
    let server = bench.serve(0);
    std::fs::create_dir_all(bench.path("client/tree")).unwrap();
    let sizes = [0, 1, 2000, 64 << 10, (64 << 10) + 1];
    for (name, size) in sizes.iter().enumerate() {
        bench.write(&format!("client/tree/{name}"), *size);
    }
    let put = last(&bench.run(&["put", "tree", &server.url(""), "--json"]));
    assert_eq!(put["files"].as_u64(), Some(sizes.len() as u64));
    for name in 0..sizes.len() {
        let read = |dir: &str| std::fs::read(bench.path(&format!("{dir}/tree/{name}"))).unwrap();
        assert!(read("client") == read("served"), "{name}");
    }
    wait_until("the log", || server.requests().len() >= 7);
    // One to make the directory, one for each small file, two for the large one: in a new directory nothing can be there.
    assert_eq!(server.requests().len(), 1 + 4 + 2, "{:?}", server.requests());
    bench.write("client/tree/0", 1);
    bench.write("client/tree/new", 2000);
    let again = last(&bench.run(&["put", "tree", &server.url(""), "--json"]));
    assert_eq!(again["files"].as_u64(), Some(1 + sizes.len() as u64));
    wait_until("the log", || server.requests().len() >= 7 + 9);
    // One for the directory, one for each file to ask for it, and one for each that is not there.
    assert_eq!(server.requests().len(), 7 + 1 + 6 + 2, "{:?}", server.requests());
}

#[test]
fn file_is_not_put_in_place_of_directory_nor_tried_again() {
    let bench = Bench::new();
    let server = bench.serve(0);
    bench.write("client/file", 1000);
    std::fs::create_dir(bench.path("served/dir")).unwrap();
    let put = bench.run(&["put", "file", &server.url("dir")]);
    assert!(put.status.code() == Some(1) && said(&put).contains("a directory of that name exists"), "{}", said(&put));
    assert!(server.requests().len() <= 2, "{:?}", server.requests());
}

#[test]
fn a_file_that_is_refused_disturbs_no_other() {
    let bench = Bench::new();
    let server = bench.serve(0);
    std::fs::create_dir_all(bench.path("client/tree")).unwrap();
    for name in ["a", "b", "c", "d"] {
        bench.write(&format!("client/tree/{name}"), 3_000_000);
    }
    std::fs::create_dir_all(bench.path("served/tree/b")).unwrap();
    let put = bench.run(&["put", "tree", &server.url(""), "--json"]);
    assert_eq!(put.status.code(), Some(3), "{}", said(&put));
    assert!(lines(&put).iter().all(|line| line["event"] != "retry"), "{}", said(&put));
    assert!(said(&put).contains("a directory of that name exists"), "{}", said(&put));
}

#[test]
fn a_reserved_or_leading_name_is_refused_with_its_reason() {
    let bench = Bench::new();
    let server = bench.serve(0);
    bench.write("client/file", 1000);
    for (path, expected) in [
        (".pcc-upload-x", "choose another name"),
        ("sub/.PCC-upload-x", "choose another name"),
        ("../x", "must not hold `.`, `..`"),
        ("a//x", "must not hold `.`, `..`"),
    ] {
        let put = bench.run(&["put", "file", &server.url(path)]);
        let said = said(&put);
        assert!(put.status.code() == Some(1) && said.contains(expected), "{path}: {said}");
        assert!(!said.contains("perhaps a file"), "{path}: {said}");
    }
}

#[test]
fn only_an_encoded_question_mark_is_part_of_a_name() {
    let bench = Bench::new();
    let server = bench.serve(0);
    bench.write("client/file", 1000);
    let put = bench.run(&["put", "file", &server.url("why?")]);
    assert!(put.status.code() == Some(2) && said(&put).contains("%3F"), "{}", said(&put));
    let put = bench.run(&["put", "file", &server.url("why?x=1")]);
    assert!(put.status.code() == Some(2) && said(&put).contains("/why%3Fx=1"), "{}", said(&put));
    last(&bench.run(&["put", "file", &server.url("why%3F"), "--json"]));
    assert!(bench.path("served/why?").exists());
}

#[test]
fn refused_uploads_keep_nobody_out() {
    // More than uploads can be under way.
    const FILES: usize = 1100;
    let bench = Bench::new();
    let server = bench.serve(0);
    std::fs::create_dir(bench.path("client/tree")).unwrap();
    for number in 0..FILES {
        std::fs::write(bench.path(&format!("client/tree/{number}")), "x").unwrap();
        std::fs::create_dir_all(bench.path(&format!("served/tree/{number}"))).unwrap();
    }
    let refused = bench.run(&["put", "tree", &server.url(""), "--json"]);
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    bench.write("client/file", 1000);
    last(&bench.run(&["put", "file", &server.url(""), "--json", "--give-up", "60s"]));
}

#[test]
fn of_two_uploads_of_one_file_later_goes_on_and_other_ends() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let data = bench.write("client/file", 6_000_000);
    let url = server.url("");
    let arguments = ["put", "file", url.as_str(), "--json", "--limit", "8Mbit"];
    let first = bench.pcc(&arguments).spawn().unwrap();
    wait_until("the upload begins", || bench.unfinished_bytes() > 0);
    let second = bench.pcc(&arguments).spawn().unwrap();
    let (first, second) = (first.wait_with_output().unwrap(), second.wait_with_output().unwrap());
    last(&second);
    assert!(first.status.success() || said(&first).contains("took over"), "{}", said(&first));
    assert!(std::fs::read(bench.path("served/file")).unwrap() == data);
    // The end of the first, which was on its way, came twice.
    wait_until("the log", || server.received() >= 6_000_000);
    assert!(server.received() < 9_000_000 && server.requests().len() < 10, "{:?}", server.requests());
}

/// `pcc put -` to `url`, whose input the test writes.
fn piped(bench: &Bench, url: &str) -> Running {
    Running(bench.pcc(&["put", "-", url, "--json"]).stdin(Stdio::piped()).spawn().unwrap())
}

#[test]
fn slow_input_arrives_whole() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let data = bench.write("data", 3_000_000);
    let mut put = piped(&bench, &server.url("piped"));
    let mut input = put.0.stdin.take().unwrap();
    for piece in data.chunks(1_000_000) {
        input.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    }
    drop(input);
    assert!(put.0.wait().unwrap().success());
    assert!(std::fs::read(bench.path("served/piped")).unwrap() == data);
    wait_until("the log", || server.requests().len() >= 3);
    // A busy computer may break it once; each pause would take two requests more.
    assert!(server.requests().len() <= 5, "no pause breaks it: {:?}", server.requests());
}

#[cfg(target_os = "linux")]
#[test]
fn input_in_small_pieces_takes_little_memory() {
    const PIECES: usize = 4000;
    let bench = Bench::new();
    let server = bench.serve(0);
    let mut put = piped(&bench, &server.url("piped"));
    let mut input = put.0.stdin.take().unwrap();
    for _ in 0..PIECES {
        input.write_all(&[7; 100]).unwrap();
        std::thread::sleep(Duration::from_micros(200)); // so that it is read piece by piece, mostly
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", put.0.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    drop(input);
    assert!(put.0.wait().unwrap().success());
    assert_eq!(std::fs::read(bench.path("served/piped")).unwrap().len(), PIECES * 100);
    assert!(kilobytes < 100_000, "{kilobytes} KB for {} bytes", PIECES * 100);
}

#[cfg(unix)]
#[test]
fn an_interrupted_pipe_ends_at_once_and_leaves_nothing() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let mut put = piped(&bench, &server.url("piped"));
    let mut input = put.0.stdin.take().unwrap();
    input.write_all(&[7; 3_000_000]).unwrap();
    wait_until("the upload begins", || bench.unfinished_bytes() > 1_000_000);
    // The input stays open and idle.
    assert!(Command::new("kill").args(["-INT", &put.0.id().to_string()]).status().unwrap().success());
    let mut ended = None;
    wait_until("Ctrl-C ends it", || {
        ended = put.0.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(130));
    wait_until("what nobody can go on with is removed", || bench.unfinished().is_empty());
    assert!(!bench.path("served/piped").exists());
    drop(input);
}

#[test]
fn nothing_stays_of_a_pipe_whose_reader_was_killed() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let url = server.url("piped");
    let mut put = Running(bench.pcc(&["put", "-", &url, "--give-up", "1s"]).stdin(Stdio::piped()).spawn().unwrap());
    let mut input = put.0.stdin.take().unwrap();
    input.write_all(&[7; 3_000_000]).unwrap();
    wait_until("the upload begins", || bench.unfinished_bytes() > 1_000_000);
    put.0.kill().unwrap();
    put.0.wait().unwrap();
    wait_until("what nobody can go on with is removed", || bench.unfinished().is_empty());
    drop(input);
}

#[cfg(unix)]
#[test]
fn an_upload_that_was_stopped_goes_on() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let data = bench.write("client/file", 3_000_000);
    let arguments = ["put", "file", &server.url(""), "--json", "--limit", "8Mbit", "--give-up", "3s"];
    let put = bench.pcc(&arguments).spawn().unwrap();
    wait_until("the upload begins", || bench.unfinished_bytes() > 0);
    let process = rustix::process::Pid::from_child(&put);
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_secs(7));
    rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
    last(&put.wait_with_output().unwrap());
    assert!(std::fs::read(bench.path("served/file")).unwrap() == data);
}

#[cfg(target_os = "linux")]
#[test]
fn an_input_that_cannot_be_read_is_told_what_can() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let shell = |script: &str| {
        let pcc = env!("CARGO_BIN_EXE_pcc");
        let script = script.replace("PCC", pcc).replace("URL", &format!("'{}'", server.url("new")));
        let mut command = bench.pcc(&[]);
        let environment: Vec<_> =
            command.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect();
        command = Command::new("bash");
        command.envs(environment).current_dir(bench.path("client")).args(["-c", &script]);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let closed = shell("PCC put - URL <&-");
    assert!(closed.status.code() == Some(2) && said(&closed).contains("standard input is closed"), "{}", said(&closed));
    assert!(!bench.path("served/new").exists());
    let substituted = shell("PCC put <(echo hello) URL");
    assert!(said(&substituted).contains("`COMMAND | pcc put - URL`"), "{}", said(&substituted));
    let empty = shell("PCC put - URL </dev/null");
    assert!(empty.status.success(), "{}", said(&empty));
    assert_eq!(std::fs::read(bench.path("served/new")).unwrap(), b"");
}

#[cfg(unix)]
mod as_rsync_does {
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    /// Mode, time and content of all that is below `top`; of directories without content.
    fn all(top: &Path) -> BTreeMap<String, (u32, i64, i64, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut open = vec![top.to_owned()];
        while let Some(path) = open.pop() {
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            if metadata.is_dir() {
                open.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
            }
            let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            found.insert(name, (metadata.mode() & 0o7777, metadata.mtime(), metadata.mtime_nsec(), content));
        }
        found
    }

    fn describe(path: &Path, mode: u32, seconds: u64) {
        let time = std::time::UNIX_EPOCH + Duration::new(seconds, 123_456_789);
        std::fs::File::open(path).unwrap().set_modified(time).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn ok(output: &std::process::Output) {
        assert!(output.status.success(), "{}", said(output));
    }

    /// A directory with these files, each of a kilobyte.
    fn tree(bench: &Bench, name: &str, files: &[&str]) {
        for file in files {
            let path = bench.path(&format!("{name}/{file}"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            bench.write(&format!("{name}/{file}"), 1000);
        }
    }

    #[test]
    fn times_and_permissions_go_there_and_come_back() {
        let bench = Bench::new();
        let server = bench.serve(0);
        tree(&bench, "client/tree", &["a", "sub/deep/b", "sub/c"]);
        let path = |name: &str| bench.path("client/tree").join(name);
        for (name, mode) in [("a", 0o640), ("sub/deep/b", 0o755), ("sub/c", 0o444)] {
            describe(&path(name), mode, 1_000_000_000);
        }
        for (name, mode) in [("sub/deep", 0o555), ("sub", 0o750), ("", 0o711)] {
            describe(&path(name), mode, 1_100_000_000);
        }
        let here = all(&path(""));
        ok(&bench.run(&["put", "-a", "tree", &server.url("")]));
        assert_eq!(all(&bench.path("served/tree")), here);
        ok(&bench.run(&["get", "-a", &server.url("tree/"), "-o", "back"]));
        assert_eq!(all(&bench.path("client/back")), here);

        describe(&path("a"), 0o600, 1_200_000_000);
        let rehearsed = last(&bench.run(&["put", "-a", "-n", "tree", &server.url(""), "--json"]));
        assert_eq!((&rehearsed["due"], &rehearsed["due_bytes"]), (&1.into(), &0.into()), "{rehearsed}");
        ok(&bench.run(&["put", "-a", "tree", &server.url("")]));
        let rehearsed = last(&bench.run(&["get", "-a", "-n", &server.url("tree/"), "-o", "back", "--json"]));
        assert_eq!((&rehearsed["due"], &rehearsed["due_bytes"]), (&1.into(), &0.into()), "{rehearsed}");
        let got = last(&bench.run(&["get", "-a", &server.url("tree/"), "-o", "back", "--json"]));
        assert_eq!(got["resumed_from"], got["bytes"], "nothing comes again: {got}");
        let expected = all(&path(""));
        assert!(expected != here);
        assert!(all(&bench.path("served/tree")) == expected && all(&bench.path("client/back")) == expected);
        let sent: u64 =
            server.requests().iter().filter(|r| r["method"] == "PATCH").map(|r| r["bytes"].as_u64().unwrap()).sum();
        assert_eq!(sent, 3000, "nothing was sent again");
    }

    #[test]
    fn without_an_option_time_and_permissions_are_new() {
        let bench = Bench::new();
        let server = bench.serve(0);
        tree(&bench, "client/tree", &["a"]);
        describe(&bench.path("client/tree/a"), 0o755, 1_000_000_000);
        ok(&bench.run(&["put", "tree", &server.url("")]));
        let (mode, seconds, ..) = all(&bench.path("served/tree"))["a"].clone();
        assert!(mode & 0o111 == 0 && seconds > 1_500_000_000, "{mode:o}, {seconds}");
    }

    #[test]
    fn what_the_source_lacks_is_deleted_and_nothing_else() {
        let bench = Bench::new();
        let server = bench.serve_with(&["--allow-delete"]);
        tree(&bench, "client/site", &["a", "d/b"]);
        let there = ["site/a", "site/old", "site/d/gone", "site/e/f/g", "site/k/x.bak", "site/k/y", "beside/z"];
        tree(&bench, "served", &there);
        tree(&bench, "outside", &["precious"]);
        std::os::unix::fs::symlink("../../outside", bench.path("served/site/out")).unwrap();
        std::os::unix::fs::symlink("../beside", bench.path("served/site/in")).unwrap();
        let put = ["put", "--delete", "--exclude", "*.bak", "site", &server.url(""), "--json"];
        let before = all(&bench.path("served"));
        let deleted = |output: &std::process::Output| {
            let done = last(output);
            let mut urls: Vec<_> = lines(output)
                .iter()
                .filter(|line| line["event"] == "deleted")
                .map(|line| line["url"].as_str().unwrap().split_once("/site/").unwrap().1.to_owned())
                .collect();
            urls.sort();
            assert_eq!(done["deleted"].as_u64(), Some(urls.len() as u64));
            urls
        };
        let gone = ["d/gone", "e", "e/f", "e/f/g", "in", "k/y", "old", "out"];
        assert_eq!(deleted(&bench.run(&[&put[..], &["-n"]].concat())), gone);
        assert_eq!(all(&bench.path("served")), before, "a dry run changes nothing");
        assert_eq!(deleted(&bench.run(&put)), gone);
        let left: Vec<_> = all(&bench.path("served")).into_keys().collect();
        assert_eq!(left, ["", "beside", "beside/z", "site", "site/a", "site/d", "site/d/b", "site/k", "site/k/x.bak"]);
        assert!(bench.path("outside/precious").exists());
        assert_eq!(deleted(&bench.run(&put)), [""; 0]);
    }

    #[test]
    fn nothing_is_deleted_after_trouble() {
        let bench = Bench::new();
        let server = bench.serve_with(&["--allow-delete"]);
        tree(&bench, "client/site", &["a", "taken"]);
        tree(&bench, "served", &["site/old", "site/taken/x"]);
        let put = || bench.run(&["put", "--delete", "site", &server.url("")]);
        // The source's content is not known.
        std::os::unix::fs::symlink("nowhere", bench.path("client/site/link")).unwrap();
        let linked = put();
        assert_eq!(linked.status.code(), Some(3), "{}", said(&linked));
        assert!(said(&linked).contains("nothing was deleted"), "{}", said(&linked));
        assert!(bench.path("served/site/old").exists() && bench.path("served/site/taken/x").exists());
        assert!(server.requests().iter().all(|request| request["method"] != "DELETE"));
        std::fs::remove_file(bench.path("client/site/link")).unwrap();
        ok(&put());
        assert_eq!(all(&bench.path("served/site")).into_keys().collect::<Vec<_>>(), ["", "a", "taken"]);
    }

    #[test]
    fn a_link_that_prevents_deletion_is_named() {
        let bench = Bench::new();
        let server = bench.serve_with(&["--allow-delete"]);
        tree(&bench, "client/site", &["d/a"]);
        tree(&bench, "served", &["site/old"]);
        std::os::unix::fs::symlink("a", bench.path("client/site/d/link")).unwrap();
        let put = bench.run(&["put", "--delete", "site", &server.url("")]);
        assert_eq!(put.status.code(), Some(3));
        assert!(said(&put).contains("the link d/link is not sent; exclude it"), "{}", said(&put));
        ok(&bench.run(&["put", "--delete", "--exclude", "/d/link", "site", &server.url("")]));
        assert!(!bench.path("served/site/old").exists());
    }

    #[test]
    fn more_than_max_delete_deletes_nothing() {
        let bench = Bench::new();
        let server = bench.serve_with(&["--allow-delete"]);
        tree(&bench, "client/site", &["a"]);
        tree(&bench, "served", &["site/old", "site/d/older"]);
        let url = server.url("");
        let stopped = |output: &std::process::Output| {
            assert_eq!(output.status.code(), Some(25), "{}", said(output));
            assert!(said(output).contains("--max-delete limit: nothing was deleted: 3 entries"), "{}", said(output));
        };
        for extra in [&["-n"][..], &[]] {
            stopped(&bench.run(&[&["put", "--delete", "--max-delete", "2", "site", &url], extra].concat()));
        }
        assert!(bench.path("served/site/old").exists() && bench.path("served/site/a").exists());
        ok(&bench.run(&["put", "--delete", "--max-delete", "3", "site", &url]));
        assert_eq!(all(&bench.path("served/site")).into_keys().collect::<Vec<_>>(), ["", "a"]);
        tree(&bench, "client/copy", &["old", "d/older"]);
        let get = |most| bench.run(&["get", "--delete", "--max-delete", most, &server.url("site/"), "-o", "copy"]);
        stopped(&get("0"));
        assert!(bench.path("client/copy/d/older").exists() && bench.path("client/copy/a").exists());
        ok(&get("3"));
        assert_eq!(all(&bench.path("client/copy")).into_keys().collect::<Vec<_>>(), ["", "a"]);
    }

    #[test]
    fn an_interrupted_upload_deletes_nothing() {
        let bench = Bench::new();
        let server = bench.serve_with(&["--allow-delete"]);
        tree(&bench, "served", &["site/old"]);
        tree(&bench, "client/site", &["a"]);
        bench.write("client/site/large", 3_000_000);
        let (_link, port) = bench.emulate("rate=2Mbit,rtt=20ms,buffer=60KB", &server);
        let mut put = bench.pcc(&["put", "--delete", "site", &server.url_by(port, "")]).spawn().unwrap();
        wait_until("the large file is under way", || {
            let part = bench.path("served/site").read_dir().unwrap();
            part.filter_map(|entry| entry.unwrap().metadata().ok()).any(|found| found.len() > 100_000)
        });
        put.kill().unwrap();
        put.wait().unwrap();
        assert!(bench.path("served/site/old").exists());
        // The unfinished upload is nobody's to delete, in whichever directory.
        std::fs::rename(bench.path("served/site"), bench.path("served/other")).unwrap();
        std::fs::create_dir_all(bench.path("served/site")).unwrap();
        std::fs::rename(bench.path("served/other"), bench.path("served/site/other")).unwrap();
        std::fs::remove_file(bench.path("client/site/large")).unwrap();
        let put = bench.run(&["put", "--delete", "site", &server.url("")]);
        ok(&put);
        let left: Vec<_> =
            bench.path("served/site/other").read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(left.len() == 1 && left[0].to_str().unwrap().starts_with(".pcc-upload-"), "{left:?}: {}", said(&put));
        assert!(said(&put).contains("other stays"), "{}", said(&put));
    }

    #[test]
    fn a_server_that_allows_no_deleting_says_so() {
        let bench = Bench::new();
        let server = bench.serve(0);
        tree(&bench, "client/site", &["a"]);
        tree(&bench, "served", &["site/old"]);
        let put = bench.run(&["put", "--delete", "site", &server.url("")]);
        assert_eq!(put.status.code(), Some(1), "{}", said(&put));
        assert!(said(&put).contains("--allow-delete"), "{}", said(&put));
        assert!(bench.path("served/site/old").exists() && bench.path("served/site/a").exists());
    }
}
