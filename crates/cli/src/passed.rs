//! The options of `pcc put` that another computer gets, where that one is to upload.

use crate::exit::misuse;
use crate::put::Args;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use pcc_utility::Choice;

/// Options as words, in the order in which they stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    words: Vec<String>,
    /// The first option that means something on this computer alone.
    of_here: Option<String>,
}

/// Read here: how the other computers are reached, and what goes from which one to which.
const READ_HERE: [&str; 6] = ["sources", "to", "ssh", "remote_pcc", "port_range", "token_file"];

/// Files and interfaces of this computer, and the way through it.
const OF_HERE: [&str; 7] = ["files_from", "exclude-from", "include-from", "ca", "qlog", "via", "over_ssh"];

impl Passed {
    /// The options for an upload from `from`.
    ///
    /// Errors: one of them is about this computer.
    pub(crate) fn words(&self, from: &str) -> anyhow::Result<Vec<String>> {
        match &self.of_here {
            Some(option) => Err(misuse!(
                "{option} is about this computer, and the data goes from {from} to its destination without it: leave {option} out, or \
                 take the way over this computer with `pcc get` and `pcc put`"
            )),
            None => Ok(self.words.clone()),
        }
    }

    fn of(matches: &ArgMatches) -> Self {
        let (mut found, mut of_here) = (Vec::new(), None);
        for arg in <Args as clap::Args>::augment_args(Command::new("put")).get_arguments() {
            let id = arg.get_id().as_str();
            if READ_HERE.contains(&id) || matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            if OF_HERE.contains(&id) {
                of_here.get_or_insert_with(|| name(arg));
            }
            found.extend(matches.indices_of(id).into_iter().flatten().zip(written(arg, matches)));
        }
        found.sort();
        Self { words: found.into_iter().map(|(_, word)| word).collect(), of_here }
    }
}

/// `--long`, or a letter.
fn name(arg: &Arg) -> String {
    let letter = || arg.get_short().map(|letter| format!("-{letter}"));
    arg.get_long().map(|long| format!("--{long}")).or_else(letter).unwrap_or_default()
}

/// An option as it was written, once for each time. A utility's file is on this computer, so its text goes.
fn written(arg: &Arg, matches: &ArgMatches) -> Vec<String> {
    let (id, name) = (arg.get_id().as_str(), name(arg));
    if id == "utility" {
        let choice = matches.get_one::<Choice>(id);
        return choice.map(|choice| format!("{name}={}", choice.text)).into_iter().collect();
    }
    if arg.get_action().takes_values() {
        let values = matches.get_raw(id).into_iter().flatten();
        return values.map(|value| format!("{name}={}", value.to_string_lossy())).collect();
    }
    let times = matches.try_get_one::<u8>(id).ok().flatten().copied().unwrap_or(1);
    // One index stands for all times.
    let letters = arg.get_short().filter(|_| times > 1).map(|letter| String::from(letter).repeat(times.into()));
    vec![letters.map_or(name, |letters| format!("-{letters}"))]
}

impl clap::Args for Passed {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for Passed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self::of(matches))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::of(matches);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    fn passed(words: &[&str]) -> anyhow::Result<Vec<String>> {
        let line = ["pcc", "put", "a:x", "b:"].iter().chain(words);
        let crate::Command::Put(args) = crate::Cli::try_parse_from(line).unwrap().command else { unreachable!() };
        args.passed.words("a:x")
    }

    #[test]
    fn options_are_passed_on_in_their_order() {
        for (words, told) in [
            (&["-avvH", "--delete"][..], "--archive -vv --hard-links --delete"),
            (&["--exclude", "b c", "--include=-x", "--exclude", "*"], "--exclude=b c --include=-x --exclude=*"),
            (&["-o", "-C", "cubic", "--limit", "5Mbit", "--json"], "-o --congestion=cubic --limit=5Mbit --json"),
            (&["-e", "ssh -p 2", "--port-range", "1-2", "--remote-pcc", "x", "--token-file", "t"], ""),
            (
                &["--utility", "vivace,b=2", "--chmod=D755,F644", "--chmod=go-w"],
                "--utility=vivace,b=2 --chmod=D755,F644 --chmod=go-w",
            ),
        ] {
            assert_eq!(passed(words).unwrap().join(" "), told);
        }
    }

    #[test]
    fn options_about_this_computer_are_refused_by_name() {
        for words in [
            ["--files-from", "x"],
            ["--exclude-from", "x"],
            ["--include-from", "x"],
            ["--ca", "x"],
            ["--via", "eth0"],
            ["-a", "--over-ssh"],
        ] {
            let error = format!("{:#}", passed(&words).unwrap_err());
            let option = words.iter().find(|word| word.starts_with("--")).unwrap();
            assert!(error.contains(&format!("{option} is about this computer")), "{error}");
        }
    }

    #[test]
    fn the_text_of_a_utility_goes_in_place_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.utility");
        std::fs::write(&file, "# mine\nx^0.9 -\n 11.35*x*L\n").unwrap();
        let told = passed(&["--utility", file.to_str().unwrap()]).unwrap();
        let again = passed(&told.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert!(told[0].contains("11.35*x*L") && told == again, "{told:?}");
    }
}
