//! How the tool behaves where all commands behave alike.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

fn pcc(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn output_that_nobody_reads_ends_a_command_without_a_word() {
    for arguments in [&["emulate", "--list"][..], &["emulate", "--list", "--json"], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader); // as `head` does when it has seen enough
        let done = pcc(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!((done.status.code(), said.as_str()), (Some(141), ""), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_relay_sums_up_with_code_130() {
    for (signal, code) in [("-INT", 130), ("-TERM", 0)] {
        let mut relay = pcc(&["emulate", "--link", "clean", "--to", "127.0.0.1:9", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(relay.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(line.contains("listening"), "{line}");
        assert!(Command::new("kill").args([signal, &relay.id().to_string()]).status().unwrap().success());
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(relay.wait().unwrap().code(), Some(code), "{signal}");
        assert!(rest.lines().last().is_some_and(|line| line.contains(r#""event":"end""#)), "{rest}");
    }
}

#[test]
fn a_certificate_that_is_not_trusted_is_told_once() {
    let (state, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut server = pcc(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .arg(dir.path())
        .env("XDG_STATE_HOME", state.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let listening: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = listening["urls"][0].as_str().unwrap().split('#').next().unwrap().to_owned() + "file";
    let done = pcc(&["get", &url, "-o", "copy"]).current_dir(state.path()).output().unwrap();
    let _ = server.kill();
    let _ = server.wait();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.starts_with("pcc: ") && said.contains("not trusted") && !said.contains("ERROR"), "{said}");
}

/// Commands that cannot be carried out: the exit code, and the words that say what is wrong or what to write.
const REFUSED: &[(&[&str], i32, &str)] = &[
    (&["emulate", "clean", "--to", "127.0.0.1:0"], 2, "names no port"),
    (&["emulate", "clean", "--to", "127.0.0.1:9", "--time-limit", "5"], 2, "like 500ms, 90s, 10m or 1h"),
    (&["get", "https://127.0.0.1:9/", "--ca", "empty"], 1, "from empty: no certificate in PEM form"),
    (&["perf", "-c", "127.0.0.1", "-n", "0"], 2, "a test moves some bytes"),
    (&["serve", "--writable", "--token-file", "nowhere"], 2, "could not read the token from nowhere"),
    (&["tunnel", "https://127.0.0.1:9/"], 2, "--stdio <HOST:PORT>>"),
    (
        &["tunnel", "-D", "0", "https://127.0.0.1:9/", "--token-file", "nowhere"],
        2,
        "could not read the token from nowhere",
    ),
];

#[test]
fn refusals_say_what_was_wrong_and_exit_as_documented() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("empty"), "").unwrap();
    for (arguments, code, words) in REFUSED {
        let done = pcc(arguments).current_dir(dir.path()).env("XDG_STATE_HOME", dir.path()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(*code) && said.contains(words), "{arguments:?}: {}\n{said}", done.status);
    }
}

#[test]
fn commands_that_left_say_where_they_went() {
    for (arguments, words) in [
        (&["sim", "clean", "--time-limit", "1s"][..], "pcc: `pcc sim` is `pcc-lab sim` now\n"),
        (&["lab", "run", "all"], "pcc: `pcc lab` is `pcc-lab` now\n"),
        (&["race"], "pcc: `pcc race` is `pcc-lab race` now\n"),
        (&["utility", "--help"], "pcc: `pcc utility` is `pcc-lab utility` now\n"),
    ] {
        let done = pcc(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!((done.status.code(), said.as_str(), done.stdout.len()), (Some(2), words, 0), "{arguments:?}");
    }
}

#[test]
fn the_version_says_what_is_built_in() {
    let said = |word| String::from_utf8(pcc(&[word]).output().unwrap().stdout).unwrap();
    let version = format!("pcc {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(said("-V"), format!("{version}\n"));
    assert!(
        said("--version").starts_with(&version) && said("--version").contains("\nPCC for the kernel: "),
        "{}",
        said("--version")
    );
}
