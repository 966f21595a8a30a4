//! Commands as rsync's users write them.

mod upload;

use std::path::Path;
#[cfg(unix)]
use std::process::Command;
use std::process::Output;
use std::time::{Duration, SystemTime};
use upload::{Bench, Server, said};

/// A folder `client/tree`, and what the server has of it.
fn bench() -> (Bench, Server) {
    let bench = Bench::new();
    for (path, text) in [("a.c", "a"), ("b.o", "b"), ("sub/c.c", "c"), ("sub/deep/d.jpg", "d"), ("sub/e.o", "e")] {
        write(&bench.path("client/tree").join(path), text);
    }
    let server = bench.serve(0);
    (bench, server)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The files below a directory.
fn files(top: &Path) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![top.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                found.push(entry.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn set_modified(path: &Path, seconds_ago: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds_ago)).unwrap();
}

#[test]
fn the_first_rule_that_matches_decides_both_ways() {
    let (bench, server) = bench();
    let rules = ["--include", "*/", "--include", "*.jpg", "--exclude", "/sub/*", "--include", "*.c", "--exclude", "*"];
    done(&bench.run(&[&["put", "tree", &server.url("up")][..], &rules].concat()));
    assert_eq!(files(&bench.path("served/up")), ["a.c", "sub/deep/d.jpg"]);
    std::fs::write(bench.path("client/list"), "# pictures\n+ */\n+ *.jpg\n- *\n").unwrap();
    done(&bench.run(&["put", "tree", &server.url("all")]));
    done(&bench.run(&["get", &server.url("all/"), "got/", "--include-from", "list"]));
    assert_eq!(files(&bench.path("client/got")), ["sub/deep/d.jpg"]);
    let wrong = bench.run(&["put", "tree", &server.url("up"), "--exclude", "*.o", "--exclude", "!keep.o"]);
    assert!(wrong.status.code() == Some(2) && said(&wrong).contains("--include PATTERN"), "{}", said(&wrong));
}

#[test]
fn listed_files_come_with_their_paths_both_ways() {
    let (bench, server) = bench();
    std::fs::write(bench.path("client/list"), "a.c\nsub/deep\n").unwrap();
    done(&bench.run(&["put", "tree", &server.url("up"), "--files-from", "list"]));
    assert_eq!(files(&bench.path("served/up")), ["a.c", "sub/deep/d.jpg"]);
    std::fs::write(bench.path("client/list"), "sub/c.c\nnowhere\n").unwrap();
    done(&bench.run(&["put", "tree", &server.url("all")]));
    let (all, short) = (server.url("all/"), server.url("short"));
    for words in [["get", &all, "got"], ["put", "tree", &short]] {
        let some = bench.run(&[&words[..], &["--files-from", "list"]].concat());
        assert!(some.status.code() == Some(3) && said(&some).contains("nowhere is in the list"), "{}", said(&some));
    }
    assert_eq!(files(&bench.path("client/got")), ["sub/c.c"]);
    assert_eq!(files(&bench.path("served/short")), ["sub/c.c"]);
    let file = bench.run(&["put", "tree/a.c", &server.url("x"), "--files-from", "list"]);
    assert_eq!(file.status.code(), Some(2), "{}", said(&file));
}

#[test]
fn files_stay_by_age_or_because_they_are_there() {
    let (bench, server) = bench();
    for (there, seconds_ago) in [("served/x/a.c", 0), ("served/x/b.o", 9000)] {
        write(&bench.path(there), "theirs");
        set_modified(&bench.path(there), seconds_ago);
    }
    for here in ["client/tree/a.c", "client/tree/b.o"] {
        set_modified(&bench.path(here), 100);
    }
    let there = || ["a.c", "b.o", "sub/c.c"].map(|name| text(&bench.path("served/x").join(name)).unwrap_or_default());
    done(&bench.run(&["put", "tree", &server.url("x"), "--ignore-existing", "--exclude", "sub"]));
    assert_eq!(there(), ["theirs", "theirs", ""]);
    done(&bench.run(&["put", "-au", "tree", &server.url("x"), "--existing"]));
    assert_eq!(there(), ["theirs", "b", ""]);
    let one = bench.run(&["put", "-u", "tree/a.c", &server.url("x/a.c")]);
    assert!(one.status.success() && said(&one).contains("left as it is"), "{}", said(&one));
    // The same in the other direction: `b.o` is the older one here.
    write(&bench.path("client/tree/b.o"), "ours");
    set_modified(&bench.path("client/tree/a.c"), 9000);
    done(&bench.run(&["get", "-u", &server.url("x/"), "tree"]));
    let here = ["a.c", "b.o"].map(|name| text(&bench.path("client/tree").join(name)).unwrap());
    assert_eq!(here, ["theirs", "ours"]);
    write(&bench.path("served/x/new"), "new");
    done(&bench.run(&["get", &server.url("x/"), "tree", "--existing", "--dry-run"]));
    done(&bench.run(&["get", &server.url("x/"), "tree", "--ignore-existing"]));
    assert_eq!(text(&bench.path("client/tree/b.o")).unwrap(), "ours");
    assert_eq!(text(&bench.path("client/tree/new")).unwrap(), "new");
}

#[test]
fn a_replaced_file_is_kept_if_it_is_asked_for_both_ways() {
    let (bench, server) = bench();
    write(&bench.path("served/x/a.c"), "old");
    write(&bench.path("served/x/b.o"), "b");
    done(&bench.run(&["put", "-b", "tree", &server.url("x")]));
    let there = |name: &str| text(&bench.path("served/x").join(name));
    assert_eq!((there("a.c"), there("a.c~"), there("b.o~")), (Some("a".into()), Some("old".into()), None));
    write(&bench.path("client/tree/a.c"), "mine");
    done(&bench.run(&["get", &server.url("x/a.c"), "tree/a.c", "--backup", "--suffix", ".old"]));
    let here = |name: &str| text(&bench.path("client/tree").join(name));
    assert_eq!((here("a.c"), here("a.c.old")), (Some("a".into()), Some("mine".into())));
    let both = bench.run(&["put", "-b", "--delete", "tree", &server.url("x")]);
    assert_eq!(both.status.code(), Some(2), "{}", said(&both));
}

#[cfg(unix)]
#[test]
fn permissions_change_on_the_way_as_chmod_says() {
    use std::os::unix::fs::PermissionsExt;
    let (bench, server) = bench();
    let mode = |path: &str| bench.path(path).metadata().unwrap().permissions().mode() & 0o7777;
    done(&bench.run(&["put", "-p", "--chmod", "D750,F640", "tree", &server.url("x")]));
    assert_eq!((mode("served/x/sub"), mode("served/x/sub/c.c")), (0o750, 0o640));
    done(&bench.run(&["get", "-a", "--chmod=go=", "--chmod=Fu+x", &server.url("x/"), "got"]));
    assert_eq!((mode("client/got/sub"), mode("client/got/sub/c.c")), (0o700, 0o700));
    let idle = bench.run(&["put", "--chmod", "600", "tree", &server.url("x")]);
    assert!(idle.status.code() == Some(2) && said(&idle).contains("add -p or -a"), "{}", said(&idle));
}

#[test]
fn bandwidth_is_limited_in_rsync_s_units() {
    let (bench, server) = bench();
    bench.write("client/file", 600_000);
    let put = bench.run(&["put", "file", &server.url(""), "--bwlimit=300", "--json"]);
    done(&put);
    let last = upload::lines(&put).pop().unwrap();
    // 300 KiB a second; a rate in bits would be eight times as slow.
    assert!(last["seconds"].as_f64().unwrap() > 1.0 && last["goodput_mbps"].as_f64().unwrap() < 3.0, "{last}");
}

#[cfg(unix)]
#[test]
fn links_by_url_stay_inside_both_ways() {
    use std::os::unix::fs::symlink;
    let (bench, server) = bench();
    for (name, to) in [("sub/up", "../a.c"), ("sub/out", "/etc/hostname")] {
        symlink(to, bench.path("client/tree").join(name)).unwrap();
    }
    let put = bench.run(&["put", "-a", "tree", &server.url("x")]);
    assert!(put.status.code() == Some(3) && said(&put).contains("leads out of the directory"), "{}", said(&put));
    let there = bench.path("served/x/sub");
    assert_eq!(there.join("up").read_link().unwrap(), Path::new("../a.c"));
    assert!(!there.join("out").is_symlink());
    symlink("/etc/hostname", there.join("out")).unwrap();
    let get = bench.run(&["get", "-a", &server.url("x/"), "links"]);
    assert!(
        get.status.code() == Some(3) && said(&get).contains("leads out of what the server serves"),
        "{}",
        said(&get)
    );
    assert!(bench.path("client/links/sub/up").is_symlink() && !bench.path("client/links/sub/out").exists());
    let files = bench.run(&["get", "-a", "--no-links", &server.url("x/"), "files"]);
    assert_eq!(files.status.code(), Some(3), "{}", said(&files));
    assert_eq!(text(&bench.path("client/files/sub/up")).as_deref(), Some("a"));
    assert!(!bench.path("client/files/sub/up").is_symlink());
}

#[cfg(unix)]
#[test]
fn followed_links_arrive_as_what_they_lead_to_both_ways() {
    use std::os::unix::fs::symlink;
    let (bench, server) = bench();
    write(&bench.path("elsewhere/f.txt"), "far");
    for (name, to) in [("sub/up", "../a.c"), ("out", "../../elsewhere"), ("none", "nowhere")] {
        symlink(to, bench.path("client/tree").join(name)).unwrap();
    }
    let put = bench.run(&["put", "-aL", "tree", &server.url("x")]);
    assert!(put.status.code() == Some(3) && said(&put).contains("none is a link that leads nowhere"), "{}", said(&put));
    let there = |name: &str| text(&bench.path("served/x").join(name));
    assert_eq!((there("sub/up"), there("out/f.txt")), (Some("a".into()), Some("far".into())));
    assert!(!bench.path("served/x/out").is_symlink() && !bench.path("served/x/sub/up").is_symlink());
    symlink("a.c", bench.path("served/x/again")).unwrap();
    done(&bench.run(&["get", "-aL", &server.url("x/"), "got"]));
    assert!(
        text(&bench.path("client/got/again")).as_deref() == Some("a") && !bench.path("client/got/again").is_symlink()
    );
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_file_keeps_it_if_that_is_asked_for() {
    let (bench, server) = bench();
    write(&bench.path("served/x/link"), "theirs");
    write(&bench.path("client/got/link"), "ours");
    std::os::unix::fs::symlink("a.c", bench.path("client/tree/link")).unwrap();
    for _ in 0..2 {
        done(&bench.run(&["put", "-ab", "tree", &server.url("x")]));
        done(&bench.run(&["get", "-ab", "--exclude", "*~", &server.url("x/"), "got"]));
    }
    for (path, kept) in [("served/x", "theirs"), ("client/got", "ours")] {
        assert_eq!(bench.path(path).join("link").read_link().unwrap(), Path::new("a.c"), "{path}");
        assert_eq!(text(&bench.path(path).join("link~")).as_deref(), Some(kept), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_directory_does_not_go_where_a_link_leads() {
    let (bench, server) = bench();
    write(&bench.path("served/x/elsewhere/mine"), "mine");
    std::os::unix::fs::symlink("elsewhere", bench.path("served/x/sub")).unwrap();
    let put = bench.run(&["put", "-a", "tree", &server.url("x")]);
    assert!(put.status.code() == Some(3) && said(&put).contains("nothing of sub is there"), "{}", said(&put));
    assert_eq!(files(&bench.path("served/x/elsewhere")), ["mine"]);
    std::fs::write(bench.path("served/x/again"), "a").unwrap();
    std::fs::remove_file(bench.path("served/x/a.c")).unwrap();
    std::os::unix::fs::symlink("again", bench.path("served/x/a.c")).unwrap();
    bench.run(&["put", "-a", "tree", &server.url("x")]);
    assert!(!bench.path("served/x/a.c").is_symlink(), "a link to the same content is no file");
}

/// Text that shrinks to a half.
fn words(bench: &Bench, name: &str) -> Vec<u8> {
    let text: String = (0..400_000u32).map(|n| format!("{} ", n.wrapping_mul(0x9e37_79b9) % 1000)).collect();
    let text = text.as_bytes()[..1_200_000].to_vec();
    std::fs::write(bench.path(name), &text).unwrap();
    text
}

#[test]
fn text_takes_fewer_bytes_on_the_way_if_that_is_asked_for() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let text = words(&bench, "served/text");
    for (file, more) in [("plain", &[][..]), ("short", &["-z"])] {
        done(&bench.run(&[&["get", &server.url("text"), file][..], more].concat()));
        assert!(std::fs::read(bench.path("client").join(file)).unwrap() == text, "{file}");
    }
    let sent = || {
        server
            .requests()
            .iter()
            .filter(|of| of["method"] == "GET")
            .map(|of| of["bytes"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    upload::wait_until("the log", || sent().len() == 2);
    let size = text.len() as u64;
    assert!(sent()[0] == size && sent()[1] < size * 2 / 3, "{:?} of {size}", sent());
}

#[cfg(unix)]
#[test]
fn an_interrupted_transfer_goes_on_compressed_or_not() {
    let bench = Bench::new();
    let server = bench.serve(0);
    let text = words(&bench, "served/text");
    std::fs::write(bench.path("client/text"), &text).unwrap();
    let (_link, port) = bench.emulate("rate=20Mbit,rtt=20ms", &server);
    let (from, to) = (server.url_by(port, "text"), server.url_by(port, "there"));
    for (first, then) in [(&["-z"][..], &[][..]), (&[], &["-z"]), (&["-z"], &["-z"])] {
        for words in [["get", &from, "here"], ["put", "text", &to]] {
            let part = bench.path("client/.here.pcc-part");
            let arrived = || match words[0] {
                "get" => part.metadata().map_or(0, |part| part.len()),
                _ => bench.unfinished_bytes(),
            };
            // Seconds are left when a part has arrived, on a busy machine too.
            let mut running = bench.spawn(&[&words[..], first, &["--bwlimit=100"]].concat());
            upload::wait_until("a part arrives", || arrived() > 300_000);
            let interrupt = Command::new("kill").args(["-INT", &running.0.id().to_string()]).status().unwrap();
            assert!(interrupt.success() && running.0.wait().unwrap().code() == Some(130));
            let rest = bench.run(&[&words[..], then, &["--json"]].concat());
            done(&rest);
            let last = upload::lines(&rest).pop().unwrap();
            assert!(last["resumed_from"].as_u64().unwrap() > 0 && last["verified"] == true, "{last}");
        }
        for path in ["client/here", "served/there"] {
            assert!(std::fs::read(bench.path(path)).unwrap() == text, "{first:?} {then:?}");
            std::fs::remove_file(bench.path(path)).unwrap();
        }
    }
}
