//! `pcc put host:a host:b`: from one computer that ssh reaches to another one, through a command in ssh's place and through a real
//! sshd.
#![cfg(unix)]

mod far;
mod sshd;
mod upload;

use far::{Far, done, same};
use sshd::Sshd;
use std::io::Write;
use std::process::{Command, Stdio};
use upload::{Bench, lines, said, wait_until};

/// A computer `one`, and another one whose home is `served`.
fn two() -> Far {
    let far = Far::new();
    std::fs::create_dir(far.0.path("one")).unwrap();
    far
}

fn nothing_is_here(far: &Far) -> bool {
    std::fs::read_dir(far.here("")).unwrap().count() == 0
}

#[test]
fn a_file_goes_from_one_far_side_to_another() {
    let far = two();
    let name = "it's \"a\" $(file)";
    far.0.write(&format!("one/{name}"), 700_000);
    for (to, path) in [("new name", "new name".to_owned()), ("in/", format!("in/{name}"))] {
        let put = far.run(&["put", &format!("me@one:{name}"), &format!("localhost:{to}"), "--json"]);
        let done = done(&put);
        assert_eq!((&done["verified"], &done["url"]), (&true.into(), &format!("localhost:{path}").into()), "{done}");
        assert!(same(&far.0.path("one").join(name), &far.0.path("served").join(&path)), "{to}");
        assert_eq!(lines(&put).iter().filter(|line| line["event"] == "done").count(), 1, "{}", said(&put));
    }
    let told = far.run(&["put", &format!("one:~/{name}"), "localhost:third"]);
    assert!(told.status.success() && said(&told).contains("localhost:third: 700 kB"), "{}", said(&told));
    assert!(nothing_is_here(&far));
}

#[test]
fn a_tree_goes_as_its_options_say() {
    let far = two();
    std::fs::create_dir_all(far.0.path("one/site/sub")).unwrap();
    far.0.write("one/site/sub/file", 1000);
    far.0.write("one/site/a tmp", 10);
    std::os::unix::fs::symlink("/etc/hostname", far.0.path("one/site/out")).unwrap();
    std::fs::create_dir(far.0.path("served/site")).unwrap();
    far.0.write("served/site/old", 10);
    let words = ["put", "-a", "--delete", "--exclude", "* tmp", "one:site", "localhost:site"];
    let rehearsed = far.run(&[&words[..], &["-n"]].concat());
    assert!(
        rehearsed.status.success() && said(&rehearsed).contains("delete localhost:site/old"),
        "{}",
        said(&rehearsed)
    );
    assert!(far.0.path("served/site/old").exists() && !far.0.path("served/site/sub").exists());
    let last = done(&far.run(&[&words[..], &["--json"]].concat()));
    assert_eq!((&last["files"], &last["links"], &last["deleted"]), (&1.into(), &1.into(), &1.into()), "{last}");
    assert!(same(&far.0.path("one/site/sub/file"), &far.0.path("served/site/sub/file")));
    let link = far.0.path("served/site/out").read_link();
    assert_eq!(link.unwrap().to_str(), Some("/etc/hostname"), "both ends act for one user");
    assert!(!far.0.path("served/site/a tmp").exists() && !far.0.path("served/site/old").exists());
    let partly = far.run(&["put", "one:site", "localhost:again"]);
    assert!(partly.status.code() == Some(3) && said(&partly).contains("out"), "{}", said(&partly));
}

#[test]
fn a_pattern_and_several_sources_go_into_a_directory() {
    let far = two();
    for name in ["a.log", "b.log", "c.txt", ".d.log"] {
        far.0.write(&format!("one/{name}"), 1000);
    }
    far.0.write("client/here", 10);
    let put = far.run(&["put", "one:*.log", "one:c.txt", "here", "localhost:logs"]);
    assert!(put.status.success(), "{}", said(&put));
    let mut names: Vec<_> =
        std::fs::read_dir(far.0.path("served/logs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.log", "b.log", "c.txt", "here"]);
    let one = far.run(&["put", "one:*.log", "localhost:one name"]);
    assert!(one.status.code() == Some(2) && said(&one).contains("write localhost:one name/"), "{}", said(&one));
    let two = far.run(&["put", "one:c.txt", "other:c.txt", "localhost:"]);
    assert!(two.status.code() == Some(2) && said(&two).contains("another source is called `c.txt`"), "{}", said(&two));
    for sources in [["one:*.log", "other:*.log"], ["one:", "other:"], ["one:*.txt", "one:c.txt"]] {
        let twice = far.run(&[&["put"], &sources[..], &["localhost:twice"]].concat());
        assert!(twice.status.code() == Some(2) && said(&twice).contains("may bring a name"), "{}", said(&twice));
        assert!(!far.0.path("served/twice").exists());
    }
}

/// In ssh's place: as `ssh`, but `slow` lets nobody in, and says so a second after somebody has given up.
const SLOW: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$*" in
-G*) ;;
*slow*) touch "$here/waits"; until [ -e "$here/given up" ]; do sleep .1; done; sleep 1; exit 255 ;;
esac
exec "$here/ssh" "$@"
"#;

#[test]
fn ctrl_c_while_ssh_logs_in_for_the_second_ends_all() {
    let far = two();
    far.0.write("one/first", 1000);
    far.0.write("one/third", 1000);
    let slow = far.script("slow", SLOW);
    let mut put = far.0.pcc(&["put", "one:first", "slow:second", "one:third", "localhost:in"]);
    put.args(["--ssh", &slow, "--remote-pcc", env!("CARGO_BIN_EXE_pcc"), "--port-range", "20000-29999"]);
    let mut put = put.spawn().unwrap();
    wait_until("ssh logs in for the second", || far.0.path("waits").exists());
    assert!(Command::new("kill").args(["-INT", &put.id().to_string()]).status().unwrap().success());
    far.0.write("given up", 0);
    assert_eq!(put.wait().unwrap().code(), Some(130));
    assert!(far.0.path("served/in/first").exists() && !far.0.path("served/in/third").exists());
}

#[test]
fn a_file_called_minus_there_is_no_standard_input() {
    let far = two();
    let data = far.0.write("one/-", 1000);
    let put = far.run(&["put", "one:-", "localhost:"]);
    assert!(put.status.success() && std::fs::read(far.0.path("served/-")).unwrap() == data, "{}", said(&put));
}

#[test]
fn a_far_side_uploads_to_a_server_with_its_token() {
    let far = two();
    far.0.write("one/file", 100_000);
    let server = far.0.serve(0);
    let put = |token: &str| far.pcc(&["put", "one:file", &server.url("")]).env("PCC_TOKEN", token).output().unwrap();
    let sent = put("correct-horse");
    assert!(sent.status.success() && same(&far.0.path("one/file"), &far.0.path("served/file")), "{}", said(&sent));
    assert!(!far.text("arguments").contains("correct-horse"));
    assert_eq!(put("wrong-token-here").status.code(), Some(1));
    let none = far.run(&["put", "one:file", &server.url("")]);
    assert!(none.status.code() == Some(2) && said(&none).contains("PCC_TOKEN"), "{}", said(&none));
}

#[test]
fn no_secret_of_either_side_is_on_a_command_line() {
    let far = two();
    far.0.write("one/private name", 100_000);
    let put = far.run(&["put", "one:private name", "localhost:to", "-vv"]);
    assert!(put.status.success(), "{}", said(&put));
    far.keeps_its_secrets(&put);
    assert!(!far.text("arguments").contains("private"));
}

#[test]
fn each_trouble_between_two_says_what_to_do() {
    let far = two();
    far.0.write("one/file", 10);
    for (words, code, told) in [
        (&["put", "one:none", "localhost:x"][..], 1, "one: could not read none"),
        (&["put", "one:*.gz", "localhost:"], 1, "one: nothing is called like ./*.gz"),
        (&["put", "one:file", "localhost:no/such/place"], 1, "localhost: there is no directory for no/such/place"),
        (&["put", "one:file", "localhost:x", "--files-from", "f"], 2, "--files-from is about this computer"),
        (&["put", "one:file", "localhost:x", "--over-ssh"], 2, "--over-ssh is about this computer"),
        (&["put", "https://host/file", "localhost:x"], 2, "comes with `pcc get`"),
    ] {
        let put = far.run(words);
        assert!(put.status.code() == Some(code) && said(&put).contains(told), "{words:?}: {}", said(&put));
        assert_eq!(said(&put).matches(told).count(), 1, "it is told once: {}", said(&put));
    }
    far.0.write("client/one:file", 10);
    let named = far.run(&["put", "one:file", "localhost:x"]);
    assert!(named.status.success() && said(&named).contains("./one:file is the file"), "{}", said(&named));
}

/// In ssh's place: the destination is where nothing listens.
const DEAF: &str = r#"#!/bin/sh
case "$*" in
*"one exec"* | *"one /"*) exec "$(dirname "$0")/ssh" "$@" ;;
esac
echo '{"pcc_over_ssh":1,"version":"0","listening":{"port":1,"fingerprint":"sha256=0000000000000000000000000000000000000000000000000000000000000000","secret":"a","token":"b","file":"x","name":"x"}}'
cat > /dev/null
"#;

#[test]
fn two_that_do_not_see_each_other_are_told_ways_around() {
    let far = two();
    far.0.write("one/a file", 10);
    let deaf = far.script("deaf", DEAF);
    let mut put = far.0.pcc(&["put", "one:a file", "localhost:x", "--json"]);
    put.args(["--ssh", &deaf, "--remote-pcc", env!("CARGO_BIN_EXE_pcc")]);
    let put = put.output().unwrap();
    let text = said(&put);
    assert_eq!(put.status.code(), Some(5), "{text}");
    for words in [
        "one did not reach localhost:x, or lost it",
        "let UDP 60000-61000 from one in",
        "`pcc get 'one:a file'`",
        "`pcc ssh`",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let errors = lines(&put).into_iter().filter(|line| line["event"] == "error");
    assert_eq!(errors.map(|error| error["exit_code"].as_u64()).collect::<Vec<_>>(), [Some(5)], "{text}");
}

#[test]
fn an_earlier_version_is_told_to_be_too_old() {
    let far = two();
    let old = r#"read -r line; echo '{"pcc_over_ssh":1,"version":"0","refused":{"reason":"unknown variant `send`, expected one of","is_misuse":false}}'"#;
    let script =
        format!("#!/bin/sh\ncase \"$*\" in *one*) {old} ;; *) exec \"$(dirname \"$0\")/ssh\" \"$@\" ;; esac\n");
    let old = far.script("old", &script);
    let mut put = far.0.pcc(&["put", "one:x", "localhost:x", "--ssh", &old]);
    let put = put.args(["--remote-pcc", env!("CARGO_BIN_EXE_pcc"), "--port-range", "20000-29999"]).output().unwrap();
    assert!(put.status.code() == Some(1) && said(&put).contains("on one is too old"), "{}", said(&put));
}

#[test]
fn an_interruption_ends_both_far_sides_and_can_go_on() {
    let far = two();
    far.0.write("one/file", 6_000_000);
    let mut put = far.pcc(&["put", "one:file", "localhost:file", "--limit", "8Mbit"]).spawn().unwrap();
    wait_until("a third is there", || far.0.unfinished_bytes() > 2_000_000);
    assert!(Command::new("kill").args(["-INT", &put.id().to_string()]).status().unwrap().success());
    assert_eq!(put.wait().unwrap().code(), Some(130));
    wait_until("both end", || far.text("ended").lines().count() == 2);
    let done = done(&far.run(&["put", "one:file", "localhost:file", "--json"]));
    assert!(done["resumed_from"].as_u64().unwrap() > 500_000, "{done}");
    assert!(same(&far.0.path("one/file"), &far.0.path("served/file")));
}

#[test]
fn the_bar_is_drawn_for_a_terminal_of_the_asking_side() {
    let bench = Bench::new();
    bench.write("client/file", 2_000_000);
    let server = bench.serve(0);
    for (columns, is_drawn) in [("null", false), ("60", true)] {
        let order = format!(
            r#"{{"pcc_over_ssh":1,"wish":{{"send":{{"from":"file","options":["--limit=8Mbit"],"url":"{}","token":"correct-horse","columns":{columns}}}}},"ports":{{"first":1,"last":2}},"patience_s":9,"through_ssh":false}}"#,
            server.url(columns)
        );
        let mut far = bench.pcc(&["serve", "--once-over-ssh"]).stdin(Stdio::piped()).spawn().unwrap();
        // Its end would end the upload.
        let mut input = far.stdin.take().unwrap();
        writeln!(input, "{order}").unwrap();
        let told = far.wait_with_output().unwrap();
        assert!(told.status.success() && bench.path("served").join(columns).exists(), "{}", said(&told));
        let bar = String::from_utf8_lossy(&told.stderr).contains("left  limit");
        assert_eq!(bar, is_drawn, "{}", said(&told));
    }
}

#[test]
#[ignore = "needs openssh-server; `.ci/steps` runs it where that is installed"]
fn a_real_sshd_at_both_ends_moves_odd_names_and_ends() {
    let bench = Bench::new();
    let sshd = Sshd::start(&bench);
    let pcc = |arguments: &[&str]| {
        let remote = ["--ssh", &sshd.ssh, "--remote-pcc", env!("CARGO_BIN_EXE_pcc"), "--port-range", "20000-29999"];
        bench.pcc(&[arguments, &remote[..]].concat())
    };
    let at = |path: &str| format!("127.0.0.1:{}", bench.path(path).display());
    std::fs::create_dir(bench.path("one")).unwrap();
    for name in ["a 'file", "b \"$HOME\"", "c\n`x` *"] {
        let data = bench.write(&format!("one/{name}"), 300_000);
        let put = pcc(&["put", &at(&format!("one/{name}")), &at("served/new dir/"), "--json"]).output().unwrap();
        assert_eq!(done(&put)["verified"], true);
        assert!(std::fs::read(bench.path("served/new dir").join(name)).unwrap() == data, "{name}");
    }
    bench.write("one/large", 6_000_000);
    let words = ["put", &at("one/large"), &at("served/large"), "--limit", "8Mbit"];
    let mut put = pcc(&words).spawn().unwrap();
    wait_until("a third is there", || bench.unfinished_bytes() > 2_000_000);
    assert!(Command::new("kill").args(["-INT", &put.id().to_string()]).status().unwrap().success());
    assert_eq!(put.wait().unwrap().code(), Some(130));
    let again = pcc(&["put", &at("one/large"), &at("served/large"), "--json"]).output().unwrap();
    assert!(done(&again)["resumed_from"].as_u64().unwrap() > 500_000, "{}", said(&again));
    assert!(same(&bench.path("one/large"), &bench.path("served/large")));
    let none = pcc(&["put", &at("none"), &at("served/x")]).output().unwrap();
    assert!(none.status.code() == Some(1) && said(&none).contains("could not read"), "{}", said(&none));
}
