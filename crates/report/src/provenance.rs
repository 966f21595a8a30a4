//! Where figures come from: what every page, table and picture says of itself.

use crate::escape::escape;
use core::fmt::Write as _;

/// The instrument that measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Linux' own network stack, in the lab's guests.
    Lab,
    /// The simulator: PCC's own code over modelled paths, and models of its peers.
    Simulator,
    /// Connections in real time over an emulated path.
    Emulator,
    /// Formulas alone: nothing was sent.
    Analysis,
}

impl Source {
    /// The first word of a page's title.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lab => "Lab",
            Self::Simulator => "Simulated",
            Self::Emulator => "Raced",
            Self::Analysis => "Calculated",
        }
    }

    /// How the figures came about.
    pub fn statement(self) -> &'static str {
        match self {
            Self::Lab => "Measured on a real Linux network stack in virtual time.",
            Self::Simulator => "Simulated by pcc-lab sim: no network stack took part.",
            Self::Emulator => "Measured with real connections over a path that pcc emulates, in real time.",
            Self::Analysis => "Calculated from the utility: nothing was sent.",
        }
    }

    /// The nature of PCC's peers.
    pub fn peers(self) -> &'static str {
        match self {
            Self::Lab => "the kernel's own TCP, and the algorithms of the QUIC stack where a name begins with quic:",
            Self::Simulator => "models of Linux 6.12's TCP",
            Self::Emulator => {
                "the algorithms of the same QUIC stack, and the kernel's own TCP where a name begins with TCP-"
            }
            Self::Analysis => "none",
        }
    }

    /// Algorithms of the kernel, as a caption names them.
    pub fn kernel_s(self, algorithms: &str) -> String {
        match self {
            Self::Simulator => format!("models of Linux's {algorithms}"),
            _ => format!("the kernel's {algorithms}"),
        }
    }
}

/// A build of pcc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Its version.
    pub version: String,
    /// Hash of its file.
    pub program: String,
    /// The commit it was built from, if that is known.
    pub commit: Option<String>,
}

impl Build {
    /// The program in words: anybody can rebuild a commit, and nobody a hash.
    pub fn describe(&self) -> String {
        let commit = match &self.commit {
            Some(commit) => format!("commit {commit}"),
            None => "no commit recorded".to_owned(),
        };
        format!("pcc {}, {commit}, program {}", self.version, self.program)
    }

    /// The reason why others cannot build the same program; none if they can.
    pub fn doubt(&self) -> Option<String> {
        match &self.commit {
            None => Some(format!("no commit is recorded of the program {}", self.program)),
            Some(commit) if commit.ends_with(CHANGED) => {
                Some(format!("the program {} was built from commit {commit}, which nobody else has", self.program))
            }
            Some(_) => None,
        }
    }
}

/// Stands behind a commit if the sources had changes that are in no commit.
pub const CHANGED: &str = "+changes";

/// Where the figures of a page come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The instrument that measured.
    pub source: Source,
    /// The program that ran.
    pub build: Build,
    /// The command that makes the page again.
    pub command: String,
    /// The seeds of everything random. Empty: nothing is, or each part of the page names its own.
    pub seeds: Vec<u64>,
}

impl Provenance {
    /// A page's title: who measured, then what.
    pub fn title(&self, of: &str) -> String {
        format!("{}: {of}", self.source.word())
    }

    /// Names and values, as text.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("Figures", self.source.statement().to_owned())];
        if self.source != Source::Analysis {
            rows.push(("Peers", self.source.peers().to_owned()));
        }
        rows.push(("Command", self.command.clone()));
        if !self.seeds.is_empty() {
            rows.push(("Seeds", range(self.seeds.clone())));
        }
        rows.push(("Program", self.build.describe()));
        rows
    }

    /// The same as a list in HTML.
    pub fn list(&self) -> String {
        let mut text = String::from("<dl class=\"provenance\">");
        for (name, value) in self.rows() {
            let value = escape(&value);
            let value = if name == "Command" { format!("<code>{value}</code>") } else { value };
            let _ = write!(text, "<dt>{name}</dt><dd>{value}</dd>");
        }
        text + "</dl>\n"
    }

    /// The same in a line, for a picture.
    pub fn line(&self, command: &str) -> String {
        format!("{} {}. {command}", self.source.statement(), self.build.describe())
    }
}

/// Seeds as they are read: `1 to 3`, or one by one.
pub fn range(mut seeds: Vec<u64>) -> String {
    seeds.sort_unstable();
    seeds.dedup();
    match seeds.as_slice() {
        [first, .., last] if seeds.len() as u64 == last - first + 1 => format!("{first} to {last}"),
        all => all.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(commit: Option<&str>) -> Build {
        Build { version: "0.1.0".into(), program: "5ea1b523".into(), commit: commit.map(Into::into) }
    }

    #[test]
    fn a_build_without_a_commit_of_its_own_is_doubted() {
        assert_eq!(build(Some("abc1234")).doubt(), None);
        assert!(build(None).doubt().unwrap().contains("no commit is recorded of the program 5ea1b523"));
        assert!(build(Some("abc1234+changes")).doubt().unwrap().contains("nobody else has"));
    }

    #[test]
    fn each_source_has_a_title_and_a_statement_of_its_own() {
        let sources = [Source::Lab, Source::Simulator, Source::Emulator, Source::Analysis];
        for one in sources {
            for other in sources.into_iter().filter(|other| *other != one) {
                assert_ne!(one.word(), other.word());
                assert_ne!(one.statement(), other.statement());
            }
            let build = build(Some("abc1234"));
            let all = Provenance { source: one, build, command: "pcc a <b".into(), seeds: vec![3, 1, 2] }.list();
            for word in [one.statement(), "pcc a &lt;b", "1 to 3", "commit abc1234", "5ea1b523"] {
                assert!(all.contains(word), "{word}: {all}");
            }
        }
    }
}
