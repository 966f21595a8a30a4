//! What decides what a run measures, besides the guest's kernel: a hash of the source of the code that does it. Included
//! by the build script and by a test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the guest does, what it is told and answers, and how it is started.
pub(crate) const MEASURING: [&str; 3] = ["src/guest", "src/spec.rs", "src/machine.rs"];

/// What no run has: a file's tests, which stand at its end.
const TESTS: &str = "\n#[cfg(test)]\nmod tests {\n";

/// Hash of those files below the crate's directory `root`: of their names and contents, without tests.
pub(crate) fn hash(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for name in MEASURING {
        collect(&root.join(name), &mut files)?;
    }
    files.sort();
    let mut hash = blake3::Hasher::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        // A working tree may have other ends of lines than another.
        let text = fs::read_to_string(&file)?.replace("\r\n", "\n");
        let code = text.split_once(TESTS).map_or(text.as_str(), |(code, _)| code);
        for part in [name.as_bytes(), code.as_bytes()] {
            hash.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
    }
    Ok(hash.finalize().to_hex().as_str()[..16].to_owned())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    fs::read_dir(path)?.try_for_each(|entry| collect(&entry?.path(), files))
}
