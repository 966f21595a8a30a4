//! Letters of rsync, scp and curl that `pcc get` and `pcc put` have no use for, each with what to write instead.

use clap::Args;

/// None is listed in the help.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Habits {
    #[arg(short = 'z', long, hide = true)]
    compress: bool,
    #[arg(short = 'e', long, value_name = "COMMAND", hide = true)]
    rsh: Option<String>,
    #[arg(long, value_name = "RATE", hide = true)]
    bwlimit: Option<String>,
    #[arg(short = 't', long, hide = true)]
    times: bool,
    #[arg(short = 'p', long, hide = true)]
    perms: bool,
    #[arg(short = 'l', long, hide = true)]
    links: bool,
    #[arg(short = 'L', long, alias = "copy-links", hide = true)]
    location: bool,
    #[arg(short = 'u', long, hide = true)]
    update: bool,
    #[arg(long, value_name = "PATTERN", hide = true)]
    include: Option<String>,
    #[arg(long, value_name = "FILE", hide = true)]
    files_from: Option<String>,
    #[arg(short = 'O', long, hide = true)]
    remote_name: bool,
    #[arg(short = 'k', long, hide = true)]
    insecure: bool,
}

impl Habits {
    /// Advice in place of what was asked for; none if there is nothing to say.
    pub(crate) fn answer(&self) -> Option<&'static str> {
        [
            (self.compress, "-z: nothing is compressed on the way: leave it out, or send `tar cz` through a pipe"),
            (self.rsh.is_some(), "-e: --ssh 'ssh -p 2222' names the command"),
            (self.bwlimit.is_some(), "--bwlimit: --limit 20Mbit or --limit 2.5MB limits the rate"),
            (self.times, "-t: -a keeps times and permissions"),
            (self.perms, "-p: -a keeps times and permissions"),
            (self.links, "-l: links are not sent: leave it out, or send `tar` through a pipe"),
            (self.location, "-L: no address but the one that is written is followed, and `pcc put` follows no links"),
            (self.update, "-u: a file is sent if its content differs, whatever its time: leave it out"),
            (self.include.is_some(), "--include: --exclude '!PATTERN' takes back what an earlier --exclude left out"),
            (self.files_from.is_some(), "--files-from: write the names on the command line, or use --exclude"),
            (self.remote_name, "-O: the copy has the URL's name anyway: leave it out, or write -o FILE"),
            (
                self.insecure,
                "-k: a certificate is always checked: write the URL with its #sha256=…, or name an authority with --ca",
            ),
        ]
        .into_iter()
        .find_map(|(is_asked, answer)| is_asked.then_some(answer))
    }
}

#[cfg(test)]
mod tests {
    use crate::Cli;
    use clap::Parser;

    #[test]
    fn letters_of_other_tools_are_taken_or_answered() {
        for command in ["get host:x", "put x host:"] {
            let parsed = |word: &str| {
                let words = format!("pcc {command} {word}");
                match Cli::try_parse_from(words.split(' ')).unwrap_or_else(|error| panic!("{words}: {error}")).command {
                    crate::Command::Get(args) => args.session.check(),
                    crate::Command::Put(args) => args.session.check(),
                    _ => unreachable!(),
                }
            };
            for word in ["-P", "--progress", "--partial", "-avP", "-rc"] {
                assert!(parsed(word).is_ok(), "{word}");
            }
            for word in ["-z", "-e ssh", "--bwlimit 9", "-t", "-p", "-l", "-L", "-u", "--include x", "-O", "-k"] {
                let answer = format!("{:#}", parsed(word).unwrap_err());
                assert!(answer.contains(&format!("{}: ", word.split(' ').next().unwrap())), "{answer}");
            }
            assert!(format!("{:#}", parsed("-avz").unwrap_err()).contains("-z: "));
        }
    }
}
