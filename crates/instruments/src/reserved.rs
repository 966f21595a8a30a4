//! A file that an option names: complete, or not there at all.

use pcc_files::ReserveError;
use std::path::Path;

/// A file that will be written, and that could be when the option named it.
pub(crate) struct Reserved {
    file: pcc_files::Reserved,
    option: String,
}

impl Reserved {
    /// Finds out whether the file that `option` named can be written.
    pub(crate) fn at(named: &Path, option: &str) -> anyhow::Result<Self> {
        let file = pcc_files::Reserved::at(named).map_err(|error| advised(error, option))?;
        Ok(Self { file, option: option.to_owned() })
    }

    /// Writes it.
    pub(crate) fn write(self, text: &str) -> anyhow::Result<()> {
        self.file.write(text).map_err(|error| advised(error, &self.option))
    }
}

fn advised(error: ReserveError, option: &str) -> anyhow::Error {
    let advice = format!("{error}: choose another place with {option} FILE");
    anyhow::Error::new(error.reason).context(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_cannot_be_written_is_named_with_the_option() {
        let dir = tempfile::tempdir().unwrap();
        let error = format!("{:#}", Reserved::at(dir.path(), "-o").map(|_| ()).unwrap_err());
        let expected =
            format!("cannot write {}: choose another place with -o FILE: it is a directory", dir.path().display());
        assert_eq!(error, expected);
    }
}
