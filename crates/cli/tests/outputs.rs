//! Where `pcc` writes what it was told to write: links, pipes, and what was there before.
#![cfg(unix)]

mod bench;

use bench::{Bench, data, said};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// Arguments with which `pcc sim` makes a page at once.
const SIM: [&str; 5] = ["sim", "rate=10Mbit,rtt=20ms,buffer=100KB", "--time-limit", "1s", "-o"];

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_page_goes_to_where_its_link_leads_and_nowhere_else() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("pages")).unwrap();
    std::fs::write(bench.path("pages/old.html"), "old").unwrap();
    set_mode(&bench.path("pages/old.html"), 0o600);
    for name in ["old.html", "new.html"] {
        symlink(format!("../pages/{name}"), bench.path("client").join(name)).unwrap();
        let done = bench.run(&[&SIM[..], &[name]].concat());
        assert!(done.status.success(), "{}", said(&done));
        assert!(bench.path("client").join(name).is_symlink(), "{name} is what it was");
        let page = std::fs::read_to_string(bench.path("pages").join(name)).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    }
    assert_eq!(mode(&bench.path("pages/old.html")), 0o600, "who could not read it can't now");
    assert_eq!(
        (bench.names("client"), bench.names("pages")),
        (vec!["new.html".into(), "old.html".into()], bench.names("client"))
    );
}

#[test]
fn a_page_goes_through_a_pipe_which_stays() {
    let bench = Bench::new();
    pipe(&bench.path("client/pipe"));
    let reader = std::thread::spawn({
        let pipe = bench.path("client/pipe");
        move || std::fs::read_to_string(pipe).unwrap()
    });
    let done = bench.run(&[&SIM[..], &["pipe"]].concat());
    assert!(done.status.success(), "{}", said(&done));
    assert!(bench.path("client/pipe").symlink_metadata().unwrap().file_type().is_fifo());
    assert!(reader.join().unwrap().ends_with("</html>\n"));
    assert_eq!(bench.names("client"), ["pipe"]);
}

/// The kind of `/dev/stdout`.
#[cfg(target_os = "linux")]
#[test]
fn page_goes_to_standard_output_behind_text_whatever_that_is() {
    let bench = Bench::new();
    let link = bench.path("client/stdout");
    symlink("/proc/self/fd/1", &link).unwrap();
    let command = [&SIM[..], &["stdout"]].concat();
    let piped = bench.run(&command);
    let file = std::fs::File::create(bench.path("client/out")).unwrap();
    let status = bench.pcc(&command).stdout(file).status().unwrap();
    assert!(piped.status.success() && status.success(), "{}", said(&piped));
    let written = std::fs::read(bench.path("client/out")).unwrap();
    for out in [piped.stdout, written] {
        let text = String::from_utf8(out).unwrap();
        let (table, page) = text.split_once("<!DOCTYPE html>").expect("the page");
        assert!(table.contains("seed 1") && page.ends_with("</html>\n"), "{table}");
    }
    assert!(link.is_symlink());
    assert_eq!(bench.names("client"), ["out", "stdout"]);
}

#[test]
fn a_download_onto_a_link_keeps_the_target_s_mode() {
    let bench = Bench::new();
    let content = bench.write("served/file", 300_000);
    let server = bench.serve(&[]);
    std::fs::create_dir(bench.path("store")).unwrap();
    std::fs::write(bench.path("store/old"), "old").unwrap();
    set_mode(&bench.path("store/old"), 0o600);
    symlink(bench.path("store/old"), bench.path("client/old")).unwrap();
    symlink("../store/new", bench.path("client/file")).unwrap();
    for output in [&["-o", "old"][..], &[]] {
        let got = bench.run(&[&["get", &server.url("file")], output].concat());
        assert!(got.status.success(), "{}", said(&got));
    }
    for (link, file) in [("client/old", "store/old"), ("client/file", "store/new")] {
        assert!(bench.path(link).is_symlink() && std::fs::read(bench.path(file)).unwrap() == content, "{link}");
    }
    assert_eq!(mode(&bench.path("store/old")), 0o600);
    assert_eq!(
        (bench.names("client"), bench.names("store")),
        (vec!["file".into(), "old".into()], vec!["new".into(), "old".into()])
    );
}

#[test]
fn a_download_replaces_no_pipe() {
    let bench = Bench::new();
    bench.write("served/file", 1000);
    let server = bench.serve(&[]);
    pipe(&bench.path("client/pipe"));
    symlink("pipe", bench.path("client/link")).unwrap();
    for name in ["pipe", "link"] {
        let got = bench.run(&["get", &server.url("file"), "-o", name]);
        assert!(got.status.code() == Some(2) && said(&got).contains(&format!("`-o - > {name}`")), "{}", said(&got));
    }
    assert!(bench.path("client/pipe").symlink_metadata().unwrap().file_type().is_fifo());
    assert!(bench.path("client/link").is_symlink());
}

#[test]
fn an_upload_is_as_private_as_what_it_replaces() {
    let bench = Bench::new();
    let content = bench.write("client/file", 300_000);
    std::fs::write(bench.path("served/file"), "old").unwrap();
    set_mode(&bench.path("served/file"), 0o4600);
    std::fs::write(bench.path("client/token"), "correct-horse").unwrap();
    let server = bench.serve(&["--writable", "--token-file", "token"]);
    let put = bench.run(&["put", "file", &server.url(""), "--token-file", "token"]);
    assert!(put.status.success(), "{}", said(&put));
    assert!(std::fs::read(bench.path("served/file")).unwrap() == content);
    assert_eq!(mode(&bench.path("served/file")), 0o600, "and nothing of it runs as another user");
}

/// A link to a file elsewhere in the served directory, and one to a directory.
#[test]
fn links_within_served_directory_are_listed_as_they_are_served() {
    let bench = Bench::new();
    for dir in ["served/a", "served/b"] {
        std::fs::create_dir(bench.path(dir)).unwrap();
    }
    let content = bench.write("served/file", 1000);
    bench.write("served/b/other", 2000);
    symlink("../file", bench.path("served/a/link")).unwrap();
    symlink("../b", bench.path("served/a/dir")).unwrap();
    let server = bench.serve(&[]);
    let got = bench.run(&["get", &server.url(""), "-o", "all"]);
    assert!(got.status.success(), "{}", said(&got));
    assert!(std::fs::read(bench.path("client/all/a/link")).unwrap() == content);
    assert!(std::fs::read(bench.path("client/all/a/dir/other")).unwrap() == data(2000, 0));

    // A way back to where it lies would be gone for ever.
    symlink("..", bench.path("served/a/up")).unwrap();
    symlink(".", bench.path("served/self")).unwrap();
    let got = bench.run(&["get", &server.url(""), "-o", "again"]);
    assert!(got.status.code() == Some(3) && said(&got).contains("2 entries are missing"), "{}", said(&got));
    assert_eq!(bench.names("client/again"), ["a", "b", "file"]);
    assert_eq!(bench.names("client/again/a"), ["dir", "link"]);
}

#[test]
fn no_name_reaches_the_terminal_as_a_command() {
    let bench = Bench::new();
    bench.write("served/\u{1b}[31mred", 1000);
    let server = bench.serve(&[]);
    let got = bench.run(&["get", &server.url("%1B%5B31mred")]);
    assert!(got.status.success(), "{}", said(&got));
    let text = said(&got);
    assert!(!text.contains('\u{1b}') && text.contains("red: 1.00 kB in"), "{text:?}");
    let got = bench.run(&["get", &server.url(""), "-o", "\u{1b}[31mdir"]);
    assert!(got.status.success() && !said(&got).contains('\u{1b}'), "{}", said(&got));
}

#[test]
fn a_page_of_a_simulated_scenario_names_its_own_command() {
    let bench = Bench::new();
    let scenario = "title = \"Mine\"\nsource = \"me\"\nalgorithms = [\"cubic\", \"quic:pcc\"]\nduration = \"2s\"\nstep = \"1s\"\n\
                    seeds = [1]\npath = { rate = \"10Mbit\", rtt = \"20ms\", buffer = \"1bdp\" }\n";
    std::fs::write(bench.path("client/mine.toml"), scenario).unwrap();
    let done = bench.run(&["sim", "mine.toml", "-o", "page.html"]);
    assert!(done.status.success(), "{}", said(&done));
    let page = std::fs::read_to_string(bench.path("client/page.html")).unwrap();
    assert!(
        page.contains("<title>Simulated: Mine</title>") && page.contains("pcc sim mine.toml -o page.html"),
        "{page}"
    );
    for claim in ["real Linux", "pcc lab run", "Kernels", "promises kept", "Linux simulated"] {
        assert!(!page.contains(claim), "{claim}");
    }
}
