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
    let put = || last(&bench.run(&["put", "tree", &server.url(""), "--json"]));
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
