//! A copy of the workspace in which the law is changed, built once, and asked for figures.

use crate::measure::Figure;
use crate::switches::{SWITCHES, replaced};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace that this program was built in.
pub(crate) fn root() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))
}

/// A copy below `target`.
pub(crate) struct Copy(PathBuf);

impl Copy {
    /// Copies what the simulator is built of to `target/NAME`.
    pub(crate) fn of(root: &Path, name: &str) -> Result<Self, String> {
        let place = root.join("target").join(name);
        let problem = |error: std::io::Error| format!("{}: {error}", place.display());
        for part in ["crates", "vendor", "kernel", "vectors"] {
            copy(&root.join(part), &place.join(part)).map_err(problem)?;
        }
        for file in ["Cargo.toml", "Cargo.lock"] {
            fs::copy(root.join(file), place.join(file)).map_err(problem)?;
        }
        Ok(Self(place))
    }

    pub(crate) fn place(&self) -> &Path {
        &self.0
    }

    /// Puts the switches of `switches.rs` into the copy's core.
    pub(crate) fn switch(&self) -> Result<(), String> {
        SWITCHES.iter().try_for_each(|(file, from, to)| self.replace(file, from, to))
    }

    /// Has a file of the copy's core say `to` where it says `from`, which it must once.
    pub(crate) fn replace(&self, file: &str, from: &str, to: &str) -> Result<(), String> {
        let place = self.0.join("crates/core/src").join(file);
        let problem = |error: std::io::Error| format!("{}: {error}", place.display());
        let text = fs::read_to_string(&place).map_err(problem)?;
        fs::write(&place, replaced(file, &text, from, to)?).map_err(problem)
    }

    /// Builds the copy's `sweep`.
    pub(crate) fn build(&self) -> Result<Program, String> {
        // Figures are the same however it is optimised, and without LTO it is built in a third of the time.
        let build = ["build", "--locked", "--release", "-p", "pcc-sweeps", "--bin", "sweep"];
        let plain = [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("INCREMENTAL", "true")];
        let plain = plain.map(|(what, value)| (format!("CARGO_PROFILE_RELEASE_{what}"), value));
        let mut cargo = Command::new("cargo");
        let built = cargo.args(build).env("CARGO_TARGET_DIR", "target").envs(plain).current_dir(&self.0).status();
        if built.is_ok_and(|status| status.success()) {
            Ok(Program(self.0.join("target/release/sweep")))
        } else {
            Err(format!("the copy in {} can't be built", self.0.display()))
        }
    }
}

/// The `sweep` of a copy.
pub(crate) struct Program(PathBuf);

impl Program {
    /// This many figures, which `sweep` prints if it is asked thus, with this variable of the environment set.
    pub(crate) fn ask(&self, asked: &[&str], count: usize, variable: &str, value: &str) -> Result<Vec<Figure>, String> {
        let told = Command::new(&self.0).args(asked).env(variable, value).output();
        let told = told.map_err(|error| format!("{}: {error}", self.0.display()))?;
        let text = String::from_utf8_lossy(&told.stdout);
        let figures: Vec<_> =
            text.lines().map(|line| line.split(' ').filter_map(|value| value.parse().ok()).collect()).collect();
        if figures.len() == count {
            Ok(figures)
        } else {
            Err(format!("{variable}={value}: {text}{}", String::from_utf8_lossy(&told.stderr)))
        }
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if kind.is_dir() && name != "target" {
            copy(&entry.path(), &to.join(name))?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}
