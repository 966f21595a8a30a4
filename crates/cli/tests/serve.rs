//! `pcc serve` as the one who starts it sees it.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running `pcc serve` of the directory `served dir`, and a directory to put things into.
struct Bench {
    dir: tempfile::TempDir,
    server: Child,
    /// The server's words at its start.
    printed: Vec<String>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Bench {
    fn new(prepare: impl FnOnce(&std::path::Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let served = dir.path().join("served dir");
        std::fs::create_dir(&served).unwrap();
        std::fs::create_dir(dir.path().join("client")).unwrap();
        prepare(&served);
        let mut server = pcc(&dir)
            .arg("serve")
            .arg(served)
            .args(["-l", "localhost:0", "--limit", "40Mbit"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut printed = Vec::new();
        for line in lines {
            let is_last = line.contains("pcc get");
            printed.push(line);
            if is_last {
                break;
            }
        }
        Self { dir, server, printed }
    }

    fn client(&self, name: &str) -> PathBuf {
        self.dir.path().join("client").join(name)
    }

    /// Runs, in a shell, the command that the server printed.
    fn run_what_was_printed(&self) -> Output {
        let tool = PathBuf::from(env!("CARGO_BIN_EXE_pcc"));
        let path = format!("{}:{}", tool.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let command = self.printed.last().expect("a command");
        Command::new("sh").arg("-c").arg(command).current_dir(self.client("")).env("PATH", path).output().unwrap()
    }
}

fn pcc(dir: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.env("XDG_STATE_HOME", dir.path().join("state")).stderr(Stdio::null());
    command
}

#[test]
fn the_printed_command_runs_as_it_is() {
    let mut bench = Bench::new(|served| std::fs::write(served.join("file"), "content").unwrap());
    let got = bench.run_what_was_printed();
    assert!(got.status.success(), "{:?}: {got:?}", bench.printed);
    assert_eq!(std::fs::read_to_string(bench.client("served dir/file")).unwrap(), "content");

    let pid = rustix::process::Pid::from_child(&bench.server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let asked = Instant::now();
    let status = loop {
        if let Some(status) = bench.server.try_wait().unwrap() {
            break status;
        }
        assert!(asked.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}");
}

#[test]
fn directory_with_name_that_is_no_text_is_not_downloaded_whole() {
    let bench = Bench::new(|served| {
        std::fs::write(served.join("file"), "content").unwrap();
        std::fs::write(served.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "lost").unwrap();
    });
    let got = bench.run_what_was_printed();
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(
        got.status.code() == Some(3) && said.contains("1 entry") && said.contains("UTF-8") && !said.contains("named"),
        "{got:?}"
    );
    assert_eq!(std::fs::read_to_string(bench.client("served dir/file")).unwrap(), "content");
}

/// The output of `pcc serve --writable` with these arguments.
fn printed(arguments: &[&str], token: Option<&str>) -> String {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("my token"), "secret-of-the-file").unwrap();
    let mut command = pcc(&dir);
    command.current_dir(dir.path()).args(["serve", "--writable", "-l", "localhost:0"]).args(arguments);
    match token {
        Some(token) => command.env("PCC_TOKEN", token),
        None => command.env_remove("PCC_TOKEN"),
    };
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    for line in BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok) {
        text += &format!("{line}\n");
        if line.contains("pcc put") {
            break;
        }
        if line.contains("pcc get") {
            // Nothing else comes from one that forgets how to upload.
            let pid = rustix::process::Pid::from_child(&server);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(5));
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            });
        }
    }
    let _ = server.kill();
    let _ = server.wait();
    text
}

#[test]
fn the_upload_line_shows_only_a_token_made_here() {
    let made = printed(&[], None);
    assert!(made.contains("PCC_TOKEN=") && made.contains("pcc put FILE 'https://"), "{made}");
    let given = printed(&[], Some("secret-of-the-variable"));
    assert!(given.contains("pcc put FILE 'https://") && given.contains("PCC_TOKEN"), "{given}");
    let file = printed(&["--token-file", "my token"], None);
    assert!(file.contains("pcc put FILE 'https://") && file.contains("my token"), "{file}");
    assert!(!format!("{given}{file}").contains("secret-of"), "{given}{file}");
}

#[test]
fn a_growing_log_is_downloaded_as_long_as_it_was() {
    let line = b"another line of this log\n";
    let bench = Bench::new(|served| std::fs::write(served.join("log"), line.repeat(200_000)).unwrap());
    let log = bench.dir.path().join("served dir/log");
    let writing = std::thread::spawn({
        let (log, copy) = (log.clone(), bench.client("log"));
        move || {
            let mut file = std::fs::File::options().append(true).open(log).unwrap();
            let begun = Instant::now();
            while !copy.exists() && begun.elapsed() < PATIENCE {
                file.write_all(line).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let root = bench.printed.iter().find_map(|line| line.trim().strip_prefix("https://")).expect("an address");
    let got = Command::new(env!("CARGO_BIN_EXE_pcc"))
        .args(["get", &format!("https://{}", root.replacen('/', "/log", 1)), "--json", "-o"])
        .arg(bench.client("log"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&got.stdout);
    assert!(got.status.success() && said.lines().last().unwrap().contains("\"verified\":true"), "{got:?}");
    let copy = std::fs::read(bench.client("log")).unwrap();
    writing.join().unwrap();
    let whole = std::fs::read(log).unwrap();
    assert!(copy.len() >= 200_000 * line.len() && whole.starts_with(&copy), "{} of {} bytes", copy.len(), whole.len());
}

#[cfg(target_os = "linux")]
#[test]
fn too_few_open_files_are_an_error_that_names_the_limit() {
    for limit in 4..24 {
        let script = format!("ulimit -n {limit} && exec \"$@\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).args([
            "sh",
            env!("CARGO_BIN_EXE_pcc"),
            "get",
            "https://127.0.0.1:1/x",
            "-o",
            "-",
        ]);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 5)) && !told.contains("panicked"), "{limit}: {told}");
        let named = told.contains(&format!("which is {limit},")) && told.contains("ulimit -n");
        assert!(named || output.status.code() == Some(5), "{limit}: {told}");
    }
}
