//! `--exclude` and its kin. Their order decides, so they are read in the order in which they stand.

use crate::exit::misuse;
use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use pcc_files::{Error, Excluded, Rule};
use std::path::{Path, PathBuf};

/// Rules as they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleArgs(Vec<Written>);

#[derive(Clone, Debug)]
enum Written {
    Pattern { text: String, is_moved: bool },
    File { path: PathBuf, is_moved: bool },
}

/// More than any list of patterns has.
const LARGEST: u64 = 16 << 20;

impl RuleArgs {
    /// Reads the files among them.
    ///
    /// Errors: a file cannot be read; a pattern is none.
    pub(crate) fn excluded(&self) -> anyhow::Result<Excluded> {
        let mut rules = Vec::new();
        for written in &self.0 {
            match written {
                Written::Pattern { text, is_moved } => {
                    let rule = if *is_moved { Rule::include(text) } else { Rule::exclude(text) };
                    rules.push(rule.map_err(Error::into_anyhow)?);
                }
                Written::File { path, is_moved } => {
                    let lines = Rule::lines(&text_of(path)?, *is_moved).map_err(Error::into_anyhow);
                    rules.extend(lines.with_context(|| format!("in {}", path.display()))?);
                }
            }
        }
        Ok(Excluded::by(rules))
    }
}

/// The text of a file that the user names; `-` is standard input.
pub(crate) fn text_of(path: &Path) -> anyhow::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let read = if path == "-" {
        std::io::stdin().take(LARGEST + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text))
    };
    read.map_err(|error| misuse!("could not read {}: {error}", path.display()))?;
    if text.len() as u64 > LARGEST {
        return Err(misuse!("{} has more than {LARGEST} bytes, which is no list of names", path.display()));
    }
    Ok(text)
}

/// Each option with whether it takes in, and whether it names a file.
const OPTIONS: [(&str, bool, bool); 4] =
    [("exclude", false, false), ("include", true, false), ("exclude-from", false, true), ("include-from", true, true)];

impl clap::Args for RuleArgs {
    fn augment_args(command: Command) -> Command {
        let help = |name: &str| match name {
            "exclude" => (
                "Leave out what this pattern matches inside of directories; may be repeated",
                "The rules are rsync's, and the first one that matches decides. `*.tmp` matches a name at any depth, `/build` one in the \
                 directory itself, `doc/*.pdf` the end of a path, `cache/` only directories, with everything in them. `*` matches no \
                 slash, `**` does, and `cache/***` is a directory with all that is in it.",
            ),
            "include" => (
                "Take in what this pattern matches, in front of an --exclude that would leave it out",
                "For example --include '*/' --include '*.jpg' --exclude '*' for pictures alone.",
            ),
            "exclude-from" => {
                ("The same as --exclude for each line of this file", "Lines that begin with # or ; are comments.")
            }
            _ => ("The same as --include for each line of this file", "A line that begins with `- ` leaves out."),
        };
        OPTIONS.into_iter().fold(command, |command, (name, _, is_file)| {
            let (short, more) = help(name);
            let value = if is_file { "FILE" } else { "PATTERN" };
            let arg = Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(short);
            command.arg(arg.long_help(format!("{short}\n\n{more}")).hide_short_help(name.ends_with("-from")))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RuleArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut written = Vec::new();
        for (name, is_moved, is_file) in OPTIONS {
            let places = matches.indices_of(name).into_iter().flatten();
            let values = matches.get_many::<String>(name).into_iter().flatten();
            written.extend(places.zip(values).map(|(place, value)| {
                let rule = if is_file {
                    Written::File { path: value.into(), is_moved }
                } else {
                    Written::Pattern { text: value.clone(), is_moved }
                };
                (place, rule)
            }));
        }
        written.sort_by_key(|(place, _)| *place);
        Ok(Self(written.into_iter().map(|(_, rule)| rule).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        rules: RuleArgs,
    }

    #[test]
    fn rules_are_read_in_the_order_in_which_they_stand() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list");
        std::fs::write(&list, "# kept\n*.c\n- *.d\n").unwrap();
        let list = list.to_str().unwrap();
        let words = ["x", "--exclude", "a", "--include=b", "--include-from", list, "--exclude", "*"];
        let rules = Line::parse_from(words).rules;
        let order: Vec<_> = rules.0.iter().map(|rule| format!("{rule:?}")).collect();
        assert!(order[0].contains("\"a\"") && order[1].contains("\"b\"") && order[2].contains("File"), "{order:?}");
        assert!(rules.excluded().is_ok());
        for wrong in [["x", "--exclude", "["], ["x", "--exclude", "!a"], ["x", "--exclude-from", "/nowhere/list"]] {
            let error = Line::parse_from(wrong).rules.excluded().unwrap_err();
            assert_eq!(crate::exit::failure_of(&error), crate::exit::Failure::Usage, "{wrong:?}: {error:#}");
        }
    }
}
