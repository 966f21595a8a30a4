//! Sessions in the documentation for users. A block that begins with ```` ```sh runs ```` is a whole session: it is run by bash, with
//! this build's tool, in an empty directory, and stops at the first command that fails. A process that it leaves running is ended.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Sessions take seconds; a busy machine gets a minute more than that.
const PATIENCE_SECONDS: &str = "90";

/// Runs the sessions that are wanted, with the directory of that tool in front of all others.
#[track_caller]
pub(crate) fn work(tool: &str, is_wanted: impl Fn(&str) -> bool) {
    let directory = Path::new(tool).parent().unwrap();
    let mut sessions = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (line, script) in blocks(&text, "sh runs").into_iter().filter(|(_, script)| is_wanted(script)) {
            let done = run(directory, &script);
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

fn run(tool: &Path, script: &str) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap_or_default());
    let whole = format!("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}");
    Command::new("timeout")
        .args([PATIENCE_SECONDS, "bash", "-e", "-u", "-o", "pipefail", "-c", &whole])
        .current_dir(directory.path())
        .env("PATH", path)
        .env("HOME", directory.path())
        .output()
        .expect("bash and timeout run")
}

pub(crate) fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = |directory: PathBuf| std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    list(root.clone()).chain(list(root.join("docs"))).filter(|path| is_page(path)).collect()
}

pub(crate) fn is_page(path: &Path) -> bool {
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
