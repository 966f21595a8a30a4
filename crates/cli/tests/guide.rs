//! The documentation for users: its commands run, and its links lead somewhere.
//!
//! A block that begins with ```` ```sh runs ```` is a whole session: it is run by bash, with this build's `pcc`, in an
//! empty directory, and stops at the first command that fails. A process that it leaves running is ended.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Sessions take seconds; a busy machine gets a minute more than that.
const PATIENCE_SECONDS: &str = "90";

#[test]
fn every_session_in_the_documentation_works_as_written() {
    let mut sessions = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (line, script) in blocks(&text, "sh runs") {
            let done = run(&script);
            assert!(
                done.status.success(),
                "{}:{line}: {}\n{script}\n-- output\n{}-- errors\n{}",
                page.display(),
                done.status,
                String::from_utf8_lossy(&done.stdout),
                String::from_utf8_lossy(&done.stderr),
            );
            sessions += 1;
        }
    }
    assert!(sessions > 0, "no page has a session to run");
}

#[test]
fn every_link_between_pages_leads_to_a_file() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for target in links(&text) {
            let file = target.split('#').next().unwrap_or_default();
            let there = page.parent().unwrap_or(Path::new(".")).join(file);
            assert!(there.exists(), "{} links to {target}, which is not there", page.display());
        }
    }
}

#[test]
fn whoever_follows_links_from_the_readme_finds_every_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let (mut found, mut next) = (BTreeSet::new(), vec![root.join("README.md")]);
    while let Some(page) = next.pop() {
        let text = std::fs::read_to_string(&page).unwrap();
        let there = |target: &str| page.parent()?.join(target.split('#').next()?).canonicalize().ok();
        next.extend(links(&text).into_iter().filter_map(there).filter(|to| is_page(to) && !found.contains(to)));
        found.insert(page);
    }
    let lost: Vec<_> = pages().into_iter().filter(|page| !found.contains(&page.canonicalize().unwrap())).collect();
    assert!(lost.is_empty(), "no page that the README leads to links to {lost:?}");
}

fn run(script: &str) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let pcc = Path::new(env!("CARGO_BIN_EXE_pcc")).parent().unwrap();
    let path = format!("{}:{}", pcc.display(), std::env::var("PATH").unwrap_or_default());
    let whole = format!("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}");
    Command::new("timeout")
        .args([PATIENCE_SECONDS, "bash", "-e", "-u", "-o", "pipefail", "-c", &whole])
        .current_dir(directory.path())
        .env("PATH", path)
        .env("HOME", directory.path())
        .output()
        .expect("bash and timeout run")
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = |directory: PathBuf| std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    list(root.clone()).chain(list(root.join("docs"))).filter(|path| is_page(path)).collect()
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// The fenced blocks with this info string, and the lines on which they begin.
fn blocks(text: &str, info: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut inside, mut wanted) = (false, false);
    for (number, line) in text.lines().enumerate() {
        if let Some(fence) = line.strip_prefix("```") {
            inside = !inside;
            wanted = inside && fence == info;
            if wanted {
                found.push((number + 1, String::new()));
            }
        } else if wanted && let Some((_, block)) = found.last_mut() {
            block.push_str(line);
            block.push('\n');
        }
    }
    found
}

/// Targets of links and pictures that are files of this project.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let targets = prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#')).collect()
}
