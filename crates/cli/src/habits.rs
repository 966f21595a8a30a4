//! Letters of rsync, scp and curl: those that mean here what they mean there, and those that `pcc get` and `pcc put` have no use for, each
//! with what to write instead.

use clap::Args;
use std::ffi::OsString;

/// None is listed in the help.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Habits {
    #[arg(short = 'L', long, alias = "copy-links", hide = true)]
    location: bool,
    #[arg(short = 'D', long, alias = "devices", alias = "specials", hide = true)]
    special_files: bool,
    #[arg(short = 'A', long, hide = true)]
    acls: bool,
    #[arg(short = 'X', long, hide = true)]
    xattrs: bool,
    #[arg(short = 'E', long, hide = true)]
    executability: bool,
    #[arg(short = 'x', long, hide = true)]
    one_file_system: bool,
    #[arg(short = 'R', long, hide = true)]
    relative: bool,
    #[arg(short = 'd', long, hide = true)]
    dirs: bool,
    #[arg(short = 'm', long, hide = true)]
    prune_empty_dirs: bool,
    #[arg(short = 'y', long, hide = true)]
    fuzzy: bool,
    #[arg(short = 'f', long, value_name = "RULE", hide = true)]
    filter: Option<String>,
    #[arg(long, hide = true)]
    size_only: bool,
    #[arg(long, alias = "append", alias = "append-verify", hide = true)]
    inplace: bool,
    #[arg(long, alias = "remove-sent-files", hide = true)]
    remove_source_files: bool,
    #[arg(long, hide = true)]
    delete_excluded: bool,
    #[arg(long, value_name = "DIR", hide = true)]
    backup_dir: Option<OsString>,
    #[arg(long, value_name = "PATH", hide = true)]
    rsync_path: Option<OsString>,
    #[arg(long, value_name = "SECONDS", hide = true)]
    timeout: Option<OsString>,
    #[arg(short = 'i', long, alias = "stats", hide = true)]
    itemize_changes: bool,
    #[arg(short = 'O', long, alias = "omit-dir-times", hide = true)]
    remote_name: bool,
    #[arg(short = 'k', long, alias = "copy-dirlinks", hide = true)]
    insecure: bool,
}

impl Habits {
    /// Advice in place of what was asked for; none if there is nothing to say.
    pub(crate) fn answer(&self) -> Option<&'static str> {
        [
            (self.location, "-L: no address but the one that is written is followed, and `pcc put` follows no links"),
            (self.special_files, "-D: devices, pipes and sockets are not sent: leave it out, or send `tar` through a pipe"),
            (self.acls || self.xattrs, "-A and -X: only a replaced file's are kept: leave them out, or send `tar` through a pipe"),
            (self.executability, "-E: -p keeps all permissions"),
            (self.one_file_system, "-x: other file systems are not told apart: --exclude the places where they are mounted"),
            (self.relative, "-R: a copy has the last name of its source: write the other names into the destination, or use --files-from"),
            (self.dirs, "-d: a directory comes with everything in it: --exclude '/*/*' leaves out what is further below"),
            (self.prune_empty_dirs, "-m: empty directories are made, too: --exclude those that should not be"),
            (self.fuzzy, "-y: a file that changed is sent whole: leave it out"),
            (self.filter.is_some(), "-f: write --include PATTERN for `+ PATTERN`, --exclude PATTERN for `- PATTERN`"),
            (self.size_only, "--size-only: files are compared by size and BLAKE3: leave it out"),
            (self.inplace, "--inplace and --append: a file gets its name when all of it is there and verified: leave them out"),
            (self.remove_source_files, "--remove-source-files: the source stays: delete it once the command has ended with 0"),
            (self.delete_excluded, "--delete-excluded: what is excluded stays: delete it there"),
            (self.backup_dir.is_some(), "--backup-dir: --backup keeps a replaced file beside the new one, and --suffix names it"),
            (self.rsync_path.is_some(), "--rsync-path: --remote-pcc names the program there"),
            (self.timeout.is_some(), "--timeout: --give-up 60s ends a transfer that makes no progress"),
            (self.itemize_changes, "-i: -n lists what would change; --json tells of each file, and the figures at the end"),
            (self.remote_name, "-O: curl's -O is not needed, since the copy has the URL's name; rsync's has no use here: leave it out"),
            (
                self.insecure,
                "-k: a certificate is always checked: write the URL with its #sha256=…, or name an authority with --ca",
            ),
        ]
        .into_iter()
        .find_map(|(is_asked, answer)| is_asked.then_some(answer))
    }
}

/// Letters without a value that rsync's users write together.
const TOGETHER: &str = "avrzPutplogDHSnqcbWhEAXxLRmdiIs";

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
            ];
            for word in taken {
                assert!(checked(command, word).is_ok(), "{word}");
            }
            for word in ["-L", "-D", "-x", "-R", "-O", "-k", "-i", "--rsync-path x", "--timeout 9"] {
                let answer = format!("{:#}", checked(command, word).unwrap_err());
                assert!(answer.contains(&format!("{}: ", word.split(' ').next().unwrap())), "{answer}");
            }
            for (word, named) in [("-rlptgoD", "-D: "), ("-AX", "-A and -X")] {
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
