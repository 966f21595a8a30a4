//! Letters of rsync, scp and curl: those that mean here what they mean there, and those that `pcc get` and `pcc put` have no use for, each
//! with what to write instead.

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use std::ffi::OsString;

/// An option of another tool. None is listed in the help.
struct Habit {
    letter: Option<char>,
    /// The long names, if there are any.
    names: &'static [&'static str],
    has_value: bool,
    /// Advice about another way to write it; `None` if things are so here in any case.
    answer: Option<&'static str>,
}

/// A letter with a value behind it.
const fn flag_with_value(letter: char, names: &'static [&'static str], advice: &'static str) -> Habit {
    Habit { has_value: true, ..flag(letter, names, advice) }
}

const fn flag(letter: char, names: &'static [&'static str], answer: &'static str) -> Habit {
    Habit { letter: Some(letter), names, has_value: false, answer: Some(answer) }
}

const fn long(names: &'static [&'static str], answer: &'static str) -> Habit {
    Habit { letter: None, names, has_value: false, answer: Some(answer) }
}

const fn value(names: &'static [&'static str], answer: &'static str) -> Habit {
    Habit { letter: None, names, has_value: true, answer: Some(answer) }
}

const HABITS: &[Habit] = &[
    Habit {
        letter: Some('s'),
        names: &[
            "secluded-args",
            "protect-args",
            "old-args",
            "inc-recursive",
            "no-inc-recursive",
            "i-r",
            "no-i-r",
            "no-motd",
            "trust-sender",
            "no-D",
            "drop-D",
            "no-devices",
            "no-specials",
            "no-acls",
            "no-xattrs",
            "fsync",
        ],
        has_value: false,
        answer: None,
    },
    Habit { letter: None, names: &["info", "stderr", "outbuf"], has_value: true, answer: None },
    flag(
        'D',
        &["devices", "specials", "copy-devices", "write-devices"],
        "-D: devices, pipes and sockets are not sent: leave it out, or send `tar` through a pipe",
    ),
    long(&["fake-super"], "--fake-super: -o and -g keep owners where the receiver is root: leave it out"),
    flag('E', &["executability"], "-E: -p keeps all permissions"),
    flag(
        'x',
        &["one-file-system"],
        "-x: other file systems are not told apart: --exclude the places where they are mounted",
    ),
    flag(
        'R',
        &["relative", "no-implied-dirs"],
        "-R: a copy has the last name of its source: write the other names into the destination, or use --files-from",
    ),
    flag(
        'd',
        &["dirs", "old-dirs", "old-d", "list-only"],
        "-d: a directory comes with everything in it: --exclude '/*/*' leaves out what is further below, and -n lists",
    ),
    flag('m', &["prune-empty-dirs"], "-m: empty directories are made, too: --exclude those that should not be"),
    flag('y', &["fuzzy"], "-y: only a file of the same name saves bytes: leave it out"),
    flag(
        'K',
        &["keep-dirlinks"],
        "-K: with -a and -l a link stays no directory: leave out -a and -l, and `pcc put` follows links there",
    ),
    flag(
        'J',
        &["omit-link-times"],
        "-J: links have their times with files and directories: --no-times leaves all of them out",
    ),
    flag('U', &["atimes", "open-noatime"], "-U: times of access are not kept: leave it out"),
    flag('N', &["crtimes"], "-N: times of creation are not kept: leave it out"),
    flag('F', &[], "-F: name the rules of a directory with --exclude-from"),
    flag('0', &["from0"], "-0: lists have one name a line"),
    flag('4', &["ipv4"], "-4: write the address in place of the name"),
    flag('6', &["ipv6"], "-6: write the address in place of the name"),
    flag('8', &["8-bit-output"], "-8: names are shown as they are, but for what commands a terminal: leave it out"),
    flag_with_value('f', &["filter"], "-f: write --include PATTERN for `+ PATTERN`, --exclude PATTERN for `- PATTERN`"),
    flag_with_value('M', &["remote-option"], "-M: the other side has no options of its own"),
    flag_with_value(
        'T',
        &["temp-dir", "partial-dir"],
        "-T: unfinished files stand beside their destination, where they become whole without a copy",
    ),
    flag_with_value('B', &["block-size"], "-B: contents say where chunks begin: leave it out"),
    flag_with_value('@', &["modify-window"], "-@: files are compared by size and BLAKE3: leave it out"),
    long(&["size-only"], "--size-only: files are compared by size and BLAKE3: leave it out"),
    value(&["checksum-choice", "checksum-seed", "cc"], "--checksum-choice: files are compared by BLAKE3: leave it out"),
    value(
        &["compress-choice", "compress-level", "compress-threads", "zc", "zl", "zt", "skip-compress"],
        "--compress-level: -z is zstd at its fastest, and leaves alone what does not shrink",
    ),
    long(
        &["inplace", "append", "append-verify", "delay-updates", "preallocate"],
        "--inplace: a file gets its name when all of it is there and verified: leave it out",
    ),
    long(
        &["remove-source-files", "remove-sent-files"],
        "--remove-source-files: the source stays: delete it once the command has ended with 0",
    ),
    long(&["delete-excluded"], "--delete-excluded: what is excluded stays: delete it there"),
    long(
        &["force", "ignore-errors", "delete-missing-args", "ignore-missing-args"],
        "--force: --delete removes what is in the way, and nothing where something could not be listed",
    ),
    long(
        &["copy-unsafe-links", "munge-links", "insecure-links"],
        "--copy-unsafe-links: -l keeps links, --safe-links those that stay inside, and -L sends what they lead to",
    ),
    value(&["confine-root"], "--confine-root: nothing is ever written outside of the destination"),
    long(&["copy-dirlinks"], "--copy-dirlinks: -L sends what links lead to, files as well"),
    long(&["mkpath"], "--mkpath: a destination that ends with / is made, and those above it are not: mkdir -p"),
    long(&["cvs-exclude"], "--cvs-exclude: write --exclude for each of its patterns"),
    value(&["backup-dir"], "--backup-dir: --backup keeps a replaced file beside the new one, and --suffix names it"),
    value(
        &["link-dest", "copy-dest", "compare-dest"],
        "--link-dest: copy the last one there with `cp -al`, and send into the copy: a file that is there is not sent again",
    ),
    value(
        &["max-size", "min-size", "max-alloc"],
        "--max-size: write a list of the files for --files-from, as `find -size` makes it",
    ),
    value(
        &["chown", "usermap", "groupmap", "copy-as"],
        "--chown: -o and -g keep owners and groups; `chown` changes them there",
    ),
    value(&["rsync-path"], "--rsync-path: --remote-pcc names the program there"),
    value(&["timeout", "contimeout"], "--timeout: --give-up 60s ends a transfer that makes no progress"),
    value(
        &["stop-after", "time-limit", "stop-at"],
        "--stop-after: `timeout 60m pcc …` ends it, and the same command goes on later",
    ),
    value(
        &["port", "address", "sockopts"],
        "--port: the URL has the port; --ssh 'ssh -p 2222' is for ssh, and --port-range for UDP",
    ),
    value(&["password-file", "early-input"], "--password-file: --token-file names the file with a server's token"),
    value(&["log-file", "log-file-format", "out-format"], "--log-file: --json tells of each file on standard output"),
    value(&["debug"], "--debug: -v says more, and -vv all"),
    value(
        &["write-batch", "only-write-batch", "read-batch", "protocol", "iconv"],
        "--write-batch: that is rsync's own: leave it out",
    ),
    long(&["daemon", "blocking-io", "super"], "--daemon: `pcc serve` is the server"),
    flag(
        'i',
        &["itemize-changes", "stats"],
        "-i: -n lists what would change; --json tells of each file, and the figures at the end",
    ),
    flag(
        'O',
        &["omit-dir-times", "remote-name"],
        "-O: curl's -O is not needed, since the copy has the URL's name; rsync's has no use here: leave it out",
    ),
    flag(
        'k',
        &["insecure"],
        "-k: a certificate is always checked: write the URL with its #sha256=…, or name an authority with --ca",
    ),
];

/// The habits of this command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits(Option<&'static str>);

impl Habits {
    /// Advice in place of what was asked for; none if there is nothing to say.
    pub(crate) const fn answer(&self) -> Option<&'static str> {
        self.0
    }
}

impl Habit {
    /// The name under which clap knows it, which no other option has.
    fn id(&self) -> &'static str {
        self.answer.or(self.names.first().copied()).unwrap_or_default()
    }
}

impl clap::Args for Habits {
    fn augment_args(command: Command) -> Command {
        HABITS.iter().fold(command, |command, habit| {
            let action = if habit.has_value { ArgAction::Append } else { ArgAction::Count };
            let arg = Arg::new(habit.id()).hide(true).action(action);
            let arg = habit.letter.into_iter().fold(arg, Arg::short);
            let names = habit.names.split_first();
            command.arg(names.map_or(arg.clone(), |(name, more)| arg.long(*name).aliases(more.iter().copied())))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Habits {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_there = |habit: &&Habit| {
            if habit.has_value { matches.contains_id(habit.id()) } else { matches.get_count(habit.id()) > 0 }
        };
        Ok(Self(HABITS.iter().filter(is_there).find_map(|habit| habit.answer)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Letters without a value that rsync's users write together.
const TOGETHER: &str = "avrzPutplogDHSnqcbWhEAXxLRmdiIsJKNUF8046";

/// The words of a command line, with rsync's meaning where its letters stand together. `-h` among other letters is for sizes that people
/// can read, as all sizes are here, and `-o` in front of others for owners.
pub(crate) fn words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<_> = words.into_iter().collect();
    let is_transfer = words.get(1).is_some_and(|command| command == "get" || command == "put");
    if !is_transfer {
        return words;
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words
        .into_iter()
        .enumerate()
        .flat_map(|(at, word)| if (2..end).contains(&at) { letters(word) } else { vec![word] })
        .collect()
}

fn letters(word: OsString) -> Vec<OsString> {
    let Some(letters) = word.to_str().and_then(|word| word.strip_prefix('-')) else { return vec![word] };
    let is_together = letters.len() > 1 && letters.chars().all(|letter| TOGETHER.contains(letter));
    let means_owners = letters.find('o').is_some_and(|at| at + 1 < letters.len());
    if !is_together || !(letters.contains('h') || means_owners) {
        return vec![word];
    }
    let rest: String = letters.chars().filter(|letter| *letter != 'h' && !(means_owners && *letter == 'o')).collect();
    let owners = means_owners.then(|| OsString::from("--owner"));
    let rest = (!rest.is_empty()).then(|| OsString::from(format!("-{rest}")));
    rest.into_iter().chain(owners).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::Parser;

    fn checked(command: &str, word: &str) -> anyhow::Result<()> {
        let line = format!("pcc {command} {word}");
        let words = words(line.split(' ').map(OsString::from));
        match Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}")).command {
            crate::Command::Get(args) => args.session.check(),
            crate::Command::Put(args) => args.session.check(),
            _ => unreachable!(),
        }
    }

    #[test]
    fn letters_of_other_tools_are_taken_or_answered() {
        for command in ["get host:x", "put x host:"] {
            let taken = [
                "-P",
                "--progress",
                "--partial",
                "-avP",
                "-rc",
                "-avhP",
                "-ah",
                "-rtv",
                "-t",
                "-p",
                "-u",
                "-ab",
                "--bwlimit 900",
                "--bwlimit=1.5m",
                "--include x",
                "-W",
                "--checksum",
                "-e ssh",
                "--rsh=ssh",
                "--ignore-existing",
                "--existing",
                "-aH",
                "-rlptg",
                "-avHS",
                "--numeric-ids",
                "--no-o --no-g",
                "-rlogt",
                "-avz",
                "-avzP",
                "-aL",
                "-rLt",
                "-aHAX",
                "-s --info=progress2 --no-i-r",
            ];
            for word in taken {
                assert!(checked(command, word).is_ok(), "{word}");
            }
            for word in ["-D", "-x", "-R", "-O", "-k", "-i", "--rsync-path x", "--timeout 9"] {
                let answer = format!("{:#}", checked(command, word).unwrap_err());
                assert!(answer.contains(&format!("{}: ", word.split(' ').next().unwrap())), "{answer}");
            }
            for (word, named) in [("-rlptgoD", "-D: "), ("-DX", "-D: ")] {
                assert!(format!("{:#}", checked(command, word).unwrap_err()).contains(named), "{word}");
            }
        }
    }

    #[test]
    fn only_letters_that_rsync_has_together_are_rsync_s() {
        let split = |word: &str| {
            let line = ["pcc", "get", word, "x"].map(OsString::from);
            let words = words(line).into_iter().map(|word| word.into_string().unwrap());
            words.skip(2).collect::<Vec<_>>().join(" ")
        };
        for (word, read) in [
            ("-avh", "-av x"),
            ("-h", "-h x"),
            ("-ogt", "-gt --owner x"),
            ("-o", "-o x"),
            ("-ao", "-ao x"),
            ("-ofile.iso", "-ofile.iso x"),
            ("--hash", "--hash x"),
        ] {
            assert_eq!(split(word), read, "{word}");
        }
        let other = words(["pcc", "serve", "-avh"].map(OsString::from));
        assert_eq!(other[2], "-avh");
    }
}
