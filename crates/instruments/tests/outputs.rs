//! Where `pcc-lab` writes pages: through links and pipes, and onto what was there before.
#![cfg(target_os = "linux")]

use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

/// Arguments with which `pcc-lab sim` makes a page at once.
const SIM: [&str; 5] = ["sim", "rate=10Mbit,rtt=20ms,buffer=100KB", "--time-limit", "1s", "-o"];

fn lab(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc-lab"));
    command.args(arguments).current_dir(folder);
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    lab(folder, arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{:?}: {out}{error}", output.status.code())
}

/// The names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_page_goes_to_where_its_link_leads_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("pages")).unwrap();
    std::fs::write(at("pages/old.html"), "old").unwrap();
    std::fs::set_permissions(at("pages/old.html"), PermissionsExt::from_mode(0o600)).unwrap();
    for name in ["old.html", "new.html"] {
        symlink(format!("pages/{name}"), at(name)).unwrap();
        let done = run(folder.path(), &[&SIM[..], &[name]].concat());
        assert!(done.status.success(), "{}", said(&done));
        assert!(at(name).is_symlink(), "{name} is what it was");
        let page = std::fs::read_to_string(at("pages").join(name)).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    }
    assert_eq!(mode(&at("pages/old.html")), 0o600, "who could not read it can't now");
    assert_eq!(names(folder.path()), ["new.html", "old.html", "pages"]);
    assert_eq!(names(&at("pages")), ["new.html", "old.html"]);
}

#[test]
fn a_page_goes_through_a_pipe_which_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = at("pipe");
        move || std::fs::read_to_string(pipe).unwrap()
    });
    let done = run(folder.path(), &[&SIM[..], &["pipe"]].concat());
    assert!(done.status.success(), "{}", said(&done));
    assert!(at("pipe").symlink_metadata().unwrap().file_type().is_fifo());
    assert!(reader.join().unwrap().ends_with("</html>\n"));
    assert_eq!(names(folder.path()), ["pipe"]);
}

/// The kind of `/dev/stdout`.
#[cfg(target_os = "linux")]
#[test]
fn page_goes_to_standard_output_behind_text_whatever_that_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let link = at("stdout");
    symlink("/proc/self/fd/1", &link).unwrap();
    let command = [&SIM[..], &["stdout"]].concat();
    let piped = run(folder.path(), &command);
    let file = std::fs::File::create(at("out")).unwrap();
    let status = lab(folder.path(), &command).stdout(file).status().unwrap();
    assert!(piped.status.success() && status.success(), "{}", said(&piped));
    let written = std::fs::read(at("out")).unwrap();
    for out in [piped.stdout, written] {
        let text = String::from_utf8(out).unwrap();
        let (table, page) = text.split_once("<!DOCTYPE html>").expect("the page");
        assert!(table.contains("seed 1") && page.ends_with("</html>\n"), "{table}");
    }
    assert!(link.is_symlink());
    assert_eq!(names(folder.path()), ["out", "stdout"]);
}

#[test]
fn a_page_of_a_simulated_scenario_names_its_own_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let scenario = "title = \"Mine\"\nsource = \"me\"\nalgorithms = [\"cubic\", \"quic:pcc\"]\nduration = \"2s\"\nstep = \"1s\"\n\
                    seeds = [1]\npath = { rate = \"10Mbit\", rtt = \"20ms\", buffer = \"1bdp\" }\n";
    std::fs::write(at("mine.toml"), scenario).unwrap();
    let done = run(folder.path(), &["sim", "mine.toml", "-o", "page.html"]);
    assert!(done.status.success(), "{}", said(&done));
    let page = std::fs::read_to_string(at("page.html")).unwrap();
    assert!(
        page.contains("<title>Simulated: Mine</title>") && page.contains("pcc-lab sim mine.toml -o page.html"),
        "{page}"
    );
    for claim in ["real Linux", "pcc-lab run", "Kernels", "promises kept", "Linux simulated"] {
        assert!(!page.contains(claim), "{claim}");
    }
}
