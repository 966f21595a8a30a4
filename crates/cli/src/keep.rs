//! The options about times, permissions and the like, by rsync's letters.

use pcc_files::{Chmod, Keeps};

/// Options about what is kept besides names and contents.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is kept")]
pub(crate) struct KeepArgs {
    /// Keep all of this, of files and directories: -rpt
    ///
    /// Files that are there already with the same content get times and permissions, too, and are not sent again. The -a of
    /// rsync, -rlptgoD, keeps more: links, owners, groups and special files are not kept here.
    #[arg(short, long)]
    archive: bool,

    /// Keep times of modification; a downloaded file has its server's time in any case
    #[arg(short = 't', long)]
    times: bool,

    /// Keep permissions of owner, group and others
    ///
    /// Setuid, setgid and sticky bits are never kept.
    #[arg(short = 'p', long = "perms")]
    permissions: bool,

    /// Change the permissions that are kept, for example `D755,F644` or `go-w,a+X`
    ///
    /// The changes are rsync's: `D` in front is for directories, `F` for files, and `X` is execution where somebody has it, and
    /// of directories. Needs -p or -a.
    #[arg(long, value_name = "CHANGES")]
    chmod: Vec<Chmod>,

    /// Take times back from -a
    #[arg(long, alias = "no-t", hide_short_help = true)]
    no_times: bool,

    /// Take permissions back from -a
    #[arg(long, alias = "no-p", hide_short_help = true)]
    no_perms: bool,
}

impl KeepArgs {
    /// All of it.
    pub(crate) fn keeps(&self) -> Keeps {
        Keeps {
            times: (self.archive || self.times) && !self.no_times,
            permissions: (self.archive || self.permissions) && !self.no_perms,
            chmod: self.chmod.iter().cloned().fold(Chmod::default(), Chmod::and),
        }
    }

    /// Why these options do not go together.
    pub(crate) fn answer(&self) -> Option<&'static str> {
        let is_idle = !self.chmod.is_empty() && !self.keeps().permissions;
        is_idle.then_some("--chmod changes the permissions that are kept: add -p or -a")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        keep: KeepArgs,
    }

    #[test]
    fn letters_add_and_no_takes_back() {
        for (words, times, permissions) in [
            ("", false, false),
            ("-a", true, true),
            ("-t", true, false),
            ("-p", false, true),
            ("-tp", true, true),
            ("-a --no-times", false, true),
            ("--no-p -a", true, false),
        ] {
            let keep = Line::parse_from(format!("x {words}").split_whitespace()).keep;
            assert_eq!((keep.keeps().times, keep.keeps().permissions), (times, permissions), "{words}");
        }
        let keep = |words: &str| Line::parse_from(words.split(' ')).keep;
        assert!(keep("x -t --chmod go-w").answer().is_some() && keep("x -a --chmod go-w").answer().is_none());
    }
}
