//! Which build of `pcc` a run depends on: one in which PCC sends, on all of it; one in which only CUBIC, BBR or New Reno
//! of its QUIC stack do, on its source without PCC. So a change of PCC leaves what its peers did as it is.

use crate::spec::Spec;
use pcc_report::provenance::CHANGED;
use std::fs;
use std::io;
use std::path::Path;

/// The text in a program before the hash of its source without PCC, and behind it.
const BEFORE: &[u8] = b"pcc-stack:";
const BEHIND: u8 = b';';
/// Length of a hash, in hexadecimal digits.
pub const HASH: usize = 16;

/// A program under test, by what identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Hash of its file.
    pub hash: String,
    /// Hash of its source without PCC; that of the file if the program does not tell it.
    pub stack: String,
}

/// The text in a program before the commit from which it was built.
const COMMIT: &[u8] = b"pcc-commit:";

/// The commit that a program carries; none if it carries none.
pub fn commit_in(path: &Path) -> io::Result<Option<String>> {
    let bytes = fs::read(path)?;
    let commit = |place: usize| {
        let rest = bytes.get(place + COMMIT.len()..)?;
        let end = rest.iter().take(60).position(|&byte| byte == BEHIND)?;
        let text = core::str::from_utf8(&rest[..end]).ok()?;
        let digits = text.strip_suffix(CHANGED).unwrap_or(text);
        (digits.len() >= 7 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
    };
    let starts = (0..bytes.len()).filter(|&place| bytes[place..].starts_with(COMMIT));
    Ok(starts.into_iter().find_map(commit))
}

impl Program {
    /// Reads it from a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        let hash = blake3::hash(&bytes).to_hex().as_str()[..HASH].to_owned();
        let stack = stack_in(&bytes).unwrap_or_else(|| hash.clone());
        Ok(Self { hash, stack })
    }

    /// One of which nothing but the hash is known.
    pub fn unknown(hash: &str) -> Self {
        Self { hash: hash.to_owned(), stack: hash.to_owned() }
    }

    /// The part of the program on which a run depends; none if no flow of it is over QUIC.
    pub fn of(&self, spec: &Spec) -> Option<String> {
        spec.has_quic_flows().then(|| if spec.has_pcc_flows() { &self.hash } else { &self.stack }.clone())
    }
}

/// The hash that a program carries. It is looked for in the file and not asked for, since a script around the program
/// may pass on the question and change the answer's meaning.
fn stack_in(bytes: &[u8]) -> Option<String> {
    let hash = |place: usize| {
        let rest = bytes.get(place + BEFORE.len()..)?;
        let digits = rest.get(..HASH).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        (rest.get(HASH) == Some(&BEHIND)).then(|| String::from_utf8_lossy(digits).into_owned())
    };
    // The program has this pattern itself, with no hash behind it.
    (0..bytes.len().saturating_sub(BEFORE.len())).filter(|&place| bytes[place..].starts_with(BEFORE)).find_map(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::FlowSpec;

    fn spec(algorithms: &[&str]) -> Spec {
        let flow = |name: &&str| FlowSpec { algorithm: (*name).into(), ..FlowSpec::default() };
        Spec { flows: algorithms.iter().map(flow).collect(), ..Spec::default() }
    }

    #[test]
    fn a_program_carries_its_commit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        for (bytes, commit) in [
            (&b"pcc-commit:\0 code pcc-commit:0123456789ab; the rest"[..], Some("0123456789ab")),
            (b"pcc-commit:0123456789ab+changes;", Some("0123456789ab+changes")),
            (b"pcc-commit:; the rest", None),
            (b"an older one", None),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(commit_in(&path).unwrap().as_deref(), commit);
        }
    }

    #[test]
    fn a_run_depends_on_what_sends_in_it() {
        let program = Program { hash: "all".into(), stack: "all but PCC".into() };
        for (algorithms, expected) in [
            (&["quic:pcc"][..], Some("all")),
            (&["quic:cubic", "quic:pcc"], Some("all")),
            (&["cubic", "quic:pcc"], Some("all")),
            (&["quic:cubic"], Some("all but PCC")),
            (&["quic:bbr", "cubic"], Some("all but PCC")),
            (&["cubic", "app"], None),
            (&[], None),
        ] {
            assert_eq!(program.of(&spec(algorithms)).as_deref(), expected, "{algorithms:?}");
        }
    }

    #[test]
    fn a_program_names_its_source_without_pcc() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Program::read(&path).unwrap()
        };
        let one = read(b"code pcc-stack: more code pcc-stack:0123456789abcdef; the rest");
        let other = read(b"other code pcc-stack:0123456789abcdef;");
        assert_eq!((one.stack.as_str(), &one.stack), ("0123456789abcdef", &other.stack));
        assert_ne!(one.hash, other.hash);
        for without in [&b"pcc-stack:"[..], b"pcc-stack:0123456789abcde;", b"pcc-stack:;", b""] {
            let program = read(without);
            assert_eq!(program.stack, program.hash);
        }
        assert!(Program::read(&dir.path().join("none")).is_err());
    }
}
