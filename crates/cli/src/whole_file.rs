//! A file that is written whole.

use anyhow::Context;
use std::io::Write as _;
use std::path::Path;

/// Writes a file that appears whole or not at all, in place of one that is there.
///
/// Errors: which file could not be written.
pub(crate) fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        let mut whole = tempfile::Builder::new().permissions_of_a_file().tempfile_in(folder)?;
        whole.write_all(text.as_bytes())?;
        whole.persist(file)?;
        Ok::<_, std::io::Error>(())
    };
    write().with_context(|| format!("could not write {}", file.display()))
}

trait OfAFile {
    /// As any new file: for others to read as the user's mask says.
    fn permissions_of_a_file(&mut self) -> &mut Self;
}

impl OfAFile for tempfile::Builder<'_, '_> {
    #[cfg(unix)]
    fn permissions_of_a_file(&mut self) -> &mut Self {
        use std::os::unix::fs::PermissionsExt as _;
        self.permissions(std::fs::Permissions::from_mode(0o666))
    }

    #[cfg(not(unix))]
    fn permissions_of_a_file(&mut self) -> &mut Self {
        self
    }
}
